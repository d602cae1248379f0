"""The values of pixels: their dtype, brightness, contrast and scale.

Pixels of integers go from 0 to the largest that there is; those of floats from 0 to 1:

    convert_image_dtype(uint8 image, tf.float32)       0 ... 255  ->  0.0 ... 1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ops.array import broadcast_to, identity
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_float
from situs._src.ops.cast import cast, saturate_cast
from situs._src.ops.constant import constant, convert_to_tensor, ones
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.image_shape import check_image
from situs._src.ops.join import concat
from situs._src.ops.math import floordiv, maximum, multiply, rsqrt
from situs._src.ops.naming import Composed
from situs._src.ops.random import uniform
from situs._src.ops.reduce import reduce_mean, reduce_std, reduce_sum
from situs._src.ops.stateless import stateless_uniform


@export("image.convert_image_dtype")
def convert_image_dtype(image: ArrayLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None) -> Tensor:
    """An image with pixels of another dtype, scaled to the range of that dtype.

    Args:
        image: The image.
        dtype: A dtype of integers or floats.
        saturate: Whether values out of range become the nearest that there is; otherwise they may become anything.
        name: A name for the op.

    Raises:
        TypeError: images have no such pixels.
    """
    given, target = convert_to_tensor(image), as_dtype(dtype)
    for each in (given.dtype, target):
        if not (each.is_integer or each.is_floating):
            raise DTypeError(f"dtype must be either floating point or integer, got {each.name}")
    with Composed(name, "convert_image") as last:
        if given.dtype is target:
            return identity(given, name=last)
        to = saturate_cast if as_bool(saturate, "saturate") else cast
        return _converted(given, target, to, last)


def _converted(image: Tensor, target: DType, to: Callable[..., Tensor], name: str | None) -> Tensor:
    """An image of another dtype; `to` casts the pixels once they are scaled."""
    source = image.dtype
    if source.is_integer and target.is_integer:
        before, after = int(source.max) + 1, int(target.max) + 1
        if before > after:
            return to(floordiv(image, constant(before // after, source)), target, name)
        return multiply(to(image, target), constant(after // before, target), name=name)
    if source.is_floating and target.is_floating:
        return cast(image, target, name=name)
    if source.is_integer:
        return multiply(cast(image, target), constant(1.0 / int(source.max), target), name=name)
    # Half a step more, so that all integers get an equal share.
    return to(multiply(image, constant(int(target.max) + 0.5, source)), target, name)


@export("image.adjust_brightness")
def adjust_brightness(image: ArrayLike, delta: ArrayLike) -> Tensor:
    """An image with something added to every pixel.

    Args:
        image: The image.
        delta: What to add, on the scale from 0 to 1.
    """
    return _as_floats(image, lambda pixels: pixels + cast(delta, pixels.dtype))


def _as_floats(image: ArrayLike, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Changes an image as one of floats, and gives it the dtype that it had."""
    given = convert_to_tensor(image)
    if given.dtype in (dt.float16, dt.float32):
        return change(given)
    pixels = convert_image_dtype(given, dt.float32)
    return convert_image_dtype(change(pixels), given.dtype, saturate=True)


@export("image.adjust_contrast")
def adjust_contrast(images: ArrayLike, contrast_factor: ArrayLike) -> Tensor:
    """Images with every pixel moved away from the mean of its channel, or towards it.

    Args:
        images: An image, or a batch.
        contrast_factor: How many times as far from the mean.
    """
    factor: Any = contrast_factor if type(contrast_factor) is float else cast(contrast_factor, dt.float32)

    def change(pixels: Tensor) -> Tensor:
        check_image(pixels)
        return _contrast(pixels, factor)

    return _as_floats(images, change)


_contrast = op(
    "AdjustContrastv2", "images: T, contrast_factor: float32 -> output: T", T=frozenset({dt.float16, dt.float32})
)


@_contrast.shape
def _contrast_shape(images: TensorShape, contrast_factor: TensorShape) -> TensorShape:
    if images.rank is not None and images.rank < 3:
        raise ArgumentError(f"input must be at least 3-D, got shape {brackets(images)}")
    if contrast_factor.rank not in (0, None):
        raise ArgumentError(f"contrast_factor must be scalar: {brackets(contrast_factor)}")
    return images


@_contrast.kernel(CPU, GPU)
def _contrast_kernel(images: torch.Tensor, contrast_factor: torch.Tensor) -> torch.Tensor:
    if images.ndim < 3 or contrast_factor.ndim:
        raise ValueError("wrong rank")  # the shape rule says it better
    wide = images.float()
    means = wide.mean((-3, -2), keepdim=True)
    # A row of means, whole: a loop over pixels of three numbers would begin again with each of them.
    rows = means.expand(*images.shape[:-3], 1, *images.shape[-2:]).flatten(-2)
    made = torch.sub(wide.flatten(-2), rows).mul_(contrast_factor).add_(rows)
    return made.view(images.shape).to(images.dtype)


@_contrast.gradient
def _contrast_gradient(grad: Tensor, images: Tensor, contrast_factor: Tensor) -> tuple[Any, Any]:
    def of_factor() -> Tensor:
        wide = cast(images, dt.float32)
        return reduce_sum(cast(grad, dt.float32) * (wide - reduce_mean(wide, [-3, -2], keepdims=True)))

    return lambda: _contrast(grad, contrast_factor), of_factor


@export("image.random_brightness")
def random_brightness(image: ArrayLike, max_delta: float, seed: int | None = None) -> Tensor:
    """An image made brighter or darker at random.

    Args:
        image: The image.
        max_delta: The most to add or take away.
        seed: Makes it the same in every program.
    """
    max_delta = as_float(max_delta, "max_delta")
    if max_delta < 0:
        raise ArgumentError(f"max_delta must be non-negative, got {max_delta}.")
    return adjust_brightness(image, uniform([], -max_delta, max_delta, seed=seed))


@export("image.stateless_random_brightness", v1=())
def stateless_random_brightness(image: ArrayLike, max_delta: float, seed: ArrayLike) -> Tensor:
    """`random_brightness` that depends on its seed, two integers, alone."""
    max_delta = as_float(max_delta, "max_delta")
    if max_delta < 0:
        raise ArgumentError(f"max_delta must be non-negative, got {max_delta}.")
    return adjust_brightness(image, stateless_uniform([], seed, -max_delta, max_delta))


@export("image.random_contrast")
def random_contrast(image: ArrayLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """An image with a contrast at random.

    Args:
        image: The image.
        lower: The smallest factor.
        upper: The largest factor.
        seed: Makes it the same in every program.
    """
    lower, upper = as_float(lower, "lower"), as_float(upper, "upper")
    if upper <= lower:
        raise ArgumentError(f"upper must be > lower, got {upper} and {lower}.")
    if lower < 0:
        raise ArgumentError(f"lower must be non-negative, got {lower}.")
    return adjust_contrast(image, uniform([], lower, upper, seed=seed))


@export("image.stateless_random_contrast", v1=())
def stateless_random_contrast(image: ArrayLike, lower: float, upper: float, seed: ArrayLike) -> Tensor:
    """`random_contrast` that depends on its seed, two integers, alone."""
    lower, upper = as_float(lower, "lower"), as_float(upper, "upper")
    if upper <= lower:
        raise ArgumentError(f"upper must be > lower, got {upper} and {lower}.")
    if lower < 0:
        raise ArgumentError(f"lower must be non-negative, got {lower}.")
    return adjust_contrast(image, stateless_uniform([], seed, lower, upper))


@export("image.per_image_standardization")
def per_image_standardization(image: ArrayLike) -> Tensor:
    """Images of float32 with a mean of 0 and a variance of 1 each; one with all pixels the same becomes zeros.

    Args:
        image: An image, or a batch.
    """
    given = convert_to_tensor(image)
    check_image(given)
    pixels = cast(given, dt.float32)
    axes = [-3, -2, -1]
    count = reduce_sum(_ones_of(pixels), axes, keepdims=True)
    deviation = maximum(reduce_std(pixels, axes, keepdims=True), rsqrt(count))
    return (pixels - reduce_mean(pixels, axes, keepdims=True)) / deviation


def _ones_of(pixels: Tensor) -> Tensor:
    """A one for each pixel of one image."""
    sizes = pixels.shape
    if sizes.is_fully_defined():
        return ones([*[1] * (len(sizes) - 3), *sizes.as_list()[-3:]], pixels.dtype)
    return broadcast_to(constant(1.0, pixels.dtype), shape_of(pixels))


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: ArrayLike, name: str | None = None) -> Tensor:
    """Images with one channel, which says how bright the three of red, green and blue look.

    Args:
        images: An image with three channels, or a batch.
        name: Accepted for TensorFlow's programs.
    """
    given = convert_to_tensor(images)
    _check_channels(given, 3)
    weights = constant([0.2989, 0.587, 0.114], dt.float32)
    pixels = convert_image_dtype(given, dt.float32)
    return convert_image_dtype(reduce_sum(pixels * weights, -1, keepdims=True), given.dtype, saturate=True)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: ArrayLike, name: str | None = None) -> Tensor:
    """Images with three channels, all the same, of images with one.

    Args:
        images: An image with one channel, or a batch.
        name: Accepted for TensorFlow's programs.
    """
    given = convert_to_tensor(images)
    _check_channels(given, 1)
    threefold: Any = concat([given] * 3, -1)
    if given.shape.rank is not None:
        threefold.set_shape([*given.shape[:-1], 3])
    made: Tensor = threefold
    return made


def _check_channels(images: Tensor, count: int) -> None:
    check_image(images)
    if images.shape[-1] not in (None, count):
        raise ArgumentError(
            f"The last dimension of an image must have {count} channels here, got shape {images.shape}."
        )
