"""Drawing boxes into images: ``tf.image.draw_bounding_boxes``.

A box is given in shares of the height and width, and drawn as four lines of a pixel:

    row = int(y * (height - 1))      column = int(x * (width - 1))         towards zero, in float32

Lines that lie outside of the image are left out, and so is a box that lies outside as a whole, or whose end comes
before its beginning. Box number n has color number n; where there are fewer colors they begin again. A later box lies
above an earlier one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, op

_COLORS = (  # red, green, blue, opacity
    (1, 1, 0, 1),
    (0, 0, 1, 1),
    (1, 0, 0, 1),
    (0, 1, 0, 1),
    (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1),
    (0.5, 0, 0, 1),
    (0, 0, 0.5, 1),
    (0, 1, 1, 1),
    (1, 0, 1, 1),
)

_draw = op(
    "DrawBoundingBoxesV2",
    "images: T, boxes: float32, colors: float32 -> output: T",
    T=frozenset({dt.float16, dt.float32}),
)
_draw.stops_gradients()


@_draw.shape
def _draw_shape(images: TensorShape, boxes: TensorShape, colors: TensorShape) -> TensorShape:
    if images.rank not in (4, None):
        raise ArgumentError(f"The rank of the images should be 4, got images of shape {images}.")
    if not boxes.is_compatible_with([None, None, 4]):
        raise ArgumentError(
            f"The rank of the boxes tensor should be 3, and the size of the third dimension 4; got {boxes}."
        )
    if None not in (images.rank, boxes.rank) and not images[:1].is_compatible_with(boxes[:1]):
        raise ArgumentError(f"The batch sizes should be the same, got images of {images} and boxes of {boxes}.")
    depth = None if images.rank is None else images[3]
    if depth not in (1, 3, 4, None):
        raise ArgumentError(f"Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA), got {depth}.")
    if colors.rank not in (2, None):
        raise ArgumentError(f"colors must be a 2-D matrix, got {colors}.")
    channels = None if colors.rank is None else colors[1]
    if depth is not None and channels is not None and channels < depth:
        raise ArgumentError(f"colors must have equal or more channels than the image provided: {colors} for {images}.")
    return images


@_draw.kernel(CPU)
def _draw_kernel(images: torch.Tensor, boxes: torch.Tensor, colors: torch.Tensor) -> torch.Tensor:
    _draw_shape(*(TensorShape(each.shape) for each in (images, boxes, colors)))
    made = images.clone()
    _, height, width, depth = images.shape
    palette = _palette(colors, depth).to(images.dtype)
    scale = np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    for canvas, objects in zip(made, boxes.numpy(), strict=True):
        with np.errstate(invalid="ignore"):
            pixels = (objects * scale).astype(np.int64).tolist()
        for number, (top, left, bottom, right) in enumerate(pixels):
            if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
                continue
            color = palette[number % len(palette)]
            rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    canvas[row, columns] = color
            for column in (left, right):
                if 0 <= column < width:
                    canvas[rows, column] = color
    return made


def _palette(colors: torch.Tensor, depth: int) -> torch.Tensor:
    if colors.numel():
        return colors[:, :depth]
    known = torch.tensor(_COLORS)[:, :depth]
    return torch.ones_like(known) if depth == 1 else known


@export("image.draw_bounding_boxes", v1=())
def draw_bounding_boxes(
    images: ArrayLike, boxes: ArrayLike, colors: ArrayLike | None, name: str | None = None
) -> Tensor:
    """Draws boxes into images.

    Args:
        images: [batch, height, width, channels], of float32 or float16, with 1, 3 or 4 channels.
        boxes: [batch, number, 4]: each [y_min, x_min, y_max, x_max], in shares of the height and width.
        colors: A row of channels for each color, between 0 and 1; None or none for ten that are known.
        name: A name for the op.

    Returns:
        The images with the boxes in them.

    Example:
        >>> draw_bounding_boxes([[[[0.0]] * 3] * 3], [[[0.0, 0.0, 1.0, 1.0]]], [[7.0]]).numpy()[0, :, :, 0].tolist()
        [[7.0, 7.0, 7.0], [7.0, 0.0, 7.0], [7.0, 7.0, 7.0]]
    """
    chosen: Any = np.zeros((0, 4), np.float32) if colors is None else colors
    return _draw(images, convert_to_tensor(boxes, dt.float32), convert_to_tensor(chosen, dt.float32), name=name)


@export(v1="image.draw_bounding_boxes")
def draw_bounding_boxes_v1(
    images: ArrayLike, boxes: ArrayLike, name: str | None = None, colors: ArrayLike | None = None
) -> Tensor:
    """Draws boxes into images: `draw_bounding_boxes` with TensorFlow 1's order of arguments."""
    return draw_bounding_boxes(images, boxes, colors, name)
