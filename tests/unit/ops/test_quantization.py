"""``tf.quantization.fake_quant_*``. The figures are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

q = tf.quantization
X = np.array([-10, -3, -1.5, -0.2, 0, 0.1, 0.33, 1, 2.4, 5.9, 6, 7, np.nan], "float32")
BY_CHANNEL = np.append(X, X[:2]).reshape(5, 3)


@pytest.mark.parametrize(
    ("least", "most", "options", "wanted"),
    [
        (-3, 6, {}, [-85, -85, -42, -6, 0, 3, 9, 28, 68, 167, 170, 170]),
        (-3, 6, {"num_bits": 4, "narrow_range": True}, [-5, -5, -2, 0, 0, 0, 1, 2, 4, 9, 9, 9]),
        (1, 6, {}, [0, 0, 0, 0, 0, 5, 17, 51, 122, 255, 255, 255]),
        (-6, -1, {}, [-255, -153, -76, -10, 0, 0, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_numbers_become_steps(least, most, options, wanted, on_device):
    width = np.float32(most - least) / np.float32(2 ** options.get("num_bits", 8) - 1 - options.get("narrow_range", 0))
    by_tensors = q.fake_quant_with_min_max_vars(X, float(least), float(most), **options).numpy()
    np.testing.assert_array_equal(np.rint(by_tensors[:-1] / width), wanted)
    np.testing.assert_allclose(by_tensors[:-1], np.float32(wanted) * width, rtol=1e-6)
    assert np.isnan(by_tensors[-1])
    np.testing.assert_array_equal(q.fake_quant_with_min_max_args(X, least, most, **options).numpy(), by_tensors)


def test_an_empty_range_gives_zeros():
    assert not q.fake_quant_with_min_max_vars(X, 0.0, 0.0).numpy().any()


def test_halves_go_up():
    halves = np.arange(-7.5, 7, 1, dtype="float32")
    np.testing.assert_array_equal(q.fake_quant_with_min_max_vars(halves, -8.0, 7.0, 4).numpy(), halves + 0.5)


def test_a_range_for_each_channel():
    found = q.fake_quant_with_min_max_vars_per_channel(BY_CHANNEL, [-3.0, -1.0, 0.0], [6.0, 1.0, 3.0]).numpy()
    alone = [
        q.fake_quant_with_min_max_vars(BY_CHANNEL[:, i], low, high).numpy()
        for i, (low, high) in enumerate([(-3.0, 6.0), (-1.0, 1.0), (0.0, 3.0)])
    ]
    np.testing.assert_array_equal(found, np.stack(alone, 1))


def slopes(function, x, *ends):
    given = [tf.constant(x), *map(tf.constant, ends)]
    with tf.GradientTape() as tape:
        tape.watch(given)
        total = tf.reduce_sum(function(*given) * np.arange(1, x.size + 1, dtype="float32").reshape(x.shape))
    return [grad.numpy().ravel().tolist() for grad in tape.gradient(total, given)]


def test_gradients(on_device):
    inside = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0]
    assert slopes(q.fake_quant_with_min_max_vars, X, -3.0, 6.0) == [inside, [1], [12]]
    assert slopes(lambda x: q.fake_quant_with_min_max_args(x, -3, 6), X) == [inside]
    assert slopes(q.fake_quant_with_min_max_vars, X, 1.0, 6.0) == [[0] * 4 + [5, 6, 7, 8, 9] + [0] * 4, [10], [33]]
    assert slopes(q.fake_quant_with_min_max_vars, X, 0.0, 0.0) == [list(range(1, 14)), [0], [0]]
    found = slopes(q.fake_quant_with_min_max_vars_per_channel, BY_CHANNEL, [-3.0, -1.0, 0.0], [6.0, 1.0, 3.0])
    assert found == [[0] * 3 + [4, 5, 6, 7, 8, 9, 10] + [0] * 5, [1, 16, 18], [0, 11, 12]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: q.fake_quant_with_min_max_args(X, 3, -1), "min has to be smaller than max, was: 3 >= -1"),
        (lambda: q.fake_quant_with_min_max_vars(X, [-3.0], 6.0), "`min` must be rank 0 but is rank 1"),
        (lambda: q.fake_quant_with_min_max_vars(X, -3.0, 6.0, num_bits=1), "num_bits must be between 2 and 16"),
        (lambda: q.fake_quant_with_min_max_args(X, num_bits=17), "num_bits must be between 2 and 16"),
        (
            lambda: q.fake_quant_with_min_max_vars_per_channel(BY_CHANNEL, [1.0, 2.0], [3.0, 4.0]),
            "min has incorrect size, expected 3 was 2",
        ),
        (lambda: q.fake_quant_with_min_max_vars_per_channel(X, -3.0, 6.0), "`min` must be rank 1 but is rank 0"),
        (lambda: q.fake_quant_with_min_max_vars(tf.constant(X, tf.float64), -3.0, 6.0), "float tensor"),
        (lambda: q.fake_quant_with_min_max_args_gradient(X[:2], X), "must be the same size"),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=words):
        call()


def test_bits_are_a_number():
    with pytest.raises(TypeError, match="num_bits"):
        q.fake_quant_with_min_max_args(X, num_bits="8")
