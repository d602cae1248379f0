"""Parts of images: patches, crops of boxes, non-maximum suppression, cropping and padding to a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, HostInput, IntLike, IntsLike, SizesOf
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import ensure_shape, reshape, squeeze
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int, as_word
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater_equal, less_equal, logical_and
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.gather import gather, where
from situs._src.ops.image_crop import pad_to_bounding_box
from situs._src.ops.image_resize import ResizeMethod, ResizeMethodV1, resize, resize_images
from situs._src.ops.image_shape import as_image, sizes, with_batch
from situs._src.ops.join import stack
from situs._src.ops.math import ceil, clip_by_value, floor, maximum
from situs._src.ops.naming import Composed
from situs._src.ops.spelling import renamed

# Patches.

_ATTRS: dict[str, Any] = {"ksizes": (1, 1), "strides": (1, 1), "rates": (1, 1), "padding": "VALID"}
_patches = op("ExtractImagePatches", "images: T -> patches: T", T=FLOATING, **_ATTRS)
_patches_grad = op("ExtractImagePatchesGrad", "grads: T, original_size: host -> output: T", T=FLOATING, **_ATTRS)


class _Windows:
    """How patches lie in images of a height and a width."""

    def __init__(self, size: Any, ksizes: Any, strides: Any, rates: Any, padding: str) -> None:
        self.counts: list[int] = []
        self.amounts: list[int] = []
        for have, wide, step, rate in zip(size, ksizes, strides, rates, strict=True):
            reach = (wide - 1) * rate + 1
            count = -(-have // step) if padding == "SAME" else max(-(-(have - reach + 1) // step), 0)
            spare = max((count - 1) * step + reach - have, 0) if padding == "SAME" else 0
            self.counts.append(count)
            self.amounts = [spare // 2, spare - spare // 2, *self.amounts]


@_patches.shape
def _patches_shape(images: TensorShape, *, ksizes: Any, strides: Any, rates: Any, padding: str) -> TensorShape:
    if images.rank not in (4, None):
        raise ArgumentError(f"extract_patches takes a batch of images, got a tensor of shape {images}.")
    batch, high, wide, channels = images if images.rank is not None else [None] * 4
    counts = [
        None if size is None else _Windows([size], [k], [s], [r], padding).counts[0]
        for size, k, s, r in zip((high, wide), ksizes, strides, rates, strict=True)
    ]
    return TensorShape([batch, *counts, None if channels is None else channels * ksizes[0] * ksizes[1]])


@_patches.kernel(CPU, GPU)
def _patches_kernel(
    images: torch.Tensor, *, ksizes: tuple[int, ...], strides: tuple[int, ...], rates: tuple[int, ...], padding: str
) -> torch.Tensor:
    batch, high, wide, channels = images.shape
    windows = _Windows((high, wide), ksizes, strides, rates, padding)
    shape = (batch, *windows.counts, channels * ksizes[0] * ksizes[1])
    if 0 in shape:
        return images.new_zeros(shape)
    padded = functional.pad(images.permute(0, 3, 1, 2), windows.amounts)
    columns = functional.unfold(padded, tuple(ksizes), tuple(rates), 0, tuple(strides))
    apart = columns.view(batch, channels, ksizes[0] * ksizes[1], -1).permute(0, 3, 2, 1)
    rows, across = windows.counts
    return apart.reshape(batch, -1, shape[3])[:, : rows * across].reshape(shape).contiguous()


_patches_grad.shape(lambda grads, original_size, **attrs: TensorShape(original_size))


@_patches_grad.kernel(CPU, GPU)
def _patches_grad_kernel(
    grads: torch.Tensor,
    original_size: tuple[int, ...],
    *,
    ksizes: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
) -> torch.Tensor:
    batch, high, wide, channels = original_size
    if not grads.numel():
        return grads.new_zeros(original_size)
    left, right, top, bottom = _Windows((high, wide), ksizes, strides, rates, padding).amounts
    columns = grads.reshape(batch, -1, ksizes[0] * ksizes[1], channels).permute(0, 3, 2, 1)
    columns = columns.reshape(batch, channels * ksizes[0] * ksizes[1], -1)
    whole = (high + top + bottom, wide + left + right)
    made = functional.fold(columns, whole, tuple(ksizes), tuple(rates), 0, tuple(strides))
    return made[:, :, top : top + high, left : left + wide].permute(0, 2, 3, 1).contiguous()


@_patches.gradient
def _patches_gradient(
    grad: Tensor, images_shape: SizesOf, *, ksizes: HostInput, strides: HostInput, rates: HostInput, padding: str
) -> Tensor:
    return _patches_grad(grad, images_shape, ksizes=ksizes, strides=strides, rates=rates, padding=padding)


@_patches_grad.gradient
def _patches_grad_gradient(
    grad: Tensor, *, ksizes: HostInput, strides: HostInput, rates: HostInput, padding: str
) -> Tensor:
    return _patches(grad, ksizes=ksizes, strides=strides, rates=rates, padding=padding)


@export("image.extract_patches")
def extract_patches(
    images: ArrayLike, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """The patches of images, each in the last dimension of the result.

    Args:
        images: A batch of images.
        sizes: The size of patches: ``[1, rows, columns, 1]``.
        strides: How far their centers are apart: ``[1, rows, columns, 1]``.
        rates: How far their pixels are apart: ``[1, rows, columns, 1]``.
        padding: ``"VALID"``, or ``"SAME"`` for patches that reach over the border, where zeros are.
        name: A name for the op.
    """
    inner: dict[str, Any] = {}
    for key, name_, value in (("ksizes", "sizes", sizes), ("strides", "strides", strides), ("rates", "rates", rates)):
        numbers = [as_int(each, name_) for each in listed(value, name_)]
        if len(numbers) != 4 or (numbers[0], numbers[3]) != (1, 1) or min(numbers) < 1:
            raise ArgumentError(f"`{name_}` of extract_patches is [1, rows, columns, 1], got {numbers}.")
        inner[key] = (numbers[1], numbers[2])
    word = as_word(padding, "padding").upper()
    if word not in ("SAME", "VALID"):
        raise ArgumentError(f"padding must be 'SAME' or 'VALID', got {padding!r}.")
    given = convert_to_tensor(images)
    if given.dtype.is_floating:
        return _patches(given, **inner, padding=word, name=name)
    wide = dt.float64 if given.dtype.size > 2 else dt.float32
    return cast(_patches(cast(given, wide), **inner, padding=word), given.dtype, name=name)


@export(v1=("extract_image_patches", "image.extract_image_patches"))
def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """`extract_patches`, whose sizes TensorFlow 1 also calls `ksizes`."""
    return extract_patches(images, ksizes if sizes is None else sizes, strides, rates, padding, name)


# Boxes.


@export("image.crop_and_resize", v1=())
def crop_and_resize(
    image: ArrayLike,
    boxes: ArrayLike,
    box_indices: ArrayLike,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Boxes of images, all resized to one size.

    Args:
        image: A batch of images.
        boxes: A row for each box: the first row, the first column, the last row, the last column, from 0 to 1.
        box_indices: For each box the number of its image.
        crop_size: The height and the width of the results.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: What stands for pixels outside of an image.
        name: A name for the ops.
    """
    if method not in ("bilinear", "nearest"):
        raise ArgumentError(f"method must be 'bilinear' or 'nearest', got {method!r}.")
    with Composed(name, "crop_and_resize") as last:
        pixels = convert_to_tensor(image)
        pixels = pixels if pixels.dtype in (dt.float32, dt.float64) else cast(pixels, dt.float32)
        corners, numbers = convert_to_tensor(boxes, dt.float32), cast(convert_to_tensor(box_indices), dt.int32)
        if pixels.shape.rank is None:
            pixels = ensure_shape(pixels, [None] * 4)
        fits = corners.shape.is_compatible_with([None, 4]) and numbers.shape.rank in (1, None)
        if pixels.shape.rank != 4 or not fits:
            raise ArgumentError(
                "crop_and_resize takes a batch of images, a matrix of boxes with 4 columns and a vector of numbers; got"
                f" shapes {pixels.shape}, {corners.shape} and {numbers.shape}."
            )
        new = convert_to_tensor(crop_size)
        high, wide = sizes(pixels)
        rows = _Places(corners[:, 0], corners[:, 2], new[0], high)
        columns = _Places(corners[:, 1], corners[:, 3], new[1], wide)
        flat = (numbers[:, None, None] * high) * wide
        table = reshape(pixels, [-1, shape_of(pixels)[3] if pixels.shape[3] is None else pixels.shape[3]])

        def at(row: Tensor, column: Tensor) -> Tensor:
            return gather(table, flat + row[:, :, None] * wide + column[:, None, :])

        if method == "nearest":
            made = at(rows.nearest(), columns.nearest())
        else:
            left, right = columns.part[:, None, :, None], rows.part[:, :, None, None]
            above = _between(at(rows.lower, columns.lower), at(rows.lower, columns.upper), left)
            below = _between(at(rows.upper, columns.lower), at(rows.upper, columns.upper), left)
            made = _between(above, below, right)
        inside = logical_and(rows.inside[:, :, None], columns.inside[:, None, :])[..., None]
        return where(inside, cast(made, dt.float32), constant(extrapolation_value, dt.float32), name=last)


@export(v1="image.crop_and_resize")
def crop_and_resize_v1(
    image: ArrayLike,
    boxes: ArrayLike,
    box_ind: ArrayLike | None = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
    box_indices: ArrayLike | None = None,
) -> Tensor:
    """`crop_and_resize`, with the argument order of TensorFlow 1 and its old name for `box_indices`."""
    indices = renamed("box_indices", box_indices, "box_ind", box_ind, required=True)
    return crop_and_resize(image, boxes, indices, crop_size, method, extrapolation_value, name)


def _between(first: Tensor, second: Tensor, part: Tensor) -> Tensor:
    return first + (second - first) * cast(part, first.dtype)


class _Places:
    """Where the pixels of boxes lie along one axis of an image.

    Args:
        start: The beginnings of the boxes, from 0 to 1.
        end: Their ends.
        count: How many pixels each gets.
        size: How many the image has.
    """

    def __init__(self, start: Tensor, end: Tensor, count: Tensor, size: IntsLike) -> None:
        last = cast(convert_to_tensor(size), dt.float32) - 1.0
        number = cast(count, dt.float32)
        steps = range_of(number)[None] / maximum(number - 1.0, 1.0)
        single = constant(0.5, dt.float32)
        along = where(number > 1.0, steps, single)
        self.places = (start[:, None] + along * (end - start)[:, None]) * last
        self.inside = logical_and(greater_equal(self.places, 0.0), less_equal(self.places, last))
        self.most = cast(last, dt.int32)
        self.part = self.places - floor(self.places)
        self.lower = self._pixel(floor(self.places))
        self.upper = self._pixel(ceil(self.places))

    def _pixel(self, place: Tensor) -> Tensor:
        pixel: Tensor = clip_by_value(cast(clip_by_value(place, -1.0, 2.0**30), dt.int32), 0, self.most)
        return pixel

    def nearest(self) -> Tensor:
        """The pixels that are nearest; a half is rounded up."""
        return self._pixel(floor(self.places + 0.5))


_suppress = op(
    "NonMaxSuppressionV3",
    "boxes: float32, scores: float32, max_output_size: host, iou_threshold: host, score_threshold: host"
    " -> selected_indices: int32",
)
_suppress.stops_gradients()


@_suppress.shape
def _suppress_shape(boxes: TensorShape, scores: TensorShape, *limits: Any) -> TensorShape:
    if not boxes.is_compatible_with([None, 4]) or scores.rank not in (1, None):
        raise ArgumentError(f"Boxes are a matrix of 4 columns, scores a vector; got {boxes} and {scores}.")
    if boxes.rank is not None and scores.rank is not None and not scores.is_compatible_with([boxes[0]]):
        raise ArgumentError(f"scores has incompatible shape: {scores} for {boxes[0]} boxes.")
    return TensorShape([None])


@_suppress.kernel(CPU)
def _suppress_kernel(
    boxes: torch.Tensor, scores: torch.Tensor, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> torch.Tensor:
    _suppress_shape(TensorShape(boxes.shape), TensorShape(scores.shape))
    if not 0 <= iou_threshold <= 1:
        raise InvalidArgumentError(f"iou_threshold must be in [0, 1], got {iou_threshold}")
    if max_output_size < 0:
        raise InvalidArgumentError(f"max_output_size must be non-negative, got {max_output_size}")
    corners, values = boxes.numpy(), scores.numpy()
    low, high = np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])
    areas = (high - low).prod(1)
    left = [int(number) for number in np.argsort(-values, kind="stable") if values[number] > score_threshold]
    order, chosen = np.array(left, dtype=np.int64), list[int]()
    while len(order) and len(chosen) < max_output_size:
        best, order = order[0], order[1:]
        chosen.append(best)
        common = (np.minimum(high[best], high[order]) - np.maximum(low[best], low[order])).clip(0).prod(1)
        union = areas[best] + areas[order] - common
        overlap = np.divide(common, union, out=np.zeros_like(common), where=(areas[order] > 0) & (areas[best] > 0))
        order = order[overlap <= iou_threshold]
    return torch.tensor(chosen, dtype=torch.int32)


@export("image.non_max_suppression")
def non_max_suppression(
    boxes: ArrayLike,
    scores: ArrayLike,
    max_output_size: IntLike,
    iou_threshold: ArrayLike = 0.5,
    score_threshold: ArrayLike = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the best boxes, without those that overlap a better one too much.

    Args:
        boxes: A row for each box, of two corners.
        scores: How good each is.
        max_output_size: The most boxes to choose.
        iou_threshold: How much of their union two boxes may have in common.
        score_threshold: Boxes with no better score than that are left out.
        name: A name for the op.
    """
    return _suppress(boxes, scores, max_output_size, iou_threshold, score_threshold, name=name)


# Within a frame.


@export("image.resize_with_pad", v1=())
def resize_with_pad(
    image: ArrayLike,
    target_height: IntLike,
    target_width: IntLike,
    method: str | int = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """An image, or a batch, resized so that it fits into a frame, with zeros around it.

    Args:
        image: The images.
        target_height: The height of the frame.
        target_width: The width of the frame.
        method: See ``tf.image.resize``.
        antialias: See ``tf.image.resize``.
    """
    return _framed(image, target_height, target_width, lambda x, size: resize(x, size, method, antialias=antialias))


@export(v1=("image.resize_image_with_pad", "image.resize_with_pad"))
def resize_image_with_pad(
    image: ArrayLike,
    target_height: IntLike,
    target_width: IntLike,
    method: str | int = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """`resize_with_pad` that resizes as TensorFlow 1 does."""
    return _framed(image, target_height, target_width, lambda x, size: resize_images(x, size, method, align_corners))


def _framed(image: ArrayLike, high: Any, wide: Any, change: Callable[[Tensor, Any], Tensor]) -> Tensor:
    with Composed(None, "resize_image_with_pad"):
        given = as_image(image)
        batch, single = with_batch(given)
        for what, size in (("target_height", high), ("target_width", wide)):
            if not is_tensor(size) and as_int(size, what) <= 0:
                raise ArgumentError(f"{what} must be > 0, got {size}.")
        have = sizes(batch)
        if all(isinstance(size, int) for size in (*have, high, wide)):
            if 0 in have:
                raise ArgumentError(f"inner 3 dims of 'image.shape' must be > 0, got shape {brackets(given.shape)}.")
            ratio = np.float32(max(np.float32(have[1]) / np.float32(wide), np.float32(have[0]) / np.float32(high)))
            exact = [np.float32(size) / ratio for size in have]
            new: Any = [int(size) for size in exact]
            spare = [np.float32(to) - size for to, size in zip((high, wide), exact, strict=True)]
            offsets: list[Any] = [max(0, int(each // 2)) for each in spare]
        else:
            floats = [cast(convert_to_tensor(size), dt.float32) for size in (*have, high, wide)]
            share = maximum(floats[1] / floats[3], floats[0] / floats[2])
            parts = [size / share for size in floats[:2]]
            new = stack([cast(floor(part), dt.int32) for part in parts])
            offsets = [
                maximum(cast(floor((to - part) / 2.0), dt.int32), 0) for to, part in zip(floats[2:], parts, strict=True)
            ]
        framed = pad_to_bounding_box(change(batch, new), offsets[0], offsets[1], high, wide)
        if isinstance(framed, SymbolicTensor):
            frame = [None if is_tensor(size) else size for size in (high, wide)]
            framed.set_shape([batch.shape[0], *frame, batch.shape[3]])
        return squeeze(framed, [0]) if single else framed
