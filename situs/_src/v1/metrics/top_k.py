"""Streaming metrics of the top k predicted classes: precision, recall and average precision at k.

    labels        [[0], [2]]                  classes that are right for each row; any number of them
    predictions   [[.1, .2, .7], ...]         a score for each class
    top 2         [[2, 1], ...]               none of them is 0: a false negative, two false positives

Labels of a row are a set: a class counts once. Rows of a sparse tensor have as many labels as they have; in a dense one
rows with fewer are filled with -1 where average precision is asked for, and repeat one of their labels elsewhere.
"""

from __future__ import annotations

from typing import Any, Literal

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ir.graph.context import name_scope
from situs._src.ops.array import expand_dims, shape, size
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater_equal, logical_and, logical_not, not_equal
from situs._src.ops.composite_values import SparseTensorValue
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.constant import range as numbers
from situs._src.ops.cumulative import cumsum
from situs._src.ops.gather import where
from situs._src.ops.math import add, div_no_nan, divide, minimum, multiply
from situs._src.ops.reduce import argmax, reduce_any, reduce_sum
from situs._src.ops.search import top_k
from situs._src.sparse.dense import to_dense
from situs._src.sparse.tensor import SparseTensor
from situs._src.v1.metrics.stream import Metric, collected, metric_variable, refuse_eager
from situs._src.v1.weights import broadcast_weights

_NO_LABEL = -(2**63)  # where a sparse tensor has none
Kind = Literal["true_positive", "false_positive", "false_negative"]


# Precision and recall.


@export(v1="metrics.precision_at_k")
def precision_at_k(
    labels: ArrayLike,
    predictions: ArrayLike,
    k: int,
    class_id: int | None = None,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of the `k` classes with the highest scores that are right.

    Args:
        labels: The right classes of each row, as int64: one for a row, or several in the last dimension.
        predictions: A score for each class in the last dimension.
        k: How many of the highest scores count.
        class_id: The only class that is looked at.
        weights: How much rows count: a number, or one for each.
        metrics_collections: Collections that the value joins.
        updates_collections: Collections that the update joins.
        name: The name of the scope.

    Returns:
        The precision so far, and what adds a batch and gives the precision with it.
    """
    refuse_eager("precision_at_k")
    with name_scope(name, _named("precision", k, class_id)) as scope:
        best = top_k(predictions, _checked(k))[1]
        pair = precision_at_top_k(labels, best, k, class_id, weights, name=scope)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.recall_at_k")
def recall_at_k(
    labels: ArrayLike,
    predictions: ArrayLike,
    k: int,
    class_id: int | None = None,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of right classes that are among the `k` with the highest scores.

    The arguments are those of `precision_at_k`.
    """
    refuse_eager("recall_at_k")
    with name_scope(name, _named("recall", k, class_id)) as scope:
        best = top_k(predictions, _checked(k))[1]
        pair = recall_at_top_k(labels, best, k, class_id, weights, name=scope)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.precision_at_top_k")
def precision_at_top_k(
    labels: ArrayLike,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of predicted classes that are right.

    `predictions_idx` are the predicted classes, `k` says how many only for names; the other arguments are those of
    `precision_at_k`.
    """
    refuse_eager("precision_at_top_k")
    with name_scope(name, _named("precision", k, class_id)) as scope:
        pair = _quotient("false_positive", labels, predictions_idx, k, class_id, weights, scope)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.recall_at_top_k")
def recall_at_top_k(
    labels: ArrayLike,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of right classes that are predicted; the arguments are those of `precision_at_top_k`."""
    refuse_eager("recall_at_top_k")
    with name_scope(name, _named("recall", k, class_id)) as scope:
        pair = _quotient("false_negative", labels, predictions_idx, k, class_id, weights, scope)
    return collected(*pair, metrics_collections, updates_collections)


def _quotient(
    rest: Kind, labels: Any, predictions: Any, k: int | None, class_id: int | None, weights: Any, scope: str
) -> Metric:
    predictions = cast(predictions, dt.int64)
    labels = _rows_of_labels(labels, predictions)
    kinds: tuple[Kind, Kind] = "true_positive", rest
    pairs = [
        _streamed(_named(kind, k, class_id), _count(kind, labels, predictions, class_id), weights) for kind in kinds
    ]
    (found, found_update), (other, other_update) = pairs
    value = divide(found, add(found, other), name=scope)
    return value, divide(found_update, add(found_update, other_update), name="update")


def _streamed(name: str, counts: Tensor, weights: Any) -> Metric:
    with name_scope(name) as inside:
        if weights is not None:
            counts = multiply(counts, broadcast_weights(cast(weights, dt.float64), counts))
        variable = metric_variable([], dt.float64, inside)
        return variable, variable.assign_add(reduce_sum(counts), name="update")


def _count(kind: Kind, labels: Tensor, predictions: Tensor, class_id: int | None) -> Tensor:
    """How many classes of each row are in both sets, or only in that of predictions, or only in that of labels."""
    asked, other = (labels, predictions) if kind == "false_negative" else (predictions, labels)
    in_both = reduce_any(equal(expand_dims(asked, -1), expand_dims(other, -2)), axis=-1)
    counted = logical_and(_is_first(asked), in_both if kind == "true_positive" else logical_not(in_both))
    counted = logical_and(counted, not_equal(asked, _NO_LABEL))
    if class_id is not None:
        counted = logical_and(counted, equal(asked, class_id))
    return reduce_sum(cast(counted, dt.float64), axis=-1)


def _is_first(ids: Tensor) -> Tensor:
    """Which elements of each row have not been in it before."""
    same = equal(expand_dims(ids, -1), expand_dims(ids, -2))
    places = numbers(cast(shape(ids)[-1], dt.int64))
    return equal(argmax(cast(same, dt.int32), -1), places)


# Average precision.


@export(v1="metrics.average_precision_at_k")
def average_precision_at_k(
    labels: ArrayLike,
    predictions: ArrayLike,
    k: int,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean over rows of the mean precision at each place of the top `k` that is right.

    Labels that are no classes are left out. The arguments are those of `precision_at_k`.
    """
    refuse_eager("average_precision_at_k")
    _checked(k)
    with name_scope(name, _named("average_precision", k, None)) as scope:
        scores = convert_to_tensor(predictions)
        best = cast(top_k(scores, k)[1], dt.int64)
        average = _average_precision(_known(_rows_of_labels(labels, best), scores), best, k)
        value, update = _streamed_average(average, weights, scope)
    return collected(value, update, metrics_collections, updates_collections)


@export(v1="metrics.sparse_average_precision_at_k")
def sparse_average_precision_at_k(
    labels: ArrayLike,
    predictions: ArrayLike,
    k: int,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The old name of `average_precision_at_k`."""
    return average_precision_at_k(labels, predictions, k, weights, metrics_collections, updates_collections, name)


@export(v1="metrics.sparse_precision_at_k")
def sparse_precision_at_k(
    labels: ArrayLike,
    predictions: ArrayLike,
    k: int,
    class_id: int | None = None,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The old name of `precision_at_k`."""
    return precision_at_k(labels, predictions, k, class_id, weights, metrics_collections, updates_collections, name)


def _known(labels: Tensor, scores: Tensor) -> Tensor:
    """Labels, with -1 for those that are no classes."""
    classes = cast(shape(scores)[-1], dt.int64)
    return where(greater_equal(labels, classes), -ones_like(labels), labels)


def _average_precision(labels: Tensor, best: Tensor, k: int) -> Tensor:
    right = cast(reduce_any(equal(expand_dims(best, -1), expand_dims(labels, -2)), axis=-1), dt.float64)
    precision = divide(cumsum(right, axis=-1), cast(numbers(1, k + 1), dt.float64))
    relevant = minimum(reduce_sum(cast(greater_equal(labels, 0), dt.float64), axis=-1), float(k))
    return divide(reduce_sum(multiply(precision, right), axis=-1), relevant)


def _streamed_average(average: Tensor, weights: Any, scope: str) -> Metric:
    if weights is None:
        most = cast(size(average), dt.float64)
    else:
        weight = broadcast_weights(cast(weights, dt.float64), average)
        average, most = multiply(average, weight), reduce_sum(weight)
    greatest = metric_variable([], dt.float64, "max_1")
    total = metric_variable([], dt.float64, "total")
    value = div_no_nan(total, greatest, name="mean")
    added, counted = total.assign_add(reduce_sum(average)), greatest.assign_add(most)
    return value, div_no_nan(added, counted, name=scope)


# Arguments.


def _named(name: str, k: int | None, class_id: int | None) -> str:
    place = "k" if k is None else as_int(k, "k")
    return f"{name}_at_{place}" if class_id is None else f"{name}_at_{place}_class{as_int(class_id, 'class_id')}"


def _checked(k: Any) -> int:
    number = as_int(k, "k")
    if number < 1:
        raise ArgumentError(f"Invalid k={number}. `k` should be >= 1.")
    return number


def _rows_of_labels(labels: Any, predictions: Tensor) -> Tensor:
    """Labels with a last dimension for those of a row."""
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
        found = SparseTensor.from_value(labels)
        places = SparseTensor(found.indices, cast(found.values, dt.int64), found.dense_shape)
        dense = to_dense(places, default_value=_NO_LABEL)
    else:
        dense = cast(labels, dt.int64)
    ranks = dense.shape.rank, predictions.shape.rank
    if ranks[0] is None or ranks[1] is None or ranks[0] == ranks[1]:
        return dense
    if ranks[0] + 1 == ranks[1]:
        return expand_dims(dense, -1)
    raise ArgumentError(
        f"Unexpected labels shape {dense.shape} for predictions shape {predictions.shape}. Predictions rank should be "
        "the same rank as labels rank or labels rank plus one."
    )
