"""Streaming counts of right and wrong binary predictions; precision and recall.

                  label true        label false
predicted true    true positive     false positive      precision: the part of this row that is right
predicted false   false negative    true negative
                  recall: the part of this column that is found
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.array import identity, rank
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, logical_and, logical_not
from situs._src.ops.constant import zeros_like
from situs._src.ops.debug import assert_rank_in
from situs._src.ops.gather import where
from situs._src.ops.math import add, divide, multiply
from situs._src.ops.reduce import reduce_sum
from situs._src.v1.metrics.stream import Metric, collected, fitted, metric_variable, refuse_eager
from situs._src.variables.scope import variable_scope

Counter = Callable[..., Metric]


def _counter(name: str, label: bool, prediction: bool) -> Counter:
    """Makes the function that counts where labels and predictions are as given."""
    default = name

    def count(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Metric:
        refuse_eager(default)
        with variable_scope(name, default):
            right, said, weight = fitted(cast(labels, dt.bool), cast(predictions, dt.bool), weights)
            found = logical_and(right if label else logical_not(right), said if prediction else logical_not(said))
            pair = _count(cast(found, dt.float32), weight)
        return collected(*pair, metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = name
    count.__doc__ = (
        f"Counts the {name.replace('_', ' ')}: labels that are {label} where the prediction is {prediction}.\n\n"
        "    Labels and predictions are cast to bool; the arguments are those of `tf.metrics.accuracy`."
    )
    return count


def _count(found: Tensor, weights: Tensor | None) -> Metric:
    count = metric_variable([], dt.float32, "count")
    if weights is not None:
        with control_dependencies([assert_rank_in(weights, (0, rank(found)))]):
            found = multiply(found, cast(weights, dt.float32))
    return identity(count), count.assign_add(reduce_sum(found))


true_positives = export(v1="metrics.true_positives")(_counter("true_positives", True, True))
true_negatives = export(v1="metrics.true_negatives")(_counter("true_negatives", False, False))
false_positives = export(v1="metrics.false_positives")(_counter("false_positives", False, True))
false_negatives = export(v1="metrics.false_negatives")(_counter("false_negatives", True, False))


@export(v1="metrics.precision")
def precision(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of positive predictions that are right; the arguments are those of `tf.metrics.accuracy`."""
    refuse_eager("precision")
    with variable_scope(name, "precision"):
        pair = _part(true_positives, false_positives, labels, predictions, weights)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.recall")
def recall(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of positive labels that are found; the arguments are those of `tf.metrics.accuracy`."""
    refuse_eager("recall")
    with variable_scope(name, "recall"):
        pair = _part(true_positives, false_negatives, labels, predictions, weights)
    return collected(*pair, metrics_collections, updates_collections)


def _part(counted: Counter, rest: Counter, labels: Any, predictions: Any, weights: Any) -> Metric:
    """How much `counted` is of both, and the update that gives it."""
    labels, predictions, weights = fitted(cast(labels, dt.bool), cast(predictions, dt.bool), weights)
    value, update = counted(labels, predictions, weights)
    other, other_update = rest(labels, predictions, weights)
    return _quotient(value, other, "value"), _quotient(update, other_update, "update_op")


def _quotient(part: Tensor, rest: Tensor, name: str) -> Tensor:
    whole = add(part, rest)
    return where(greater(whole, 0.0), divide(part, whole), zeros_like(whole), name=name)
