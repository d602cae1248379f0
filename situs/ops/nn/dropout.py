"""Dropout: elements set to zero at random, the others scaled up so that the expected sum stays."""

from __future__ import annotations

from typing import Any

import torch

from situs.dtype import FLOATING, DType
from situs.errors import InvalidArgumentError
from situs.ops import random
from situs.ops.array import sizes_of
from situs.ops.attribute import NUMBERS
from situs.ops.constant import convert_to_tensor
from situs.ops.define import CPU, GPU, op
from situs.ops.math import subtract
from situs.ops.naming import Composed
from situs.ops.spelling import renamed
from situs.shapes import TensorShape, brackets, broadcast
from situs.tensor import Tensor

_dropout = op("Dropout", "x: T, noise: T, rate: T -> T", T=FLOATING)


@_dropout.shape
def _dropout_shape(x: TensorShape, noise: TensorShape, rate: TensorShape) -> TensorShape:
    if rate.rank not in (None, 0):
        raise InvalidArgumentError(f"Shape {rate} must have rank 0: `rate` is a scalar.")
    if not broadcast(x, noise).is_compatible_with(x):
        raise InvalidArgumentError(f"noise_shape {brackets(noise)} does not broadcast to the shape of x, {brackets(x)}")
    return x


@_dropout.kernel(CPU, GPU)
def _dropout_kernel(x: torch.Tensor, noise: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
    kept = torch.where(noise >= rate, x / (1 - rate), 0)  # a product would keep NaN where x is infinite
    if kept.shape != x.shape or rate.ndim:
        raise ValueError("wrong shapes")  # the shape rule says it better
    return kept


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> Tensor:
    """Sets each element to zero with probability `rate` and divides the others by ``1 - rate``.

    Args:
        x: A floating-point tensor.
        rate: A number in [0, 1), or a scalar tensor.
        noise_shape: The shape of the random choices, which broadcasts to that of `x`: along a
            dimension of size 1 all elements share their fate. None stands for `x`'s own size.
        seed: A seed for the choices.
        name: A name for the op.
    """
    tensor = convert_to_tensor(x)
    _check(tensor.dtype, rate)
    if isinstance(rate, NUMBERS) and rate == 0:
        return tensor
    with Composed(name, "dropout", "SelectV2") as last:
        noise = random.uniform(_noise_shape(tensor, noise_shape), dtype=tensor.dtype, seed=seed)
        return _dropout(tensor, noise, rate, name=last)


def _check(dtype: DType, rate: Any) -> None:
    if not dtype.is_floating:
        raise InvalidArgumentError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={dtype}"
        )
    if isinstance(rate, NUMBERS):
        if not 0 <= rate < 1:
            raise InvalidArgumentError(
                f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}"
            )
    elif not hasattr(rate, "dtype"):
        raise InvalidArgumentError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of the random choices, with the sizes of `x` where none are given."""
    if noise_shape is None:
        return sizes_of(x)
    if isinstance(noise_shape, (list, tuple)) and None in noise_shape and x.shape.rank in (None, len(noise_shape)):
        own = sizes_of(x)
        return [own[axis] if asked is None else asked for axis, asked in enumerate(noise_shape)]
    return noise_shape


def dropout_v1(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Sets elements to zero at random; TensorFlow 1 says with which probability they are kept."""
    if keep_prob is not None:
        dropped = 1 - keep_prob if isinstance(keep_prob, NUMBERS) else subtract(1, keep_prob, "sub")
        rate = renamed("rate", rate, "keep_prob", dropped)
    if rate is None:
        raise InvalidArgumentError("`rate` must be provided. Received: rate=None")
    return dropout(x, rate, noise_shape, seed, name)
