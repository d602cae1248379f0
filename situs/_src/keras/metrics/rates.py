"""One rate where another has a given value: the greatest sensitivity of all thresholds with enough specificity, ..."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.metrics.buckets import Kind
from situs._src.keras.metrics.confusion import Counting
from situs._src.keras.metrics.curves import even_thresholds
from situs._src.ops.attribute import as_float, as_int
from situs._src.ops.compare import greater_equal
from situs._src.ops.constant import zeros_like
from situs._src.ops.gather import where
from situs._src.ops.reduce import reduce_max

_ALL: tuple[Kind, ...] = ("tp", "tn", "fp", "fn")


class RateAtRate(Counting):
    """The greatest value that one rate has where another is at least `value`.

    Args:
        named: The name of the other rate.
        value: What it is at least.
        num_thresholds: How many thresholds are tried.
        class_id: The only column that is looked at.
        name: A name.
        dtype: The dtype of the result.
    """

    def __init__(
        self,
        named: str,
        value: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        if not 0 <= as_float(value, named) <= 1:
            raise ArgumentError(f"Argument `{named}` must be in the range [0, 1]. Received: {named}={value}")
        if as_int(num_thresholds, "num_thresholds") <= 0:
            raise ArgumentError(
                f"Argument `num_thresholds` must be an integer > 0. Received: num_thresholds={num_thresholds}"
            )
        thresholds = [0.5] if num_thresholds == 1 else [0.0, *even_thresholds(num_thresholds), 1.0]
        super().__init__(_ALL, thresholds, class_id=class_id, name=name, dtype=dtype)
        self.thresholds = thresholds
        self.num_thresholds = num_thresholds
        self.value = value
        self._named = named

    def _greatest(self, rate: Tensor, where_at_least: Tensor) -> Tensor:
        allowed = greater_equal(where_at_least, self.value)
        return reduce_max(where(allowed, rate, zeros_like(rate)))

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        details = {"class_id": self.class_id, "num_thresholds": self.num_thresholds, self._named: self.value}
        return {**super().get_config(), **details}


@export("metrics.SensitivityAtSpecificity", "keras.metrics.SensitivityAtSpecificity", v1=())
class SensitivityAtSpecificity(RateAtRate):
    """The greatest part of positives that are found, where enough negatives are rejected."""

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("specificity", specificity, num_thresholds, class_id, name, dtype)
        self.specificity = specificity

    def result(self) -> Tensor:
        """The sensitivity so far."""
        return self._greatest(self._rate("tp", "fn"), self._rate("tn", "fp"))


@export("metrics.SpecificityAtSensitivity", "keras.metrics.SpecificityAtSensitivity", v1=())
class SpecificityAtSensitivity(RateAtRate):
    """The greatest part of negatives that are rejected, where enough positives are found."""

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("sensitivity", sensitivity, num_thresholds, class_id, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Tensor:
        """The specificity so far."""
        return self._greatest(self._rate("tn", "fp"), self._rate("tp", "fn"))


@export("metrics.PrecisionAtRecall", "keras.metrics.PrecisionAtRecall", v1=())
class PrecisionAtRecall(RateAtRate):
    """The greatest part of positive predictions that are right, where enough positives are found."""

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("recall", recall, num_thresholds, class_id, name, dtype)
        self.recall = recall

    def result(self) -> Tensor:
        """The precision so far."""
        return self._greatest(self._rate("tp", "fp"), self._rate("tp", "fn"))


@export("metrics.RecallAtPrecision", "keras.metrics.RecallAtPrecision", v1=())
class RecallAtPrecision(RateAtRate):
    """The greatest part of positives that are found, where enough positive predictions are right."""

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("precision", precision, num_thresholds, class_id, name, dtype)
        self.precision = precision

    def result(self) -> Tensor:
        """The recall so far."""
        return self._greatest(self._rate("tp", "fn"), self._rate("tp", "fp"))
