"""Activation functions: ReLUs, sigmoids, and softmax.

If an op has an attribute, its kernel's parameter has the same default, so that a call without the attribute can take
the fast path of `runtime.dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, FLOATING, REAL, SIGNED, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, broadcast, normalize_axis
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, AxisLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import as_lone_integer
from situs._src.ops.attribute import NUMBERS, as_bool, as_float, as_int, plain
from situs._src.ops.cast import cast, dtype_of
from situs._src.ops.define import CPU, GPU, POINTWISE, THROUGH_ZERO, op, same_shape, unary
from situs._src.ops.join import split
from situs._src.ops.math import add, multiply, negative, sigmoid, subtract, times
from situs._src.ops.naming import Composed
from situs._src.ops.nn.activation_gradient import (
    SOFTPLUS_THRESHOLD,
    elu_grad,
    gelu_grad,
    leaky_relu_grad,
    log_softmax_grad,
    relu6_grad,
    relu_grad,
    selu_grad,
    silu_grad,
    softmax_grad,
    softplus_grad,
    softsign_grad,
)
from situs._src.ops.spelling import renamed
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch

# Rectifiers.

_NATIVE = REAL - WIDE_UNSIGNED

_relu = unary(
    "Relu",
    torch.relu,
    REAL,
    "",
    traits=THROUGH_ZERO,
    gpu=_NATIVE,
    wide=np.positive,
    gradient=lambda grad, y: relu_grad(grad, y),
)
_relu6 = unary(
    "Relu6",
    functional.relu6,
    REAL,
    "",
    gpu=_NATIVE,
    wide=lambda x: np.minimum(x, 6),
    gradient=lambda grad, y: relu6_grad(grad, y),
)


find_op("Relu6").in_place(0)(lambda node, place: partial(functional.relu6, inplace=True))


@export("nn.relu")
def relu(features: ArrayLike, name: str | None = None) -> Tensor:
    """Returns max(features, 0), element-wise."""
    return _relu(features, name)


@export("nn.relu6")
def relu6(features: ArrayLike, name: str | None = None) -> Tensor:
    """Returns min(max(features, 0), 6), element-wise."""
    return _relu6(features, name)


_leaky_relu = op("LeakyRelu", "features: T -> activations: T", traits=POINTWISE, T=FLOATING, alpha=0.2)
_leaky_relu.shape(same_shape)
_leaky_relu_by_default = dispatch.unary(_leaky_relu)


@_leaky_relu.in_place(0)
def _leaky_relu_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor]:
    return partial(functional.leaky_relu, negative_slope=node.attrs["alpha"], inplace=True)


@_leaky_relu.kernel(CPU, GPU)
def _leaky_relu_kernel(features: torch.Tensor, alpha: float = 0.2) -> torch.Tensor:
    return functional.leaky_relu(features, alpha)


@_leaky_relu.gradient
def _leaky_relu_gradient(grad: Tensor, features: Tensor, *, alpha: float) -> Tensor:
    return leaky_relu_grad(grad, features, alpha)


@export("nn.leaky_relu")
def leaky_relu(features: ArrayLike, alpha: ArrayLike = 0.2, name: str | None = None) -> Tensor:
    """Returns `features` where positive, and ``alpha * features`` elsewhere; integers become float32."""
    alpha = as_float(alpha, "alpha")
    if dtype_of(features).is_integer:
        with Composed(name, "LeakyRelu") as last:
            return _leaky_relu(cast(features, dt.float32), alpha=alpha, name=last)
    if alpha == 0.2:
        return _leaky_relu_by_default(features, name)
    return _leaky_relu(features, alpha=alpha, name=name)


def _below_zero(x: torch.Tensor) -> torch.Tensor:
    """``exp(x) - 1`` where x is negative, and 0 elsewhere."""
    return x.clamp(max=0).exp_().sub_(1)


_elu = unary("Elu", functional.elu, FLOATING, "", gradient=lambda grad, y: elu_grad(grad, y))
_selu = unary("Selu", torch.selu, FLOATING, "", gradient=lambda grad, y: selu_grad(grad, y))


@find_op("Elu").kernel(CPU, T=frozenset({dt.float32}))
def _elu_kernel(x: torch.Tensor) -> torch.Tensor:
    return _below_zero(x).add_(x.clamp(min=0))  # as exact as TensorFlow's, and half again as fast as PyTorch's


@find_op("Elu").in_place(0)
def _elu_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor]:
    if node.outputs[0].dtype is not dt.float32:
        return partial(functional.elu, inplace=True)
    return lambda x: torch.add(_below_zero(x), x.clamp_(min=0), out=x)


@find_op("Selu").kernel(CPU, T=frozenset({dt.float32}))
def _selu_kernel(x: torch.Tensor) -> torch.Tensor:
    return x.clamp(min=0).add_(_below_zero(x), alpha=_SELU_ALPHA).mul_(_SELU_SCALE)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


@export("nn.elu")
def elu(features: ArrayLike, name: str | None = None) -> Tensor:
    """Returns `features` where positive, and ``exp(features) - 1`` elsewhere."""
    return _elu(features, name)


@export("nn.selu")
def selu(features: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the scaled exponential linear unit, which keeps mean and variance through layers."""
    return _selu(features, name)


_crelu = op("CRelu", "features: T -> activations: T", T=FLOATING | SIGNED, axis=-1)


@_crelu.shape
def _crelu_shape(features: TensorShape, *, axis: int) -> TensorShape:
    if features.rank is None:
        return features
    dims = features.as_list()
    axis = normalize_axis(axis, len(dims))
    size = dims[axis]
    return TensorShape([*dims[:axis], None if size is None else 2 * size, *dims[axis + 1 :]])


@_crelu.kernel(CPU, GPU)
def _crelu_kernel(features: torch.Tensor, *, axis: int) -> torch.Tensor:
    normalize_axis(axis, features.ndim)  # of an empty vector, PyTorch takes any
    return torch.cat([features, -features], axis).relu_()


@_crelu.gradient
def _crelu_gradient(grad: Tensor, activations: Tensor, *, axis: int) -> Tensor:
    grads, results = split(grad, 2, axis), split(activations, 2, axis)
    return subtract(relu_grad(grads[0], results[0]), relu_grad(grads[1], results[1]))


@export("nn.crelu", v1=())
def crelu(features: ArrayLike, axis: int = -1, name: str | None = None) -> Tensor:
    """Joins the positive part and the negative part of `features` along an axis, which grows to twice its size."""
    return _crelu(features, axis=as_lone_integer(plain(axis, "axis"), "axis"), name=name)


@export(v1="nn.crelu")
def crelu_v1(features: ArrayLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Joins the positive part and the negative part of `features`, with TensorFlow 1's order of arguments."""
    return crelu(features, axis, name)


# Soft steps.


_softplus = unary(
    "Softplus",
    lambda features: functional.softplus(features, threshold=SOFTPLUS_THRESHOLD),
    FLOATING,
    "",
    gradient=lambda grad, x: softplus_grad(grad, x),
)
_softsign = unary("Softsign", functional.softsign, FLOATING, "", gradient=lambda grad, x: softsign_grad(grad, x))
_log_sigmoid = unary(
    "LogSigmoid",
    functional.logsigmoid,
    FLOATING,
    "",
    gradient=lambda grad, x: multiply(grad, sigmoid(negative(x))),
)


@export("math.softplus", "nn.softplus")
def softplus(features: ArrayLike, name: str | None = None) -> Tensor:
    """Returns log(exp(features) + 1), element-wise."""
    return _softplus(features, name)


@export("math.softsign", "nn.softsign")
def softsign(features: ArrayLike, name: str | None = None) -> Tensor:
    """Returns features / (abs(features) + 1), element-wise."""
    return _softsign(features, name)


@export("math.log_sigmoid")
def log_sigmoid(x: ArrayLike, name: str | None = None) -> Tensor:
    """Returns log(sigmoid(x)), element-wise, without underflow."""
    return _log_sigmoid(x, name)


_gelu = op("Gelu", "features: T -> activations: T", traits={FRESH}, T=FLOATING, approximate=False)
_gelu.shape(same_shape)
_gelu_by_default = dispatch.unary(_gelu)


@_gelu.kernel(GPU)
def _gelu_kernel(features: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    return functional.gelu(features, approximate="tanh" if approximate else "none")


@_gelu.kernel(CPU)
def _gelu_on_cpu(features: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    """The same; what PyTorch makes of infinities there depends on the CPU."""
    if bool(features.sum(dtype=torch.float64).isfinite()):
        return _gelu_kernel(features, approximate)
    return _gelu_with_ends(features, approximate)


def _gelu_with_ends(features: torch.Tensor, approximate: bool = False) -> torch.Tensor:
    """The same without a look at the values: of infinities it is what it comes near to."""
    made = _gelu_kernel(features, approximate)
    ends = torch.where(features > 0, features, torch.nan)
    return torch.where(features.isinf(), ends.to(made.dtype), made)


_gelu_on_cpu.when_compiled = _gelu_with_ends  # type: ignore[attr-defined]


@_gelu.gradient
def _gelu_gradient(grad: Tensor, features: Tensor, *, approximate: bool) -> Tensor:
    return gelu_grad(grad, features, approximate)


@export("nn.gelu")
def gelu(features: ArrayLike, approximate: bool = False, name: str | None = None) -> Tensor:
    """Computes the Gaussian error linear unit: `features` times the normal distribution's mass below them.

    Args:
        features: A floating-point tensor.
        approximate: Whether to approximate the distribution with a hyperbolic tangent.
        name: A name for the op.
    """
    try:
        if as_bool(approximate, "approximate"):
            return _gelu(features, approximate=True, name=name)
        return _gelu_by_default(features, name)
    except TypeError:
        dtype = dtype_of(features)
        if dtype in FLOATING:
            raise
        raise ArgumentError(
            f"`features.dtype` must be a floating point tensor. Received: features.dtype={dtype!r}; use tf.cast."
        ) from None


_silu = unary("Silu", functional.silu, FLOATING | COMPLEX, "", gradient=lambda grad, x: silu_grad(grad, x))
find_op("Silu").in_place(0)(lambda node, place: partial(functional.silu, inplace=True))
_swish = op("Swish", "features: T, beta: T -> activations: T", T=FLOATING | COMPLEX)
_swish.shape(broadcast)


@_swish.kernel(CPU, GPU)
def _swish_kernel(features: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    return features * torch.sigmoid(features * beta)


@_swish.gradient
def _swish_gradient(
    grad: Tensor, features: Tensor, beta: Tensor, features_shape: SizesOf, beta_shape: SizesOf
) -> tuple[Any, Any]:
    step = sigmoid(multiply(features, beta))
    slope = multiply(multiply(step, subtract(1, step)), features)
    return (
        lambda: sum_to(times(grad, add(step, multiply(slope, beta))), features_shape),
        lambda: sum_to(times(grad, multiply(slope, features)), beta_shape),
    )


@export(
    "nn.silu",
    "nn.swish",
    differs="The gradient of complex numbers is conjugated, as all others are.",
)
def silu(features: ArrayLike, beta: ArrayLike = 1.0) -> Tensor:
    """Returns features * sigmoid(beta * features), element-wise."""
    if isinstance(beta, NUMBERS) and beta == 1:
        return _silu(features)
    return _swish(features, beta)


swish = silu

# Softmax.

_softmax = op("Softmax", "logits: T -> softmax: T", traits={FRESH}, T=FLOATING, axis=-1)
_log_softmax = op("LogSoftmax", "logits: T -> logsoftmax: T", traits={FRESH}, T=FLOATING, axis=-1)
_softmax_by_default = dispatch.unary(_softmax)
_log_softmax_by_default = dispatch.unary(_log_softmax)


@_softmax.shape
@_log_softmax.shape
def _softmax_shape(logits: TensorShape, *, axis: int) -> TensorShape:
    rank = logits.rank
    if rank == 0:
        raise ArgumentError("logits must have >= 1 dimension, got []")
    if rank is not None and not -rank <= axis < rank:
        raise ArgumentError(
            f"`axis` must be in the range [-{rank}, {rank}) where {rank} is the number of dimensions in the input. "
            f"Received: axis={axis}"
        )
    return logits


@_softmax.kernel(CPU, GPU)
def _softmax_kernel(logits: torch.Tensor, axis: int = -1) -> torch.Tensor:
    _check_not_scalar(logits)
    return torch.softmax(logits, axis)


@_log_softmax.kernel(CPU, GPU)
def _log_softmax_kernel(logits: torch.Tensor, axis: int = -1) -> torch.Tensor:
    _check_not_scalar(logits)
    return torch.log_softmax(logits, axis)


@_softmax.gradient
def _softmax_gradient(grad: Tensor, softmax: Tensor, *, axis: int) -> Tensor:
    return softmax_grad(grad, softmax, axis)


@_log_softmax.gradient
def _log_softmax_gradient(grad: Tensor, logsoftmax: Tensor, *, axis: int) -> Tensor:
    return log_softmax_grad(grad, logsoftmax, axis)


def _check_not_scalar(logits: torch.Tensor) -> None:
    if logits.ndim == 0:
        raise ValueError("a scalar")  # PyTorch would take it; the shape rule says why we do not


@export("math.softmax", "nn.softmax", v1=())
def softmax(logits: ArrayLike, axis: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Scales the exponentials of `logits` to sum to one along an axis, by default the last."""
    if axis is None:
        return _softmax_by_default(logits, name)
    return _softmax(logits, axis=as_int(axis, "axis"), name=name)


@export("math.log_softmax", "nn.log_softmax", v1=())
def log_softmax(logits: ArrayLike, axis: AxisLike | None = None, name: str | None = None) -> Tensor:
    """Computes the logarithm of `softmax` along an axis, by default the last, without underflow."""
    if axis is None:
        return _log_softmax_by_default(logits, name)
    return _log_softmax(logits, axis=as_int(axis, "axis"), name=name)


@export(v1=("math.softmax", "nn.softmax"))
def softmax_v1(
    logits: ArrayLike, axis: AxisLike | None = None, name: str | None = None, dim: AxisLike | None = None
) -> Tensor:
    """Scales the exponentials of `logits` to sum to one; TensorFlow 1 also calls the axis `dim`."""
    return softmax(logits, renamed("axis", axis, "dim", dim), name)


@export(v1=("math.log_softmax", "nn.log_softmax"))
def log_softmax_v1(
    logits: ArrayLike, axis: AxisLike | None = None, name: str | None = None, dim: AxisLike | None = None
) -> Tensor:
    """Computes the logarithm of `softmax`; TensorFlow 1 also calls the axis `dim`."""
    return log_softmax(logits, renamed("axis", axis, "dim", dim), name)
