"""Elements counted into bins, against NumPy and figures recorded from TensorFlow 2.21, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import count
from situs.errors import DTypeError, InvalidArgumentError


def check(result, expected, dtype=None):
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.shape == np.shape(expected)
    if dtype is not None:
        assert result.dtype is dtype


# Histograms.

VALUES = [-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
def test_histogram_puts_values_outside_into_the_border_bins(on_device, kind):
    values, borders = np.array(VALUES, kind), np.array([0, 5], kind)
    check(count.histogram_fixed_width(values, borders, nbins=5), [2, 1, 1, 0, 2], dt.int32)  # recorded from TensorFlow
    check(count.histogram_fixed_width_bins(values, borders, nbins=5), [0, 0, 1, 2, 4, 4], dt.int32)
    assert count.histogram_fixed_width(values, borders).shape == (100,)
    assert count.histogram_fixed_width(values, borders, 5, dt.int64).dtype is dt.int64


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_histogram_of_integers_that_are_far_apart(on_device, kind):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    check(count.histogram_fixed_width(np.array([low, 0, high], kind), np.array([-10, 10], kind), 4), [1, 0, 1, 1])
    start = high - 4
    check(
        count.histogram_fixed_width(np.arange(start, start + 4, dtype=kind), np.array([start, high], kind), 4), [1] * 4
    )


def test_histogram_of_any_shape(on_device):
    check(count.histogram_fixed_width([[1.0], [2.0]], [0.0, 5.0], 3), [1, 1, 0])
    check(count.histogram_fixed_width_bins([[1.0], [2.0]], [0.0, 5.0], 3), [[0], [1]])
    check(count.histogram_fixed_width(np.zeros(0), [0.0, 1.0], 2), [0, 0])


@given(st.lists(st.integers(-20, 40), max_size=20), st.integers(1, 7))
def test_histogram_counts_the_bins_of_all_values(values, nbins):
    numbers = np.array(values, np.float64)
    bins = count.histogram_fixed_width_bins(numbers, [0.0, 10.0], nbins).numpy()
    check(count.histogram_fixed_width(numbers, [0.0, 10.0], nbins), np.bincount(bins, minlength=nbins))


@pytest.mark.parametrize(
    ("values", "borders", "nbins", "text"),
    [
        ([1, 2], [5, 0], 3, r"value_range\[0\] < value_range\[1\], but got '\[5, 0\]'"),
        ([1, 2], [0, 0], 3, "value_range should satisfy"),
        ([1, 2], [0, 5], 0, "nbins should be a positive number, but got '0'"),
        ([1, 2], [0], 3, "value_range should be a vector of 2 elements"),
        ([float("nan")], [0.0, 5.0], 3, "Histogram values must not contain NaN"),
        ([1, 2], [0.5, 5.0], 3, r"Cannot convert \[0.5, 5.0\] to EagerTensor of dtype int32"),
        ([1, 2], [0, 5], 2.5, "must be a single integer"),
    ],
)
def test_histogram_refuses_what_does_not_fit(on_device, values, borders, nbins, text):
    for function in (count.histogram_fixed_width, count.histogram_fixed_width_bins):
        with pytest.raises(InvalidArgumentError, match=text):
            function(values, borders, nbins)


# Bincount.


@pytest.mark.parametrize(
    ("arguments", "expected", "dtype"),
    [  # recorded from TensorFlow
        ({"arr": [1, 1, 2, 5]}, [0, 2, 1, 0, 0, 1], dt.int32),
        ({"arr": [1, 1, 2, 5], "minlength": 8}, [0, 2, 1, 0, 0, 1, 0, 0], dt.int32),
        ({"arr": [1, 1, 2, 5], "maxlength": 3}, [0, 2, 1], dt.int32),
        ({"arr": [1, 2], "minlength": -1}, [0, 1, 1], dt.int32),
        ({"arr": [1, 1, 2], "weights": [0.5, 0.5, 1.0]}, [0, 1, 1], dt.float32),
        ({"arr": [1, 1], "weights": [1, 2]}, [0, 3], dt.int32),
        ({"arr": []}, [], dt.int32),
        ({"arr": [1, 1], "dtype": dt.float32}, [0, 2], dt.float32),
        ({"arr": [1, 1], "dtype": dt.int64}, [0, 2], dt.int64),
        ({"arr": [1, 1], "binary_output": True}, [0, 1], dt.int32),
        ({"arr": [[1, 1], [2, 3]]}, [0, 2, 1, 1], dt.int32),
        ({"arr": [[1, 1], [2, 3]], "axis": 0}, [0, 2, 1, 1], dt.int32),
        ({"arr": [[1, 1], [2, 3]], "axis": -1}, [[0, 2, 0, 0], [0, 0, 1, 1]], dt.int32),
        ({"arr": [[1, 1], [2, 3]], "axis": -1, "binary_output": True}, [[0, 1, 0, 0], [0, 0, 1, 1]], dt.int32),
        (
            {"arr": [[1, 1], [2, 3]], "axis": -1, "weights": [[1.0, 2.0], [3.0, 4.0]]},
            [[0, 3, 0, 0], [0, 0, 3, 4]],
            dt.float32,
        ),
        ({"arr": [1, 1], "axis": -1}, [0, 2], dt.int32),
        ({"arr": [[1, 1], [2, 3]], "axis": -1, "maxlength": 0}, np.zeros((2, 0)), dt.int32),
        ({"arr": np.array([7, 7], np.int64), "maxlength": 3}, [0, 0, 0], dt.int32),
    ],
)
def test_bincount_counts_integers(on_device, arguments, expected, dtype):
    check(count.bincount(**arguments), expected, dtype)


def test_bincount_of_tensorflow_1_takes_fewer_arguments(on_device):
    check(count.bincount_v1([1, 1, 2], None, 4, None, dt.int64), [0, 2, 1, 0], dt.int64)


@given(st.lists(st.integers(0, 9), max_size=20))
def test_bincount_equals_numpy(numbers):
    check(count.bincount(np.array(numbers, np.int32)), np.bincount(numbers) if numbers else [])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"arr": [1, -2]}, "Input arr must be non-negative!"),
        ({"arr": [1, 1], "weights": [1.0]}, "`weights` must be the same shape as `arr`"),
        ({"arr": [[1]], "axis": 1}, "Only 0 and -1 are currently supported"),
        ({"arr": [[[1]]], "axis": -1}, "rank at most 2"),
        ({"arr": [1], "weights": [1.0], "binary_output": True}, "mutually exclusive"),
        ({"arr": ["a"]}, "Value for attr 'Tidx'"),
    ],
)
def test_bincount_refuses_what_does_not_fit(on_device, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        count.bincount(**arguments)


def test_the_axis_of_bincount_may_be_a_constant_of_a_graph():
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(count.bincount([[1, 1], [0, 2]], axis=tf.constant(-1))).tolist() == [[0, 2, 0], [1, 0, 1]]


# Confusion matrices.


def test_confusion_matrix_counts_predictions(on_device):
    matrix = count.confusion_matrix([1, 2, 2, 0], [2, 2, 2, 0])
    check(matrix, [[1, 0, 0], [0, 0, 1], [0, 0, 2]], dt.int32)
    check(count.confusion_matrix([1], [0], num_classes=2, weights=[0.5], dtype=dt.float32), [[0, 0], [0.5, 0]])
    check(count.confusion_matrix([1], [0], weights=[0.5]), [[0, 0], [0, 0]])  # recorded from TensorFlow
    check(count.confusion_matrix_v1([1], [0], 2, dt.int64, "name", [3]), [[0, 0], [3, 0]], dt.int64)
    check(count.confusion_matrix([[1], [2]], [2, 2]), [[0, 0, 0], [0, 0, 1], [0, 0, 1]])
    check(count.confusion_matrix([1.0], [[0]]), [[0, 0], [1, 0]])
    check(count.confusion_matrix([], [], num_classes=2), np.zeros((2, 2)))
    assert count.confusion_matrix([1], [0], dtype=dt.float16).dtype is dt.float16


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"labels": [1, 4], "predictions": [1, 1], "num_classes": 3}, "`labels` out of bound"),
        ({"labels": [1, 1], "predictions": [1, 4], "num_classes": 3}, "`predictions` out of bound"),
        ({"labels": [1, -4], "predictions": [1, 1]}, "`labels` contains negative values"),
        ({"labels": [1, 1], "predictions": [1, -1]}, "`predictions` contains negative values"),
        ({"labels": [1, 2], "predictions": [1, 2, 3]}, "must have one shape"),
        ({"labels": [[1, 2]], "predictions": [[1, 2]]}, "must be vectors"),
        ({"labels": [1, 2], "predictions": [1, 2], "weights": [1]}, r"Shapes \(2,\) and \(1,\) are incompatible"),
        ({"labels": [1], "predictions": [1], "num_classes": -1}, "num_classes must not be negative"),
        ({"labels": ["a"], "predictions": [1]}, "Value for attr 'Tlabels'"),
    ],
)
def test_confusion_matrix_refuses_what_does_not_fit(on_device, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        count.confusion_matrix(**arguments)


def test_counts_have_a_dtype_that_can_count(on_device):
    with pytest.raises(DTypeError):
        count.histogram_fixed_width([1.0], [0.0, 5.0], dtype=dt.float32)
    with pytest.raises(DTypeError):
        count.bincount([1], dtype=dt.string)


# The rules that graphs are built with.

UNKNOWN = TensorShape(None)


def s(*dims):
    return TensorShape(dims)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("HistogramFixedWidth", (UNKNOWN, s(2), 5), {}, s(5)),
        ("HistogramFixedWidth", (UNKNOWN, s(None), None), {}, s(None)),
        ("HistogramFixedWidthBins", (s(None, 3), UNKNOWN, None), {}, s(None, 3)),
        ("DenseBincount", (s(None), s(0), None, None), {"binary_output": False, "per_row": False}, s(None)),
        ("DenseBincount", (s(3, None), s(0), None, None), {"binary_output": False, "per_row": True}, s(3, None)),
        ("DenseBincount", (UNKNOWN, s(0), None, None), {"binary_output": False, "per_row": True}, UNKNOWN),
        ("ConfusionMatrix", (s(None), UNKNOWN, s(0), 3), {}, s(3, 3)),
        ("ConfusionMatrix", (s(None, 1), s(None), s(0), None), {}, s(None, None)),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    assert infer_shapes(find_op(name), inputs, attrs) == [expected]


def test_bincount_refuses_a_negative_maxlength():
    with pytest.raises(InvalidArgumentError, match="must be non-negative"):
        count.bincount([1, 2, 3], maxlength=-1)


def test_a_histogram_of_infinities_has_no_nan():
    """Their sum is NaN, and none of them is."""
    found = tf.histogram_fixed_width([np.inf, -np.inf, 0.5], [0.0, 1.0], 4)
    assert found.numpy().tolist() == [1, 0, 1, 1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="NaN"):
        tf.histogram_fixed_width([np.inf, -np.inf, np.nan], [0.0, 1.0], 4)


# Ragged and sparse elements: only what is there is counted.

LISTS = [[1, 2, 2], [], [3]]


def as_ragged(rows, dtype=None):
    return tf.ragged.constant(rows, dtype=dtype)


def as_sparse(rows, dtype=None):
    places = [[number, place] for number, row in enumerate(rows) for place in range(len(row))]
    values = tf.constant([value for row in rows for value in row], dtype)
    return tf.SparseTensor(np.array(places, np.int64).reshape(-1, 2), values, [len(rows), 3])


def rows_counted(rows, length):
    return np.array([np.bincount([value for value in row if value < length], minlength=length) for row in rows])


@pytest.mark.parametrize("made", [as_ragged, as_sparse])
@pytest.mark.parametrize("kind", [dt.int32, dt.int64])
def test_bincount_of_elements_that_are_not_everywhere(on_device, made, kind):
    given = made(LISTS, kind)
    check(count.bincount(given), [0, 1, 2, 1], dt.int32)
    check(count.bincount(given, axis=0, minlength=6, dtype=dt.float32), [0, 1, 2, 1, 0, 0], dt.float32)
    check(count.bincount(given, axis=-1), rows_counted(LISTS, 4), dt.int32)
    check(count.bincount(given, axis=-1, maxlength=2), rows_counted(LISTS, 2))
    check(count.bincount(given, axis=-1, minlength=6, maxlength=6), rows_counted(LISTS, 6))
    check(count.bincount(given, axis=-1, binary_output=True), np.minimum(rows_counted(LISTS, 4), 1))
    check(count.bincount_v1(given, dtype=dt.int64), [0, 1, 2, 1], dt.int64)


@pytest.mark.parametrize("made", [as_ragged, as_sparse])
def test_bincount_with_weights_of_the_same_kind(on_device, made):
    weights = made([[0.5, 1.0, 2.0], [], [4.0]])
    check(count.bincount(made(LISTS), weights), [0, 0.5, 3, 4], dt.float32)
    check(count.bincount(made(LISTS), weights, axis=-1), [[0, 0.5, 3, 0], [0] * 4, [0, 0, 0, 4]], dt.float32)
    with pytest.raises(InvalidArgumentError, match="`weights` must be a"):
        count.bincount(made(LISTS), [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(InvalidArgumentError, match="`weights` must be a"):
        count.bincount([1, 2], made(LISTS))


@pytest.mark.parametrize("made", [as_ragged, as_sparse])
def test_bincount_refuses_negative_elements_of_any_row(made):
    with pytest.raises(InvalidArgumentError, match="must be non-negative"):
        count.bincount(made([[1], [-1], [2]]), axis=-1, minlength=3, maxlength=3)


@pytest.mark.parametrize("made", [as_ragged, as_sparse])
def test_bincount_of_each_row_in_a_function(made):
    @tf.function
    def counted(given):
        return count.bincount(given, axis=-1, minlength=4, maxlength=4)

    for rows in (LISTS, [[0]], [[], []]):
        check(counted(made(rows, dt.int64)), rows_counted(rows, 4))


def test_bincount_counts_along_the_last_axis_of_matrices_only():
    with pytest.raises(InvalidArgumentError, match="rank at most 2"):
        count.bincount(tf.ragged.constant([[[1, 2], []], [[3]]]), axis=-1)


@pytest.mark.parametrize("weights", [None, [[0.5, 1.0, 2.0], [], [4.0]]])
def test_sparse_counts_of_ragged_elements(weights):
    given = None if weights is None else tf.ragged.constant(weights)
    for axis in (0, -1):
        found = tf.sparse.to_dense(tf.sparse.bincount(tf.ragged.constant(LISTS), given, axis=axis))
        check(found, count.bincount(tf.ragged.constant(LISTS), given, axis=axis).numpy())
