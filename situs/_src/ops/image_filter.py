"""Images of another size, each pixel a sum of several: bicubic, area, Lanczos, Gaussian, Mitchell, and antialiasing.

All of them go along the two axes one after the other. Along an axis a new pixel is a sum of few pixels of the image:

    new[i] = sum over t of image[places[i, t]] * weights[i, t]

    kind            a pixel is
    "bicubic"       between four in a row: TensorFlow 1's cubic, or Keys' with half_pixel_centers
    "area"          the mean of what it covers
    "triangle", "keyscubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"
                    a sum by a function of the distance, which antialiasing makes as wide as the pixels are apart
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue, IntsLike, SizesOf
from situs._src.ops import quick_resize
from situs._src.ops.array import as_integers, host_shape, partly
from situs._src.ops.cast import cast
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.quick_resize import Taps

PIXELS = frozenset({dt.int8, dt.uint8, dt.int16, dt.int32, dt.int64}) | FLOATING
Array = np.ndarray[Any, Any]

# The functions of the distance, and how far they reach.


def _lanczos(reach: float, x: Array) -> Array:
    near = np.maximum(x, 1e-3)
    wave = reach * np.sin(np.pi * near) * np.sin(np.pi * near / reach) / (np.pi * np.pi * near * near)
    return np.where(x > reach, 0.0, np.where(x <= 1e-3, 1.0, wave))


def _cubic(x: Array, inner: tuple[float, ...], outer: tuple[float, ...]) -> Array:
    return np.where(x >= 2, 0.0, np.where(x >= 1, np.polyval(outer, x), np.polyval(inner, x)))


_KERNELS: dict[str, tuple[float, Any]] = {
    "triangle": (1.0, lambda x: np.maximum(1.0 - x, 0.0)),
    "keyscubic": (2.0, lambda x: _cubic(x, (1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))),
    "mitchellcubic": (2.0, lambda x: _cubic(x, (7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9))),
    "lanczos3": (3.0, lambda x: _lanczos(3.0, x)),
    "lanczos5": (5.0, lambda x: _lanczos(5.0, x)),
    "gaussian": (1.5, lambda x: np.where(x >= 1.5, 0.0, np.exp(-x * x / 0.5))),
}


def _by_distance(before: int, after: int, kind: str, antialias: bool) -> tuple[Array, Array]:
    reach, weigh = _KERNELS[kind]
    step = before / after
    wide = max(step, 1.0) if antialias else 1.0
    centers = (np.arange(after) + 0.5) * step
    first = np.ceil(centers - reach * wide - 0.5).clip(0, before - 1)[:, None]
    last = np.floor(centers + reach * wide - 0.5).clip(0, before - 1)[:, None]
    pixels = first + np.arange(int((last - first).max()) + 1)
    weights = weigh(np.abs(pixels + 0.5 - centers[:, None]) / wide) * (pixels <= last)
    return np.minimum(pixels, last).astype(int), _normalised(weights)


def _normalised(weights: Array) -> Array:
    total = weights.sum(1, keepdims=True)
    made: Array = np.divide(weights, total, out=weights, where=np.abs(total) > 1e-30)
    return made


_FINE = 1024  # places between two pixels that TensorFlow's bicubic tells apart


def _bicubic(before: int, after: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array]:
    scale = np.float32((before - 1) / (after - 1) if align_corners and after > 1 else before / after)
    places = np.arange(after, dtype=np.float32)
    places = (places + np.float32(0.5)) * scale - np.float32(0.5) if half_pixel_centers else places * scale
    lower = np.floor(places)
    part = np.rint((places - lower) * _FINE) / _FINE
    a = -0.5 if half_pixel_centers else -0.75
    pixels, weights = np.zeros((after, 4), int), np.zeros((after, 4))
    for number in range(4):
        x = np.abs(part - (number - 1))
        weight = np.where(x > 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, ((a + 2) * x - (a + 3)) * x * x + 1)
        pixel = lower.astype(int) + number - 1
        pixels[:, number] = inside = pixel.clip(0, before - 1)
        weights[:, number] = np.where(inside == pixel, weight, 0.0) if half_pixel_centers else weight
    return pixels, _normalised(weights) if half_pixel_centers else weights


def _area(before: int, after: int, align_corners: bool) -> tuple[Array, Array]:
    scale = (before - 1) / (after - 1) if align_corners and after > 1 else before / after
    start = (np.arange(after) * scale)[:, None]
    pixels = np.floor(start) + np.arange(int(np.ceil(scale)) + 1)
    weights = np.clip(np.minimum(pixels + 1, start + scale) - np.maximum(pixels, start), 0, None) / scale
    return pixels.clip(0, before - 1).astype(int), weights  # what lies behind the last pixel counts as it


def _transposed(before: int, places: Array, weights: Array) -> tuple[Array, Array]:
    """For each pixel of the image the new ones that it is part of, and its weights in them."""
    counts = weights.ravel() != 0
    pixels = places.ravel()[counts]
    order = np.argsort(pixels, kind="stable")
    uses = np.bincount(pixels, minlength=before)
    made = np.zeros((2, before, max(uses.max(initial=0), 1)))
    numbers = np.arange(len(pixels)) - np.repeat(np.cumsum(uses) - uses, uses)
    new = np.repeat(np.arange(len(places)), places.shape[1])
    made[:, pixels[order], numbers] = new[counts][order], weights.ravel()[counts][order]
    return made[0].astype(int), made[1]


@functools.lru_cache(maxsize=64)
def _taps(before: int, after: int, where: torch.device, is_gradient: bool, kind: str, **ways: bool) -> Taps:
    """The places and the weights along an axis: for each new pixel, or with `is_gradient` for each of the image."""
    if kind == "bicubic":
        found = _bicubic(before, after, ways["align_corners"], ways["half_pixel_centers"])
    elif kind == "area":
        found = _area(before, after, ways["align_corners"])
    else:
        found = _by_distance(before, after, kind, ways["antialias"])
    places, weights = _transposed(before, *found) if is_gradient else found
    return torch.from_numpy(places).to(where), torch.from_numpy(weights.astype(np.float32)).to(where)


def along(part: torch.Tensor, axis: int) -> torch.Tensor:
    """A number for each pixel along an axis of images, to multiply them by."""
    return part.view([-1 if number == axis else 1 for number in range(4)])


def _weighted(images: torch.Tensor, rows: Taps, columns: Taps) -> torch.Tensor:
    made = quick_resize.weighted(images, rows, columns)
    if made is not None:
        return made
    made = images.to(torch.float32)
    for axis, (places, weights) in ((1, rows), (2, columns)):
        terms = (
            made.index_select(axis, place).mul_(along(weight.contiguous(), axis))
            for place, weight in zip(places.T, weights.T, strict=True)
        )
        made = functools.reduce(torch.Tensor.add_, terms)
    return made


_ATTRS: dict[str, Any] = {"kind": "bicubic", "antialias": False, "align_corners": False, "half_pixel_centers": False}
filtered = op("ResizeFiltered", "images: T, size: host -> resized_images: float32", T=PIXELS, **_ATTRS)


@filtered.shape
def _filtered_shape(images: TensorShape, size: HostValue, **ways: Any) -> TensorShape:
    if images.rank not in (None, 4):
        raise ArgumentError(f"input must be 4-dimensional {brackets(images)}")
    batch, channels = (None, None) if images.rank is None else (images[0], images[3])
    if size is None:
        return TensorShape([batch, None, None, channels])
    if host_shape(size) != (2,):
        raise ArgumentError(f"shape_t must have two elements {brackets(host_shape(size))}")
    return TensorShape([batch, *partly(_positive, size), channels])


def _positive(size: IntsLike) -> tuple[int, ...]:
    found = as_integers(size, "size")
    if not all(each > 0 for each in found):
        raise ArgumentError(f"output dimensions must be positive, got size {brackets(found)}")
    return found


@filtered.kernel(CPU, GPU)
def _filtered_kernel(images: torch.Tensor, size: tuple[int, ...], **ways: Any) -> torch.Tensor:
    _filtered_shape(TensorShape(images.shape), size)
    if not (images.shape[1] and images.shape[2]):
        raise ArgumentError(f"input image must be of non-zero size, got shape {brackets(list(images.shape))}")
    rows, columns = (_taps(images.shape[axis], size[axis - 1], images.device, False, **ways) for axis in (1, 2))
    return _weighted(images, rows, columns)


_filtered_grad = op("ResizeFilteredGrad", "grads: float32, original_size: host -> output: float32", **_ATTRS)
_filtered_grad.shape(lambda grads, original_size, **ways: TensorShape(original_size))


@_filtered_grad.kernel(CPU, GPU)
def _filtered_grad_kernel(grads: torch.Tensor, original_size: tuple[int, ...], **ways: Any) -> torch.Tensor:
    rows, columns = (_taps(original_size[axis], grads.shape[axis], grads.device, True, **ways) for axis in (1, 2))
    return _weighted(grads, rows, columns)


@filtered.gradient
def _filtered_gradient(
    grad: Tensor,
    images: Tensor,
    images_shape: SizesOf,
    *,
    kind: str,
    antialias: bool,
    align_corners: bool,
    half_pixel_centers: bool,
) -> Tensor | None:
    if not images.dtype.is_floating:
        return None
    ways = _ways(kind, antialias, align_corners, half_pixel_centers)
    made = _filtered_grad(grad, images_shape, **ways)
    return made if images.dtype is dt.float32 else cast(made, images.dtype)


@_filtered_grad.gradient
def _filtered_grad_gradient(
    grad: Tensor, grads_shape: SizesOf, *, kind: str, antialias: bool, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    return filtered(grad, grads_shape[1:3], **_ways(kind, antialias, align_corners, half_pixel_centers))


def _ways(kind: str, antialias: bool, align_corners: bool, half_pixel_centers: bool) -> dict[str, Any]:
    return {
        "kind": kind,
        "antialias": antialias,
        "align_corners": align_corners,
        "half_pixel_centers": half_pixel_centers,
    }


# What programs call besides `tf.image.resize`.


@export(v1="image.resize_bicubic")
def resize_bicubic(
    images: ArrayLike,
    size: IntsLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size, with each pixel between four in a row.

    Args:
        images: Images in the layout NHWC.
        size: The new height and width.
        align_corners: Whether the corner pixels stay where they are.
        name: A name for the op.
        half_pixel_centers: Whether pixels have their centers at one half, as in ``tf.image.resize``.
    """
    return filtered(images, size, **_ways("bicubic", False, bool(align_corners), bool(half_pixel_centers)), name=name)


@export(v1="image.resize_area")
def resize_area(images: ArrayLike, size: IntsLike, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images of another size, with each pixel the mean of what it covers; for the arguments see `resize_bicubic`."""
    return filtered(images, size, **_ways("area", False, bool(align_corners), False), name=name)
