"""Intersection over union: of what is of a class or predicted so, the part that is both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import listed
from situs._src.keras.losses.formulas import floating
from situs._src.keras.metrics.base import Metric
from situs._src.ops.array import broadcast_to, reshape, shape
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, greater_equal, less, logical_and, not_equal
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.count import confusion_matrix
from situs._src.ops.diagonal import tensor_diag_part
from situs._src.ops.gather import gather, where
from situs._src.ops.reduce import argmax, reduce_sum

MOST_CLASSES = 2**16  # a matrix of them would have 2**32 elements


@export("metrics.IoU", "keras.metrics.IoU", v1=())
class IoU(Metric):
    """The mean over some classes of intersection over union.

    Labels and predictions that are no classes are left out.

    Args:
        num_classes: How many classes there are.
        target_class_ids: Those whose mean is taken.
        name: A name.
        dtype: The dtype of the counts; float32 by default.
        ignore_class: A label that does not count.
        sparse_y_true: Whether labels are numbers of classes, rather than have a one for the class.
        sparse_y_pred: Whether predictions are numbers of classes, rather than scores.
        axis: The axis of the classes, where it is not.
    """

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(dtype, name)
        num_classes = _checked_count(num_classes)
        self.num_classes = num_classes
        self.target_class_ids = [as_int(number, "target_class_ids") for number in listed(target_class_ids, "classes")]
        wrong = [number for number in self.target_class_ids if not 0 <= number < num_classes]
        if wrong or not self.target_class_ids:
            raise ArgumentError(
                f"Target class id {wrong[0] if wrong else None} is out of range, which is [0, {num_classes})."
            )
        self.ignore_class = ignore_class
        self.sparse_y_true = sparse_y_true
        self.sparse_y_pred = sparse_y_pred
        self.axis = axis
        self.total_cm = self.add_variable(
            (num_classes, num_classes), "zeros", self._dtype, name="total_confusion_matrix"
        )

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and predictions."""
        labels = self._numbers(y_true, self.sparse_y_true)
        found = self._numbers(y_pred, self.sparse_y_pred)
        weight = broadcast_to(_flat(floating(1.0 if sample_weight is None else sample_weight)), shape(labels))
        counted = logical_and(self._are_classes(labels), self._are_classes(found))
        if self.ignore_class is not None:
            counted = logical_and(counted, not_equal(labels, self.ignore_class))
        labels, found, weight = (where(counted, x, zeros_like(x)) for x in (labels, found, weight))
        batch = confusion_matrix(labels, found, self.num_classes, cast(weight, self._dtype), self._dtype)
        self.total_cm.assign_add(batch)

    def _numbers(self, values: Any, are_numbers: bool) -> Tensor:
        found = convert_to_tensor(values)
        return cast(_flat(found if are_numbers else argmax(found, self.axis)), dt.int64)

    def _are_classes(self, numbers: Tensor) -> Tensor:
        return logical_and(greater_equal(numbers, 0), less(numbers, self.num_classes))

    def result(self) -> Tensor:
        """The mean so far, over those classes that have been seen."""
        matrix = read(self.total_cm)
        both = tensor_diag_part(matrix)
        either = reduce_sum(matrix, axis=0) + reduce_sum(matrix, axis=1) - both
        both, either = (cast(gather(x, self.target_class_ids), dt.float32) for x in (both, either))
        seen = greater(either, 1e-9)
        parts = where(seen, both / (either + 1e-7), zeros_like(both))
        return reduce_sum(parts) / (reduce_sum(cast(seen, dt.float32)) + 1e-7)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        classes = {"num_classes": self.num_classes, "target_class_ids": self.target_class_ids}
        forms = {"sparse_y_true": self.sparse_y_true, "sparse_y_pred": self.sparse_y_pred, "axis": self.axis}
        return {**super().get_config(), **classes, "ignore_class": self.ignore_class, **forms}

    def _config_without(self, *names: str) -> dict[str, Any]:
        return {name: value for name, value in IoU.get_config(self).items() if name not in names}


def _checked_count(num_classes: Any) -> int:
    count = as_int(num_classes, "num_classes")
    if not 0 < count <= MOST_CLASSES:
        raise ArgumentError(f"num_classes must be 1 to {MOST_CLASSES}, got {shown(num_classes)}.")
    return count


def _flat(x: Tensor) -> Tensor:
    return x if x.shape.rank in (0, 1) else reshape(x, [-1])


@export("metrics.MeanIoU", "keras.metrics.MeanIoU", v1=())
class MeanIoU(IoU):
    """The mean over all classes of intersection over union; the arguments are those of `IoU`."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        classes = range(_checked_count(num_classes))
        super().__init__(num_classes, classes, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return self._config_without("target_class_ids")


@export("metrics.BinaryIoU", "keras.metrics.BinaryIoU", v1=())
class BinaryIoU(IoU):
    """The mean of intersection over union of two classes; predictions are 1 from a threshold on."""

    def __init__(
        self,
        target_class_ids: Sequence[int] = (0, 1),
        threshold: float = 0.5,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds labels and scores."""
        is_one = greater_equal(floating(y_pred, dt.float32), self.threshold)
        super().update_state(y_true, cast(is_one, dt.int64), sample_weight)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        kept = {name: value for name, value in super().get_config().items() if name in ("name", "dtype")}
        return {**kept, "target_class_ids": self.target_class_ids, "threshold": self.threshold}


@export("metrics.OneHotIoU", "keras.metrics.OneHotIoU", v1=())
class OneHotIoU(IoU):
    """The mean over some classes of intersection over union; labels have a one for the class."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: Sequence[int],
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return self._config_without("sparse_y_true")


@export("metrics.OneHotMeanIoU", "keras.metrics.OneHotMeanIoU", v1=())
class OneHotMeanIoU(MeanIoU):
    """The mean over all classes of intersection over union; labels have a one for the class."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: Any = None,
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return self._config_without("target_class_ids", "sparse_y_true")
