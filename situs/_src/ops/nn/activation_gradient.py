"""Gradients of activation functions, as separate ops: one pass over memory by PyTorch.

    relu_grad(grad, relu(x))            grad where x is positive, 0 elsewhere

Each takes the gradient of the result and the input or the result of the function, whichever is sufficient. Their own
rules give second derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.dtype import COMPLEX, FLOATING, DTypes
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.compare import less
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, compiled_as, op
from situs._src.ops.gather import where
from situs._src.ops.math import abs as abs_
from situs._src.ops.math import add, conjugated, divide, exp, multiply, negative, sigmoid, sign, square, subtract, tanh
from situs._src.ops.math import pow as pow_
from situs._src.ops.reduce import reduce_sum
from situs._src.runtime import dispatch

Kernel = Callable[..., torch.Tensor]

_aten = torch.ops.aten
_hardtanh_backward: Kernel = _aten.hardtanh_backward.default
_leaky_relu_backward: Kernel = _aten.leaky_relu_backward.default
_elu_backward: Kernel = _aten.elu_backward.default
_softplus_backward: Kernel = _aten.softplus_backward.default
_gelu_backward: Kernel = _aten.gelu_backward.default
_silu_backward: Kernel = _aten.silu_backward.default
_softmax_backward: Kernel = _aten._softmax_backward_data.default
_log_softmax_backward: Kernel = _aten._log_softmax_backward_data.default

# Above its threshold PyTorch's softplus is x itself: at PyTorch's own, 20, that costs float64 half of its digits.
SOFTPLUS_THRESHOLD = 40


def _declare(name: str, known: str, kernel: Kernel, types: DTypes = FLOATING, **attrs: Any) -> Op:
    """Declares a gradient op: `known` is what it takes beside the gradient of the result."""
    declared = op(name, f"gradients: T, {known}: T -> backprops: T", traits={FRESH}, T=types, **attrs)
    declared.shape(_merged)
    declared.kernel(CPU, GPU)(kernel)
    return declared


def _merged(gradients: TensorShape, known: TensorShape, **attrs: Any) -> TensorShape:
    return gradients.merge_with(known)


# Rectifiers.


def _relu_grad_kernel(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    return _leaky_relu_backward(gradients, features, 0, False)  # threshold_backward would let a NaN's through


def _relu6_grad_kernel(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    return _hardtanh_backward(_relu_grad_kernel(gradients, features), features, 0, 6)  # alone, it lets a NaN's through


def _compiled_relu_grad(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    # The compiler takes anything by 0 for 0; this is NaN where the gradient is one, or infinite.
    return torch.where(features > 0, gradients, gradients - gradients)


compiled_as(_relu_grad_kernel, _compiled_relu_grad)

_relu_grad = _declare("ReluGrad", "features", _relu_grad_kernel)


@_relu_grad.in_place(0, fits=lambda node, place: True)  # both have one shape, or it fails
def _relu_grad_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor]:
    def go_back(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        if gradients.shape != features.shape:
            raise ValueError("shapes differ")  # the shape rule says it better
        back = torch.ops.aten.leaky_relu_backward.grad_input
        made: torch.Tensor = back(gradients, features, 0, False, grad_input=gradients)
        return made

    return go_back


_relu6_grad = _declare("Relu6Grad", "features", _relu6_grad_kernel)
_leaky_relu_grad = _declare(
    "LeakyReluGrad",
    "features",
    lambda gradients, features, alpha=0.2: _leaky_relu_backward(gradients, features, alpha, False),
    alpha=0.2,
)
relu_grad = dispatch.binary(_relu_grad)
relu6_grad = dispatch.binary(_relu6_grad)


def leaky_relu_grad(gradients: Tensor, features: Tensor, alpha: float) -> Tensor:
    """Back through a leaky rectifier."""
    return _leaky_relu_grad(gradients, features, alpha=alpha)


# Straight lines: what they were given makes no difference to their derivative, which is zeros and not nothing.
_relu_grad.gradient(lambda grad, features: (relu_grad(grad, features), lambda: zeros_like(features)))
_relu6_grad.gradient(lambda grad, features: (relu6_grad(grad, features), lambda: zeros_like(features)))
_leaky_relu_grad.gradient(
    lambda grad, features, *, alpha: (leaky_relu_grad(grad, features, alpha), lambda: zeros_like(features))
)

# Exponential units, from their results.

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALED_ALPHA = 1.6732632423543772848170429916717 * _SELU_SCALE


def _elu_grad_kernel(gradients: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    # PyTorch's own makes a NaN of a NaN; TensorFlow counts it with the positive ones.
    return _elu_backward(gradients, 1, 1, 1, True, outputs.nan_to_num(0, torch.inf, -torch.inf))


def _selu_grad_kernel(gradients: torch.Tensor, outputs: torch.Tensor) -> torch.Tensor:
    # PyTorch's own treats an output of 0 as a negative one, which has another derivative.
    return gradients * torch.where(outputs < 0, outputs + _SELU_SCALED_ALPHA, _SELU_SCALE)


_elu_grad = _declare("EluGrad", "outputs", _elu_grad_kernel)
_selu_grad = _declare("SeluGrad", "outputs", _selu_grad_kernel)
elu_grad = dispatch.binary(_elu_grad)
selu_grad = dispatch.binary(_selu_grad)


@_elu_grad.gradient
def _elu_grad_gradient(grad: Tensor, gradients: Tensor, outputs: Tensor) -> tuple[Any, Any]:
    return lambda: elu_grad(grad, outputs), lambda: _where_negative(outputs, multiply(grad, gradients))


@_selu_grad.gradient
def _selu_grad_gradient(grad: Tensor, gradients: Tensor, outputs: Tensor) -> tuple[Any, Any]:
    return lambda: selu_grad(grad, outputs), lambda: _where_negative(outputs, multiply(grad, gradients))


def _where_negative(x: Tensor, value: Tensor) -> Tensor:
    return where(less(x, 0), value, zeros_like(value))


# Soft steps.


_softplus_grad = _declare(
    "SoftplusGrad",
    "features",
    lambda gradients, features: _softplus_backward(gradients, features, 1, SOFTPLUS_THRESHOLD),
)
_softsign_grad = _declare(
    "SoftsignGrad", "features", lambda gradients, features: gradients / features.abs().add_(1).square_()
)
softplus_grad = dispatch.binary(_softplus_grad)
softsign_grad = dispatch.binary(_softsign_grad)


@_softplus_grad.gradient
def _softplus_grad_gradient(grad: Tensor, gradients: Tensor, features: Tensor) -> tuple[Any, Any]:
    def of_features() -> Tensor:
        step = sigmoid(features)
        return multiply(multiply(grad, gradients), multiply(step, subtract(1, step)))

    return lambda: softplus_grad(grad, features), of_features


@_softsign_grad.gradient
def _softsign_grad_gradient(grad: Tensor, gradients: Tensor, features: Tensor) -> tuple[Any, Any]:
    def of_features() -> Tensor:
        bend = divide(multiply(sign(features), -2), pow_(add(abs_(features), 1), 3))
        return multiply(multiply(grad, gradients), bend)

    return lambda: softsign_grad(grad, features), of_features


# Gelu and silu: features times a step.


def _gelu_grad_kernel(gradients: torch.Tensor, features: torch.Tensor, *, approximate: bool) -> torch.Tensor:
    return _gelu_backward(gradients, features, approximate="tanh" if approximate else "none")


_gelu_grad = _declare("GeluGrad", "features", _gelu_grad_kernel, approximate=False)


def gelu_grad(gradients: Tensor, features: Tensor, approximate: bool) -> Tensor:
    """Back through the Gaussian error linear unit."""
    return _gelu_grad(gradients, features, approximate=approximate)


@_gelu_grad.gradient
def _gelu_grad_gradient(grad: Tensor, gradients: Tensor, features: Tensor, *, approximate: bool) -> tuple[Any, Any]:
    bend = _tanh_gelu_bend if approximate else _gelu_bend
    return (
        lambda: gelu_grad(grad, features, approximate),
        lambda: multiply(multiply(grad, gradients), bend(features)),
    )


def _gelu_bend(x: Tensor) -> Tensor:
    """The second derivative: the normal density times ``2 - x^2``."""
    squares = square(x)
    density = multiply(exp(multiply(squares, -0.5)), 1 / math.sqrt(2 * math.pi))
    return multiply(density, subtract(2, squares))


def _tanh_gelu_bend(x: Tensor) -> Tensor:
    """The second derivative of ``x/2 (1 + tanh u)``, where u is ``a x + b x^3``."""
    a = math.sqrt(2 / math.pi)
    b = 0.044715 * a
    squares = square(x)
    step = tanh(multiply(x, add(multiply(squares, b), a)))
    slope = add(multiply(squares, 3 * b), a)
    inner = subtract(multiply(x, 6 * b), multiply(multiply(step, 2), square(slope)))
    return multiply(subtract(1, square(step)), add(slope, multiply(multiply(x, 0.5), inner)))


def _silu_grad_kernel(gradients: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
    if not features.is_complex():
        return _silu_backward(gradients, features)
    step = torch.sigmoid(features)
    return gradients * (step * (1 + features * (1 - step))).conj()


_silu_grad = _declare("SiluGrad", "features", _silu_grad_kernel, FLOATING | COMPLEX)
silu_grad = dispatch.binary(_silu_grad)


@_silu_grad.gradient
def _silu_grad_gradient(grad: Tensor, gradients: Tensor, features: Tensor) -> tuple[Any, Any]:
    def of_features() -> Tensor:
        step = sigmoid(features)
        rest = subtract(1, step)
        bend = multiply(multiply(step, rest), add(multiply(features, subtract(rest, step)), 2))
        return multiply(multiply(conjugated(grad), gradients), conjugated(bend))

    return lambda: silu_grad(grad, conjugated(features)), of_features


# Softmax, from its result.


_softmax_grad = _declare(
    "SoftmaxGrad",
    "softmax",
    lambda gradients, softmax, axis=-1: _softmax_backward(gradients, softmax, axis, softmax.dtype),
    axis=-1,
)
_log_softmax_grad = _declare(
    "LogSoftmaxGrad",
    "logsoftmax",
    lambda gradients, logsoftmax, axis=-1: _log_softmax_backward(gradients, logsoftmax, axis, logsoftmax.dtype),
    axis=-1,
)


def softmax_grad(gradients: Tensor, softmax: Tensor, axis: int) -> Tensor:
    """Back through softmax."""
    return _softmax_grad(gradients, softmax, axis=axis)


def log_softmax_grad(gradients: Tensor, logsoftmax: Tensor, axis: int) -> Tensor:
    """Back through the logarithm of softmax."""
    return _log_softmax_grad(gradients, logsoftmax, axis=axis)


@_softmax_grad.gradient
def _softmax_grad_gradient(grad: Tensor, gradients: Tensor, softmax: Tensor, *, axis: int) -> tuple[Any, Any]:
    def of_softmax() -> Tensor:
        first = multiply(grad, subtract(gradients, reduce_sum(multiply(gradients, softmax), axis, True)))
        return subtract(first, multiply(gradients, reduce_sum(multiply(grad, softmax), axis, True)))

    return lambda: softmax_grad(grad, softmax, axis), of_softmax


@_log_softmax_grad.gradient
def _log_softmax_grad_gradient(grad: Tensor, gradients: Tensor, logsoftmax: Tensor, *, axis: int) -> tuple[Any, Any]:
    weighted = multiply(grad, exp(logsoftmax))
    return (
        lambda: subtract(grad, reduce_sum(weighted, axis, True)),
        lambda: negative(multiply(weighted, reduce_sum(gradients, axis, True))),
    )
