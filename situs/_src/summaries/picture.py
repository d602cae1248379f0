"""Images as PNG files, by Pillow, which TensorBoard brings along.

encode_png(pixels)        uint8 [height, width, 1 to 4]: grey, grey with alpha, RGB, RGBA
as_pixels(image)          what TensorFlow 1 makes of floats: the largest becomes 255, or -128..127 around 128
as_bytes(images)          what TensorFlow 2 makes of any numbers: floats are between 0 and 1, and cut off there
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError
from situs._src.summaries import messages

Array = np.ndarray[Any, Any]

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_BAD = np.array([255, 0, 0, 255], np.uint8)  # for pixels that are not numbers
_NEAR_ZERO = 1e-6


def encode_png(pixels: Array) -> bytes:
    """The bytes of a PNG file.

    Raises:
        InvalidArgumentError: there are no pixels, or not 1 to 4 channels.
    """
    height, width, channels = pixels.shape
    if channels not in _MODES:
        raise ArgumentError(f"image must have 1, 2, 3, or 4 channels, got {channels}")
    if not height or not width:
        raise ArgumentError(f"An image has at least one pixel, got one of {height} x {width}.")
    flat = np.ascontiguousarray(pixels)
    picture = messages.part("PIL.Image").frombytes(_MODES[channels], (width, height), flat.tobytes())
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()


def as_pixels(image: Array) -> Array:
    """One image of floats, scaled by its own values, in its own dtype."""
    good = np.isfinite(image).all(axis=-1)
    low, high = (float(image[good].min()), float(image[good].max())) if good.any() else (0.0, 0.0)
    largest, top, offset = (max(-low, high), 127.0, 128.0) if low < 0 else (high, 255.0, 0.0)
    scale = 0.0 if largest < _NEAR_ZERO else top / largest
    made = np.empty(image.shape, np.uint8)
    scaled = (image[good].astype(np.float64) * scale).astype(image.dtype)  # the scale may be too large for a half
    made[good] = (scaled + image.dtype.type(offset)).astype(np.uint8)
    made[~good] = _BAD[: image.shape[-1]]
    return made


def as_bytes(images: Array) -> Array:
    """Numbers of any dtype as uint8: all of the dtype's range, or of 0 to 1, is spread over 0 to 255."""
    if images.dtype == np.uint8:
        return images
    if images.dtype.kind in "iu":
        bits = int(np.iinfo(images.dtype).max).bit_length()
        wide = np.maximum(images, 0).astype(np.uint64)
        return (wide >> np.uint64(bits - 8) if bits >= 8 else wide << np.uint64(8 - bits)).astype(np.uint8)
    numbers = np.nan_to_num(images.astype(np.float64), nan=0.0, posinf=1.0, neginf=0.0)
    return np.clip(numbers * 255.5, 0, 255).astype(np.uint8)
