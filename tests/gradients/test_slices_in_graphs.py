"""Indexed slices in graphs: gradients of variables that are rows, what sessions make of them, and gating."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt


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


def nothing():
    return tf.constant(0.0)


def rows_of(v, *numbers):
    return tf.reduce_sum(tf.gather(v, list(numbers)))


CALLS = {
    "a function": (lambda v: tf.function(lambda: rows_of(v, 1, 2))(), [0, 1, 1, 0], 2),
    "a branch": (
        lambda v: tf.cond(tf.constant(True), lambda: rows_of(v, 1, 2), nothing),
        [0, 1, 1, 0],
        2,
    ),
    "no branch": (
        lambda v: tf.cond(tf.constant(False), lambda: rows_of(v, 1, 2), nothing),
        [0, 0, 0, 0],
        0,
    ),
    "two branches": (
        lambda v: tf.cond(tf.constant(False), lambda: rows_of(v, 1, 2), lambda: rows_of(v, 0, 1, 3)),
        [1, 1, 0, 1],
        3,
    ),
    "rows and all": (
        lambda v: tf.cond(tf.constant(True), lambda: rows_of(v, 1, 2), lambda: tf.reduce_sum(v)),
        [0, 1, 1, 0],
        2,
    ),
    "all and rows": (
        lambda v: tf.cond(tf.constant(False), lambda: rows_of(v, 1, 2), lambda: tf.reduce_sum(v)),
        [1, 1, 1, 1],
        4,
    ),
    "a branch in a function": (
        lambda v: tf.function(lambda p: tf.cond(p, lambda: rows_of(v, 1), nothing))(tf.constant(True)),
        [0, 1, 0, 0],
        1,
    ),
}


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("case", CALLS)
def test_rows_stay_rows_through_functions_and_branches(case, in_function):
    call, expected, count = CALLS[case]
    v = tf.Variable(tf.ones([4, 2]))

    def gradient():
        with tf.GradientTape() as tape:
            y = call(v)
        return tape.gradient(y, v)

    found = tf.function(gradient)() if in_function else gradient()
    if found is None:  # nothing depends on it: eager code has run the other function alone
        assert (in_function, count) == (False, 0)
        return
    assert tf.convert_to_tensor(found).numpy().tolist() == [[float(row)] * 2 for row in expected]
    if in_function or "function" in case:  # in eager code a branch is the function that is called
        assert isinstance(found, tf.IndexedSlices)
        assert len(found.values) == count
        assert found.dense_shape.numpy().tolist() == [4, 2]


def test_an_optimizer_leaves_rows_alone_that_a_function_did_not_read():
    v = tf.Variable(tf.ones([3, 1]))
    optimizer = tf1.train.MomentumOptimizer(1.0, 0.9)
    for rows in ([0], [1]):
        with tf.GradientTape() as tape:
            y = tf.function(lambda rows=rows: tf.reduce_sum(tf.gather(v, rows)))()
        optimizer.apply_gradients([(tape.gradient(y, v), v)])
    assert v.numpy().tolist() == [[0.0], [0.0], [1.0]]  # all at once the momentum of row 0 would have gone on


def test_second_derivatives_go_through_rows():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    cubes = tf.function(lambda x: tf.reduce_sum(tf.gather(x, [1]) ** 3))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = cubes(x)
        slope = tf.convert_to_tensor(inner.gradient(y, x))
    assert slope.numpy().tolist() == [[0.0, 0.0], [27.0, 48.0]]
    assert tf.convert_to_tensor(outer.gradient(slope, x)).numpy().tolist() == [[0.0, 0.0], [18.0, 24.0]]
