"""What Keras' callbacks are told around a batch, and when the numbers are read: compared with Keras' own list."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

import pytest

import situs as tf

keras = tf.keras
ROWS = 24


class Reads:
    """Counts how often a log is read as a number."""

    def __init__(self, number):
        self.number, self.count = number, 0

    def __float__(self):
        self.count += 1
        return self.number

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        self.count += 1
        return np.asarray(self.number, dtype)


def told(*callbacks, **options):
    found = keras.callbacks.CallbackList(list(callbacks), **options)
    found.on_train_begin()
    return found


def test_nothing_is_read_where_no_callback_listens():
    loss = Reads(0.5)
    told(add_history=True).on_train_batch_end(0, {"loss": loss})
    assert loss.count == 0


def test_a_callback_of_a_program_gets_numbers_in_the_order_of_names():
    heard = []

    class Listens(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            heard.append((batch, dict(logs)))

    logs = {"loss": tf.constant(0.5), "b": {"accuracy": tf.constant(0.25)}}
    told(Listens()).on_train_batch_end(3, logs)
    assert heard == [(3, {"accuracy": 0.25, "loss": 0.5})]
    assert list(heard[0][1]) == ["accuracy", "loss"]


def test_two_callbacks_share_one_reading():
    class Listens(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert logs == {"loss": 0.5}

    loss = Reads(0.5)
    told(Listens(), Listens()).on_train_batch_end(0, {"loss": loss})
    assert loss.count == 1


@pytest.mark.parametrize("name", ["on_batch_end", "on_train_batch_end"])
def test_a_callback_that_uses_the_older_name_is_called_once(name):
    heard = []
    callback = type("Listens", (keras.callbacks.Callback,), {name: lambda self, batch, logs=None: heard.append(logs)})()
    told(callback).on_train_batch_end(0, {"loss": tf.constant(0.5)})
    assert heard == [{"loss": 0.5}]


def test_a_callback_of_functions_hears_of_the_beginning_and_the_end_of_a_batch():
    heard = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: heard.append(("begins", batch)),
        on_train_batch_end=lambda batch, logs: heard.append(("ends", batch, logs)),
    )
    found = told(callback)
    found.on_train_batch_begin(1)
    found.on_train_batch_end(1, {"loss": tf.constant(2.0)})
    assert heard == [("begins", 1), ("ends", 1, {"loss": 2.0})]


def test_the_progress_bar_reads_what_it_draws_and_no_more():
    loss = Reads(0.5)
    found = told(add_progbar=True, verbose=1, epochs=1, steps=100)
    found.on_epoch_begin(0)
    with redirect_stdout(io.StringIO()) as out:
        found._progbar.progbar.interval = 3600.0
        found._progbar.progbar._last_update = 2.0**62
        for batch in range(100):
            found.on_train_batch_end(batch, {"loss": loss})
        assert loss.count == 0
        found._progbar.progbar.interval = -(2.0**63)
        found.on_train_batch_end(99, {"loss": loss})
    assert loss.count == 1
    assert "loss: 0.5000" in out.getvalue()


def test_fit_prints_and_remembers_what_it_did_with_numbers_read_in_every_batch():
    x = tf.reshape(tf.cast(tf.range(ROWS), tf.float32), [ROWS, 1]) / ROWS

    def run(**options):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
        with redirect_stdout(io.StringIO()) as out:
            history = model.fit(x, 2 * x, batch_size=4, epochs=2, verbose=1, shuffle=False, **options).history
            found = model.evaluate(x, 2 * x, verbose=1, batch_size=4)
        return (
            history,
            found,
            re.findall(r"6/6.*?- loss: [\d.e+-]+ - mae: [\d.e+-]+", out.getvalue().replace("\b", ""))[-1],
        )

    class Listens(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            assert [type(number) for number in logs.values()] == [float, float]

    (first, loss, printed), (second, again, printed_too) = run(), run(callbacks=[Listens()])
    assert first == second
    assert loss == again
    assert re.sub(r"\d+[mu]?s", "", printed) == re.sub(r"\d+[mu]?s", "", printed_too)
