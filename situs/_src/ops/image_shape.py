"""What functions of images have in common: the layouts HWC and NHWC, and sizes that may not be known yet.

sizes(image)      [height, width], integers where they are known, else scalars that will be
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import ensure_shape, expand_dims
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import convert_to_tensor


def with_batch(images: Tensor, what: str = "image") -> tuple[Tensor, bool]:
    """Images as a batch, and whether it was a single one.

    Raises:
        ValueError: they are neither.
    """
    rank = images.shape.rank
    if rank is None:
        raise ArgumentError(f"'{what}' contains no shape: it must be known to be an image or a batch of images.")
    if rank not in (3, 4):
        raise ArgumentError(f"'{what}' must have either 3 or 4 dimensions, got shape {brackets(images.shape)}.")
    return (expand_dims(images, 0), True) if rank == 3 else (images, False)


def check_image(image: Tensor) -> int | None:
    """The rank of an image, or of a batch; None where it is not known yet.

    Raises:
        ValueError: it has too few dimensions.
    """
    rank = image.shape.rank
    if rank is not None and rank < 3:
        raise ArgumentError(f"'image' (shape {image.shape}) must be at least three-dimensional.")
    return rank


def as_image(image: ArrayLike) -> Tensor:
    """An image or a batch as a tensor; what may be either is taken for an image, which is checked when it is there.

    Raises:
        ValueError: it is neither.
    """
    given = convert_to_tensor(image)
    if given.shape.rank is None:
        return ensure_shape(given, [None, None, None])
    with_batch(given)
    return given


def sizes(images: Tensor) -> list[Any]:
    """The height and the width of images whose rank is known."""
    first = len(images.shape) - 3
    known = images.shape.as_list()[first : first + 2]
    if None not in known:
        return known
    found = shape_of(images)
    return [found[first + number] if size is None else size for number, size in enumerate(known)]
