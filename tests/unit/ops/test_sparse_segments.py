"""``tf.sparse.segment_sum``, ``segment_mean`` and ``segment_sqrt_n``: TensorFlow 2.21's numbers, and gradients."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1

DATA = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
ROOT = np.sqrt(2)
SUMS = {
    "sum": [[4.0, 6.0], [0.0, 0.0], [14.0, 16.0]],
    "mean": [[2.0, 3.0], [0.0, 0.0], [7.0, 8.0]],
    "sqrt_n": [[4 / ROOT, 6 / ROOT], [0.0, 0.0], [14 / ROOT, 16 / ROOT]],
}


@pytest.mark.parametrize("way", SUMS)
def test_rows_are_combined_by_segments(way):
    combine = getattr(tf.sparse, f"segment_{way}")
    np.testing.assert_allclose(combine(DATA, [0, 1, 3, 3], [0, 0, 2, 2]), SUMS[way], rtol=1e-6)
    some = combine(tf.constant(DATA), [0, 1, 3], [0, 0, 2], num_segments=4).numpy()
    np.testing.assert_allclose(some, [SUMS[way][0], [0, 0], [7, 8], [0, 0]], rtol=1e-6)
    assert combine(tf.constant(DATA), tf.zeros([0], tf.int32), tf.zeros([0], tf.int32)).shape == [0, 2]


@pytest.mark.parametrize("way", SUMS)
def test_in_graphs_the_gradient_is_dense(way):
    share = {"sum": 1, "mean": 0.5, "sqrt_n": 1 / ROOT}[way]
    with tf1.Graph().as_default(), tf1.Session() as session:
        data = tf1.placeholder(tf.float32, [None, 2])
        made = getattr(tf1, f"sparse_segment_{way}")(data, [0, 1, 3, 3], [0, 0, 2, 2], "name")
        gradient = tf1.gradients(made, data)[0]
        assert isinstance(gradient, tf.Tensor)
        expected = np.array([[1, 1], [1, 1], [0, 0], [2, 2]]) * share
        np.testing.assert_allclose(session.run(gradient, {data: DATA}), expected, rtol=1e-6)
