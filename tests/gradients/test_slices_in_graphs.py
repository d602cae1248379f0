"""Indexed slices in graphs: gradients of variables that are rows, what sessions make of them, and gating."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs import dtype as dt


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as made:
        yield made


@pytest.mark.parametrize(
    "look_up",
    [
        lambda v: tf1.gather(v, [2, 0, 2]),
        lambda v: tf1.nn.embedding_lookup(v, [2, 0, 2]),
        lambda v: tf1.gather(tf1.identity(v), [2, 0, 2]),
        lambda v: tf1.gather(tf1.ensure_shape(v, [4, 3]), [2, 0, 2]),
    ],
)
def test_the_gradient_of_a_variable_whose_rows_are_read_are_rows(graph, look_up):
    v = tf1.get_variable("v", [4, 3], initializer=tf1.ones_initializer())
    (slices,) = tf1.gradients(look_up(v) * 2.0, [v])
    assert isinstance(slices, tf1.IndexedSlices)
    assert slices.shape == (4, 3)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        found = session.run(slices)
    assert type(found).__name__ == "IndexedSlicesValue"
    assert found.values.tolist() == [[2.0] * 3] * 3
    assert found.indices.tolist() == [2, 0, 2]
    assert found.dense_shape.tolist() == [4, 3]


def test_slices_are_fetched_with_others(graph):
    x = tf1.placeholder(dt.float32, [None, 1])
    (slices,) = tf1.gradients(tf1.gather(x, [1, 1]), x)
    with tf1.Session() as session:
        for _ in range(2):
            found = session.run({"grad": [slices, x]}, {x: [[1.0], [2.0]]})
            assert found["grad"][0].indices.tolist() == [1, 1]
            assert found["grad"][1].tolist() == [[1.0], [2.0]]


def test_gated_slices_stay_slices(graph):
    v, w = tf1.Variable([[1.0], [2.0]]), tf1.Variable([3.0])
    y = tf1.gather(v, [1]) * w
    slices, whole = tf1.gradients(y, [v, w], gate_gradients=True)
    assert isinstance(slices, tf1.IndexedSlices)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        found = session.run([slices, whole])
    assert found[0].values.tolist() == [[3.0]]
    assert found[1].tolist() == [2.0]


def test_slices_in_a_function():
    table = tf.Variable(np.ones((4, 2), np.float32))
    kinds = []

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            y = tf.gather(table, [1, 1])
        grad = tape.gradient(y, table)
        kinds.append(type(grad))
        table.scatter_sub(grad)

    step()
    assert kinds[0] is tf.IndexedSlices
    assert table.numpy()[:, 0].tolist() == [1.0, -1.0, 1.0, 1.0]
