"""``tf.image.extract_glimpse``: a window of each image, which may reach over its border."""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.attribute import as_bool, as_word
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op

_NOISES = ("uniform", "gaussian", "zero")
_glimpse = op(
    "ExtractGlimpseV2",
    "input: float32, size: host, offsets: float32 -> glimpse: float32",
    stateful=True,
    centered=True,
    normalized=True,
    noise="uniform",
)


@_glimpse.shape
def _glimpse_shape(input: TensorShape, size: Any, offsets: TensorShape, **attrs: Any) -> TensorShape:
    if input.rank not in (4, None):
        raise ArgumentError(f"extract_glimpse takes a batch of images, got a tensor of shape {input}.")
    if not offsets.is_compatible_with([None, 2]):
        raise ArgumentError(f"offsets must be a matrix of two columns, got {offsets}.")
    batch, channels = (None, None) if input.rank is None else (input[0], input[3])
    if batch is not None and offsets.rank is not None and offsets[0] not in (batch, None):
        raise ArgumentError(f"offsets must have a row for each of {batch} images, got {offsets}.")
    high, wide = tuple(size) if isinstance(size, (tuple, list)) and len(size) == 2 else (None, None)
    return TensorShape([batch, high, wide, channels])


@_glimpse.kernel(CPU, GPU)
def _glimpse_kernel(
    input: torch.Tensor, size: Any, offsets: torch.Tensor, *, centered: bool, normalized: bool, noise: str
) -> torch.Tensor:
    if len(size) != 2 or min(size) <= 0:
        raise InvalidArgumentError(f"size must be a height and a width above 0, got {list(size)}")
    batch, high, wide, channels = input.shape
    made = input.new_zeros((batch, *size, channels))
    if noise == "gaussian":
        made.normal_()
    elif noise == "uniform":
        made.uniform_()
    for image, place in enumerate(offsets.tolist()):
        first = []
        for at, have, want in zip(place, (high, wide), size, strict=True):
            at = at * have if normalized else at
            if centered:
                at = at / 2 + have / 2 - want / 2 if normalized else at + have / 2
            first.append(int(at))
        top, left = max(first[0], 0), max(first[1], 0)
        part = input[image, top : max(first[0] + size[0], top), left : max(first[1] + size[1], left)]
        down, right = top - first[0], left - first[1]
        made[image, down : down + part.shape[0], right : right + part.shape[1]] = part
    return made


@export("image.extract_glimpse", v1=())
def extract_glimpse(
    input: ArrayLike,
    size: Any,
    offsets: ArrayLike,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Tensor:
    """A window of each image of a batch; there is noise where it reaches over the border.

    Args:
        input: The images.
        size: The height and the width of the windows.
        offsets: For each image the row and the column where its window is.
        centered: Whether places are counted from the middle of an image.
        normalized: Whether they are parts of its size; centered ones reach from -1 to 1.
        noise: ``"uniform"``, ``"gaussian"`` or ``"zero"``.
        name: A name for the op.

    Example:
        >>> import situs as tf
        >>> image = tf.reshape(tf.range(9.0), [1, 3, 3, 1])
        >>> made = tf.image.extract_glimpse(image, [2, 2], [[1, 1]], False, False, "zero")
        >>> made.numpy()[0, :, :, 0].tolist()
        [[4.0, 5.0], [7.0, 8.0]]
    """
    if as_word(noise, "noise") not in _NOISES:
        raise ArgumentError(f"noise must be 'uniform', 'gaussian' or 'zero', got {noise!r}.")
    flags: dict[str, Any] = {
        "centered": as_bool(centered, "centered"),
        "normalized": as_bool(normalized, "normalized"),
        "noise": noise,
    }
    return _glimpse(input, size, cast(convert_to_tensor(offsets), dt.float32), **flags, name=name)


@export(v1="image.extract_glimpse")
def extract_glimpse_v1(
    input: ArrayLike,
    size: Any,
    offsets: ArrayLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """`extract_glimpse`, whose noise is uniform or else normally distributed."""
    noise = "uniform" if as_bool(uniform_noise, "uniform_noise") else "gaussian"
    return extract_glimpse(input, size, offsets, centered, normalized, noise, name)
