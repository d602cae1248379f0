"""``tf.contrib.metrics``: those of ``tf.metrics``, given the predictions first, under the names they had before."""

from __future__ import annotations

import inspect as _inspect
from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as _dt
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.cast import cast as _cast
from situs._src.ops.compare import equal as _equal
from situs._src.ops.constant import convert_to_tensor as _convert
from situs._src.ops.reduce import reduce_mean as _mean
from situs._src.ops.reduce import reduce_sum as _sum
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import builds as _builds
from situs._src.v1.metrics import area as _area
from situs._src.v1.metrics import classes as _classes
from situs._src.v1.metrics import confusion as _confusion
from situs._src.v1.metrics import mean as _means


@_builds
def accuracy(
    predictions: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, name: str | None = None
) -> Tensor:
    """Which share of the predictions are the labels: of these alone, nothing is kept.

    Args:
        predictions: The predictions.
        labels: What is right, of their dtype.
        weights: How much each counts.
        name: A name for the result.
    """
    predictions = _convert(predictions)
    right = _cast(_equal(predictions, _convert(labels, predictions.dtype)), _dt.float32)
    if weights is None:
        return _mean(right, name=name)
    counts = _cast(_convert(weights), _dt.float32)
    return _sum(right * counts) / _sum(counts)


def _streaming(metric: Callable[..., Any]) -> Callable[..., Any]:
    @_builds
    def streaming(predictions: ArrayLike, labels: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    own = _inspect.signature(metric)
    labels, predictions, *others = own.parameters.values()
    streaming.__doc__ = metric.__doc__
    streaming.__signature__ = own.replace(parameters=[predictions, labels, *others])  # type: ignore[attr-defined]
    return streaming


streaming_accuracy = _streaming(_means.accuracy)
streaming_auc = _streaming(_area.auc)
streaming_mean_absolute_error = _streaming(_means.mean_absolute_error)
streaming_mean_iou = _streaming(_classes.mean_iou)
streaming_mean_squared_error = _streaming(_means.mean_squared_error)
streaming_precision = _streaming(_confusion.precision)
streaming_recall = _streaming(_confusion.recall)
streaming_root_mean_squared_error = _streaming(_means.root_mean_squared_error)


@_builds
def streaming_mean(values: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """The mean of all values so far: see ``tf.metrics.mean``."""
    return _means.mean(values, *args, **kwargs)


__all__ = [
    "accuracy",
    "streaming_accuracy",
    "streaming_auc",
    "streaming_mean",
    "streaming_mean_absolute_error",
    "streaming_mean_iou",
    "streaming_mean_squared_error",
    "streaming_precision",
    "streaming_recall",
    "streaming_root_mean_squared_error",
]

__getattr__ = _without("tf.contrib.metrics")
