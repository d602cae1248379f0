"""Predicates on whole tensors, and functions composed of a few ops: polynomials, logarithms of beta functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import reshape, size
from situs._src.ops.cast import cast
from situs._src.ops.compare import less, less_equal, logical_and
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.gather import where
from situs._src.ops.math import add, lgamma, multiply, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_all, reduce_sum


@export("math.is_non_decreasing", v1=("math.is_non_decreasing", "is_non_decreasing", "debugging.is_non_decreasing"))
def is_non_decreasing(x: ArrayLike, name: str | None = None) -> Tensor:
    """Says whether no element, in the order of the flattened tensor, is less than the one before."""
    return _in_order(x, less_equal, name, "is_non_decreasing")


@export(
    "math.is_strictly_increasing",
    v1=("math.is_strictly_increasing", "is_strictly_increasing", "debugging.is_strictly_increasing"),
)
def is_strictly_increasing(x: ArrayLike, name: str | None = None) -> Tensor:
    """Says whether every element, in the order of the flattened tensor, is greater than the one before."""
    return _in_order(x, less, name, "is_strictly_increasing")


def _in_order(x: ArrayLike, compare: Callable[..., Tensor], name: str | None, default: str) -> Tensor:
    with Composed(name, default) as last:
        flat = reshape(x, [-1])
        return reduce_all(compare(flat[:-1], flat[1:]), name=last)


@export("math.polyval")
def polyval(coeffs: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """The value of a polynomial at `x`, from its coefficients, that of the highest power first, by Horner's scheme.

    Raises:
        ValueError: `coeffs` is no list.
    """
    if not isinstance(coeffs, list):
        raise ArgumentError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with Composed(name, "polyval"):
        x = convert_to_tensor(x)
        if not coeffs:
            return zeros_like(x)
        parts = [convert_to_tensor(each, x.dtype) for each in coeffs]
        value = parts[0]
        for each in parts[1:]:
            value = add(each, multiply(value, x))
        return value


@export("math.lbeta", v1=("math.lbeta", "lbeta"))
def lbeta(x: ArrayLike, name: str | None = None) -> Tensor:
    """The logarithm of the absolute value of the beta function of the numbers along the last axis; -inf of none."""
    with Composed(name, "lbeta") as last:
        x = convert_to_tensor(x)
        total = reduce_sum(x, -1)
        parts = reduce_sum(lgamma(x), -1)
        value = subtract(parts, lgamma(total))
        none = logical_and(less(size(x), 1), less(0, size(value)))
        return where(none, cast(-math.inf, value.dtype), value, last)
