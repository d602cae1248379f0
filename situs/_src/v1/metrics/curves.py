"""Areas under curves given by counts at thresholds.

    ROC    x: false positives of all negatives    y: recall
    PR     x: recall                              y: precision

Thresholds ascend, so x descends. The sum over intervals takes the mean of both heights, or the lesser, or the greater.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.tensor import Tensor
from situs._src.ops.attribute import as_int
from situs._src.ops.compare import greater, logical_and
from situs._src.ops.constant import ones_like
from situs._src.ops.gather import where
from situs._src.ops.math import div_no_nan, log, maximum, minimum, multiply, subtract

MOST_THRESHOLDS = 2**20


def even_thresholds(number: int) -> list[float]:
    """Thresholds evenly spread between 0 and 1, which are not among them."""
    number = as_int(number, "num_thresholds")
    if number < 2:
        raise ArgumentError(f"num_thresholds is at least 2, for the ends of the curve; got {number}.")
    if number > MOST_THRESHOLDS:
        raise ArgumentError(f"num_thresholds is at most {MOST_THRESHOLDS}; got {shown(number)}.")
    return [(place + 1) / (number - 1) for place in range(number - 2)]


def intervals(x: Tensor, y: Tensor, method: str) -> Tensor:
    """The areas between neighbouring points, by the mean, the lesser (minoring) or the greater height (majoring)."""
    left, right = y[:-1], y[1:]
    if method == "minoring":
        height = minimum(left, right)
    elif method == "majoring":
        height = maximum(left, right)
    else:
        height = (left + right) / 2.0
    return multiply(subtract(x[:-1], x[1:]), height)


def interpolated_precision(tp: Any, fp: Any, fn: Any) -> Tensor:
    """The areas between neighbouring points of the curve of precision over recall, with counts interpolated.

    Between two points true positives grow linearly with positives; precision is their quotient, which bends. With a
    slope and an offset of that line, the area is ``slope * (growth + offset * log(quotient of positives))``.
    """
    positives = tp + fp
    growth = tp[:-1] - tp[1:]
    slope = div_no_nan(growth, maximum(positives[:-1] - positives[1:], 0.0))
    offset = tp[1:] - slope * positives[1:]
    both = logical_and(greater(positives[:-1], 0.0), greater(positives[1:], 0.0))
    ratio = where(both, div_no_nan(positives[:-1], maximum(positives[1:], 0.0)), ones_like(positives[1:]))
    return div_no_nan(slope * (growth + offset * log(ratio)), maximum(tp[1:] + fn[1:], 0.0))
