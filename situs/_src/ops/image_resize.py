"""Images of another size: bilinear, or the nearest pixel; `ops.image_filter` has the other ways.

A pixel of the result stands for a place in the image. TensorFlow has three ways to say which one:

    align_corners        the corner pixels stay where they are:        i * (in - 1) / (out - 1)
    half_pixel_centers   pixels have their centers at one half:        (i + 0.5) * in / out - 0.5
    neither              the upper left corners stay where they are:   i * in / out

TensorFlow 2's ``tf.image.resize`` takes the second, TensorFlow 1's ``resize_images`` the third unless it is told to
align corners. Bilinear results are float32 whatever the image is; the nearest pixel stays what it was.
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue, IntsLike, SizesOf
from situs._src.ops import quick_resize
from situs._src.ops.array import as_integers, host_shape, partly, squeeze
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.image_filter import along, filtered
from situs._src.ops.image_shape import sizes, with_batch
from situs._src.ops.join import stack
from situs._src.ops.math import divide, minimum
from situs._src.ops.math import round as round_
from situs._src.ops.naming import Composed
from situs._src.ops.quick_resize import Between

PIXELS = frozenset({dt.int8, dt.uint8, dt.int16, dt.int32, dt.int64}) | FLOATING
_ATTRS: dict[str, Any] = {"align_corners": False, "half_pixel_centers": False}


def _resized_shape(images: TensorShape, size: HostValue, **ways: bool) -> TensorShape:
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


def _check(images: torch.Tensor, size: HostValue) -> None:
    _resized_shape(TensorShape(images.shape), size)
    if not (images.shape[1] and images.shape[2]):
        raise ArgumentError(f"input image must be of non-zero size, got shape {brackets(list(images.shape))}")


def _scale(before: int, after: int, align_corners: bool) -> torch.Tensor:
    whole = (before - 1, after - 1) if align_corners and after > 1 else (before, after)
    return torch.tensor(whole[0], dtype=torch.float32) / whole[1]


# ResizeBilinear.

_bilinear = op("ResizeBilinear", "images: T, size: host -> resized_images: float32", T=PIXELS, **_ATTRS)
_bilinear.shape(_resized_shape)


@_bilinear.kernel(CPU, GPU)
def _bilinear_kernel(images: torch.Tensor, size: tuple[int, ...], **ways: bool) -> torch.Tensor:
    _check(images, size)
    rows, columns = (_neighbours(images.shape[axis], size[axis - 1], ways, images.device) for axis in (1, 2))
    made = quick_resize.bilinear(images, rows, columns)
    return _between(_between(images.to(torch.float32), 2, columns), 1, rows) if made is None else made


def _between(values: torch.Tensor, axis: int, neighbours: Between) -> torch.Tensor:
    lower, upper, part = neighbours
    first, second = values.index_select(axis, lower), values.index_select(axis, upper)
    return second.sub_(first).mul_(along(part, axis)).add_(first)


def _neighbours(before: int, after: int, ways: dict[str, bool], where: torch.device) -> Between:
    """For each pixel of the result the two of the image that it lies between, and how far from the first."""
    return _found_neighbours(before, after, where, **ways)


@lru_cache(maxsize=64)
def _found_neighbours(before: int, after: int, where: torch.device, **ways: bool) -> Between:
    places = torch.arange(after, dtype=torch.float32)
    scale = _scale(before, after, ways["align_corners"])
    places = (places + 0.5) * scale - 0.5 if ways["half_pixel_centers"] else places * scale
    lower = places.floor()
    found = lower.clamp(min=0).long(), places.ceil().clamp(max=before - 1).long(), places - lower
    return found[0].to(where), found[1].to(where), found[2].to(where)


_bilinear_grad = op("ResizeBilinearGrad", "grads: float32, original_size: host -> output: float32", **_ATTRS)
_bilinear_grad.shape(lambda grads, original_size, **ways: TensorShape(original_size))


@_bilinear_grad.kernel(CPU, GPU)
def _bilinear_grad_kernel(grads: torch.Tensor, original_size: tuple[int, ...], **ways: bool) -> torch.Tensor:
    rows = _gathered(grads, 1, original_size[1], ways)
    return _gathered(rows, 2, original_size[2], ways)


def _gathered(grads: torch.Tensor, axis: int, size: int, ways: dict[str, bool]) -> torch.Tensor:
    """What flows back to the pixels of the image along one axis."""
    lower, upper, part = _neighbours(size, grads.shape[axis], ways, grads.device)
    weight = along(part, axis)
    made = grads.new_zeros([size if number == axis else n for number, n in enumerate(grads.shape)])
    return made.index_add_(axis, lower, grads * (1 - weight)).index_add_(axis, upper, grads * weight)


@_bilinear.gradient
def _bilinear_gradient(
    grad: Tensor, images: Tensor, images_shape: SizesOf, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor | None:
    if not images.dtype.is_floating:
        return None
    ways: dict[str, Any] = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    made = _bilinear_grad(grad, images_shape, **ways)
    return made if images.dtype is dt.float32 else cast(made, images.dtype)


@_bilinear_grad.gradient
def _bilinear_grad_gradient(
    grad: Tensor, grads_shape: SizesOf, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    ways: dict[str, Any] = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return _bilinear(grad, grads_shape[1:3], **ways)


# ResizeNearestNeighbor.

_nearest = op("ResizeNearestNeighbor", "images: T, size: host -> resized_images: T", T=PIXELS, **_ATTRS)
_nearest.shape(_resized_shape)


@_nearest.kernel(CPU, GPU)
def _nearest_kernel(images: torch.Tensor, size: tuple[int, ...], **ways: bool) -> torch.Tensor:
    _check(images, size)
    for axis, after in ((1, size[0]), (2, size[1])):
        images = images.index_select(axis, _closest(images.shape[axis], after, ways).to(images.device))
    return images


def _closest(before: int, after: int, ways: dict[str, bool]) -> torch.Tensor:
    places, scale = torch.arange(after, dtype=torch.float32), _scale(before, after, ways["align_corners"])
    found = (places + 0.5 if ways["half_pixel_centers"] else places) * scale
    # A half is rounded away from zero, as C does it.
    return ((found + 0.5).floor() if ways["align_corners"] else found.floor()).clamp(0, before - 1).long()


_nearest_grad = op("ResizeNearestNeighborGrad", "grads: T, original_size: host -> output: T", T=FLOATING, **_ATTRS)
_nearest_grad.shape(lambda grads, original_size, **ways: TensorShape(original_size))


@_nearest_grad.kernel(CPU, GPU)
def _nearest_grad_kernel(grads: torch.Tensor, original_size: tuple[int, ...], **ways: bool) -> torch.Tensor:
    for axis in (1, 2):
        size = original_size[axis]
        places = _closest(size, grads.shape[axis], ways).to(grads.device)
        made = grads.new_zeros([size if number == axis else n for number, n in enumerate(grads.shape)])
        grads = made.index_add_(axis, places, grads)
    return grads


@_nearest.gradient
def _nearest_gradient(grad: Tensor, images_shape: SizesOf, *, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    return _nearest_grad(grad, images_shape, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@_nearest_grad.gradient
def _nearest_grad_gradient(
    grad: Tensor, grads_shape: SizesOf, *, align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    ways: dict[str, Any] = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return _nearest(grad, grads_shape[1:3], **ways)


# What programs call.


@export(v1="image.resize_bilinear")
def resize_bilinear(
    images: ArrayLike,
    size: IntsLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size, with each pixel between those next to it.

    Args:
        images: Images in the layout NHWC.
        size: The new height and width.
        align_corners: Whether the corner pixels stay where they are.
        name: A name for the op.
        half_pixel_centers: Whether pixels have their centers at one half, as in ``tf.image.resize``.
    """
    return _bilinear(images, size, **_ways(align_corners, half_pixel_centers), name=name)


@export(v1="image.resize_nearest_neighbor")
def resize_nearest_neighbor(
    images: ArrayLike,
    size: IntsLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """Images of another size, with each pixel the one that is nearest to it.

    Args:
        images: Images in the layout NHWC.
        size: The new height and width.
        align_corners: Whether the corner pixels stay where they are.
        name: A name for the op.
        half_pixel_centers: Whether pixels have their centers at one half, as in ``tf.image.resize``.
    """
    return _nearest(images, size, **_ways(align_corners, half_pixel_centers), name=name)


def _ways(align_corners: Any, half_pixel_centers: Any) -> dict[str, bool]:
    ways = {
        "align_corners": as_bool(align_corners, "align_corners"),
        "half_pixel_centers": as_bool(half_pixel_centers, "half_pixel_centers"),
    }
    if all(ways.values()):
        raise ArgumentError("If half_pixel_centers is True, align_corners must be False.")
    return ways


@export("image.ResizeMethod", v1=())
class ResizeMethod(enum.StrEnum):
    """The ways to resize images, by TensorFlow 2's names."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


@export(v1="image.ResizeMethod")
class ResizeMethodV1:
    """The ways to resize images, by TensorFlow 1's numbers."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_V1 = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}
_OPS = {"bilinear": _bilinear, "nearest": _nearest}


@export("image.resize", v1=())
def resize(
    images: ArrayLike,
    size: IntsLike,
    method: str | int = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size.

    Args:
        images: One image, in the layout HWC, or a batch of them.
        size: The new height and width.
        method: One of ``tf.image.ResizeMethod``, such as ``"bilinear"``, ``"nearest"`` or ``"bicubic"``.
        preserve_aspect_ratio: Whether `size` is the most that the result may have, and the proportions stay.
        antialias: Whether pixels of smaller images are made of all those they stand for.
        name: A name for the op.

    Raises:
        ValueError: the images, or the size, have the wrong shape.
    """
    smooths = as_bool(antialias, "antialias")
    with Composed(name, "resize") as last:
        given = convert_to_tensor(images)
        new = _target(given, size, preserve_aspect_ratio)
        return _resized(given, new, method, _ways(False, True), last, smooths)


@export(v1=("image.resize", "image.resize_images"))
def resize_images(
    images: ArrayLike,
    size: IntsLike,
    method: str | int = ResizeMethodV1.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images of another size, as TensorFlow 1 makes them; those that have it already are returned as they are.

    Args:
        images: One image, in the layout HWC, or a batch of them.
        size: The new height and width.
        method: One of ``ResizeMethod``.
        align_corners: Whether the corner pixels stay where they are.
        preserve_aspect_ratio: Whether `size` is the most that the result may have, and the proportions stay.
        name: A name for the op.

    Raises:
        ValueError: the images, or the size, have the wrong shape.
    """
    with Composed(name, "resize") as last:
        given = convert_to_tensor(images)
        new = _target(given, size, preserve_aspect_ratio)
        old = sizes(given)
        if _are_known(new) and _are_known(old) and new == old:
            return given
        return _resized(given, new, method, _ways(align_corners, False), last)


_SMOOTH = {"bilinear": "triangle", "bicubic": "keyscubic"}  # what TensorFlow takes for antialiasing


def _resized(
    images: Tensor, size: IntsLike, method: str | int, ways: dict[str, Any], name: str | None, antialias: bool = False
) -> Tensor:
    word = _method(method)
    kind = _SMOOTH.get(word, word) if antialias else word
    resize_op = _OPS.get(kind)
    if resize_op is None:
        resize_op, ways = filtered, {**ways, "kind": kind, "antialias": antialias}
    batch, single = with_batch(images, "images")
    if isinstance(size, list) and not _are_known(size):
        size = stack(size)
    made = resize_op(batch, size, **ways)
    return squeeze(made, [0], name=name) if single else made


def _are_known(sizes: IntsLike) -> bool:
    """Whether this is a list of integers, and no tensor, nor a list with tensors in it."""
    return isinstance(sizes, list) and all(isinstance(size, int) for size in sizes)


def _method(method: str | int) -> str:
    word = _V1.get(method) if isinstance(method, int) else str(method) if isinstance(method, str) else None
    if word not in list(ResizeMethod):
        raise ArgumentError(f"Resize method is not implemented: {shown(method)}")
    return str(word)


def _target(images: Tensor, size: IntsLike, keeps_ratio: Any) -> list[Any] | Tensor | list[int]:
    """The new height and width: a list of two, integers where they are known, or a tensor."""
    given = convert_to_tensor(size, name="size")
    if not given.shape.is_compatible_with([2]):
        raise ArgumentError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if not given.dtype.is_integer:
        raise DTypeError(f"'size' must consist of integers, got {shown(size)}")
    known = _known(size)
    if not as_bool(keeps_ratio, "preserve_aspect_ratio"):
        return given if known is None else known
    return _within([given[0], given[1]] if known is None else known, sizes(images))


def _known(size: Any) -> list[int] | None:
    try:
        return [each.__index__() for each in size]
    except (AttributeError, TypeError, ValueError):
        return None


def _within(most: list[Any], image: list[Any]) -> list[Any]:
    """The largest height and width in the proportions of an image."""
    if 0 in [size for size in image if isinstance(size, int)]:
        raise ArgumentError(f"input image must be of non-zero size, got height and width {image}")
    if _are_known([*most, *image]):
        factor = min(most[0] / image[0], most[1] / image[1])
        return [round(n * factor) for n in image]
    wide = [cast(each, dt.float32) for each in (*most, *image)]
    factor = minimum(divide(wide[0], wide[2]), divide(wide[1], wide[3]))
    return [cast(round_(each * factor), dt.int32) for each in wide[2:]]
