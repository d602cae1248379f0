"""Shapes of tensors, against NumPy and figures recorded from TensorFlow 2.21, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import array
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
DTYPES = sorted(FIXED, key=lambda dtype: dtype.name)
HOST = "/job:localhost/replica:0/task:0/device:CPU:0"


def values(dtype, shape):
    """A tensor of a dtype and its NumPy counterpart."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape) % (2 if dtype is dt.bool else 100)
    expected = numbers.astype(dtype.as_numpy_dtype)
    return to_tensor(expected), expected


MOVES = [  # what is done, by us and by NumPy
    (lambda x: array.reshape(x, [3, -1]), lambda x: x.reshape(3, -1)),
    (lambda x: array.expand_dims(x, 1), lambda x: x[:, None]),
    (lambda x: array.squeeze(array.expand_dims(x, -1), -1), lambda x: x),
    (lambda x: array.transpose(x), lambda x: x.T),
    (lambda x: array.transpose(x, [1, 0]), lambda x: x.T),
    (lambda x: array.broadcast_to(x, [4, 2, 3]), lambda x: np.broadcast_to(x, [4, 2, 3])),
    (lambda x: array.identity(x), lambda x: x),
    (lambda x: array.stop_gradient(x), lambda x: x),
    (lambda x: array.ensure_shape(x, [None, 3]), lambda x: x),
    (lambda x: array.meshgrid(x, x)[1], lambda x: np.meshgrid(x.ravel(), x.ravel())[1]),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_elements_of_every_dtype_move_unchanged(on_device, dtype):
    tensor, expected = values(dtype, (2, 3))
    for ours, theirs in MOVES:
        result = ours(tensor)
        assert result.dtype is dtype
        check(result, theirs(expected), on_device)


def test_strings_move_on_the_cpu():
    words = np.array([[b"a", b"b", b"c"], [b"d", b"", b"f"]], object)
    for ours, theirs in MOVES:
        check(ours(to_tensor(words)), theirs(words), None)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3), (), (1,), (1, 1)])
def test_empty_tensors_and_scalars_move(on_device, shape):
    tensor, expected = values(dt.int32, shape)
    check(array.transpose(tensor), expected.T, on_device)
    check(array.expand_dims(tensor, 0), expected[None])
    check(array.reshape(tensor, shape), expected)
    check(array.squeeze(tensor), expected.squeeze())
    check(array.broadcast_to(tensor, (2, *shape)), np.broadcast_to(expected, (2, *shape)))
    check(array.shape(tensor), shape)
    check(array.size(tensor), expected.size)
    check(array.rank(tensor), expected.ndim)


# Reshape.


@pytest.mark.parametrize("shape", [[6], 6, [-1], [3, 2], [1, -1, 1], np.array([2, 3]), TensorShape([3, 2])])
def test_reshape_takes_shapes_of_many_kinds(on_device, shape):
    expected = X.reshape(tuple(shape) if np.ndim(shape) else shape)
    check(array.reshape(X, shape), expected)
    check(array.reshape(X, to_tensor(np.array(shape, np.int64))), expected)


@pytest.mark.parametrize(("shape", "new", "expected"), [((0,), [-1, 0], (1, 0)), ((0, 4), [2, -1], (2, 0))])
def test_reshape_infers_a_size_of_an_empty_tensor(on_device, shape, new, expected):
    assert array.reshape(np.zeros(shape), new).shape == expected  # recorded from TensorFlow


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([2, 4], "tensor with 6 values, but the requested shape has 8"),
        ([-1, 4], "requires a multiple of 4"),
        ([-1, -1], "Only one input size may be -1"),
        ([-2, 3], "at least -1"),
        ([[2, 3]], "at least -1"),
        ([2.0, 3.0], "at least -1"),
        ([2**40, 2**40], "requested shape has"),
    ],
)
def test_reshape_refuses_shapes_that_do_not_fit(on_device, shape, text):
    with pytest.raises(InvalidArgumentError, match=text):
        array.reshape(X, shape)


@given(st.permutations([2, 3, 4, 5]), st.integers(0, 3))
def test_reshape_keeps_the_order_of_elements(sizes, unknown):
    x = np.arange(120)
    wanted = [-1 if i == unknown else size for i, size in enumerate(sizes)]
    check(array.reshape(array.reshape(x, sizes), wanted), x.reshape(sizes))


# Shape, Size, Rank.


def test_shape_size_and_rank_lie_on_the_host(on_device):
    for result, expected in ((array.shape(X), [2, 3]), (array.size(X), 6), (array.rank(X), 2)):
        assert result.dtype is dt.int32
        check(result, expected, HOST)
    shapes = array.shape_n([X, X[0]], out_type=dt.int64)
    assert [s.numpy().tolist() for s in shapes] == [[2, 3], [3]]
    assert shapes[0].dtype is dt.int64


def test_shape_and_size_have_the_dtype_asked_for(on_device):
    assert array.shape(X, dt.int64).dtype is dt.int64
    assert array.shape_v1(X, "name", np.int64).dtype is dt.int64
    assert array.size(X, "int64").dtype is dt.int64
    assert array.size_v1(X, out_type=dt.int64).dtype is dt.int64
    with pytest.raises(DTypeError, match="Value for attr 'out_type' of float"):
        array.shape(X, dt.float32)


# ExpandDims and Squeeze.


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3, [1], np.int32(1)])
def test_expand_dims_counts_axes_from_both_ends(on_device, axis):
    expected = np.expand_dims(X, int(np.squeeze(axis)))
    check(array.expand_dims(X, axis), expected)
    check(array.expand_dims_v1(X, dim=axis), expected)


@pytest.mark.parametrize("axis", [3, -4, [0, 1], 1.5, "a"])
def test_expand_dims_refuses_other_axes(on_device, axis):
    with pytest.raises(InvalidArgumentError, match=r"Tried to expand dim index|must be a single integer"):
        array.expand_dims(X, axis)


@pytest.mark.parametrize(
    ("axis", "shape"),
    [(None, (2,)), ([], (2,)), (0, (2, 1)), ([0, 2], (2,)), (-1, (1, 2)), ([0, 0], (2, 1)), ([0, -3], (2, 1))],
)
def test_squeeze_drops_axes_of_size_one(on_device, axis, shape):
    assert array.squeeze(np.zeros((1, 2, 1)), axis).shape == shape
    assert array.squeeze_v1(np.zeros((1, 2, 1)), squeeze_dims=axis).shape == shape


@pytest.mark.parametrize("words", [False, True])
def test_squeeze_refuses_axes_of_other_sizes(words):
    tensor = np.array([["a", "b"]]) if words else np.zeros((1, 2))
    with pytest.raises(InvalidArgumentError, match=r"Can not squeeze dim\[1\], expected a dimension of 1, got 2"):
        array.squeeze(tensor, 1)
    with pytest.raises(InvalidArgumentError, match="Tried to squeeze dim index 2 for tensor with 2 dimensions"):
        array.squeeze(tensor, [2])
    with pytest.raises(DTypeError):
        array.squeeze(tensor, 0.5)


def test_old_and_new_names_of_an_argument_exclude_each_other():
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'dim' and 'axis'"):
        array.expand_dims_v1(X, 0, dim=0)
    with pytest.raises(InvalidArgumentError, match="Give 'axis', or 'dim', its old name"):
        array.expand_dims_v1(X)


# Transpose.


@given(st.permutations(range(4)))
def test_transpose_equals_numpy(perm):
    x = np.arange(120).reshape(2, 3, 4, 5)
    check(array.transpose(x, perm), x.transpose(perm))
    check(array.transpose(x, [axis - 4 for axis in perm]), x.transpose(perm))


def test_transpose_conjugates_complex_elements_only(on_device):
    z = np.array([[1 + 2j, 3 - 1j]])
    check(array.transpose(z, conjugate=True), z.conj().T)
    check(array.transpose_v1(z, None, "name", True), z.conj().T)
    check(array.matrix_transpose(z, conjugate=True), z.conj().T)
    check(array.transpose(X, conjugate=True), X.T)


def test_matrix_transpose_swaps_the_last_two_axes(on_device):
    x = np.arange(24).reshape(2, 3, 4)
    check(array.matrix_transpose(x), x.swapaxes(1, 2))
    with pytest.raises(InvalidArgumentError, match="rank >= 2"):
        array.matrix_transpose([1, 2])


@pytest.mark.parametrize(
    ("perm", "text"),
    [
        ([0], "transpose expects a vector of size 2. But input\\(1\\) is a vector of size 1"),
        ([0, 0], r"1 is missing from \{0,0\}"),
        ([0, 2], r"2 is out of range \[0 .. 2\)"),
        (0, "perm must be rank 1"),
        ("first", "perm must be a vector of axes"),
        ([0, 1.0], "must be a single integer"),
    ],
)
def test_transpose_refuses_what_is_no_permutation(on_device, perm, text):
    with pytest.raises(InvalidArgumentError, match=text):
        array.transpose(X, perm)


# Broadcasting.


@pytest.mark.parametrize(("shape", "new"), [((1, 3), (4, 3)), ((), (2, 2)), ((1,), (0,)), ((3,), (1, 2, 3)), ((), ())])
def test_broadcast_to_equals_numpy(on_device, shape, new):
    tensor, expected = values(dt.float32, shape)
    check(array.broadcast_to(tensor, new), np.broadcast_to(expected, new), on_device)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ([3], r"Rank of input \(2\) must be no greater than rank of output shape \(1\)"),
        ([4, 3], r"Incompatible shapes: \[2,3\] vs. \[4,3\]"),
        ([2, -1, 3], "Dimension -1 must be >= 0"),
        ([2, -1], "Dimension -1 must be >= 0"),
        ([2, 1], "Incompatible shapes"),
        ([0, 3], "Incompatible shapes"),
    ],
)
def test_broadcast_to_refuses_what_does_not_broadcast(on_device, shape, text):
    with pytest.raises(InvalidArgumentError, match=text):
        array.broadcast_to(X, shape)
    if -1 not in shape:
        with pytest.raises(InvalidArgumentError), _on_cpu():
            array.broadcast_to(X.astype("S"), shape)


def _on_cpu():
    from situs._src.base.devices import scope

    return scope.device("/CPU:0")


def test_broadcast_shapes_static_and_dynamic(on_device):
    assert array.broadcast_static_shape([2, 1], [None, 3]) == [2, 3]
    check(array.broadcast_dynamic_shape([2, 1], [3]), [2, 3], HOST)
    assert array.broadcast_dynamic_shape(np.array([2], np.int64), np.array([1], np.int64)).dtype is dt.int64
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2,2\] vs. \[3\]"):
        array.broadcast_static_shape([2, 2], [3])
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2,2\] vs. \[3\]"):
        array.broadcast_dynamic_shape([2, 2], [3])
    with pytest.raises(InvalidArgumentError, match="must be vectors"):
        array.broadcast_dynamic_shape([[2, 2]], [3])


def test_ensure_shape_refuses_another_shape(on_device):
    for shape in ([None, 4], [2], [2, 3, 1], []):
        with pytest.raises(
            InvalidArgumentError, match=r"Shape of tensor input \[2,3\] is not compatible with expected"
        ):
            array.ensure_shape(X, shape)
    check(array.ensure_shape(X, None), X)


def test_identity_goes_where_the_scope_asks(on_device):
    assert array.identity(X).device == on_device
    assert [each.shape for each in array.identity_n([X, 1])] == [(2, 3), ()]


# Meshgrid and SequenceMask.


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_meshgrid_equals_numpy(on_device, indexing, count):
    vectors = [np.arange(n + 2, dtype=np.int32) for n in range(count)]
    grids = array.meshgrid(*vectors, indexing=indexing)
    assert len(grids) == count
    for ours, theirs in zip(grids, np.meshgrid(*vectors, indexing=indexing), strict=True):
        check(ours, theirs, on_device)


def test_meshgrid_refuses_mixed_dtypes_and_other_indexing(on_device):
    with pytest.raises(DTypeError, match=r"Cannot convert \[3.0\] to EagerTensor of dtype int32"):
        array.meshgrid([1, 2], [3.0])
    with pytest.raises(InvalidArgumentError, match="must be either 'xy' or 'ij'"):
        array.meshgrid([1], indexing="zz")


@pytest.mark.parametrize(
    ("lengths", "maxlen", "expected"),
    [
        ([1, 3, 2], None, [[1, 0, 0], [1, 1, 1], [1, 1, 0]]),
        ([1, 3, 2], 2, [[1, 0], [1, 1], [1, 1]]),
        ([[2], [0]], None, [[[1, 1]], [[0, 0]]]),
        (2, 3, [1, 1, 0]),
        ([-1, 2], None, [[0, 0], [1, 1]]),
        (np.zeros(0, np.int32), None, np.zeros((0, 0))),
        (np.zeros(0, np.int32), 3, np.zeros((0, 3))),
        ([1.0, 2.5], 3, [[1, 0, 0], [1, 1, 0]]),
        ([1.5], None, [[1, 1]]),
        ([0.5, 2.0], None, [[1, 0], [1, 1]]),
        ([0.5, 2.0], 2.5, [[1, 0, 0], [1, 1, 0]]),
        ([-1.0], None, np.zeros((1, 0))),
        ([float("nan")], 2, [[0, 0]]),
        (1.5, None, [1, 1]),
    ],
)
def test_sequence_mask_is_true_at_the_first_places(on_device, lengths, maxlen, expected):
    for dtype in (dt.bool, dt.float32, dt.int64):
        mask = array.sequence_mask(lengths, maxlen, dtype)  # recorded from TensorFlow
        assert mask.dtype is dtype
        check(mask, np.array(expected).astype(dtype.as_numpy_dtype), on_device)


def test_sequence_mask_refuses_lengths_that_are_none(on_device):
    with pytest.raises(InvalidArgumentError, match="must be scalar"):
        array.sequence_mask([1], [3])
    with pytest.raises(InvalidArgumentError, match="must not be negative"):
        array.sequence_mask([1], -1)
    with pytest.raises(DTypeError):
        array.sequence_mask([True])


# The rules that graphs are built with.


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("Reshape", ([None, 3], (-1, 6)), {}, [None, 6]),
        ("Reshape", ([2, 3], None), {}, None),
        ("Reshape", (None, (2, -1)), {}, [2, None]),
        ("Shape", (None,), {}, [None]),
        ("Shape", ([None, 3],), {}, [2]),
        ("ExpandDims", ([None, 3], 1), {}, [None, 1, 3]),
        ("ExpandDims", ([None, 3], None), {}, [None, None, None]),
        ("ExpandDims", (None, 0), {}, None),
        ("Squeeze", ([None, 1],), {"squeeze_dims": ()}, None),
        ("Squeeze", ([None, 1],), {"squeeze_dims": (0,)}, [1]),
        ("Squeeze", (None,), {"squeeze_dims": (0,)}, None),
        ("Transpose", ([None, 3], (1, 0)), {"conjugate": False}, [3, None]),
        ("Transpose", ([None, 3], "reverse"), {"conjugate": False}, [3, None]),
        ("Transpose", ([None, 3], None), {"conjugate": False}, [None, None]),
        ("Transpose", (None, "matrix"), {"conjugate": False}, None),
        ("BroadcastTo", ([None, 1], (2, 3)), {}, [2, 3]),
        ("BroadcastTo", (None, (2, 3)), {}, [2, 3]),
        ("BroadcastTo", ([2], None), {}, None),
        ("BroadcastArgs", ([2], [None]), {}, [None]),
        ("EnsureShape", ([None, 3],), {"shape": TensorShape([2, None])}, [2, 3]),
        ("SequenceMask", ([None], None), {}, [None, None]),
        ("SequenceMask", ([2], 5), {}, [2, 5]),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    shapes = tuple(
        TensorShape(i) if isinstance(i, list) or n == 0 or name == "BroadcastArgs" else i for n, i in enumerate(inputs)
    )
    assert infer_shapes(find_op(name), shapes, attrs) == [TensorShape(expected)]


def test_meshgrid_rule_takes_partial_shapes():
    shapes = [TensorShape([2]), TensorShape([None])]
    assert infer_shapes(find_op("Meshgrid"), (shapes,), {"indexing": "xy"}) == [TensorShape([None, 2])] * 2


def test_sizes_among_tensors_may_be_fractions_that_are_cut():
    shape = (to_tensor(2.0), to_tensor(3.5), 1)
    assert array.reshape(np.arange(6), shape).shape == (2, 3, 1)
    with pytest.raises(InvalidArgumentError, match="A shape consists of integers"):
        array.reshape(np.arange(6), (2.0, 3))
