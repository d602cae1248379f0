"""Ops of TensorFlow's graphs that are made of several of Situs' (`runtime.symbolic.composed`), by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.proto.graph import AttrValue
from situs._src.ir.registry.op import find_op
from situs._src.ops import image_hsv
from situs._src.ops.array import reshape, transpose
from situs._src.ops.cast import cast
from situs._src.ops.count import bincount
from situs._src.ops.image_filter import resize_area, resize_bicubic
from situs._src.ops.image_window import crop_and_resize, non_max_suppression
from situs._src.ops.math import conj
from situs._src.ops.printing import format as string_format
from situs._src.ops.search import in_top_k
from situs._src.ops.sparse_segments import segment_mean_of_rows, segment_sqrt_n_of_rows, segment_sum_of_rows
from situs._src.ops.static_value import get_static_value
from situs._src.ragged.gathering import gather_rows
from situs._src.ragged.making import ragged_range
from situs._src.ragged.tensor import RaggedTensor
from situs._src.runtime.symbolic.composed import composed
from situs._src.sparse import shaping
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


# Segments of rows that are chosen first, and their gradients.


def _op(name: str) -> Any:
    return find_op(name)


def _rows(values: Any, indices: Any) -> Any:
    return _op("GatherV2")(values, indices, 0)


def _column(matrix: Any, number: int) -> Any:
    return _op("GatherV2")(matrix, number, 1)


def _added_up(values: Any, segments: Any, count: Any) -> Any:
    return _op("UnsortedSegmentSum")(values, segments, count)


def _share(segments: Any, count: Any, values: Any, way: str) -> Any:
    """What each row counts in its segment: one over how many they are, or over the root of that."""
    ones = _op("OnesLike")(_op("Cast")(segments, DstT=values.dtype))
    sizes = _rows(_added_up(ones, segments, count), segments)
    shares = _op("Rsqrt")(sizes) if way == "SqrtN" else _op("Reciprocal")(sizes)
    rank = values.shape.rank
    if rank is None:
        raise ArgumentError("The rank of the data must be known.")
    return _op("Reshape")(shares, [-1] + [1] * (rank - 1))


_WAYS = {"Mean": segment_mean_of_rows, "SqrtN": segment_sqrt_n_of_rows, "Sum": segment_sum_of_rows}


def _sparse_segment_grad(way: str, tensors: Sequence[Any], attrs: Mapping[str, AttrValue]) -> list[Any]:
    grad, indices, segments, size = tensors
    values = _rows(grad, segments)
    if way != "Sum":
        values = _op("Mul")(values, _share(segments, _rows(_op("Shape")(grad, out_type=dt.int32), 0), values, way))
    return [_added_up(values, indices, size)]


def _sparse_segment_rows_grad(way: str, tensors: Sequence[Any], attrs: Mapping[str, AttrValue]) -> list[Any]:
    """The same for the rows that are named alone, and their numbers."""
    grad, indices, segments, _ = tensors
    named, places = _op("Unique")(indices, out_idx=dt.int32)
    return [*_sparse_segment_grad(way, (grad, places, segments, _op("Size")(named, out_type=dt.int32)), attrs), named]


def _segments_of_ways() -> None:
    for way, combined in _WAYS.items():
        _one(f"SparseSegment{way}", "output", combined)
        _one(f"SparseSegment{way}WithNumSegments", "output", combined)
        composed(f"SparseSegment{way}Grad", "output")(partial(_sparse_segment_grad, way))
        composed(f"SparseSegment{way}GradV2", "output", "sorted_unique_indices")(
            partial(_sparse_segment_rows_grad, way)
        )


_segments_of_ways()


@composed("ComputeAccidentalHits", "indices", "ids", "weights")
def _accidental_hits(tensors: Sequence[Any], attrs: Mapping[str, AttrValue]) -> list[Any]:
    true, sampled = tensors
    places = _op("Where")(_op("Equal")(_op("ExpandDims")(true, 2), sampled))
    example = _op("Cast")(_column(places, 0), DstT=dt.int32)
    ones = _op("OnesLike")(_op("Cast")(example, DstT=dt.float32))
    return [example, _column(places, 2), _op("Mul")(ones, dt.float32.min)]


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


@composed("SparseTensorDenseMatMul", "product")
def _sparse_matmul(tensors: Sequence[Any], attrs: Mapping[str, AttrValue]) -> list[Any]:
    places, values, shape, dense = tensors
    flip_a, flip_b = ("adjoint_a" in attrs and attrs["adjoint_a"].b), ("adjoint_b" in attrs and attrs["adjoint_b"].b)
    if flip_b:
        dense = _op("Transpose")(dense, [1, 0], conjugate=dense.dtype.is_complex)
    if flip_a and values.dtype.is_complex:
        values = _op("Conj")(values)
    rows, columns = (1, 0) if flip_a else (0, 1)
    products = _op("Mul")(_op("Reshape")(values, [-1, 1]), _rows(dense, _column(places, columns)))
    return [_added_up(products, _column(places, rows), _rows(shape, rows))]


@composed("SparseToDense", "dense")
def _to_dense(tensors: Sequence[Any], attrs: Mapping[str, AttrValue]) -> list[Any]:
    places, shape, values, default = tensors
    rank = places.shape.rank
    if rank is None or values.shape.rank is None:
        raise ArgumentError("The ranks of the places and the values must be known.")
    whole = _op("Fill")(shape, default)
    if rank < 2:
        places = _op("Reshape")(places, [-1, 1])
    if values.shape.rank == 0:
        values = _op("BroadcastTo")(values, _rows(_op("Shape")(places, out_type=dt.int32), [0]))
    return [_op("TensorScatterUpdate")(whole, places, values)]


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
