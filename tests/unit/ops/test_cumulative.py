"""Running sums, sums of many tensors, and segments, against NumPy and recorded TensorFlow 2.21 results."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs
from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.dtype import NUMERIC, REAL, WIDE_UNSIGNED
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import cumulative as c
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

# Running sums and products.

X = np.array([[1, 2, 3], [4, 5, 6]], np.int32)


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("exclusive", "reverse", "sums", "products", "logarithms"),
    [
        (False, False, [[1, 3, 6], [4, 9, 15]], [[1, 2, 6], [4, 20, 120]], [1.0, 2.31326175, 3.40760612]),
        (False, True, [[6, 5, 3], [15, 11, 6]], [[6, 6, 3], [120, 30, 6]], [3.40760612, 3.31326175, 3.0]),
        (True, False, [[0, 1, 3], [0, 4, 9]], [[1, 1, 2], [1, 4, 20]], [-math.inf, 1.0, 2.31326175]),
        (True, True, [[5, 3, 0], [11, 6, 0]], [[6, 3, 1], [30, 6, 1]], [3.31326175, 3.0, -math.inf]),
    ],
)
def test_scans_in_both_directions_with_and_without_the_element(
    on_device, exclusive, reverse, sums, products, logarithms
):
    how = {"exclusive": exclusive, "reverse": reverse}
    assert c.cumsum(X, 1, **how).numpy().tolist() == sums
    assert c.cumprod(X, -1, **how).numpy().tolist() == products
    np.testing.assert_allclose(c.cumulative_logsumexp([1.0, 2.0, 3.0], **how).numpy(), logarithms, rtol=1e-6)
    assert c.cumsum(X, 1, **how).device == on_device


@pytest.mark.parametrize("dtype", sorted(NUMERIC, key=str), ids=lambda d: d.name)
def test_scans_keep_every_dtype(dtype):
    x = to_tensor(X, dtype)
    for exclusive in (False, True):
        result = c.cumsum(x, exclusive=exclusive, reverse=True)
        assert result.dtype is dtype
        expected = [[5, 7, 9], [4, 5, 6]] if not exclusive else [[4, 5, 6], [0, 0, 0]]
        np.testing.assert_array_equal(result.numpy().astype(complex), expected)
    assert c.cumprod(x).dtype is dtype


@pytest.mark.parametrize("dtype", sorted(WIDE_UNSIGNED, key=str), ids=lambda d: d.name)
def test_scans_of_wide_unsigned_integers_from_the_end(dtype):
    x = np.array([[3, 250, 60000], [1, 2, 65535]], dtype.as_numpy_dtype)
    for numbers, axis in ((x[0], 0), (x, 1), (x[:, :1], -2)):
        backwards = np.flip(numbers, axis)
        sums, products = c.cumsum(numbers, axis, reverse=True), c.cumprod(numbers, axis, reverse=True)
        np.testing.assert_array_equal(sums.numpy(), np.flip(np.cumsum(backwards, axis, numbers.dtype), axis))
        np.testing.assert_array_equal(products.numpy(), np.flip(np.cumprod(backwards, axis, numbers.dtype), axis))


def test_small_integers_wrap_around(on_device):
    assert c.cumsum(to_tensor([100, 100], dt.int8)).numpy().tolist() == [100, -56]


def test_scans_of_nothing_are_empty(on_device):
    for exclusive in (False, True):
        assert c.cumsum(np.zeros((0, 2)), exclusive=exclusive).shape == (0, 2)
        assert c.cumprod(np.zeros((2, 0)), 1, exclusive, True).shape == (2, 0)
        assert c.cumulative_logsumexp(np.zeros((2, 0)), 0, exclusive).shape == (2, 0)


def test_cumulative_logsumexp_starts_from_infinity(on_device):
    result = c.cumulative_logsumexp([-math.inf, -math.inf, 1000.0, 1000.0])
    np.testing.assert_allclose(result.numpy(), [-math.inf, -math.inf, 1000, 1000 + math.log(2)])


def test_scans_read_strided_tensors_and_leave_them_alone(on_device):
    x = to_tensor(X.T[::-1])
    np.testing.assert_array_equal(c.cumsum(x, 0, True).numpy()[1:], np.cumsum(X.T[::-1], 0)[:-1])
    np.testing.assert_array_equal(x.numpy(), X.T[::-1])


@pytest.mark.parametrize("function", [c.cumsum, c.cumprod, c.cumulative_logsumexp])
@pytest.mark.parametrize(
    ("x", "axis", "message"),
    [
        ([[1.0]], 2, r"Expected scan axis in the range \[-2, 2\), but got 2"),
        (1.0, 0, r"Expected scan axis in the range \[0, 0\), but got 0"),
        ([[1.0]], [0], "axis must be a scalar"),
        ([[1.0]], 0.5, "axis must be a scalar"),
    ],
)
def test_bad_scan_axes_are_refused(on_device, function, x, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(x, axis)


@pytest.mark.parametrize(("function", "x"), [(c.cumsum, [True]), (c.cumsum, ["a"]), (c.cumulative_logsumexp, [1])])
def test_dtypes_that_have_no_such_scan_are_refused(on_device, function, x):
    with pytest.raises(TypeError, match="not in the list of allowed values"):
        function(x)


# Sums of many tensors.


@pytest.mark.parametrize("dtype", sorted(NUMERIC, key=str), ids=lambda d: d.name)
def test_add_n_adds_tensors_of_every_dtype(dtype):
    tensors = [to_tensor(row, dtype) for row in ([1, 2], [3, 4], [5, 6])]
    total = c.add_n(tensors)
    assert total.dtype is dtype
    np.testing.assert_array_equal(total.numpy().astype(complex), [9, 12])
    assert [t.numpy().astype(complex).tolist() for t in tensors] == [[1, 2], [3, 4], [5, 6]]


def test_add_n_runs_where_it_is_told_to(on_device):
    total = c.add_n([[1.0, 2.0], np.array([3.0, 4.0], np.float32)])
    assert (total.numpy().tolist(), total.device) == ([4.0, 6.0], on_device)
    assert c.add_n([to_tensor(5)]).numpy() == 5
    assert c.add_n(x for x in [1, 2, 3]).numpy() == 6


def test_add_n_wraps_small_integers_around(on_device):
    assert c.add_n([to_tensor(200, dt.uint8)] * 2).numpy() == 144


@pytest.mark.parametrize("inputs", [[], 3, None, "ab", [[1.0], None]])
def test_add_n_needs_tensors(inputs):
    with pytest.raises(InvalidArgumentError, match="iterable of at least one Tensor"):
        c.add_n(inputs)


@pytest.mark.parametrize("other", [[1.0], 1.0, [[1.0, 2.0]]])
def test_add_n_does_not_broadcast(on_device, other):
    with pytest.raises(InvalidArgumentError, match=r"must have the same size and shape. Input 0: \[2\] != input 1"):
        c.add_n([to_tensor([1.0, 2.0]), to_tensor(other)])


def test_add_n_of_unsigned_integers_does_not_broadcast():
    with pytest.raises(InvalidArgumentError, match="must have the same size and shape"):
        c.add_n([to_tensor([1, 2], dt.uint32), to_tensor([1], dt.uint32)])


def test_add_n_does_not_mix_dtypes(on_device):
    with pytest.raises(InvalidArgumentError, match="input #1"):
        c.add_n([to_tensor([1.0]), to_tensor([1])])


def test_accumulate_n_checks_what_it_is_told(on_device):
    x = [1.0, 2.0]
    assert c.accumulate_n([x, x], shape=[2], tensor_dtype=dt.float32).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match=r"Shapes \(3,\) and \(2,\) are not compatible"):
        c.accumulate_n([x, x], shape=[3])
    with pytest.raises(TypeError, match="`tensor_dtype` argument is"):
        c.accumulate_n([x, x], tensor_dtype=dt.int32)


def test_add_n_knows_its_shape_from_all_inputs():
    shapes = [TensorShape([None, 3]), UNKNOWN, TensorShape([2, None])]
    assert infer_shapes(find_op("AddN"), (shapes,), {}) == [TensorShape([2, 3])]


# Segments in order. Recorded from TensorFlow 2.21.

DATA = [[1, 2], [3, 4], [5, 6]]
SEGMENTS = [
    (c.segment_sum, [[4, 6], [0, 0], [5, 6]]),
    (c.segment_mean, [[2, 3], [0, 0], [5, 6]]),
    (c.segment_prod, [[3, 8], [1, 1], [5, 6]]),
    (c.segment_max, [[3, 4], [0, 0], [5, 6]]),
    (c.segment_min, [[1, 2], [0, 0], [5, 6]]),
]


@pytest.mark.parametrize("dtype", sorted(REAL, key=str), ids=lambda d: d.name)
@pytest.mark.parametrize(("function", "expected"), SEGMENTS)
def test_segments_with_a_gap(function, expected, dtype):
    for index in (dt.int32, dt.int64):
        result = function(to_tensor(DATA, dtype), to_tensor([0, 0, 2], index))
        assert result.dtype is dtype
        np.testing.assert_array_equal(result.numpy().astype(float), expected)


@pytest.mark.parametrize(("function", "expected"), SEGMENTS)
def test_segments_run_on_every_device(on_device, function, expected):
    result = function(to_tensor(DATA, dt.float32), [0, 0, 2])
    assert (result.numpy().tolist(), result.device) == (expected, on_device)
    assert function(np.zeros((0, 2)), to_tensor([], dt.int32)).shape == (0, 2)
    assert function(np.zeros((2, 0)), [0, 1]).shape == (2, 0)
    assert function([7.0], [0]).numpy().tolist() == [7.0]


def test_complex_segments(on_device):
    assert c.segment_sum(np.array([1j, 2]), [0, 0]).numpy().tolist() == [2 + 1j]
    assert c.segment_mean(np.array([1j, 2]), [0, 0]).numpy().tolist() == [1 + 0.5j]


def test_complex_segments_are_multiplied_on_a_cpu():
    for product in (c.segment_prod(np.array([1j, 2]), [0, 0]), c.unsorted_segment_prod(np.array([1j, 2]), [0, 0], 1)):
        assert (product.numpy().tolist(), product.device[-5:]) == ([2j], "CPU:0")


def test_mean_of_unsigned_segments_beyond_the_signed_range():
    data = np.array([2**63 + 2, 4, 7], np.uint64)
    assert c.segment_mean(data, [0, 0, 1]).numpy().tolist() == [2**62 + 3, 7]


def test_mean_of_integer_segments_rounds_towards_zero(on_device):
    assert c.segment_mean([-3, -4, 100], [0, 0, 1]).numpy().tolist() == [-3, 100]


@pytest.mark.parametrize("function", [function for function, _ in SEGMENTS])
@pytest.mark.parametrize(
    ("data", "ids", "message"),
    [
        (DATA, [1, 0, 1], "segment ids are not increasing"),
        (DATA, [-1, 0, 1], "segment ids must be >= 0"),
        (DATA, [0, 1], "same size as dimension 0"),
        (DATA, [[0], [1], [2]], "should be a vector"),
        (1.0, [0], "at least rank 1"),
        (DATA, [0.0, 0.0, 1.0], "'Tindices' of float is not in the list"),
    ],
)
def test_bad_segments_are_refused(on_device, function, data, ids, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(data, ids)


# Segments in any order. Recorded from TensorFlow 2.21.

UNSORTED = [
    (c.unsorted_segment_sum, [[3, 4], [6, 8], [0, 0]]),
    (c.unsorted_segment_prod, [[3, 4], [5, 12], [1, 1]]),
    (c.unsorted_segment_max, [[3, 4], [5, 6], ["min", "min"]]),
    (c.unsorted_segment_min, [[3, 4], [1, 2], ["max", "max"]]),
]


def filled(expected, dtype):
    return [[getattr(dtype, v) if isinstance(v, str) else v for v in row] for row in expected]


@pytest.mark.parametrize("dtype", sorted(REAL, key=str), ids=lambda d: d.name)
@pytest.mark.parametrize(("function", "expected"), UNSORTED)
def test_unsorted_segments(function, expected, dtype):
    result = function(to_tensor(DATA, dtype), [1, 0, 1], 3)
    assert result.dtype is dtype
    assert result.numpy().tolist() == np.array(filled(expected, dtype), dtype.as_numpy_dtype).tolist()


@pytest.mark.parametrize(("function", "expected"), UNSORTED)
def test_unsorted_segments_run_on_every_device(on_device, function, expected):
    result = function(to_tensor(DATA), to_tensor([1, 0, 1]), to_tensor(3))
    assert (result.numpy().tolist(), result.device) == (filled(expected, dt.int32), on_device)
    assert function(DATA, [-1, 0, -5], 1).numpy().tolist() == [[3, 4]]
    assert function(DATA, [-1, -1, -1], 0).shape == (0, 2)
    assert function(np.zeros((0, 2)), to_tensor([], dt.int32), 2).shape == (2, 2)
    assert function(np.zeros((2, 0)), [0, 1], 2).shape == (2, 0)


def test_ids_may_have_several_dimensions_or_none(on_device):
    ids = [[0, 1], [1, 0], [1, 1]]
    assert c.unsorted_segment_sum(DATA, ids, 2).numpy().tolist() == [5, 16]
    assert c.unsorted_segment_mean(to_tensor(DATA, dt.float32), ids, 2).numpy().tolist() == [2.5, 4.0]
    assert c.unsorted_segment_sum(3.0, 1, 3).numpy().tolist() == [0.0, 3.0, 0.0]


def test_unsorted_means_divide_by_the_number_of_slices(on_device):
    data = to_tensor(DATA, dt.float32)
    assert c.unsorted_segment_mean(data, [1, 0, 1], 3).numpy().tolist() == [[3, 4], [3, 4], [0, 0]]
    by_root = c.unsorted_segment_sqrt_n(data, [1, 0, 1], 3).numpy()
    np.testing.assert_allclose(by_root, [[3, 4], [4.24264097, 5.65685415], [0, 0]])
    of_integers = c.unsorted_segment_mean(DATA, [0, 0, 0], 1)
    assert (of_integers.dtype, of_integers.numpy().tolist()) == (dt.float64, [[3.0, 4.0]])


@pytest.mark.parametrize("function", [*(function for function, _ in UNSORTED), c.unsorted_segment_mean])
@pytest.mark.parametrize(
    ("data", "ids", "count", "message"),
    [
        (DATA, [0, 1], 2, r"data.shape = \[3,2\] does not start with segment_ids.shape = \[2\]"),
        ([1.0, 2.0], [[0, 0], [1, 1]], 2, "does not start with"),
        (DATA, [0, 0, 0], -1, "num_segments == -1 must not be negative"),
        (DATA, [0, 0, 0], [2], "should be a scalar"),
        (DATA, [0, 0, 0], 2.0, "should be a scalar"),
    ],
)
def test_bad_unsorted_segments_are_refused(on_device, function, data, ids, count, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(data, ids, count)


def test_ids_that_are_too_large_are_refused_on_a_cpu_and_dropped_on_a_gpu():
    with (
        scope.device("/CPU:0"),
        pytest.raises(InvalidArgumentError, match=r"segment_ids\[2\] = 5 is out of range \[0, 2\)"),
    ):
        c.unsorted_segment_sum(DATA, [0, 1, 5], 2)
    with scope.device("/CPU:0"), pytest.raises(InvalidArgumentError, match=r"segment_ids\[0,1\] = 9"):
        c.unsorted_segment_max(DATA, [[0, 9], [0, 0], [0, 0]], 2)
    with scope.device("/GPU:0"):
        assert c.unsorted_segment_sum(DATA, [0, 1, 5], 2).numpy().tolist() == [[1, 2], [3, 4]]


def test_shape_of_segments_that_are_not_known_yet():
    unsorted, ordered = find_op("UnsortedSegmentSum"), find_op("SegmentSum")
    assert infer_shapes(unsorted, (TensorShape([None, 4]), TensorShape([3]), None), {}) == [TensorShape([None, 4])]
    assert infer_shapes(unsorted, (UNKNOWN, TensorShape([3]), 2), {}) == [UNKNOWN]
    assert infer_shapes(ordered, (TensorShape([3, 4]), UNKNOWN), {}) == [TensorShape([None, 4])]


@given(st.lists(st.tuples(st.integers(-2, 4), st.integers(-99, 99)), max_size=20))
def test_unsorted_sums_equal_a_loop(pairs):
    expected = [0] * 5
    for segment, value in pairs:
        if segment >= 0:
            expected[segment] += value
    ids = to_tensor([segment for segment, _ in pairs], dt.int32)
    assert c.unsorted_segment_sum(to_tensor([v for _, v in pairs], dt.int64), ids, 5).numpy().tolist() == expected


@pytest.mark.parametrize("dtype", sorted(WIDE_UNSIGNED, key=str), ids=lambda d: d.name)
def test_the_largest_unsigned_integers_keep_their_order(dtype):
    data = to_tensor([1, dtype.max], dtype)
    assert c.unsorted_segment_max(data, [0, 0], 1).numpy().tolist() == [dtype.max]
    assert c.segment_min(data, [0, 0]).numpy().tolist() == [1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("count", "segments", "inner"), [(5, 2, (3,)), (300, 4, (20,)), (300, 90, (20,)), (300, 90, ()), (1, 1, (2, 2))]
)
def test_ordered_segments_are_combined_alike_whatever_their_sizes(dtype, count, segments, inner):
    random = np.random.default_rng(0)
    data = (random.normal(size=(count, *inner)) * 10).astype(dtype)
    ids = np.sort(random.integers(0, segments, count)).astype(np.int32)
    ids[-1] += 2  # and numbers that no row has
    for name in ("sum", "mean", "max", "min"):
        expected = np.zeros((ids[-1] + 1, *inner), dtype)
        for number in set(ids.tolist()):
            combined = getattr(np, name)(data[ids == number], axis=0)
            expected[number] = np.trunc(combined) if dtype == "int32" else combined
        made = getattr(situs.math, f"segment_{name}")(data, ids)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [2, 600])  # few are combined by NumPy
@pytest.mark.parametrize("nan", [False, True])
def test_extremes_of_unordered_segments_begin_with_the_last_finite_number(on_device, count, nan):
    lowest, highest = np.finfo(np.float32).min, np.finfo(np.float32).max  # figures of TensorFlow 2.21
    data = np.full([count, 2], -math.inf, np.float32)
    data[1] = 1
    ids = np.zeros(count, np.int32)
    ids[1] = 2 if nan else 1
    if nan:
        data[1, 1] = math.nan
    most = c.unsorted_segment_max(data, ids, 4).numpy()
    least = c.unsorted_segment_min(-data, ids, 4).numpy()
    assert most[0].tolist() == [lowest] * 2
    assert least[0].tolist() == [highest] * 2
    assert most[3].tolist() == [lowest] * 2
    assert least[ids[1], 0] == -1


def test_sums_that_overflow_do_so_quietly():
    large = np.float32([3e38, 3e38])
    assert c.segment_mean(large, [0, 0]).numpy().tolist() == [math.inf]
    assert c.unsorted_segment_sum(large, [0, 0], 1).numpy().tolist() == [math.inf]
    assert c.unsorted_segment_prod(large, [0, 0], 1).numpy().tolist() == [math.inf]
