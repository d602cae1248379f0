"""Similarity of images, and image gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.image_color import convert_image_dtype
from situs._src.ops.image_shape import with_batch
from situs._src.ops.join import concat, pad, stack, tile
from situs._src.ops.math import abs as magnitude
from situs._src.ops.math import log, square, squared_difference
from situs._src.ops.math import pow as power
from situs._src.ops.naming import Composed
from situs._src.ops.nn.activation import relu
from situs._src.ops.nn.depthwise import depthwise_conv2d
from situs._src.ops.nn.pool import avg_pool2d
from situs._src.ops.reduce import reduce_mean, reduce_prod, reduce_sum


def _both(a: object, b: object) -> tuple[Tensor, Tensor]:
    first, second = convert_to_tensor(a), convert_to_tensor(b)
    for image in (first, second):
        if image.shape.rank is not None and image.shape.rank < 3:
            raise ArgumentError(f"Images have at least three dimensions, got a tensor of shape {image.shape}.")
    if not first.shape[-3:].is_compatible_with(second.shape[-3:]):
        raise ArgumentError(f"Shapes of two images do not match: {first.shape} and {second.shape}.")
    return convert_image_dtype(first, dt.float32), convert_image_dtype(second, dt.float32)


def _highest(max_val: ArrayLike, image: ArrayLike) -> Tensor:
    """The highest value of pixels, as it is after images have become floats."""
    return convert_image_dtype(cast(convert_to_tensor(max_val), convert_to_tensor(image).dtype), dt.float32)


@export("image.psnr")
def psnr(a: ArrayLike, b: ArrayLike, max_val: ArrayLike, name: str | None = None) -> Tensor:
    """The ratio of signal to noise between images, in decibels.

    Args:
        a: An image, or a batch of them.
        b: Others.
        max_val: The difference between the highest and the lowest value that pixels may have.
        name: A name for the ops.
    """
    with Composed(name, "PSNR"):
        first, second = _both(a, b)
        noise = reduce_mean(squared_difference(first, second), [-3, -2, -1])
        return 20 / math.log(10) * log(_highest(max_val, a)) - 10 / math.log(10) * log(noise)


@export("image.ssim")
def ssim(
    img1: ArrayLike,
    img2: ArrayLike,
    max_val: ArrayLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """The structural similarity of images: 1 for those that are the same.

    Args:
        img1: A batch of images.
        img2: Others.
        max_val: The difference between the highest and the lowest value that pixels may have.
        filter_size: The size of the window that is compared.
        filter_sigma: How fast weights fall from the middle of the window.
        k1: What keeps the comparison of means stable.
        k2: What keeps the comparison of variances stable.
        return_index_map: Whether to return the similarity around every pixel.
    """
    with Composed(None, "SSIM"):
        alike, _ = _similarity(*_both(img1, img2), _highest(max_val, img1), filter_size, filter_sigma, k1, k2)
        return reduce_mean(alike, -1) if return_index_map else reduce_mean(reduce_mean(alike, [-3, -2]), -1)


def _similarity(
    x: Tensor, y: Tensor, highest: Tensor, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """How alike two images are around every pixel, and how alike they are but for their brightness."""
    for size in x.shape.as_list()[-3:-1]:
        if size is not None and size < filter_size:
            raise ArgumentError(f"Images of {x.shape} are smaller than filter_size={filter_size}.")
    # The weights of a window, which fall from its middle and sum to 1.
    places = np.square(np.arange(filter_size, dtype=np.float64) - (filter_size - 1) / 2)
    falling = np.exp(-0.5 * (places[:, None] + places) / (filter_sigma * filter_sigma))
    window = constant((falling / falling.sum())[:, :, None, None], dt.float32)
    window = tile(window, concat([[1, 1], shape_of(x)[-1:], [1]], 0))

    def around(values: Tensor) -> Tensor:
        batch = reshape(values, concat([[-1], shape_of(values)[-3:]], 0))
        made = depthwise_conv2d(batch, window, [1, 1, 1, 1], "VALID")
        return reshape(made, concat([shape_of(values)[:-3], shape_of(made)[1:]], 0))

    first, second = square(k1 * highest), square(k2 * highest)
    mean_x, mean_y = around(x), around(y)
    product, squares = mean_x * mean_y * 2.0, square(mean_x) + square(mean_y)
    brightness = (product + first) / (squares + first)
    both, each = around(x * y) * 2.0, around(square(x) + square(y))
    structure = (both - product + second) / (each - squares + second)
    return brightness * structure, structure


_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: ArrayLike,
    img2: ArrayLike,
    max_val: ArrayLike,
    power_factors: Sequence[float] = _SCALES,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images at several scales: 1 for those that are the same.

    Args:
        img1: A batch of images.
        img2: Others.
        max_val: The difference between the highest and the lowest value that pixels may have.
        power_factors: What each scale counts; every scale but the first has images of half the size.
        filter_size: The size of the window that is compared.
        filter_sigma: How fast weights fall from the middle of the window.
        k1: What keeps the comparison of means stable.
        k2: What keeps the comparison of variances stable.
    """
    with Composed(None, "MS-SSIM"):
        x, y = _both(img1, img2)
        highest, parts = _highest(max_val, img1), list[Tensor]()
        for scale in range(len(power_factors)):
            if scale:
                x, y = _halved(x), _halved(y)
            alike, structure = _similarity(x, y, highest, filter_size, filter_sigma, k1, k2)
            last = scale == len(power_factors) - 1
            parts.append(relu(reduce_mean(alike if last else structure, [-3, -2])))
        return reduce_mean(reduce_prod(power(stack(parts, -1), list(power_factors)), -1), -1)


def _halved(images: Tensor) -> Tensor:
    """Images of half the size, where an odd last row or column counts twice."""
    batch = reshape(images, concat([[-1], shape_of(images)[-3:]], 0))
    spare = shape_of(batch)[1:3] % 2
    even = pad(batch, [[0, 0], [0, spare[0]], [0, spare[1]], [0, 0]], "SYMMETRIC")
    made = avg_pool2d(even, 2, 2, "VALID")
    made = reshape(made, concat([shape_of(images)[:-3], shape_of(made)[1:]], 0))
    if isinstance(made, SymbolicTensor) and images.shape.rank is not None:
        half = [None if size is None else (size + 1) // 2 for size in images.shape.as_list()[-3:-1]]
        made.set_shape(images.shape[:-3].concatenate([*half, images.shape[-1]]))
    return made


@export("image.total_variation")
def total_variation(images: ArrayLike, name: str | None = None) -> Tensor:
    """The sum of the differences between neighbouring pixels, of an image or of each of a batch."""
    with Composed(name, "total_variation"):
        batch, single = with_batch(convert_to_tensor(images), "images")
        rows = reduce_sum(magnitude(batch[:, 1:] - batch[:, :-1]), [1, 2, 3])
        total = rows + reduce_sum(magnitude(batch[:, :, 1:] - batch[:, :, :-1]), [1, 2, 3])
        return total[0] if single else total


@export("image.image_gradients")
def image_gradients(image: ArrayLike) -> tuple[Tensor, Tensor]:
    """The differences to the next row and to the next column, zeros in the last ones.

    Args:
        image: A batch of images.
    """
    given = convert_to_tensor(image)
    if given.shape.rank != 4:
        raise ArgumentError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {given.shape}.")
    down, right = given[:, 1:] - given[:, :-1], given[:, :, 1:] - given[:, :, :-1]
    return pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(right, [[0, 0], [0, 0], [0, 1], [0, 0]])


_SOBEL = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], np.float32)


@export("image.sobel_edges")
def sobel_edges(image: ArrayLike) -> Tensor:
    """How strongly images change downwards and to the right: a dimension of two more.

    Args:
        image: A batch of floating-point images.
    """
    given = convert_to_tensor(image)
    if given.shape.rank != 4:
        raise ArgumentError(f"sobel_edges takes a batch of images, got a tensor of shape {given.shape}.")
    kernels = constant(np.stack([_SOBEL, _SOBEL.T], -1)[:, :, None], given.dtype)
    kernels = tile(kernels, [1, 1, shape_of(given)[-1] if given.shape[-1] is None else given.shape[-1], 1])
    padded = pad(given, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    made = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    return reshape(made, concat([shape_of(given), [2]], 0))
