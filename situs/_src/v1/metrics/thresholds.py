"""Streaming counts at several thresholds: ``tf.metrics.true_positives_at_thresholds`` and the like.

A prediction is positive if it is greater than the threshold. Predictions are probabilities: one that is outside of
[0, 1] makes the update fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.array import identity, reshape
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.debug import assert_greater_equal, assert_less_equal
from situs._src.ops.math import divide
from situs._src.v1.metrics.buckets import NAMES, Kind, bucket_of, count_kinds, in_given_order, order_of
from situs._src.v1.metrics.stream import Metric, collected, fitted, metric_variable, refuse_eager
from situs._src.v1.weights import broadcast_weights
from situs._src.variables.scope import variable_scope

ALL_KINDS: tuple[Kind, ...] = ("tp", "fn", "tn", "fp")


class Batch(NamedTuple):
    """A batch, flat: labels of zeros and ones, weights, and the bucket that each prediction is in."""

    labels: Tensor
    weights: Tensor | None
    buckets: Tensor


def streamed_counts(
    labels: Any, predictions: Any, thresholds: Any, weights: Any, kinds: Iterable[Kind] = ALL_KINDS
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables that count predictions at each threshold, and the updates that add a batch to them."""
    wanted = checked_thresholds(thresholds)
    order = order_of(wanted)
    batch = _batch(labels, predictions, wanted if order is None else wanted[order], weights)
    values: dict[str, Any] = {}
    updates: dict[str, Any] = {}
    for kind, counts in count_kinds(kinds, *batch, len(wanted)).items():
        values[kind] = metric_variable([len(wanted)], dt.float32, NAMES[kind])
        updates[kind] = values[kind].assign_add(in_given_order(counts, order))
    return values, updates


def checked_thresholds(thresholds: Any) -> np.ndarray[Any, Any]:
    """Thresholds as float32.

    Raises:
        ValueError: they are not numbers, or there are none.
    """
    try:
        found = np.asarray(list(thresholds), np.float32)
    except (TypeError, ValueError):
        raise ArgumentError(f"Thresholds are a list of numbers, got {shown(thresholds)}.") from None
    if found.ndim != 1 or not len(found) or np.isnan(found).any():
        raise ArgumentError(f"Thresholds are a list of at least one number, got {shown(thresholds)}.")
    return found


def _batch(labels: Any, predictions: Any, thresholds: np.ndarray[Any, Any], weights: Any) -> Batch:
    predictions = convert_to_tensor(predictions)
    message = "predictions must be in [0, 1]"
    least, most = cast(0.0, predictions.dtype), cast(1.0, predictions.dtype)
    checks = [
        assert_greater_equal(predictions, least, message=message),
        assert_less_equal(predictions, most, message=message),
    ]
    with control_dependencies(checks):
        predictions = identity(cast(predictions, dt.float32))
    labels, predictions, weight = fitted(cast(labels, dt.bool), predictions, weights)
    if weight is not None:
        weight = reshape(broadcast_weights(cast(weight, dt.float32), predictions), [-1])
    return Batch(reshape(cast(labels, dt.float32), [-1]), weight, bucket_of(predictions, thresholds))


# The functions.


def _counter(kind: Kind) -> Callable[..., Metric]:
    """Makes the function that counts one kind of predictions at thresholds."""
    default = NAMES[kind]

    def count(
        labels: Any,
        predictions: Any,
        thresholds: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        refuse_eager(f"{default}_at_thresholds")
        with variable_scope(name, default):
            values, updates = streamed_counts(labels, predictions, thresholds, weights, [kind])
            return collected(identity(values[kind]), updates[kind], metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = f"{default}_at_thresholds"
    count.__doc__ = (
        f"Counts the {default.replace('_', ' ')} at each of `thresholds`.\n\n"
        "    Predictions are in [0, 1]; the other arguments are those of `tf.metrics.accuracy`."
    )
    return count


true_positives_at_thresholds = export(v1="metrics.true_positives_at_thresholds")(_counter("tp"))
true_negatives_at_thresholds = export(v1="metrics.true_negatives_at_thresholds")(_counter("tn"))
false_positives_at_thresholds = export(v1="metrics.false_positives_at_thresholds")(_counter("fp"))
false_negatives_at_thresholds = export(v1="metrics.false_negatives_at_thresholds")(_counter("fn"))


@export(v1="metrics.precision_at_thresholds")
def precision_at_thresholds(
    labels: ArrayLike,
    predictions: ArrayLike,
    thresholds: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of positive predictions that are right, at each of `thresholds`.

    Predictions are in [0, 1]; the other arguments are those of `tf.metrics.accuracy`.
    """
    refuse_eager("precision_at_thresholds")
    with variable_scope(name, "precision_at_thresholds"):
        values, updates = streamed_counts(labels, predictions, thresholds, weights, ["tp", "fp"])
        value = _part(values["tp"], values["fp"], "precision_value")
        update = _part(updates["tp"], updates["fp"], "precision_update_op")
    return collected(value, update, metrics_collections, updates_collections)


@export(v1="metrics.recall_at_thresholds")
def recall_at_thresholds(
    labels: ArrayLike,
    predictions: ArrayLike,
    thresholds: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of positive labels that are found, at each of `thresholds`.

    Predictions are in [0, 1]; the other arguments are those of `tf.metrics.accuracy`.
    """
    refuse_eager("recall_at_thresholds")
    with variable_scope(name, "recall_at_thresholds"):
        values, updates = streamed_counts(labels, predictions, thresholds, weights, ["tp", "fn"])
        value = _part(values["tp"], values["fn"], "recall_value")
        update = _part(updates["tp"], updates["fn"], "recall_update_op")
    return collected(value, update, metrics_collections, updates_collections)


def _part(part: Any, rest: Any, name: str) -> Tensor:
    return divide(part, part + rest + 1e-7, name=name)
