"""Streaming metrics of a whole curve: ``tf.metrics.auc``, and one rate at a given value of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ops.attribute import as_float
from situs._src.ops.cast import cast
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import divide
from situs._src.ops.rearrange import reverse
from situs._src.ops.reduce import argmin, reduce_sum
from situs._src.v1.metrics.curves import even_thresholds, interpolated_precision, intervals
from situs._src.v1.metrics.stream import Metric, collected, refuse_eager
from situs._src.v1.metrics.thresholds import checked_thresholds, streamed_counts
from situs._src.variables.scope import variable_scope

_TINY = 1e-7  # thresholds a little outside of [0, 1] have all predictions above and below them
_SUMMATIONS = ("trapezoidal", "careful_interpolation", "minoring", "majoring")

Counts = Mapping[str, Any]


@export(v1="metrics.auc")
def auc(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: ArrayLike | None = None,
) -> Metric:
    """The area under a curve, approximated at thresholds.

    Args:
        labels: The labels of a batch, cast to bool.
        predictions: As many probabilities.
        weights: How much they count: a number, or a tensor of the same rank whose dimensions are equal or one.
        num_thresholds: At how many thresholds, evenly spread, the curve is known.
        metrics_collections: Collections that the value joins.
        updates_collections: Collections that the update joins.
        curve: ``"ROC"``, or ``"PR"`` for precision over recall.
        name: The name of the scope of variables.
        summation_method: ``"trapezoidal"``, ``"careful_interpolation"``, ``"minoring"`` or ``"majoring"``.
        thresholds: Thresholds in [0, 1] in place of even ones.

    Returns:
        The area so far, and what adds a batch and gives the area with it.
    """
    refuse_eager("auc")
    if curve not in ("ROC", "PR"):
        raise ArgumentError(f"Curve must be either ROC or PR. Curve {shown(curve)} is unknown.")
    if summation_method not in _SUMMATIONS:
        raise ArgumentError(
            f"Invalid summation_method: {summation_method} summation_method should be 'trapezoidal', "
            "'careful_interpolation', 'minoring', or 'majoring'."
        )
    with variable_scope(name, "auc"):
        inner = even_thresholds(num_thresholds) if thresholds is None else sorted(checked_thresholds(thresholds))
        values, updates = streamed_counts(labels, predictions, [-_TINY, *inner, 1.0 + _TINY], weights)
        value = reduce_sum(_areas(values, curve, summation_method), name="value")
        update = reduce_sum(_areas(updates, curve, summation_method), name="update_op")
    return collected(value, update, metrics_collections, updates_collections)


def _areas(counts: Counts, curve: str, method: str) -> Tensor:
    tp, fn, tn, fp = (read(counts[kind]) for kind in ("tp", "fn", "tn", "fp"))
    if curve == "PR" and method == "careful_interpolation":
        return interpolated_precision(tp, fp, fn)
    little = 1e-6  # a curve without positives has recall one
    recall = divide(tp + little, tp + fn + little)
    if curve == "ROC":
        return intervals(divide(fp, fp + tn + little), recall, method)
    return intervals(recall, divide(tp + little, tp + fp + little), method)


# One rate where another has a given value.


@export(v1="metrics.sensitivity_at_specificity")
def sensitivity_at_specificity(
    labels: ArrayLike,
    predictions: ArrayLike,
    specificity: float,
    weights: ArrayLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of positives that are found, at the threshold where `specificity` is met best.

    The other arguments are those of `auc`.
    """
    refuse_eager("sensitivity_at_specificity")
    _check_rate("specificity", specificity)

    def compute(counts: Counts, name: str) -> Tensor:
        rates = divide(counts["tn"], counts["tn"] + counts["fp"] + _TINY)
        nearest = argmin(absolute(rates - specificity), 0)
        return _rate(read(counts["tp"]), read(counts["fn"]), nearest, name)

    with variable_scope(name, "sensitivity_at_specificity"):
        ends = -_TINY, 1.0 + _TINY
        pair = _streamed(compute, labels, predictions, weights, num_thresholds, ends)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.specificity_at_sensitivity")
def specificity_at_sensitivity(
    labels: ArrayLike,
    predictions: ArrayLike,
    sensitivity: float,
    weights: ArrayLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of negatives that are rejected, at the highest threshold where `sensitivity` is met best.

    The other arguments are those of `auc`.
    """
    refuse_eager("specificity_at_sensitivity")
    _check_rate("sensitivity", sensitivity)

    def compute(counts: Counts, name: str) -> Tensor:
        rates = divide(counts["tp"], counts["tp"] + counts["fn"] + _TINY)
        from_the_end = argmin(reverse(absolute(rates - sensitivity), [0]), 0)
        last = (rates.shape[0] or 0) - 1
        return _rate(read(counts["tn"]), read(counts["fp"]), last - from_the_end, name)

    with variable_scope(name, "specificity_at_sensitivity"):
        ends = -_TINY, 1.0 - _TINY
        pair = _streamed(compute, labels, predictions, weights, num_thresholds, ends)
    return collected(*pair, metrics_collections, updates_collections)


def _streamed(
    compute: Callable[[Counts, str], Tensor],
    labels: Any,
    predictions: Any,
    weights: Any,
    number: int,
    ends: tuple[float, float],
) -> Metric:
    inner = even_thresholds(number)
    values, updates = streamed_counts(labels, predictions, [ends[0], *inner, ends[1]], weights)
    return compute(values, "value"), compute(updates, "update_op")


def _rate(part: Tensor, rest: Tensor, place: Tensor, name: str) -> Tensor:
    place = cast(place, dt.int32)
    return divide(part[place], part[place] + rest[place] + _TINY, name=name)


def _check_rate(name: str, rate: Any) -> None:
    if not 0 <= as_float(rate, name) <= 1:
        raise ArgumentError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` got {rate}.")
