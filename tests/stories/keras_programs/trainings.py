"""Trainings by Keras, the same under any TensorFlow: prints their histories as JSON.

``tests/data/keras_histories.json`` is what TensorFlow 2.21 with Keras 3.15.1 prints for this program.
"""

import json

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

rng = np.random.RandomState(0)


def with_weights(model):
    """The model with weights that do not depend on anybody's random numbers; variances are not negative."""
    values = [rng.uniform(-0.3, 0.3, w.shape).astype("float32") for w in model.get_weights()]
    model.set_weights(values)
    for variable in model.variables:
        if "variance" in variable.name:
            variable.assign(np.ones(variable.shape, "float32"))
    return model


def trained(model, x, y, optimizer, loss, **fit):
    with_weights(model)
    model.compile(optimizer, loss, metrics=["accuracy"] if "crossentropy" in loss else ["mae"])
    history = model.fit(x, y, epochs=3, shuffle=False, verbose=0, **fit).history
    found = {name: [float(value) for value in values] for name, values in sorted(history.items())}
    found["evaluate"] = [float(value) for value in model.evaluate(x, y, verbose=0)]
    found["predict"] = [float(np.abs(model.predict(x, verbose=0)).mean())]
    return found


x = rng.rand(48, 8).astype("float32")
labels = (x.sum(1) * 3).astype("int64") % 3
images = rng.rand(32, 8, 8, 1).astype("float32")
bright = (images.mean((1, 2, 3)) > 0.5).astype("int64")
words = rng.randint(0, 20, (32, 6))
out = {}

mlp = [layers.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(3, activation="softmax")]
crossentropy = "sparse_categorical_crossentropy"
out["mlp, adam"] = trained(keras.Sequential(mlp), x, labels, "adam", crossentropy, batch_size=16)

small = [layers.Input((8,)), layers.Dense(4, activation="tanh"), layers.Dense(1)]
sgd = keras.optimizers.SGD(0.05, momentum=0.9)
held_out = {"batch_size": 8, "validation_split": 0.25}
out["mlp, sgd, validation"] = trained(keras.Sequential(small), x, x.sum(1), sgd, "mse", **held_out)

inputs = keras.Input((8, 8, 1))
hidden = layers.Conv2D(4, 3, activation="relu", padding="same")(inputs)
hidden = layers.BatchNormalization()(layers.MaxPooling2D()(hidden))
cnn = keras.Model(inputs, layers.Dense(2, activation="softmax")(layers.Flatten()(hidden)))
out["functional cnn, rmsprop"] = trained(cnn, images, bright, "rmsprop", crossentropy, batch_size=8)

lstm = [layers.Input((6,)), layers.Embedding(20, 5), layers.LSTM(7), layers.Dense(1)]
clipped = keras.optimizers.Adam(0.01, clipnorm=1.0)
means = words.mean(1).astype("float32") / 20
out["lstm, adam, clipped"] = trained(keras.Sequential(lstm), words, means, clipped, "mse", batch_size=8)

data = tf.data.Dataset.from_tensor_slices((x, labels)).batch(12).prefetch(2)
model = with_weights(keras.Sequential([layers.Input((8,)), layers.Dense(8, activation="gelu"), layers.Dense(3)]))
optimizer = keras.optimizers.AdamW(0.01)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step(features, wanted):
    with tf.GradientTape() as tape:
        value = loss(wanted, model(features, training=True))
    gradients = tape.gradient(value, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return value


losses = [float(np.mean([step(features, wanted).numpy() for features, wanted in data])) for _ in range(3)]
out["custom loop"] = {"loss": losses}
print(json.dumps(out))
