"""Reconciles labels, predictions and weights whose ranks differ by a last dimension of one.

    labels [n, 1]   predictions [n]      both [n]
    weights [n]     predictions [n, 3]   weights [n, 1]

If ranks are known only at run time, the graph decides.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.tensor import Tensor
from situs._src.ops.array import expand_dims, rank, squeeze
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.control import cond
from situs._src.ops.math import subtract


def squeezed_alike(labels: Any, predictions: Any, difference: int = 0) -> tuple[Tensor, Tensor]:
    """Labels and predictions, one of them without a last dimension of one if it has a dimension too many.

    Args:
        labels: The labels.
        predictions: The predictions.
        difference: How many dimensions predictions should have more than labels.
    """
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    found = _rank_difference(predictions, labels)
    return _without_last(labels, found, difference - 1), _without_last(predictions, found, difference + 1)


def weights_of_rows(weights: Any, rows: Tensor) -> Tensor:
    """Weights without a last dimension of one, if they have a dimension more than the rows."""
    weight = convert_to_tensor(weights)
    return _without_last(weight, _rank_difference(weight, rows), 1)


def fitted_weights(weights: Any, values: Tensor) -> Tensor:
    """Weights with the rank of `values`, if they have one dimension more or less; scalars stay as they are."""
    weight: Tensor = convert_to_tensor(weights)
    if weight.shape.rank == 0:
        return weight
    found = _rank_difference(weight, values)
    if isinstance(found, int):
        return squeeze(weight, [-1]) if found == 1 else expand_dims(weight, -1) if found == -1 else weight
    fitted: Tensor = cond(equal(rank(weight), 0), lambda: weight, lambda: _one_more_or_less(weight, found))
    return fitted


def _one_more_or_less(weight: Tensor, found: Tensor) -> Tensor:
    lower = _without_last(weight, found, 1)
    fitted: Tensor = cond(equal(found, -1), lambda: expand_dims(weight, -1), lambda: lower)
    return fitted


def _rank_difference(a: Tensor, b: Tensor) -> int | Tensor:
    known = a.shape.rank, b.shape.rank
    if known[0] is None or known[1] is None:
        return subtract(rank(a), rank(b))
    return known[0] - known[1]


def _without_last(x: Tensor, found: int | Tensor, wanted: int) -> Tensor:
    """`x` without its last dimension, if that may be one and the difference of ranks is the wanted one."""
    shape = x.shape
    if shape.rank is not None and (shape.rank == 0 or shape[-1] not in (1, None)):
        return x
    if isinstance(found, int):
        return squeeze(x, [-1]) if found == wanted else x
    fitted: Tensor = cond(equal(found, wanted), lambda: squeeze(x, [-1]), lambda: x)
    return fitted
