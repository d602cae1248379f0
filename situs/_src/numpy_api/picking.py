"""Elements that are picked: by indices, by conditions, by diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.dtype import bool as bool_
from situs._src.base.dtype import int32, int64
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.numpy_api.arrays import at_least, choose, known, promoted, rank_of, to_tensor
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.numpy_api.shaping import _position, moveaxis, ravel, swapaxes
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, diagonal, gather, join, search
from situs._src.ops import math as m
from situs._src.ops.cast import cast


@export("experimental.numpy.where")
def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Any:
    """The elements of `x` where the condition is true, those of `y` elsewhere; with neither, where it is true.

    Raises:
        ValueError: only one of them is given.
    """
    if (x is None) is not (y is None):
        raise ArgumentError("Both x and y must be ndarrays, or both must be None.")
    if x is None:
        return nonzero(condition)
    yes, no = promoted(x, y)
    return gather.where(to_tensor(condition, bool_), yes, no)


@export("experimental.numpy.nonzero")
def nonzero(a: ArrayLike) -> list[Tensor]:
    """The indices of the elements that are not zero: a vector for each axis.

    Raises:
        ValueError: the number of axes is not known.
    """
    x = to_tensor(a, bool_)
    if x.shape.rank is None:
        raise ArgumentError("The rank of `a` is unknown, so we can't decide how many arrays to return.")
    x = at_least(1, x)
    return join.unstack(gather.where(x), x.shape.rank, axis=1)


@export("experimental.numpy.select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """The elements of the first of `choicelist` whose condition is true; `default` where none is.

    Raises:
        TypeError: one of them is not a list.
        ValueError: there are more conditions than choices, or fewer.

    Example:
        >>> import situs as tf
        >>> x = tf.constant([1, 2, 3])
        >>> tf.experimental.numpy.select([x < 2, x > 2], [x * 10, x * 100]).numpy().tolist()
        [10, 0, 300]
    """
    for given, what in ((condlist, "condlist"), (choicelist, "choicelist")):
        if not isinstance(given, (list, tuple)):
            raise DTypeError(f"{what} is a list of tensors, got {shown(given)}.")
    if len(condlist) != len(choicelist):
        raise ArgumentError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ArgumentError("condlist must not be empty.")
    made, *choices = promoted(default, *choicelist)
    for condition, choice in zip(reversed(list(condlist)), reversed(choices), strict=True):
        made = gather.where(to_tensor(condition, bool_), choice, made)
    return made


@export("experimental.numpy.take")
def take(a: ArrayLike, indices: Any, axis: int | None = None, out: None = None, mode: str = "clip") -> Tensor:
    """The parts at some indices along an axis, or the elements of all axes in one.

    Args:
        a: A tensor.
        indices: The indices.
        axis: The axis.
        out: Not supported.
        mode: What indices outside mean: the last or first one (``clip``), or one counted from the other end (``wrap``).

    Raises:
        ValueError: `out` is given, or the mode is another one.
    """
    if out is not None:
        raise ArgumentError("out argument is not supported in take.")
    if mode not in ("clip", "wrap"):
        raise ArgumentError(f"take() knows the modes 'clip' and 'wrap', got {shown(mode)}.")
    x, places = to_tensor(a), _as_indices(indices)
    if axis is None:
        x, axis = ravel(x), 0
    count = shapes.shape(x, out_type=places.dtype)[axis]
    if mode == "wrap":
        places = m.floormod(places, count)
    else:
        places = m.minimum(m.maximum(places, constant.zeros_like(count)), m.subtract(count, constant.ones_like(count)))
    return gather.gather(x, places, axis=axis)


def _as_indices(indices: Any) -> Tensor:
    x = to_tensor(indices)
    return x if x.dtype in (int32, int64) else cast(x, int64)


@export("experimental.numpy.take_along_axis")
def take_along_axis(arr: ArrayLike, indices: Any, axis: int | None) -> Tensor:
    """For each row along an axis, the elements at the indices in the same row of `indices`."""
    from situs._src.numpy_api.shaping import broadcast

    x, places = to_tensor(arr), _as_indices(indices)
    if axis is None:
        x, axis = ravel(x), 0
    rank = x.shape.rank
    if rank is None:
        raise ArgumentError("take_along_axis() takes tensors whose number of axes is known.")
    place = _position(axis, rank)
    x, places = swapaxes(x, place, -1), swapaxes(places, place, -1)
    count = shapes.shape(x, out_type=places.dtype)[-1]
    places = gather.where(compare.less(places, constant.zeros_like(places)), m.add(places, count), places)
    if rank > 1:
        around, _ = broadcast([x[..., 0], places[..., 0]])
        batch = shapes.shape(around)
        x = shapes.broadcast_to(x, join.concat([batch, shapes.shape(x)[-1:]], 0))
        places = shapes.broadcast_to(places, join.concat([batch, shapes.shape(places)[-1:]], 0))
    return swapaxes(gather.gather(x, places, axis=rank - 1, batch_dims=rank - 1), place, -1)


@export("experimental.numpy.compress")
def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None) -> Tensor:
    """The parts along an axis for which a condition is true; those without a condition are left out.

    Raises:
        ValueError: the condition is no vector.
    """
    chosen, x = to_tensor(condition, bool_), to_tensor(a)
    if chosen.shape.rank != 1:
        raise ArgumentError("condition must be a 1-d array.")
    if axis is None or x.shape.rank == 0:
        x, axis = ravel(x), 0
    return gather.gather(x, shapes.reshape(gather.where(chosen), [-1]), axis=axis)


@export("experimental.numpy.diag")
def diag(v: ArrayLike, k: int = 0) -> Tensor:
    """The matrix with a vector on a diagonal, or the diagonal of a matrix.

    Raises:
        ValueError: it is neither a vector nor a matrix.
    """
    x = to_tensor(v)
    if x.shape.rank not in (None, 1, 2):
        raise ArgumentError(f"Input must be 1-d or 2-d, got a tensor of shape {x.shape}.")
    rank = rank_of(x)
    is_vector = rank == 1 if isinstance(rank, int) else compare.equal(rank, 1)
    return choose(is_vector, lambda: _matrix(x, k), lambda: _diagonal(x, k))  # type: ignore[no-any-return]


def _matrix(x: Tensor, k: int) -> Tensor:
    if x.shape.num_elements() == 0:
        return constant.zeros([abs(k), abs(k)], x.dtype)
    return diagonal.diag(x, k=k)


def _diagonal(x: Tensor, k: int) -> Tensor:
    rows, columns = (known(shapes.shape(x)[axis]) for axis in (-2, -1))

    def none() -> Tensor:
        return x[..., 0, :0]

    if isinstance(rows, Tensor) or isinstance(columns, Tensor):
        outside = compare.logical_or(compare.less_equal(k, m.negative(rows)), compare.greater_equal(k, columns))
        return choose(outside, none, lambda: diagonal.diag_part(x, k=k))  # type: ignore[no-any-return]
    if k <= -rows or k >= columns:
        return constant.zeros([*x.shape[:-2], 0], x.dtype)
    return diagonal.diag_part(x, k=k)


@export("experimental.numpy.diagonal")
def diagonal_(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals of the matrices that two axes span, along the last axis."""
    return _diagonal(moveaxis(a, (axis1, axis2), (-2, -1)), offset)


@export("experimental.numpy.diagflat")
def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """The matrix with all elements of a tensor on a diagonal."""
    return _matrix(ravel(v), k)


@export("experimental.numpy.tril")
def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """Matrices with zeros above a diagonal.

    Raises:
        ValueError: it has fewer than two dimensions.
    """
    return _triangle(m, k, True)


@export("experimental.numpy.triu")
def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """Matrices with zeros below a diagonal.

    Raises:
        ValueError: it has fewer than two dimensions.
    """
    return _triangle(m, k - 1, False)


def _triangle(value: ArrayLike, k: int, lower: bool) -> Tensor:
    x = to_tensor(value)
    if x.shape.rank is not None and x.shape.rank < 2:
        raise ArgumentError(f"A triangle is that of matrices, got a tensor of shape {x.shape}.")
    sizes = shapes.shape(x)
    rows, columns = constant.range(sizes[-2]), constant.range(sizes[-1])
    below = compare.less_equal(columns, m.add(shapes.expand_dims(rows, 1), k))
    zero = constant.zeros([], x.dtype)
    return gather.where(below, x, zero) if lower else gather.where(below, zero, x)


@export("experimental.numpy.sort")
def sort(a: ArrayLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """The elements in order along an axis, or all of them.

    Raises:
        ValueError: `kind` is neither ``quicksort`` nor ``stable``, or `order` is given.
    """
    _check_sort(kind, order)
    x = to_tensor(a)
    return search.sort(ravel(x), axis=0) if axis is None else search.sort(x, axis=axis)


@export("experimental.numpy.argsort")
def argsort(a: ArrayLike, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
    """The indices of the elements in order, along an axis or of all.

    Raises:
        TypeError: the numbers are complex.
        ValueError: `kind` is neither ``quicksort`` nor ``stable``, or `order` is given.
    """
    _check_sort(kind, order)
    x = to_tensor(a)
    if x.dtype.is_complex:
        raise DTypeError(f"argsort does not support complex64/complex128 dtypes. Received dtype: {x.dtype!r}")
    if axis is None or x.shape.rank == 0:
        x, axis = ravel(x), 0
    return cast(search.argsort(x, axis=axis, stable=True), int64)


def _check_sort(kind: str, order: object) -> None:
    if kind not in ("quicksort", "stable"):
        raise ArgumentError(f"Only kind='quicksort' and kind='stable' are supported. Received: kind={kind}")
    if order is not None:
        raise ArgumentError("The `order` argument is not supported. Pass order=None")


@export("experimental.numpy.diff")
def diff(a: ArrayLike, n: int = 1, axis: int = -1) -> Tensor:
    """The differences of neighbours along an axis, `n` times.

    Raises:
        ValueError: there is no axis, or `n` is negative.
    """
    x = to_tensor(a)
    if x.shape.rank == 0 or n < 0:
        raise ArgumentError(f"diff() takes at least one axis and n of at least 0, got shape {x.shape} and n {n}.")
    for _ in range(n):
        size = shapes.shape(x)[axis]
        later = gather.gather(x, constant.range(1, m.maximum(size, 1)), axis=axis)
        earlier = gather.gather(x, constant.range(0, m.maximum(m.subtract(size, 1), 0)), axis=axis)
        x = compare.not_equal(later, earlier) if x.dtype.is_bool else m.subtract(later, earlier)
    return x


refuse_by_our_errors(globals())
