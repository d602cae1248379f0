"""Counting elements into bins: histograms, bincount, confusion matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import (
    FIXED,
    INDEX,
    NUMERIC,
    REAL,
    WIDE_UNSIGNED,
    DType,
    as_dtype,
    float32,
    float64,
    int32,
    int64,
)
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, HostValue, IntLike, SizesOf
from situs._src.ops import quick_counts
from situs._src.ops.array import as_attribute, as_integer, reshape
from situs._src.ops.array import size as size_of
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.gather import gather_nd, where
from situs._src.ops.join import stack
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.convert import to_tensor

# HistogramFixedWidth and HistogramFixedWidthBins.

_HISTOGRAM_TYPES = frozenset({int32, int64, float32, float64})
_histogram = op(
    "HistogramFixedWidth", "values: T, value_range: T, nbins: host -> out: dtype", T=_HISTOGRAM_TYPES, dtype=INDEX
)
_histogram_bins = op(
    "HistogramFixedWidthBins", "values: T, value_range: T, nbins: host -> out: dtype", T=_HISTOGRAM_TYPES, dtype=INDEX
)


@_histogram.shape
def _histogram_shape(values: TensorShape, value_range: TensorShape, nbins: HostValue) -> TensorShape:
    _check_range_shape(value_range)
    return TensorShape([None if nbins is None else _as_nbins(nbins)])


@_histogram_bins.shape
def _histogram_bins_shape(values: TensorShape, value_range: TensorShape, nbins: HostValue) -> TensorShape:
    _check_range_shape(value_range)
    if nbins is not None:
        _as_nbins(nbins)
    return values


def _check_range_shape(value_range: TensorShape) -> None:
    if not value_range.is_compatible_with([2]):
        raise ArgumentError(f"value_range should be a vector of 2 elements, got shape {brackets(value_range)}")


def _as_nbins(nbins: HostValue) -> int:
    count = as_integer(nbins, "nbins")
    if count <= 0:
        raise ArgumentError(f"nbins should be a positive number, but got '{count}'")
    return count


def _checked_range(value_range: torch.Tensor) -> tuple[Any, Any]:
    _check_range_shape(TensorShape(value_range.shape))
    low, high = value_range.tolist()
    if not low < high:
        raise ArgumentError(f"value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'")
    return low, high


def _check_numbers(values: torch.Tensor) -> None:
    if values.is_floating_point() and bool(values.sum().isnan()) and bool(values.isnan().any()):  # a sum is quicker
        raise ArgumentError("Histogram values must not contain NaN")


@_histogram.kernel(CPU, GPU)
def _histogram_kernel(values: torch.Tensor, value_range: torch.Tensor, nbins: HostValue, dtype: DType) -> torch.Tensor:
    count = _as_nbins(nbins)
    low, high = _checked_range(value_range)
    width = float(np.float32(high) - np.float32(low)) if values.dtype is torch.float32 else high - low
    step = width / count
    if values.is_cpu and math.isfinite(step):
        found = quick_counts.histogram(values, low, step, count)
        if found is not None:
            return found.to(TORCH_DTYPE[dtype])
    _check_numbers(values)
    if not values.is_floating_point():
        values = values.long().clamp(max=high)  # so that the difference does not overflow
    bins = (values.clamp(min=low) - low).double().div_(step).clamp_(max=count - 1).to(torch.int64)
    return torch.bincount(bins.reshape(-1), minlength=count).to(TORCH_DTYPE[dtype])


@_histogram_bins.kernel(CPU, GPU)
def _histogram_bins_kernel(
    values: torch.Tensor, value_range: torch.Tensor, nbins: HostValue, dtype: DType
) -> torch.Tensor:
    count = _as_nbins(nbins)
    low, high = _checked_range(value_range)
    _check_numbers(values)
    real = values if values.is_floating_point() else values.double()
    bins: torch.Tensor = ((real - low) / (high - low)).mul(count).floor().clamp(0, count - 1)
    return bins.to(TORCH_DTYPE[dtype])


@export("histogram_fixed_width")
def histogram_fixed_width(
    values: ArrayLike,
    value_range: ArrayLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = "histogram_fixed_width",
) -> Tensor:
    """Counts values in bins of equal width; those outside the range go into the first or the last bin.

    Args:
        values: Numbers.
        value_range: Where the first bin begins and the last one ends, of the dtype of `values`.
        nbins: The number of bins.
        dtype: int32 or int64.
        name: A name for the op.
    """
    return _histogram(values, value_range, nbins, dtype=as_dtype(dtype), name=name)


@export("histogram_fixed_width_bins")
def histogram_fixed_width_bins(
    values: ArrayLike,
    value_range: ArrayLike,
    nbins: IntLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = "histogram_fixed_width_bins",
) -> Tensor:
    """Returns for each value the number of its bin in `histogram_fixed_width`."""
    return _histogram_bins(values, value_range, nbins, dtype=as_dtype(dtype), name=name)


# DenseBincount. Empty weights stand for ones.

_bincount = op(
    "DenseBincount",
    "input: Tidx, weights: T, minlength: host, maxlength: host -> output: T",
    Tidx=REAL - WIDE_UNSIGNED,
    T=NUMERIC - WIDE_UNSIGNED,
    binary_output=False,
    per_row=False,
)


@_bincount.shape
def _bincount_shape(
    input: TensorShape,
    weights: TensorShape,
    minlength: HostValue,
    maxlength: HostValue,
    *,
    binary_output: bool,
    per_row: bool,
) -> TensorShape:
    if weights != [0] and not weights.is_compatible_with(input):
        raise ArgumentError(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights "
            f"equal to 1. Received {brackets(weights)} for arr of shape {brackets(input)}"
        )
    if not per_row or input.rank == 1:
        return TensorShape([None])
    if input.rank not in (2, None):
        raise ArgumentError(f"Counting along axis -1 takes arr of rank at most 2, got {brackets(input)}")
    return UNKNOWN if input.rank is None else TensorShape([input[0], None])


@_bincount.kernel(CPU, GPU)
def _bincount_kernel(
    input: torch.Tensor,
    weights: torch.Tensor,
    minlength: HostValue,
    maxlength: HostValue,
    binary_output: bool,
    per_row: bool,
) -> torch.Tensor:
    _bincount_shape(
        TensorShape(input.shape),
        TensorShape(weights.shape),
        minlength,
        maxlength,
        binary_output=binary_output,
        per_row=per_row,
    )
    by_row = per_row and input.ndim == 2
    rows = input.to(torch.int64) if by_row else input.reshape(1, -1).to(torch.int64)
    size = _bincount_size(rows, minlength, maxlength)
    kept = rows < size
    places = (rows + size * torch.arange(len(rows), device=rows.device)[:, None])[kept]
    ones = torch.ones((), dtype=weights.dtype, device=rows.device).expand(len(places))
    added = weights.reshape(rows.shape)[kept] if weights.shape == input.shape and not binary_output else ones
    output = weights.new_zeros(len(rows) * size).index_put_((places,), added, accumulate=not binary_output)
    return output.reshape([len(rows), size] if by_row else [size])


def _bincount_size(rows: torch.Tensor, minlength: HostValue, maxlength: HostValue) -> int:
    """How many bins there are: one more than the largest number, within the limits given."""
    size = 0
    if rows.numel():
        low, high = (int(each) for each in rows.aminmax())
        if low < 0:
            raise ArgumentError("Input arr must be non-negative!")
        size = high + 1
    if minlength is not None:
        size = max(size, as_integer(minlength, "minlength"))
    if maxlength is None:
        return size
    largest = as_integer(maxlength, "maxlength")
    if largest < 0:
        raise ArgumentError(f"maxlength ({largest}) must be non-negative")
    return min(size, largest)


def bincount_flat(
    values: Any, rows: Any, count: Any, weights: Any, minlength: Any, maxlength: Any, attrs: dict[str, Any]
) -> Tensor:
    """DenseBincount of elements that lie one after the other.

    Args:
        values: The elements.
        rows: The row of each element, or None if they are all counted together.
        count: How many rows there are.
        weights: What each element counts, or an empty tensor.
        minlength: The least number of counts.
        maxlength: The largest.
        attrs: The attributes of the op.
    """
    flat = {**attrs, "per_row": False}
    if rows is None:
        return _bincount(values, weights, minlength, maxlength, **flat)
    values, rows, count = cast(values, int64), cast(rows, int64), cast(count, int64)
    width = size_of(bincount(values, minlength=minlength, maxlength=maxlength), int64)
    places = where(values < width, rows * width + values, count * width)  # the last is past the end, and not counted
    counts = _bincount(places, weights, count * width, count * width, **flat)
    return reshape(counts, stack([count, width]))


@export("math.bincount", v1=())
def bincount(
    arr: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = "bincount",
    axis: int | None = None,
    binary_output: bool = False,
) -> Tensor:
    """Counts how often each of the integers 0, 1, 2, ... occurs.

    Args:
        arr: Integers that are not negative; they may be ragged or sparse.
        weights: What each occurrence counts, of the shape and kind of `arr`; by default 1.
        minlength: The least number of counts to return.
        maxlength: The largest number; greater integers are not counted.
        dtype: The dtype of the counts where there are no weights.
        name: A name for the op.
        axis: None or 0 to count all elements, -1 to count each row.
        binary_output: Whether to return only whether an integer occurs.
    """
    place = 0 if axis is None else as_attribute(axis, "axis")
    if place not in (0, -1):
        raise ArgumentError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    binary_output = as_bool(binary_output, "binary_output")
    if binary_output and weights is not None:
        raise ArgumentError("Arguments `binary_output` and `weights` are mutually exclusive.")
    attrs: dict[str, Any] = {"binary_output": binary_output, "per_row": place == -1}
    each = to_tensor([], as_dtype(dtype)) if weights is None else weights
    return _bincount(arr, each, minlength, maxlength, name=name, **attrs)


@export(v1=("bincount", "math.bincount"))
def bincount_v1(
    arr: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: IntLike | None = None,
    maxlength: IntLike | None = None,
    dtype: DTypeLike = int32,
) -> Tensor:
    """Counts how often each integer occurs, with the arguments of TensorFlow 1."""
    return bincount(arr, weights, minlength, maxlength, dtype)


# ConfusionMatrix. Empty weights stand for ones.

_confusion_matrix = op(
    "ConfusionMatrix",
    "labels: Tlabels, predictions: Tpredictions, weights: Tweights, num_classes: host -> output: dtype",
    Tlabels=REAL - WIDE_UNSIGNED,
    Tpredictions=REAL - WIDE_UNSIGNED,
    Tweights=NUMERIC - WIDE_UNSIGNED,
    dtype=FIXED - WIDE_UNSIGNED,
)


@_confusion_matrix.shape
def _confusion_matrix_shape(
    labels: TensorShape, predictions: TensorShape, weights: TensorShape, num_classes: HostValue
) -> TensorShape:
    if labels.rank is not None and predictions.rank is not None:
        _check_classified(*_squeezed_shapes(labels, predictions), weights)
    count = None if num_classes is None else _as_classes(num_classes)
    return TensorShape([count, count])


def _check_classified(labels: TensorShape, predictions: TensorShape, weights: TensorShape) -> None:
    if not labels.is_compatible_with(predictions):
        raise ArgumentError(
            "labels and predictions must have one shape: "
            f"labels.shape = {brackets(labels)} != predictions.shape = {brackets(predictions)}"
        )
    if labels.rank not in (1, None):
        raise ArgumentError(f"labels and predictions must be vectors, got shape {brackets(labels)}")
    if weights != [0] and not weights.is_compatible_with(labels):
        raise ArgumentError(f"Shapes {labels} and {weights} are incompatible: give one weight for each label")


def _squeezed_shapes(labels: TensorShape, predictions: TensorShape) -> tuple[TensorShape, TensorShape]:
    """Two shapes of known rank, of which one may have had one more dimension at its end, of size 1."""
    more = len(labels) - len(predictions)
    return (
        labels[:-1] if more == 1 and labels[-1] in (1, None) else labels,
        predictions[:-1] if more == -1 and predictions[-1] in (1, None) else predictions,
    )


def _as_classes(num_classes: HostValue) -> int:
    count = as_integer(num_classes, "num_classes")
    if count < 0:
        raise ArgumentError(f"num_classes must not be negative, got {count}")
    return count


@_confusion_matrix.kernel(CPU, GPU)
def _confusion_matrix_kernel(
    labels: torch.Tensor, predictions: torch.Tensor, weights: torch.Tensor, num_classes: HostValue, dtype: DType
) -> torch.Tensor:
    _confusion_matrix_shape(
        TensorShape(labels.shape), TensorShape(predictions.shape), TensorShape(weights.shape), num_classes
    )
    rows, columns = (each.reshape(-1).to(torch.int64) for each in (labels, predictions))
    largest = {"labels": _largest_class(rows, "labels"), "predictions": _largest_class(columns, "predictions")}
    count = max(largest.values()) + 1 if num_classes is None else _as_classes(num_classes)
    for what, number in largest.items():
        if number >= count:
            raise ArgumentError(f"`{what}` out of bound: {number} for {count} classes")
    kind = TORCH_DTYPE[dtype]
    added = weights.to(kind) if weights.shape == rows.shape else torch.ones_like(rows, dtype=kind)
    output = torch.zeros(count * count, dtype=kind, device=labels.device)
    return output.index_put_((rows * count + columns,), added, accumulate=True).reshape(count, count)


def _largest_class(numbers: torch.Tensor, what: str) -> int:
    """The largest number of a class; -1 if there are none."""
    if not len(numbers):
        return -1
    low, high = (int(each) for each in numbers.aminmax())
    if low < 0:
        raise ArgumentError(f"`{what}` contains negative values.")
    return high


@_confusion_matrix.gradient
def _confusion_matrix_gradient(
    grad: Tensor, labels: Tensor, predictions: Tensor, weights: Tensor, weights_shape: SizesOf
) -> tuple[Any, ...]:
    def of_weights() -> Tensor:
        places = [reshape(cast(each, int64), [-1]) for each in (labels, predictions)]
        return reshape(cast(gather_nd(grad, stack(places, 1)), weights.dtype), weights_shape)

    return None, None, of_weights


@export("math.confusion_matrix", v1=())
def confusion_matrix(
    labels: ArrayLike,
    predictions: ArrayLike,
    num_classes: IntLike | None = None,
    weights: ArrayLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = "confusion_matrix",
) -> Tensor:
    """Counts how often a class (row) was predicted as a class (column).

    Args:
        labels: The true classes, as integers.
        predictions: The predicted classes.
        num_classes: The number of classes; by default one more than the largest found.
        weights: What each prediction counts; by default 1.
        dtype: The dtype of the counts.
        name: A name for the op.
    """
    given = [] if weights is None else weights
    return _confusion_matrix(labels, predictions, given, num_classes, dtype=as_dtype(dtype), name=name)


@export(v1=("confusion_matrix", "math.confusion_matrix"))
def confusion_matrix_v1(
    labels: ArrayLike,
    predictions: ArrayLike,
    num_classes: IntLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = "confusion_matrix",
    weights: ArrayLike | None = None,
) -> Tensor:
    """Counts predictions of classes, with the argument order of TensorFlow 1."""
    return confusion_matrix(labels, predictions, num_classes, weights, dtype, name)
