"""Colors as hue, saturation and value, and images with other ones; colors as luminance and differences.

rgb_to_hsv      hue from 0 to 1 around the circle: red, green at 1/3, blue at 2/3
rgb_to_yuv      how bright, and how far from gray towards blue and red: a matrix
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import identity
from situs._src.ops.attribute import as_float
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, less
from situs._src.ops.constant import constant, convert_to_tensor, ones_like, zeros_like
from situs._src.ops.contract import tensordot
from situs._src.ops.gather import where
from situs._src.ops.image_color import convert_image_dtype
from situs._src.ops.image_shape import check_image
from situs._src.ops.join import stack, unstack
from situs._src.ops.math import abs as magnitude
from situs._src.ops.math import clip_by_value, floor, maximum, minimum, multiply
from situs._src.ops.math import pow as power
from situs._src.ops.naming import Composed
from situs._src.ops.random import uniform
from situs._src.ops.stateless import stateless_uniform


@export("image.rgb_to_hsv")
def rgb_to_hsv(images: ArrayLike, name: str | None = None) -> Tensor:
    """Colors as hue, saturation and value, all from 0 to 1.

    Args:
        images: A floating-point tensor whose last dimension is red, green, blue, from 0 to 1.
        name: A name for the ops.
    """
    with Composed(name, "RGBToHSV") as last:
        red, green, blue = _colors(images)
        value = maximum(maximum(red, green), blue)
        spread = value - minimum(minimum(red, green), blue)
        gray = equal(spread, 0.0)
        safe = where(gray, ones_like(spread), spread)
        black = equal(value, 0.0)
        saturation = where(black, zeros_like(value), spread / where(black, ones_like(value), value))
        sixth = where(
            equal(red, value),
            (green - blue) / safe,
            where(equal(green, value), (blue - red) / safe + 2.0, (red - green) / safe + 4.0),
        )
        hue = where(gray, zeros_like(sixth), sixth / 6.0)
        hue = where(less(hue, 0.0), hue + 1.0, hue)
        return stack([hue, saturation, value], -1, name=last)


@export("image.hsv_to_rgb")
def hsv_to_rgb(images: ArrayLike, name: str | None = None) -> Tensor:
    """Colors as red, green and blue, of hue, saturation and value."""
    with Composed(name, "HSVToRGB") as last:
        hue, saturation, value = _colors(images)
        sixth = hue * 6.0
        weights = [magnitude(sixth - 3.0) - 1.0, 2.0 - magnitude(sixth - 2.0), 2.0 - magnitude(sixth - 4.0)]
        made = [(1.0 - saturation + saturation * clip_by_value(weight, 0.0, 1.0)) * value for weight in weights]
        return stack(made, -1, name=last)


def _colors(images: ArrayLike) -> list[Tensor]:
    given = convert_to_tensor(images)
    if given.shape.rank == 0 or not given.shape[-1:].is_compatible_with([3]):
        raise ArgumentError(f"The last dimension of colors has 3 parts, got a tensor of shape {given.shape}.")
    if not given.dtype.is_floating:
        raise ArgumentError(
            f"Colors are floating-point numbers here, got {given.dtype.name}. tf.image.convert_image_dtype makes them."
        )
    return unstack(given, 3, axis=-1)


def _changed(image: ArrayLike, change: Callable[[Tensor, Tensor, Tensor], list[Tensor]], name: str | None) -> Tensor:
    """An image whose hue, saturation and value are changed, in its own dtype."""
    given = convert_to_tensor(image)
    if given.shape.rank is not None:
        check_image(given)
    whole = not given.dtype.is_floating
    small = given.dtype in (dt.float16, dt.bfloat16)
    pixels = convert_image_dtype(given, dt.float32) if whole or small else given
    made = hsv_to_rgb(stack(change(*unstack(rgb_to_hsv(pixels), 3, axis=-1)), -1))
    return convert_image_dtype(made, given.dtype, saturate=whole, name=name)


@export("image.adjust_hue")
def adjust_hue(image: ArrayLike, delta: Any, name: str | None = None) -> Tensor:
    """An image whose hues are turned by `delta`, from -1 to 1."""
    if not is_tensor(delta) and not -1 <= as_float(delta, "delta") <= 1:
        raise ArgumentError(f"delta must be in the interval [-1, 1], got {delta}.")
    with Composed(name, "adjust_hue") as last:

        def turned(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
            moved = hue + cast(convert_to_tensor(delta), hue.dtype)
            return [moved - floor(moved), saturation, value]

        return _changed(image, turned, last)


@export("image.adjust_saturation")
def adjust_saturation(image: ArrayLike, saturation_factor: ArrayLike, name: str | None = None) -> Tensor:
    """An image whose saturations are multiplied with a factor."""
    with Composed(name, "adjust_saturation") as last:

        def stronger(hue: Tensor, saturation: Tensor, value: Tensor) -> list[Tensor]:
            factor = cast(convert_to_tensor(saturation_factor), saturation.dtype)
            return [hue, clip_by_value(saturation * factor, 0.0, 1.0), value]

        return _changed(image, stronger, last)


@export("image.random_hue")
def random_hue(image: ArrayLike, max_delta: float, seed: int | None = None) -> Tensor:
    """An image whose hues are turned at random, by at most `max_delta`, from 0 to 0.5."""
    max_delta = as_float(max_delta, "max_delta")
    if max_delta > 0.5:
        raise ArgumentError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ArgumentError("max_delta must be non-negative.")
    return adjust_hue(image, uniform([], -max_delta, max_delta, seed=seed))


@export("image.stateless_random_hue", v1=())
def stateless_random_hue(image: ArrayLike, max_delta: float, seed: ArrayLike) -> Tensor:
    """`random_hue` that depends on its seed, two integers, alone."""
    max_delta = as_float(max_delta, "max_delta")
    if not 0 <= max_delta <= 0.5:
        raise ArgumentError(f"max_delta must be non-negative and <= 0.5, got {max_delta}.")
    return adjust_hue(image, stateless_uniform([], seed, -max_delta, max_delta))


@export("image.random_saturation")
def random_saturation(image: ArrayLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """An image whose saturations are multiplied with a random factor between two bounds."""
    lower, upper = as_float(lower, "lower"), as_float(upper, "upper")
    if upper <= lower:
        raise ArgumentError("upper must be > lower.")
    if lower < 0:
        raise ArgumentError("lower must be non-negative.")
    return adjust_saturation(image, uniform([], lower, upper, seed=seed))


@export("image.stateless_random_saturation", v1=())
def stateless_random_saturation(image: ArrayLike, lower: float, upper: float, seed: ArrayLike) -> Tensor:
    """`random_saturation` that depends on its seed, two integers, alone."""
    lower, upper = as_float(lower, "lower"), as_float(upper, "upper")
    if not 0 <= lower < upper:
        raise ArgumentError(f"lower must be non-negative and < upper, got {lower} and {upper}.")
    return adjust_saturation(image, stateless_uniform([], seed, lower, upper))


@export("image.adjust_gamma")
def adjust_gamma(image: ArrayLike, gamma: ArrayLike = 1, gain: ArrayLike = 1) -> Tensor:
    """An image whose pixels, from 0 to 1, are raised to the power `gamma` and multiplied with `gain`."""
    if not is_tensor(gamma) and as_float(gamma, "gamma") < 0:
        raise ArgumentError("Gamma should be a non-negative real number.")
    with Composed(None, "adjust_gamma"):
        given = convert_to_tensor(image)
        pixels = given if given.dtype.is_floating else convert_image_dtype(given, dt.float32)
        made = multiply(power(pixels, cast(convert_to_tensor(gamma), pixels.dtype)), gain)
        return convert_image_dtype(made, given.dtype, saturate=True) if given.dtype.is_integer else identity(made)


_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_RGB_OF_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_RGB_OF_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]


def _mixed(images: ArrayLike, matrix: list[list[float]]) -> Tensor:
    given = convert_to_tensor(images)
    if not given.shape[-1:].is_compatible_with([3]):
        raise ArgumentError(f"The last dimension of colors has 3 parts, got a tensor of shape {given.shape}.")
    return tensordot(given, constant(matrix, given.dtype), 1)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: ArrayLike) -> Tensor:
    """Colors as luminance and two differences, of red, green and blue."""
    return _mixed(images, _YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: ArrayLike) -> Tensor:
    """Colors as red, green and blue, of luminance and two differences."""
    return _mixed(images, _RGB_OF_YUV)


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: ArrayLike) -> Tensor:
    """Colors as American television has them, of red, green and blue."""
    return _mixed(images, _YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: ArrayLike) -> Tensor:
    """Colors as red, green and blue, of what American television has."""
    return _mixed(images, _RGB_OF_YIQ)
