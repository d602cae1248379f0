"""``tf.compat.v1.nn.dynamic_rnn`` in eager code gives what it gives in a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.v1 import frontend as door
from situs.compat.v1 import nn


def inputs() -> np.ndarray:
    return np.sin(np.arange(30) * 0.7).reshape(2, 5, 3).astype("float32")


@pytest.mark.parametrize("kind", ["BasicRNNCell", "GRUCell", "BasicLSTMCell", "LSTMCell"])
def test_cells_run_at_once_in_eager_code(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    v1 = tf.compat.v1
    with v1.Graph().as_default():
        cell: Any = getattr(nn.rnn_cell, kind)(4, name="cell")
        outputs, _ = nn.dynamic_rnn(cell, v1.constant(inputs()), [5, 2], dtype=tf.float32)
        gradients = v1.gradients(outputs, cell.variables)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            wanted, slopes, weights = session.run([outputs, gradients, cell.variables])
    monkeypatch.setattr(door, "_builds", False)  # as for a program that came through the eager door
    cell = getattr(nn.rnn_cell, kind)(4, name="cell")
    cell(tf.zeros([2, 3]), cell.zero_state(2, tf.float32))
    for variable, weight in zip(cell.variables, weights, strict=True):
        variable.assign(weight)
    with tf.GradientTape() as tape:
        found, _ = nn.dynamic_rnn(cell, tf.constant(inputs()), [5, 2], dtype=tf.float32)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    for slope, expected in zip(tape.gradient(found, cell.variables), slopes, strict=True):
        np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-4, atol=1e-5)
