"""``tf.metrics.AUC``: the area under the ROC curve, or under that of precision and recall."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.keras.losses.formulas import floating, same_rank
from situs._src.keras.metrics.base import Metric
from situs._src.keras.metrics.buckets import NAMES, Kind
from situs._src.keras.metrics.confusion import Thresholds, checked_thresholds
from situs._src.keras.metrics.curves import even_thresholds, interpolated_precision, intervals
from situs._src.ops.array import broadcast_to, expand_dims, reshape, shape, transpose
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import constant, ones_like, zeros_like
from situs._src.ops.constant import range as numbers
from situs._src.ops.cumulative import cumsum, unsorted_segment_sum
from situs._src.ops.gather import where
from situs._src.ops.math import divide_no_nan, maximum, multiply, sigmoid
from situs._src.ops.reduce import reduce_mean, reduce_sum

_TINY = 1e-7
_CURVES = ("ROC", "PR", "PRGAIN")
_METHODS = ("interpolation", "majoring", "minoring")
_KINDS: tuple[Kind, ...] = ("tp", "fp", "tn", "fn")


@export("metrics.AUC", "keras.metrics.AUC", v1=())
class AUC(Metric):
    """The area under a curve, approximated at thresholds.

    Args:
        num_thresholds: At how many thresholds, evenly spread, the curve is known.
        curve: ``"ROC"``, ``"PR"`` for precision over recall, or ``"PRGAIN"``.
        summation_method: ``"interpolation"``, ``"minoring"`` or ``"majoring"``.
        name: A name.
        dtype: The dtype of the result.
        thresholds: Thresholds in [0, 1] in place of even ones.
        multi_label: Whether each column has a curve of its own; the result is the mean of their areas.
        num_labels: How many columns there are; by default as many as the first predictions have.
        label_weights: How much columns count.
        from_logits: Whether predictions are logits, rather than probabilities.

    Example:
        >>> import situs as tf
        >>> float(tf.metrics.AUC(num_thresholds=3)([0, 0, 1, 1], [0, 0.5, 0.3, 0.9]))
        0.75
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: Any = None,
        from_logits: bool = False,
    ) -> None:
        super().__init__(dtype, name)
        self.curve = _one_of(curve, str.upper, _CURVES, "AUC curve value")
        self.summation_method = _one_of(summation_method, str.lower, _METHODS, "AUC summation method value")
        if thresholds is None and as_int(num_thresholds, "num_thresholds") <= 1:
            raise ArgumentError(
                f"Argument `num_thresholds` must be an integer > 1. Received: num_thresholds={num_thresholds}"
            )
        inner = even_thresholds(num_thresholds) if thresholds is None else sorted(checked_thresholds(thresholds))
        self._given = None if thresholds is None else inner
        self._thresholds = Thresholds([-_TINY, *inner, 1.0 + _TINY])
        self.num_thresholds = self._thresholds.number
        self.multi_label = multi_label
        self.num_labels = num_labels
        self.label_weights = label_weights
        self._from_logits = from_logits
        self._build_at_once()

    def _build_at_once(self) -> None:
        self._built = False
        if self.num_labels and not self.multi_label:
            raise ArgumentError("`num_labels` is needed only when `multi_label` is True.")
        if not self.multi_label:
            self._build(None)
        elif self.num_labels:
            self._build(self.num_labels)

    def _build(self, labels: int | None) -> None:
        shape = (self.num_thresholds,) if labels is None else (self.num_thresholds, labels)
        for kind in _KINDS:
            setattr(self, NAMES[kind], self.add_variable(shape, name=NAMES[kind]))
        self._built = True

    @property
    def thresholds(self) -> list[float]:
        """The thresholds, with one below 0 and one above 1."""
        return [float(threshold) for threshold in self._thresholds.values]

    # Updates.

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and predictions."""
        scores, labels = same_rank(floating(y_pred, dt.float32), floating(y_true, dt.float32))
        if not labels.shape.is_compatible_with(scores.shape):
            raise ArgumentError(f"Shapes {scores.shape} and {labels.shape} are incompatible")
        if not self._built:
            self._build(_columns(scores))
        scores = sigmoid(scores) if self._from_logits else scores
        weight = self._weight(scores, labels, sample_weight)
        ones = cast(cast(labels, dt.bool), dt.float32)
        add = self._add_by_column if self.multi_label else self._add
        add(ones, weight, scores)

    def _weight(self, scores: Tensor, labels: Tensor, sample_weight: Any) -> Tensor | None:
        weight = None
        if sample_weight is not None:
            given = expand_dims(floating(sample_weight, dt.float32), -1)
            weight = broadcast_to(same_rank(labels, given, keep_column=False)[1], shape(scores))
        if self.label_weights is None or self.multi_label:
            return weight
        of_columns = broadcast_to(expand_dims(floating(self.label_weights, dt.float32), 0), shape(scores))
        return of_columns if weight is None else multiply(weight, of_columns)

    def _add(self, labels: Tensor, weight: Tensor | None, scores: Tensor) -> None:
        flat = reshape(labels, [-1]), None if weight is None else reshape(weight, [-1])
        for kind, counts in self._thresholds.count(_KINDS, *flat, scores).items():
            getattr(self, NAMES[kind]).assign_add(counts)

    def _add_by_column(self, labels: Tensor, weight: Tensor | None, scores: Tensor) -> None:
        """Counts each column for itself: its buckets come behind those of the columns before."""
        columns, room = _columns(scores), self.num_thresholds + 1
        buckets = reshape(self._thresholds.buckets(scores), [-1, columns]) + room * numbers(columns)
        weight = ones_like(labels) if weight is None else weight
        for kind in _KINDS:
            wanted = multiply(labels if kind in ("tp", "fn") else 1.0 - labels, weight)
            sums = unsorted_segment_sum(reshape(wanted, [-1]), reshape(buckets, [-1]), room * columns)
            by_column = reshape(sums, [columns, room])
            from_back = kind in ("tp", "fp")
            counts = cumsum(by_column, axis=1, exclusive=from_back, reverse=from_back)[:, : self.num_thresholds]
            getattr(self, NAMES[kind]).assign_add(transpose(counts))

    # The result.

    def result(self) -> Tensor:
        """The area so far."""
        if not self._built:
            return constant(0.0)
        areas = self._areas(*(read(getattr(self, NAMES[kind])) for kind in _KINDS))
        if not self.multi_label:
            return reduce_sum(areas)
        of_columns = reduce_sum(areas, axis=0)
        if self.label_weights is None:
            return reduce_mean(of_columns)
        weights = floating(self.label_weights, dt.float32)
        return divide_no_nan(reduce_sum(of_columns * weights), reduce_sum(weights))

    def _areas(self, tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> Tensor:
        if self.curve == "PR" and self.summation_method == "interpolation":
            return interpolated_precision(tp, fp, fn)
        if self.curve == "PRGAIN":
            return intervals(*_gains(tp, fp, tn, fn), self.summation_method)
        recall = divide_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            return intervals(divide_no_nan(fp, fp + tn), recall, self.summation_method)
        return intervals(recall, divide_no_nan(tp, tp + fp), self.summation_method)

    def reset_state(self) -> None:
        """Forgets all batches."""
        if self._built:
            super().reset_state()

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        curve = {"num_thresholds": self.num_thresholds, "curve": self.curve, "summation_method": self.summation_method}
        labels = {"multi_label": self.multi_label, "num_labels": self.num_labels, "label_weights": self.label_weights}
        given = {} if self._given is None else {"thresholds": self._given}
        return {**super().get_config(), **curve, **labels, "from_logits": self._from_logits, **given}


def _gains(tp: Tensor, fp: Tensor, tn: Tensor, fn: Tensor) -> tuple[Tensor, Tensor]:
    """Recall and precision, as gains over calling everything positive."""
    odds = divide_no_nan(tp + fn, tn + fp)
    recall = 1.0 - odds * divide_no_nan(fn, tp)
    precision = 1.0 - odds * divide_no_nan(fp, tp)
    none = equal(tp, 0.0)
    return maximum(where(none, zeros_like(tp), recall), 0.0), where(none, ones_like(tp), precision)


def _columns(scores: Tensor) -> int:
    if scores.shape.rank != 2 or scores.shape[1] is None:
        raise ArgumentError(
            f"`y_pred` must have rank 2 when `multi_label=True`, and a known number of columns. Found: {scores.shape}"
        )
    return scores.shape[1]


def _one_of(value: Any, spell: Any, known: tuple[str, ...], what: str) -> str:
    value = getattr(value, "value", value)
    found = spell(value) if isinstance(value, str) else ""
    if found not in known:
        raise ArgumentError(f"Invalid {what}: {shown(value)}. Expected values are {list(known)}")
    return found
