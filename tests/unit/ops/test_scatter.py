"""Elements put where indices say, against NumPy and figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices import scope
from situs._src.base.dtype import FIXED, NUMERIC, REAL, WIDE_UNSIGNED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import scatter
from situs._src.ops.array import transpose
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def by_name(dtypes):
    return sorted(dtypes, key=lambda dtype: dtype.name)


# ScatterNd.


@pytest.mark.parametrize("dtype", by_name(NUMERIC), ids=lambda dtype: dtype.name)
def test_scatter_nd_adds_updates_of_every_dtype(on_device, dtype):
    updates = np.array([9, 10, 11]).astype(dtype.as_numpy_dtype)
    result = scatter.scatter_nd([[1], [3], [1]], updates, [5])
    assert result.dtype is dtype
    check(result, np.array([0, 20, 0, 10, 0]).astype(dtype.as_numpy_dtype), on_device)


def test_scatter_nd_of_booleans_and_strings(on_device):
    check(scatter.scatter_nd([[1], [1]], [True, False], [3]), [False, True, False], on_device)
    with scope.device("/CPU:0"):
        check(scatter.scatter_nd([[1], [1]], ["a", "b"], [2]), [b"", b"ab"])  # recorded from TensorFlow
        check(scatter.scatter_nd([[1]], [["a", "b"]], [2, 2]), [[b"", b""], [b"a", b"b"]])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=8), st.integers(1, 2))
def test_scatter_nd_equals_a_loop(places, depth):
    indices = np.array(places, np.int32).reshape(-1, 2)[:, :depth]
    updates = np.arange(len(places) * (3 if depth == 1 else 1)).reshape([len(places), *([3] if depth == 1 else [])])
    expected = np.zeros((2, 3), np.int64)
    for place, update in zip(indices, updates, strict=True):
        expected[tuple(place)] += update
    check(scatter.scatter_nd(indices, updates, [2, 3]), expected)


def test_scatter_nd_of_nothing_is_zero(on_device):
    check(scatter.scatter_nd(np.zeros((0, 1), np.int32), np.zeros(0), [2]), [0, 0], on_device)
    check(scatter.scatter_nd(np.zeros((2, 0), np.int32), [[1, 2], [3, 4]], [2]), [4, 6])
    check(scatter.scatter_nd([[0]], np.zeros((1, 0)), [2, 0]), np.zeros((2, 0)))


CASES = [  # indices, updates, shape, what is wrong
    ([[0]], [[9, 8, 7]], [2, 2], r"Dimensions \[1,2\) of input\[shape=\[2,2\]\] must match"),
    ([[0]], [9, 8], [2, 2], r"Dimensions \[0,1\) of indices\[shape=\[1,1\]\] must match"),
    ([[0, 0, 0]], [9], [2, 2], r"Dimensions \[3,2\) of input"),
    ([0], 9, [2], "Updates shape must have rank at least one"),
    (0, [9], [2], "Indices shape must have rank at least one"),
]


@pytest.mark.parametrize(("indices", "updates", "shape", "text"), CASES)
def test_scatter_refuses_updates_that_do_not_fit(on_device, indices, updates, shape, text):
    with pytest.raises(InvalidArgumentError, match=text):
        scatter.scatter_nd(indices, updates, shape)
    for name in ("update", "add", "sub", "min", "max"):
        with pytest.raises(InvalidArgumentError, match=text):
            getattr(scatter, f"tensor_scatter_nd_{name}")(np.zeros(shape, np.int32), indices, updates)


def test_scatter_nd_refuses_other_shapes_and_dtypes(on_device):
    with pytest.raises(InvalidArgumentError):
        scatter.scatter_nd([[0]], [9], [-1])
    with pytest.raises(DTypeError):
        scatter.scatter_nd([[0.5]], [9], [2])
    with pytest.raises(DTypeError):
        scatter.tensor_scatter_nd_add(to_tensor(X), [[0, 0]], to_tensor([1]))


@pytest.mark.parametrize(("bad", "shown"), [([5], 5), ([-1], -1), ([2**40], 2**40)])
def test_an_index_that_does_not_exist_is_an_error_on_a_cpu_and_left_out_on_a_gpu(bad, shown):
    indices = np.array([[1], bad])
    with scope.device("/CPU:0"):
        for call in (
            lambda: scatter.scatter_nd(indices, [9, 10], [5]),
            lambda: scatter.tensor_scatter_nd_update([0] * 5, indices, [9, 10]),
            lambda: scatter.tensor_scatter_nd_max([0] * 5, indices, [9, 10]),
            lambda: scatter.tensor_scatter_nd_update(["a"] * 5, indices, ["b", "c"]),
        ):
            with pytest.raises(
                InvalidArgumentError, match=rf"indices\[1\] = \[{shown}\] does not index into shape \[5\]"
            ):
                call()
    with scope.device("/GPU:0"):
        check(scatter.scatter_nd(indices, [9, 10], [5]), [0, 9, 0, 0, 0])
        check(scatter.tensor_scatter_nd_update([1] * 5, indices, [9, 10]), [1, 9, 1, 1, 1])
        check(scatter.tensor_scatter_nd_sub([1] * 5, indices, [9, 10]), [1, -8, 1, 1, 1])
        check(scatter.tensor_scatter_nd_min([1] * 5, indices, [-9, -10]), [1, -9, 1, 1, 1])
        check(scatter.scatter_nd([[0]], [9], [0]), [])


# TensorScatterUpdate and its kind.

KINDS = {
    "update": (FIXED, [1, 8, 3]),
    "add": (NUMERIC, [1, 19, 3]),
    "sub": (NUMERIC, None),
    "min": (REAL, [1, 2, 3]),
    "max": (REAL, [1, 9, 3]),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, (dtypes, _) in KINDS.items() for dtype in by_name(dtypes)],
    ids=lambda value: getattr(value, "name", value),
)
def test_updates_of_every_dtype_meet_what_is_there(on_device, name, dtype):
    options.set_soft(name in ("min", "max") and dtype in WIDE_UNSIGNED)  # these have no kernel on a GPU
    kind = dtype.as_numpy_dtype
    tensor, updates = np.array([1, 2, 3]).astype(kind), np.array([9, 8]).astype(kind)
    expected = KINDS[name][1]
    places = [[1], [1]] if name != "update" or "CPU" in on_device else [[0], [1]]
    if name == "sub":
        expected = tensor - np.array([0, 17, 0]).astype(kind)
    elif len(set(map(tuple, places))) == 2:
        expected = [9, 8, 3]
    before = to_tensor(tensor)
    result = getattr(scatter, f"tensor_scatter_nd_{name}")(before, places, updates)
    assert result.dtype is dtype
    check(result, np.array(expected).astype(kind))
    check(before, tensor)  # tensors do not change


def test_whole_slices_are_updated(on_device):
    check(scatter.tensor_scatter_nd_update(X, [[1]], [[9, 9, 9]]), [[0, 1, 2], [9, 9, 9]], on_device)
    check(scatter.tensor_scatter_nd_add(X, [[1], [1]], [[1, 2, 3]] * 2), [[0, 1, 2], [5, 8, 11]])
    check(scatter.tensor_scatter_nd_max(X, [[[0], [1]]], [[[1, 1, 1], [4, 4, 4]]]), [[1, 1, 2], [4, 4, 5]])
    turned = transpose(to_tensor(np.ascontiguousarray(X.T)))
    check(scatter.tensor_scatter_nd_update(turned, [[0, 2]], [7]), [[0, 1, 7], [3, 4, 5]])
    check(scatter.tensor_scatter_nd_update(X, np.zeros((0, 2), np.int64), []), X)
    with scope.device("/CPU:0"):
        check(scatter.tensor_scatter_nd_update(["a", "b"], [[1], [1]], ["x", "y"]), [b"a", b"y"])


def test_the_last_of_many_updates_wins_on_a_cpu():
    rows = np.random.default_rng(0).integers(0, 7, 100_000)
    updates = np.arange(200_000).reshape(-1, 2)
    expected = np.zeros((7, 2), np.int64)
    expected[rows] = updates
    with scope.device("/CPU:0"):
        check(scatter.tensor_scatter_nd_update(np.zeros((7, 2), np.int64), rows[:, None], updates), expected)


# DynamicPartition and DynamicStitch.


@pytest.mark.parametrize("dtype", by_name(FIXED), ids=lambda dtype: dtype.name)
def test_partition_and_stitch_elements_of_every_dtype(on_device, dtype):
    data = np.array([1, 0, 1]).astype(dtype.as_numpy_dtype)
    parts = scatter.dynamic_partition(data, [0, 1, 0], 3)
    for part, expected in zip(parts, (data[[0, 2]], data[1:2], data[:0]), strict=True):
        assert part.dtype is dtype
        check(part, expected, on_device)
    check(scatter.dynamic_stitch([[0, 2], [1]], parts[:2]), data, on_device)


def test_partition_and_stitch_strings_on_the_cpu():
    parts = scatter.dynamic_partition([["a", "b"], ["c", "d"]], [1, 0], 2)
    assert [part.numpy().tolist() for part in parts] == [[[b"c", b"d"]], [[b"a", b"b"]]]
    check(scatter.dynamic_stitch([[3], [1]], [["x"], ["y"]]), [b"", b"y", b"", b"x"])


def test_partition_keeps_the_order_of_slices(on_device):
    parts = scatter.dynamic_partition(X, [1, 1], 2)
    check(parts[0], X[:0])
    check(parts[1], X)
    check(scatter.dynamic_partition([[1, 2], [3, 4]], [[0, 1], [1, 0]], 2)[1], [2, 3])
    check(scatter.dynamic_partition(5, 1, 2)[1], [5])


@pytest.mark.parametrize(
    ("partitions", "count", "text"),
    [
        ([0, 2], 2, r"partitions\[1\] = 2 is not in \[0, 2\)"),
        ([0, -1], 2, r"partitions\[1\] = -1 is not in \[0, 2\)"),
        ([0, 1, 1], 2, "data.shape must start with partitions.shape"),
        ([0, 1], 0, "must be at least minimum 1"),
    ],
)
def test_partition_refuses_what_does_not_fit(on_device, partitions, count, text):
    with pytest.raises(InvalidArgumentError, match=text):
        scatter.dynamic_partition(X, partitions, count)


def test_stitch_takes_the_last_of_several_and_fills_gaps(on_device):
    check(scatter.dynamic_stitch([[0, 2], [2]], [[10, 30], [20]]), [10, 0, 20], on_device)
    check(scatter.dynamic_stitch([[1, 1, 1]], [[7, 8, 9]]), [0, 9])
    check(scatter.dynamic_stitch([0, [2, 1]], [[1, 2], [[3, 4], [5, 6]]]), [[1, 2], [5, 6], [3, 4]])
    check(scatter.dynamic_stitch([np.zeros(0, np.int32)], [np.zeros((0, 2))]), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("indices", "data", "text"),
    [
        ([[0, -1], [2]], [[10, 30], [20]], "indices must not be negative, got -1"),
        ([[0, 1], [2]], [[10, 30], [[20]]], "slices of one shape"),
        ([[0, 1]], [[10]], r"data\[0\].shape = \[1\] does not start with indices\[0\].shape = \[2\]"),
        ([], [], "lists of one length, at least 1"),
        ([[0]], [[1], [2]], "lists of one length"),
    ],
)
def test_stitch_refuses_what_does_not_fit(on_device, indices, data, text):
    with pytest.raises(InvalidArgumentError, match=text):
        scatter.dynamic_stitch(indices, data)


@given(st.lists(st.integers(0, 3), max_size=10))
def test_stitch_undoes_partition(partitions):
    data = np.arange(2 * len(partitions)).reshape(-1, 2)
    places = np.arange(len(partitions), dtype=np.int32)
    kinds = np.array(partitions, np.int32)
    parts = scatter.dynamic_partition(data, kinds, 4)
    check(scatter.dynamic_stitch([p.numpy() for p in scatter.dynamic_partition(places, kinds, 4)], parts), data)


# The rules that graphs are built with.

UNKNOWN = TensorShape(None)


def s(*dims):
    return TensorShape(dims)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("ScatterNd", (s(None, 1), s(None, 3), (2, 3)), {}, [s(2, 3)]),
        ("ScatterNd", (s(None, 1), s(None, 3), None), {}, [UNKNOWN]),
        ("TensorScatterUpdate", (s(None, 3), s(5, None), UNKNOWN), {}, [s(None, 3)]),
        ("DynamicPartition", (s(None, 3), s(None)), {"num_partitions": 2}, [s(None, 3)] * 2),
        ("DynamicPartition", (UNKNOWN, s(None)), {"num_partitions": 2}, [UNKNOWN] * 2),
        ("DynamicStitch", ([s(None), s()], [s(None, 3), s(3)]), {}, [s(None, 3)]),
        ("DynamicStitch", ([UNKNOWN], [UNKNOWN]), {}, [UNKNOWN]),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    assert infer_shapes(find_op(name), inputs, attrs) == expected


def test_stitch_knows_how_long_its_result_is_from_constant_indices():
    with v1.Graph().as_default():
        parts = [tf.constant(6), tf.constant([4, 1]), tf.constant([[5, 2], [0, 3]])]
        rows = [tf.zeros([2]), tf.zeros([2, 2]), tf.zeros([2, 2, 2])]
        assert tf.dynamic_stitch(parts, rows).shape.as_list() == [7, 2]
        assert tf.dynamic_stitch([tf.zeros([0], tf.int32)], [tf.zeros([0, 2])]).shape.as_list() == [0, 2]
        some = v1.placeholder(tf.int32, [2])
        assert tf.dynamic_stitch([some], [tf.zeros([2, 2])]).shape.as_list() == [None, 2]
