"""Shapes: reshaped, transposed, joined, split, repeated, reversed and padded tensors."""

from __future__ import annotations

import builtins
import itertools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from situs._src.base.dtype import int32
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.numpy_api.arrays import (
    at_least,
    choose,
    full,
    known,
    promoted,
    rank_of,
    sizes_of,
    to_tensor,
)
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, gather, join, rearrange, scatter
from situs._src.ops import math as m


@export("experimental.numpy.shape")
def shape(a: ArrayLike) -> TensorShape:
    """The shape, as far as it is known."""
    return to_tensor(a).shape


@export("experimental.numpy.ndim")
def ndim(a: ArrayLike) -> int | None:
    """The number of dimensions, if it is known."""
    return to_tensor(a).shape.rank


@export("experimental.numpy.size")
def size(x: ArrayLike, axis: None = None) -> Any:
    """The number of elements: an integer where it is known, a tensor where it is not.

    Raises:
        NotImplementedError: an axis is given.
    """
    if axis is not None:
        raise NotImplementedError("size() counts all elements: it takes no axis.")
    given = to_tensor(x)
    count = given.shape.num_elements()
    return shapes.size(given) if count is None else np.int64(count)


@export("experimental.numpy.reshape")
def reshape(a: ArrayLike, newshape: Any, order: str = "C") -> Tensor:
    """The elements in another shape.

    Args:
        a: A tensor.
        newshape: The shape, of which one size may be -1.
        order: ``C`` for rows first, ``F`` for columns first.

    Raises:
        ValueError: the order is another one.
    """
    if order not in ("C", "F"):
        raise ArgumentError(f"Unsupported order argument {order}")
    x = to_tensor(a)
    sizes = [newshape] if isinstance(newshape, (int, np.integer)) else newshape
    if order == "C":
        return shapes.reshape(x, sizes)
    return shapes.transpose(shapes.reshape(shapes.transpose(x), sizes[::-1]))


@export("experimental.numpy.ravel")
def ravel(a: ArrayLike) -> Tensor:
    """The elements in one dimension."""
    return shapes.reshape(to_tensor(a), [-1])


@export("experimental.numpy.flatten")
def flatten(a: ArrayLike, order: str = "C") -> Tensor:
    """The elements in one dimension, rows first or, with ``F``, columns first.

    Raises:
        ValueError: the order is none of ``C``, ``A``, ``K``, ``F``.
    """
    if order not in ("C", "A", "K", "F"):
        raise ArgumentError("order can only be C, A, K (all row major) or F (column major).")
    x = to_tensor(a)
    return ravel(shapes.transpose(x) if order == "F" else x)


@export("experimental.numpy.expand_dims")
def expand_dims(a: ArrayLike, axis: Any) -> Tensor:
    """A tensor with another dimension, of size 1."""
    return shapes.expand_dims(to_tensor(a), axis)


@export("experimental.numpy.squeeze")
def squeeze(a: ArrayLike, axis: Any = None) -> Tensor:
    """A tensor without its dimensions of size 1, or without some of them."""
    return shapes.squeeze(to_tensor(a), axis)


@export("experimental.numpy.transpose")
def transpose(a: ArrayLike, axes: Any = None) -> Tensor:
    """A tensor whose axes stand in another order: the reverse one by default."""
    return shapes.transpose(to_tensor(a), axes)


def _position(axis: Any, rank: Any) -> Any:
    """An axis counted from the first one."""
    axis = known(axis)
    if isinstance(axis, Tensor):
        return gather.where(compare.less(axis, 0), m.add(axis, rank), axis)
    axis = operator.index(axis)
    return m.add(rank, axis) if axis < 0 and isinstance(rank, Tensor) else axis + rank if axis < 0 else axis


def _exchange(rank: Any, first: Any, second: Any) -> Any:
    """The order of axes in which two have changed places."""
    if all(isinstance(each, int) for each in (rank, first, second)):
        order = [*range(rank)]
        order[first], order[second] = second, first
        return order
    places = [[first], [second]]
    return scatter.tensor_scatter_nd_update(constant.range(rank), places, constant.convert_to_tensor([second, first]))


@export("experimental.numpy.swapaxes")
def swapaxes(a: ArrayLike, axis1: Any, axis2: Any) -> Tensor:
    """A tensor of which two axes have changed places."""
    x = to_tensor(a)
    rank = rank_of(x)
    return shapes.transpose(x, _exchange(rank, _position(axis1, rank), _position(axis2, rank)))


@export("experimental.numpy.moveaxis")
def moveaxis(a: ArrayLike, source: Any, destination: Any) -> Tensor:
    """A tensor of which axes have moved to other positions; the rest keep their order.

    Raises:
        ValueError: there are not as many positions as axes.
    """
    x = to_tensor(a)
    given: list[list[Any]] = [[each] if _is_number(each) else list(each) for each in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise ArgumentError("The lengths of source and destination must equal")
    rank = rank_of(x)
    sources, places = ([_position(axis, rank) for axis in axes] for axes in given)
    if isinstance(rank, int):
        order = [axis for axis in range(rank) if axis not in sources]
        for place, axis in sorted(zip(places, sources, strict=True)):
            order.insert(place, axis)
        return shapes.transpose(x, order)
    moved, to = constant.convert_to_tensor(sources), constant.convert_to_tensor(places)
    rest, free = _others(rank, moved), _others(rank, to)
    found = scatter.scatter_nd(
        shapes.expand_dims(join.concat([free, to], 0), 1), join.concat([rest, moved], 0), shapes.reshape(rank, [1])
    )
    return shapes.transpose(x, found)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) or getattr(value, "shape", None) == ()


def _others(rank: Tensor, axes: Tensor) -> Tensor:
    """The axes that are not among some."""
    every = constant.range(rank)
    from situs._src.ops import reduce

    among = reduce.reduce_any(compare.equal(shapes.expand_dims(every, 1), shapes.expand_dims(axes, 0)), axis=1)
    return gather.boolean_mask(every, compare.logical_not(among))


@export("experimental.numpy.broadcast_to")
def broadcast_to(array: ArrayLike, shape: Any) -> Tensor:
    """A tensor repeated to fill a shape."""
    return full(shape, array)


@export("experimental.numpy.broadcast_arrays")
def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> list[Tensor]:
    """Tensors repeated to fill the shape that they have together.

    Raises:
        ValueError: `subok` is true.
    """
    if subok:
        raise ArgumentError("subok=True is not supported.")
    return broadcast([to_tensor(arg) for arg in args])


def broadcast(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors in the shape that they have together."""
    together: Any = shapes.shape(tensors[0]) if tensors else None
    sizes: list[Any] = [each.shape for each in tensors]
    if all(each.is_fully_defined() for each in sizes):
        together = np.broadcast_shapes(*[tuple(each.as_list()) for each in sizes])
    else:
        for each in tensors[1:]:
            together = shapes.broadcast_dynamic_shape(together, shapes.shape(each))
    return [shapes.broadcast_to(each, together) for each in tensors]


@export("experimental.numpy.meshgrid")
def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, given those along each axis.

    Raises:
        ValueError: the result is to be sparse, or not to be a copy, or the indexing is neither ``xy`` nor ``ij``.
    """
    if sparse or not copy:
        raise ArgumentError("meshgrid() makes whole tensors: neither sparse=True nor copy=False.")
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"indexing is 'xy' or 'ij', got {shown(indexing)}.")
    vectors = [ravel(each) for each in xi]
    order = [*builtins.range(len(vectors))]
    if indexing == "xy":
        order[:2] = order[1::-1]
    places = [[-1 if axis == own else 1 for axis in builtins.range(len(vectors))] for own in order]
    return broadcast([shapes.reshape(each, place) for each, place in zip(vectors, places, strict=True)])


def _each(tensors: list[Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tensors


@export("experimental.numpy.atleast_1d")
def atleast_1d(*arys: ArrayLike) -> Any:
    """Tensors with at least one dimension: one, or a list of several."""
    return _each([at_least(1, to_tensor(each)) for each in arys])


@export("experimental.numpy.atleast_2d")
def atleast_2d(*arys: ArrayLike) -> Any:
    """Tensors with at least two dimensions: one, or a list of several."""
    return _each([at_least(2, to_tensor(each)) for each in arys])


@export("experimental.numpy.atleast_3d")
def atleast_3d(*arys: ArrayLike) -> Any:
    """Tensors with at least three dimensions, a vector's in the middle: one, or a list of several."""
    return _each([_at_least_three(to_tensor(each)) for each in arys])


def _at_least_three(x: Tensor) -> Tensor:
    if x.shape.rank is None:
        rank = shapes.rank(x)

        def of_matrix() -> Any:
            return choose(compare.equal(rank, 2), lambda: shapes.expand_dims(x, -1), lambda: at_least(3, x))

        def of_vector() -> Any:
            return shapes.reshape(x, [1, -1, 1])

        return choose(compare.equal(rank, 1), of_vector, of_matrix)  # type: ignore[no-any-return]
    if x.shape.rank == 1:
        return shapes.reshape(x, [1, -1, 1])
    return shapes.expand_dims(x, -1) if x.shape.rank == 2 else at_least(3, x)


@export("experimental.numpy.concatenate")
def concatenate(arys: Any, axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis; all their elements if it is None.

    Raises:
        ValueError: there is no tensor.
    """
    given = arys if isinstance(arys, (list, tuple)) else list(arys)
    if not given:
        raise ArgumentError(f"Need at least one array to concatenate. Received empty input: arys={shown(arys)}")
    tensors = promoted(*given)
    return join.concat([ravel(each) for each in tensors] if axis is None else tensors, axis or 0)


@export("experimental.numpy.append")
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """A tensor and, after it, another; all their elements if there is no axis."""
    return concatenate([arr, values], axis)


@export("experimental.numpy.stack")
def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Tensors one after the other along a new axis."""
    if isinstance(arrays, Tensor):
        return arrays if axis == 0 else swapaxes(arrays, 0, axis)
    return join.stack(promoted(*arrays), axis)


@export("experimental.numpy.hstack")
def hstack(tup: Iterable[Any]) -> Tensor:
    """Tensors side by side: along the second axis, vectors along the first."""
    tensors = promoted(*[atleast_1d(each) for each in tup])
    rank = rank_of(tensors[0])
    is_vector = rank == 1 if isinstance(rank, int) else compare.equal(rank, 1)
    return choose(is_vector, lambda: join.concat(tensors, 0), lambda: join.concat(tensors, 1))  # type: ignore[no-any-return]


@export("experimental.numpy.vstack")
def vstack(tup: Iterable[Any]) -> Tensor:
    """Tensors below each other: along the first axis, vectors as rows."""
    return join.concat(promoted(*[atleast_2d(each) for each in tup]), 0)


@export("experimental.numpy.dstack")
def dstack(tup: Iterable[Any]) -> Tensor:
    """Tensors behind each other: along the third axis."""
    return join.concat(promoted(*[atleast_3d(each) for each in tup]), 2)


@export("experimental.numpy.split")
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """The parts of a tensor.

    Args:
        ary: A tensor.
        indices_or_sections: How many parts of one size, or where parts begin.
        axis: The axis that is cut.

    Raises:
        ValueError: there are no parts of one size, or each part does not begin after the one before.
    """
    x = to_tensor(ary)
    place = _position(axis, rank_of(x))
    if isinstance(indices_or_sections, (int, np.integer)):
        total = x.shape[place] if x.shape.rank is not None else None
        if total is not None and indices_or_sections > 0 and total % indices_or_sections:
            raise ArgumentError("array split does not result in an equal division")
        return join.split(x, indices_or_sections, axis=place)
    if x.shape.rank is None or place >= x.shape.rank:
        raise ArgumentError(f"axis {axis} is out of bound for shape {x.shape}")
    bounds = [0, *[operator.index(known(each)) for each in known(indices_or_sections)]]
    if bounds != sorted(bounds):
        raise ArgumentError(f"Each part begins where the one before does, or later: {shown(bounds[1:])}")
    total = x.shape[place]
    if total is None:
        parts: list[Any] = [slice(low, high) for low, high in zip(bounds, [*bounds[1:], None], strict=True)]
        return [x[(*[slice(None)] * place, part)] for part in parts]
    bounds = [builtins.min(each, total) for each in [*bounds, total]]
    return join.split(x, [high - low for low, high in itertools.pairwise(bounds)], axis=place)


@export("experimental.numpy.vsplit")
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tensor]:
    """The parts of a tensor along its first axis."""
    return split(ary, indices_or_sections, 0)


@export("experimental.numpy.hsplit")
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tensor]:
    """The parts of a tensor along its second axis, of a vector along its only one."""
    x = to_tensor(ary)
    return split(x, indices_or_sections, 0 if x.shape.rank == 1 else 1)


@export("experimental.numpy.dsplit")
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tensor]:
    """The parts of a tensor along its third axis."""
    return split(ary, indices_or_sections, 2)


@export("experimental.numpy.tile")
def tile(a: ArrayLike, reps: Any) -> Tensor:
    """A tensor repeated along each axis; missing axes and numbers of repetitions are 1."""
    x = to_tensor(a)
    counts = constant.convert_to_tensor(reps) if not isinstance(reps, Tensor) else reps
    counts = ravel(counts)
    rank, given = rank_of(x), counts.shape[0]
    if isinstance(rank, int) and given is not None:
        ones = constant.ones([builtins.max(rank - given, 0)], counts.dtype)
        return join.tile(at_least(given, x), join.concat([ones, counts], 0))
    missing = m.maximum(m.subtract(rank, shapes.size(counts)), 0)
    counts = join.concat([constant.fill(shapes.reshape(missing, [1]), constant.constant(1, counts.dtype)), counts], 0)
    further = m.maximum(m.subtract(shapes.size(counts), rank), 0)
    ones = constant.fill(shapes.reshape(further, [1]), constant.constant(1, int32))
    return join.tile(shapes.reshape(x, join.concat([ones, shapes.shape(x)], 0)), counts)


@export("experimental.numpy.repeat")
def repeat(a: ArrayLike, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element, or each part along an axis, as often as is said."""
    x = to_tensor(a)
    if axis is None and x.shape.rank != 1:
        x = ravel(x)
    return join.repeat(x, to_tensor(repeats, None if isinstance(repeats, Tensor) else int32), axis or 0)


@export("experimental.numpy.roll")
def roll(a: ArrayLike, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved along an axis; those that leave it at the end come back at the beginning."""
    x = to_tensor(a)
    if axis is None:
        return shapes.reshape(rearrange.roll(ravel(x), shift, 0), sizes_of(x))
    return rearrange.roll(x, shift, axis)


@export("experimental.numpy.flip")
def flip(m: ArrayLike, axis: Any = None) -> Tensor:
    """The elements in reverse order along an axis, some axes, or all."""
    x = to_tensor(m)
    rank = rank_of(x)
    if axis is None:
        return rearrange.reverse(x, constant.range(rank))
    axes = axis if isinstance(axis, (list, tuple)) else [axis]
    return rearrange.reverse(x, constant.convert_to_tensor([_position(each, rank) for each in axes]))


@export("experimental.numpy.flipud")
def flipud(m: ArrayLike) -> Tensor:
    """The rows in reverse order."""
    return flip(m, 0)


@export("experimental.numpy.fliplr")
def fliplr(m: ArrayLike) -> Tensor:
    """The columns in reverse order."""
    return flip(m, 1)


@export("experimental.numpy.rot90")
def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """A tensor turned by a number of right angles in the plane of two axes."""
    x = to_tensor(m)
    rank = rank_of(x)
    first, second = (_position(axis, rank) for axis in axes)
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@export("experimental.numpy.pad")
def pad(array: ArrayLike, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Tensor:
    """A tensor with further elements around it.

    Args:
        array: A tensor.
        pad_width: How many before and after each axis: pairs, one pair for all, or one number.
        mode: ``constant``, ``reflect`` or ``symmetric``.
        **kwargs: ``constant_values``: the value of them.

    Raises:
        ValueError: the mode is another one.
    """
    if mode not in ("constant", "reflect", "symmetric"):
        raise ArgumentError(f"Unsupported padding mode: {mode}")
    x = to_tensor(array)
    widths = to_tensor(pad_width, int32)
    if widths.shape.rank is not None and x.shape.rank is not None and widths.shape != (x.shape.rank, 2):
        widths = shapes.broadcast_to(widths, [x.shape.rank, 2])
    return join.pad(x, widths, mode.upper(), kwargs.get("constant_values", 0))


@export("experimental.numpy.ix_")
def ix_(*args: ArrayLike) -> list[Tensor]:
    """Vectors of indices, each along an axis of its own, that pick all combinations.

    Raises:
        ValueError: one is no vector, or holds neither integers nor booleans.
    """
    made = []
    for number, arg in enumerate(args):
        x = to_tensor(arg)
        if x.shape.rank not in (None, 1):
            raise ArgumentError(f"Arguments must be 1-d, got arg {number} of rank {x.shape.rank}")
        if not (x.dtype.is_bool or x.dtype.is_integer):
            raise ArgumentError(f"Only integer and bool dtypes are supported, got {x.dtype!r}")
        picked = shapes.reshape(gather.where(x), [-1]) if x.dtype.is_bool else x
        made.append(shapes.reshape(picked, [-1 if axis == number else 1 for axis in range(len(args))]))
    return made


@export("experimental.numpy.vander")
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """The powers of the elements of a vector, as columns.

    Raises:
        ValueError: it is no vector, or the number of columns is negative.
    """
    base = to_tensor(x)
    if base.shape.rank not in (None, 1):
        raise ArgumentError("x must be a one-dimensional array")
    count: Any = shapes.shape(base)[0] if N is None and base.shape[0] is None else base.shape[0] if N is None else N
    if isinstance(count, int) and count < 0:
        raise ArgumentError("N must be nonnegative")
    powers = constant.range(count)
    powers = powers if increasing else rearrange.reverse(powers, [0])
    return m.pow(shapes.expand_dims(base, -1), to_tensor(powers, base.dtype))


refuse_by_our_errors(globals())
