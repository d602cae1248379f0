"""Streaming metrics of several classes: mean intersection over union, mean per-class accuracy."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ops.array import reshape, size
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater, not_equal
from situs._src.ops.constant import convert_to_tensor, fill, ones_like
from situs._src.ops.count import confusion_matrix
from situs._src.ops.diagonal import tensor_diag_part
from situs._src.ops.gather import where
from situs._src.ops.math import div_no_nan, divide, maximum, multiply
from situs._src.ops.reduce import reduce_mean, reduce_sum
from situs._src.v1.metrics.stream import Metric, collected, metric_variable, refuse_eager
from situs._src.variables.scope import variable_scope
from situs._src.variables.updates import scatter_add


@export(v1="metrics.mean_iou")
def mean_iou(
    labels: ArrayLike,
    predictions: ArrayLike,
    num_classes: int,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of intersection over union: what is of a class and predicted so, of what is either.

    Args:
        labels: The classes of a batch, as numbers.
        predictions: As many predicted classes.
        num_classes: How many classes there are.
        weights: How much each counts: a number, or as many as there are labels.
        metrics_collections: Collections that the value joins.
        updates_collections: Collections that the update joins.
        name: The name of the scope of variables.

    Returns:
        The mean so far over the classes that have been seen, and what adds a batch; it gives the confusion matrix.
    """
    refuse_eager("mean_iou")
    with variable_scope(name, "mean_iou"):
        labels, predictions, weight = _flat(labels, predictions, weights, dt.float64)
        total = metric_variable([num_classes, num_classes], dt.float64, "total_confusion_matrix")
        batch = confusion_matrix(labels, predictions, num_classes, weight, dt.float64)
        pair = _mean_of_overlap(total), total.assign_add(batch)
    return collected(*pair, metrics_collections, updates_collections)


def _mean_of_overlap(matrix: Any) -> Tensor:
    both = cast(tensor_diag_part(matrix), dt.float32)
    either = cast(reduce_sum(matrix, 0), dt.float32) + cast(reduce_sum(matrix, 1), dt.float32) - both
    seen = reduce_sum(cast(not_equal(either, 0.0), dt.float32))
    parts = divide(both, where(greater(either, 0.0), either, ones_like(either)))
    return div_no_nan(reduce_sum(parts), seen, name="mean_iou")


@export(v1="metrics.mean_per_class_accuracy")
def mean_per_class_accuracy(
    labels: ArrayLike,
    predictions: ArrayLike,
    num_classes: int,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of how often a label of the class is predicted.

    The arguments are those of `mean_iou`; the update gives the accuracy of each class.
    """
    refuse_eager("mean_per_class_accuracy")
    with variable_scope(name, "mean_accuracy"):
        labels, predictions, weight = _flat(labels, predictions, weights, dt.float32)
        total = metric_variable([num_classes], dt.float32, "total")
        count = metric_variable([num_classes], dt.float32, "count")
        one = fill([size(labels)], 1.0) if weight is None else weight
        right = multiply(cast(equal(predictions, labels), dt.float32), one)
        seen, found = scatter_add(total, labels, one), scatter_add(count, labels, right)
        value = reduce_mean(div_no_nan(count, maximum(total, 0.0)), name="mean_accuracy")
        update = div_no_nan(found, maximum(seen, 0.0), name="update_op")
    return collected(value, update, metrics_collections, updates_collections)


def _flat(labels: Any, predictions: Any, weights: Any, dtype: dt.DType) -> tuple[Tensor, Tensor, Tensor | None]:
    """Labels and predictions as vectors of int64, and weights of a dtype, one for each of them."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    predictions.shape.assert_is_compatible_with(labels.shape)
    labels, predictions = (reshape(cast(x, dt.int64), [-1]) for x in (labels, predictions))
    if weights is None:
        return labels, predictions, None
    weight = cast(weights, dtype)
    weight = weight if weight.shape.rank == 0 else reshape(weight, [-1])
    return labels, predictions, multiply(weight, cast(ones_like(labels), dtype))
