"""Means and variances by weights, and from sums: what `ops.nn.normalize.moments` does not cover."""

from __future__ import annotations

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, AxisLike
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.gather import gather
from situs._src.ops.math import add, divide_no_nan, multiply, reciprocal, square, squared_difference, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_prod, reduce_sum
from situs._src.ops.spelling import renamed


@export("nn.weighted_moments", v1=())
def weighted_moments(
    x: ArrayLike, axes: AxisLike, frequency_weights: ArrayLike, keepdims: bool | None = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Computes the mean and the variance along some axes of elements that count as often as their weights say.

    Args:
        x: A tensor; for float16 the arithmetic is float32's.
        axes: The axes to reduce.
        frequency_weights: How often each element counts; broadcasts to `x`. Where all are zero, so are both results.
        keepdims: Whether the reduced dimensions stay, with size 1.
        name: A name for the ops.
    """
    keep = as_bool(keepdims, "keepdims")
    with Composed(name, "weighted_moments"):
        given = convert_to_tensor(x)
        wide = cast(given, dt.float32) if given.dtype is dt.float16 else given
        weights = cast(frequency_weights, wide.dtype)
        total = reduce_sum(add(weights, zeros_like(wide)), axes, True)
        mean = divide_no_nan(reduce_sum(multiply(weights, wide), axes, True), total)
        variance = divide_no_nan(reduce_sum(multiply(weights, squared_difference(wide, mean)), axes, True), total)
        if not keep:
            mean, variance = reduce_sum(mean, axes), reduce_sum(variance, axes)  # over dimensions of size 1
        return cast(mean, given.dtype), cast(variance, given.dtype)


@export(v1="nn.weighted_moments")
def weighted_moments_v1(
    x: ArrayLike,
    axes: AxisLike,
    frequency_weights: ArrayLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes the weighted mean and variance along some axes, with TensorFlow 1's arguments."""
    return weighted_moments(x, axes, frequency_weights, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)


@export("nn.sufficient_statistics", v1=())
def sufficient_statistics(
    x: ArrayLike, axes: AxisLike, shift: ArrayLike | None = None, keepdims: bool | None = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The count, the sum and the sum of squares along some axes, from which `normalize_moments` makes moments.

    Args:
        x: A tensor.
        axes: The axes to sum over.
        shift: What to subtract from the elements first, close to their mean; None for nothing.
        keepdims: Whether the reduced dimensions stay, with size 1.
        name: A name for the ops.
    """
    keep = as_bool(keepdims, "keepdims")
    places = list(dict.fromkeys(as_int(axis, "axes") for axis in listed(axes, "axes")))
    with Composed(name, "sufficient_statistics"):
        x = convert_to_tensor(x)
        count = reduce_prod(cast(gather(shape_of(x), places), x.dtype))
        if shift is None:
            return count, reduce_sum(x, places, keep), reduce_sum(square(x), places, keep), None
        shift = convert_to_tensor(shift, x.dtype)
        sums = reduce_sum(subtract(x, shift), places, keep)
        return count, sums, reduce_sum(squared_difference(x, shift), places, keep), shift


@export(v1="nn.sufficient_statistics")
def sufficient_statistics_v1(
    x: ArrayLike,
    axes: AxisLike,
    shift: ArrayLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The count, the sum and the sum of squares along some axes, with TensorFlow 1's arguments."""
    return sufficient_statistics(x, axes, shift, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)


@export("nn.normalize_moments")
def normalize_moments(
    counts: ArrayLike, mean_ss: ArrayLike, variance_ss: ArrayLike, shift: ArrayLike, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Computes the mean and the variance from what `sufficient_statistics` found."""
    with Composed(name, "normalize"):
        share = reciprocal(counts)
        shifted = multiply(mean_ss, share)
        mean = shifted if shift is None else add(shifted, shift)
        return mean, subtract(multiply(variance_ss, share), square(shifted))
