"""A random part of an image that shows enough of some object in it: ``tf.image.sample_distorted_bounding_box``.

begin, size, box = tf.image.sample_distorted_bounding_box(tf.shape(image), boxes, min_object_covered=0.1)
part = tf.slice(image, begin, size)

Parts are tried until one fits. Each attempt takes words of a stream, as TensorFlow does, in this order:

    a ratio of width to height      a number of [0, 1)
    how high it is                  a number below another, unless there is one height only
    where it begins                 a row and a column, unless it is as high or as wide as the image

Areas and ratios are computed in float32, and halves are rounded to even: a part that just fits fits there as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, InvalidArgumentError, StateError, shown
from situs._src.base.export import export
from situs._src.base.mixing import unpredictable
from situs._src.base.shapes import TensorShape
from situs._src.base.streams import Position
from situs._src.base.typing import ArrayLike, HostValue
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import DRAWS
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.ops.naming import Composed
from situs._src.ops.philox.sequence import Words
from situs._src.ops.seeds import Seed, next_seeds, reserve
from situs._src.ops.stateless import begin_of_seed
from situs._src.runtime.eager import determinism


class SampledBox(NamedTuple):
    """Where a part of an image begins, how large it is, and the same as a box."""

    begin: Any
    size: Any
    bboxes: Any


_SIZES = frozenset({dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64})
_WANTED: dict[str, Any] = {
    "aspect_ratio_range": (0.75, 1.33),
    "area_range": (0.05, 1.0),
    "max_attempts": 100,
    "use_image_if_no_bounding_boxes": False,
}
_sample = op(
    "SampleDistortedBoundingBoxV2",
    "image_size: T, bounding_boxes: float32, min_object_covered: host -> begin: T, size: T, bboxes: float32",
    traits={DRAWS},
    stateful=True,
    T=_SIZES,
    seed=0,
    seed2=0,
    **_WANTED,
)
_stateless = op(
    "StatelessSampleDistortedBoundingBox",
    "image_size: T, bounding_boxes: float32, min_object_covered: host, seed: host"
    " -> begin: T, size: T, bboxes: float32",
    T=_SIZES,
    **_WANTED,
)
for _op in (_sample, _stateless):
    _op.stops_gradients()
    _op.takes_no_size()


@_sample.shape
@_stateless.shape
def _sample_shape(
    image_size: TensorShape, bounding_boxes: TensorShape, *rest: HostValue, **attrs: Any
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
    min_object_covered: HostValue,
    *,
    seed: Seed,
    seed2: int,
    max_attempts: int,
    **wanted: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    kept_under = ("SampleDistortedBoundingBoxV2", image_size.dtype, max_attempts, *wanted.values())
    begin = reserve(seed, seed2, max_attempts, *kept_under)
    words = Words(Position(unpredictable(), 0) if begin is None else begin)
    return _sampled(words, image_size, bounding_boxes, min_object_covered, max_attempts, **wanted)


@_stateless.kernel(CPU)
def _stateless_kernel(
    image_size: torch.Tensor,
    bounding_boxes: torch.Tensor,
    min_object_covered: HostValue,
    seed: HostValue,
    *,
    max_attempts: int,
    **wanted: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    words = Words(begin_of_seed(seed))
    return _sampled(words, image_size, bounding_boxes, min_object_covered, max_attempts, **wanted)


class _Rectangle(NamedTuple):
    top: int
    left: int
    bottom: int
    right: int

    @property
    def area(self) -> int:
        return (self.bottom - self.top) * (self.right - self.left)

    def within(self, other: _Rectangle) -> int:
        """The area of what is in another one as well."""
        top, left = max(self.top, other.top), max(self.left, other.left)
        bottom, right = min(self.bottom, other.bottom), min(self.right, other.right)
        return 0 if top > bottom or left > right else (bottom - top) * (right - left)


def _sampled(
    words: Words,
    image_size: torch.Tensor,
    bounding_boxes: torch.Tensor,
    min_object_covered: HostValue,
    attempts: int,
    *,
    aspect_ratio_range: Sequence[float],
    area_range: Sequence[float],
    use_image_if_no_bounding_boxes: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    _sample_shape(TensorShape(image_size.shape), TensorShape(bounding_boxes.shape))
    if isinstance(min_object_covered, bool) or not isinstance(min_object_covered, (int, float)):
        raise ArgumentError(f"min_object_covered must be 0-D, a number; got {min_object_covered!r}.")
    if not min_object_covered >= 0:
        raise ArgumentError(f"Min object covered must be non-negative: {min_object_covered}")
    high, wide = (int(size) for size in image_size[:2].tolist())
    if not (0 <= high < 2**31 - 1 and 0 <= wide < 2**31 - 1):
        raise InvalidArgumentError(f"image height and width cannot be >= int32 max or negative, got {high} and {wide}.")
    objects = _objects(bounding_boxes, high, wide)
    if not objects:
        if not use_image_if_no_bounding_boxes:
            raise InvalidArgumentError(
                "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to "
                "not provide any bounding boxes."
            )
        objects = [_Rectangle(0, 0, high, wide)]
    found = _Rectangle(0, 0, high, wide)
    lowest, width = (
        np.float32(aspect_ratio_range[0]),
        np.float32(aspect_ratio_range[1]) - np.float32(aspect_ratio_range[0]),
    )
    for _ in range(attempts):
        aspect = _unit(words) * width + lowest
        part = _part(words, high, wide, aspect, area_range)
        if part is not None and _covers(part, objects, np.float32(min_object_covered)):
            found = part
            break
    top, left, bottom, right = found
    edges = np.array([top, left, bottom, right], np.float32) / np.array([high, wide, high, wide], np.float32)
    return (
        torch.tensor([top, left, 0]).to(image_size.dtype),
        torch.tensor([bottom - top, right - left, -1]).to(image_size.dtype),
        torch.from_numpy(edges.reshape(1, 1, 4)),
    )


def _objects(boxes: torch.Tensor, high: int, wide: int) -> list[_Rectangle]:
    """Boxes in pixels, cut off to whole ones."""
    flat = boxes.reshape(-1, 4).numpy()
    for box in flat.tolist():
        if not all(0.0 <= each <= 1.0 for each in box):
            raise InvalidArgumentError(
                f"All bounding box coordinates must be in [0.0, 1.0], and are [y_min, x_min, y_max, x_max]; got {box}."
            )
    pixels = (flat * np.array([high, wide, high, wide], np.float32)).astype(np.int64)
    return [_Rectangle(*box) for box in pixels.tolist()]


def _unit(words: Words) -> np.float32:
    """A number of [0, 1), of a word's last bits."""
    return np.float32((words.next() & 0x7FFFFF) * 2.0**-23)


def _rounded(value: Any) -> int:
    return int(np.rint(np.float32(value)))


def _part(words: Words, high: int, wide: int, aspect: np.float32, area_range: Sequence[float]) -> _Rectangle | None:
    """A part of an image of some shape and area; None if no such part fits into it."""
    least, most = (
        np.float32(np.float32(np.float32(area) * np.float32(wide)) * np.float32(high)) for area in area_range
    )
    if high <= 0 or wide <= 0 or area_range[0] > area_range[1]:
        return None
    rows, highest = (_rounded(np.sqrt(np.float32(area / aspect))) for area in (least, most))
    if _rounded(np.float32(highest) * aspect) > wide:
        highest = int((wide + 0.5 - float(np.float32(1e-7))) / float(aspect))
        if _rounded(np.float32(highest) * aspect) > wide:
            highest -= 1
    highest = min(highest, high)
    rows = min(rows, highest)
    if rows < highest:
        rows += words.exactly_below(highest - rows + 1)
    columns = _rounded(np.float32(rows) * aspect)
    if np.float32(rows * columns) < least:
        rows += 1
        columns = _rounded(np.float32(rows) * aspect)
    if np.float32(rows * columns) > most:
        rows -= 1
        columns = _rounded(np.float32(rows) * aspect)
    if not (least <= np.float32(rows * columns) <= most and 0 < columns <= wide and 0 < rows <= high):
        return None
    top = words.exactly_below(high - rows) if rows < high else 0
    left = words.exactly_below(wide - columns) if columns < wide else 0
    return _Rectangle(top, left, top + rows, left + columns)


def _covers(part: _Rectangle, objects: Sequence[_Rectangle], least: np.float32) -> bool:
    """Whether a part shows enough of an object; an object of less than a pixel cannot be seen."""
    if part.area < 1:
        return False
    seen = (np.float32(part.within(each)) / np.float32(each.area) for each in objects if each.area >= 1)
    return any(bool(share >= least) for share in seen)


@export("image.sample_distorted_bounding_box", v1=())
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any = 0,
    min_object_covered: ArrayLike = 0.1,
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
    number = as_int(seed, "seed")
    _require_seed(number)
    wanted = _wanted(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    seeds = next_seeds(number) if number else {"seed": 0, "seed2": 0}
    return _of_op(
        _sample,
        name,
        "sample_distorted_bounding_box",
        image_size,
        bounding_boxes,
        (min_object_covered,),
        {**wanted, **seeds},
    )


def _require_seed(*seeds: int) -> None:
    if not any(seeds) and determinism.is_required():
        raise StateError(
            "tf.image.sample_distorted_bounding_box requires a non-zero seed to be passed in when determinism is "
            'enabled, but got none. Please pass in a non-zero seed, e.g. by passing "seed=1".'
        )


def _wanted(aspects: Any, areas: Any, max_attempts: Any, whole_image: Any) -> dict[str, Any]:
    attempts = 100 if max_attempts is None else as_int(max_attempts, "max_attempts")
    if attempts < 1:
        raise ArgumentError(f"max_attempts must be positive, got {attempts}.")
    return {
        "aspect_ratio_range": _range(aspects, (0.75, 1.33), "aspect_ratio_range", None),
        "area_range": _range(areas, (0.05, 1.0), "area_range", 1.0),
        "max_attempts": attempts,
        "use_image_if_no_bounding_boxes": as_bool(
            False if whole_image is None else whole_image, "use_image_if_no_bounding_boxes"
        ),
    }


def _of_op(
    sampling: Op,
    name: str | None,
    default: str,
    image_size: Any,
    boxes: Any,
    rest: tuple[Any, ...],
    attrs: dict[str, Any],
) -> SampledBox:
    with Composed(name, default) as last:
        size, objects = convert_to_tensor(image_size), convert_to_tensor(boxes, dt.float32)
        return SampledBox(*sampling.many(size, objects, *rest, **attrs, name=last))


@export("image.stateless_sample_distorted_bounding_box", v1=())
def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: ArrayLike,
    min_object_covered: ArrayLike = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: Any = None,
    use_image_if_no_bounding_boxes: Any = None,
    name: str | None = None,
) -> SampledBox:
    """The same, and the part depends on nothing but the arguments; `seed` is two integers.

    Example:
        >>> box = stateless_sample_distorted_bounding_box([64, 64, 3], [[[0.1, 0.2, 0.9, 0.8]]], seed=[1, 2])
        >>> box.size.numpy().tolist()
        [22, 27, -1]
    """
    wanted = _wanted(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    return _of_op(
        _stateless,
        name,
        "stateless_sample_distorted_bounding_box",
        image_size,
        bounding_boxes,
        (min_object_covered, seed),
        wanted,
    )


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
    seeds = {
        "seed": as_int(0 if seed is None else seed, "seed"),
        "seed2": as_int(0 if seed2 is None else seed2, "seed2"),
    }
    _require_seed(*seeds.values())
    wanted = _wanted(aspect_ratio_range, area_range, max_attempts, use_image_if_no_bounding_boxes)
    return _of_op(
        _sample,
        name,
        "sample_distorted_bounding_box",
        image_size,
        bounding_boxes,
        (min_object_covered,),
        {**wanted, **seeds},
    )
