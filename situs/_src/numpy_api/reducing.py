"""Reductions: sums, means, extremes, what accumulates along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, as_dtype, float64, int64, uint64
from situs._src.base.dtype import bool as bool_
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.numpy_api.arrays import at_least, to_float, to_tensor
from situs._src.numpy_api.dtypes import result_type, wanted
from situs._src.numpy_api.elementwise import isnan
from situs._src.numpy_api.refusing import refuse_by_our_errors
from situs._src.numpy_api.shaping import ravel
from situs._src.ops import array as shapes
from situs._src.ops import compare, constant, cumulative, gather, reduce
from situs._src.ops import math as m
from situs._src.ops.cast import cast
from situs._src.ops.contract import tensordot

Function = Callable[..., Any]


def _wide(x: Tensor) -> Tensor:
    """Sums of integers and booleans are kept in 64 bits."""
    if x.dtype.is_bool or x.dtype.is_integer:
        return cast(x, uint64 if x.dtype.is_unsigned else int64)
    return x


def _no_out(out: object) -> None:
    if out is not None:
        raise ArgumentError("Setting out is not supported.")


def _over(axis: Any) -> Any:
    return cast(axis, int64) if isinstance(axis, Tensor) and not axis.dtype.is_integer else axis


def _accumulated(of_numbers: Function, of_booleans: Function, a: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    asked = wanted(dtype)
    x = to_tensor(a, asked)
    function = of_booleans if asked is bool_ else of_numbers
    return function(x if asked is not None else _wide(x), axis=_over(axis), keepdims=bool(keepdims))


@export("experimental.numpy.sum")
def sum(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool | None = None) -> Tensor:
    """The sum along axes, or of all elements; of small integers and booleans an int64."""
    return _accumulated(reduce.reduce_sum, reduce.reduce_any, a, axis, dtype, keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.prod")
def prod(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool | None = None) -> Tensor:
    """The product along axes, or of all elements; of small integers and booleans an int64."""
    return _accumulated(reduce.reduce_prod, reduce.reduce_all, a, axis, dtype, keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.mean")
def mean(
    a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, out: None = None, keepdims: bool | None = None
) -> Tensor:
    """The mean along axes, or of all elements; of integers and booleans a float.

    Raises:
        ValueError: `out` is given.
    """
    _no_out(out)
    asked = wanted(dtype)
    x = to_float(a) if asked is None else to_tensor(a, asked)
    return reduce.reduce_mean(x, axis=_over(axis), keepdims=bool(keepdims))


@export("experimental.numpy.var")
def var(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool | None = None,
) -> Tensor:
    """The variance along axes, or of all elements: the squares are divided by their number less `ddof`.

    Raises:
        ValueError: `out` is given.
    """
    _no_out(out)
    asked = wanted(dtype)
    x = to_float(a) if asked is None else to_float(to_tensor(a, result_type(to_tensor(a), asked)))
    made = reduce.reduce_variance(x, axis=_over(axis), keepdims=bool(keepdims))
    if ddof:
        count = reduce.reduce_sum(constant.ones_like(x, made.dtype), axis=_over(axis), keepdims=bool(keepdims))
        made = m.divide(m.multiply(made, count), m.subtract(count, constant.constant(ddof, made.dtype)))
    return made if asked is None else cast(made, asked)


@export("experimental.numpy.std")
def std(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The standard deviation along axes, or of all elements."""
    return reduce.reduce_std(to_float(a), axis=_over(axis), keepdims=bool(keepdims))


def _extreme(of_numbers: Function, of_booleans: Function, a: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    _no_out(out)
    x = to_tensor(a)
    return (of_booleans if x.dtype.is_bool else of_numbers)(x, axis=_over(axis), keepdims=bool(keepdims))


@export("experimental.numpy.amax")
def amax(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The greatest element along axes, or of all.

    Raises:
        ValueError: `out` is given.
    """
    return _extreme(reduce.reduce_max, reduce.reduce_any, a, axis, out, keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.amin")
def amin(a: ArrayLike, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Tensor:
    """The least element along axes, or of all.

    Raises:
        ValueError: `out` is given.
    """
    return _extreme(reduce.reduce_min, reduce.reduce_all, a, axis, out, keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.max")
def max(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The greatest element along axes, or of all."""
    return amax(a, axis, None, keepdims)


@export("experimental.numpy.min")
def min(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The least element along axes, or of all."""
    return amin(a, axis, None, keepdims)


@export("experimental.numpy.ptp")
def ptp(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """The greatest element less the least one, along axes or of all."""
    return m.subtract(amax(a, axis, None, keepdims), amin(a, axis, None, keepdims))


@export("experimental.numpy.all")
def all(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Whether all elements along axes are true, or not zero."""
    return reduce.reduce_all(to_tensor(a, bool_), axis=_over(axis), keepdims=bool(keepdims))


@export("experimental.numpy.any")
def any(a: ArrayLike, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Whether one element along axes is true, or not zero."""
    return reduce.reduce_any(to_tensor(a, bool_), axis=_over(axis), keepdims=bool(keepdims))


@export("experimental.numpy.count_nonzero")
def count_nonzero(a: ArrayLike, axis: Any = None) -> Tensor:
    """How many elements are not zero, along axes or of all."""
    return reduce.count_nonzero(to_tensor(a), axis=axis)


def _without_nan(function: Function, a: Any, instead: float, **arguments: Any) -> Any:
    x = to_tensor(a)
    if x.dtype.is_floating or x.dtype.is_complex:
        x = gather.where(compare.not_equal(x, x), constant.constant(instead, x.dtype), x)
    return function(x, **arguments)


@export("experimental.numpy.nansum")
def nansum(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the elements that are numbers."""
    return _without_nan(sum, a, 0, axis=axis, dtype=dtype, keepdims=keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.nanprod")
def nanprod(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
    """The product of the elements that are numbers."""
    return _without_nan(prod, a, 1, axis=axis, dtype=dtype, keepdims=keepdims)  # type: ignore[no-any-return]


@export("experimental.numpy.nanmean")
def nanmean(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None, keepdims: bool | None = None) -> Tensor:
    """The mean of the elements that are numbers."""
    x = to_tensor(a)
    if not (x.dtype.is_floating or x.dtype.is_complex):
        return mean(x, axis, dtype, None, keepdims)
    asked = wanted(dtype) or x.dtype
    count = sum(compare.logical_not(isnan(x)), axis=axis, dtype=asked, keepdims=keepdims)
    return m.divide(nansum(x, axis, asked, bool(keepdims)), count)


def _along(function: Function, a: Any, axis: Any, dtype: Any) -> Any:
    asked = wanted(dtype)
    x = to_tensor(a, asked)
    x = _wide_of_integers(x) if asked is None else x
    return function(ravel(x), 0) if axis is None else function(x, axis)


def _wide_of_integers(x: Tensor) -> Tensor:
    if x.dtype.is_bool:
        return cast(x, int64)
    return cast(x, as_dtype(np.promote_types(x.dtype.as_numpy_dtype, np.int64))) if x.dtype.is_integer else x


@export("experimental.numpy.cumsum")
def cumsum(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of the elements up to each, along an axis or of all."""
    return _along(cumulative.cumsum, a, axis, dtype)  # type: ignore[no-any-return]


@export("experimental.numpy.cumprod")
def cumprod(a: ArrayLike, axis: Any = None, dtype: DTypeLike | None = None) -> Tensor:
    """The products of the elements up to each, along an axis or of all."""
    return _along(cumulative.cumprod, a, axis, dtype)  # type: ignore[no-any-return]


def _index_of(function: Function, a: Any, axis: Any) -> Any:
    x = to_tensor(a)
    return function(ravel(x), axis=0) if axis is None else function(at_least(1, x), axis=axis)


@export("experimental.numpy.argmax")
def argmax(a: ArrayLike, axis: int | None = None) -> Tensor:
    """The index of the greatest element along an axis, or among all."""
    return _index_of(reduce.argmax, a, axis)  # type: ignore[no-any-return]


@export("experimental.numpy.argmin")
def argmin(a: ArrayLike, axis: int | None = None) -> Tensor:
    """The index of the least element along an axis, or among all."""
    return _index_of(reduce.argmin, a, axis)  # type: ignore[no-any-return]


@export("experimental.numpy.average")
def average(a: ArrayLike, axis: int | None = None, weights: ArrayLike | None = None, returned: bool = False) -> Any:
    """The mean along an axis or of all elements, which may have weights; with `returned` the sum of these as well.

    Raises:
        ValueError: the axis is no integer, or the shape of the weights does not fit.
    """
    if axis is not None and not isinstance(axis, int):
        raise ArgumentError(f"Argument `axis` must be an integer. Received axis={shown(axis)} (of type {type(axis)})")
    x = to_tensor(a)
    if weights is None:
        x = to_float(x)
        made = reduce.reduce_mean(x, axis=axis)
        total = reduce.reduce_sum(constant.ones_like(x), axis=axis)
        return (made, total) if returned else made
    x, scale = (to_tensor(each, _weighted(x, weights)) for each in (x, weights))
    if scale.shape.rank == x.shape.rank:
        if not scale.shape.is_compatible_with(x.shape):
            raise ArgumentError(f"Weights of shape {scale.shape} do not fit a tensor of shape {x.shape}.")
        total = reduce.reduce_sum(scale, axis=axis)
        made = m.divide(reduce.reduce_sum(m.multiply(x, scale), axis=axis), total)
    elif axis is None or scale.shape.rank not in (None, 1):
        raise ArgumentError(f"Weights of shape {scale.shape} do not fit a tensor of shape {x.shape}.")
    else:
        total = reduce.reduce_sum(scale)
        made = m.divide(tensordot(x, scale, [[axis], [0]]), total)
    return (made, shapes.broadcast_to(total, shapes.shape(made))) if returned else made


def _weighted(x: Tensor, weights: Any) -> DType:
    is_inexact = x.dtype.is_floating or x.dtype.is_complex
    return result_type(x, weights) if is_inexact else result_type(x, weights, float64)


refuse_by_our_errors(globals())
