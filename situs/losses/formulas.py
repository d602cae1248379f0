"""What a prediction costs: the formulas of losses and metrics, one number for each sample.

    mean_squared_error([[0., 1.]], [[0., 3.]])     [2.]

Predictions say the dtype: labels are cast to it, whole numbers become float32. Labels and predictions that differ by a
last dimension of one are made to fit. Everything is built of ops, so gradients come by themselves.
"""

from __future__ import annotations

import math
from typing import Any

from situs import dtype as dt
from situs.ops.array import expand_dims, squeeze
from situs.ops.cast import cast
from situs.ops.compare import equal, less_equal, logical_or
from situs.ops.constant import constant, convert_to_tensor
from situs.ops.gather import where
from situs.ops.math import abs as absolute
from situs.ops.math import clip_by_value, divide, log, maximum, multiply, rsqrt, square, subtract
from situs.ops.nn.activation import softplus
from situs.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from situs.tensor import Tensor, read

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


def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of squared differences, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(square(subtract(y_true, y_pred)), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of absolute differences, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_mean(absolute(subtract(y_true, y_pred)), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of absolute differences in per cent of the labels, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    parts = divide(subtract(y_true, y_pred), maximum(absolute(y_true), EPSILON))
    return multiply(reduce_mean(absolute(parts), axis=-1), 100.0)


def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of squared differences of ``log(1 + x)``, for each sample; what is negative counts as nothing."""
    y_true, y_pred = pair(y_true, y_pred)
    difference = subtract(log(maximum(y_pred, EPSILON) + 1.0), log(maximum(y_true, EPSILON) + 1.0))
    return reduce_mean(square(difference), axis=-1)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """The mean of differences, squared up to `delta` and linear from there, for each sample."""
    y_true, y_pred = pair(y_true, y_pred)
    size = absolute(subtract(y_pred, y_true))
    cost = where(less_equal(size, delta), 0.5 * square(size), delta * size - 0.5 * delta * delta)
    return reduce_mean(cost, axis=-1)


def log_cosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``log(cosh(difference))``, for each sample: like huber, but smooth."""
    y_true, y_pred = pair(y_true, y_pred)
    x = subtract(y_pred, y_true)
    return reduce_mean(x + softplus(-2.0 * x) - math.log(2.0), axis=-1)


# Directions and distributions.


def cosine_similarity(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """The cosine of the angle between labels and predictions, with a minus: -1 where directions are the same."""
    return -cosine(y_true, y_pred, axis)


def cosine(y_true: Any, y_pred: Any, axis: Any = -1) -> Tensor:
    """The cosine of the angle between labels and predictions: 1 where directions are the same."""
    y_true, y_pred = pair(y_true, y_pred)
    return reduce_sum(multiply(_of_length_one(y_true, axis), _of_length_one(y_pred, axis)), axis=axis)


def _of_length_one(x: Tensor, axis: Any) -> Tensor:
    return multiply(x, rsqrt(maximum(reduce_sum(square(x), axis=axis, keepdims=True), EPSILON**2)))


def kl_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """How far predicted probabilities are from the true ones, for each sample: ``sum(p * log(p / q))``."""
    y_pred = floating(y_pred)
    p = clip_by_value(floating(y_true, y_pred.dtype), EPSILON, 1.0)
    q = clip_by_value(y_pred, EPSILON, 1.0)
    return reduce_sum(multiply(p, log(divide(p, q))), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``prediction - label * log(prediction)``, for each sample."""
    y_pred = floating(y_pred)
    counts = floating(y_true, y_pred.dtype)
    return reduce_mean(y_pred - counts * log(y_pred + EPSILON), axis=-1)


# Margins.


def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(1 - label * prediction, 0)``, for each sample; labels are -1 and 1, or 0 and 1."""
    return reduce_mean(_short_of_margin(y_true, y_pred), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of ``max(1 - label * prediction, 0)`` squared, for each sample."""
    return reduce_mean(square(_short_of_margin(y_true, y_pred)), axis=-1)


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


def dice(y_true: Any, y_pred: Any, axis: Any = None) -> Tensor:
    """One less how much of labels and predictions is common to both, over all axes or some."""
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    both = reduce_sum(labels * y_pred, axis=axis)
    return 1.0 - 2.0 * both / (reduce_sum(labels, axis=axis) + reduce_sum(y_pred, axis=axis) + EPSILON)


def tversky(y_true: Any, y_pred: Any, alpha: float = 0.5, beta: float = 0.5, axis: Any = None) -> Tensor:
    """Like `dice`, with a weight for what was missed (`alpha`) and one for what was predicted wrongly (`beta`)."""
    y_pred = floating(y_pred)
    labels = floating(y_true, y_pred.dtype)
    both = reduce_sum(labels * y_pred, axis=axis)
    missed = reduce_sum((1.0 - y_pred) * labels, axis=axis)
    wrong = reduce_sum(y_pred * (1.0 - labels), axis=axis)
    return 1.0 - both / (both + missed * alpha + wrong * beta + constant(EPSILON, y_pred.dtype))
