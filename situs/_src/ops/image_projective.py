"""Projective transformations of images: ``tf.raw_ops.ImageProjectiveTransformV3``.

Eight numbers say, for each pixel of the result, where in the image it comes from. For a column x and a row y these are

    column  (a0 x + a1 y + a2) / (c0 x + c1 y + 1)          row  (b0 x + b1 y + b2) / (c0 x + c1 y + 1)
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import ones_like
from situs._src.ops.decompose import inv
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import concat

_PIXELS = FLOATING | {dt.uint8, dt.int32, dt.int64}
_ATTRS: dict[str, Any] = {"interpolation": "NEAREST", "fill_mode": "CONSTANT"}
_FAR = 2.0**24  # pixels: farther, float32 does not tell them apart
_second = op(
    "ImageProjectiveTransformV2",
    "images: dtype, transforms: float32, output_shape: host -> transformed_images: dtype",
    dtype=_PIXELS,
    **_ATTRS,
)
_third = op(
    "ImageProjectiveTransformV3",
    "images: dtype, transforms: float32, output_shape: host, fill_value: host -> transformed_images: dtype",
    dtype=_PIXELS,
    **_ATTRS,
)


def _infer(
    images: TensorShape, transforms: TensorShape, output_shape: Any, fill_value: Any = None, **attrs: Any
) -> TensorShape:
    if images.rank not in (4, None):
        raise InvalidArgumentError(f"Input images must have rank 4, got shape {images}")
    batch = images[0] if images.rank is not None else None
    counts = transforms[0] if transforms.rank == 2 else None
    if not transforms.is_compatible_with([None, 8]) or (None not in (batch, counts) and counts not in (1, batch)):
        raise InvalidArgumentError(f"Input transform should be num_images x 8 or 1 x 8, got shape {transforms}")
    channels = images[3] if images.rank is not None else None
    if output_shape is None:
        return TensorShape([batch, None, None, channels])
    if not isinstance(output_shape, tuple) or len(output_shape) != 2:
        raise InvalidArgumentError(f"output shape must have two elements, got {output_shape!r}")
    if any(size is not None and size <= 0 for size in output_shape):
        raise InvalidArgumentError(f"output dimensions must be positive, got {output_shape}")
    return TensorShape([batch, *output_shape, channels])


_second.shape(_infer)
_third.shape(_infer)


def _inside(place: torch.Tensor, size: int, fill_mode: str) -> torch.Tensor:
    """Where a place outside of an image lies in it, by the way in which the image goes on beyond its border."""
    if fill_mode == "CONSTANT":
        return place
    if fill_mode == "NEAREST" or size <= 1:
        return place.clamp(0, size - 1)
    if fill_mode == "REFLECT":
        twice = 2 * size
        low = torch.where(place < twice, place + twice * torch.trunc(-place / twice), place)
        low = torch.where(low < -size, low + twice, -low - 1)
        high = place - twice * torch.trunc(place / twice)
        high = torch.where(high >= size, twice - high - 1, high)
    else:
        low = place + size * (torch.trunc(-place / (size - 1)) + 1)
        high = place - size * torch.trunc(place / (size - 1))
    return torch.where(place < 0, low, torch.where(place > size - 1, high, place)).clamp(0, size - 1)


def _read(images: torch.Tensor, row: torch.Tensor, column: torch.Tensor, fill: float) -> torch.Tensor:
    """The pixels at whole places, as float32; what is outside of the images has the color `fill`."""
    batch, high, wide, channels = images.shape
    outside = (row < 0) | (row >= high) | (column < 0) | (column >= wide)
    number = row.clamp(0, high - 1).long() * wide + column.clamp(0, wide - 1).long()
    flat = images.reshape(batch, high * wide, channels)
    found = torch.gather(flat, 1, number.reshape(batch, -1, 1).expand(-1, -1, channels))
    found = found.reshape(*row.shape, channels).float()
    return torch.where(outside[..., None], fill, found)


def _run(
    images: torch.Tensor,
    transforms: torch.Tensor,
    output_shape: Any,
    fill_value: Any = 0.0,
    *,
    interpolation: str,
    fill_mode: str,
) -> torch.Tensor:
    _infer(TensorShape(images.shape), TensorShape(transforms.shape), output_shape)
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise InvalidArgumentError(f"interpolation must be NEAREST or BILINEAR, got {interpolation!r}")
    if fill_mode not in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        raise InvalidArgumentError(f"fill_mode must be CONSTANT, REFLECT, WRAP or NEAREST, got {fill_mode!r}")
    if not isinstance(fill_value, (int, float)):
        raise InvalidArgumentError(f"fill_value must be a scalar, got {fill_value!r}")
    rows, columns = output_shape
    batch, high, wide, channels = images.shape
    if not images.numel():
        return images.new_zeros([batch, rows, columns, channels])
    fill = float(fill_value) if images.is_floating_point() else float(int(fill_value))
    a0, a1, a2, b0, b1, b2, c0, c1 = transforms.expand(batch, 8).T[:, :, None, None]
    y = torch.arange(rows, device=images.device, dtype=torch.float32)[:, None]
    x = torch.arange(columns, device=images.device, dtype=torch.float32)[None]
    below = c0 * x + c1 * y + 1.0
    column = ((a0 * x + a1 * y + a2) / below).nan_to_num(-_FAR).clamp(-_FAR, _FAR)
    row = ((b0 * x + b1 * y + b2) / below).nan_to_num(-_FAR).clamp(-_FAR, _FAR)
    column, row = _inside(column, wide, fill_mode), _inside(row, high, fill_mode)
    if interpolation == "NEAREST":
        nearest = [torch.floor(place.abs() + 0.5) * torch.sign(place) for place in (row, column)]
        made = _read(images, nearest[0], nearest[1], fill)
    else:
        top, left = torch.floor(row), torch.floor(column)
        across, down = (column - left)[..., None], (row - top)[..., None]
        upper = (1 - across) * _read(images, top, left, fill) + across * _read(images, top, left + 1, fill)
        lower = (1 - across) * _read(images, top + 1, left, fill) + across * _read(images, top + 1, left + 1, fill)
        made = (1 - down) * upper + down * lower
    return torch.where((below == 0)[..., None], fill, made).to(images.dtype)


_second.kernel(CPU, GPU)(_run)
_third.kernel(CPU, GPU)(_run)


def _inverted(transforms: Tensor) -> Tensor:
    """The transforms the other way."""
    matrices = reshape(concat([transforms, ones_like(transforms[:, :1])], 1), [-1, 3, 3])
    back = reshape(inv(matrices), [-1, 9])
    return (back / back[:, 8:])[:, :8]


@_second.gradient
def _second_gradient(
    grad: Tensor, images: Tensor, transforms: Tensor, *, interpolation: str, fill_mode: str
) -> tuple[Tensor, None]:
    size = shape_of(images)[1:3]
    return _second(grad, _inverted(transforms), size, interpolation=interpolation, fill_mode=fill_mode), None


@_third.gradient
def _third_gradient(
    grad: Tensor, images: Tensor, transforms: Tensor, *, interpolation: str, fill_mode: str
) -> tuple[Tensor, None]:
    """As in TensorFlow the gradient is moved back as a picture is: near to, but not, the slope of each pixel."""
    size = shape_of(images)[1:3]
    return _third(grad, _inverted(transforms), size, 0.0, interpolation=interpolation, fill_mode=fill_mode), None
