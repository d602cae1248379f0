"""Ops of TensorFlow's graphs that are made of several of Situs' (`runtime.symbolic.composed`), by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import UnimplementedError
from situs._src.base.proto.graph import AttrValue
from situs._src.ops import image_hsv
from situs._src.ops.array import reshape, transpose
from situs._src.ops.cast import cast
from situs._src.ops.constant import ones_like
from situs._src.ops.count import bincount
from situs._src.ops.cumulative import segment_mean, segment_sum
from situs._src.ops.gather import gather
from situs._src.ops.image_filter import resize_area, resize_bicubic
from situs._src.ops.image_window import crop_and_resize, non_max_suppression
from situs._src.ops.math import conj, divide, sqrt
from situs._src.ops.printing import format as string_format
from situs._src.ops.search import in_top_k
from situs._src.ops.static_value import get_static_value
from situs._src.ragged.gathering import gather_rows
from situs._src.ragged.making import ragged_range
from situs._src.ragged.tensor import RaggedTensor
from situs._src.runtime.symbolic.composed import composed
from situs._src.sparse import shaping
from situs._src.sparse.dense import to_dense
from situs._src.sparse.tensor import SparseTensor

Tensors = Sequence[Any]
Attrs = Mapping[str, AttrValue]


def _one(name: str, result: str, function: Callable[..., Any]) -> None:
    """Declares an op without attributes that is a function of its inputs."""
    composed(name, result)(lambda tensors, attrs: [function(*tensors)])


def _flag(attrs: Attrs, name: str) -> bool:
    return name in attrs and attrs[name].b


def _text(attrs: Attrs, name: str, default: str) -> str:
    return attrs[name].s.decode() if name in attrs else default


# Arrays and numbers.

_one("ConjugateTranspose", "y", lambda x, perm: conj(transpose(x, perm)))


@composed("Bincount", "bins")
def _bincount(tensors: Tensors, attrs: Attrs) -> Tensors:
    values, size, weights = tensors
    given = None if get_static_value(weights) is not None and not get_static_value(weights).size else weights
    dtype = weights.dtype
    return [cast(bincount(reshape(values, [-1]), given, size, size, dtype=dtype), dtype)]


@composed("DenseBincountOfRows", "output")
def _dense_bincount(tensors: Tensors, attrs: Attrs) -> Tensors:
    values, size, weights = tensors
    given = get_static_value(weights)
    weighs = None if given is not None and not given.size else weights
    axis = -1 if values.shape.rank == 2 else None
    counts = bincount(
        values, weighs, size, size, dtype=weights.dtype, axis=axis, binary_output=_flag(attrs, "binary_output")
    )
    return [cast(counts, weights.dtype)]


@composed("InTopK", "precision")
def _in_top_k(tensors: Tensors, attrs: Attrs) -> Tensors:
    predictions, targets = tensors
    return [in_top_k(targets, predictions, attrs["k"].i)]


@composed("StringFormat", "output")
def _string_format(tensors: Tensors, attrs: Attrs) -> Tensors:
    summarize = attrs["summarize"].i if "summarize" in attrs else 3
    template, placeholder = _text(attrs, "template", "%s"), _text(attrs, "placeholder", "%s")
    return [string_format(template, list(tensors), placeholder, summarize)]


# Segments of rows that are chosen first.


def _chosen(reduce: Callable[..., Any]) -> Callable[..., Any]:
    return lambda data, indices, segments: reduce(gather(data, indices), segments)


def _by_root(rows: Any, segments: Any) -> Any:
    total, counts = segment_sum(rows, segments), segment_sum(ones_like(segments), segments)
    root = sqrt(cast(counts, total.dtype))
    return divide(total, reshape(root, [-1] + [1] * (rows.shape.rank - 1)))


_one("SparseSegmentSum", "output", _chosen(segment_sum))
_one("SparseSegmentMean", "output", _chosen(segment_mean))
_one("SparseSegmentSqrtN", "output", _chosen(_by_root))

# Images.

_one("HSVToRGB", "output", image_hsv.hsv_to_rgb)
_one("RGBToHSV", "output", image_hsv.rgb_to_hsv)
_one("AdjustHue", "output", image_hsv.adjust_hue)
_one("AdjustSaturation", "output", image_hsv.adjust_saturation)
_one("NonMaxSuppressionV2", "selected_indices", non_max_suppression)


@composed("ResizeBicubic", "resized_images")
def _resize_bicubic(tensors: Tensors, attrs: Attrs) -> Tensors:
    corners, half = _flag(attrs, "align_corners"), _flag(attrs, "half_pixel_centers")
    images, size = tensors
    return [resize_bicubic(images, size, align_corners=corners, half_pixel_centers=half)]


@composed("ResizeArea", "resized_images")
def _resize_area(tensors: Tensors, attrs: Attrs) -> Tensors:
    images, size = tensors
    return [resize_area(images, size, align_corners=_flag(attrs, "align_corners"))]


@composed("CropAndResize", "crops")
def _crop_and_resize(tensors: Tensors, attrs: Attrs) -> Tensors:
    beyond = attrs["extrapolation_value"].f if "extrapolation_value" in attrs else 0.0
    image, boxes, numbers, size = tensors
    return [
        crop_and_resize(
            image, boxes, numbers, size, method=_text(attrs, "method", "bilinear"), extrapolation_value=beyond
        )
    ]


# Sparse tensors, by their indices, values and shape.


@composed("SparseToDense", "dense")
def _sparse_to_dense(tensors: Tensors, attrs: Attrs) -> Tensors:
    indices, shape, values, default = tensors
    rank = indices.shape.rank
    if rank != 2:
        raise UnimplementedError(f"SparseToDense takes indices of rank 2 here, got {rank}.")
    given = SparseTensor(cast(indices, dt.int64), values, cast(shape, dt.int64))
    return [to_dense(given, default, validate_indices=False)]


@composed("SparseReshape", "output_indices", "output_shape")
def _sparse_reshape(tensors: Tensors, attrs: Attrs) -> Tensors:
    indices, shape, wanted = tensors
    made = shaping.reshape(SparseTensor(indices, indices[:, 0], shape), wanted)
    return [made.indices, made.dense_shape]


@composed("SparseReorder", "output_indices", "output_values")
def _sparse_reorder(tensors: Tensors, attrs: Attrs) -> Tensors:
    made = shaping.reorder(SparseTensor(*tensors))
    return [made.indices, made.values]


# Ragged tensors, by what divides their values into rows.


@composed("RaggedTensorToTensor", "result")
def _ragged_to_tensor(tensors: Tensors, attrs: Attrs) -> Tensors:
    wanted, values, default, *parts = tensors
    kinds = [each.decode() for each in attrs["row_partition_types"].list.s]
    shape = get_static_value(wanted)
    if shape is None or len(kinds) != len(parts):
        raise UnimplementedError("RaggedTensorToTensor takes a shape that is known beforehand here.")
    if all(kind == "ROW_SPLITS" for kind in kinds):
        made = RaggedTensor.from_nested_row_splits(values, parts, validate=False)
    elif kinds[0] == "FIRST_DIM_SIZE" and kinds[1:] == ["VALUE_ROWIDS"]:
        made = RaggedTensor.from_value_rowids(values, parts[1], parts[0], validate=False)
    else:
        raise UnimplementedError(f"RaggedTensorToTensor takes no {', '.join(kinds)} here.")
    sizes = None if shape.ndim == 0 else [None if size < 0 else int(size) for size in shape]
    return [made.to_tensor(default, shape=sizes)]


@composed("RaggedRange", "rt_nested_splits", "rt_dense_values")
def _ragged_range(tensors: Tensors, attrs: Attrs) -> Tensors:
    splits = attrs["Tsplits"].type if "Tsplits" in attrs else dt.int64.as_datatype_enum
    starts, limits, deltas = tensors
    made = ragged_range(starts, limits, deltas, row_splits_dtype=dt.as_dtype(splits))
    return [made.row_splits, made.values]


@composed("RaggedGather", "output_nested_splits", "output_dense_values")
def _ragged_gather(tensors: Tensors, attrs: Attrs) -> Tensors:
    *splits, values, indices = tensors
    if len(splits) != 1:
        raise UnimplementedError("RaggedGather takes rows of one rank here.")
    made = gather_rows(RaggedTensor.from_row_splits(values, splits[0], validate=False), indices, None, 0)
    return [made.row_splits, made.values]
