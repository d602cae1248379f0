"""Parts of images, and images with zeros around them.

crop_to_bounding_box(image, 1, 2, 3, 4)       rows 1 to 3, columns 2 to 5
pad_to_bounding_box(image, 1, 2, 10, 10)      the image in one of 10 x 10, one from the top, two from the left
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike, IntsLike
from situs._src.ops.array import as_attribute
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_float, is_plain, plain
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.image_shape import as_image, sizes
from situs._src.ops.indexing import getitem
from situs._src.ops.indexing import slice as slice_
from situs._src.ops.join import pad, stack
from situs._src.ops.math import floordiv, maximum, minimum
from situs._src.ops.random import crop_shape
from situs._src.ops.stateless import stateless_uniform


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: ArrayLike, offset_height: IntLike, offset_width: IntLike, target_height: IntLike, target_width: IntLike
) -> Tensor:
    """A part of an image, or of each image of a batch.

    Args:
        image: An image, or a batch.
        offset_height: The first row.
        offset_width: The first column.
        target_height: How many rows.
        target_width: How many columns.

    Raises:
        ValueError: the image does not have them.
    """
    given = as_image(image)
    height, width = sizes(given)
    top, left = _as_number(offset_height, "offset_height"), _as_number(offset_width, "offset_width")
    rows, columns = _as_number(target_height, "target_height"), _as_number(target_width, "target_width")
    _require(top, lambda n: n >= 0, "offset_height must be >= 0.")
    _require(left, lambda n: n >= 0, "offset_width must be >= 0.")
    _require(rows, lambda n: n > 0, "target_height must be > 0.")
    _require(columns, lambda n: n > 0, "target_width must be > 0.")
    _require((height, top, rows), lambda n: n[0] >= n[1] + n[2], "height must be >= target + offset.")
    _require((width, left, columns), lambda n: n[0] >= n[1] + n[2], "width must be >= target + offset.")
    batch = len(given.shape) - 3
    return slice_(given, [0] * batch + [top, left, 0], [-1] * batch + [rows, columns, -1])


def _as_number(value: object, name: str) -> int | Tensor:
    """A number of rows or columns: an integer, or a tensor that is not known before its graph runs.

    Raises:
        DTypeError: it is not an integer.
    """
    if is_plain(value):
        return as_attribute(value, name)
    number = convert_to_tensor(value)
    if not number.dtype.is_integer:
        raise DTypeError(f"{name} must be an integer, got {value!r}")
    return cast(number, dt.int32)


def _require(value: object, holds: Callable[[Any], bool], message: str) -> None:
    """Raises unless something holds of numbers that are known already; otherwise the op checks them when it runs."""
    numbers = value if isinstance(value, tuple) else (value,)
    if all(isinstance(number, int) for number in numbers) and not holds(value):
        raise ArgumentError(f"{message} Got {', '.join(map(str, numbers))}.")


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: ArrayLike, offset_height: IntLike, offset_width: IntLike, target_height: IntLike, target_width: IntLike
) -> Tensor:
    """An image with zeros around it.

    Args:
        image: An image, or a batch.
        offset_height: How many rows of zeros are above it.
        offset_width: How many columns of zeros are left of it.
        target_height: How many rows the result has.
        target_width: How many columns the result has.

    Raises:
        ValueError: there is no room for the image.
    """
    given = as_image(image)
    height, width = sizes(given)
    above, before = _as_number(offset_height, "offset_height"), _as_number(offset_width, "offset_width")
    _require(above, lambda n: n >= 0, "offset_height must be >= 0.")
    _require(before, lambda n: n >= 0, "offset_width must be >= 0.")
    rows, columns = _as_number(target_height, "target_height"), _as_number(target_width, "target_width")
    below, beside = rows - above - height, columns - before - width
    _require(below, lambda n: n >= 0, "height must be <= target - offset.")
    _require(beside, lambda n: n >= 0, "width must be <= target - offset.")
    margins = [above, below, before, beside]
    around = [[0, 0]] * (len(given.shape) - 3) + [margins[:2], margins[2:], [0, 0]]
    if all(isinstance(margin, int) for margin in margins):
        return pad(given, around)
    padded: Any = pad(given, stack([stack([cast(n, dt.int32) for n in pair]) for pair in around]))
    target = [size if isinstance(size, int) else None for size in (rows, columns)]
    padded.set_shape([*given.shape[:-3], *target, given.shape[-1]])
    made: Tensor = padded
    return made


@export("image.resize_with_crop_or_pad", v1=("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad"))
def resize_with_crop_or_pad(image: ArrayLike, target_height: IntLike, target_width: IntLike) -> Tensor:
    """The middle of an image, with zeros around it where the image is smaller than the target.

    Args:
        image: An image, or a batch.
        target_height: How many rows the result has.
        target_width: How many columns the result has.

    Raises:
        ValueError: the target is no size.
    """
    given = as_image(image)
    rows, columns = _as_number(target_height, "target_height"), _as_number(target_width, "target_width")
    _require(rows, lambda n: n > 0, "target_height must be > 0.")
    _require(columns, lambda n: n > 0, "target_width must be > 0.")
    height, width = sizes(given)
    (top, above), (left, before) = _margins(height, rows), _margins(width, columns)
    cropped = crop_to_bounding_box(given, top, left, _least(height, rows), _least(width, columns))
    return pad_to_bounding_box(cropped, above, before, rows, columns)


def _margins(size: IntsLike, target: Any) -> tuple[Any, Any]:
    """How many rows to leave out before the middle, and how many to add."""
    if isinstance(size, int) and isinstance(target, int):
        return max((size - target) // 2, 0), max((target - size) // 2, 0)
    return maximum(floordiv(size - target, 2), 0), maximum(floordiv(target - size, 2), 0)


def _least(size: IntsLike, target: object) -> int | Tensor:
    return min(size, target) if isinstance(size, int) and isinstance(target, int) else minimum(size, target)


@export("image.central_crop")
def central_crop(image: ArrayLike, central_fraction: Any) -> Tensor:
    """The middle of an image.

    Args:
        image: An image, or a batch.
        central_fraction: How much of the height and of the width to keep: more than 0, at most 1.

    Raises:
        ValueError: it is not such a fraction.
    """
    given, fraction = as_image(image), as_float(central_fraction, "central_fraction")
    if not 0.0 < fraction <= 1.0:
        raise ArgumentError(f"central_fraction must be within (0, 1], got {fraction}")
    if fraction == 1.0:
        return given
    (top, rows), (left, columns) = (_central(size, fraction) for size in sizes(given))
    return getitem(given, (..., slice(top, top + rows), slice(left, left + columns), slice(None)))


def _central(size: IntsLike, fraction: float) -> tuple[Any, Any]:
    """Where the middle of one dimension begins, and how long it is."""
    if isinstance(size, int):
        start: Any = int((size - size * fraction) / 2)
    else:
        whole = cast(size, dt.float64)
        start = cast((whole - whole * fraction) / 2.0, dt.int32)
    return start, size - start * 2


@export("image.stateless_random_crop", v1=())
def stateless_random_crop(
    value: ArrayLike, size: IntsLike, seed: ArrayLike, name: str | None = "stateless_random_crop"
) -> Tensor:
    """Cuts a block of shape `size` out of `value`, at the random place of a seed.

    Args:
        value: A tensor.
        size: The shape of the block, one size for each dimension of `value`.
        seed: Two integers.
        name: A name for the op.
    """
    tensor = convert_to_tensor(value)
    if is_plain(size):
        crop_shape(tensor.shape, plain(size, "size"))
    have, wanted = shape_of(tensor), convert_to_tensor(size, dt.int32)
    drawn = stateless_uniform(shape_of(have), seed, 0, dt.int32.max, dt.int32)
    return slice_(tensor, drawn % (have - wanted + 1), wanted, name)
