"""Flipping, transposing and rotating images; random flips.

A batch is flipped at random image by image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ops.array import rank as rank_of
from situs._src.ops.array import reshape, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.constant import range as range_
from situs._src.ops.control import cond
from situs._src.ops.gather import where
from situs._src.ops.image_shape import check_image, with_batch
from situs._src.ops.join import concat, stack
from situs._src.ops.random import uniform
from situs._src.ops.rearrange import reverse
from situs._src.ops.stateless import stateless_uniform


@export("image.flip_left_right")
def flip_left_right(image: ArrayLike) -> Tensor:
    """An image, or a batch, with left and right exchanged."""
    return _flipped(image, -2)


@export("image.flip_up_down")
def flip_up_down(image: ArrayLike) -> Tensor:
    """An image, or a batch, with top and bottom exchanged."""
    return _flipped(image, -3)


def _flipped(image: ArrayLike, axis: int) -> Tensor:
    given = convert_to_tensor(image)
    check_image(given)
    return reverse(given, [axis])


@export("image.random_flip_left_right")
def random_flip_left_right(image: ArrayLike, seed: int | None = None) -> Tensor:
    """An image with left and right exchanged, or not: each as likely as the other.

    Args:
        image: An image, or a batch.
        seed: Makes it the same in every program.
    """
    return _perhaps_flipped(image, -2, partial(uniform, seed=seed))


@export("image.random_flip_up_down")
def random_flip_up_down(image: ArrayLike, seed: int | None = None) -> Tensor:
    """An image with top and bottom exchanged, or not: each as likely as the other.

    Args:
        image: An image, or a batch.
        seed: Makes it the same in every program.
    """
    return _perhaps_flipped(image, -3, partial(uniform, seed=seed))


@export("image.stateless_random_flip_left_right", v1=())
def stateless_random_flip_left_right(image: ArrayLike, seed: ArrayLike) -> Tensor:
    """`random_flip_left_right` that depends on its seed, two integers, alone."""
    return _perhaps_flipped(image, -2, partial(stateless_uniform, seed=seed))


@export("image.stateless_random_flip_up_down", v1=())
def stateless_random_flip_up_down(image: ArrayLike, seed: ArrayLike) -> Tensor:
    """`random_flip_up_down` that depends on its seed, two integers, alone."""
    return _perhaps_flipped(image, -3, partial(stateless_uniform, seed=seed))


def _perhaps_flipped(image: ArrayLike, axis: int, draw: Callable[..., Tensor]) -> Tensor:
    """An image is flipped where the number drawn is below a half, those of a batch where it is above."""
    given = convert_to_tensor(image)

    def one() -> Tensor:
        return where(draw([]) < 0.5, _flipped(given, axis), given)

    def many() -> Tensor:
        count = given.shape[0]
        draws = draw([shape_of(given)[0] if count is None else count])
        return where(reshape(draws > 0.5, [-1, 1, 1, 1]), _flipped(given, axis), given)

    if given.shape.rank is None:
        made: Tensor = cond(equal(rank_of(given), 3), one, many)
        return made
    with_batch(given)
    return one() if given.shape.rank == 3 else many()


@export("image.transpose", v1=("image.transpose", "image.transpose_image"))
def transpose_image(image: ArrayLike, name: str | None = None) -> Tensor:
    """An image, or a batch, with rows and columns exchanged."""
    given = convert_to_tensor(image)
    rank: Any = check_image(given)
    if rank is None:
        rank = rank_of(given)
        order: Any = concat([range_(rank - 3), stack([rank - 2, rank - 3, rank - 1])], 0)
    else:
        order = [*range(rank - 3), rank - 2, rank - 3, rank - 1]
    return transpose(given, order, name=name or "transpose_image")


@export("image.rot90")
def rot90(image: ArrayLike, k: IntLike = 1, name: str | None = None) -> Tensor:
    """An image, or a batch, turned counter-clockwise by quarters.

    Args:
        image: The image.
        k: How many quarters.
        name: A name for the op.
    """
    given = convert_to_tensor(image)
    turns = as_int(k, "k") % 4
    if turns == 2:
        return flip_left_right(flip_up_down(given))
    if turns == 1:
        return flip_up_down(transpose_image(given))
    return transpose_image(flip_up_down(given)) if turns == 3 else given
