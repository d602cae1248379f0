"""The way back from broadcasting: the sum of everything that one element was spread to.

Gradient rules of ops that broadcast end with it: ``sum_to(grad, x_shape)`` has the shape of `x`.
"""

from __future__ import annotations

from typing import Any

import torch

from situs.dtype import NUMERIC, WIDE_UNSIGNED
from situs.eager.tensor import EagerTensor
from situs.ops.define import CPU, GPU, op
from situs.shapes import UNKNOWN, TensorShape
from situs.tensor import Tensor

_sum_to = op("SumTo", "x: T, shape: host -> y: T", T=NUMERIC - WIDE_UNSIGNED)


@_sum_to.shape
def _sum_to_shape(x: TensorShape, shape: Any) -> TensorShape:
    return UNKNOWN if shape is None else TensorShape(shape)


@_sum_to.kernel(CPU, GPU)
def _sum_to_kernel(x: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    return x.sum_to_size(shape) if x.ndim else x


def sum_to(x: Tensor, shape: Any) -> Tensor:
    """Sums a tensor over the dimensions along which something of this shape was broadcast to it.

    Args:
        x: A tensor.
        shape: A tuple of sizes, or a tensor with them.
    """
    if type(x) is EagerTensor:
        return x if x._value.shape == shape else _sum_to(x, shape)
    if isinstance(shape, tuple) and x.shape.is_fully_defined() and tuple(x.shape.as_list()) == shape:
        return x
    return _sum_to(x, shape)
