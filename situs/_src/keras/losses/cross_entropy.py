"""Cross entropies: what probabilities, or the logits they come from, cost when the true class is known.

    binary_crossentropy                labels of 0 and 1, a probability for each
    categorical_crossentropy           labels with a one for the true class
    sparse_categorical_crossentropy    labels that are numbers of classes

Probabilities are kept off 0 and 1 by 1e-7. Where a graph shows that they are a softmax or sigmoid, the logits are
taken in their place, which loses nothing.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.keras.losses.formulas import EPSILON, floating
from situs._src.ops.array import expand_dims, shape, squeeze
from situs._src.ops.cast import cast
from situs._src.ops.compare import not_equal
from situs._src.ops.constant import zeros_like
from situs._src.ops.gather import where
from situs._src.ops.math import clip_by_value, divide, log, multiply, pow, sigmoid
from situs._src.ops.nn.activation import softmax
from situs._src.ops.nn.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from situs._src.ops.reduce import reduce_mean, reduce_sum

# Labels of 0 and 1.


@export(
    "losses.BCE",
    "losses.bce",
    "losses.binary_crossentropy",
    "metrics.BCE",
    "metrics.bce",
    "metrics.binary_crossentropy",
    "keras.losses.BCE",
    "keras.losses.bce",
    "keras.losses.binary_crossentropy",
    "keras.metrics.BCE",
    "keras.metrics.bce",
    "keras.metrics.binary_crossentropy",
    v1=(),
)
def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: Any = -1
) -> Tensor:
    """The mean cross entropy of labels of 0 and 1, for each sample.

    Args:
        y_true: The labels.
        y_pred: Probabilities of 1, or their logits.
        from_logits: Whether they are logits.
        label_smoothing: How far labels move from 0 and 1 towards a half.
        axis: The axis over which the mean is taken.
    """
    y_pred = floating(y_pred)
    labels = _towards_half(floating(y_true, y_pred.dtype), label_smoothing)
    return reduce_mean(_binary(labels, y_pred, from_logits), axis=axis)


@export(
    "losses.binary_focal_crossentropy",
    "metrics.binary_focal_crossentropy",
    "keras.losses.binary_focal_crossentropy",
    "keras.metrics.binary_focal_crossentropy",
    v1=(),
)
def binary_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    apply_class_balancing: bool = False,
    alpha: float = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """The cross entropy of labels of 0 and 1, less for what is predicted well already.

    Args:
        y_true: The labels.
        y_pred: Probabilities of 1, or their logits.
        apply_class_balancing: Whether the two classes are weighted.
        alpha: The weight of class 1; that of class 0 is the rest.
        gamma: How much less good predictions count.
        from_logits: Whether predictions are logits.
        label_smoothing: How far labels move from 0 and 1 towards a half.
        axis: The axis over which the mean is taken.
    """
    y_pred = floating(y_pred)
    labels = _towards_half(floating(y_true, y_pred.dtype), label_smoothing)
    chance = sigmoid(y_pred) if from_logits else y_pred
    right = labels * chance + (1.0 - labels) * (1.0 - chance)
    cost = multiply(pow(1.0 - right, gamma), _binary_of_probabilities(labels, chance))
    if apply_class_balancing:
        cost = multiply(labels * alpha + (1.0 - labels) * (1.0 - alpha), cost)
    return reduce_mean(cost, axis=axis)


def _binary(labels: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    _check_same(labels.shape, y_pred.shape)
    logits = y_pred if from_logits else _behind(y_pred, "Sigmoid")
    if logits is not None:
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return _binary_of_probabilities(labels, y_pred)


def _binary_of_probabilities(labels: Tensor, y_pred: Tensor) -> Tensor:
    chance = clip_by_value(y_pred, EPSILON, 1.0 - EPSILON)
    return -(labels * log(chance) + (1.0 - labels) * log(1.0 - chance))


def _towards_half(labels: Tensor, amount: float) -> Tensor:
    return labels * (1.0 - amount) + 0.5 * amount if amount else labels


# Labels with a one for the true class.


@export(
    "losses.categorical_crossentropy",
    "metrics.categorical_crossentropy",
    "keras.losses.categorical_crossentropy",
    "keras.metrics.categorical_crossentropy",
    v1=(),
)
def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: Any = -1
) -> Tensor:
    """The cross entropy of labels that have a one for the true class, for each sample.

    Args:
        y_true: The labels.
        y_pred: Probabilities of the classes, or their logits.
        from_logits: Whether they are logits.
        label_smoothing: How much of a label is spread over all classes.
        axis: The axis of the classes.
    """
    y_pred, labels = _categorical(y_true, y_pred, label_smoothing, axis)
    logits = y_pred if from_logits else _behind(y_pred, "Softmax", axis)
    if logits is not None:
        return softmax_cross_entropy_with_logits(labels, logits, axis)
    return -reduce_sum(labels * log(_chances(y_pred, axis)), axis=axis)


@export(
    "losses.categorical_focal_crossentropy",
    "metrics.categorical_focal_crossentropy",
    "keras.losses.categorical_focal_crossentropy",
    "keras.metrics.categorical_focal_crossentropy",
    v1=(),
)
def categorical_focal_crossentropy(
    y_true: Any,
    y_pred: Any,
    alpha: Any = 0.25,
    gamma: float = 2.0,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: Any = -1,
) -> Tensor:
    """The cross entropy of labels that have a one for the true class, less for what is predicted well already.

    Args:
        y_true: The labels.
        y_pred: Probabilities of the classes, or their logits.
        alpha: A weight, or one for each class.
        gamma: How much less good predictions count.
        from_logits: Whether predictions are logits.
        label_smoothing: How much of a label is spread over all classes.
        axis: The axis of the classes.
    """
    y_pred, labels = _categorical(y_true, y_pred, label_smoothing, axis)
    chance = _chances(softmax(y_pred, axis=axis) if from_logits else y_pred, axis)
    weight = multiply(pow(1.0 - chance, gamma), alpha)
    return reduce_sum(weight * (-labels * log(chance)), axis=axis)


def _categorical(y_true: Any, y_pred: Any, smoothing: float, axis: Any) -> tuple[Tensor, Tensor]:
    if isinstance(axis, bool):
        raise ArgumentError(f"`axis` must be of type `int`. Received: axis={axis} of type {type(axis)}")
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    _check_same(labels.shape, y_pred.shape)
    if smoothing:
        classes = cast(shape(labels)[-1], y_pred.dtype)
        labels = labels * (1.0 - smoothing) + smoothing / classes
    return y_pred, labels


def _chances(y_pred: Tensor, axis: Any) -> Tensor:
    """Probabilities that sum to one, and are neither 0 nor 1."""
    parts: Tensor = divide(y_pred, reduce_sum(y_pred, axis=axis, keepdims=True))
    return cast(clip_by_value(parts, EPSILON, 1.0 - EPSILON), y_pred.dtype)


def _check_same(labels: TensorShape, y_pred: TensorShape) -> None:
    if not labels.is_compatible_with(y_pred):
        raise ArgumentError(
            "Arguments `target` and `output` must have the same shape. Received: "
            f"target.shape={labels}, output.shape={y_pred}"
        )


# Labels that are numbers of classes.


@export(
    "losses.sparse_categorical_crossentropy",
    "metrics.sparse_categorical_crossentropy",
    "keras.losses.sparse_categorical_crossentropy",
    "keras.metrics.sparse_categorical_crossentropy",
    v1=(),
)
def sparse_categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, ignore_class: int | None = None, axis: Any = -1
) -> Tensor:
    """The cross entropy of labels that are numbers of classes, for each sample.

    Args:
        y_true: The numbers.
        y_pred: Probabilities of the classes, or their logits.
        from_logits: Whether they are logits.
        ignore_class: A number that costs nothing.
        axis: The axis of the classes: the last.
    """
    scores = floating(y_pred)
    labels = _numbers(y_true, scores, axis)
    if ignore_class is None:
        return _sparse(labels, scores, from_logits)
    counted = not_equal(labels, ignore_class)
    seen = where(expand_dims(counted, -1), scores, zeros_like(scores))
    cost = _sparse(where(counted, labels, zeros_like(labels)), seen, from_logits)
    return where(counted, cost, zeros_like(cost))


def counted_labels(y_true: Any, y_pred: Any, ignore_class: int | None, axis: Any = -1) -> Tensor | None:
    """Which labels are not of the class to be ignored; None if all count."""
    if ignore_class is None:
        return None
    return not_equal(_numbers(y_true, floating(y_pred), axis), ignore_class)


def _numbers(y_true: Any, y_pred: Tensor, axis: Any) -> Tensor:
    labels = cast(y_true, dt.int64)
    dims = labels.shape
    if axis not in (-1, (y_pred.shape.rank or 0) - 1):
        raise ArgumentError(f"Only axis=-1 is currently supported. Received: axis={axis}")
    if dims.rank is not None and dims.rank == y_pred.shape.rank and dims[-1] == 1:
        labels = squeeze(labels, [-1])
    if y_pred.shape.rank == 0 or not labels.shape.is_compatible_with(y_pred.shape[:-1]):
        raise ArgumentError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={labels.shape}, output.shape={y_pred.shape}"
        )
    return labels


def _sparse(labels: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    logits = y_pred if from_logits else _behind(y_pred, "Softmax")
    if logits is None:
        logits = log(clip_by_value(y_pred, EPSILON, 1.0 - EPSILON))
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _behind(y_pred: Tensor, kind: str, axis: int = -1) -> Tensor | None:
    """The logits that a graph computes probabilities from, if it does so by an op of this kind."""
    if not isinstance(y_pred, SymbolicTensor) or y_pred.op.type != kind:
        return None
    if kind == "Softmax" and y_pred.op.get_attr("axis") not in (axis, axis - (y_pred.shape.rank or 0)):
        return None
    return y_pred.op.inputs[0]
