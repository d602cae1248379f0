"""Right and wrong predictions of two classes, counted at thresholds; precision and recall.

A prediction is positive if it is greater than the threshold. With ``top_k``, only the highest scores of a row can be
positive; with ``class_id``, only one column is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.metrics.base import Metric
from situs._src.keras.metrics.buckets import NAMES, Kind, bucket_of, count_kinds, in_given_order, order_of
from situs._src.ops.array import broadcast_to, expand_dims, reshape, shape
from situs._src.ops.cast import cast
from situs._src.ops.constant import zeros_like
from situs._src.ops.gather import one_hot, where
from situs._src.ops.math import ceil, clip_by_value, divide_no_nan, is_nan, maximum
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.search import top_k as top_k_of

_NEVER = -1e10  # the score of what is not among the highest


class Thresholds:
    """Thresholds, and the bucket of predictions between them; evenly spread ones are found by arithmetic."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = np.asarray(values, np.float32)
        self.number = len(self.values)
        self._order = order_of(self.values)
        places = np.arange(self.number, dtype=np.float32) / max(self.number - 1, 1)
        self._even = self.number > 2 and np.allclose(self.values, places, atol=1e-7)
        self._beyond = self._even and (values[0] < 0.0 or values[-1] > 1.0)

    def buckets(self, predictions: Tensor) -> Tensor:
        """How many thresholds each prediction is above; none, if it is NaN."""
        flat = reshape(predictions, [-1])
        found = self._by_arithmetic(flat) if self._even else bucket_of(flat, np.sort(self.values))
        return where(is_nan(flat), zeros_like(found), found)

    def _by_arithmetic(self, flat: Tensor) -> Tensor:
        above = ceil(clip_by_value(flat, 0.0, 1.0) * float(self.number - 1))
        return cast(maximum(above, 1.0) if self._beyond else above, dt.int32)

    def count(self, kinds: Sequence[Kind], labels: Tensor, weights: Tensor | None, predictions: Tensor) -> Any:
        """How many predictions of some kinds there are at each threshold, by kind."""
        counts = count_kinds(kinds, labels, weights, self.buckets(predictions), self.number)
        return {kind: in_given_order(found, self._order) for kind, found in counts.items()}


class Counting(Metric):
    """A metric that counts predictions of some kinds at thresholds.

    Args:
        kinds: Which predictions are counted: ``"tp"``, ``"fp"``, ``"tn"``, ``"fn"``.
        thresholds: The thresholds.
        top_k: How many of the highest scores of a row can be positive.
        class_id: The only column that is looked at.
        name: A name.
        dtype: The dtype of results.
    """

    def __init__(
        self,
        kinds: Sequence[Kind],
        thresholds: Sequence[float],
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(dtype, name)
        self._thresholds = Thresholds(thresholds)
        self._kinds = tuple(kinds)
        self.top_k = top_k
        self.class_id = class_id
        for kind in kinds:
            setattr(self, self._called(kind), self.add_variable((len(thresholds),), name=self._called(kind)))

    def _called(self, kind: Kind) -> str:
        return NAMES[kind]

    def _counted(self, kind: Kind) -> Tensor:
        """The counts of a kind so far."""
        return read(getattr(self, self._called(kind)))  # type: ignore[no-any-return]

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and predictions."""
        labels, scores, weight = self._chosen(y_true, y_pred, sample_weight)
        for kind, counts in self._thresholds.count(self._kinds, _ones(labels), weight, scores).items():
            getattr(self, self._called(kind)).assign_add(counts)

    def _chosen(self, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Tensor, Tensor, Tensor | None]:
        """Labels, scores and weights of what is looked at."""
        scores, labels = same_rank(floating(y_pred, dt.float32), floating(y_true, dt.float32))
        weight = None if sample_weight is None else _beside(labels, floating(sample_weight, dt.float32))
        if self.top_k is not None:
            scores = _only_highest(scores, self.top_k)
        if self.class_id is not None:
            labels, scores = _column(labels, self.class_id), _column(scores, self.class_id)
        if not labels.shape.is_compatible_with(scores.shape):
            raise ArgumentError(f"Shapes {scores.shape} and {labels.shape} are incompatible")
        return labels, scores, None if weight is None else reshape(broadcast_to(weight, shape(scores)), [-1])

    def _one_or_all(self, values: Tensor) -> Tensor:
        return values[0] if self._thresholds.number == 1 else values

    def _rate(self, part: Kind, rest: Kind) -> Tensor:
        """How much of two kinds one is, at each threshold."""
        found = self._counted(part)
        return divide_no_nan(found, found + self._counted(rest))


def _ones(labels: Tensor) -> Tensor:
    """A vector of ones where labels are not zero."""
    return reshape(cast(cast(labels, dt.bool), dt.float32), [-1])


def _beside(labels: Tensor, weight: Tensor) -> Tensor:
    """A weight for each sample with a last dimension of one, if labels have more than one dimension."""
    return same_rank(labels, expand_dims(weight, -1), keep_column=False)[1]


def _only_highest(scores: Tensor, number: int) -> Tensor:
    places = top_k_of(scores, number)[1]
    kept = reduce_sum(one_hot(places, shape(scores)[-1]), axis=-2)
    return scores * kept + _NEVER * (1.0 - kept)


def _column(x: Tensor, class_id: int) -> Tensor:
    if x.shape.rank == 1:
        raise ArgumentError(
            "When class_id is provided, y_pred must be a 2D array with shape (num_samples, num_classes), found shape: "
            f"{x.shape}"
        )
    return expand_dims(x[..., class_id], -1)


def checked_thresholds(thresholds: Any, default: float = 0.5) -> list[float]:
    """Thresholds as a list.

    Raises:
        ValueError: one of them is not in [0, 1].
    """
    if thresholds is None:
        return [default]
    found = list(thresholds) if isinstance(thresholds, (list, tuple, np.ndarray)) else [thresholds]
    try:
        bad = [threshold for threshold in found if threshold is None or not 0 <= threshold <= 1]
    except TypeError:
        raise DTypeError(f"Thresholds are numbers in [0, 1], got {shown(thresholds)}.") from None
    if bad or not found:
        raise ArgumentError(f"Threshold values must be in [0, 1]. Received: {bad}")
    return found


# One kind.


class _Count(Counting):
    _kind: ClassVar[Kind]

    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds)
        super().__init__([self._kind], self.thresholds, name=name, dtype=dtype)

    def _called(self, kind: Kind) -> str:
        return "accumulator"

    def result(self) -> Tensor:
        """How many there are so far; at each threshold, if there are several."""
        return self._one_or_all(self._counted(self._kind))

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


@export("metrics.TruePositives", "keras.metrics.TruePositives", v1=())
class TruePositives(_Count):
    """How many positive predictions are right."""

    _kind = "tp"


@export("metrics.TrueNegatives", "keras.metrics.TrueNegatives", v1=())
class TrueNegatives(_Count):
    """How many negative predictions are right."""

    _kind = "tn"


@export("metrics.FalsePositives", "keras.metrics.FalsePositives", v1=())
class FalsePositives(_Count):
    """How many positive predictions are wrong."""

    _kind = "fp"


@export("metrics.FalseNegatives", "keras.metrics.FalseNegatives", v1=())
class FalseNegatives(_Count):
    """How many negative predictions are wrong."""

    _kind = "fn"


# Two kinds.


class _Part(Counting):
    _rest: ClassVar[Kind]

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.init_thresholds = thresholds
        self.thresholds = checked_thresholds(thresholds, 0.5 if top_k is None else _NEVER)
        super().__init__(["tp", self._rest], self.thresholds, top_k, class_id, name, dtype)

    def result(self) -> Tensor:
        """The part so far, 0 if there is nothing yet; at each threshold, if there are several."""
        return self._one_or_all(self._rate("tp", self._rest))

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        details = {"thresholds": self.init_thresholds, "top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), **details}


@export("metrics.Precision", "keras.metrics.Precision", v1=())
class Precision(_Part):
    """The part of positive predictions that are right.

    Args:
        thresholds: A threshold, or several; 0.5 by default, or none with `top_k`.
        top_k: How many of the highest scores of a row can be positive.
        class_id: The only column that is looked at.
        name: A name.
        dtype: The dtype of the result.
    """

    _rest = "fp"


@export("metrics.Recall", "keras.metrics.Recall", v1=())
class Recall(_Part):
    """The part of positive labels that are found; the arguments are those of `Precision`."""

    _rest = "fn"
