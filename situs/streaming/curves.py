"""Areas under curves whose points are counts at thresholds.

    ROC    x: false positives of all negatives    y: recall
    PR     x: recall                              y: precision

Thresholds ascend, so x descends. The sum over intervals takes the mean of both heights, or the lesser, or the greater.
"""

from __future__ import annotations

from typing import Any

from situs.ops.compare import greater, logical_and
from situs.ops.constant import ones_like
from situs.ops.gather import where
from situs.ops.math import div_no_nan, log, maximum, minimum, multiply, subtract
from situs.tensor import Tensor


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
