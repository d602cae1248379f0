"""Counting predictions above each of many thresholds, in one pass.

    thresholds   0.2   0.5   0.8         a prediction falls into the bucket of the thresholds below it
    buckets    0     1     2     3       0.6 is in bucket 2: above 0.2 and 0.5, not above 0.8

The predictions above a threshold are those in the buckets behind it: a reverse cumulative sum; the others, a forward
one. So memory is that of the predictions, not that times the thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant
from situs._src.ops.cumulative import cumsum, unsorted_segment_sum
from situs._src.ops.gather import gather
from situs._src.ops.math import multiply
from situs._src.ops.search import searchsorted

Kind = Literal["tp", "fn", "tn", "fp"]
NAMES: dict[Kind, str] = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}


def bucket_of(predictions: Tensor, thresholds: Any) -> Tensor:
    """How many thresholds, which are sorted, are less than each prediction."""
    flat = reshape(predictions, [-1])
    return searchsorted(constant(np.asarray(thresholds), flat.dtype), flat, side="left")


def order_of(thresholds: Any) -> np.ndarray[Any, Any] | None:
    """The order in which thresholds are sorted; None if they are already."""
    order = np.argsort(np.asarray(thresholds), kind="stable")
    return None if np.array_equal(order, np.arange(len(order))) else order


def count_kinds(
    kinds: Iterable[Kind], labels: Tensor, weights: Tensor | None, buckets: Tensor, thresholds: int
) -> dict[Kind, Tensor]:
    """How many true or false positives or negatives there are at each threshold.

    Args:
        kinds: Which of them.
        labels: A vector of zeros and ones.
        weights: How much each counts.
        buckets: The bucket of each prediction.
        thresholds: How many thresholds there are.
    """
    kinds = tuple(kinds)
    sums: dict[bool, Tensor] = {}
    for is_true in {kind in _OF_TRUE_LABELS for kind in kinds}:
        wanted = labels if is_true else 1.0 - labels
        weighted = wanted if weights is None else multiply(wanted, weights)
        sums[is_true] = unsorted_segment_sum(weighted, buckets, thresholds + 1)
    return {kind: _counts(sums[kind in _OF_TRUE_LABELS], kind in _ABOVE)[:thresholds] for kind in kinds}


_OF_TRUE_LABELS = ("tp", "fn")
_ABOVE = ("tp", "fp")


def _counts(sums: Tensor, above: bool) -> Tensor:
    return cumsum(sums, exclusive=above, reverse=above)


def in_given_order(counts: Tensor, order: np.ndarray[Any, Any] | None) -> Tensor:
    """Counts at sorted thresholds, in the order in which the thresholds were given."""
    if order is None:
        return counts
    return gather(counts, cast(constant(np.argsort(order, kind="stable")), dt.int32))
