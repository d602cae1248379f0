"""The losses of ``tf.losses`` and ``tf.keras.losses``: a class for each formula.

A loss of one's own is a `LossFunctionWrapper` of a function, or a class that derives from `Loss`.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.losses import cross_entropy, formulas
from situs._src.keras.losses.base import FormulaLoss
from situs._src.ops.cast import cast

_MEAN = "sum_over_batch_size"


# Errors.


@export("losses.MeanSquaredError", "keras.losses.MeanSquaredError", v1=())
class MeanSquaredError(FormulaLoss, formula=formulas.mean_squared_error):
    """The mean of squared differences.

    Example:
        >>> import situs as tf
        >>> float(MeanSquaredError()([[0.0, 1.0]], [[0.0, 3.0]]))
        2.0
    """


@export("losses.MeanAbsoluteError", "keras.losses.MeanAbsoluteError", v1=())
class MeanAbsoluteError(FormulaLoss, formula=formulas.mean_absolute_error):
    """The mean of absolute differences."""


@export("losses.MeanAbsolutePercentageError", "keras.losses.MeanAbsolutePercentageError", v1=())
class MeanAbsolutePercentageError(FormulaLoss, formula=formulas.mean_absolute_percentage_error):
    """The mean of absolute differences in per cent of the labels."""


@export("losses.MeanSquaredLogarithmicError", "keras.losses.MeanSquaredLogarithmicError", v1=())
class MeanSquaredLogarithmicError(FormulaLoss, formula=formulas.mean_squared_logarithmic_error):
    """The mean of squared differences of ``log(1 + x)``."""


@export("losses.LogCosh", "keras.losses.LogCosh", v1=())
class LogCosh(FormulaLoss, formula=formulas.log_cosh):
    """The mean of the logarithm of the hyperbolic cosine of differences."""


@export("losses.Huber", "keras.losses.Huber", v1=())
class Huber(FormulaLoss, formula=formulas.huber, called="huber_loss"):
    """The mean of differences, squared up to `delta` and linear from there."""

    def __init__(self, delta: float = 1.0, reduction: Any = _MEAN, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(reduction, name, dtype, delta=delta)


# Directions, distributions, margins.


@export("losses.CosineSimilarity", "keras.losses.CosineSimilarity", v1=())
class CosineSimilarity(FormulaLoss, formula=formulas.cosine_similarity):
    """The cosine of the angle between labels and predictions, with a minus."""

    def __init__(self, axis: Any = -1, reduction: Any = _MEAN, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(reduction, name, dtype, axis=axis)


@export("losses.KLDivergence", "keras.losses.KLDivergence", v1=())
class KLDivergence(FormulaLoss, formula=formulas.kl_divergence):
    """How far predicted probabilities are from the true ones."""


@export("losses.Poisson", "keras.losses.Poisson", v1=())
class Poisson(FormulaLoss, formula=formulas.poisson):
    """What predicted rates cost when counts are as the labels say."""


@export("losses.Hinge", "keras.losses.Hinge", v1=())
class Hinge(FormulaLoss, formula=formulas.hinge):
    """How much predictions fall short of a margin of one."""


@export("losses.SquaredHinge", "keras.losses.SquaredHinge", v1=())
class SquaredHinge(FormulaLoss, formula=formulas.squared_hinge):
    """How much predictions fall short of a margin of one, squared."""


@export("losses.CategoricalHinge", "keras.losses.CategoricalHinge", v1=())
class CategoricalHinge(FormulaLoss, formula=formulas.categorical_hinge):
    """How little the true class's prediction exceeds those of the others."""


@export("losses.Dice", "keras.losses.Dice", v1=())
class Dice(FormulaLoss, formula=formulas.dice):
    """One less how much of labels and predictions is common to both."""

    def __init__(self, reduction: Any = _MEAN, name: str | None = None, axis: Any = None, dtype: Any = None) -> None:
        super().__init__(reduction, name, dtype, axis=axis)


@export("losses.Tversky", "keras.losses.Tversky", v1=())
class Tversky(FormulaLoss, formula=formulas.tversky):
    """Like `Dice`, with weights for what was missed and for what was predicted wrongly."""

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: Any = _MEAN,
        name: str | None = None,
        axis: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(reduction, name, dtype, alpha=alpha, beta=beta, axis=axis)


# Cross entropies.


@export("losses.BinaryCrossentropy", "keras.losses.BinaryCrossentropy", v1=())
class BinaryCrossentropy(FormulaLoss, formula=cross_entropy.binary_crossentropy):
    """The cross entropy of labels of 0 and 1."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Any = -1,
        reduction: Any = _MEAN,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        details = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(reduction, name, dtype, **details)
        self.from_logits = from_logits


@export("losses.CategoricalCrossentropy", "keras.losses.CategoricalCrossentropy", v1=())
class CategoricalCrossentropy(FormulaLoss, formula=cross_entropy.categorical_crossentropy):
    """The cross entropy of labels that have a one for the true class."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Any = -1,
        reduction: Any = _MEAN,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        details = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(reduction, name, dtype, **details)
        self.from_logits = from_logits


@export("losses.SparseCategoricalCrossentropy", "keras.losses.SparseCategoricalCrossentropy", v1=())
class SparseCategoricalCrossentropy(FormulaLoss, formula=cross_entropy.sparse_categorical_crossentropy):
    """The cross entropy of labels that are numbers of classes.

    Args:
        from_logits: Whether predictions are logits, rather than probabilities.
        ignore_class: A number of labels that do not count.
        reduction: See `Loss`.
        axis: The axis of the classes: the last.
        name: A name.
        dtype: See `Loss`.
    """

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: Any = _MEAN,
        axis: Any = -1,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        details = {"from_logits": from_logits, "ignore_class": ignore_class, "axis": axis}
        super().__init__(reduction, name, dtype, **details)
        self.from_logits = from_logits
        self.ignore_class = ignore_class

    def _labels(self, y_true: Any) -> Tensor:
        return cast(y_true, dt.int64)

    def _counted(self, y_true: Any, y_pred: Any) -> Tensor | None:
        return cross_entropy.counted_labels(y_true, y_pred, self.ignore_class)


@export("losses.BinaryFocalCrossentropy", "keras.losses.BinaryFocalCrossentropy", v1=())
class BinaryFocalCrossentropy(FormulaLoss, formula=cross_entropy.binary_focal_crossentropy):
    """The cross entropy of labels of 0 and 1, less for what is predicted well already."""

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Any = -1,
        reduction: Any = _MEAN,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        focus = {"apply_class_balancing": apply_class_balancing, "alpha": alpha, "gamma": gamma}
        details = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(reduction, name, dtype, **focus, **details)


@export("losses.CategoricalFocalCrossentropy", "keras.losses.CategoricalFocalCrossentropy", v1=())
class CategoricalFocalCrossentropy(FormulaLoss, formula=cross_entropy.categorical_focal_crossentropy):
    """The cross entropy of labels that have a one for the true class, less for what is predicted well already."""

    def __init__(
        self,
        alpha: Any = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: Any = -1,
        reduction: Any = _MEAN,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        details = {"from_logits": from_logits, "label_smoothing": label_smoothing, "axis": axis}
        super().__init__(reduction, name, dtype, alpha=alpha, gamma=gamma, **details)
