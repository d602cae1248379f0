"""Dropout: elements set to zero at random, the others scaled up so that the expected sum stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from situs._src.base.dtype import FLOATING, DType
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, ShapeLike
from situs._src.ops import random
from situs._src.ops.array import sizes_of
from situs._src.ops.attribute import NUMBERS
from situs._src.ops.compare import greater_equal
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.gather import where
from situs._src.ops.math import divide, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.seeds import next_seeds
from situs._src.ops.spelling import renamed
from situs._src.ops.stateless import stateless_uniform
from situs._src.runtime.eager.bridge import FROM_TORCH

_dropout = op("Dropout", "x: T, kept: bool -> T", T=FLOATING, rate=0.5)


@_dropout.shape
def _dropout_shape(x: TensorShape, kept: TensorShape, *, rate: float) -> TensorShape:
    _check_noise(x, kept)
    return x


def _check_noise(x: TensorShape, noise: TensorShape) -> None:
    if not broadcast(x, noise).is_compatible_with(x):
        raise ArgumentError(f"noise_shape {brackets(noise)} does not broadcast to the shape of x, {brackets(x)}")


@_dropout.kernel(CPU, GPU)
def _dropout_kernel(x: torch.Tensor, kept: torch.Tensor, *, rate: float) -> torch.Tensor:
    scale = random.in_dtype(1 / (1 - rate), FROM_TORCH[x.dtype])
    scaled = torch.where(kept, x * scale, x.new_zeros(()))  # a product with 0 would keep NaN where x is infinite
    if scaled.shape != x.shape:
        raise ValueError("wrong shapes")  # the shape rule says it better
    return scaled


@_dropout.gradient
def _dropout_gradient(grad: Tensor, kept: Tensor, *, rate: float) -> tuple[Any, None]:
    return lambda: _dropout(grad, kept, rate=rate), None


@export("nn.dropout", v1=())
def dropout(
    x: ArrayLike,
    rate: ArrayLike,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Sets each element to zero with probability `rate` and multiplies the others with ``1 / (1 - rate)``.

    Args:
        x: A floating-point tensor.
        rate: A number in [0, 1), or a scalar tensor.
        noise_shape: The shape of the random choices, which broadcasts to that of `x`: along a
            dimension of size 1 all elements share their fate. None stands for `x`'s own size.
        seed: A seed for the choices.
        name: A name for the op.
    """
    if isinstance(rate, NUMBERS) and rate == 0:
        next_seeds(seed)  # nothing is drawn, and yet counted: what follows draws as it would at another rate
    return _dropped(x, rate, partial(random.uniform, seed=seed), noise_shape, name, "dropout")


@export("nn.experimental.stateless_dropout", v1=())
def stateless_dropout(
    x: ArrayLike,
    rate: ArrayLike,
    seed: Any,
    rng_alg: Any = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` whose choices are those of its seed, whenever it is called.

    Args:
        x: A floating-point tensor.
        rate: A number in [0, 1), or a scalar tensor.
        seed: Two integers.
        rng_alg: The algorithm, as in ``tf.random.stateless_uniform``; None leaves the choice to Situs.
        noise_shape: The shape of the random choices, as in `dropout`.
        name: A name for the op.
    """
    sampler = partial(stateless_uniform, seed=seed, alg="auto_select" if rng_alg is None else rng_alg)
    return _dropped(x, rate, sampler, noise_shape, name, "stateless_dropout")


@export("nn.experimental.general_dropout", v1=())
def general_dropout(
    x: ArrayLike,
    rate: ArrayLike,
    uniform_sampler: Callable[..., Any],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` whose choices are numbers from 0 to 1 that ``uniform_sampler(shape, dtype)`` draws."""
    if not callable(uniform_sampler):
        raise DTypeError(f"uniform_sampler is a function of a shape and a dtype, got {uniform_sampler!r}.")
    return _dropped(x, rate, uniform_sampler, noise_shape, name, "general_dropout")


def _dropped(
    x: ArrayLike, rate: Any, sampler: Callable[..., Any], noise_shape: Any, name: str | None, default: str
) -> Tensor:
    if hasattr(type(x), "with_flat_values"):  # rows of different lengths stay such
        if noise_shape is not None:
            raise ArgumentError("noise_shape is not supported yet for RaggedTensor x")
        rows: Any = x
        return rows.with_flat_values(_dropped(rows.flat_values, rate, sampler, None, name, default))  # type: ignore[no-any-return]
    tensor = convert_to_tensor(x)
    _check(tensor.dtype, rate)
    if isinstance(rate, NUMBERS) and rate == 0:
        return tensor
    with Composed(name, default, "SelectV2") as last:
        noise = sampler(_noise_shape(tensor, noise_shape), dtype=tensor.dtype)
        if isinstance(rate, NUMBERS):
            return _dropout(tensor, greater_equal(noise, rate), rate=float(rate), name=last)
        return _dropout_at(tensor, noise, convert_to_tensor(rate), last)


def _dropout_at(x: Tensor, noise: Tensor, rate: Tensor, name: str | None) -> Tensor:
    """Dropout at a computed rate, which then has a gradient as well."""
    if rate.shape.rank not in (None, 0):
        raise ArgumentError(f"Shape {rate.shape} must have rank 0: `rate` is a scalar.")
    if rate.dtype is not x.dtype:
        given, wanted = rate.dtype.name, x.dtype.name
        raise DTypeError(f"`x` is {wanted} and `rate` {given}; cast input 'rate': tf.cast(rate, tf.{wanted}).")
    _check_noise(x.shape, noise.shape)
    scaled = divide(x, subtract(1, rate))
    made: Any = where(greater_equal(noise, rate), scaled, zeros_like(scaled), name)
    made.set_shape(x.shape)  # a rate of unknown shape, such as a placeholder, is a scalar
    dropped: Tensor = made
    return dropped


def _check(dtype: DType, rate: Any) -> None:
    if not dtype.is_floating:
        raise ArgumentError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={dtype}"
        )
    if isinstance(rate, NUMBERS):
        if not 0 <= rate < 1:
            raise ArgumentError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    elif not hasattr(rate, "dtype"):
        raise ArgumentError(f"`rate` must be a scalar or scalar tensor. Received: rate={rate}")


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of the random choices, with the sizes of `x` where none are given."""
    if noise_shape is None:
        return sizes_of(x)
    if isinstance(noise_shape, (list, tuple)) and None in noise_shape and x.shape.rank in (None, len(noise_shape)):
        own = sizes_of(x)
        return [own[axis] if asked is None else asked for axis, asked in enumerate(noise_shape)]
    return noise_shape


@export(v1="nn.dropout")
def dropout_v1(
    x: ArrayLike,
    keep_prob: Any = None,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
    rate: ArrayLike | None = None,
) -> Tensor:
    """Sets elements to zero at random; TensorFlow 1 says with which probability they are kept."""
    if keep_prob is not None:
        dropped = 1 - keep_prob if isinstance(keep_prob, NUMBERS) else subtract(1, keep_prob, "sub")
        rate = renamed("rate", rate, "keep_prob", dropped)
    if rate is None:
        raise ArgumentError("`rate` must be provided. Received: rate=None")
    return dropout(x, rate, noise_shape, seed, name)
