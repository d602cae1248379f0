"""Tensors of values, by NumPy's rules for dtypes, and tensors of a shape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, float64, int32
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.numpy_api.dtypes import default_float, natural, result_type, wanted
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.ops import array as shapes
from situs._src.ops import constant as constants
from situs._src.ops import control, diagonal, join, static_value
from situs._src.ops.cast import cast

Function = Callable[..., Any]
MOST_DIMENSIONS = 32


def to_tensor(value: Any, dtype: DType | None = None) -> Tensor:
    """A value as a tensor, of the dtype that NumPy gives it or of another."""
    if isinstance(value, Tensor):
        return value if dtype is None or dtype is value.dtype else cast(value, dtype)
    dtype = natural(value) if dtype is None else dtype
    if isinstance(value, (list, tuple)) and _has_tensor(value):
        return join.stack([to_tensor(item, dtype) for item in value])
    return cast(constants.convert_to_tensor(value, dtype_hint=dtype), dtype)


def _has_tensor(value: Any) -> bool:
    return any(map(_has_tensor, value)) if isinstance(value, (list, tuple)) else is_tensor(value)


def promoted(*values: Any) -> list[Tensor]:
    """Values as tensors of the dtype that they have together."""
    first = values[0].dtype if isinstance(values[0], Tensor) else None
    if all(isinstance(value, Tensor) and value.dtype is first for value in values):
        return [*values]
    dtype = result_type(*values)
    return [to_tensor(value, dtype) for value in values]


def to_float(value: Any) -> Tensor:
    """A tensor of floating-point or complex numbers: integers and booleans become floats."""
    x = to_tensor(value)
    return x if x.dtype.is_floating or x.dtype.is_complex else cast(x, float64)


def known(value: Any) -> Any:
    """A value that decides about shapes: a number, or an array, where it is known without running anything."""
    found = static_value.get_static_value(value) if isinstance(value, Tensor) else value
    return value if found is None else found


def choose(condition: Any, yes: Function, no: Function) -> Any:
    """The result of one of two functions, decided at once where the condition is known."""
    found = known(condition)
    if isinstance(found, Tensor):
        return control.cond(found, yes, no)
    return yes() if found else no()


def rank_of(x: Tensor) -> Any:
    """The rank: a number where it is known."""
    return shapes.rank(x) if x.shape.rank is None else x.shape.rank


def sizes_of(x: Tensor) -> Any:
    """The shape: a list of numbers where it is known."""
    return x.shape.as_list() if x.shape.is_fully_defined() else shapes.shape(x)


@export("experimental.numpy.array")
def array(val: Any, dtype: DTypeLike | None = None, copy: bool = True, ndmin: int = 0) -> Tensor:
    """A tensor of a value. Python's integers are int64 in it and its floats float64.

    Args:
        val: A tensor, an array, a number, or nested lists of these.
        dtype: The dtype; by default the value's by NumPy's rules.
        copy: Whether a tensor is returned as another one.
        ndmin: How many dimensions it has at least; further ones of size 1 come first.

    Example:
        >>> import situs as tf
        >>> tf.experimental.numpy.array([1, 2.5])
        <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1. , 2.5])>
    """
    made = to_tensor(val, wanted(dtype))
    if copy and made is val:
        made = shapes.identity(made)
    if ndmin > MOST_DIMENSIONS:
        raise ArgumentError(f"ndmin bigger than allowable number of dimensions: {MOST_DIMENSIONS}.")
    return at_least(ndmin, made) if ndmin else made


def at_least(count: int, x: Tensor) -> Tensor:
    """A tensor with dimensions of size 1 before the others, so that it has `count` of them."""
    rank = rank_of(x)
    if isinstance(rank, int):
        return shapes.reshape(x, [1] * (count - rank) + _sizes_with_one_unknown(x)) if rank < count else x
    return shapes.reshape(x, _padded_on_the_left(count, shapes.shape(x), rank))


def _sizes_with_one_unknown(x: Tensor) -> Any:
    sizes = x.shape.as_list()
    if sizes.count(None) > 1:
        dynamic = shapes.shape(x)
        return [dynamic[axis] if size is None else size for axis, size in enumerate(sizes)]
    return [-1 if size is None else size for size in sizes]


def _padded_on_the_left(count: int, shape: Tensor, rank: Any) -> Tensor:
    missing = constants.fill(shapes.reshape(_not_negative(count - rank), [1]), constants.constant(1, int32))
    return join.concat([missing, shape], 0)


def _not_negative(x: Any) -> Any:
    from situs._src.ops import math

    return math.maximum(x, 0)


@export("experimental.numpy.asarray")
def asarray(a: Any, dtype: DTypeLike | None = None) -> Tensor:
    """A value as a tensor; a tensor of the dtype is returned as it is."""
    return to_tensor(a, wanted(dtype))


@export("experimental.numpy.asanyarray")
def asanyarray(a: Any, dtype: DTypeLike | None = None) -> Tensor:
    """The same as `asarray`."""
    return asarray(a, dtype)


@export("experimental.numpy.ascontiguousarray")
def ascontiguousarray(a: Any, dtype: DTypeLike | None = None) -> Tensor:
    """A value as a tensor of at least one dimension."""
    return array(a, dtype, ndmin=1)


@export("experimental.numpy.copy")
def copy(a: Any) -> Tensor:
    """Another tensor of the same values."""
    return array(a, copy=True)


@export("experimental.numpy.zeros")
def zeros(shape: ShapeLike, dtype: DTypeLike | None = float) -> Tensor:
    """Zeros, of float64 by default."""
    return constants.zeros(shape, wanted(dtype) or default_float())


@export("experimental.numpy.ones")
def ones(shape: ShapeLike, dtype: DTypeLike | None = float) -> Tensor:
    """Ones, of float64 by default."""
    return constants.ones(shape, wanted(dtype) or default_float())


@export("experimental.numpy.empty")
def empty(shape: ShapeLike, dtype: DTypeLike | None = float) -> Tensor:
    """Zeros: tensors are not made without values."""
    return zeros(shape, dtype)


@export("experimental.numpy.zeros_like")
def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and the dtype of a value."""
    return constants.zeros_like(to_tensor(a), natural(a, dtype))


@export("experimental.numpy.ones_like")
def ones_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and the dtype of a value."""
    return constants.ones_like(to_tensor(a), natural(a, dtype))


@export("experimental.numpy.empty_like")
def empty_like(a: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and the dtype of a value."""
    return zeros_like(a, dtype)


@export("experimental.numpy.full")
def full(shape: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """A value, or a tensor that is broadcast, in a shape."""
    sizes = [shape] if isinstance(shape, int) or getattr(shape, "shape", None) == () else shape
    return shapes.broadcast_to(asarray(fill_value, dtype), sizes)


@export("experimental.numpy.full_like")
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
) -> Tensor:
    """A value in the shape and the dtype of another.

    Raises:
        ValueError: `order`, `subok` or `shape` is not the default.
    """
    if order != "K" or not subok or shape:
        raise ArgumentError("full_like() takes no other order, subok or shape than the defaults.")
    x = to_tensor(a)
    return shapes.broadcast_to(to_tensor(fill_value, wanted(dtype) or x.dtype), sizes_of(x))


@export("experimental.numpy.eye")
def eye(
    N: Any,  # noqa: N803
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: DTypeLike | None = float,
) -> Tensor:
    """A matrix of `N` rows and `M` columns with ones on a diagonal: that in the middle, or `k` to the right of it."""
    rows, columns, k = int(N), int(M or N), int(k)
    found = wanted(dtype) or default_float()
    if k == 0:
        return diagonal.eye(rows, columns, dtype=found)
    if k >= columns or -k >= rows:
        return constants.zeros([rows, columns], found)
    length = min(rows, columns - k) if k > 0 else min(rows + k, columns)
    return diagonal.diag(constants.ones([length], found), k=k, num_rows=rows, num_cols=columns)


@export("experimental.numpy.identity")
def identity(n: Any, dtype: DTypeLike | None = float) -> Tensor:
    """The identity matrix of `n` rows."""
    return eye(n, n, dtype=dtype)


@export("experimental.numpy.tri")
def tri(
    N: int,  # noqa: N803
    M: int | None = None,  # noqa: N803
    k: int = 0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """A matrix with ones on and below a diagonal."""
    columns = N if M is None else M
    return constants.constant(np.tri(N, columns, k), wanted(dtype) or float64)


@export("experimental.numpy.arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike | None = None) -> Tensor:
    """Numbers from `start`, in steps, before `stop`; from zero if there is no `stop`.

    Raises:
        ValueError: the step is zero.

    Example:
        >>> import situs as tf
        >>> tf.experimental.numpy.arange(3)
        <tf.Tensor: shape=(3,), dtype=int64, numpy=array([0, 1, 2])>
    """
    if not isinstance(step, Tensor) and not step:
        raise ArgumentError("step must be non-zero.")
    given = [start, step] if stop is None else [start, step, stop]
    found = wanted(dtype) or result_type(*given)
    of = result_type(*given)
    low, high = (0, start) if stop is None else (start, stop)
    numbers = [to_tensor(each, of) if isinstance(each, Tensor) else each for each in (low, high, step)]
    if not any(isinstance(each, Tensor) for each in numbers):
        low, high, step = numbers
        if (high - low) * (1 if step > 0 else -1) <= 0:
            return constants.zeros([0], found)
    low, high, step = numbers
    return cast(constants.range(low, high, step, dtype=of), found)


@export("experimental.numpy.diag_indices")
def diag_indices(n: Any, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor of `ndim` dimensions of size `n`.

    Raises:
        ValueError: one of them is negative.
    """
    if operator.index(ndim) < 0 or (isinstance(n, int) and n < 0):
        raise ArgumentError(f"diag_indices() takes numbers that are not negative, got {n} and {ndim}.")
    return (constants.range(n),) * ndim


refuse_by_our_errors(globals())
