"""Means of the formulas that losses have: errors, cross entropies, margins."""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.losses import cross_entropy, formulas
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.metrics.reduction import FormulaMetric, Mean
from situs._src.ops.cast import cast
from situs._src.ops.math import multiply, sqrt, squared_difference

# Errors.


@export("metrics.MeanSquaredError", "keras.metrics.MeanSquaredError", v1=())
class MeanSquaredError(FormulaMetric, formula=formulas.mean_squared_error):
    """The mean of squared differences."""


@export("metrics.MeanAbsoluteError", "keras.metrics.MeanAbsoluteError", v1=())
class MeanAbsoluteError(FormulaMetric, formula=formulas.mean_absolute_error):
    """The mean of absolute differences."""


@export("metrics.MeanAbsolutePercentageError", "keras.metrics.MeanAbsolutePercentageError", v1=())
class MeanAbsolutePercentageError(FormulaMetric, formula=formulas.mean_absolute_percentage_error):
    """The mean of absolute differences in per cent of the labels."""


@export("metrics.MeanSquaredLogarithmicError", "keras.metrics.MeanSquaredLogarithmicError", v1=())
class MeanSquaredLogarithmicError(FormulaMetric, formula=formulas.mean_squared_logarithmic_error):
    """The mean of squared differences of ``log(1 + x)``."""


@export("metrics.LogCoshError", "keras.metrics.LogCoshError", v1=())
class LogCoshError(FormulaMetric, formula=formulas.log_cosh, called="logcosh"):
    """The mean of the logarithm of the hyperbolic cosine of differences."""


@export("metrics.RootMeanSquaredError", "keras.metrics.RootMeanSquaredError", v1=())
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


@export("metrics.CosineSimilarity", "keras.metrics.CosineSimilarity", v1=())
class CosineSimilarity(FormulaMetric, formula=formulas.cosine, called="cosine_similarity"):
    """The mean of the cosine of the angle between labels and predictions."""

    def __init__(self, name: str | None = None, dtype: Any = None, axis: Any = -1) -> None:
        super().__init__(name, dtype, axis=axis)


@export("metrics.KLDivergence", "keras.metrics.KLDivergence", v1=())
class KLDivergence(FormulaMetric, formula=formulas.kl_divergence):
    """How far predicted probabilities are from the true ones, in the mean."""


@export("metrics.Poisson", "keras.metrics.Poisson", v1=())
class Poisson(FormulaMetric, formula=formulas.poisson):
    """What predicted rates cost when counts are as the labels say, in the mean."""


@export("metrics.Hinge", "keras.metrics.Hinge", v1=())
class Hinge(FormulaMetric, formula=formulas.hinge):
    """How much predictions fall short of a margin of one, in the mean."""


@export("metrics.SquaredHinge", "keras.metrics.SquaredHinge", v1=())
class SquaredHinge(FormulaMetric, formula=formulas.squared_hinge):
    """How much predictions fall short of a margin of one, squared, in the mean."""


@export("metrics.CategoricalHinge", "keras.metrics.CategoricalHinge", v1=())
class CategoricalHinge(FormulaMetric, formula=formulas.categorical_hinge):
    """How little the true class's prediction exceeds those of the others, in the mean."""


# Cross entropies.


@export("metrics.BinaryCrossentropy", "keras.metrics.BinaryCrossentropy", v1=())
class BinaryCrossentropy(FormulaMetric, formula=cross_entropy.binary_crossentropy):
    """The mean cross entropy of labels of 0 and 1."""

    def __init__(
        self, name: str | None = None, dtype: Any = None, from_logits: bool = False, label_smoothing: float = 0
    ) -> None:
        super().__init__(name, dtype, from_logits=from_logits, label_smoothing=label_smoothing)


@export("metrics.CategoricalCrossentropy", "keras.metrics.CategoricalCrossentropy", v1=())
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


@export("metrics.SparseCategoricalCrossentropy", "keras.metrics.SparseCategoricalCrossentropy", v1=())
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
