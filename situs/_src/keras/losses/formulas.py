"""What a prediction costs: the formulas of losses and metrics, one number for each sample.

    mean_squared_error([[0., 1.]], [[0., 3.]])     [2.]

Predictions say the dtype: labels are cast to it, whole numbers become float32. Labels and predictions that differ by a
last dimension of one are made to fit. Everything is built of ops, so gradients come by themselves.
"""

from __future__ import annotations

import math
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.ops.array import expand_dims, squeeze
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, less_equal, logical_or
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.gather import where
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import clip_by_value, divide, log, maximum, multiply, rsqrt, square, subtract
from situs._src.ops.nn.activation import softplus
from situs._src.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum

EPSILON = 1e-7  # keeps logarithms and quotients finite, as in Keras


# What is predicted.


def floating(x: Any, dtype: Any = None) -> Tensor:
    """`x` as a tensor of floating-point numbers; of a dtype, if one is given."""
    x = read(x)
    if dtype is None:
        x = convert_to_tensor(x)
        dtype = x.dtype if x.dtype in dt.FLOATING else dt.float32
    return cast(x, dtype)


def pair(y_true: Any, y_pred: Any) -> tuple[Tensor, Tensor]:
    """Labels and predictions of one dtype and rank."""
    y_pred = floating(y_pred)
    return same_rank(floating(y_true, y_pred.dtype), y_pred)


def same_rank(a: Tensor, b: Tensor, keep_column: bool = True) -> tuple[Tensor, Tensor]:
    """Two tensors of one rank, if one has a last dimension of one more than the other.

    Args:
        a: A tensor.
        b: A tensor.
        keep_column: Whether a vector beside a column becomes a column, rather than the other way round.
    """
    ranks = a.shape.rank, b.shape.rank
    if ranks[0] is None or ranks[1] is None or abs(ranks[0] - ranks[1]) != 1:
        return a, b
    if ranks[0] < ranks[1]:
        b, a = same_rank(b, a, keep_column)
        return a, b
    if a.shape[-1] != 1:
        return a, b
    return (a, expand_dims(b, -1)) if ranks[1] == 1 and keep_column else (squeeze(a, [-1]), b)


# Errors.


@export(
    "losses.MSE",
    "losses.mean_squared_error",
    "losses.mse",
    "metrics.MSE",
    "metrics.mean_squared_error",
    "metrics.mse",
    "keras.losses.MSE",
    "keras.losses.mean_squared_error",
    "keras.losses.mse",
    "keras.metrics.MSE",
    "keras.metrics.mean_squared_error",
    "keras.metrics.mse",
    v1=(),
)
def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of squared differences, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(square(subtract(y_true, y_pred)), axis=-1)


@export(
    "losses.MAE",
    "losses.mae",
    "losses.mean_absolute_error",
    "metrics.MAE",
    "metrics.mae",
    "metrics.mean_absolute_error",
    "keras.losses.MAE",
    "keras.losses.mae",
    "keras.losses.mean_absolute_error",
    "keras.metrics.MAE",
    "keras.metrics.mae",
    "keras.metrics.mean_absolute_error",
    v1=(),
)
def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of absolute differences, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(absolute(subtract(y_true, y_pred)), axis=-1)


@export(
    "losses.MAPE",
    "losses.mape",
    "losses.mean_absolute_percentage_error",
    "metrics.MAPE",
    "metrics.mape",
    "metrics.mean_absolute_percentage_error",
    "keras.losses.MAPE",
    "keras.losses.mape",
    "keras.losses.mean_absolute_percentage_error",
    "keras.metrics.MAPE",
    "keras.metrics.mape",
    "keras.metrics.mean_absolute_percentage_error",
    v1=(),
)
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of absolute differences in per cent of the labels, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    parts = divide(subtract(y_true, y_pred), maximum(absolute(y_true), EPSILON))
    return multiply(reduce_mean(absolute(parts), axis=-1), 100.0)


@export(
    "losses.MSLE",
    "losses.mean_squared_logarithmic_error",
    "losses.msle",
    "metrics.MSLE",
    "metrics.mean_squared_logarithmic_error",
    "metrics.msle",
    "keras.losses.MSLE",
    "keras.losses.mean_squared_logarithmic_error",
    "keras.losses.msle",
    "keras.metrics.MSLE",
    "keras.metrics.mean_squared_logarithmic_error",
    "keras.metrics.msle",
    v1=(),
)
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of squared differences of ``log(1 + x)``, for each sample; what is negative counts as nothing."""
    y_true, y_pred = pair(y_true, y_pred)
    difference = subtract(log(maximum(y_pred, EPSILON) + 1.0), log(maximum(y_true, EPSILON) + 1.0))
    return reduce_mean(square(difference), axis=-1)


@export("losses.huber", "metrics.huber", "keras.losses.huber", "keras.metrics.huber", v1=())
def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """The mean of differences, squared up to `delta` and linear from there, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    size = absolute(subtract(y_pred, y_true))
    cost = where(less_equal(size, delta), 0.5 * square(size), delta * size - 0.5 * delta * delta)
    return reduce_mean(cost, axis=-1)


@export(
    "losses.log_cosh",
    "losses.logcosh",
    "metrics.log_cosh",
    "metrics.logcosh",
    "keras.losses.log_cosh",
    "keras.losses.logcosh",
    "keras.metrics.log_cosh",
    "keras.metrics.logcosh",
    v1=(),
)
def log_cosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``log(cosh(difference))``, for each sample: like huber, but smooth."""
    y_true, y_pred = pair(y_true, y_pred)
    x = subtract(y_pred, y_true)
    return reduce_mean(x + softplus(-2.0 * x) - math.log(2.0), axis=-1)


# Directions and distributions.


@export("losses.cosine_similarity", "keras.losses.cosine_similarity", v1=())
def cosine_similarity(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """The cosine of the angle between labels and predictions, with a minus: -1 where directions are the same."""
    return -cosine(y_true, y_pred, axis)


def cosine(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """The cosine of the angle between labels and predictions: 1 where directions are the same."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_sum(multiply(_of_length_one(y_true, axis), _of_length_one(y_pred, axis)), axis=axis)


def _of_length_one(x: Tensor, axis: Any) -> Tensor:
    return multiply(x, rsqrt(maximum(reduce_sum(square(x), axis=axis, keepdims=True), EPSILON**2)))


@export(
    "losses.KLD",
    "losses.kl_divergence",
    "losses.kld",
    "losses.kullback_leibler_divergence",
    "metrics.KLD",
    "metrics.kl_divergence",
    "metrics.kld",
    "metrics.kullback_leibler_divergence",
    "keras.losses.KLD",
    "keras.losses.kl_divergence",
    "keras.losses.kld",
    "keras.losses.kullback_leibler_divergence",
    "keras.metrics.KLD",
    "keras.metrics.kl_divergence",
    "keras.metrics.kld",
    "keras.metrics.kullback_leibler_divergence",
    v1=(),
)
def kl_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """How far predicted probabilities are from the true ones, for each sample: ``sum(p * log(p / q))``."""
    y_pred = floating(y_pred)
    p = clip_by_value(floating(y_true, y_pred.dtype), EPSILON, 1.0)
    q = clip_by_value(y_pred, EPSILON, 1.0)
    return reduce_sum(multiply(p, log(divide(p, q))), axis=-1)


@export("losses.poisson", "metrics.poisson", "keras.losses.poisson", "keras.metrics.poisson", v1=())
def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``prediction - label * log(prediction)``, for each sample."""
    y_pred = floating(y_pred)
    counts = floating(y_true, y_pred.dtype)
    return reduce_mean(y_pred - counts * log(y_pred + EPSILON), axis=-1)


# Margins.


@export("losses.hinge", "metrics.hinge", "keras.losses.hinge", "keras.metrics.hinge", v1=())
def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(1 - label * prediction, 0)``, for each sample; labels are -1 and 1, or 0 and 1."""
    return reduce_mean(_short_of_margin(y_true, y_pred), axis=-1)


@export(
    "losses.squared_hinge", "metrics.squared_hinge", "keras.losses.squared_hinge", "keras.metrics.squared_hinge", v1=()
)
def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(1 - label * prediction, 0)`` squared, for each sample."""
    return reduce_mean(square(_short_of_margin(y_true, y_pred)), axis=-1)


@export(
    "losses.categorical_hinge",
    "metrics.categorical_hinge",
    "keras.losses.categorical_hinge",
    "keras.metrics.categorical_hinge",
    v1=(),
)
def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """How little the true class's prediction exceeds the greatest of the others, for each sample."""
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    right = reduce_sum(labels * y_pred, axis=-1)
    wrong = reduce_max((1.0 - labels) * y_pred, axis=-1)
    return maximum(wrong - right + 1.0, 0.0)


def _short_of_margin(y_true: Any, y_pred: Any) -> Tensor:
    y_pred = floating(y_pred)
    labels = _signs(floating(y_true, y_pred.dtype))
    return maximum(1.0 - labels * y_pred, 0.0)


def _signs(labels: Tensor) -> Tensor:
    """Labels of 0 and 1 as -1 and 1; others as they are."""
    are_binary = reduce_all(logical_or(equal(labels, 0.0), equal(labels, 1.0)))
    return where(are_binary, 2.0 * labels - 1.0, labels)


# Overlap.


@export("losses.dice", "keras.losses.dice", v1=())
def dice(y_true: Any, y_pred: Any, axis: Any = None) -> Tensor:
    """One less how much of labels and predictions is common to both, over all axes or some."""
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    both = reduce_sum(labels * y_pred, axis=axis)
    return 1.0 - 2.0 * both / (reduce_sum(labels, axis=axis) + reduce_sum(y_pred, axis=axis) + EPSILON)


@export("losses.tversky", "keras.losses.tversky", v1=())
def tversky(y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None) -> Tensor:
    """Like `dice`, with a weight for what was missed (`alpha`) and one for what was predicted wrongly (`beta`)."""
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    both = reduce_sum(labels * y_pred, axis=axis)
    missed = reduce_sum((1.0 - y_pred) * labels, axis=axis)
    wrong = reduce_sum(y_pred * (1.0 - labels), axis=axis)
    return 1.0 - both / (both + missed * alpha + wrong * beta + constant(EPSILON, y_pred.dtype))
