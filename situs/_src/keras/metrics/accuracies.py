"""How often predictions are right: for numbers, probabilities, classes with a one, and numbers of classes."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.losses.formulas import same_rank
from situs._src.keras.metrics.reduction import FormulaMetric
from situs._src.ops.array import expand_dims, reshape, shape, squeeze
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.reduce import argmax, reduce_any
from situs._src.ops.search import in_top_k

# Each prediction for itself.


def accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where predictions equal labels, else 0."""
    y_pred = convert_to_tensor(y_pred)
    labels, y_pred = same_rank(cast(y_true, y_pred.dtype), y_pred)
    return _as_numbers(equal(labels, y_pred))


@export("metrics.binary_accuracy", "keras.metrics.binary_accuracy", v1=())
def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """1 where predictions are on the side of `threshold` that the labels, 0 and 1, say; else 0."""
    labels, scores = same_rank(convert_to_tensor(y_true), convert_to_tensor(y_pred))
    return _as_numbers(equal(labels, cast(greater(scores, cast(threshold, scores.dtype)), labels.dtype)))


def _as_numbers(is_right: Tensor) -> Tensor:
    return cast(is_right, dt.float32)


@export("metrics.Accuracy", "keras.metrics.Accuracy", v1=())
class Accuracy(FormulaMetric, formula=accuracy):
    """How often predictions equal labels.

    Example:
        >>> import situs as tf
        >>> float(tf.metrics.Accuracy()([1, 2, 3, 4], [0, 2, 3, 4]))
        0.75
    """


@export("metrics.BinaryAccuracy", "keras.metrics.BinaryAccuracy", v1=())
class BinaryAccuracy(FormulaMetric, formula=binary_accuracy):
    """How often predictions are on the right side of a threshold."""

    def __init__(self, name: str | None = None, dtype: Any = None, threshold: float = 0.5) -> None:
        super().__init__(name, dtype, threshold=threshold)
        self.threshold = threshold


# The class with the highest score.


@export("metrics.categorical_accuracy", "keras.metrics.categorical_accuracy", v1=())
def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the highest score is that of the class whose label is the highest, else 0."""
    return _as_numbers(equal(_best(y_true), _best(y_pred)))


@export("metrics.sparse_categorical_accuracy", "keras.metrics.sparse_categorical_accuracy", v1=())
def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the highest score is that of the class whose number is the label, else 0."""
    scores = convert_to_tensor(y_pred)
    is_right = equal(_numbers(y_true, scores), _best(scores))
    return _as_numbers(is_right)


def _best(scores: Any) -> Tensor:
    return argmax(convert_to_tensor(scores), -1)


def _numbers(y_true: Any, scores: Tensor) -> Tensor:
    """Numbers of classes, without a last dimension of one."""
    labels = cast(y_true, dt.int64)
    ranks = labels.shape.rank, scores.shape.rank
    if ranks[0] is not None and ranks[0] == ranks[1] and labels.shape[-1] == 1:
        return squeeze(labels, [-1])
    return labels


@export("metrics.CategoricalAccuracy", "keras.metrics.CategoricalAccuracy", v1=())
class CategoricalAccuracy(FormulaMetric, formula=categorical_accuracy):
    """How often the highest score is that of the true class; labels have a one for it."""


@export("metrics.SparseCategoricalAccuracy", "keras.metrics.SparseCategoricalAccuracy", v1=())
class SparseCategoricalAccuracy(FormulaMetric, formula=sparse_categorical_accuracy):
    """How often the highest score is that of the true class; labels are its number."""


# The classes with the k highest scores.


@export("metrics.top_k_categorical_accuracy", "keras.metrics.top_k_categorical_accuracy", v1=())
def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 where the class whose label is the highest is among the `k` with the highest scores, else 0."""
    return sparse_top_k_categorical_accuracy(_best(y_true), y_pred, k)


@export("metrics.sparse_top_k_categorical_accuracy", "keras.metrics.sparse_top_k_categorical_accuracy", v1=())
def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5, from_sorted_ids: bool = False) -> Tensor:
    """1 where the class whose number is the label is among the `k` with the highest scores, else 0.

    Args:
        y_true: The numbers of the classes.
        y_pred: A score for each class; or numbers of classes, the best first.
        k: How many are the highest.
        from_sorted_ids: Whether `y_pred` are numbers of classes.
    """
    scores, labels = convert_to_tensor(y_pred), cast(y_true, dt.int64)
    rows = reshape(scores, [-1, scores.shape[-1]]) if scores.shape.rank != 2 else scores
    flat = reshape(labels, [-1]) if labels.shape.rank != 1 else labels
    if from_sorted_ids:
        is_in = reduce_any(equal(expand_dims(flat, 1), cast(rows[:, :k], dt.int64)), axis=1)
    else:
        is_in = in_top_k(flat, cast(rows, dt.float32), k)
    return _as_numbers(is_in if labels.shape.rank == 1 else reshape(is_in, shape(labels)))


@export("metrics.TopKCategoricalAccuracy", "keras.metrics.TopKCategoricalAccuracy", v1=())
class TopKCategoricalAccuracy(FormulaMetric, formula=top_k_categorical_accuracy):
    """How often the true class is among the `k` with the highest scores; labels have a one for it."""

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None) -> None:
        super().__init__(name, dtype, k=k)
        self.k = k


@export("metrics.SparseTopKCategoricalAccuracy", "keras.metrics.SparseTopKCategoricalAccuracy", v1=())
class SparseTopKCategoricalAccuracy(FormulaMetric, formula=sparse_top_k_categorical_accuracy):
    """How often the true class is among the `k` with the highest scores; labels are its number."""

    def __init__(self, k: int = 5, name: str | None = None, dtype: Any = None, from_sorted_ids: bool = False) -> None:
        super().__init__(name, dtype, k=k, from_sorted_ids=from_sorted_ids)
        self.k = k
        self.from_sorted_ids = from_sorted_ids
