"""Trainings by Keras that begin with one seed, the same under any TensorFlow: prints weights and losses as JSON.

``tests/data/keras_seeded.json`` is what TensorFlow 2.21 with Keras 3.15.1 prints for this program.
"""

import hashlib
import json

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.RandomState(0)
x = rng.rand(96, 12).astype("float32")
labels = (x.sum(1) * 3).astype("int64") % 3
images = rng.rand(48, 10, 10, 2).astype("float32")
bright = (images.mean((1, 2, 3)) > 0.5).astype("int64")
words = rng.randint(0, 20, (48, 7))
out = {}


def trained(make, x, y, loss, optimizer):
    """First weights, losses and last weights of a model that is made and trained from seed 1 on."""
    keras.utils.set_random_seed(1)
    model = make()
    first = [hashlib.sha256(w.tobytes()).hexdigest()[:16] for w in model.get_weights()]
    sums = [float(np.abs(w).sum()) for w in model.get_weights()]
    model.compile(optimizer, loss)
    losses = model.fit(x, y, epochs=4, batch_size=16, verbose=0).history["loss"]
    last = [float(np.abs(w).sum()) for w in model.get_weights()]
    return {"first": first, "sums": sums, "losses": [float(each) for each in losses], "last": last}


def mlp():
    hidden = [layers.Dense(32, "relu"), layers.Dropout(0.4), layers.Dense(16, "tanh", kernel_initializer="he_normal")]
    return keras.Sequential([layers.Input((12,)), *hidden, layers.Dropout(0.2), layers.Dense(3, "softmax")])


def cnn():
    inputs = keras.Input((10, 10, 2))
    hidden = layers.Conv2D(8, 3, activation="relu")(inputs)
    hidden = layers.SpatialDropout2D(0.25)(layers.MaxPooling2D()(hidden))
    hidden = layers.GaussianNoise(0.1)(layers.BatchNormalization()(hidden))
    return keras.Model(inputs, layers.Dense(2, "softmax")(layers.Dropout(0.5)(layers.Flatten()(hidden))))


def lstm():
    return keras.Sequential(
        [layers.Input((7,)), layers.Embedding(20, 6), layers.LSTM(9, dropout=0.2), layers.Dropout(0.3), layers.Dense(1)]
    )


crossentropy = "sparse_categorical_crossentropy"
out["mlp"] = trained(mlp, x, labels, crossentropy, "adam")
out["cnn"] = trained(cnn, images, bright, crossentropy, keras.optimizers.SGD(0.05, momentum=0.9))
out["lstm"] = trained(lstm, words, words.mean(1).astype("float32") / 20, "mse", "rmsprop")

keras.utils.set_random_seed(7)
initializers = keras.initializers
for name in (
    "GlorotUniform",
    "GlorotNormal",
    "HeNormal",
    "HeUniform",
    "LecunNormal",
    "RandomNormal",
    "TruncatedNormal",
):
    made = np.asarray(getattr(initializers, name)()((5, 4)))
    out[name] = {"first": [hashlib.sha256(made.tobytes()).hexdigest()[:16]]}
out["Orthogonal"] = {"last": [float(each) for each in np.asarray(initializers.Orthogonal()((4, 4))).ravel()]}
seeds = keras.random.SeedGenerator(5)
drawn = {
    "normal": keras.random.normal((4,), seed=seeds),
    "uniform": keras.random.uniform((4,), seed=seeds),
    "randint": keras.random.randint((4,), 0, 90, seed=seeds),
    "truncated_normal": keras.random.truncated_normal((4,), seed=seeds),
    "shuffle": keras.random.shuffle(np.arange(9), seed=seeds),
    "gamma": keras.random.gamma((3,), 0.7, seed=seeds),
    "binomial": keras.random.binomial((4,), 20.0, 0.4, seed=seeds),
    "beta": keras.random.beta((3,), 0.5, 2.0, seed=seeds),
    "categorical": keras.random.categorical(np.float32([[0.1, 0.4, 0.2]]), 6, seed=seeds),
    "dropout": keras.random.dropout(np.ones(9, "float32"), 0.5, seed=seeds),
}
for name, each in drawn.items():
    out[f"random.{name}"] = {"last": np.asarray(each, "float64").ravel().tolist()}
print(json.dumps(out))
