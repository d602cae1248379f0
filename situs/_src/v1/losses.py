"""The losses of TensorFlow 1: ``tf.losses.mean_squared_error`` and the like.

    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)     one number, in the collection LOSSES
    total = tf.losses.get_total_loss()                                all of that collection, and regularization

Losses are computed in float32, multiplied by weights, and by default divided by the number of nonzero weights.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike
from situs._src.ir.graph.context import control_dependencies, name_scope
from situs._src.ops.array import shape, size, stop_gradient
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, not_equal
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros_like
from situs._src.ops.gather import where
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import div_no_nan, log, maximum, minimum, multiply, square, squared_difference, subtract
from situs._src.ops.nn.activation import relu
from situs._src.ops.nn.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from situs._src.ops.reduce import reduce_sum
from situs._src.v1.loss_collection import add_loss
from situs._src.v1.ranks import squeezed_alike, weights_of_rows
from situs._src.v1.weights import broadcast_weights, checks
from situs._src.variables.collections import GraphKeys


@export(v1="losses.Reduction")
class Reduction:
    """How the costs of elements become one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key: object) -> None:
        """Refuses what is not one of them.

        Raises:
            ValueError: it is not one.
        """
        if key not in cls.all():
            raise ArgumentError(f"Invalid Reduction Key {shown(key)}. Key should be one of {cls.all()}.")


_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS
_LOSSES = GraphKeys.LOSSES


# Weights and reduction.


@export(v1="losses.compute_weighted_loss")
def compute_weighted_loss(
    losses: Any,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """Costs of elements, weighted and reduced to one number.

    Args:
        losses: The costs.
        weights: A number, or a tensor of the same rank whose dimensions are equal or one.
        scope: A name scope.
        loss_collection: The collection that the loss joins; None for none.
        reduction: One of `Reduction`.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss"), control_dependencies(checks(weights, losses)):
        losses = convert_to_tensor(losses)
        loss = _reduced(cast(losses, dt.float32), weights, reduction)
        loss = cast(loss, losses.dtype)
        add_loss(loss, loss_collection)
        return loss


def _reduced(losses: Tensor, weights: ArrayLike, reduction: str) -> Tensor:
    plain = isinstance(weights, (int, float)) and weights == 1  # the usual case: nothing to multiply or to count
    weight = cast(weights, dt.float32)
    weighted = losses if plain else multiply(losses, weight)
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.SUM_OVER_BATCH_SIZE or plain:
        count = cast(size(losses), dt.float32)
    elif reduction == Reduction.MEAN:
        count = reduce_sum(multiply(ones_like(losses), weight))
    else:
        count = reduce_sum(_present(losses, weight))
    return div_no_nan(total, count, name="value")


def _present(losses: Tensor, weight: Tensor) -> Tensor:
    """One where an element has a weight, zero where it has none."""
    return broadcast_weights(cast(not_equal(weight, 0.0), dt.float32), losses)


def _given(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ArgumentError(f"Argument `{name}` must not be None.")


def _floats(labels: ArrayLike, predictions: ArrayLike) -> tuple[Tensor, Tensor]:
    """Labels and predictions in float32, whose shapes fit."""
    predictions, labels = cast(predictions, dt.float32), cast(labels, dt.float32)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return labels, predictions


# Errors.


@export(v1="losses.mean_squared_error")
def mean_squared_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """Squared differences; the arguments after `predictions` are those of `compute_weighted_loss`."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error") as inside:
        labels, predictions = _floats(labels, predictions)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.absolute_difference")
def absolute_difference(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """Absolute differences; the arguments after `predictions` are those of `compute_weighted_loss`."""
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference") as inside:
        labels, predictions = _floats(labels, predictions)
        losses = absolute(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.huber_loss")
def huber_loss(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """Differences, half their square up to `delta` and linear from there.

    The other arguments are those of `compute_weighted_loss`.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss") as inside:
        labels, predictions = _floats(labels, predictions)
        distance = absolute(subtract(predictions, labels))
        near = minimum(distance, delta)
        losses = 0.5 * square(near) + delta * (distance - near)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.log_loss")
def log_loss(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of labels of 0 and 1 and of probabilities.

    `epsilon` keeps logarithms finite. The other arguments are those of `compute_weighted_loss`.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss") as inside:
        labels, predictions = _floats(labels, predictions)
        losses = -(labels * log(predictions + epsilon)) - (1.0 - labels) * log(1.0 - predictions + epsilon)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(
    v1="losses.mean_pairwise_squared_error",
    differs="With one number as weights, pairs are counted by row in eager code too, as in graphs; there TensorFlow "
    "counts those of the whole batch.",
)
def mean_pairwise_squared_error(
    labels: ArrayLike,
    predictions: ArrayLike,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Tensor:
    """How much the differences of two predictions of a row are unlike those of their labels, squared, over all pairs.

    `weights` are a number, or a tensor whose rank is that of the labels.
    """
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error"):
        labels, predictions = _floats(labels, predictions)
        weight = cast(weights, dt.float32)
        with control_dependencies(checks(weight, labels)):
            loss = _pairwise(subtract(predictions, labels), weight)
        add_loss(loss, loss_collection)
        return loss


def _pairwise(differences: Tensor, weight: Tensor) -> Tensor:
    rank = differences.shape.rank
    if rank is None:
        raise ArgumentError("tf.losses.mean_pairwise_squared_error needs labels whose rank is known.")
    axes = list(range(1, rank))
    count = reduce_sum(_present(differences, weight), axis=axes, keepdims=True)
    squares = reduce_sum(square(differences), axis=axes, keepdims=True)
    total = reduce_sum(differences, axis=axes, keepdims=True)
    within = div_no_nan(squares, maximum(count - 1.0, 0.0))
    between = div_no_nan(square(total), maximum(count * (count - 1.0), 0.0))
    loss = reduce_sum(multiply(2.0 * (within - between), weight))
    return where(greater(reduce_sum(count), 0.0), loss, zeros_like(loss))


@export(v1="losses.cosine_distance")
def cosine_distance(
    labels: ArrayLike,
    predictions: ArrayLike,
    axis: AxisLike | None = None,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
    dim: Any = None,
) -> Tensor:
    """One less the inner product of labels and predictions, which are taken to have length one.

    `axis`, formerly `dim`, is summed over. The other arguments are those of `compute_weighted_loss`.
    """
    if axis is not None and dim is not None:
        raise ArgumentError("Cannot specify both 'axis' and 'dim'.")
    axis = dim if axis is None else axis
    if axis is None:
        raise ArgumentError("You must specify argument `axis`.")
    _given(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss") as inside:
        labels, predictions = _floats(labels, predictions)
        losses = 1.0 - reduce_sum(multiply(predictions, labels), axis=[axis], keepdims=True)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


# Classes.


@export(v1="losses.hinge_loss")
def hinge_loss(
    labels: ArrayLike,
    logits: ArrayLike,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """How much logits fall short of a margin of one; labels are 0 and 1.

    The arguments after `logits` are those of `compute_weighted_loss`.
    """
    _given(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss") as inside:
        labels, logits = _floats(labels, logits)
        losses = relu(1.0 - (2.0 * labels - 1.0) * logits)
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: ArrayLike,
    weights: ArrayLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of labels of 0 and 1 for classes that do not exclude each other.

    `label_smoothing` moves labels towards a half. The other arguments are those of `compute_weighted_loss`.
    """
    _given(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss") as inside:
        logits = convert_to_tensor(logits)
        labels = cast(multi_class_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1.0 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any,
    logits: ArrayLike,
    weights: ArrayLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of labels that have a one for the true class; no gradient goes to the labels.

    `label_smoothing` spreads some of a label over all classes. The other arguments are those of
    `compute_weighted_loss`; there is one weight for each row.
    """
    _given(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss") as inside:
        logits = convert_to_tensor(logits)
        labels = cast(onehot_labels, logits.dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, weights, inside, loss_collection, reduction)


@export(v1="losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(
    labels: ArrayLike,
    logits: ArrayLike,
    weights: ArrayLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _BY_NONZERO,
) -> Tensor:
    """The cross entropy of labels that are numbers of classes.

    The arguments after `logits` are those of `compute_weighted_loss`; there is one weight for each row.
    """
    _given(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss") as inside:
        labels, logits = squeezed_alike(labels, logits, difference=1)
        if labels.dtype not in dt.INDEX:
            if labels.dtype not in dt.INTEGER:
                raise DTypeError(
                    f"Labels are numbers of classes, and integers; got {labels.dtype.name}. Use tf.cast, or "
                    "tf.losses.softmax_cross_entropy for labels with a one for the true class."
                )
            labels = cast(labels, dt.int64)
        losses = sparse_softmax_cross_entropy_with_logits(labels, logits, name="xentropy")
        return compute_weighted_loss(losses, _rows(weights, labels), inside, loss_collection, reduction)


def _rows(weights: ArrayLike, labels: Tensor) -> int | float | Tensor:
    """Weights without a last dimension of one that the labels do not have."""
    if isinstance(weights, (int, float)):
        return weights
    return weights_of_rows(weights, labels)
