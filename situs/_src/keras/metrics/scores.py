"""Scores of columns: F-scores of classes, and the part of the variance of labels that predictions explain."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.metrics.base import Metric
from situs._src.ops.array import broadcast_to, expand_dims, shape, size
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, greater_equal, logical_and
from situs._src.ops.constant import constant, zeros_like
from situs._src.ops.gather import where
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import is_inf, multiply, square
from situs._src.ops.reduce import reduce_max, reduce_mean, reduce_sum

_TINY = 1e-7


def _columns(named: str, labels: Tensor, predictions: Tensor) -> int:
    """How many columns labels and predictions have."""
    wide = predictions.shape
    if labels.shape.rank != 2 or wide.rank != 2 or wide[-1] is None or not labels.shape.is_compatible_with(wide):
        raise ArgumentError(
            f"{named} expects 2D inputs with shape (batch_size, output_dim), with output_dim fully defined (not None). "
            f"Received input shapes: y_pred.shape={wide} and y_true.shape={labels.shape}."
        )
    return wide[-1]


@export("metrics.FBetaScore", "keras.metrics.FBetaScore", v1=())
class FBetaScore(Metric):
    """The weighted harmonic mean of precision and recall.

    Args:
        average: None for the score of each class; ``"micro"`` for that of all together, ``"macro"`` for the mean over
            classes, ``"weighted"`` for the mean by how often classes are true.
        beta: How much more recall counts than precision.
        threshold: Above it, scores are positive; by default only the highest of a row is.
        name: A name.
        dtype: The dtype of the result.
    """

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = "fbeta_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        if average not in (None, "micro", "macro", "weighted"):
            raise ArgumentError(
                "Invalid `average` argument value. Expected one of: {None, 'micro', 'macro', 'weighted'}. Received: "
                f"average={shown(average)}"
            )
        if not isinstance(beta, float) or not beta > 0.0:
            raise ArgumentError(f"Invalid `beta` argument value. It is a float > 0. Received: beta={beta!r}")
        if threshold is not None and not (isinstance(threshold, float) and 0.0 < threshold <= 1.0):
            raise ArgumentError(
                "Invalid `threshold` argument value. It should verify 0 < threshold <= 1. Received: "
                f"threshold={shown(threshold)}"
            )
        self.average = average
        self.beta = beta
        self.threshold = threshold
        self._built = False

    def _build(self, columns: int) -> None:
        size = () if self.average == "micro" else (columns,)
        self.true_positives = self.add_variable(size, "zeros", self._dtype, name="true_positives")
        self.false_positives = self.add_variable(size, "zeros", self._dtype, name="false_positives")
        self.false_negatives = self.add_variable(size, "zeros", self._dtype, name="false_negatives")
        self.intermediate_weights = self.add_variable(size, "zeros", self._dtype, name="intermediate_weights")
        self._built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and scores, one column for each class."""
        labels, scores = floating(y_true, self._dtype), floating(y_pred, self._dtype)
        columns = _columns(type(self).__name__, labels, scores)
        if not self._built:
            self._build(columns)
        chosen = cast(self._chosen(scores), self._dtype)
        weight = None if sample_weight is None else expand_dims(floating(sample_weight, self._dtype), 1)
        self._add(self.true_positives, chosen * labels, weight)
        self._add(self.false_positives, chosen * (1.0 - labels), weight)
        self._add(self.false_negatives, (1.0 - chosen) * labels, weight)
        self._add(self.intermediate_weights, labels, weight)

    def _chosen(self, scores: Tensor) -> Tensor:
        if self.threshold is not None:
            return greater(scores, self.threshold)
        highest = greater_equal(scores, reduce_max(scores, axis=-1, keepdims=True))
        return logical_and(highest, greater(absolute(scores), 1e-9))

    def _add(self, variable: Any, values: Tensor, weight: Tensor | None) -> None:
        values = values if weight is None else multiply(values, weight)
        variable.assign_add(reduce_sum(values, axis=None if self.average == "micro" else 0))

    def result(self) -> Tensor:
        """The score so far."""
        if not self._built:
            return constant(0.0, self._dtype)
        found: Tensor = read(self.true_positives)
        weights: Tensor = read(self.intermediate_weights)
        precision = found / (found + self.false_positives + _TINY)
        recall = found / (found + self.false_negatives + _TINY)
        more = self.beta**2
        scores: Tensor = (1.0 + more) * precision * recall / (more * precision + recall + _TINY)
        if self.average is None:
            return scores
        if self.average == "weighted":
            return reduce_sum(scores * (weights / (reduce_sum(weights) + _TINY)))
        return reduce_mean(scores)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**super().get_config(), "average": self.average, "beta": self.beta, "threshold": self.threshold}


@export("metrics.F1Score", "keras.metrics.F1Score", v1=())
class F1Score(FBetaScore):
    """The harmonic mean of precision and recall; the arguments are those of `FBetaScore`."""

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = "f1_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {name: value for name, value in super().get_config().items() if name != "beta"}


@export("metrics.R2Score", "keras.metrics.R2Score", v1=())
class R2Score(Metric):
    """The part of the variance of labels that predictions explain: 1 at best, 0 for the mean of the labels.

    Args:
        class_aggregation: ``"uniform_average"`` for the mean over columns, ``"variance_weighted_average"`` for that by
            their variances, None for the score of each.
        num_regressors: For how many independent variables the score is adjusted.
        name: A name.
        dtype: The dtype of the result.
    """

    def __init__(
        self,
        class_aggregation: str | None = "uniform_average",
        num_regressors: int = 0,
        name: str | None = "r2_score",
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        known = (None, "uniform_average", "variance_weighted_average")
        if class_aggregation not in known:
            raise ArgumentError(
                f"Invalid value for argument `class_aggregation`. Expected one of {known}. Received: "
                f"class_aggregation={shown(class_aggregation)}"
            )
        if as_int(num_regressors, "num_regressors") < 0:
            raise ArgumentError(
                "Invalid value for argument `num_regressors`. Expected a value >= 0. Received: "
                f"num_regressors={num_regressors}"
            )
        self.class_aggregation = class_aggregation
        self.num_regressors = num_regressors
        self.num_samples = self.add_variable(name="num_samples")
        self._built = False

    def _build(self, columns: int) -> None:
        self.squared_sum = self.add_variable((columns,), name="squared_sum")
        self.sum = self.add_variable((columns,), name="sum")
        self.total_mse = self.add_variable((columns,), name="residual")
        self.count = self.add_variable((columns,), name="count")
        self._built = True

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and predictions, one column for each variable."""
        labels, predictions = same_rank(floating(y_true, dt.float32), floating(y_pred, dt.float32))
        columns = _columns("R2Score", labels, predictions)
        if not self._built:
            self._build(columns)
        weight = floating(1.0 if sample_weight is None else sample_weight, dt.float32)
        weight = broadcast_to(expand_dims(weight, 1) if weight.shape.rank == 1 else weight, shape(labels))
        self.sum.assign_add(reduce_sum(labels * weight, axis=0))
        self.squared_sum.assign_add(reduce_sum(square(labels) * weight, axis=0))
        self.total_mse.assign_add(reduce_sum(square(labels - predictions) * weight, axis=0))
        self.count.assign_add(reduce_sum(weight, axis=0))
        self.num_samples.assign_add(cast(size(labels), dt.float32))

    def result(self) -> Tensor:
        """The score so far."""
        if not self._built:
            return constant(0.0)
        total = read(self.sum)
        variance = read(self.squared_sum) - total * (total / read(self.count))
        scores = 1.0 - read(self.total_mse) / variance
        scores = where(is_inf(scores), zeros_like(scores), scores)
        return self._adjusted(self._aggregated(scores, variance))

    def _aggregated(self, scores: Tensor, variance: Tensor) -> Tensor:
        if self.class_aggregation is None:
            return scores
        if self.class_aggregation == "uniform_average":
            return reduce_mean(scores)
        return reduce_sum(variance * scores) / reduce_sum(variance)

    def _adjusted(self, score: Tensor) -> Tensor:
        """The score for so many regressors; as it is, if there are not enough samples for them."""
        if not self.num_regressors:
            return score
        samples = read(self.num_samples)
        rest = samples - self.num_regressors - 1.0
        return where(greater(rest, 0.0), 1.0 - (1.0 - score) * (samples - 1.0) / rest, score)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        details = {"class_aggregation": self.class_aggregation, "num_regressors": self.num_regressors}
        return {**super().get_config(), **details}
