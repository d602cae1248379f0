"""NumPy's indexing: besides numbers and slices, tensors and lists of integers, and booleans along an axis.

x[1, :, [0, 2], [[0], [1]]]
  1 and :        one strided slice, in which the axes of the others are whole
  the others     broadcast with each other; one gather picks by all of them. Where they follow each other, their
                 dimensions take the place of their axes; else they come first
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from situs._src.base.dtype import bool as bool_
from situs._src.base.dtype import int64
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.numpy_api.arrays import promoted, to_tensor
from situs._src.numpy_api.shaping import broadcast, moveaxis
from situs._src.ops import array as shapes
from situs._src.ops import compare, gather, indexing, join
from situs._src.ops import math as m
from situs._src.ops.cast import cast


def getitem(tensor: Any, key: Any) -> Tensor:
    """Returns ``tensor[key]`` by NumPy's rules.

    Raises:
        IndexError: there are more indices than axes, or one is neither an integer nor a boolean.
    """
    entries = key if isinstance(key, tuple) else (key,)
    if not any(map(_is_advanced, entries)) or indexing.is_mask(key):
        return indexing.getitem(tensor, key)
    x = to_tensor(tensor)
    if x.shape.rank is None:
        raise ArgumentError("Indexing by tensors or lists takes a tensor whose number of axes is known.")
    basic: list[Any] = []
    picks: dict[int, Tensor] = {}  # by the axis of what the slice leaves
    axis = 0
    for entry in _without_dots(entries, x.shape.rank):
        if _is_advanced(entry):
            for pick in _picks(entry):
                picks[axis] = pick
                basic.append(slice(None))
                axis += 1
        else:
            basic.append(entry)
            axis += 0 if _is_number(entry) else 1
    if not all(isinstance(entry, slice) and entry == slice(None) for entry in basic):
        x = indexing.getitem(x, tuple(basic))
    return _picked(x, picks)


def _is_number(entry: Any) -> bool:
    if isinstance(entry, (list, tuple, slice)) or entry is None or entry is Ellipsis:
        return False
    return (not is_tensor(entry) and np.ndim(entry) == 0) or (is_tensor(entry) and entry.shape.rank == 0)


def _is_advanced(entry: Any) -> bool:
    if entry is None or entry is Ellipsis or isinstance(entry, slice):
        return False
    return isinstance(entry, (list, tuple)) or not _is_number(entry)


def _axes(entry: Any) -> int:
    """How many axes of the tensor an entry is for."""
    if entry is None:
        return 0
    return len(_picks(entry)) if _is_advanced(entry) else 1


def _without_dots(entries: tuple[Any, ...], rank: int) -> list[Any]:
    """The entries with whole axes in place of an ellipsis, or behind them where there is none."""
    count = builtins.sum(_axes(entry) for entry in entries if entry is not Ellipsis)
    if count > rank:
        raise IndexError(f"too many indices: the tensor has {rank} axes, and {count} were indexed")
    found: list[Any] = []
    for entry in entries if any(entry is Ellipsis for entry in entries) else (*entries, Ellipsis):
        found += [slice(None)] * (rank - count) if entry is Ellipsis else [entry]
    return found


def _picks(entry: Any) -> list[Tensor]:
    """The indices along each axis that an entry is for: several for a mask of several axes."""
    made = to_tensor(entry)
    if made.dtype is bool_:
        rank = made.shape.rank
        if rank is None:
            raise ArgumentError("A mask takes a known number of axes.")
        return join.unstack(gather.where(made), rank, axis=1)
    if not made.dtype.is_integer:
        if made.shape.num_elements() == 0:
            return [cast(made, int64)]
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            f"valid indices, got {shown(entry)}"
        )
    return [made]


def _picked(x: Tensor, picks: dict[int, Tensor]) -> Tensor:
    axes = sorted(picks)
    sizes = shapes.shape(x, out_type=int64)
    places = []
    for axis in axes:
        given = cast(picks[axis], int64)
        size = sizes[axis]
        places.append(gather.where(compare.less(given, m.subtract(size, size)), m.add(given, size), given))
    if len(axes) == 1:
        return gather.gather(x, places[0], axis=axes[0])
    together = broadcast(promoted(*places))
    first = moveaxis(x, axes, [*range(len(axes))])
    made = gather.gather_nd(first, join.stack(together, -1))
    rank = together[0].shape.rank
    if axes == [*range(axes[0], axes[0] + len(axes))] and axes[0] and rank is not None:
        made = moveaxis(made, [*range(rank)], [*range(axes[0], axes[0] + rank)])
    return made
