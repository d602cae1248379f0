"""Streaming means: of values, and of prediction errors.

total += sum(values * weights)      count += sum(weights)      value: total / count, 0 at first
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, Collections
from situs._src.ir.graph.context import control_dependencies
from situs._src.ops.array import size
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, less
from situs._src.ops.constant import ones_like, zeros_like
from situs._src.ops.gather import where
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import div_no_nan, divide, maximum, multiply, sqrt, squared_difference, subtract
from situs._src.ops.reduce import reduce_sum
from situs._src.v1.metrics.stream import Metric, collected, fitted, metric_variable, refuse_eager
from situs._src.v1.ranks import fitted_weights, squeezed_alike
from situs._src.v1.weights import broadcast_weights
from situs._src.variables.scope import variable_scope

# Of values.


@export(v1="metrics.mean")
def mean(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean of all values.

    Args:
        values: The values of a batch.
        weights: How much they count: a number, or a tensor of the same rank whose dimensions are equal or one.
        metrics_collections: Collections that the value joins.
        updates_collections: Collections that the update joins.
        name: The name of the scope of variables.

    Returns:
        The mean so far, and what adds a batch and gives the mean with it.
    """
    refuse_eager("mean")
    with variable_scope(name, "mean"):
        total = metric_variable([], dt.float32, "total")
        count = metric_variable([], dt.float32, "count")
        values, number = _weighted(cast(values, dt.float32), weights)
        counted = cast(size(values), dt.float32) if number is None else reduce_sum(number)
        pair = _mean(total, count, reduce_sum(values), counted)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.mean_tensor")
def mean_tensor(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean of each element of tensors of one shape; the arguments are those of `mean`."""
    refuse_eager("mean_tensor")
    with variable_scope(name, "mean"):
        values = cast(values, dt.float32)
        total = metric_variable(values.shape, dt.float32, "total_tensor")
        count = metric_variable(values.shape, dt.float32, "count_tensor")
        values, number = _weighted(values, weights)
        pair = _mean(total, count, values, ones_like(values) if number is None else number)
    return collected(*pair, metrics_collections, updates_collections)


@export(v1="metrics.percentage_below")
def percentage_below(
    values: ArrayLike,
    threshold: Any,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The part of values, from 0 to 1, that are less than `threshold`; the other arguments are those of `mean`."""
    refuse_eager("percentage_below")
    below = cast(less(values, threshold), dt.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def _weighted(values: Tensor, weights: Any) -> tuple[Tensor, Tensor | None]:
    """Values times weights, and the weights with the shape of the values."""
    if weights is None:
        return values, None
    weight = broadcast_weights(cast(fitted_weights(weights, values), dt.float32), values)
    return multiply(values, weight), weight


def _mean(total: Any, count: Any, values: Tensor, number: Tensor) -> Metric:
    added = total.assign_add(values)
    with control_dependencies([values]):  # nothing is counted if the values cannot be computed
        counted = count.assign_add(number)
    value = div_no_nan(total, maximum(count, 0.0), name="value")
    return value, div_no_nan(added, maximum(counted, 0.0), name="update_op")


# Of predictions and labels.


@export(v1="metrics.accuracy")
def accuracy(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """How often predictions equal labels, from 0 to 1.

    Args:
        labels: The labels of a batch, of any shape.
        predictions: As many predictions.
        weights: How much they count: a number, or a tensor of the same rank whose dimensions are equal or one.
        metrics_collections: Collections that the value joins.
        updates_collections: Collections that the update joins.
        name: The name of the scope of variables; ``accuracy`` by default.

    Returns:
        The accuracy so far, and what adds a batch and gives the accuracy with it.

    Raises:
        ValueError: shapes do not fit.
        RuntimeError: no graph is being built.
    """
    refuse_eager("accuracy")
    labels, predictions, weights = fitted(labels, predictions, weights)
    is_right = cast(equal(cast(predictions, labels.dtype), labels), dt.float32)
    return mean(is_right, weights, metrics_collections, updates_collections, name or "accuracy")


@export(v1="metrics.mean_absolute_error")
def mean_absolute_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean of absolute differences; the arguments are those of `accuracy`."""
    refuse_eager("mean_absolute_error")
    labels, predictions, weights = fitted(labels, predictions, weights)
    errors = absolute(subtract(predictions, labels))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


@export(v1="metrics.mean_squared_error")
def mean_squared_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean of squared differences; the arguments are those of `accuracy`."""
    refuse_eager("mean_squared_error")
    labels, predictions, weights = fitted(labels, predictions, weights)
    errors = squared_difference(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


@export(v1="metrics.root_mean_squared_error")
def root_mean_squared_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The root of the mean of squared differences; the arguments are those of `accuracy`."""
    refuse_eager("root_mean_squared_error")
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@export(v1="metrics.mean_relative_error")
def mean_relative_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    normalizer: Any,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """The mean of absolute differences divided by `normalizer`, 0 where that is 0.

    The other arguments are those of `accuracy`.
    """
    refuse_eager("mean_relative_error")
    labels, predictions, weights = fitted(labels, predictions, weights)
    predictions, normalizer = squeezed_alike(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    parts = divide(absolute(subtract(labels, predictions)), normalizer)
    errors = where(equal(normalizer, zeros_like(normalizer)), zeros_like(parts), parts)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@export(v1="metrics.mean_cosine_distance")
def mean_cosine_distance(
    labels: ArrayLike,
    predictions: ArrayLike,
    dim: int,
    weights: ArrayLike | None = None,
    metrics_collections: Collections | None = None,
    updates_collections: Collections | None = None,
    name: str | None = None,
) -> Metric:
    """One less the mean inner product of labels and predictions along `dim`, which are taken to have length one.

    The other arguments are those of `accuracy`.
    """
    refuse_eager("mean_cosine_distance")
    labels, predictions, weights = fitted(labels, predictions, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    return collected(subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections)
