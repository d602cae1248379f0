"""LSTM layers by one op: the outputs, states and gradients of the same layer taken step by step."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.keras.layers.cells import LSTMCell

layers = tf.keras.layers
CASES = {
    "plain": {},
    "sequences": {"return_sequences": True},
    "states": {"return_state": True},
    "both": {"return_sequences": True, "return_state": True},
    "backwards": {"go_backwards": True, "return_sequences": True},
    "no bias": {"use_bias": False},
    "float64": {"dtype": "float64", "return_sequences": True},
    "by function": {"activation": tf.tanh, "recurrent_activation": tf.sigmoid},
    "mixed": {"dtype": "mixed_bfloat16"},
}


def outcome(layer, x, states, in_graph):
    """The outputs and gradients, as arrays."""

    def run(x, *states):
        with tf.GradientTape() as tape:
            tape.watch([x, *states])
            made = tf.nest.flatten(layer(x, initial_state=list(states) or None))
            y = tf.add_n([tf.reduce_sum(tf.sin(tf.cast(each, tf.float64)) * (n + 1.0)) for n, each in enumerate(made)])
        return [*made, *tape.gradient(y, [x, *states, *layer.trainable_variables])]

    run = tf.function(run) if in_graph else run
    return [tf.cast(each, tf.float64).numpy() for each in run(x, *states)]


@pytest.mark.parametrize("in_graph", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("given", [False, True], ids=["zeros", "states"])
@pytest.mark.parametrize("case", CASES)
def test_the_op_does_what_the_steps_do(monkeypatch, case, given, in_graph):
    tf.random.set_seed(4)
    layer = layers.LSTM(4, **CASES[case])
    dtype = layer.compute_dtype
    values = np.random.default_rng(5)
    x = tf.constant(values.normal(size=(3, 5, 2)), dtype)
    states = [tf.constant(values.normal(size=(3, 4)), dtype) for _ in range(2)] if given else []
    calls = []
    walk = LSTMCell.walk
    monkeypatch.setattr(LSTMCell, "walk", lambda *args: calls.append(walk(*args)) or calls[-1])
    found = outcome(layer, x, states, in_graph)
    assert calls
    assert all(made is not None for made in calls)
    monkeypatch.setattr(LSTMCell, "walk", lambda *args: None)
    wanted = outcome(layer, x, states, in_graph)
    tolerance = 0.1 if case == "mixed" else 1e-5
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


class Peephole(LSTMCell):
    """A cell of the program's own."""

    def step(self, projected, states):
        return super().step(projected + tf.tile(states[1], [1, 4]), states)


@pytest.mark.parametrize(
    "made",
    [
        lambda: layers.LSTM(4, activation="relu"),
        lambda: layers.LSTM(4, recurrent_activation="hard_sigmoid"),
        lambda: layers.RNN(Peephole(4)),
    ],
)
def test_other_cells_are_taken_step_by_step(monkeypatch, made):
    layer = made()
    calls = []
    walk = LSTMCell.walk
    monkeypatch.setattr(LSTMCell, "walk", lambda *args: calls.append(walk(*args)))
    x = tf.constant(np.random.default_rng(6).normal(size=(3, 5, 2)), tf.float32)
    output = layer(x)
    assert calls == [None]
    states = layer.cell.get_initial_state(batch_size=3)
    for step in range(5):
        expected, states = layer.cell(x[:, step], states)
    np.testing.assert_allclose(output.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_may_be_unknown():
    layer = layers.LSTM(4, return_sequences=True, return_state=True)
    layer(tf.zeros([1, 1, 2]))
    run = tf.function(layer, input_signature=[tf.TensorSpec([None, None, 2], tf.float32)])
    for shape in [(3, 5, 2), (1, 1, 2), (2, 0, 2)]:
        x = tf.constant(np.random.default_rng(7).normal(size=shape), tf.float32)
        for one, other in zip(run(x), layer(x), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
