"""Gradients of normalisation.

A batch norm and a layer norm differ only in what they average over. With ``y = scale * z + offset`` and
``z = (x - mean) * deviation``, where ``deviation`` stands for 1 divided by the standard deviation,

    P(a)  =  a - mean(a) - z mean(a z)              what is left of a change when the moments are kept
    dx    =  deviation P(scale * dy)

In the second order the same projection comes up again, since it is its own adjoint.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.shapes import TensorShape, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import SizesOf
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import transpose
from situs._src.ops.cast import cast
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.math import rsqrt
from situs._src.ops.nn.window import as_given, channels_first
from situs._src.ops.reduce import reduce_mean
from situs._src.ops.sum_to import sum_to

_aten = torch.ops.aten
FUSED = frozenset({dt.float16, dt.bfloat16, dt.float32})  # what TensorFlow's fused kernels take
SPATIAL = {"NHWC": 2, "NCHW": 2, "NDHWC": 3, "NCDHW": 3}

# Batches.

_batch_norm_grad = op(
    "FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: U, reserve_space_1: U, reserve_space_2: U"
    " -> x_backprop: T, scale_backprop: U, offset_backprop: U",
    T=FUSED,
    U=frozenset({dt.float32}),
    epsilon=1e-4,
    data_format="NHWC",
    is_training=True,
)


@_batch_norm_grad.shape
def _batch_norm_grad_shape(
    y_backprop: TensorShape, x: TensorShape, scale: TensorShape, *rest: TensorShape, **attrs: Any
) -> tuple[TensorShape, ...]:
    return x, scale, scale


@_batch_norm_grad.kernel(CPU, GPU)
def _batch_norm_grad_kernel(
    y_backprop: torch.Tensor,
    x: torch.Tensor,
    scale: torch.Tensor,
    reserve_space_1: torch.Tensor,
    reserve_space_2: torch.Tensor,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[torch.Tensor, ...]:
    if not x.numel():
        return torch.zeros_like(x), torch.zeros_like(scale), torch.zeros_like(scale)
    n = SPATIAL[data_format]
    y, images = (channels_first(each, n, data_format) for each in (y_backprop.contiguous(), x))
    if not is_training:
        dx, ds, do = _with_given_moments(y, images, scale, reserve_space_1, (reserve_space_2 + epsilon).rsqrt())
    else:
        moments = reserve_space_1, reserve_space_2
        dx, ds, do = _aten.native_batch_norm_backward.default(
            y, images, scale, None, None, *moments, True, epsilon, [True, True, True]
        )
    return as_given(dx, n, data_format), ds, do


def _with_given_moments(
    y: torch.Tensor, x: torch.Tensor, scale: torch.Tensor, mean: torch.Tensor, deviation: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """On a GPU PyTorch has no kernel for this."""
    over, rest = (-1, *[1] * (x.ndim - 2)), (0, *range(2, x.ndim))
    wide = y.float()
    normal = (x.float() - mean.view(over)).mul_(deviation.view(over))
    dx = (wide * (scale * deviation).view(over)).to(x.dtype)
    return dx, (wide * normal).sum(rest), wide.sum(rest)


def batch_norm_grad(
    grad: Tensor, x: Tensor, scale: Tensor, first: Tensor, second: Tensor, **attrs: Any
) -> list[Tensor]:
    """The gradients of the images, the scale and the offset; the moments are as the batch norm has left them."""
    return _batch_norm_grad.many(grad, x, scale, first, second, **attrs)


@_batch_norm_grad.gradient
def _batch_norm_grad_gradient(
    grads: list[Any],
    y_backprop: Tensor,
    x: Tensor,
    scale: Tensor,
    reserve_space_1: Tensor,
    reserve_space_2: Tensor,
    scale_shape: SizesOf,
    *,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> tuple[Any, ...]:
    n = SPATIAL[data_format]
    deviation = reserve_space_2 if is_training else rsqrt(reserve_space_2 + epsilon)
    axes = list(range(n + 1)) if is_training else None
    norm = _Norm(x, scale, scale_shape, reserve_space_1, deviation, axes)
    return _second_order(grads, y_backprop, norm, [0, *range(2, n + 2), 1] if data_format[1] == "C" else None)


# Layers.

_layer_norm_grad = op(
    "LayerNormGrad",
    "y_backprop: T, x: T, scale: T, mean: U, deviation: U -> x_backprop: T, scale_backprop: T, offset_backprop: T",
    traits={FRESH},
    T=FLOATING,
    U=FLOATING,
    axis=(-1,),
)


@_layer_norm_grad.shape
def _layer_norm_grad_shape(
    y_backprop: TensorShape, x: TensorShape, scale: TensorShape, *rest: TensorShape, axis: tuple[int, ...]
) -> tuple[TensorShape, ...]:
    return x, scale, scale


@_layer_norm_grad.kernel(CPU, GPU)
def _layer_norm_grad_kernel(
    y_backprop: torch.Tensor,
    x: torch.Tensor,
    scale: torch.Tensor,
    mean: torch.Tensor,
    deviation: torch.Tensor,
    *,
    axis: tuple[int, ...],
) -> tuple[torch.Tensor, ...]:
    axes = sorted(normalize_axis(each, x.ndim) for each in axis)
    last = list(range(x.ndim - len(axes), x.ndim))
    y, examples = (each if axes == last else each.movedim(axes, last) for each in (y_backprop, x))
    if not x.is_cuda:  # there PyTorch keeps the moments of 16-bit floats in 16 bits
        mean, deviation = mean.to(x.dtype), deviation.to(x.dtype)
    dx, ds, do = _aten.native_layer_norm_backward.default(
        y.contiguous(), examples, scale.shape, mean, deviation, scale, scale, [True, True, True]
    )
    return (dx if axes == last else dx.movedim(last, axes)), ds, do


def layer_norm_grad(
    grad: Tensor, x: Tensor, scale: Tensor, mean: Tensor, deviation: Tensor, axis: tuple[int, ...]
) -> list[Tensor]:
    """The gradients of the examples, the scale and the offset."""
    return _layer_norm_grad.many(grad, x, scale, mean, deviation, axis=axis)


@_layer_norm_grad.gradient
def _layer_norm_grad_gradient(
    grads: list[Any],
    y_backprop: Tensor,
    x: Tensor,
    scale: Tensor,
    mean: Tensor,
    deviation: Tensor,
    scale_shape: SizesOf,
    *,
    axis: tuple[int, ...],
) -> tuple[Any, ...]:
    rank = len(x.shape)
    axes = sorted(normalize_axis(each, rank) for each in axis)
    order = [*(each for each in range(rank) if each not in axes), *axes]
    norm = _Norm(x, scale, scale_shape, mean, deviation, list(range(-len(axes), 0)))
    return _second_order(grads, y_backprop, norm, None if order == list(range(rank)) else order)


# The second order.


class _Norm(NamedTuple):
    """What a norm was given and found, with the dimensions in an order in which the scale broadcasts."""

    x: Tensor
    scale: Tensor
    scale_shape: Any
    mean: Tensor
    deviation: Tensor
    axes: list[int] | None  # what was averaged over; None if the moments were given

    def second_order(self, of_x: Tensor, of_scale: Tensor, of_offset: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        """The gradients of its gradients, for the gradient of its result, its input and its scale."""
        z = (self.x - self.mean) * self.deviation
        scaled = self.scale * y
        straight = of_scale * z + of_offset
        bent = self.deviation * self._left_of(of_x, z)
        to_scale = sum_to(y * bent, self.scale_shape)
        if self.axes is None:
            return self.scale * bent + straight, of_scale * y * self.deviation, to_scale
        both = of_x * self._mean(scaled * z) + scaled * self._mean(of_x * z)
        to_z = of_scale * y - self.deviation * both
        stretch = self.deviation * z * self._mean(of_x * self._left_of(scaled, z))
        to_x = self.deviation * (self._left_of(to_z, z) - stretch)
        return self.scale * bent + straight, to_x, to_scale

    def _left_of(self, change: Tensor, z: Tensor) -> Tensor:
        if self.axes is None:
            return change
        return change - self._mean(change) - z * self._mean(change * z)

    def _mean(self, x: Tensor) -> Tensor:
        return reduce_mean(x, self.axes, True)


def _second_order(grads: list[Any], y: Tensor, norm: _Norm, order: list[int] | None) -> tuple[Any, ...]:
    """The same for tensors as they are: `order` is the order that a norm wants their dimensions in."""
    narrow, wide = norm.x.dtype, norm.deviation.dtype
    given = [
        zeros_like(like) if grad is None else grad
        for grad, like in zip(grads, (y, norm.scale, norm.scale), strict=True)
    ]
    of_x, y, x = (_moved(cast(each, wide), order) for each in (given[0], y, norm.x))
    of_scale, of_offset, scale = (cast(each, wide) for each in (*given[1:], norm.scale))
    wide_norm = norm._replace(x=x, scale=scale)
    to_y, to_x, to_scale = wide_norm.second_order(of_x, of_scale, of_offset, y)
    back = None if order is None else sorted(range(len(order)), key=order.__getitem__)
    to_y, to_x = (cast(_moved(each, back), narrow) for each in (to_y, to_x))
    return to_y, to_x, cast(to_scale, norm.scale.dtype), None, None


def _moved(x: Tensor, order: list[int] | None) -> Tensor:
    return x if order is None else transpose(x, order)


# Neighbouring channels.

_lrn_grad = op(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T -> output: T",
    T=FUSED,
    depth_radius=5,
    bias=1.0,
    alpha=1.0,
    beta=0.5,
)


@_lrn_grad.shape
def _lrn_grad_shape(
    input_grads: TensorShape, input_image: TensorShape, output_image: TensorShape, **attrs: Any
) -> TensorShape:
    return input_image


@_lrn_grad.kernel(CPU, GPU)
def _lrn_grad_kernel(
    input_grads: torch.Tensor,
    input_image: torch.Tensor,
    output_image: torch.Tensor,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> torch.Tensor:
    if not input_image.numel():
        return torch.zeros_like(input_image)
    grads, x, y = (each.float() for each in (input_grads, input_image, output_image))
    norm = bias + alpha * channel_sums(x.square(), depth_radius)
    others = channel_sums(grads * y / norm, depth_radius)
    return (grads * to_negative_power(norm, beta) - 2 * alpha * beta * x * others).to(input_image.dtype)


def channel_sums(x: torch.Tensor, depth_radius: int) -> torch.Tensor:
    """The sums over neighbouring channels, the last dimension."""
    radius = min(depth_radius, x.shape[-1] - 1)  # there are no channels farther away
    if x.device.type == "cpu" and x.shape[-1] <= _BANDED:
        return x @ _band(x.shape[-1], radius)
    rows = x.reshape(1, -1, 1, x.shape[-1])
    return functional.avg_pool2d(rows, (1, 2 * radius + 1), 1, (0, radius), divisor_override=1).reshape(x.shape)


_BANDED = 256  # channels up to which a product costs less than a walk along them


@lru_cache(maxsize=64)
def _band(size: int, radius: int) -> torch.Tensor:
    """Ones where a row and a column are neighbours."""
    return torch.ones(size, size).tril_(radius).triu_(-radius)


def to_negative_power(x: torch.Tensor, beta: float) -> torch.Tensor:
    """``x ** -beta``, by roots for the powers that people use."""
    if beta == 0.5:
        return x.rsqrt()
    if beta == 0.75:
        root = x.rsqrt()
        return root.sqrt().mul_(root)
    return x.pow(-beta)


def lrn_grad(grad: Tensor, input: Tensor, output: Tensor, **attrs: Any) -> Tensor:
    """Back through a normalisation by neighbouring channels."""
    return _lrn_grad(grad, input, output, **attrs)
