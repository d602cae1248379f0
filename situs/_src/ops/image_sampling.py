"""A random part of an image that shows enough of some object in it: ``tf.image.sample_distorted_bounding_box``.

begin, size, box = tf.image.sample_distorted_bounding_box(tf.shape(image), boxes, min_object_covered=0.1)
part = tf.slice(image, begin, size)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.ops.attribute import as_bool, as_float, as_int
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.random import uniform, unseeded_uniform


class SampledBox(NamedTuple):
    """Where a part of an image begins, how large it is, and the same as a box."""

    begin: Any
    size: Any
    bboxes: Any


_sample = op(
    "SampleDistortedBoundingBoxFrom",
    "image_size: T, bounding_boxes: float32, draws: float32 -> begin: T, size: T, bboxes: float32",
    T=frozenset({dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64}),
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 1.0),
    use_image_if_no_bounding_boxes=False,
)
_sample.stops_gradients()


@_sample.shape
def _sample_shape(
    image_size: TensorShape, bounding_boxes: TensorShape, draws: TensorShape, **attrs: Any
) -> list[TensorShape]:
    if not image_size.is_compatible_with([3]):
        raise ArgumentError(
            f"image_size must contain 3 elements: [height, width, channels]; got the shape {image_size}."
        )
    if not bounding_boxes.is_compatible_with([None, None, 4]):
        raise ArgumentError(f"bounding_boxes must have the shape [batch, number, 4], got {bounding_boxes}.")
    return [TensorShape([3]), TensorShape([3]), TensorShape([1, 1, 4])]


@_sample.kernel(CPU)
def _sample_kernel(
    image_size: torch.Tensor,
    bounding_boxes: torch.Tensor,
    draws: torch.Tensor,
    *,
    min_object_covered: float,
    aspect_ratio_range: Sequence[float],
    area_range: Sequence[float],
    use_image_if_no_bounding_boxes: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    _sample_shape(TensorShape(image_size.shape), TensorShape(bounding_boxes.shape), TensorShape(draws.shape))
    high, wide = (int(size) for size in image_size[:2].tolist())
    if high <= 0 or wide <= 0:
        raise InvalidArgumentError(f"image height and width must be positive, got {high} and {wide}.")
    boxes = bounding_boxes.reshape(-1, 4).tolist()
    for box in boxes:
        if not all(0.0 <= each <= 1.0 for each in box) or box[0] > box[2] or box[1] > box[3]:
            raise InvalidArgumentError(f"Boxes are [y_min, x_min, y_max, x_max] between 0 and 1, got {box}.")
    if not boxes:
        if not use_image_if_no_bounding_boxes:
            raise InvalidArgumentError(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes."
            )
        boxes = [[0.0, 0.0, 1.0, 1.0]]
    found = (0, 0, high, wide)
    for draw in draws.tolist():
        part = _part(high, wide, draw, aspect_ratio_range, area_range)
        if part is not None and any(_covers(part, box, high, wide, min_object_covered) for box in boxes):
            found = part
            break
    top, left, bottom, right = found
    return (
        torch.tensor([top, left, 0]).to(image_size.dtype),
        torch.tensor([bottom - top, right - left, -1]).to(image_size.dtype),
        torch.tensor([[[top / high, left / wide, bottom / high, right / wide]]], dtype=torch.float32),
    )


def _part(
    high: int, wide: int, draw: Sequence[float], aspects: Sequence[float], areas: Sequence[float]
) -> tuple[int, int, int, int] | None:
    """A part of an image of some shape and area; None if no such part fits into it."""
    aspect = aspects[0] + draw[0] * (aspects[1] - aspects[0])
    least, most = areas[0] * high * wide, areas[1] * high * wide
    lowest, highest = round(math.sqrt(least / aspect)), round(math.sqrt(most / aspect))
    if round(highest * aspect) > wide:
        highest = int((wide + 0.5 - 1e-7) / aspect)
        if round(highest * aspect) > wide:
            highest -= 1
    highest = min(highest, high)
    lowest = min(lowest, highest)
    rows = lowest + int(draw[1] * (highest - lowest + 1)) if lowest < highest else lowest
    columns = round(rows * aspect)
    if rows * columns < least:
        rows += 1
        columns = round(rows * aspect)
    if rows * columns > most:
        rows -= 1
        columns = round(rows * aspect)
    if not (least <= rows * columns <= most and 0 < columns <= wide and 0 < rows <= high):
        return None
    top, left = int(draw[2] * (high - rows + 1)), int(draw[3] * (wide - columns + 1))
    return top, left, top + rows, left + columns


def _covers(part: tuple[int, int, int, int], box: Sequence[float], high: int, wide: int, least: float) -> bool:
    """Whether a part shows enough of an object."""
    top, left, bottom, right = box[0] * high, box[1] * wide, box[2] * high, box[3] * wide
    area = (bottom - top) * (right - left)
    if area <= 0:
        return False
    rows = max(min(part[2], bottom) - max(part[0], top), 0.0)
    columns = max(min(part[3], right) - max(part[1], left), 0.0)
    return rows * columns / area >= least


@export("image.sample_distorted_bounding_box", v1=())
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> SampledBox:
    """A random part of an image that shows enough of one of the objects in it.

    Args:
        image_size: The shape of the image: [height, width, channels].
        bounding_boxes: The objects: [batch, number, 4], each [y_min, x_min, y_max, x_max] between 0 and 1.
        seed: A seed; 0 for one of chance.
        min_object_covered: How much of an object has to be seen.
        aspect_ratio_range: The least and the largest ratio of width to height; 0.75 to 1.33 by default.
        area_range: How large a part of the image it has to be; 0.05 to 1 by default.
        max_attempts: How many parts are tried; 100 by default. If none fits, the whole image is taken.
        use_image_if_no_bounding_boxes: Whether the whole image is the object where there are none.
        name: A name for the op.

    Returns:
        Where the part begins and how large it is, for ``tf.slice``, and the part as a box: [1, 1, 4].

    Raises:
        InvalidArgumentError: a box is none, or a range is empty.
    """
    aspects = _range(aspect_ratio_range, (0.75, 1.33), "aspect_ratio_range", None)
    areas = _range(area_range, (0.05, 1.0), "area_range", 1.0)
    attempts = 100 if max_attempts is None else as_int(max_attempts, "max_attempts")
    if attempts < 1:
        raise ArgumentError(f"max_attempts must be positive, got {attempts}.")
    covered = as_float(min_object_covered, "min_object_covered")
    if covered < 0:
        raise ArgumentError(f"Min object covered must be non-negative: {covered}")
    number = as_int(seed, "seed")
    made = _sample.many(
        convert_to_tensor(image_size),
        convert_to_tensor(bounding_boxes, dt.float32),
        uniform([attempts, 4], seed=number) if number else unseeded_uniform([attempts, 4]),
        min_object_covered=covered,
        aspect_ratio_range=aspects,
        area_range=areas,
        use_image_if_no_bounding_boxes=as_bool(bool(use_image_if_no_bounding_boxes), "use_image_if_no_bounding_boxes"),
        name=name,
    )
    return SampledBox(*made)


def _range(given: Any, default: tuple[float, float], what: str, most: float | None) -> tuple[float, float]:
    values = list(default if given is None else given) if isinstance(given, (list, tuple, type(None))) else []
    if len(values) != 2 or not all(isinstance(each, (int, float)) for each in values):
        raise ArgumentError(f"{what} field must specify 2 dimensions: a pair of numbers, got {shown(given)}.")
    low, high = float(values[0]), float(values[1])
    if not 0 < low <= high or (most is not None and high > most):
        raise ArgumentError(f"{what} must be positive and in order{' and at most 1' if most else ''}: {values}")
    return low, high


@export(v1="image.sample_distorted_bounding_box")
def sample_distorted_bounding_box_v1(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = None,
    seed2: Any = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> SampledBox:
    """A random part of an image that shows enough of one of the objects in it, with TensorFlow 1's two seeds."""
    return sample_distorted_bounding_box(
        image_size,
        bounding_boxes,
        0 if seed is None else seed,
        min_object_covered,
        aspect_ratio_range,
        area_range,
        max_attempts,
        use_image_if_no_bounding_boxes,
        name,
    )
