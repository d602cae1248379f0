"""Ops for the gradients of splitting, tiling, repeating and mirroring.

These ops are the gradients of `ops.join`. They take the host values of the forward op, which has validated them, and
the shape of its input:

    y, z = split(x, [2, 3])        SplitVGrad([dz], shape of x, [2, 3], 0, given=(1,))     [0, 0, dz0, dz1, dz2]
    y = tile(x, [2])               TileGrad(dy, [2], shape of x)                           dy[:n] + dy[n:]
    y = concat([a, b], 0)          ConcatOffset(0, [shape of a, shape of b])               [0], [len(a)]
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import COMPLEX, FLOATING, INDEX
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import HostInput, ShapeLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import as_integer
from situs._src.ops.attribute import is_plain, plain
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime.symbolic.fold import partial_value

_NUMBERS = FLOATING | COMPLEX


# Gradients that need no op of their own.


def size_along(shape: ShapeLike, axis: Any) -> Any:
    """One size of a shape: a number if it is known, else a tensor."""
    if isinstance(shape, tuple) and isinstance(axis, int):
        return shape[axis]
    known = partial_value(shape) if isinstance(shape, SymbolicTensor) and isinstance(axis, int) else None
    if known is not None and known[axis] is not None:
        return known[axis]
    return find_op("StridedSlice")(shape, [axis], [axis], [1], shrink_axis_mask=1)


def without_gaps(grads: list[Any]) -> list[Tensor]:
    """The gradients of results of one shape, with zeros for those that nothing depends on."""
    given = [grad for grad in grads if grad is not None]
    zeros: Any = None if len(given) == len(grads) else find_op("ZerosLike")(given[0])
    return [zeros if grad is None else grad for grad in grads]


def without_padding(grad: Tensor, paddings: Any, shape: ShapeLike) -> Tensor:
    """The part of a padded tensor that is no padding."""
    given = plain(paddings, "paddings") if is_plain(paddings) else paddings
    begin = given[:, 0] if isinstance(given, Tensor) else [pair[0] for pair in given]
    return find_op("Slice")(grad, begin, shape)


# Where each part begins in what was joined: in the gradients of graphs that TensorFlow has written.

_concat_offset = op("ConcatOffset", "concat_dim: int32, shape: T* -> offset: T*", T=INDEX)
_concat_offset.shape(lambda concat_dim, shape: shape)
_concat_offset.stops_gradients()


@_concat_offset.kernel(CPU)
@_concat_offset.kernel(GPU, host_output=True)
def _concat_offset_kernel(concat_dim: torch.Tensor, shape: list[torch.Tensor]) -> list[torch.Tensor]:
    sizes, axis = [each.tolist() for each in shape], int(concat_dim)
    rank = len(sizes[0])
    if not -rank <= axis < rank:
        raise ArgumentError(f"Concat dim is out of range: {axis} vs. {rank}")
    axis %= rank
    offsets, begin = [], 0
    for number, own in enumerate(sizes):
        if len(own) != rank:
            raise ArgumentError(f"input {number} should contain {rank} elements, but got {len(own)}")
        if own[:axis] != sizes[0][:axis] or own[axis + 1 :] != sizes[0][axis + 1 :]:
            raise ArgumentError(
                f"All dimensions except {axis} must match. Input {number} has shape {brackets(own)} and doesn't match "
                f"input 0 with shape {brackets(sizes[0])}."
            )
        offsets.append(torch.tensor([begin if place == axis else 0 for place in range(rank)], dtype=shape[0].dtype))
        begin += own[axis]
    return offsets


# Parts of which some have no gradient.

split_v_grad = op(
    "SplitVGrad",
    "grads: T*, shape: host, size_splits: host, axis: host -> output: T",
    T=_NUMBERS,
    given=(),  # the numbers of the parts that have gradients
    num_split=1,
)
split_v_grad.shape(lambda grads, shape, size_splits, axis, *, given, num_split: TensorShape(shape))


@split_v_grad.kernel(CPU, GPU)
def _split_v_grad_kernel(
    grads: list[torch.Tensor],
    shape: tuple[int, ...],
    size_splits: Any,
    axis: Any,
    *,
    given: tuple[int, ...],
    num_split: int,
) -> torch.Tensor:
    whole, place = grads[0].new_zeros(shape), as_integer(axis, "axis")
    rest = whole.shape[place] - sum(size for size in size_splits if size >= 0)
    parts = whole.split_with_sizes([rest if size < 0 else size for size in size_splits], place)
    for number, grad in zip(given, grads, strict=True):
        parts[number].copy_(grad)
    return whole


@split_v_grad.gradient
def _split_v_grad_gradient(
    grad: Tensor, size_splits: HostInput, axis: HostInput, *, given: tuple[int, ...], num_split: int
) -> list[Tensor]:
    parts = find_op("SplitV").many(grad, size_splits, axis, num_split=num_split)
    return [parts[number] for number in given]


# Sums over what was laid side by side.

tile_grad = op("TileGrad", "input: T, multiples: host, shape: host -> output: T", T=_NUMBERS)
tile_grad.shape(lambda input, multiples, shape: TensorShape(shape))


@tile_grad.kernel(CPU, GPU)
def _tile_grad_kernel(input: torch.Tensor, multiples: tuple[int, ...], shape: tuple[int, ...]) -> torch.Tensor:
    cut = [size for pair in zip(multiples, shape, strict=True) for size in pair]
    return input.reshape(cut).sum(list(range(0, len(cut), 2))) if cut else input


@tile_grad.gradient
def _tile_grad_gradient(grad: Tensor, multiples: HostInput) -> Tensor:
    return find_op("Tile")(grad, multiples)


repeat_grad = op("RepeatGrad", "input: T, repeats: host, axis: host, shape: host -> output: T", T=_NUMBERS)
repeat_grad.shape(lambda input, repeats, axis, shape: TensorShape(shape))


@repeat_grad.kernel(CPU, GPU)
def _repeat_grad_kernel(input: torch.Tensor, repeats: Any, axis: Any, shape: tuple[int, ...]) -> torch.Tensor:
    place, counts = as_integer(axis, "axis") % input.ndim, repeats if isinstance(repeats, tuple) else (repeats,)
    if len(counts) == 1:
        return input.reshape([*shape[: place + 1], counts[0], *shape[place + 1 :]]).sum(place + 1)
    each = torch.tensor(counts, device=input.device)
    rows = torch.arange(len(counts), device=input.device).repeat_interleave(each, output_size=input.shape[place])
    return input.new_zeros(shape).index_add_(place, rows, input)


@repeat_grad.gradient
def _repeat_grad_gradient(grad: Tensor, repeats: HostInput, axis: HostInput) -> Tensor:
    return find_op("Repeat")(grad, repeats, axis)


# Borders folded back onto what they mirror.

mirror_pad_grad = op("MirrorPadGrad", "input: T, paddings: host -> output: T", T=_NUMBERS, mode="REFLECT")


@mirror_pad_grad.shape
def _mirror_pad_grad_shape(input: TensorShape, paddings: Any, *, mode: str) -> TensorShape:
    if input.rank is None or paddings is None:
        return input
    return TensorShape(
        None if size is None else size - low - high for size, (low, high) in zip(input, paddings, strict=True)
    )


@mirror_pad_grad.kernel(CPU, GPU)
def _mirror_pad_grad_kernel(input: torch.Tensor, paddings: Any, mode: str) -> torch.Tensor:
    for axis, (low, high) in enumerate(paddings):
        if low or high:
            input = _folded(input, axis, low, high, 1 if mode == "REFLECT" else 0)
    return input


def _folded(grad: torch.Tensor, axis: int, low: int, high: int, apart: int) -> torch.Tensor:
    """The inside of a dimension with its borders added, turned round; `apart` says how far from the edge they lie."""
    size = grad.shape[axis] - low - high
    inside = grad.narrow(axis, low, size).clone()
    inside.narrow(axis, apart, low).add_(grad.narrow(axis, 0, low).flip(axis))
    inside.narrow(axis, size - high - apart, high).add_(grad.narrow(axis, low + size, high).flip(axis))
    return inside


@mirror_pad_grad.gradient
def _mirror_pad_grad_gradient(grad: Tensor, paddings: HostInput, *, mode: str) -> Tensor:
    return find_op("MirrorPad")(grad, paddings, mode=mode)
