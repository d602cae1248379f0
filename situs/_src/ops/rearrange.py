"""Elements in another order: reversed, rolled round, and blocks of space moved to other dimensions.

The ops on blocks cut space (height and width, say) into blocks of a fixed size, and lay out the
elements of a block along the channels (`space_to_depth`) or along the batch (`space_to_batch`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, INDEX, STRING, WIDE_UNSIGNED, int32
from situs._src.base.errors import ArgumentError, InvalidArgumentError, KernelError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, HostInput, HostValue, IntLike, ShapeLike
from situs._src.ops.array import also_by_bits, as_attribute, as_integer, as_integers, by_bits, host_shape
from situs._src.ops.attribute import is_plain, plain
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.define import CPU, GPU, KernelValue, of_sizes, op
from situs._src.ops.join import stack
from situs._src.ops.math import add, floormod, negative
from situs._src.ops.naming import Composed
from situs._src.ops.spelling import renamed
from situs._src.runtime.eager.convert import to_tensor

# ReverseV2 and Roll.

_reverse = op("ReverseV2", "tensor: T, axis: host -> output: T")
_roll = op("Roll", "input: T, shift: host, axis: host -> output: T")


@_reverse.shape
def _reverse_shape(tensor: TensorShape, axis: HostValue) -> TensorShape:
    if tensor.rank is not None and axis is not None:
        _reversed_axes(axis, tensor.rank)
    return tensor


def _reversed_axes(axis: HostValue, rank: int) -> tuple[int, ...]:
    if rank == 0:
        return ()  # TensorFlow does not look at the axes of a scalar
    if not isinstance(axis, tuple):
        raise ArgumentError(f"'dims' must be 1-dimension, not {len(host_shape(axis))}")
    places: list[int] = []
    for number, each in enumerate(as_integers(axis, "the axes of reverse")):
        if not -rank <= each < rank:
            raise ArgumentError(f"'axis'[{number}] = {each} is out of valid range [{-rank}, {rank})")
        if each % rank in places:
            raise ArgumentError(f"axis {each % rank} specified more than once.")
        places.append(each % rank)
    return tuple(places)


@also_by_bits(_reverse, CPU, GPU)
@_reverse.kernel(CPU)
@_reverse.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _reverse_kernel(tensor: torch.Tensor, axis: HostValue) -> torch.Tensor:
    return tensor.flip(_reversed_axes(axis, tensor.ndim))


@_reverse.kernel(CPU, T=STRING)
def _reverse_strings(tensor: KernelValue, axis: HostValue) -> KernelValue:
    axes = _reversed_axes(axis, tensor.ndim)
    return np.flip(tensor, axes) if axes else tensor


@_roll.shape
def _roll_shape(input: TensorShape, shift: HostValue, axis: HostValue) -> TensorShape:
    if input.rank is not None and shift is not None and axis is not None:
        _rolls(shift, axis, input.rank)
    return input


def _rolls(shift: Any, axis: Any, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shifts and the axes they go along, checked."""
    if rank == 0:
        raise ArgumentError("input must be 1-D or higher")
    for what, value in (("shift", shift), ("axis", axis)):
        if len(host_shape(value)) > 1:
            found = brackets(host_shape(value))
            raise ArgumentError(f"{what} must be a scalar or a 1-D vector. Found: {found}")
    shifts, axes = as_integers(shift, "shift"), as_integers(axis, "axis")
    if len(shifts) != len(axes) or isinstance(shift, tuple) != isinstance(axis, tuple):
        raise ArgumentError(f"shift and axis must have the same size, got {shift} and {axis}")
    for each in axes:
        if not -rank <= each < rank:
            raise KernelError(f"axis {each} is out of range [-{rank}, {rank})")
    return shifts, axes


@also_by_bits(_roll, CPU, GPU)
@_roll.kernel(CPU)
@_roll.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _roll_kernel(input: torch.Tensor, shift: HostValue, axis: HostValue) -> torch.Tensor:
    shifts, axes = _rolls(shift, axis, input.ndim)
    return torch.roll(input, shifts, axes) if axes else input


@_roll.kernel(CPU, T=STRING)
def _roll_strings(input: KernelValue, shift: HostValue, axis: HostValue) -> np.ndarray[Any, Any]:
    return np.roll(input, *_rolls(shift, axis, input.ndim))


@_reverse.gradient
def _reverse_gradient(grad: Tensor, axis: HostInput) -> Tensor:
    return _reverse(grad, axis)


@_roll.gradient
def _roll_gradient(grad: Tensor, shift: HostInput, axis: HostInput) -> Tensor:
    back = _negated(plain(shift, "shift")) if is_plain(shift) else negative(shift)
    return _roll(grad, back, axis)


def _negated(shift: Any) -> Any:
    return tuple(-each for each in shift) if isinstance(shift, tuple) else -shift


@export("reverse", v1=("reverse", "reverse_v2", "manip.reverse"))
def reverse(tensor: ArrayLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """Returns `tensor` with the order of elements reversed along each axis of the list `axis`."""
    return _reverse(tensor, axis, name=name)


@export("roll", v1=("roll", "manip.roll"))
def roll(input: ArrayLike, shift: ArrayLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """Returns `input` with elements moved by `shift` places along `axis`; those past the end come in at the start."""
    return _roll(input, shift, axis, name=name)


# ReverseSequence.

_reverse_sequence = op(
    "ReverseSequence", "input: T, seq_lengths: Tlen -> output: T", T=FIXED | STRING, Tlen=INDEX, seq_dim=0, batch_dim=0
)


@_reverse_sequence.shape
def _reverse_sequence_shape(
    input: TensorShape, seq_lengths: TensorShape, *, seq_dim: int, batch_dim: int
) -> TensorShape:
    if input.rank is None:
        return input
    for what, axis in (("seq_dim", seq_dim), ("batch_dim", batch_dim)):
        if not 0 <= axis < input.rank:
            raise ArgumentError(f"{what} must be >= 0 and < input rank ({axis} vs. {input.rank})")
    if seq_dim == batch_dim:
        raise ArgumentError(f"batch_dim == seq_dim == {seq_dim}")
    if not seq_lengths.is_compatible_with([input[batch_dim]]):
        raise ArgumentError(
            f"seq_lengths must have one entry for each of input.dims({batch_dim}), "
            f"got shapes {brackets(seq_lengths)} and {brackets(input)}"
        )
    return input


_reverse_sequence_sizes = of_sizes(_reverse_sequence_shape)


@_reverse_sequence.kernel(CPU, GPU, T=FIXED)
def _reverse_sequence_kernel(
    input: torch.Tensor, seq_lengths: torch.Tensor, seq_dim: int, batch_dim: int
) -> torch.Tensor:
    _reverse_sequence_sizes(input.shape, seq_lengths.shape, seq_dim=seq_dim, batch_dim=batch_dim)
    lengths, limit = seq_lengths.long()[:, None], input.shape[seq_dim]
    if lengths.numel() and not 0 <= lengths.min().item() <= lengths.max().item() <= limit:
        found = seq_lengths.tolist()
        raise ArgumentError(f"seq_lens must be in [0, input.dims({seq_dim})] = [0, {limit}], got {found}")
    if batch_dim == 0 and seq_dim == 1 and len(lengths) <= _FEW_ROWS and input.device.type == "cpu":
        return _reverse_few(input, seq_lengths)
    places = torch.arange(limit, device=input.device)
    source = torch.where(places < lengths, lengths - 1 - places, places)
    rows = torch.arange(len(lengths), device=input.device)[:, None]
    if batch_dim == 0 and seq_dim == 1:
        return input[rows, source]
    moved = input.movedim((batch_dim, seq_dim), (0, 1))
    return moved[rows, source].movedim((0, 1), (batch_dim, seq_dim))


_FEW_ROWS = 16  # which are sooner reversed one by one


def _reverse_few(input: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    output = input.clone(memory_format=torch.contiguous_format)
    source, target = (each.view(torch.int16) if each.dtype is torch.bfloat16 else each for each in (input, output))
    rows, reversed_rows = source.resolve_conj().resolve_neg().numpy(), target.numpy()
    for row, length in enumerate(lengths.tolist()):
        reversed_rows[row, :length] = rows[row, :length][::-1]
    return output


_reverse_sequence.kernel(CPU, GPU, T=WIDE_UNSIGNED)(by_bits(_reverse_sequence_kernel))


@_reverse_sequence.kernel(CPU, T=STRING)
def _reverse_sequence_of_strings(input: Any, seq_lengths: torch.Tensor, seq_dim: int, batch_dim: int) -> Any:
    numbers = torch.arange(input.size).reshape(input.shape)
    return input.ravel()[_reverse_sequence_kernel(numbers, seq_lengths, seq_dim, batch_dim).numpy()]


@_reverse_sequence.gradient
def _reverse_sequence_gradient(
    grad: Tensor, seq_lengths: Tensor, *, seq_dim: int, batch_dim: int
) -> tuple[Tensor, None]:
    return _reverse_sequence(grad, seq_lengths, seq_dim=seq_dim, batch_dim=batch_dim), None


@export("reverse_sequence", v1=())
def reverse_sequence(
    input: ArrayLike,
    seq_lengths: ArrayLike,
    seq_axis: IntLike | None = None,
    batch_axis: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns `input` with the first ``seq_lengths[i]`` elements of entry i reversed.

    Args:
        input: A tensor.
        seq_lengths: A vector of integers.
        seq_axis: The axis to reverse along.
        batch_axis: The axis whose entries `seq_lengths` speaks of.
        name: A name for the op.
    """
    if seq_axis is None:
        raise ArgumentError("reverse_sequence needs `seq_axis`, the axis to reverse along.")
    seq_dim = as_attribute(seq_axis, "seq_axis")
    batch_dim = 0 if batch_axis is None else as_attribute(batch_axis, "batch_axis")
    return _reverse_sequence(input, seq_lengths, seq_dim=seq_dim, batch_dim=batch_dim, name=name)


@export(v1="reverse_sequence")
def reverse_sequence_v1(
    input: ArrayLike,
    seq_lengths: ArrayLike,
    seq_axis: IntLike | None = None,
    batch_axis: IntLike | None = None,
    name: str | None = None,
    seq_dim: IntLike | None = None,
    batch_dim: IntLike | None = None,
) -> Tensor:
    """Reverses sequences like `reverse_sequence`; TensorFlow 1 also calls the axes `seq_dim` and `batch_dim`."""
    batch = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    axis = renamed("seq_axis", seq_axis, "seq_dim", seq_dim, required=True)
    return reverse_sequence(input, seq_lengths, axis, batch, name)


# SpaceToDepth and DepthToSpace.

_space_to_depth = op("SpaceToDepth", "input: T -> output: T", T=FIXED, block_size=2, data_format="NHWC")
_depth_to_space = op("DepthToSpace", "input: T -> output: T", T=FIXED, block_size=2, data_format="NHWC")


@_space_to_depth.shape
def _space_to_depth_shape(input: TensorShape, *, block_size: int, data_format: str) -> TensorShape:
    batch, height, width, depth = _image_dims(input, block_size, data_format)
    for size in (height, width):
        if size is not None and size % block_size:
            raise ArgumentError(
                f"Image width {width} and height {height} should be divisible by block_size: {block_size}"
            )
    cut = [None if size is None else size // block_size for size in (height, width)]
    return _image_shape(batch, cut[0], cut[1], None if depth is None else depth * block_size**2, data_format)


@_depth_to_space.shape
def _depth_to_space_shape(input: TensorShape, *, block_size: int, data_format: str) -> TensorShape:
    batch, height, width, depth = _image_dims(input, block_size, data_format)
    if depth is not None and depth % block_size**2:
        raise ArgumentError(f"Input depth dimension {depth} should be divisible by: {block_size**2}")
    grown = [None if size is None else size * block_size for size in (height, width)]
    return _image_shape(batch, grown[0], grown[1], None if depth is None else depth // block_size**2, data_format)


def _image_dims(input: TensorShape, block_size: int, data_format: str) -> tuple[Dim, Dim, Dim, Dim]:
    """Batch, height, width and channels, after checking what all ops on images check."""
    if block_size < 2:
        raise ArgumentError(f"Value for attr 'block_size' of {block_size} must be at least minimum 2")
    if not isinstance(data_format, str) or data_format not in ("NHWC", "NCHW"):
        raise InvalidArgumentError(
            f"Value for attr 'data_format' of {data_format!r} is not in the list of allowed values: 'NHWC', 'NCHW'"
        )
    if input.rank not in (4, None):
        raise ArgumentError(f"Input rank should be 4 instead of {input.rank}")
    dims = [None] * 4 if input.rank is None else input.as_list()
    places = (0, 1, 2, 3) if data_format == "NHWC" else (0, 2, 3, 1)
    batch, height, width, depth = (dims[place] for place in places)
    return batch, height, width, depth


def _image_shape(batch: Dim, height: Dim, width: Dim, depth: Dim, data_format: str) -> TensorShape:
    last = data_format == "NHWC"
    return TensorShape([batch, height, width, depth] if last else [batch, depth, height, width])


@_space_to_depth.kernel(CPU, GPU)
def _space_to_depth_kernel(input: torch.Tensor, block_size: int, data_format: str) -> torch.Tensor:
    if data_format == "NCHW":
        return _space_to_depth_kernel(input.movedim(1, 3), block_size, "NHWC").movedim(3, 1)
    _space_to_depth_shape(TensorShape(input.shape), block_size=block_size, data_format=data_format)
    batch, height, width, depth = input.shape
    high, wide = height // block_size, width // block_size
    blocks = input.reshape(batch, high, block_size, wide, block_size, depth).transpose(2, 3)
    return blocks.reshape(batch, high, wide, block_size**2 * depth)


@_depth_to_space.kernel(CPU, GPU)
def _depth_to_space_kernel(input: torch.Tensor, block_size: int, data_format: str) -> torch.Tensor:
    if data_format == "NCHW":
        return _depth_to_space_kernel(input.movedim(1, 3), block_size, "NHWC").movedim(3, 1)
    _depth_to_space_shape(TensorShape(input.shape), block_size=block_size, data_format=data_format)
    batch, height, width, depth = input.shape
    left = depth // block_size**2
    blocks = input.reshape(batch, height, width, block_size, block_size, left).transpose(2, 3)
    return blocks.reshape(batch, height * block_size, width * block_size, left)


@_space_to_depth.gradient
def _space_to_depth_gradient(grad: Tensor, *, block_size: int, data_format: str) -> Tensor:
    return _depth_to_space(grad, block_size=block_size, data_format=data_format)


@_depth_to_space.gradient
def _depth_to_space_gradient(grad: Tensor, *, block_size: int, data_format: str) -> Tensor:
    return _space_to_depth(grad, block_size=block_size, data_format=data_format)


@export("nn.space_to_depth", v1=())
def space_to_depth(input: ArrayLike, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Returns images in which each block of space has become one pixel, its elements along the channels."""
    return _space_to_depth(input, block_size=as_attribute(block_size, "block_size"), data_format=data_format, name=name)


@export(v1=("space_to_depth", "nn.space_to_depth"))
def space_to_depth_v1(input: ArrayLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves blocks of space to the channels, with the argument order of TensorFlow 1."""
    return space_to_depth(input, block_size, data_format, name)


@export("nn.depth_to_space", v1=())
def depth_to_space(input: ArrayLike, block_size: int, data_format: str = "NHWC", name: str | None = None) -> Tensor:
    """Returns images in which the channels of each pixel have become a block of space."""
    return _depth_to_space(input, block_size=as_attribute(block_size, "block_size"), data_format=data_format, name=name)


@export(v1=("depth_to_space", "nn.depth_to_space"))
def depth_to_space_v1(input: ArrayLike, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Moves channels to blocks of space, with the argument order of TensorFlow 1."""
    return depth_to_space(input, block_size, data_format, name)


# SpaceToBatchND and BatchToSpaceND.

_space_to_batch = op("SpaceToBatchND", "input: T, block_shape: host, paddings: host -> output: T", T=FIXED)
_batch_to_space = op("BatchToSpaceND", "input: T, block_shape: host, crops: host -> output: T", T=FIXED)


def _blocks(
    rank: int, block_shape: HostValue, margins: Any, what: str
) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The block sizes, and the two margins of each dimension of space, checked."""
    blocks = as_integers(block_shape, "block_shape")
    if host_shape(margins) != (len(blocks), 2):
        raise ArgumentError(f"{what} should have shape [{len(blocks)}, 2] instead of {brackets(host_shape(margins))}")
    if rank < 1 + len(blocks):
        raise ArgumentError(f"input rank should be >= {1 + len(blocks)} instead of {rank}")
    for number, size in enumerate(blocks):
        if size < 1:
            raise ArgumentError(f"block_shape[{number}]={size} must be positive")
    pairs = [(as_integer(low, what), as_integer(high, what)) for low, high in margins]
    if any(low < 0 or high < 0 for low, high in pairs):
        raise ArgumentError(f"{what} must be non-negative, got {pairs}")
    return blocks, pairs


@_space_to_batch.shape
def _space_to_batch_shape(input: TensorShape, block_shape: HostValue, paddings: HostValue) -> TensorShape:
    if input.rank is None or block_shape is None or paddings is None:
        return UNKNOWN
    blocks, pairs = _blocks(input.rank, block_shape, paddings, "paddings")
    batch, *rest = input.as_list()
    for number, (size, (low, high)) in enumerate(zip(blocks, pairs, strict=True)):
        padded = rest[number]
        if padded is None:
            continue
        padded += low + high
        if padded % size:
            raise ArgumentError(f"padded_shape[{number}]={padded} is not divisible by block_shape[{number}]={size}")
        rest[number] = padded // size
    return TensorShape([None if batch is None else batch * math.prod(blocks), *rest])


@_batch_to_space.shape
def _batch_to_space_shape(input: TensorShape, block_shape: HostValue, crops: HostValue) -> TensorShape:
    if input.rank is None or block_shape is None or crops is None:
        return UNKNOWN
    blocks, pairs = _blocks(input.rank, block_shape, crops, "crops")
    batch, *rest = input.as_list()
    if batch is not None and batch % math.prod(blocks):
        raise ArgumentError(
            f"Input batch dimension ({batch}) is not divisible by product of block sizes ({math.prod(blocks)})"
        )
    for number, (size, (low, high)) in enumerate(zip(blocks, pairs, strict=True)):
        whole = rest[number]
        if whole is None:
            continue
        rest[number] = whole * size - low - high
        if whole * size < low + high:
            raise ArgumentError(f"cropped_shape[{number}]={rest[number]} must be non-negative")
    return TensorShape([None if batch is None else batch // math.prod(blocks), *rest])


@also_by_bits(_space_to_batch, CPU, GPU)
@_space_to_batch.kernel(CPU, GPU)
def _space_to_batch_kernel(input: torch.Tensor, block_shape: HostValue, paddings: HostValue) -> torch.Tensor:
    blocks, pairs = _blocks(input.ndim, block_shape, paddings, "paddings")
    result: list[Any] = _space_to_batch_shape(TensorShape(input.shape), block_shape, paddings).as_list()
    count = len(blocks)
    flat = [margin for pair in reversed([*pairs, *[(0, 0)] * (input.ndim - 1 - count)]) for margin in pair]
    padded = torch.nn.functional.pad(input, flat)
    split = [part for size, block in zip(result[1:], blocks, strict=False) for part in (size, block)]
    cut = padded.reshape([input.shape[0], *split, *result[1 + count :]])
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, cut.ndim)]
    return cut.permute(order).reshape(result)


@_batch_to_space.kernel(CPU, GPU)
def _batch_to_space_kernel(input: torch.Tensor, block_shape: HostValue, crops: HostValue) -> torch.Tensor:
    blocks, pairs = _blocks(input.ndim, block_shape, crops, "crops")
    result: list[Any] = _batch_to_space_shape(TensorShape(input.shape), block_shape, crops).as_list()
    count = len(blocks)
    cut = input.reshape([*blocks, result[0], *input.shape[1:]])
    mixed = [place for number in range(count) for place in (count + 1 + number, number)]
    order = [count, *mixed, *range(2 * count + 1, cut.ndim)]
    whole = [size * block for size, block in zip(input.shape[1:], blocks, strict=False)]
    joined = cut.permute(order).reshape([result[0], *whole, *input.shape[1 + count :]])
    kept = (slice(low, size - high) for size, (low, high) in zip(whole, pairs, strict=True))
    return joined[(slice(None), *kept)]


@_space_to_batch.gradient
def _space_to_batch_gradient(grad: Tensor, block_shape: HostInput, paddings: HostInput) -> Tensor:
    return _batch_to_space(grad, block_shape, paddings)


@_batch_to_space.gradient
def _batch_to_space_gradient(grad: Tensor, block_shape: HostInput, crops: HostInput) -> Tensor:
    return _space_to_batch(grad, block_shape, crops)


@export("space_to_batch", "space_to_batch_nd", "nn.space_to_batch", v1=("space_to_batch_nd", "manip.space_to_batch_nd"))
def space_to_batch(input: ArrayLike, block_shape: Any, paddings: ArrayLike, name: str | None = None) -> Tensor:
    """Pads space with zeros, cuts it into blocks, and moves the elements of a block to the batch."""
    return _space_to_batch(input, block_shape, paddings, name=name)


@export(v1=("space_to_batch", "nn.space_to_batch"))
def space_to_batch_v1(
    input: ArrayLike,
    paddings: ArrayLike,
    block_size: IntLike | None = None,
    name: str | None = None,
    block_shape: ArrayLike | None = None,
) -> Tensor:
    """Moves blocks of space to the batch, with the arguments of TensorFlow 1: height and width in square blocks."""
    shape = (block_size, block_size) if block_shape is None else block_shape
    return space_to_batch(input, shape, paddings, name)


@export("batch_to_space", v1=("batch_to_space_nd", "manip.batch_to_space_nd"))
def batch_to_space(input: ArrayLike, block_shape: ArrayLike, crops: ArrayLike, name: str | None = None) -> Tensor:
    """Moves the batch back into blocks of space and crops the margins: the inverse of `space_to_batch`."""
    return _batch_to_space(input, block_shape, crops, name=name)


@export(v1="batch_to_space")
def batch_to_space_v1(
    input: ArrayLike,
    crops: ArrayLike,
    block_size: IntLike,
    name: str | None = None,
    block_shape: ArrayLike | None = None,
) -> Tensor:
    """Moves the batch into blocks of space, with the arguments of TensorFlow 1."""
    shape = (block_size, block_size) if block_shape is None else block_shape
    return batch_to_space(input, shape, crops, name)


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: ShapeLike, block_shape: ArrayLike, base_paddings: ArrayLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the paddings that make space divisible by blocks, and the crops that undo them.

    Args:
        input_shape: The sizes of the dimensions of space.
        block_shape: The size of a block along each of them.
        base_paddings: The least padding to use, a pair for each dimension; by default zeros.
        name: A name for the op.
    """
    with Composed(name, "required_space_to_batch_paddings"):
        if not is_plain([input_shape, block_shape, base_paddings]):
            # The same in a graph, where a size is not known before it runs.
            sizes, blocks = convert_to_tensor(input_shape, "int32"), convert_to_tensor(block_shape, "int32")
            low = high = zeros_like(blocks)
            if base_paddings is not None:
                base = convert_to_tensor(base_paddings, "int32")
                low, high = base[:, 0], base[:, 1]
            end = floormod(negative(add(add(sizes, low), high)), blocks)
            return stack([low, add(high, end)], 1, "paddings"), stack([zeros_like(end), end], 1, "crops")
        paddings, crops = _required_paddings(input_shape, block_shape, base_paddings)
        if here.graph is None:
            return to_tensor(paddings, int32), to_tensor(crops, int32)
        return convert_to_tensor(paddings, int32, name="paddings"), convert_to_tensor(crops, int32, name="crops")


def _required_paddings(
    input_shape: ShapeLike, block_shape: ArrayLike, base_paddings: Any
) -> tuple[list[Any], list[Any]]:
    sizes = as_integers(plain(input_shape, "input_shape"), "input_shape")
    blocks = as_integers(plain(block_shape, "block_shape"), "block_shape")
    base = ((0, 0),) * len(blocks) if base_paddings is None else plain(base_paddings, "base_paddings")
    if len(sizes) != len(blocks):
        raise ArgumentError(f"input_shape has {len(sizes)} dimensions, but block_shape has {len(blocks)}")
    _, pairs = _blocks(1 + len(sizes), blocks, base, "base_paddings")
    ends = [-(size + low + high) % block for size, block, (low, high) in zip(sizes, blocks, pairs, strict=True)]
    paddings = [[low, high + end] for (low, high), end in zip(pairs, ends, strict=True)]
    return paddings, [[0, end] for end in ends]
