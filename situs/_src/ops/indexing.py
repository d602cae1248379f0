"""Parts of a tensor: slices, and the implementation of ``tensor[...]``.

All of Python's indexing becomes one op, StridedSlice, with TensorFlow's inputs. For each entry of
the index it has a begin, an end and a stride; the masks say with one bit each what the entry is:

    x[2, 1:, ..., None, ::-1]
      begin    2  1  0  0  0        shrink_axis_mask  00001  the 2 picks one element and drops its axis
      end      3  0  0  0  0        begin_mask        10000  the slice has no begin
      strides  1  1  1  1 -1        end_mask          10010  ... or no end
                                    ellipsis_mask     00100
                                    new_axis_mask     01000

Results share memory with the tensor unless a stride is negative, which PyTorch's tensors cannot have.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import COMPLEX, FIXED, FLOATING, STRING, WIDE_UNSIGNED, int16, int32, int64
from situs._src.base.dtype import bool as bool_
from situs._src.base.errors import ArgumentError, DTypeError, KernelError, shown
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, Dim, TensorShape, brackets, dimension_value
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, HostInput, HostValue, IntsLike, SizesOf
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FOLDABLE, FRESH, MOVES, SIZE_ARITHMETIC, VIEW
from situs._src.ops.array import also_by_bits, as_integer, as_integers, host_shape, partly
from situs._src.ops.attribute import as_int
from situs._src.ops.constant import ones_like
from situs._src.ops.define import CPU, GPU, KernelValue, op
from situs._src.ops.gather import boolean_mask
from situs._src.runtime import dispatch
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.tensor import EagerTensor

# Slice.

_slice = op("Slice", "input: T, begin: host, size: host -> output: T", traits={FOLDABLE, MOVES, SIZE_ARITHMETIC, VIEW})


@_slice.shape
def _slice_shape(input: TensorShape, begin: HostValue, size: HostValue) -> TensorShape:
    if input.rank is None or begin is None or size is None:
        return UNKNOWN if input.rank is None else TensorShape([None] * input.rank)
    return TensorShape(length for _, length in _extents(tuple(input), begin, size))


def _extents(dims: tuple[Dim, ...], begin: HostValue, size: HostValue) -> Iterator[tuple[Dim, Dim]]:
    """For each dimension, the first element and how many there are."""
    rank = len(dims)
    if host_shape(begin) != (rank,) or host_shape(size) != (rank,):
        raise ArgumentError(
            f"Expected begin and size arguments to be 1-D tensors of size {rank}, but got shapes "
            f"{brackets(host_shape(begin))} and {brackets(host_shape(size))} instead."
        )
    starts, lengths = (
        partly(partial(as_integers, what=what), value) for what, value in (("begin", begin), ("size", size))
    )
    for number, (dim, start, length) in enumerate(zip(dims, starts, lengths, strict=True)):
        if dim is None or start is None or length is None:
            yield start, None if length == -1 else length
            continue
        if not 0 <= start <= dim:
            raise KernelError(f"Expected begin[{number}] in [0, {dim}], but got {start}")
        if not -1 <= length <= dim - start:
            raise KernelError(f"Expected size[{number}] in [0, {dim - start}], but got {length}")
        yield start, dim - start if length == -1 else length


@_slice.kernel(CPU)
@_slice.kernel(GPU, T=FIXED)
def _slice_kernel(input: KernelValue, begin: HostValue, size: HostValue) -> Any:
    extents = _extents(tuple(input.shape), begin, size)
    parts = [builtins.slice(start, start + length) for start, length in extents]  # type: ignore[operator]
    return input[(*parts, ...)]


# SliceGrad: zeros around what was sliced.

_slice_grad = op("SliceGrad", "dy: T, begin: host, shape: host -> output: T", T=FLOATING | COMPLEX)
_slice_grad.shape(lambda dy, begin, shape: TensorShape(shape))


@_slice_grad.kernel(CPU, GPU)
def _slice_grad_kernel(dy: torch.Tensor, begin: HostValue, shape: Any) -> torch.Tensor:
    whole = dy.new_zeros(shape)
    _slice_kernel(whole, begin, tuple(dy.shape)).copy_(dy)
    return whole


_slice.gradient(lambda grad, input_shape, begin: _slice_grad(grad, begin, input_shape))
_slice_grad.gradient(lambda grad, dy_shape, begin: _slice(grad, begin, dy_shape))


@export("slice")
def slice(input_: ArrayLike, begin: Any, size: IntsLike, name: str | None = None) -> Tensor:
    """Returns a part of a tensor.

    Args:
        input_: A tensor.
        begin: The first element along each dimension.
        size: How many along each dimension; -1 for all that are left.
        name: A name for the op.
    """
    return _slice(input_, begin, size, name=name)


# StridedSlice.

_strided_slice = op(
    "StridedSlice",
    "input: T, begin: host, end: host, strides: host -> output: T",
    traits={FOLDABLE, MOVES, SIZE_ARITHMETIC},
    begin_mask=0,
    end_mask=0,
    ellipsis_mask=0,
    new_axis_mask=0,
    shrink_axis_mask=0,
)


_ANY = object()  # a bound that is not known yet
_BEYOND = 2**62  # PyTorch warns of numbers that do not fit 64 bits
_FAR = 2**31  # PyTorch multiplies a step with a stride, which must not overflow


for _view in (_slice, _strided_slice):
    _view.takes_no_size()  # what is cut out shares the memory of what it is cut out of


def _as_index(
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> list[Any]:
    """The index as Python writes it: integers, slices, None and Ellipsis."""
    if ellipsis_mask & (ellipsis_mask - 1):
        raise ArgumentError("Multiple ellipses in slice spec not allowed")
    index: list[Any] = []
    bit = 1
    for low, high, stride in zip(begin, end, strides, strict=True):
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            if stride is not _ANY and stride <= 0:
                raise ArgumentError("only stride 1 allowed on non-range indexing.")
            index.append(low if low is _ANY else operator.index(low))
        else:
            index.append(builtins.slice(None if begin_mask & bit else low, None if end_mask & bit else high, stride))
        bit <<= 1
    return index


def _checked(begin: Any, end: Any, strides: Any) -> list[Any]:
    """The vectors of a strided slice, of one length and made of integers, or of `_ANY` for those not known."""
    shapes = [host_shape(each) for each in (begin, end, strides)]
    if len(shapes[0]) != 1 or shapes[1:] != [shapes[0]] * 2:
        found = [brackets(each) for each in shapes]
        raise ArgumentError(
            f"Expected begin, end, and strides to be 1D equal size tensors, but got shapes {found[0]}, {found[1]}, and "
            f"{found[2]} instead."
        )
    for what, values in (("begin", begin), ("end", end), ("strides", strides)):
        as_integers(tuple(each for each in values if each is not None), what)
    for number, stride in enumerate(strides):
        if stride == 0:
            raise ArgumentError(f"strides[{number}] must be non-zero")
    return [tuple(_ANY if each is None else each for each in values) for values in (begin, end, strides)]


@_strided_slice.shape
def part_shape(input: TensorShape, begin: HostValue, end: HostValue, strides: HostValue, **masks: int) -> TensorShape:
    """The shape of a strided slice, as far as it is known."""
    if input.rank is None or begin is None or end is None or strides is None:
        return UNKNOWN
    begin, end, strides = _checked(begin, end, strides)
    index = _as_index(begin, end, strides, **masks)
    dims, rank = [], len(input)
    axis, left = 0, sum(entry is not None and entry is not Ellipsis for entry in index)
    for entry in [*index, *([] if Ellipsis in index else [Ellipsis])]:
        if entry is Ellipsis:
            dims += input[axis : max(axis, rank - left)].as_list()
            axis = max(axis, rank - left)
        elif entry is None:
            dims.append(1)
        else:
            dims += _indexed_dim(entry, axis, input)
            axis, left = axis + 1, left - 1
    return TensorShape(dims)


def _indexed_dim(entry: Any, axis: int, input: TensorShape) -> list[Dim]:
    """What one integer or slice leaves of a dimension: nothing, or its new size."""
    rank = len(input)
    if axis >= rank:
        raise ArgumentError(
            f"Index out of range using input dim {axis}; input has only {rank} dims"
            if rank
            else "Attempting to slice scalar input."
        )
    size = input[axis]
    if isinstance(entry, builtins.slice):
        unknown = size is None or _ANY in (entry.start, entry.stop, entry.step)
        return [None if unknown else len(range(*entry.indices(size)))]  # type: ignore[arg-type]
    if size is not None and entry is not _ANY and not -size <= entry < size:
        raise ArgumentError(f"slice index {entry + size if entry < 0 else entry} of dimension {axis} out of bounds.")
    return []


def _known_slice(
    input: Tensor, begin: Any, end: Any, strides: IntsLike, **masks: int
) -> Callable[[Any, Any, Any, Any], Any] | None:
    """In a graph, a function for an index that is known beforehand, or of one number; None for any other."""
    axis = _only_axis(begin, strides, **masks)
    if axis is not None:
        return lambda input, begin, end, strides: input.select(axis, begin[axis])
    if any(type(bound) is not int for bounds in (begin, end, strides) for bound in _as_tuple(bounds)):
        return None
    index = tuple(_as_index(begin, end, strides, **masks))
    return (lambda input, begin, end, strides: input[index]) if _is_simple(list(index)) else None


def _only_axis(
    begin: HostValue,
    strides: IntsLike,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> int | None:
    """The axis along which an index such as ``x[:, t]`` takes one element, and all of the others; None of any other."""
    if not isinstance(begin, tuple) or ellipsis_mask or new_axis_mask or shrink_axis_mask.bit_count() != 1:
        return None
    axis = shrink_axis_mask.bit_length() - 1
    others = (1 << len(begin)) - 1 & ~shrink_axis_mask
    is_whole = begin_mask & end_mask & others == others and not begin_mask & shrink_axis_mask
    return axis if is_whole and _as_tuple(strides) == (1,) * len(begin) else None


def _as_tuple(bounds: Any) -> tuple[Any, ...]:
    return bounds if isinstance(bounds, tuple) else (None,)


@also_by_bits(_strided_slice, CPU, GPU)
@_strided_slice.kernel(CPU, lower=_known_slice)
@_strided_slice.kernel(GPU, T=FIXED - WIDE_UNSIGNED, lower=_known_slice)
def _strided_slice_kernel(
    input: torch.Tensor, begin: tuple[int, ...], end: HostValue = None, strides: HostValue = None, **masks: int
) -> torch.Tensor:
    if end is None:  # `begin` is a whole index, as Python writes it and PyTorch takes it: see `getitem`
        return input[begin]
    index = _as_index(begin, end, strides, **masks)
    if _is_simple(index):
        return input[tuple(index)]
    forwards, flipped = _forwards(index, input)
    return input[forwards].flip(flipped)


def _is_simple(index: list[Any]) -> bool:
    """Whether PyTorch takes the index as it is."""
    return all(type(entry) is not builtins.slice or 0 < entry.step < _FAR for entry in index)


def _forwards(index: list[Any], input: torch.Tensor) -> tuple[tuple[Any, ...], list[int]]:
    """An index that takes the same elements forwards, and the axes to turn the result round along."""
    forwards: list[Any] = []
    flipped: list[int] = []
    axis = kept = 0  # the axis of the input that the entry is about, and of the result
    skipped = input.ndim - sum(entry is not None and entry is not Ellipsis for entry in index)
    for entry in index:
        if isinstance(entry, builtins.slice) and entry.step < 0:
            entry = _turned(entry, input.shape[axis])
            flipped.append(kept)
        elif isinstance(entry, builtins.slice) and entry.step >= _FAR:
            entry = builtins.slice(*entry.indices(input.shape[axis])[:2], max(input.shape[axis], 1))
        forwards.append(entry)
        axis += skipped if entry is Ellipsis else entry is not None
        kept += skipped if entry is Ellipsis else entry is None or isinstance(entry, builtins.slice)
    return tuple(forwards), flipped


def _turned(entry: builtins.slice, size: int) -> builtins.slice:
    """The slice that picks the same elements of a dimension in the opposite order."""
    places = range(*entry.indices(size))
    return builtins.slice(places[-1], places[0] + 1, min(-entry.step, size)) if places else builtins.slice(0, 0, 1)


@_strided_slice.kernel(CPU, T=STRING)
def _strided_slice_strings(input: Any, begin: Any, end: Any = None, strides: Any = None, **masks: int) -> Any:
    if end is None:
        index = list(begin) if isinstance(begin, tuple) else [begin]
        return input[tuple(index) if Ellipsis in index else (*index, ...)]
    index = _as_index(begin, end, strides, **masks)
    return input[tuple(index) if Ellipsis in index else (*index, ...)]  # the dots keep NumPy from returning an element


# StridedSliceGrad: zeros around and between what was sliced.

_strided_slice_grad = op(
    "StridedSliceGrad",
    "shape: host, begin: host, end: host, strides: host, dy: T -> output: T",
    traits={FRESH},
    T=FLOATING | COMPLEX,
    **_strided_slice.attrs,
)


_strided_slice_grad.shape(lambda shape, begin, end, strides, dy, **masks: TensorShape(shape))


@_strided_slice_grad.kernel(CPU, GPU)
def _strided_slice_grad_kernel(
    shape: tuple[int, ...],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    strides: tuple[int, ...],
    dy: torch.Tensor,
    **masks: int,
) -> torch.Tensor:
    return put_part(dy.new_zeros(shape), begin, end, strides, dy, **masks)  # type: ignore[no-any-return]


def _add_part(
    whole: torch.Tensor, shape: HostValue, begin: HostValue, end: HostValue, strides: HostValue, dy: Any, **masks: int
) -> None:
    """Adds what was sliced to its place in a sum of gradients."""
    index = _as_index(begin, end, strides, **masks)
    if _is_simple(index):
        whole[tuple(index)].add_(dy)
    else:
        forwards, flipped = _forwards(index, whole)
        whole[forwards].add_(dy.flip(flipped))


_strided_slice_grad_kernel.adds_into = _add_part  # type: ignore[attr-defined]


def put_part(whole: Any, begin: Any, end: Any, strides: Any, part: Any, **masks: int) -> Any:
    """Puts values, in the shape that they have there, instead of a strided slice; changes `whole`."""
    index = _as_index(begin, end, strides, **masks)
    if not isinstance(whole, torch.Tensor) or _is_simple(index):
        whole[tuple(index)] = part
    else:
        forwards, flipped = _forwards(index, whole)
        whole[forwards] = part.flip(flipped)
    return whole


@_strided_slice.gradient
def _strided_slice_gradient(
    grad: Tensor,
    input_shape: SizesOf,
    begin: HostInput,
    end: HostInput,
    strides: HostInput,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Tensor:
    return _strided_slice_grad(
        input_shape,
        begin,
        end,
        strides,
        grad,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


@_strided_slice_grad.gradient
def _strided_slice_grad_gradient(
    grad: Tensor,
    begin: HostInput,
    end: HostInput,
    strides: HostInput,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Tensor:
    return strided_slice(
        grad, begin, end, strides, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    )


@export("strided_slice")
def strided_slice(
    input_: ArrayLike,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns a part of a tensor, as ``input_[begin[0]:end[0]:strides[0], ...]`` does.

    Args:
        input_: A tensor.
        begin: For each entry of the index, the first element.
        end: For each entry, one past the last element.
        strides: For each entry, the step; by default 1.
        begin_mask: Bit i says that entry i starts at the start, whatever `begin` says.
        end_mask: Bit i says that entry i goes to the end, whatever `end` says.
        ellipsis_mask: Bit i says that entry i stands for all dimensions that no other entry is about.
        new_axis_mask: Bit i says that entry i puts in a dimension of size 1.
        shrink_axis_mask: Bit i says that entry i picks one element and drops the dimension.
        var: Not used.
        name: A name for the op.
    """
    if strides is None:
        strides = _ones_like(begin)
    return _strided_slice(
        input_,
        begin,
        end,
        strides,
        begin_mask=as_int(begin_mask, "begin_mask"),
        end_mask=as_int(end_mask, "end_mask"),
        ellipsis_mask=as_int(ellipsis_mask, "ellipsis_mask"),
        new_axis_mask=as_int(new_axis_mask, "new_axis_mask"),
        shrink_axis_mask=as_int(shrink_axis_mask, "shrink_axis_mask"),
        name=name,
    )


def _ones_like(begin: Any) -> list[int] | int | Tensor:
    """A stride of 1 for each begin."""
    begin = read(begin)
    if isinstance(begin, SymbolicTensor):
        return ones_like(begin)
    if not isinstance(begin, (Tensor, list, tuple)):
        begin = host_value(begin)
    return [1] * len(begin) if isinstance(begin, (list, tuple)) or np.ndim(begin) else 1


# Python's indexing.

newaxis = None
export("newaxis")(newaxis)


def getitem(tensor: ArrayLike, key: Any) -> Tensor:
    """Returns ``tensor[key]``.

    Args:
        tensor: A tensor.
        key: An integer, a slice, an ellipsis, None, or a tuple of these; integers may be NumPy's or
            scalar tensors. Or a mask of booleans, which picks the elements where it is true.

    Raises:
        TypeError: the key is something else.
        InvalidArgumentError: the key does not fit the tensor's shape.
    """
    if type(key) is int or _is_plain(key):
        part = _quickly(tensor, key)
        if part is not None:
            return part
    if is_mask(key):
        return boolean_mask(tensor, key)
    begin, end, strides, masks = entries(key)
    return _strided_slice(tensor, begin, end, strides, **masks, name="strided_slice")


_quickly = dispatch.recalled(_strided_slice)


def _is_plain(key: object) -> bool:
    """Whether PyTorch takes an index as it is, and means by it what TensorFlow does."""
    dots = 0
    for entry in key if type(key) is tuple else (key,):
        if type(entry) is builtins.slice:
            start, stop, step = entry.start, entry.stop, entry.step
            if not (
                (start is None or (type(start) is int and -_BEYOND < start < _BEYOND))
                and (stop is None or (type(stop) is int and -_BEYOND < stop < _BEYOND))
                and (step is None or (type(step) is int and 0 < step < _FAR))
            ):
                return False
        elif entry is Ellipsis:
            dots += 1
        elif type(entry) is not int and entry is not None:
            return False
    return dots < 2


def is_mask(key: object) -> bool:
    """Whether an index is a mask of booleans."""
    if isinstance(key, Tensor):
        return key.dtype is bool_
    return isinstance(key, bool) or (isinstance(key, (np.ndarray, np.generic)) and key.dtype == np.bool_)


def entries(key: object) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The begins, ends and strides of an index, and its masks."""
    found: list[tuple[Any, Any, Any]] = []
    masks = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}
    bit = 1
    for entry in key if isinstance(key, (tuple, list)) else (key,):
        if isinstance(entry, builtins.slice):
            start, stop = dimension_value(entry.start), dimension_value(entry.stop)
            masks["begin_mask"] |= bit if start is None else 0
            masks["end_mask"] |= bit if stop is None else 0
            found.append((_end(_bound(start, 0)), _end(_bound(stop, 0)), _bound(dimension_value(entry.step), 1)))
        elif entry is None or entry is Ellipsis:
            masks["new_axis_mask" if entry is None else "ellipsis_mask"] |= bit
            found.append((0, 0, 1))
        else:
            masks["shrink_axis_mask"] |= bit
            place = _bound(entry)
            found.append((place, place + 1 if type(place) is int else place, 1))
        bit <<= 1
    begin, end, strides = zip(*found, strict=True) if found else ((), (), ())
    return begin, end, strides, masks


def _end(place: Any) -> Any:
    """One end of a slice; beyond every dimension, all ends are the same."""
    return place if type(place) is not int or -_BEYOND < place < _BEYOND else _BEYOND if place > 0 else -_BEYOND


def _bound(value: object, default: int | None = None) -> SymbolicTensor | int:
    """An integer of an index; a tensor that has no value yet stays one."""
    if type(value) is int:
        return value
    if value is None and default is not None:
        return default
    value = read(value)
    if isinstance(value, EagerTensor) and value.ndim == 0 and value.dtype in (int16, int32, int64):
        return int(value)
    if isinstance(value, np.integer) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
    ):
        return int(value)
    if isinstance(value, SymbolicTensor) and value.dtype.is_integer and value.shape.rank in (0, None):
        return value
    if not isinstance(value, (bool, Tensor, np.ndarray, np.generic)) and hasattr(value, "__index__"):
        return as_integer(value.__index__(), "An index")
    raise DTypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors are "
        f"valid indices, got {shown(value)}"
    )
