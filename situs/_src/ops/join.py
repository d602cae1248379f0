"""Joining and splitting tensors: concat, stack, split, tile, repeat, pad.

The parts of a tensor (`unstack`, `split`) share its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from situs._src.base.devices.scope import here
from situs._src.base.dtype import FIXED, STRING, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError, CallError, DTypeError, InvalidArgumentError, KernelError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, HostInput, HostValue, SizesOf
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FOLDABLE, FRESH, MOVES, SIZE_ARITHMETIC, VIEW
from situs._src.ops.array import (
    also_by_bits,
    as_attribute,
    as_integer,
    as_integers,
    as_lone_integer,
    has_dimensions,
    host_shape,
    identity,
    partly,
    reshape,
)
from situs._src.ops.attribute import is_plain, plain
from situs._src.ops.define import CPU, GPU, KernelValue, op
from situs._src.ops.join_gradient import (
    mirror_pad_grad,
    repeat_grad,
    size_along,
    split_v_grad,
    tile_grad,
    without_gaps,
    without_padding,
)
from situs._src.ops.naming import Composed
from situs._src.runtime import dispatch
from situs._src.runtime.eager.tensor import EagerTensor

MAX_RESULTS = 2**20  # of one op

# ConcatV2.

_concat = op("ConcatV2", "values: T*, axis: host -> output: T", traits={FOLDABLE, FRESH, MOVES, SIZE_ARITHMETIC})


@_concat.shape
def _concat_shape(values: list[TensorShape], axis: HostValue) -> TensorShape:
    first = next((each for each in values if each.rank is not None), UNKNOWN)
    if first.rank is None:
        return UNKNOWN
    if first.rank == 0:
        raise ArgumentError("ConcatOp : Can't concatenate scalars (use tf.stack instead)")
    for number, each in enumerate(values):
        if each.rank not in (first.rank, None):
            raise ArgumentError(
                "ConcatOp : Ranks of all input tensors should match: "
                f"shape[0] = {brackets(first)} vs. shape[{number}] = {brackets(each)}"
            )
    if axis is None:
        return TensorShape([None] * first.rank)
    place = _concat_axis(axis, first.rank)
    return TensorShape(_concat_dim(values, dim, dim == place) for dim in range(first.rank))


def _concat_axis(axis: HostValue, rank: int) -> int:
    if isinstance(axis, tuple) and len(axis) != 1:
        raise ArgumentError(f"axis tensor should be a scalar integer, but got shape {brackets(host_shape(axis))}")
    place = as_lone_integer(axis, "The axis of concat")
    if not -rank <= place < rank:
        raise ArgumentError(
            f"ConcatOp : Expected concatenating dimensions in the range [-{rank}, {rank}), but got {place}"
        )
    return place % rank


def _concat_dim(values: list[TensorShape], dim: int, summed: bool) -> Dim:
    sizes = [each[dim] for each in values]
    if summed:
        return None if None in sizes else sum(size for size in sizes if size is not None)
    known = [(number, size) for number, size in enumerate(sizes) if size is not None]
    for number, size in known:
        if size != known[0][1]:
            raise ArgumentError(
                f"ConcatOp : Dimension {dim} in both shapes must be equal: shape[{known[0][0]}] = "
                f"{brackets(values[known[0][0]])} vs. shape[{number}] = {brackets(values[number])}"
            )
    return known[0][1] if known else None


def _cat_itself(values: list[Tensor], axis: AxisLike) -> Any:
    """PyTorch's function itself, where nothing is left to check."""
    ranks = {value.shape.rank for value in values}
    return torch.cat if type(axis) is int and len(ranks) == 1 and ranks.isdisjoint((None, 0)) else None


@also_by_bits(_concat, CPU, GPU)
@_concat.kernel(CPU, lower=_cat_itself)
@_concat.kernel(GPU, T=FIXED - WIDE_UNSIGNED, lower=_cat_itself)
def _concat_kernel(values: list[torch.Tensor], axis: HostValue) -> torch.Tensor:
    rank = values[0].ndim
    for value in values:
        if value.ndim != rank:
            raise ValueError("cat would pass over an empty vector")  # the shape rule says it better
    return torch.cat(values, axis if type(axis) is int else _concat_axis(axis, rank) if rank else 0)


@_concat.kernel(CPU, T=STRING)
def _concat_strings(values: list[Any], axis: HostValue) -> np.ndarray[Any, Any]:
    return np.concatenate(values, _concat_axis(axis, values[0].ndim))


@_concat.gradient
def _concat_gradient(grad: Tensor, values_shape: list[Any], axis: HostInput) -> list[Tensor]:
    place = as_lone_integer(plain(axis, "axis"), "axis") if is_plain(axis) else axis
    sizes = [size_along(shape, place) for shape in values_shape]
    return _split_v.many(grad, sizes, place, num_split=len(sizes))


_concat_quickly = dispatch.joined(_concat)


@export("concat", v1=("concat", "concat_v2"))
def concat(values: ArrayLike, axis: Any, name: str | None = "concat") -> Tensor:
    """Joins tensors along an axis that they have.

    Args:
        values: A list of tensors that agree in dtype and in all dimensions but `axis`.
        axis: Where to join; counts from the end if negative.
        name: A name for the op.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if not values:
        raise ArgumentError("concat needs at least one tensor, got an empty list.")
    if len(values) == 1:  # which needs no axis, and may be a scalar
        if has_dimensions(axis):
            raise ArgumentError(f"The axis of concat must be a scalar, got {shown(axis)}")
        if is_plain(axis):
            as_attribute(axis, "The axis of concat")
        return identity(values[0], name)
    if type(axis) is int:
        made = _concat_quickly(list(values), axis)
        if made is not None:
            return made
    elif here.graph is not None and has_dimensions(axis):
        raise _no_scalar(axis, "concat")
    return _concat(list(values), axis, name=name)


def _no_scalar(axis: object, function: str) -> InvalidArgumentError:
    """What is wrong with a list as axis where a graph is built; eager code, as in TensorFlow, takes a list of one."""
    return ArgumentError(
        f"Shape must be rank 0: in a graph and in a tf.function the axis of {function} is a single integer, "
        f"got {shown(axis)}"
    )


# Pack and Unpack.

_pack = op("Pack", "values: T* -> output: T", traits={FOLDABLE, FRESH, MOVES, SIZE_ARITHMETIC}, axis=0)
_unpack = op("Unpack", "value: T -> output: T*", traits={MOVES, SIZE_ARITHMETIC}, num=None, axis=0)


@_pack.shape
def _pack_shape(values: list[TensorShape], *, axis: int) -> TensorShape:
    merged = values[0]
    for number, each in enumerate(values):
        if not merged.is_compatible_with(each):
            raise ArgumentError(
                f"Shapes of all inputs must match: values[0].shape = {brackets(values[0])} "
                f"!= values[{number}].shape = {brackets(each)}"
            )
        merged = merged.merge_with(each)
    if merged.rank is None:
        return UNKNOWN
    place = _pack_axis(axis, merged.rank + 1)
    return TensorShape([*merged[:place], len(values), *merged[place:]])


def _pack_axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise CallError(f"Argument `axis` = {axis} not in range [{-rank}, {rank})")
    return axis % rank


@also_by_bits(_pack, CPU, GPU)
@_pack.kernel(CPU)
@_pack.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _pack_kernel(values: list[torch.Tensor], axis: int) -> torch.Tensor:
    return torch.stack(values, axis)


@_pack.kernel(CPU, T=STRING)
def _pack_strings(values: list[Any], axis: int) -> np.ndarray[Any, Any]:
    return np.stack(values, axis)


@_pack.gradient
def _pack_gradient(grad: Tensor, values_shape: list[Any], *, axis: int) -> list[Tensor]:
    return _unpack.many(grad, num=len(values_shape), axis=axis)


def _checked_count(count: int) -> int:
    """How many results an op has, which is not a number that fills the memory with tensors."""
    if not 0 <= count <= MAX_RESULTS:
        raise ArgumentError(f"An op has 0 to {MAX_RESULTS} results, but {count} were asked for.")
    return count


@_unpack.shape
def _unpack_shape(value: TensorShape, *, num: int | None, axis: int) -> list[TensorShape]:
    if value.rank is None:
        if num is None:
            raise ArgumentError("Cannot infer argument `num` from shape <unknown>")
        return [UNKNOWN] * _checked_count(num)
    place = _pack_axis(axis, value.rank)
    found = value[place]
    if num is None and found is None:
        raise ArgumentError(f"Cannot infer argument `num` from shape {value}")
    if num is not None and found not in (num, None):
        raise ArgumentError(f"Input shape axis {place} must equal {num}, got shape {brackets(value)}")
    return [TensorShape([*value[:place], *value[place + 1 :]])] * _checked_count(num if found is None else found)  # type: ignore[arg-type]


@_unpack.kernel(CPU)
@_unpack.kernel(GPU, T=FIXED)
def _unpack_kernel(value: torch.Tensor, num: int | None, axis: int) -> Sequence[torch.Tensor]:
    if num is not None and value.shape[axis] != num:
        raise ValueError("not as many as the caller says")  # the shape rule says it better
    return value.unbind(axis)


@_unpack.kernel(CPU, T=STRING)
def _unpack_strings(value: Any, num: int | None, axis: int) -> list[Any]:
    _unpack_shape(TensorShape(value.shape), num=num, axis=axis)
    front = np.moveaxis(value, axis, 0)
    return [front[number, ...] for number in range(len(front))]


@_unpack.gradient
def _unpack_gradient(grads: list[Any], *, axis: int) -> Tensor:
    return _pack(without_gaps(grads), axis=axis)


_pack_quickly = dispatch.joined(_pack)


@export("parallel_stack")
def parallel_stack(values: ArrayLike, name: str | None = "parallel_stack") -> Tensor:
    """Joins tensors of one shape along a new first axis; the same as `stack` here, which waits for all of them."""
    return stack(values, 0, name)


@export("stack", v1=("pack", "stack"))
def stack(values: ArrayLike, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Joins tensors of one shape along a new axis.

    Args:
        values: A list of tensors that agree in dtype and shape.
        axis: Where the new axis stands in the result; counts from the end if negative.
        name: A name for the op.
    """
    place = axis if type(axis) is int else as_attribute(axis, "The axis of stack")
    if type(values) is list and values and type(values[0]) is EagerTensor:
        made = _pack_quickly(values, place)
        return _pack(values, axis=place, name=name) if made is None else made
    if place == 0 and (_has_no_tensors(values) or not isinstance(values, (list, tuple))):
        try:
            return identity(values, name)  # Python values together have the dtype that holds them all
        except ArgumentError:
            if not isinstance(values, (list, tuple)):
                raise  # else they differ in shape, of which the op says more
    if not isinstance(values, (list, tuple)):
        values = unstack(values)
    if not values:
        raise ArgumentError(f"stack along axis {place} needs at least one tensor, got an empty list.")
    return _pack(list(values), axis=place, name=name)


def _has_no_tensors(value: object) -> bool:
    """Whether this is a value of Python or NumPy, or a list of nothing else."""
    if isinstance(value, (list, tuple)):
        try:
            return all(_has_no_tensors(each) for each in value)
        except RecursionError:
            return True  # a list that contains itself: its conversion says so
    return isinstance(value, (int, float, complex, str, bytes, np.ndarray, np.generic))


@export("unstack", v1=("unpack", "unstack"))
def unstack(value: ArrayLike, num: int | None = None, axis: int = 0, name: str | None = "unstack") -> list[Tensor]:
    """Takes a tensor apart along an axis, which the parts do not have.

    Args:
        value: A tensor of at least one dimension.
        num: The size of that axis, where it is not known otherwise.
        axis: The axis; counts from the end if negative.
        name: A name for the op.
    """
    place = as_attribute(axis, "The axis of unstack")
    count = None if num is None else as_attribute(num, "num")
    return _unpack.many(value, num=count, axis=place, name=name)


# Split and SplitV.

_split = op("Split", "axis: host, value: T -> output: T*", traits={VIEW}, num_split=1)
_split_v = op("SplitV", "value: T, size_splits: host, axis: host -> output: T*", traits={VIEW}, num_split=1)


def _split_axis(axis: HostValue, rank: int, takes_a_list: bool = False) -> int:
    """The axis, counted from the front; SplitV, as in TensorFlow, takes one in lists of any depth as well."""
    while takes_a_list and isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    place = as_integer(axis, "The axis of split")
    if not -rank <= place < rank:
        raise ArgumentError(f"-input rank(-{rank}) <= split_dim < input rank ({rank}), but got {place}")
    return place % rank


@_split.shape
def _split_shape(axis: HostValue, value: TensorShape, *, num_split: int) -> list[TensorShape]:
    if num_split < 1:
        raise ArgumentError(f"Value for attr 'num_split' of {num_split} must be at least minimum 1")
    if value.rank is None or axis is None:
        return [TensorShape(None if value.rank is None else [None] * value.rank)] * _checked_count(num_split)
    place = _split_axis(axis, value.rank)
    found = value[place]
    if found is not None and found % num_split:
        raise ArgumentError(
            "Number of ways to split should evenly divide the split dimension, "
            f"but got split_dim {place} (size = {found}) and num_split {num_split}"
        )
    part = None if found is None else found // num_split
    return [TensorShape([*value[:place], part, *value[place + 1 :]])] * _checked_count(num_split)


@_split_v.shape
def _split_v_shape(value: TensorShape, size_splits: HostValue, axis: HostValue, *, num_split: int) -> list[TensorShape]:
    count = _checked_count(num_split)
    if value.rank is None or axis is None:
        return [UNKNOWN if value.rank is None else TensorShape([None] * value.rank)] * count
    place = _split_axis(axis, value.rank, takes_a_list=True)
    parts = [None] * count if size_splits is None else _split_sizes(value[place], size_splits, count)
    return [TensorShape([*value[:place], part, *value[place + 1 :]]) for part in parts]


def _split_sizes(whole: Dim, size_splits: HostValue, num_split: int) -> list[Dim]:
    """The sizes of the parts, with -1 worked out; None for one that is not known."""
    if host_shape(size_splits) != (num_split,):
        raise ArgumentError(
            f"size of the split_tensor must be 1-D and have the same elements as outputs ({num_split}), "
            f"got shape {brackets(host_shape(size_splits))}"
        )
    sizes = partly(partial(as_integers, what="size_splits"), size_splits)
    for number, each in enumerate(sizes):
        if each is not None and each < -1:
            raise ArgumentError(f"Split size at index {number} must be >= 0. Got: {each}")
    if sizes.count(-1) > 1:
        raise ArgumentError("There can only be one -1 in the input.")
    if whole is None or None in sizes:
        return [None if each == -1 else each for each in sizes]
    rest = whole - sum(each for each in sizes if each is not None and each >= 0)
    if rest < 0 or (rest and -1 not in sizes):
        raise ArgumentError(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less "
            "than the size of the input along split_dim if not fully specified.  "
            f"Got: {whole - rest}, for a size of {whole}"
        )
    return [rest if each == -1 else each for each in sizes]


def _known_split(axis: AxisLike, value: Tensor, num_split: int) -> Callable[[Any, Any], Any] | None:
    """A function that cuts in places known beforehand; None if they are not."""
    size = _known_size(value, axis)
    if size is None:
        return None
    sizes = [size // num_split] * num_split
    return lambda axis, value: value.split_with_sizes(sizes, axis)


def _known_split_v(
    value: Tensor, size_splits: HostValue, axis: AxisLike, num_split: int
) -> Callable[[Any, Any, Any], Any] | None:
    """A function that cuts in places known beforehand; None if they are not."""
    size = _known_size(value, axis)
    if size is None or not isinstance(size_splits, tuple) or any(type(part) is not int for part in size_splits):
        return None
    sizes = _split_sizes(size, size_splits, num_split)
    return lambda value, size_splits, axis: value.split_with_sizes(sizes, axis)


def _known_size(value: Tensor, axis: AxisLike) -> int | None:
    """The size of a tensor of PyTorch's along an axis; None if one of them is not known beforehand."""
    if type(axis) is not int or value.shape.rank is None or value.dtype in STRING:
        return None
    return value.shape[axis]


@_split.kernel(CPU, lower=_known_split)
@_split.kernel(GPU, T=FIXED, lower=_known_split)
def _split_kernel(axis: HostValue, value: KernelValue, num_split: int) -> list[Any] | tuple[torch.Tensor, ...]:
    place = _split_axis(axis, value.ndim)
    part, left = divmod(value.shape[place], num_split)
    if left:
        raise ValueError("does not divide")  # the shape rule says it better
    return _cut(value, [part] * num_split, place)


@_split_v.kernel(CPU, lower=_known_split_v)
@_split_v.kernel(GPU, T=FIXED, lower=_known_split_v)
def _split_v_kernel(
    value: KernelValue, size_splits: HostValue, axis: HostValue, num_split: int
) -> list[Any] | tuple[torch.Tensor, ...]:
    place = _split_axis(axis, value.ndim, takes_a_list=True)
    return _cut(value, _split_sizes(value.shape[place], size_splits, num_split), place)


def _cut(value: Any, sizes: list[Any], axis: int) -> list[Any] | tuple[torch.Tensor, ...]:
    if isinstance(value, torch.Tensor):
        return value.split_with_sizes(sizes, axis)
    ends = np.cumsum(sizes)
    return [value.take(range(end - size, end), axis) for size, end in zip(sizes, ends, strict=True)]


@_split.gradient
def _split_gradient(grads: list[Any], axis: HostInput) -> Tensor:
    return concat(without_gaps(grads), axis)


@_split_v.gradient
def _split_v_gradient(grads: list[Any], value_shape: SizesOf, size_splits: HostInput, axis: HostInput) -> Tensor:
    given = tuple(number for number, grad in enumerate(grads) if grad is not None)
    if len(given) == len(grads):
        return _concat(grads, axis)
    found = [grads[number] for number in given]
    return split_v_grad(found, value_shape, size_splits, axis, given=given, num_split=len(grads))


@export("split")
def split(
    value: ArrayLike,
    num_or_size_splits: ArrayLike,
    axis: AxisLike = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Takes a tensor apart along an axis, which the parts keep.

    Args:
        value: A tensor.
        num_or_size_splits: How many equal parts to make, or a list with the size of each part, of
            which one may be -1: the rest.
        axis: The axis; counts from the end if negative.
        num: The number of sizes, where it is not known otherwise.
        name: A name for the op.
    """
    if here.graph is not None and type(axis) is not int and has_dimensions(axis) and is_plain(axis):
        raise _no_scalar(axis, "split")
    if isinstance(num_or_size_splits, (int, np.integer)):
        return _split.many(axis, value, num_split=int(num_or_size_splits), name=name)
    count = _number_of_sizes(num_or_size_splits) if num is None else as_attribute(num, "num")
    return _split_v.many(value, num_or_size_splits, axis, num_split=count, name=name)


def _number_of_sizes(sizes: Any) -> int:
    if isinstance(sizes, SymbolicTensor) and sizes.shape.rank != 0:
        if sizes.shape[0] is None:
            raise ArgumentError(f"Cannot infer argument `num` from shape {sizes.shape} of num_or_size_splits.")
        return sizes.shape[0]
    try:
        return len(sizes)
    except TypeError:
        raise ArgumentError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. Give a Python integer or a "
            f"list of sizes. Argument provided: {sizes!r}"
        ) from None


# Tile and Repeat.

_tile = op("Tile", "input: T, multiples: host -> output: T")
_repeat = op("Repeat", "input: T, repeats: host, axis: host -> output: T")


@_tile.shape
def _tile_shape(input: TensorShape, multiples: HostValue) -> TensorShape:
    if multiples is None:
        return TensorShape(None if input.rank is None else [None] * input.rank)
    if input.rank is None:
        return TensorShape([None] * len(multiples)) if isinstance(multiples, tuple) else UNKNOWN
    counts = _multiples(multiples, input.rank)
    return TensorShape(None if size is None or n is None else size * n for size, n in zip(input, counts, strict=True))


def _multiples(multiples: Any, rank: int) -> tuple[Any, ...]:
    if not isinstance(multiples, tuple):
        raise ArgumentError("Expected multiples to be 1-D, but got shape []")
    if len(multiples) != rank:
        raise ArgumentError(
            f"Expected multiples argument to be a vector of length {rank} but got length {len(multiples)}"
        )
    for number, each in enumerate(multiples):
        if each is not None and as_integer(each, "Each entry of multiples") < 0:
            raise KernelError(f"Expected multiples[{number}] >= 0, but got {each}")
    return multiples


@_tile.kernel(CPU)
@_tile.kernel(GPU, T=FIXED)
def _tile_kernel(input: torch.Tensor, multiples: HostValue) -> torch.Tensor:
    return input.repeat(_multiples(multiples, input.ndim))


@_tile.kernel(CPU, T=STRING)
def _tile_strings(input: KernelValue, multiples: HostValue) -> np.ndarray[Any, Any]:
    return np.tile(input, _multiples(multiples, input.ndim))


@_repeat.shape
def _repeat_shape(input: TensorShape, repeats: HostValue, axis: HostValue) -> TensorShape:
    if input.rank is None or axis is None:
        return UNKNOWN if input.rank is None else TensorShape([None] * input.rank)
    place = normalize_axis(as_integer(axis, "The axis of repeat"), input.rank)
    if repeats is None:
        return TensorShape([*input[:place], None, *input[place + 1 :]])
    size, counts = input[place], _repeats(repeats, input[place])
    total = sum(counts) if isinstance(counts, tuple) else None if size is None else counts * size
    return TensorShape([*input[:place], total, *input[place + 1 :]])


def _repeats(repeats: HostValue, size: Dim) -> int | tuple[int, ...]:
    """One count for all, or one for each element."""
    if len(host_shape(repeats)) > 1:
        raise ArgumentError(f"repeats of shape {brackets(host_shape(repeats))} must have rank at most 1")
    counts = as_integers(repeats, "repeats")
    for each in counts:
        if each < 0:
            raise ArgumentError(f"Expected repeats >= 0, but got {each}")
    if len(counts) == 1:
        return counts[0]
    if size not in (len(counts), None):
        raise ArgumentError(f"Dimensions {size} and {len(counts)} are not compatible: give one count, or {size}.")
    return counts


@also_by_bits(_repeat, CPU, GPU)
@_repeat.kernel(CPU)
@_repeat.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _repeat_kernel(input: torch.Tensor, repeats: HostValue, axis: HostValue) -> torch.Tensor:
    place = normalize_axis(as_integer(axis, "The axis of repeat"), input.ndim)
    counts = _repeats(repeats, input.shape[place])
    if isinstance(counts, int):
        return input.repeat_interleave(counts, place)
    each = torch.tensor(counts, dtype=torch.int64, device=input.device)
    return input.repeat_interleave(each, place, output_size=sum(counts))


@_repeat.kernel(CPU, T=STRING)
def _repeat_strings(input: KernelValue, repeats: HostValue, axis: HostValue) -> np.ndarray[Any, Any]:
    place = normalize_axis(as_integer(axis, "The axis of repeat"), input.ndim)
    return np.repeat(input, _repeats(repeats, input.shape[place]), place)


_tile.gradient(lambda grad, input_shape, multiples: tile_grad(grad, multiples, input_shape))
_repeat.gradient(lambda grad, input_shape, repeats, axis: repeat_grad(grad, repeats, axis, input_shape))


@export("tile", v1=("tile", "manip.tile"))
def tile(input: ArrayLike, multiples: ArrayLike, name: str | None = None) -> Tensor:
    """Returns `input` laid side by side with itself, ``multiples[i]`` times along dimension i."""
    return _tile(input, multiples, name=name)


@export("repeat")
def repeat(input: ArrayLike, repeats: ArrayLike, axis: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Repeats each element along an axis.

    Args:
        input: A tensor.
        repeats: How often: one number, or one for each element along the axis.
        axis: The axis; by default `input` is flattened first.
        name: A name for the op.
    """
    if axis is not None:
        if has_dimensions(axis):
            raise DTypeError(f"Argument `axis` must be an int, got {shown(axis)}")
        return _repeat(input, repeats, axis, name=name)
    with Composed(name, "Repeat") as last:
        return _repeat(reshape(input, [-1]), repeats, 0, name=last)


# Pad, PadV2, MirrorPad.

_pad = op("Pad", "input: T, paddings: host -> output: T")
_pad_v2 = op("PadV2", "input: T, paddings: host, constant_values: T -> output: T")
_mirror_pad = op("MirrorPad", "input: T, paddings: host -> output: T", mode="REFLECT")


def _pairs(paddings: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """The paddings before and after each dimension, checked."""
    shape = host_shape(paddings)
    if shape not in ((rank, 2), (0,) if rank == 0 else None):
        if len(shape) != 2 or shape[1] != 2:
            raise ArgumentError(f"paddings must be a matrix with 2 columns: {brackets(shape)}")
        raise ArgumentError(
            f"The first dimension of paddings must be the rank of inputs: {brackets(shape)} for an input of rank {rank}"
        )
    for pair in paddings:
        if any(as_integer(each, "Each entry of paddings") < 0 for each in pair):
            raise ArgumentError(f"Paddings must be non-negative: {pair[0]} {pair[1]}")
    return tuple(paddings)


def _is_known_in_part(paddings: ArrayLike, rank: int) -> bool:
    """Whether these are pairs for each dimension, of which not all are known yet."""
    if not isinstance(paddings, tuple) or len(paddings) != rank:
        return False
    if not all(pair is None or (isinstance(pair, tuple) and len(pair) == 2) for pair in paddings):
        return False
    return any(pair is None or None in pair for pair in paddings)


@_pad.shape
def _pad_shape(input: TensorShape, paddings: Any) -> TensorShape:
    if paddings is None:
        return TensorShape(None if input.rank is None else [None] * input.rank)
    if input.rank is None:
        return TensorShape([None] * len(paddings) if isinstance(paddings, tuple) else None)
    if _is_known_in_part(paddings, input.rank):
        return TensorShape(
            None if size is None or pair is None or None in pair else size + sum(pair)
            for size, pair in zip(input, paddings, strict=True)
        )
    pairs = _pairs(paddings, input.rank)
    return TensorShape(None if d is None else d + low + high for d, (low, high) in zip(input, pairs, strict=True))


@_pad_v2.shape
def _pad_v2_shape(input: TensorShape, paddings: HostValue, constant_values: TensorShape) -> TensorShape:
    if constant_values.rank not in (0, None):
        raise ArgumentError(f"constant_values must be a scalar. Found: {brackets(constant_values)}")
    return _pad_shape(input, paddings)


@_mirror_pad.shape
def _mirror_pad_shape(input: TensorShape, paddings: Any, *, mode: str) -> TensorShape:
    result = _pad_shape(input, paddings)
    if input.rank is not None and paddings is not None:
        for size, pair in zip(input, paddings, strict=True):
            if pair is not None and None not in pair:
                _check_mirror(size, pair, mode)
    return result


def _check_mirror(size: Dim, pair: tuple[int, int], mode: str) -> None:
    limit = "less than" if mode == "REFLECT" else "no greater than"
    if size is not None and max(pair) > (size - 1 if mode == "REFLECT" else size) and max(pair) > 0:
        raise KernelError(f"paddings must be {limit} the dimension size: {pair[0]}, {pair[1]} for a size of {size}")


@also_by_bits(_pad, CPU, GPU)
@_pad.kernel(CPU)
@_pad.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _pad_kernel(input: torch.Tensor, paddings: HostValue) -> torch.Tensor:
    flat = [each for pair in reversed(_pairs(paddings, input.ndim)) for each in pair]
    return torch.nn.functional.pad(input, flat)


@also_by_bits(_pad_v2, CPU, GPU)
@_pad_v2.kernel(CPU, GPU, T=FIXED)
def _pad_v2_kernel(input: torch.Tensor, paddings: HostValue, constant_values: torch.Tensor) -> torch.Tensor:
    pairs = _pairs(paddings, input.ndim)
    shape = [size + low + high for size, (low, high) in zip(input.shape, pairs, strict=True)]
    output = constant_values.expand(shape).clone(memory_format=torch.contiguous_format)
    output[_inside(input, pairs)] = input
    return output


@_pad.kernel(CPU, T=STRING)
def _pad_strings(input: KernelValue, paddings: HostValue) -> np.ndarray[Any, Any]:
    return _pad_v2_strings(input, paddings, np.array(b"", object))


@_pad_v2.kernel(CPU, T=STRING)
def _pad_v2_strings(input: KernelValue, paddings: Any, constant_values: Any) -> np.ndarray[Any, Any]:
    pairs = _pairs(paddings, input.ndim)
    output = np.empty([size + low + high for size, (low, high) in zip(input.shape, pairs, strict=True)], object)
    output[...] = constant_values.item()
    output[_inside(input, pairs)] = input
    return output


def _inside(input: Any, pairs: tuple[tuple[int, int], ...]) -> tuple[Any, ...]:
    """Where the input lies in the padded output."""
    parts = (slice(low, low + size) for size, (low, _) in zip(input.shape, pairs, strict=True))
    return (*parts, Ellipsis)


@also_by_bits(_mirror_pad, CPU, GPU)
@_mirror_pad.kernel(CPU)
@_mirror_pad.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _mirror_pad_kernel(input: torch.Tensor, paddings: HostValue, mode: str) -> torch.Tensor:
    for axis, (low, high) in enumerate(_pairs(paddings, input.ndim)):
        size = input.shape[axis]
        _check_mirror(size, (low, high), mode)
        if low or high:
            places = torch.arange(-low, size + high, device=input.device)
            input = input.index_select(axis, _folded(places, size, 0 if mode == "REFLECT" else 1))
    return input


def _folded(places: torch.Tensor, size: int, edge: int) -> torch.Tensor:
    """Places outside ``[0, size)`` mirrored back inside; `edge` says how often the border element stands there."""
    places = torch.where(places < 0, -places - edge, places)
    return torch.where(places >= size, 2 * (size - 1) + edge - places, places)


@_mirror_pad.kernel(CPU, T=STRING)
def _mirror_pad_strings(input: KernelValue, paddings: HostValue, mode: str) -> KernelValue:
    _mirror_pad_shape(TensorShape(input.shape), paddings, mode=mode)
    kind: Any = "reflect" if mode == "REFLECT" else "symmetric"
    return np.pad(input, _pairs(paddings, input.ndim), kind) if input.ndim else input


# TensorFlow takes the element that is padded with for a constant.
_pad.gradient(lambda grad, input_shape, paddings: without_padding(grad, paddings, input_shape))
_pad_v2.gradient(lambda grad, input_shape, paddings: (without_padding(grad, paddings, input_shape), None))
_mirror_pad.gradient(lambda grad, paddings, *, mode: mirror_pad_grad(grad, paddings, mode=mode))


@export("pad", v1=())
def pad(
    tensor: ArrayLike,
    paddings: ArrayLike,
    mode: str = "CONSTANT",
    constant_values: ArrayLike = 0,
    name: str | None = None,
) -> Tensor:
    """Adds elements before and after each dimension.

    Args:
        tensor: A tensor.
        paddings: For each dimension, how many to add before and after it.
        mode: ``"CONSTANT"`` adds `constant_values`; ``"REFLECT"`` mirrors the tensor without its
            border elements, ``"SYMMETRIC"`` with them.
        constant_values: The element to add.
        name: A name for the op.
    """
    kind = str(mode).upper()
    if kind in ("REFLECT", "SYMMETRIC"):
        return _mirror_pad(tensor, paddings, mode=kind, name=name)
    if kind != "CONSTANT":
        raise ArgumentError(
            f'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". '
            f"Received `mode` = {mode}"
        )
    if isinstance(constant_values, (int, float)) and constant_values == 0:
        return _pad(tensor, paddings, name=name)
    return _pad_v2(tensor, paddings, constant_values, name=name)


@export(v1="pad")
def pad_v1(
    tensor: ArrayLike,
    paddings: ArrayLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: ArrayLike = 0,
) -> Tensor:
    """Adds elements around a tensor, with the argument order of TensorFlow 1."""
    return pad(tensor, paddings, mode, constant_values, name)
