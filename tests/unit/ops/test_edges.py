"""Ops at the edges of what they take, against figures recorded from TensorFlow 2.21: NaN, infinities, zeros, poles."""

from __future__ import annotations

import json
import math
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

import situs as tf

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "edge_figures.json").read_text())
INF, NAN = math.inf, math.nan


@pytest.fixture(autouse=True)
def on_the_host():
    """The figures are those of the host: at such points a card may differ, in TensorFlow too."""
    with tf.device("/CPU:0"):
        yield


def check(found, expected, tolerance=1e-4):
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=tolerance, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("name", FIGURES["unary"])
def test_functions_of_one_tensor_and_their_gradients(name):
    function = reduce(getattr, name.split("."), tf)
    x = tf.constant(FIGURES["x"])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    expected = FIGURES["unary"][name]
    if "value" in expected:
        check(y, expected["value"])
    if "gradient" in expected:
        check(tape.gradient(y, x), expected["gradient"])


def second(function, x):
    """The second derivative of a function, and the third."""
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        bend = outer.gradient(slope, x)
    return bend, third.gradient(bend, x)


STRAIGHT = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky_relu": tf.nn.leaky_relu,
    "crelu": tf.nn.crelu,
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_straight_lines_have_a_second_derivative_of_zeros(name):
    x = tf.constant([-1.0, 0.0, 2.0, 7.0])
    bend, _ = second(STRAIGHT[name], x)
    assert bend.numpy().tolist() == [0.0] * 4
    bend = tf.function(lambda x: second(STRAIGHT[name], x)[0])(x)
    assert bend.numpy().tolist() == [0.0] * 4


POOLS = {
    "1d": (lambda x: tf.nn.max_pool1d(x, 2, 2, "SAME"), [1, 5, 2]),
    "2d": (lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), [1, 5, 4, 2]),
    "3d": (lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"), [1, 3, 5, 4, 2]),
}


@pytest.mark.parametrize("name", POOLS)
def test_max_pooling_has_derivatives_of_zeros(name):
    pool, shape = POOLS[name]
    x = tf.random.stateless_normal(shape, [1, 2])
    bend, twist = second(pool, x)
    assert bend.shape == x.shape
    assert not bend.numpy().any()
    assert not twist.numpy().any()


def test_the_second_derivative_reaches_through_a_network_of_rectifiers():
    w = tf.Variable([[0.5, -1.0], [2.0, 1.0]])
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_sum(tf.nn.relu(x @ w) ** 3)
        slope = inner.gradient(loss, w)
    # 6 relu(x @ w) x_i summed over both rows of w: [4.5, 1.0] are the sums, 1 + 2 the weights
    np.testing.assert_allclose(outer.gradient(slope, w), [[81.0, 18.0], [162.0, 36.0]])


@pytest.mark.parametrize(
    ("values", "largest", "argmax", "gradient"),
    [
        ([NAN, 1, 2, 3], 3.0, NAN, [1, 0, 0, 0]),
        ([1, NAN, 2, 3], 3.0, 3.0, [0, 0, 0, 1]),
        ([1, 2, NAN, 0], 2.0, 2.0, [0, 1, 0, 0]),
        ([-INF] * 4, float(np.finfo(np.float32).min), -INF, [1, 0, 0, 0]),
        ([NAN] * 4, float(np.finfo(np.float32).min), NAN, [1, 0, 0, 0]),
        ([INF, -INF, 1, 2], INF, INF, [1, 0, 0, 0]),
    ],
)
def test_max_pooling_leaves_nan_out(values, largest, argmax, gradient):
    x = tf.reshape(tf.constant(values, tf.float32), [1, 2, 2, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.max_pool2d(x, 2, 2, "VALID")
    check(y.numpy().ravel(), [largest])
    check(tape.gradient(y, x).numpy().ravel(), gradient)
    check(tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")[0].numpy().ravel(), [argmax])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_scattered_extremes_leave_nan_out(dtype):
    tensor, indices = tf.constant([1.0, 0.0, NAN], dtype), [[0], [0], [1], [2]]
    updates = tf.constant([NAN, 5.0, NAN, 2.0], dtype)
    check(tf.tensor_scatter_nd_max(tensor, indices, updates), [5.0, 0.0, NAN])
    check(tf.tensor_scatter_nd_min(tensor, indices, updates), [1.0, 0.0, NAN])
    variable = tf.Variable(tensor)
    variable.scatter_max(tf.IndexedSlices(updates, tf.constant([0, 0, 1, 2])))
    check(variable, [5.0, 0.0, NAN])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_extremes_of_segments_begin_again_after_a_nan(dtype):
    data, ids = tf.constant([NAN, 1.0, 5.0, NAN, 3.0, NAN, 2.0, -INF], dtype), [0, 0, 1, 1, 2, 3, 3, 4]
    check(tf.math.segment_max(data, ids), [1.0, NAN, 3.0, 2.0, -INF])
    check(tf.math.segment_min(-data, ids), [-1.0, NAN, -3.0, -2.0, INF])
    check(tf.math.unsorted_segment_max(data[:7], ids[:7], 4), [1.0, NAN, 3.0, 2.0])
    matrix = tf.constant([[NAN, 1.0], [2.0, NAN]], dtype)
    check(tf.math.segment_max(matrix, [0, 0]), [[2.0, NAN]])


def test_polygamma_and_zeta_at_poles():
    check(tf.math.digamma([0.0, -0.0, -1.0, -2.0]), [NAN] * 4)
    check(tf.math.polygamma([1.0, 2.0, 1.0, 2.0, 0.0], [0.0, 0.0, -1.0, -1.0, 0.0]), [INF, NAN, INF, NAN, NAN])
    check(tf.math.polygamma([1.0, 2.0, 6.0], [INF, INF, INF]), [0.0, 0.0, 0.0])
    check(tf.math.zeta([NAN, 2.0, 3.0, 3.0, 2.0], [-1.0, -1.0, -1.0, INF, INF]), [NAN, INF, NAN, 0.0, 0.0])
    check(tf.math.igamma([0.0, NAN, 0.0, -1.0], [1.0, INF, 0.0, 0.0]), [NAN, NAN, 0.0, 0.0])
    check(tf.math.igammac([0.0, NAN, 2.0], [1.0, 0.0, INF]), [NAN, NAN, 0.0])


@pytest.mark.parametrize(
    ("dtype", "values", "norm"),
    [("int8", [100, 100, 100, 1], 7), ("uint8", [100, 100, 100, 1], 7), ("int32", [3, 4], 5)],
)
def test_a_norm_of_integers_sums_as_integers_do(dtype, values, norm):
    found = tf.math.reduce_euclidean_norm(tf.constant(values, dtype))
    assert (found.dtype.name, int(found)) == (dtype, norm)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shares_of_large_logits_sum_to_one(dtype, axis):
    x = tf.constant([[1e30, 1e30], [1e30, 1e30]], dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_logsumexp(x, axis)
    check(tape.gradient(y, x), [[0.5, 0.5], [0.5, 0.5]])


def test_softmax_and_gelu_of_infinities():
    check(tf.nn.softmax([INF, 0.0]), [NAN, NAN])
    check(tf.nn.softmax([-INF, 0.0]), [0.0, 1.0])
    check(tf.nn.gelu([INF, -INF]), [INF, NAN])
    check(tf.nn.gelu([INF, -INF], approximate=True), [INF, NAN])


def test_booleans_multiply():
    x = tf.constant([True, True, False])
    assert (x * tf.constant([True, False, True])).numpy().tolist() == [True, False, False]
    assert (x * True).dtype == tf.bool


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.relu6], ids=["relu", "relu6"])
def test_no_gradient_goes_through_a_rectified_nan(function):
    x = tf.constant([NAN, -INF, 0.0, 1.0, INF])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.0, 0.0, 1.0, 1.0 if function is tf.nn.relu else 0.0]
