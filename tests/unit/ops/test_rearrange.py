"""Elements in another order, against NumPy and figures recorded from TensorFlow 2.21, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import rearrange
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
IMAGE = np.arange(16, dtype=np.int32).reshape(1, 4, 4, 1)
DTYPES = sorted(FIXED, key=lambda dtype: dtype.name)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_elements_of_every_dtype_move_unchanged(on_device, dtype):
    x = (np.arange(16) % (2 if dtype is dt.bool else 100)).astype(dtype.as_numpy_dtype).reshape(1, 4, 4, 1)
    tensor = to_tensor(x)
    check(rearrange.reverse(tensor, [1]), x[:, ::-1], on_device)
    check(rearrange.roll(tensor, 1, 2), np.roll(x, 1, 2), on_device)
    check(rearrange.reverse_sequence(tensor, [4], 1, 0), x[:, ::-1], on_device)
    depth = rearrange.space_to_depth(tensor, 2)
    assert depth.dtype is dtype
    check(rearrange.depth_to_space(depth, 2), x, on_device)
    batch = rearrange.space_to_batch(tensor, [2, 3], [[0, 0], [1, 1]])
    check(rearrange.batch_to_space(batch, [2, 3], [[0, 0], [1, 1]]), x, on_device)


def test_strings_are_reversed_and_rolled_on_the_cpu():
    words = np.array([[b"a", b"b"], [b"c", b"d"]], object)
    check(rearrange.reverse(words, [0, 1]), words[::-1, ::-1])
    check(rearrange.roll(words, [1, 1], [0, 1]), np.roll(words, (1, 1), (0, 1)))
    assert rearrange.reverse("a", []).numpy() == b"a"


# ReverseV2 and Roll.


@pytest.mark.parametrize("axis", [[], [0], [1], [-1], [0, -1], np.array([1, 0])])
def test_reverse_equals_numpy(on_device, axis):
    check(rearrange.reverse(X, axis), np.flip(X, tuple(int(a) for a in axis)), on_device)
    check(rearrange.reverse(X[:0], axis), X[:0])


def test_reverse_of_a_scalar_is_the_scalar(on_device):
    check(rearrange.reverse(5, [0]), 5)


@pytest.mark.parametrize(
    ("axis", "text"),
    [([2], r"'axis'\[0\] = 2 is out of valid range"), ([0, -2], "axis 0 specified more than once"), (0, "1-dimension")],
)
def test_reverse_refuses_other_axes(on_device, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        rearrange.reverse(X, axis)


@given(st.lists(st.tuples(st.integers(-7, 7), st.integers(-3, 2)), max_size=4))
def test_roll_equals_numpy(moves):
    x = np.arange(24).reshape(2, 3, 4)
    shift, axis = [s for s, _ in moves], [a for _, a in moves]
    check(rearrange.roll(x, shift, axis), np.roll(x, shift, axis) if moves else x)


@pytest.mark.parametrize(
    ("x", "shift", "axis", "text"),
    [
        (X, 1, 2, "axis 2 is out of range"),
        (X, [1, 2], [0], "must have the same size"),
        (X, [[1]], [0], r"shift must be a scalar or a 1-D vector. Found: \[1,1\]"),
        (1.0, 1, 0, "input must be 1-D or higher"),
        (X, 1.5, 0, "must be a single integer"),
    ],
)
def test_roll_refuses_other_shifts_and_axes(on_device, x, shift, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        rearrange.roll(x, shift, axis)


# ReverseSequence.


def test_reverse_sequence_reverses_the_start_of_each_entry(on_device):
    x = np.arange(12).reshape(3, 4)
    expected = [[0, 1, 2, 3], [5, 4, 6, 7], [11, 10, 9, 8]]  # recorded from TensorFlow
    check(rearrange.reverse_sequence(x, [1, 2, 4], 1, 0), expected, on_device)
    check(rearrange.reverse_sequence(x.T, np.array([1, 2, 4]), 0, 1), np.transpose(expected))
    check(rearrange.reverse_sequence_v1(x, [1, 2, 4], seq_dim=1, batch_dim=0), expected)
    check(rearrange.reverse_sequence(np.zeros((0, 4)), np.zeros(0, np.int32), 1), np.zeros((0, 4)))


@pytest.mark.parametrize(
    ("lengths", "seq", "batch", "text"),
    [
        ([1, 2, 5], 1, 0, r"seq_lens must be in \[0, input.dims\(1\)\] = \[0, 4\]"),
        ([1, 2, -3], 1, 0, "seq_lens must be in"),
        ([1, 2], 1, 0, "seq_lengths must have one entry"),
        ([1, 2, 3], 1, 1, "batch_dim == seq_dim == 1"),
        ([1, 2, 3], 2, 0, "seq_dim must be >= 0 and < input rank"),
        ([1, 2, 3], 1, -1, "batch_dim must be >= 0 and < input rank"),
        ([1, 2, 3], None, 0, "needs `seq_axis`"),
    ],
)
def test_reverse_sequence_refuses_what_does_not_fit(on_device, lengths, seq, batch, text):
    with pytest.raises(InvalidArgumentError, match=text):
        rearrange.reverse_sequence(np.zeros((3, 4)), lengths, seq, batch)


# Blocks to channels.


def test_space_to_depth_and_back(on_device):
    depth = rearrange.space_to_depth(IMAGE, 2)  # recorded from TensorFlow
    check(depth, [[[[0, 1, 4, 5], [2, 3, 6, 7]], [[8, 9, 12, 13], [10, 11, 14, 15]]]], on_device)
    check(rearrange.depth_to_space(depth, 2), IMAGE, on_device)
    space = rearrange.depth_to_space(np.arange(16).reshape(1, 1, 2, 8), 2)  # recorded from TensorFlow
    check(space, [[[[0, 1], [2, 3], [8, 9], [10, 11]], [[4, 5], [6, 7], [12, 13], [14, 15]]]])


def test_space_to_depth_with_channels_first(on_device):
    x = np.arange(2 * 3 * 4 * 6).reshape(2, 3, 4, 6)
    last = rearrange.space_to_depth(np.moveaxis(x, 1, 3), 2).numpy()
    first = rearrange.space_to_depth_v1(x, 2, data_format="NCHW")
    check(first, np.moveaxis(last, 3, 1))
    check(rearrange.depth_to_space_v1(first, 2, data_format="NCHW"), x)


@pytest.mark.parametrize(
    ("function", "shape", "block", "layout", "text"),
    [
        ("space_to_depth", (1, 2, 3, 1), 2, "NHWC", "Image width 3 and height 2 should be divisible by block_size: 2"),
        ("space_to_depth", (1, 2, 2), 2, "NHWC", "Input rank should be 4 instead of 3"),
        ("space_to_depth", (1, 2, 2, 1), 1, "NHWC", "must be at least minimum 2"),
        ("space_to_depth", (1, 2, 2, 1), 2, "XX", "'data_format' of 'XX'"),
        ("depth_to_space", (1, 1, 2, 8), 3, "NHWC", "Input depth dimension 8 should be divisible by: 9"),
        ("depth_to_space", (1, 8, 2, 8), 3, "NCHW", "Input depth dimension 8 should be divisible by: 9"),
        ("depth_to_space", (1,), 2, "NCHW", "Input rank should be 4 instead of 1"),
    ],
)
def test_moving_blocks_to_channels_refuses_what_does_not_divide(on_device, function, shape, block, layout, text):
    with pytest.raises(InvalidArgumentError, match=text):
        getattr(rearrange, function)(np.zeros(shape), block, layout)


# Blocks to batch.


def test_space_to_batch_and_back(on_device):
    batch = rearrange.space_to_batch(IMAGE, [2, 2], [[0, 0], [0, 0]])  # recorded from TensorFlow
    expected = [[[0, 2], [8, 10]], [[1, 3], [9, 11]], [[4, 6], [12, 14]], [[5, 7], [13, 15]]]
    check(batch, np.expand_dims(expected, -1))
    assert batch.device == on_device
    cropped = rearrange.batch_to_space(np.arange(16).reshape(4, 2, 2, 1), [2, 2], [[0, 1], [0, 0]])
    expected = [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7]]  # recorded from TensorFlow
    check(cropped, np.reshape(expected, (1, 3, 4, 1)))
    check(rearrange.space_to_batch_v1(IMAGE, [[0, 0], [0, 0]], 2), batch.numpy())
    check(rearrange.batch_to_space_v1(batch, [[0, 0], [0, 0]], 2), IMAGE)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2))
def test_batch_to_space_undoes_space_to_batch(high, wide, top, left):
    x = np.arange(2 * 5 * 4 * 3).reshape(2, 5, 4, 3)
    paddings = [[top, -(5 + top) % high], [left, -(4 + left) % wide]]
    batch = rearrange.space_to_batch(x, [high, wide], paddings)
    assert batch.shape == (2 * high * wide, (5 + sum(paddings[0])) // high, (4 + sum(paddings[1])) // wide, 3)
    check(rearrange.batch_to_space(batch, [high, wide], paddings), x)


@pytest.mark.parametrize(
    ("function", "shape", "blocks", "margins", "text"),
    [
        ("space_to_batch", (1, 4, 4, 1), [3, 2], [[0, 0]] * 2, r"padded_shape\[0\]=4 is not divisible by block_shape"),
        ("space_to_batch", (1, 4, 4, 1), [2, 2], [[0, 0]], r"paddings should have shape \[2, 2\] instead of \[1,2\]"),
        ("space_to_batch", (1, 4, 4, 1), [2, 2], None, r"paddings should have shape \[2, 2\] instead of \[\]"),
        ("batch_to_space", (4, 2, 2, 1), [2, 2], None, r"crops should have shape \[2, 2\] instead of \[\]"),
        ("space_to_batch", (1, 4, 4, 1), [2, 0], [[0, 0]] * 2, r"block_shape\[1\]=0 must be positive"),
        ("space_to_batch", (1, 4, 4, 1), [2, 2], [[-2, 0]] * 2, "paddings must be non-negative"),
        ("space_to_batch", (1, 4), [2, 2], [[0, 0]] * 2, "input rank should be >= 3 instead of 2"),
        ("batch_to_space", (4, 2, 2, 1), [3, 2], [[0, 0]] * 2, "not divisible by product of block sizes \\(6\\)"),
        ("batch_to_space", (4, 2, 2, 1), [2, 2], [[3, 2]] * 2, r"cropped_shape\[0\]=-1 must be non-negative"),
    ],
)
def test_moving_blocks_to_the_batch_refuses_what_does_not_fit(on_device, function, shape, blocks, margins, text):
    with pytest.raises(InvalidArgumentError, match=text):
        getattr(rearrange, function)(np.zeros(shape), blocks, margins)


def test_required_paddings_make_space_divisible():
    paddings, crops = rearrange.required_space_to_batch_paddings([5, 4], [2, 4])
    assert paddings.numpy().tolist() == crops.numpy().tolist() == [[0, 1], [0, 0]]  # recorded from TensorFlow
    paddings, crops = rearrange.required_space_to_batch_paddings([5], [4], [[1, 1]])
    assert (paddings.numpy().tolist(), crops.numpy().tolist()) == ([[1, 2]], [[0, 1]])
    with pytest.raises(InvalidArgumentError, match="input_shape has 2 dimensions, but block_shape has 1"):
        rearrange.required_space_to_batch_paddings([5, 5], [4])
    with pytest.raises(DTypeError):
        rearrange.required_space_to_batch_paddings([5.5], [4])


# The rules that graphs are built with.


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("ReverseV2", ([None, 3], (1,)), {}, [None, 3]),
        ("Roll", ([None, 3], 1, None), {}, [None, 3]),
        ("SpaceToDepth", ([None, 4, None, 1],), {"block_size": 2, "data_format": "NHWC"}, [None, 2, None, 4]),
        ("DepthToSpace", ([None, 4, 2, None],), {"block_size": 2, "data_format": "NCHW"}, [None, 1, 4, None]),
        ("SpaceToBatchND", ([None, 3, None], (2,), ((1, 0),)), {}, [None, 2, None]),
        ("SpaceToBatchND", ([1, None, 4], (2,), ((1, 0),)), {}, [2, None, 4]),
        ("BatchToSpaceND", ([4, None, 4], (2,), ((1, 0),)), {}, [2, None, 4]),
        ("BatchToSpaceND", ([4, 2, 4], None, None), {}, None),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    found = infer_shapes(find_op(name), (TensorShape(inputs[0]), *inputs[1:]), attrs)
    assert found == [TensorShape(expected)]
