"""Weights of values: a scalar, or the same rank with each dimension equal or one.

    values [2, 3]    weights (), [2, 3], [2, 1], [1, 3], [1, 1]    fit
                     weights [3], [2]                              do not

This is stricter than broadcasting in arithmetic: a weight per column instead of one per row is detected.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.array import rank, shape
from situs._src.ops.compare import equal, logical_or
from situs._src.ops.constant import constant, convert_to_tensor, ones_like
from situs._src.ops.control import cond
from situs._src.ops.debug import Assert
from situs._src.ops.math import multiply
from situs._src.ops.reduce import reduce_all

_REFUSED = "weights can not be broadcast to values."


def checks(weights: Any, values: Any) -> list[Any]:
    """Operations that fail unless weights fit values; none where shapes are known to fit.

    Raises:
        ValueError: shapes are known, and do not fit.
    """
    weights, values = convert_to_tensor(weights), convert_to_tensor(values)
    if _known_to_fit(weights.shape, values.shape):
        return []
    fits = cond(equal(rank(weights), 0), lambda: constant(True), lambda: _fits(weights, values))
    return [Assert(fits, [_REFUSED, "weights.shape=", shape(weights), "values.shape=", shape(values)])]


def broadcast_weights(weights: Tensor, values: Tensor) -> Tensor:
    """Weights with the shape of `values`."""
    if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and weights.shape == values.shape:
        return weights
    with control_dependencies(checks(weights, values)):
        return multiply(weights, ones_like(values))


def _known_to_fit(weights: TensorShape, values: TensorShape) -> bool:
    if weights.rank == 0:
        return True
    if weights.rank is None or values.rank is None:
        return False
    if weights.rank != values.rank:
        raise ArgumentError(
            f"{_REFUSED} values.rank={values.rank}. weights.rank={weights.rank}. values.shape={values}. "
            f"weights.shape={weights}. Weights are a scalar, or have the rank of the values."
        )
    for place, (weight, value) in enumerate(zip(weights, values, strict=True)):
        if weight not in (1, None, value) and value is not None:
            raise ArgumentError(
                f"{_REFUSED} Mismatch at dim {place}. values.shape={values}, weights.shape={weights}. Each dimension "
                "of the weights is 1, or that of the values."
            )
    return all(weight == 1 or weight == value is not None for weight, value in zip(weights, values, strict=True))


def _fits(weights: Tensor, values: Tensor) -> Tensor:
    same_rank = equal(rank(weights), rank(values))
    fitted: Tensor = cond(same_rank, lambda: _dimensions_fit(shape(weights), shape(values)), lambda: constant(False))
    return fitted


def _dimensions_fit(weights: Tensor, values: Tensor) -> Tensor:
    return reduce_all(logical_or(equal(weights, 1), equal(weights, values)))
