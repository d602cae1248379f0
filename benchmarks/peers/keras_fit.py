"""What a batch of Keras' `fit` takes, with whatever is beneath Keras: prints it as JSON.

    KERAS_BACKEND=tensorflow python keras_fit.py mlp         TensorFlow
    KERAS_BACKEND=torch python keras_fit.py mlp              PyTorch
    python -m situs run keras_fit.py mlp [BATCHES]           Situs

The same program runs everywhere, with so many batches in an epoch. The first losses are those of a model with fixed
weights: they can be compared. "seconds" is a batch of a call of `fit` with one epoch, with all that the call sets up
(datasets, callbacks, traces of their functions); "later" is a batch of the quickest
epoch after the first of a call, without that.
"""

import json
import sys
import time

import keras
import numpy as np

FIRST = 4  # batches whose losses are compared
ROUNDS = 5
BARE = 40  # steps in a row


def mlp():
    """A perceptron of 784-512-512-10, in batches of 128."""
    layers = [keras.layers.Dense(512, activation="relu"), keras.layers.Dense(512, activation="relu")]
    return keras.Sequential([keras.Input((784,)), *layers, keras.layers.Dense(10)]), (784,), 128, 40


def cnn():
    """A small network for images of 32 x 32, in batches of 64."""
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((32, 32, 3)),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(10),
        ]
    )
    return model, (32, 32, 3), 64, 10


def lstm():
    """A recurrent network of 64 units over sequences of 32 steps, in batches of 32."""
    layers = [keras.layers.LSTM(64), keras.layers.Dense(10)]
    return keras.Sequential([keras.Input((32, 16)), *layers]), (32, 16), 32, 20


def bare_step(model, loss, x, y):
    """The seconds of a step that is written out: a `tf.function` with a tape and Keras' optimizer, on one batch."""
    import tensorflow as tf

    optimizer = keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)
    x, y = tf.constant(x), tf.constant(y)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(y, model(x, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        return value

    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        for _ in range(BARE - 1):
            step(x, y)
        float(step(x, y))  # on a card this waits for all of them
        times.append((time.perf_counter() - start) / BARE)
    return min(times)


def main():
    """Measures the model that the command line names."""
    model, shape, batch, batches = {"mlp": mlp, "cnn": cnn, "lstm": lstm}[sys.argv[1]]()
    batches = int(sys.argv[2]) if len(sys.argv) > 2 else batches
    numbers = np.random.default_rng(0)
    x = numbers.normal(size=(batch * batches, *shape)).astype("float32")
    y = numbers.integers(0, 10, batch * batches)
    for weight in model.weights:
        weight.assign(numbers.normal(size=weight.shape).astype("float32") * 0.05)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss)

    def fit(epochs=1, callbacks=()):
        options = {"batch_size": batch, "shuffle": False, "verbose": 0, "epochs": epochs}
        return model.fit(x, y, callbacks=list(callbacks), **options).history["loss"][-1]

    first = [slice(number * batch, (number + 1) * batch) for number in range(FIRST)]
    losses = [float(model.train_on_batch(x[part], y[part])) for part in first]
    fit()
    times, work = [], []
    for _ in range(ROUNDS):
        start, started = time.perf_counter(), time.process_time()
        fit()
        times.append((time.perf_counter() - start) / batches)
        work.append((time.process_time() - started) / batches)
    starts, ends = [], []
    watch = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: starts.append(time.perf_counter()),
        on_epoch_end=lambda epoch, logs: ends.append(time.perf_counter()),
    )
    fit(1 + ROUNDS, [watch])
    epochs = [end - start for start, end in zip(starts, ends, strict=True)]
    found = {"seconds": min(times), "cpu": min(work), "later": min(epochs[1:]) / batches, "losses": losses}
    if keras.backend.backend() == "tensorflow":
        found["bare"] = bare_step(model, loss, x[first[0]], y[first[0]])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
