"""Biases: one number for each channel, and the layers that add them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.dtype import NUMERIC, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import broadcast_to, reshape
from situs._src.ops.attribute import as_word
from situs._src.ops.define import CPU, GPU, KernelValue, numpy_kernel, op
from situs._src.ops.linalg import matmul
from situs._src.ops.naming import Composed
from situs._src.ops.nn.activation import relu
from situs._src.runtime import dispatch

_bias_add = op("BiasAdd", "value: T, bias: T -> output: T", traits={FRESH}, T=NUMERIC, data_format="NHWC")
_bias_add_by_default = dispatch.binary(_bias_add)


@_bias_add.shape
def _bias_add_shape(value: TensorShape, bias: TensorShape, *, data_format: str) -> TensorShape:
    if bias.rank not in (None, 1):
        raise ArgumentError(f"Biases must be 1D: {brackets(bias)}")
    if value.rank is None:
        return UNKNOWN
    if value.rank < 2:
        raise ArgumentError(f"Input tensor must be at least 2D: {brackets(value)}")
    first = data_format == "NCHW"
    axis = 1 if first else value.rank - 1
    if bias.rank == 1 and not TensorShape([value[axis]]).is_compatible_with(bias):
        which = "second" if first else "last"
        raise ArgumentError(
            f"Must provide as many biases as the {which} dimension of the input tensor: "
            f"{brackets(bias)} vs. {brackets(value)}"
        )
    if bias.rank == 1 and value[axis] is None:
        return TensorShape([*value[:axis], bias[0], *value[axis + 1 :]])
    return value


def _bias_add_kernel(value: KernelValue, bias: KernelValue, data_format: str = "NHWC") -> KernelValue:
    """Works on PyTorch's tensors and on NumPy's arrays alike."""
    if bias.ndim != 1 or value.ndim < 2:
        raise ValueError("wrong rank")  # the shape rule says it better
    first = data_format == "NCHW"
    if len(bias) != value.shape[1 if first else -1]:
        raise ValueError("wrong size")  # a single bias would broadcast
    return value + (bias.reshape((-1,) + (1,) * (value.ndim - 2)) if first else bias)


_bias_add.kernel(CPU, GPU, T=NUMERIC - WIDE_UNSIGNED)(_bias_add_kernel)
_bias_add.kernel(CPU, T=WIDE_UNSIGNED)(numpy_kernel(_bias_add_kernel))


def _has_bias_for_each(node: Operation, place: int) -> bool:
    """Whether there surely is one bias for each channel; a single one would broadcast where the kernel refuses it."""
    value, bias = node.inputs[0].shape, node.inputs[1].shape
    if value.rank is None or bias.rank != 1:
        return False
    channels = value[1 if node.attrs["data_format"] == "NCHW" else -1]
    return channels is not None and bool(channels == bias[0])


@_bias_add.in_place(0, fits=_has_bias_for_each)
def _bias_add_in_place(node: Operation, place: int) -> Callable[..., torch.Tensor]:
    if node.attrs["data_format"] != "NCHW":
        return torch.Tensor.add_
    sizes = [-1] + [1] * (len(node.inputs[0].shape) - 2)
    return lambda value, bias: value.add_(bias.view(sizes))


@_bias_add.gradient
def _bias_add_gradient(grad: Tensor, *, data_format: str) -> tuple[Any, Any]:
    return grad, lambda: _bias_add_grad(grad, data_format=data_format)


_bias_add_grad = op(
    "BiasAddGrad", "out_backprop: T -> output: T", traits={FRESH}, T=NUMERIC - WIDE_UNSIGNED, data_format="NHWC"
)


@_bias_add_grad.shape
def _bias_add_grad_shape(out_backprop: TensorShape, *, data_format: str) -> TensorShape:
    if out_backprop.rank is None:
        return TensorShape([None])
    if out_backprop.rank < 2:
        raise ArgumentError(f"Input tensor must be at least 2D: {brackets(out_backprop)}")
    return TensorShape([out_backprop[1 if data_format == "NCHW" else -1]])


@_bias_add_grad.kernel(CPU, GPU)
def _bias_add_grad_kernel(out_backprop: torch.Tensor, data_format: str = "NHWC") -> torch.Tensor:
    if out_backprop.ndim < 2:
        raise ValueError("wrong rank")  # the shape rule says it better
    rest = (0, *range(2, out_backprop.ndim)) if data_format == "NCHW" else tuple(range(out_backprop.ndim - 1))
    return out_backprop.sum(rest, dtype=out_backprop.dtype)


@_bias_add_grad.gradient
def _bias_add_grad_gradient(grad: Tensor, out_backprop_shape: Any, *, data_format: str) -> Tensor:
    if data_format != "NCHW":
        return broadcast_to(grad, out_backprop_shape)
    rank = len(out_backprop_shape) if isinstance(out_backprop_shape, tuple) else out_backprop_shape.shape[0]
    return broadcast_to(reshape(grad, [-1] + [1] * (rank - 2)), out_backprop_shape)


@export("nn.bias_add")
def bias_add(value: ArrayLike, bias: ArrayLike, data_format: str | None = None, name: str | None = None) -> Tensor:
    """Adds a bias to every channel.

    Args:
        value: A tensor of at least two dimensions.
        bias: A vector with an entry for every channel.
        data_format: ``"N...C"`` (or ``"NHWC"`` and the like) if channels are last, which is the
            default; ``"NC..."`` (``"NCHW"``) if they come second.
        name: A name for the op.
    """
    if data_format is None:
        return _bias_add_by_default(value, bias, name)
    layout = as_word(data_format, "data_format")
    if layout.startswith("NC"):
        return _bias_add(value, bias, data_format="NCHW", name=name)
    if layout.startswith("N") and layout.endswith("C"):
        return _bias_add_by_default(value, bias, name)
    raise ArgumentError(f"`data_format` must be of the form `N...C` or `NC...`. Received: data_format={data_format}")


@export(v1="nn.xw_plus_b")
def xw_plus_b(x: ArrayLike, weights: ArrayLike, biases: ArrayLike, name: str | None = None) -> Tensor:
    """Computes ``matmul(x, weights) + biases``."""
    with Composed(name, "xw_plus_b") as last:
        return bias_add(matmul(x, weights), biases, name=last)


@export(v1="nn.relu_layer")
def relu_layer(x: ArrayLike, weights: ArrayLike, biases: ArrayLike, name: str | None = None) -> Tensor:
    """Computes ``relu(matmul(x, weights) + biases)``."""
    with Composed(name, "relu_layer") as last:
        return relu(xw_plus_b(x, weights, biases), last)
