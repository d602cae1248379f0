"""Polynomials, beta functions, order, spaced numbers, isotonic regression, against NumPy and TensorFlow's figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs.errors import InvalidArgumentError


def test_order():
    assert bool(tf.math.is_non_decreasing([1, 1, 2]))
    assert not bool(tf.math.is_strictly_increasing([1, 1, 2]))
    assert bool(tf.math.is_strictly_increasing([[1.0, 2.0], [3.0, 4.0]]))
    assert not bool(tf.math.is_non_decreasing([[1.0, 5.0], [3.0, 4.0]]))
    assert bool(tf.math.is_strictly_increasing([]))


def test_polynomials():
    x = np.array([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(tf.math.polyval([2.0, -3.0, 0.5], tf.constant(x)), np.polyval([2.0, -3.0, 0.5], x))
    assert tf.math.polyval([], tf.constant([1.0, 2.0])).numpy().tolist() == [0.0, 0.0]
    with pytest.raises(InvalidArgumentError, match="must be list type"):
        tf.math.polyval(1.0, 2.0)


def test_lbeta():
    np.testing.assert_allclose(tf.math.lbeta([1.0, 2.0, 3.0]), math.log(2 / math.factorial(5)), rtol=1e-6)
    assert tf.math.lbeta(tf.zeros([0])).numpy() == -math.inf
    assert tf.math.lbeta(tf.zeros([2, 0])).numpy().tolist() == [-math.inf] * 2
    assert tf.math.lbeta(tf.zeros([0, 3])).shape == [0]


def test_approximate_equal():
    assert tf.math.approximate_equal([1.0, 2.0], [1.000001, 2.1]).numpy().tolist() == [True, False]
    with pytest.raises(InvalidArgumentError, match="same shape"):
        tf.math.approximate_equal([1.0], [1.0, 2.0])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("num", [1, 2, 5])
def test_spaced_numbers_between_tensors(num, axis):
    start, stop = np.array([0.0, 5.0], np.float32), np.array([[10.0, 40.0], [1.0, 2.0]], np.float32)
    expected = np.linspace(np.broadcast_to(start, (2, 2)), stop, num, axis=axis)
    for make in (tf.linspace, tf.function(tf.linspace)):
        np.testing.assert_allclose(make(start, stop, num, axis=axis), expected, rtol=1e-6)


def test_spaced_numbers_take_dtypes_and_give_gradients():
    assert tf.linspace([0, 5], [10, 40], 5).dtype == tf.float64
    np.testing.assert_allclose(tf.linspace(1 + 0j, 2 + 1j, 3), [1, 1.5 + 0.5j, 2 + 1j])
    start, stop = tf.Variable(1.0), tf.Variable(4.0)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.linspace(start, stop, 4) * [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(tape.gradient(total, [start, stop]), [10 / 3, 20 / 3], rtol=1e-6)
    with pytest.raises(InvalidArgumentError, match="axis"):
        tf.linspace([0.0], [1.0], 4, axis=2)
    assert tf.linspace([0.0], [1.0], 0).shape == (0, 1)
    with pytest.raises(InvalidArgumentError, match="num >= 0"):
        tf.linspace([0.0], [1.0], -1)
    with v1.Graph().as_default(), v1.Session() as session:
        count = v1.placeholder(tf.int32, [])
        assert session.run(v1.linspace(v1.constant(0.0), 1.0, count), {count: 3}).tolist() == [0.0, 0.5, 1.0]


def test_isotonic_regression():
    x = tf.constant([[3.0, 1.0, 2.0, 0.0, 5.0], [5.0, 4.0, 4.0, 1.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        fitted, segments = tf.nn.isotonic_regression(x)
    assert fitted.numpy().tolist() == [[3.0, 2.0, 2.0, 2.0, 2.0], [5.0, 4.0, 4.0, 1.0, 0.0]]
    assert segments.numpy().tolist()[0] == [0, 1, 1, 1, 1]
    weights = tf.constant([[1.0, 4.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0]])
    assert tape.gradient(fitted, x, weights).numpy().tolist() == [[1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]]
    rising, _ = tf.nn.isotonic_regression(tf.constant([[3, 1], [1, 2], [2, 0]]), decreasing=False, axis=0)
    assert (rising.dtype, rising.numpy().tolist()) == (tf.float64, [[2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])


def test_weighted_moments():
    x, weights = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32), np.array([[1.0], [3.0]], np.float32)
    mean, variance = tf.nn.weighted_moments(x, [0], weights)
    np.testing.assert_allclose(mean, np.average(x, 0, [1, 3]))
    np.testing.assert_allclose(variance, np.average((x - mean.numpy()) ** 2, 0, [1, 3]))
    kept, _ = v1.nn.weighted_moments(tf.constant(x), [0], weights, keep_dims=True)
    assert kept.shape == [1, 2]
    nothing = tf.nn.weighted_moments(x, [0], np.zeros([2, 1], np.float32))
    assert [part.numpy().tolist() for part in nothing] == [[0.0, 0.0]] * 2


@pytest.mark.parametrize("shift", [None, 2.0])
def test_moments_by_sums(shift):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    mean, variance = tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], shift))
    np.testing.assert_allclose(mean, x.mean(0))
    np.testing.assert_allclose(variance, x.var(0), rtol=1e-5)


@pytest.mark.parametrize("noise_shape", [None, [500, 1], [None, 1]])
def test_dropout_by_a_seed_and_by_a_sampler(noise_shape):
    x = tf.ones([500, 4])
    dropped = tf.nn.experimental.stateless_dropout(x, 0.25, [1, 2], noise_shape=noise_shape).numpy()
    again = tf.nn.experimental.stateless_dropout(x, 0.25, [1, 2], noise_shape=noise_shape).numpy()
    assert (dropped == again).all()
    assert set(np.unique(dropped.round(4))) == {np.float32(0), np.float32(1.3333)}
    assert 0.15 < (dropped == 0).mean() < 0.35
    assert noise_shape is None or (dropped == dropped[:, :1]).all()
    halves = tf.nn.experimental.general_dropout(x, 0.5, lambda shape, dtype: tf.fill(shape, tf.cast(0.7, dtype)))
    assert (halves.numpy() == 2).all()


def test_names_for_what_there_was():
    assert tf.parallel_stack([tf.ones([2]), tf.zeros([2])]).numpy().tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert float(tf.realdiv(1.0, 4.0)) == 0.25
    assert float(tf.guarantee_const(3.0)) == 3.0


def test_indices_of_16_bits():
    rows = tf.constant([1, 0], tf.int16)
    assert tf.gather_nd([5.0, 6.0], rows[:, None]).numpy().tolist() == [6.0, 5.0]
    assert tf.math.unsorted_segment_sum([5.0, 6.0], rows, 2).numpy().tolist() == [6.0, 5.0]


def test_sequences_of_strings_are_reversed():
    words = tf.constant([["a", "b", "c"], ["d", "e", "f"]])
    found = tf.reverse_sequence(words, [2, 3], seq_axis=1).numpy().tolist()
    assert found == [[b"b", b"a", b"c"], [b"f", b"e", b"d"]]


def test_any_shape_will_do_where_none_is_asked_for():
    tf.debugging.assert_shapes([(tf.ones([2, 3]), None), (tf.constant(1.0), ["n"]), (tf.ones([1]), ["n"])])
    with pytest.raises(ValueError, match="must have size 1"):
        tf.debugging.assert_shapes([(tf.constant(1.0), ["n"]), (tf.ones([2]), ["n"])])


def test_weights_whose_rank_is_known_in_the_run():
    with v1.Graph().as_default(), v1.Session() as session:
        logits = v1.constant([[10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 10.0]])
        weights = v1.placeholder(tf.float32)
        loss = v1.losses.sparse_softmax_cross_entropy([[2], [0], [1]], logits, weights)
        for fed in ([[1.2], [3.4], [5.6]], [1.2, 3.4, 5.6]):
            np.testing.assert_allclose(session.run(loss, {weights: fed}), (1.2 + 3.4 + 5.6) * 10 / 3, rtol=1e-3)


def test_random_ops_need_a_seed_where_ops_are_deterministic(monkeypatch):
    from situs._src.runtime.eager import determinism

    monkeypatch.setattr(determinism.torch, "use_deterministic_algorithms", lambda on: None)
    monkeypatch.setattr(determinism, "_required", False)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    tf.random.set_seed(None)
    tf.random.normal([2])
    tf.config.experimental.enable_op_determinism()
    with pytest.raises(RuntimeError, match="require a seed"):
        tf.random.normal([2])
    with pytest.raises(RuntimeError, match="require a seed"):
        tf.function(lambda: tf.random.normal([2]))()
    tf.random.normal([2], seed=3)
    tf.random.set_seed(1)
    assert tf.random.normal([2]).shape == [2]
