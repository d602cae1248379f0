"""Order among elements, against NumPy and figures recorded from TensorFlow 2.21, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, REAL, SIGNED, WIDE_UNSIGNED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import search
from situs._src.ops.array import transpose
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

NAN, INF = float("nan"), float("inf")
DTYPES = sorted(REAL, key=lambda dtype: dtype.name)


def check(result, expected, dtype=None):
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.shape == np.shape(expected)
    if dtype is not None:
        assert result.dtype is dtype


def sample(dtype, *shape):
    """Numbers with equal ones among them, and with the extremes of the dtype."""
    numbers = np.random.default_rng(7).integers(-9 if dtype in SIGNED | FLOATING else 0, 9, shape)
    array = numbers.astype(dtype.as_numpy_dtype)
    if array.size > 2:
        array.flat[1], array.flat[2] = dtype.limits
    return array


# Sort.


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_sort_and_argsort_of_every_dtype(on_device, dtype):
    options.set_soft(dtype in WIDE_UNSIGNED)  # these have no kernel on a GPU
    x = sample(dtype, 5, 8)
    wide = x.astype(np.float64) if dtype in FLOATING else x
    for axis in (-1, 0, 1):
        order = np.argsort(wide, axis, kind="stable")
        check(search.sort(x, axis), np.take_along_axis(x, order, axis), dtype)
        check(search.argsort(x, axis), order, dt.int32)
        flipped = np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
        down = x.shape[axis] - 1 - flipped
        check(search.sort(x, axis, "DESCENDING"), np.take_along_axis(x, down, axis), dtype)
        check(search.argsort(x, axis, "DESCENDING", stable=True), down, dt.int32)


def test_sort_puts_nan_last_and_is_stable(on_device):
    check(search.sort([3.0, NAN, -INF, 2.0]), [-INF, 2, 3, NAN])
    check(search.argsort([3.0, NAN, 3.0, 0.0, -0.0]), [3, 4, 0, 2, 1])
    check(search.argsort([3, 1, 3, 2], direction="DESCENDING"), [0, 2, 3, 1])
    check(search.sort(np.zeros((2, 0))), np.zeros((2, 0)))
    check(search.sort(transpose(to_tensor([[3, 1], [2, 4]]))), [[2, 3], [1, 4]])


def test_sort_refuses_other_axes_directions_and_dtypes(on_device):
    for function in (search.sort, search.argsort):
        with pytest.raises(InvalidArgumentError, match="Argument `direction` should be one of ASCENDING, DESCENDING"):
            function([1], direction="up")
        with pytest.raises(InvalidArgumentError, match="axis 1 is out of range"):
            function([1], axis=1)
        with pytest.raises(InvalidArgumentError, match="axis -1 is out of range"):
            function(5)
        for wrong in ([True], ["a"], [1j]):
            with pytest.raises(DTypeError, match="Value for attr 'T'"):
                function(wrong)


# TopK.


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("size", [9, 700])
def test_top_k_of_every_dtype_takes_the_lower_index_of_equal_ones(on_device, dtype, size):
    options.set_soft(dtype in WIDE_UNSIGNED)
    x = sample(dtype, 3, size)
    wide = x.astype(np.float64) if dtype in FLOATING else x
    order = size - 1 - np.flip(np.argsort(np.flip(wide, -1), -1, kind="stable"), -1)
    for k in (0, 1, 5, size):
        result = search.top_k(x, k)
        check(result.values, np.take_along_axis(x, order[:, :k], -1), dtype)
        check(result.indices, order[:, :k], dt.int32)


@pytest.mark.parametrize("size", [5, 600])
def test_top_k_counts_nan_as_the_largest_and_zeros_as_equal(on_device, size):
    x = np.full(size, -5, np.float32)
    x[:5] = [-0.0, NAN, INF, 0.0, -np.float32(NAN)]
    result = search.top_k(x, 5)
    check(result.values, [NAN, NAN, INF, 0, 0])
    check(result.indices, [1, 4, 2, 0, 3])


def test_top_k_has_one_by_default_and_the_index_type_asked_for(on_device):
    values, indices = search.top_k([3, 1, 3, 2])
    check(values, [3])
    check(indices, [0])
    assert search.top_k([3, 1], 2, index_type=dt.int64).indices.dtype is dt.int64
    check(search.top_k(np.zeros((0, 3)), 2).values, np.zeros((0, 2)))
    check(search.top_k([[3, 1], [1, 2]], to_tensor(1)).indices, [[0], [1]])


@pytest.mark.parametrize(
    ("x", "k", "text"),
    [
        ([3, 1], 5, "input must have at least k columns. Had 2, needed 5"),
        ([3, 1], -1, "Need k >= 0, got -1"),
        (5, 1, r"input must be >= 1-D, got shape \[\]"),
        ([3, 1], [2], "k must be scalar"),
        ([3, 1], 2.0, "must be a single integer"),
        ([True], 1, "Value for attr 'T' of bool"),
    ],
)
def test_top_k_refuses_what_is_not_there(on_device, x, k, text):
    with pytest.raises(InvalidArgumentError, match=text):
        search.top_k(x, k)


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=30), st.data())
def test_both_ways_to_find_the_largest_agree(numbers, data):
    k = data.draw(st.integers(0, len(numbers)))
    x = np.array(numbers, np.float32)
    filled = np.concatenate([x, np.full(600, -INF, np.float32)])
    few, many = search.top_k(x, k), search.top_k(filled, k)
    check(few.values, many.values.numpy())
    check(few.indices, many.indices.numpy())


@pytest.mark.parametrize(
    ("targets", "predictions", "k", "expected"),
    [  # recorded from TensorFlow
        ([1, 0], [[0.1, 0.9], [0.2, 0.8]], 1, [True, False]),
        ([1, 5], [[0.1, 0.9], [0.2, 0.8]], 1, [True, False]),
        ([1, -1], [[0.1, 0.9], [0.2, 0.8]], 2, [True, False]),
        ([0, 1, 2], [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.9, 0.5, 0.5]], 1, [True, True, False]),
        ([0, 1], [[NAN, 0.9], [0.2, 0.8]], 2, [False, True]),
        ([0, 1], [[INF, 0.9], [NAN, 0.8]], 2, [False, False]),
        ([1, 0], [[0.1, 0.9], [0.2, 0.8]], -1, [False, False]),
        (np.zeros(0, np.int64), np.zeros((0, 2), np.float32), 1, []),
        ([0], np.zeros((1, 0), np.float32), 1, [False]),
    ],
)
def test_in_top_k_counts_what_exceeds_the_target(on_device, targets, predictions, k, expected):
    check(search.in_top_k(targets, predictions, k), expected, dt.bool)
    check(search.in_top_k_v1(predictions, targets, k), expected, dt.bool)


def test_in_top_k_refuses_what_does_not_fit(on_device):
    for targets, predictions, text in (
        ([1], [[0.1, 0.9], [0.2, 0.8]], "First dimension of predictions 2 must match length of targets 1"),
        ([1, 0], [0.1, 0.9], "predictions must be 2-dimensional"),
        ([[1]], [[0.1, 0.9]], "targets must be 1-dimensional"),
        ([1], np.array([[0.1, 0.9]]).astype(np.complex64), "Cannot convert a NumPy array of complex64"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            search.in_top_k(targets, predictions, 1)


# Searchsorted.


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_every_dtype_equals_numpy(on_device, dtype, side):
    table = np.sort(sample(dtype, 10).astype(np.float64 if dtype in FLOATING else dtype.as_numpy_dtype))
    values = sample(dtype, 2, 6)
    expected = np.searchsorted(table, values.astype(table.dtype), side)
    check(search.searchsorted(table.astype(dtype.as_numpy_dtype), values, side), expected, dt.int32)
    check(search.searchsorted(table.astype(dtype.as_numpy_dtype), values, side, dt.int64), expected, dt.int64)


def test_searchsorted_looks_in_the_row_at_the_same_place(on_device):
    check(search.searchsorted([[1, 3, 5], [2, 4, 6]], [[3], [3]]), [[1], [1]])
    check(search.searchsorted(transpose(to_tensor([[1, 2], [3, 4]])), transpose(to_tensor([[3, 3]]))), [[1], [1]])
    check(search.searchsorted(np.zeros(0), [1.0]), [0])
    check(search.searchsorted([1.0], np.zeros((2, 0))), np.zeros((2, 0)))


@pytest.mark.parametrize(
    ("table", "values", "text"),
    [
        ([[1, 3], [2, 4]], [3], "Leading dim_size of both tensors must match"),
        ([[1, 3], [2, 4]], [[3]], "Leading dim_size of both tensors must match"),
        ([1, 3], 3, "at least one dimension"),
        (5, [3], "at least one dimension"),
        ([1, 3], [0.5], r"Cannot convert \[0.5\] to EagerTensor of dtype int32"),
    ],
)
def test_searchsorted_refuses_what_does_not_fit(on_device, table, values, text):
    with pytest.raises(InvalidArgumentError, match=text):
        search.searchsorted(table, values)
    with pytest.raises(InvalidArgumentError, match="must be either 'right' or 'left'"):
        search.searchsorted(table, values, side="middle")


# Unique.


@pytest.mark.parametrize(
    ("x", "y", "idx", "count"),
    [  # recorded from TensorFlow
        ([3, 1, 3, 2, 1], [3, 1, 2], [0, 1, 0, 2, 1], [2, 2, 1]),
        (["b", "a", "b"], [b"b", b"a"], [0, 1, 0], [2, 1]),
        ([True, False, True], [True, False], [0, 1, 0], [2, 1]),
        ([NAN, NAN, 1.0], [NAN, NAN, 1.0], [0, 1, 2], [1, 1, 1]),
        ([-0.0, 0.0], [-0.0], [0, 0], [2]),
        ([1j, 2j, 1j], [1j, 2j], [0, 1, 0], [2, 1]),
        (np.zeros(0, np.float32), [], [], []),
    ],
)
def test_unique_is_in_order_of_first_occurrence(x, y, idx, count):
    result = search.unique(x)
    check(result.y, y)
    check(result.idx, idx, dt.int32)
    counted = search.unique_with_counts(x, out_idx=dt.int64)
    check(counted.y, y)
    check(counted.idx, idx, dt.int64)
    check(counted.count, count, dt.int64)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_unique_of_every_dtype(dtype):
    x = sample(dtype, 50)
    y, idx = search.unique(x)
    assert y.dtype is dtype
    check(y, np.array(list(dict.fromkeys(x.tolist())), dtype.as_numpy_dtype))
    np.testing.assert_array_equal(y.numpy()[idx.numpy()], x)


def test_unique_takes_vectors_only():
    for function in (search.unique, search.unique_with_counts):
        for wrong in ([[1]], 5):
            with pytest.raises(InvalidArgumentError, match="unique expects a 1D vector"):
                function(wrong)


def test_setdiff1d_keeps_order_and_repetitions():
    out, idx = search.setdiff1d([1, 2, 3, 4, 5, 6, 2], [1, 3, 5])
    check(out, [2, 4, 6, 2], dt.int32)  # recorded from TensorFlow
    check(idx, [1, 3, 5, 6], dt.int32)
    check(search.setdiff1d(["a", "b"], ["b"]).out, [b"a"])
    assert search.setdiff1d([1], [2], index_dtype=dt.int64).idx.dtype is dt.int64
    check(search.setdiff1d(np.zeros(0), [1.0]).out, [])
    with pytest.raises(InvalidArgumentError, match="x should be a 1D vector"):
        search.setdiff1d([[1]], [1])
    with pytest.raises(InvalidArgumentError, match="y should be a 1D vector"):
        search.setdiff1d([1], 1)


# Permutations and places.


@given(st.permutations(range(6)))
def test_invert_permutation_undoes_it(order):
    inverse = search.invert_permutation(order)
    check(inverse, np.argsort(order), dt.int32)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        ([2, 0, 0], "0 is duplicated in the input"),
        ([2, 0, 3], "3 is not between 0 and 3"),
        ([-1, 0], "-1 is not between 0 and 2"),
        ([[0]], "invert_permutation expects a 1D vector"),
        ([1.0, 0.0], "Value for attr 'T' of float"),
    ],
)
def test_invert_permutation_refuses_what_is_none(on_device, x, text):
    with pytest.raises(InvalidArgumentError, match=text):
        search.invert_permutation(x)


def test_invert_permutation_of_nothing(on_device):
    check(search.invert_permutation(np.zeros(0, np.int64)), [], dt.int64)


def test_unravel_index_gives_coordinates(on_device):
    check(search.unravel_index([7, 3], [3, 4]), [[1, 0], [3, 3]], dt.int32)  # recorded from TensorFlow
    check(search.unravel_index(np.int64(7), [3, 4]), [1, 3], dt.int64)
    check(search.unravel_index(np.zeros(0, np.int32), [3, 4]), np.zeros((2, 0)))
    check(search.unravel_index([0, 0], []), np.zeros((0, 2)), dt.int32)
    for bad in (12, -1):
        with pytest.raises(InvalidArgumentError, match="index is out of bound as with dims"):
            search.unravel_index([0, bad], [3, 4])
    with pytest.raises(InvalidArgumentError, match="dims must not be negative"):
        search.unravel_index([0], [-1])


# The rules that graphs are built with.

UNKNOWN = TensorShape(None)


def s(*dims):
    return TensorShape(dims)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("Sort", (s(None, 3), None), {"direction": "ASCENDING"}, [s(None, 3)]),
        ("TopKV2", (s(None, None), 3), {"sorted": True}, [s(None, 3)] * 2),
        ("TopKV2", (s(2, 3), None), {"sorted": True}, [s(2, None)] * 2),
        ("TopKV2", (UNKNOWN, 3), {"sorted": True}, [UNKNOWN] * 2),
        ("InTopKV2", (UNKNOWN, s(3), 1), {}, [s(3)]),
        ("LowerBound", (UNKNOWN, s(None, 3)), {}, [s(None, 3)]),
        ("Unique", (UNKNOWN,), {}, [s(None), s(None)]),
        ("UniqueWithCounts", (s(4),), {}, [s(None), s(4), s(None)]),
        ("ListDiff", (UNKNOWN, s(4)), {}, [s(None), s(None)]),
        ("InvertPermutation", (s(None),), {}, [s(None)]),
        ("UnravelIndex", (s(None), (3, 4)), {}, [s(2, None)]),
        ("UnravelIndex", (s(2), None), {}, [s(None, 2)]),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    assert infer_shapes(find_op(name), inputs, attrs) == expected


@given(st.lists(st.integers(-40, 40), min_size=60, max_size=90), st.sampled_from([1, 10**9]))
def test_unique_of_many_numbers_near_each_other_and_far_apart(numbers, factor):
    x = np.array(numbers, np.int64) * factor
    y, idx, count = search.unique_with_counts(x)
    first = list(dict.fromkeys(x.tolist()))
    assert y.numpy().tolist() == first
    assert idx.numpy().tolist() == [first.index(each) for each in x.tolist()]
    assert count.numpy().tolist() == [x.tolist().count(each) for each in first]
