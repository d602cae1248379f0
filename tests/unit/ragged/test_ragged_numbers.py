"""Reductions of ragged tensors along several axes, and what keeps their rows; against NumPy and TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf

ROWS = [[[1, 2], [3]], [[4, 5, 6]], []]


def plain(value: Any) -> Any:
    return value.to_list() if isinstance(value, tf.RaggedTensor) else value.numpy().tolist()


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("axis", "keepdims", "expected"),
    [
        (None, False, 3.5),
        ([0, 1, 2], False, 3.5),
        ([1, 2], True, [[[2.0]], [[5.0]], [[np.nan]]]),
        ([1, 2], False, [2.0, 5.0, np.nan]),
        ([0, 2], False, [3.6, 3.0]),
        ([0, 1], False, [8 / 3, 3.5, 6.0]),
        ([0, 1], True, [[[8 / 3, 3.5, 6.0]]]),
        ([], False, ROWS),
    ],
)
def test_a_mean_along_several_axes_is_no_mean_of_means(axis, keepdims, expected):
    for dtype, result in ((tf.int32, tf.float64), (tf.float64, tf.float64), (tf.float32, tf.float32)):
        found = tf.reduce_mean(tf.ragged.constant(ROWS, dtype), axis, keepdims)
        assert found.dtype is result
        if axis == []:
            assert plain(found) == expected
        else:
            np.testing.assert_allclose(np.array(plain(found), float), expected, rtol=1e-6)


def test_variance_and_deviation():
    rows = tf.ragged.constant([[1.0, 2.0, 6.0], [3.0], []], tf.float64)
    np.testing.assert_allclose(tf.math.reduce_variance(rows, 1), [np.var([1.0, 2.0, 6.0]), 0.0, np.nan])
    np.testing.assert_allclose(tf.math.reduce_std(rows), np.std([1.0, 2.0, 6.0, 3.0]))
    assert tf.math.reduce_variance(tf.ragged.constant([[1, 2], [3]]), 1).numpy().tolist() == [0.25, 0.0]
    with pytest.raises(ValueError, match="complex"):
        tf.math.reduce_variance(tf.cast(rows, tf.complex64), 1)


def test_all_of_a_tensor_of_unknown_rank():
    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def product(values):
        return tf.reduce_prod(tf.RaggedTensor.from_row_lengths(values, [2, 0, 1]))

    assert float(product(tf.constant([2.0, 3.0, 4.0]))) == 24.0


@pytest.mark.parametrize(
    ("multiples", "expected"),
    [
        ([2, 0, 1], [[]] * 6),
        ([1, 1, 0], [[[], []], [[]], []]),
        ([1, 2, 0], [[[]] * 4, [[]] * 2, []]),
        ([0, 1, 1], []),
    ],
)
def test_tiles_of_nothing(multiples, expected):
    assert tf.tile(tf.ragged.constant(ROWS), multiples).to_list() == expected


def test_dropout_keeps_the_rows():
    rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    assert tf.nn.dropout(rows, 0.0).to_list() == rows.to_list()
    dropped = tf.nn.dropout(rows, 0.5, seed=3)
    assert dropped.row_splits.numpy().tolist() == [0, 2, 2, 3]
    assert set(dropped.flat_values.numpy().tolist()) <= {0.0, 2.0, 4.0, 6.0}
    with pytest.raises(ValueError, match="noise_shape"):
        tf.nn.dropout(rows, 0.5, noise_shape=[1])


def test_partitions():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    found = tf.dynamic_partition(rows, [1, 0, 1], 3)
    assert [part.to_list() for part in found] == [[[]], [[1, 2], [3]], []]
    by_value = tf.dynamic_partition(rows, tf.ragged.constant([[1, 0], [], [1]]), 2)
    assert [part.numpy().tolist() for part in by_value] == [[2], [1, 3]]
    with pytest.raises(ValueError, match="partitions"):
        tf.dynamic_partition(rows, [[1, 0, 1]], 2)


@pytest.mark.parametrize(
    ("widths", "options", "expected"),
    [
        ([1, 3], {}, [["a"], ["a", "b"], ["a", "b", "c", "a b c"], []]),
        ([2, 3], {}, [["a"], ["a b"], ["a b", "b c", "a b c"], []]),
        ([6, 5], {"pad_values": ("<", ">"), "padding_width": 1}, [["< a >"], ["< a b >"], ["< a b c >"], []]),
    ],
)
def test_ngrams_keep_rows_that_are_too_short_for_every_width(widths, options, expected):
    words = tf.strings.split(["a", "a b", "a b c", ""])
    found = tf.strings.ngrams(words, widths, preserve_short_sequences=True, **options).to_list()
    assert [[gram.decode() for gram in row] for row in found] == expected


def shown(value: Any) -> Any:
    return [shown(each) for each in value] if isinstance(value, list) else plain(value)


R, R3 = [[1.0, 2.0], [], [3.0]], [[[1.0, 2.0], [3.0]], [], [[4.0]]]


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("function", "rows", "expected"),
    [
        (lambda r: tf.squeeze(tf.expand_dims(r, 1), 1), R, R),
        (lambda r: tf.squeeze(tf.expand_dims(tf.expand_dims(r, 0), 2), [0, 2]), R, R),
        (lambda r: tf.squeeze(tf.expand_dims(r, -1), [-1]), R3, R3),
        (lambda r: tf.split(r, [1, 2], 0), R3, [[[[1.0, 2.0], [3.0]]], [[], [[4.0]]]]),
        (lambda r: tf.split(r, 3), R, [[[1.0, 2.0]], [[]], [[3.0]]]),
        (lambda r: tf.where(r > 1.5), R, [[0, 1], [2, 0]]),
        (lambda r: tf.where(r > 1.5), R3, [[0, 0, 1], [0, 1, 0], [2, 0, 0]]),
        (lambda r: tf.gather_nd(r, [[0, 1], [2, 0]]), R3, [[3.0], [4.0]]),
        (lambda r: tf.gather_nd(r, [[0, 1, 0], [2, 0, 0]]), R3, [3.0, 4.0]),
        (lambda r: tf.cumsum(r, 1, reverse=True), R, [[3.0, 2.0], [], [3.0]]),
        (lambda r: tf.cumsum(r, 1, exclusive=True), R, [[0.0, 1.0], [], [0.0]]),
        (lambda r: tf.math.unsorted_segment_sum(r, [1, 0, 1], 2), R3, [[], [[5.0, 2.0], [3.0]]]),
        (lambda r: tf.math.unsorted_segment_max(r, [1, 0, 1], 3), R, [[], [3.0, 2.0], []]),
        (lambda r: tf.clip_by_value(r, 1.5, 2.5), R, [[1.5, 2.0], [], [2.5]]),
        (lambda r: tf.saturate_cast(r * 100, tf.int8), R, [[100, 127], [], [127]]),
        (lambda r: tf.add_n([r, r, r * 2]), R, [[4.0, 8.0], [], [12.0]]),
        (lambda r: tf.debugging.check_numerics(r, "rows"), R, R),
    ],
)
def test_functions_of_dense_tensors_take_ragged_ones(function, rows, expected):
    assert shown(function(tf.ragged.constant(rows))) == expected


def test_logarithms_of_sums_of_powers():
    rows = tf.ragged.constant([[100.0, 200.0], [], [3.0]])
    np.testing.assert_allclose(tf.reduce_logsumexp(rows, 1), [200.0, -np.inf, 3.0])
    np.testing.assert_allclose(tf.reduce_logsumexp(rows, 1, keepdims=True), [[200.0], [-np.inf], [3.0]])
    np.testing.assert_allclose(tf.reduce_logsumexp(tf.ragged.constant([[1.0], [1.0, 2.0]])), np.log(2 * np.e + np.e**2))
    np.testing.assert_allclose(tf.nn.gelu(rows).flat_values, [100.0, 200.0, 2.99595], rtol=1e-5)


def test_no_element_of_another_row():
    rows = tf.ragged.constant(R)
    for wrong in ([[1, 0]], [[0, 2]], [[0, -1]]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.gather_nd(rows, wrong)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.squeeze(rows, 1)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        tf.split(rows, 2)
    with pytest.raises(ValueError, match="axis"):
        tf.squeeze(rows)
