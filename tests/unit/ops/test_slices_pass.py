"""Slices of tensors go through ops, functions, branches and sessions as slices, where TensorFlow's do."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

WITH = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([2, 2]))
WITHOUT = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]))
KEEPING = {
    "cast": (lambda s: tf.cast(s, tf.float64), [[3.0, 4.0]]),
    "identity": (tf.identity, [[3.0, 4.0]]),
    "stop_gradient": (tf.stop_gradient, [[3.0, 4.0]]),
    "negative": (lambda s: -s, [[-3.0, -4.0]]),
    "scalar_mul": (lambda s: tf.math.scalar_mul(2.0, s), [[6.0, 8.0]]),
    "clip_by_norm": (lambda s: tf.clip_by_norm(s, 1.0), [[0.6, 0.8]]),
    "clip_by_value": (lambda s: tf.clip_by_value(s, 0.0, 3.5), [[3.0, 3.5]]),
    "clip_by_global_norm": (lambda s: tf.clip_by_global_norm([s], 1.0)[0][0], [[0.6, 0.8]]),
    "function": (tf.function(lambda s: tf.math.scalar_mul(2.0, s)), [[6.0, 8.0]]),
    "cond": (lambda s: tf.cond(tf.constant(True), lambda: s, lambda: -s), [[3.0, 4.0]]),
    "cond in a function": (
        tf.function(lambda s: tf.cond(tf.reduce_sum(s.values) > 0, lambda: s, lambda: -s)),
        [[3.0, 4.0]],
    ),
    "loop in a function": (
        tf.function(lambda s: tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, -s), [0, s])[1]),
        [[3.0, 4.0]],
    ),
}


@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("slices", [WITH, WITHOUT], ids=["with a shape", "without"])
def test_slices_stay_slices(name, slices):
    function, values = KEEPING[name]
    made = function(slices)
    assert isinstance(made, tf.IndexedSlices)
    np.testing.assert_allclose(made.values, values, rtol=1e-6)
    assert made.indices.numpy().tolist() == [1]
    assert (made.dense_shape is None) is (slices is WITHOUT)


def test_the_same_graph_serves_slices_of_the_same_kind():
    traces = []

    @tf.function
    def double(slices):
        traces.append(1)
        return tf.math.scalar_mul(2.0, slices)

    double(WITH)
    double(tf.IndexedSlices(tf.constant([[1.0, 1.0]]), tf.constant([0]), tf.constant([2, 2])))
    assert len(traces) == 1


def test_an_embedding_trains_by_its_rows_when_gradients_are_cast():
    def train(change):
        table = tf.Variable(np.ones((4, 2), np.float32))
        optimizer = v1.train.AdamOptimizer(0.1)
        for rows in ([0, 1], [1, 2], [2, 0]):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.gather(table, rows) ** 2)
            optimizer.apply_gradients([(change(tape.gradient(loss, table)), table)])
        return table.numpy()

    np.testing.assert_array_equal(train(lambda g: tf.cast(tf.cast(g, tf.float64), tf.float32)), train(lambda g: g))


def test_sessions_fetch_and_are_fed_slices():
    with v1.Graph().as_default(), v1.Session() as session:
        values, indices = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.int64, [None])
        slices = v1.IndexedSlices(values, indices)
        doubled = v1.IndexedSlices(values * 2, indices)
        fetched = session.run(doubled, {slices: (np.array([[1.0, 2.0]]), np.array([3]))})
        assert type(fetched).__name__ == "IndexedSlicesValue"
        assert (fetched.values.tolist(), fetched.indices.tolist(), fetched.dense_shape) == ([[2.0, 4.0]], [3], None)
        assert session.run(doubled, {slices: fetched}).values.tolist() == [[4.0, 8.0]]
        with pytest.raises(ValueError, match="elements"):
            session.run(doubled, {slices: (np.array([[1.0, 2.0]]),)})
