"""Indices that a graph knows beforehand, or computes one number of: the rows of NumPy, and the same refusals."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs.errors import InvalidArgumentError, SitusError

VALUES = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "arguments", [(5,), (2, 7), (7, 2, -2), (-3, 4, 3), (0,), (4, 4), (0, 10, 3)], ids=lambda given: str(given)
)
def test_a_loop_over_a_range_sees_its_numbers(arguments):
    @tf.function
    def numbers(*given):
        found = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=[])
        for number in tf.range(*arguments):
            found = found.write(found.size(), number)
        for number in tf.range(*given):
            found = found.write(found.size(), number)
        return found.stack()

    wanted = [*range(*arguments)] * 2
    assert numbers(*[tf.constant(each) for each in arguments]).numpy().tolist() == wanted


def test_a_range_of_other_numbers_keeps_its_dtype():
    @tf.function
    def total(limit):
        whole, real = tf.constant(0, tf.int64), tf.constant(0.0)
        for number in tf.range(tf.cast(limit, tf.int64)):
            whole += number
        for number in tf.range(0.0, 1.0, 0.25):
            real += number
        return whole, real

    whole, real = total(tf.constant(5))
    assert (int(whole), float(real)) == (10, 1.5)
    assert whole.dtype == tf.int64


def test_a_range_loop_may_end_early_and_lie_in_another():
    @tf.function
    def pairs(limit):
        total = 0
        for first in tf.range(1, limit):
            for second in tf.range(first):
                if second > 2:
                    break
                total += first * 10 + second
        return total

    wanted = sum(first * 10 + second for first in range(1, 6) for second in range(min(first, 3)))
    assert int(pairs(tf.constant(6))) == wanted


@pytest.mark.parametrize("number", [0, 1, -1])
def test_one_number_along_any_axis(on_device, number):
    takes = [
        lambda x, t: x[t],
        lambda x, t: x[:, t],
        lambda x, t: x[:, :, t],
        lambda x, t: x[..., t],
        lambda x, t: x[t, 1:],
    ]
    for take in takes:
        found = tf.function(take)(tf.constant(VALUES), tf.constant(number))
        np.testing.assert_array_equal(found.numpy(), take(VALUES, number))
        fixed = tf.function(lambda x, take=take: take(x, number))(tf.constant(VALUES))
        np.testing.assert_array_equal(fixed.numpy(), take(VALUES, number))


def test_a_number_beyond_the_end_is_refused(on_device):
    for take in (lambda x, t: x[t], lambda x, t: x[:, t], lambda x, t: x[:, :, t]):
        with pytest.raises((InvalidArgumentError, IndexError, SitusError)):
            tf.function(take)(tf.constant(VALUES), tf.constant(4))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gathering_by_one_number_is_a_copy_and_is_checked(axis):
    with tf.device("CPU:0"):
        v = tf.Variable(VALUES)
        for run in (tf.gather, tf.function(tf.gather)):
            found = run(v, tf.constant(1), axis=axis)
            v.assign_add(tf.ones_like(v))
            np.testing.assert_array_equal(found.numpy(), VALUES.take(1, axis))
            v.assign(VALUES)
            for bad in (-1, 4):
                with pytest.raises(InvalidArgumentError, match=rf"{bad} is not in \[0, "):
                    run(v, tf.constant(bad), axis=axis)


def test_parts_of_sizes_known_beforehand(on_device):
    x = tf.constant(VALUES)
    cuts = [
        (lambda x: tf.split(x, 2, -1), np.split(VALUES, 2, -1)),
        (lambda x: tf.split(x, [1, 2], 1), [VALUES[:, :1], VALUES[:, 1:]]),
        (lambda x: tf.split(x, [1, -1], 2), [VALUES[..., :1], VALUES[..., 1:]]),
        (lambda x: [tf.concat([x, x], -2)], [np.concatenate([VALUES, VALUES], -2)]),
        (lambda x: [tf.cast(x, tf.int32)], [VALUES.astype(np.int32)]),
    ]
    for cut, wanted in cuts:
        for spec in ([2, 3, 4], [None, 3, 4], [None, None, None], None):
            made = tf.function(cut, input_signature=[tf.TensorSpec(spec, tf.float64)])(x)
            for one, other in zip(made, wanted, strict=True):
                np.testing.assert_array_equal(one.numpy(), other)
