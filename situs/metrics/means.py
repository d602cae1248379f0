"""Means of the formulas that losses have: errors, cross entropies, margins."""

from __future__ import annotations

from typing import Any

from situs.losses import cross_entropy, formulas
from situs.losses.formulas import floating, same_rank
from situs.metrics.reduction import FormulaMetric, Mean
from situs.ops.cast import cast
from situs.ops.math import multiply, sqrt, squared_difference
from situs.tensor import Tensor

# Errors.


class MeanSquaredError(FormulaMetric, formula=formulas.mean_squared_error):
    """The mean of squared differences."""


class MeanAbsoluteError(FormulaMetric, formula=formulas.mean_absolute_error):
    """The mean of absolute differences."""


class MeanAbsolutePercentageError(FormulaMetric, formula=formulas.mean_absolute_percentage_error):
    """The mean of absolute differences in per cent of the labels."""


class MeanSquaredLogarithmicError(FormulaMetric, formula=formulas.mean_squared_logarithmic_error):
    """The mean of squared differences of ``log(1 + x)``."""


class LogCoshError(FormulaMetric, formula=formulas.log_cosh, called="logcosh"):
    """The mean of the logarithm of the hyperbolic cosine of differences."""


class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences."""

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Adds labels and predictions."""
        labels, predictions = same_rank(floating(y_true, self._dtype), floating(y_pred, self._dtype))
        super().update_state(squared_difference(labels, predictions), sample_weight)

    def result(self) -> Tensor:
        """The root so far."""
        return sqrt(super().result())


# Directions, distributions, margins.


class CosineSimilarity(FormulaMetric, formula=formulas.cosine, called="cosine_similarity"):
    """The mean of the cosine of the angle between labels and predictions."""

    def __init__(self, name: str | None = None, dtype: Any = None, axis: Any = -1) -> None:
        super().__init__(name, dtype, axis=axis)


class KLDivergence(FormulaMetric, formula=formulas.kl_divergence):
    """How far predicted probabilities are from the true ones, in the mean."""


class Poisson(FormulaMetric, formula=formulas.poisson):
    """What predicted rates cost when counts are as the labels say, in the mean."""


class Hinge(FormulaMetric, formula=formulas.hinge):
    """How much predictions fall short of a margin of one, in the mean."""


class SquaredHinge(FormulaMetric, formula=formulas.squared_hinge):
    """How much predictions fall short of a margin of one, squared, in the mean."""


class CategoricalHinge(FormulaMetric, formula=formulas.categorical_hinge):
    """How little the true class's prediction exceeds those of the others, in the mean."""


# Cross entropies.


class BinaryCrossentropy(FormulaMetric, formula=cross_entropy.binary_crossentropy):
    """The mean cross entropy of labels of 0 and 1."""

    def __init__(
        self, name: str | None = None, dtype: Any = None, from_logits: bool = False, label_smoothing: float = 0
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


class CategoricalCrossentropy(FormulaMetric, formula=cross_entropy.categorical_crossentropy):
    """The mean cross entropy of labels that have a one for the true class."""

    def __init__(
        self,
        name: str | None = None,
        dtype: Any = None,
        from_logits: bool = False,
        label_smoothing: float = 0,
        axis: Any = -1,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing, axis=axis)


class SparseCategoricalCrossentropy(FormulaMetric, formula=cross_entropy.sparse_categorical_crossentropy):
    """The mean cross entropy of labels that are numbers of classes."""

    def __init__(
        self,
        name: str | None = None,
        dtype: Any = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: Any = -1,
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, ignore_class=ignore_class, axis=axis)
        self.ignore_class = ignore_class

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:  # type: ignore[override]
        """Adds labels and predictions; with weights, those of the ignored class weigh nothing."""
        counted = cross_entropy.counted_labels(y_true, y_pred, self.ignore_class)
        if sample_weight is not None and counted is not None:
            sample_weight = multiply(*same_rank(cast(counted, self._dtype), floating(sample_weight, self._dtype)))
        super().update_state(y_true, y_pred, sample_weight)
