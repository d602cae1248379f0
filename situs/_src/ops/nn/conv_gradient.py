"""The gradient of a convolution with respect to its filter.

That with respect to its input is the transposed convolution, in `ops.nn.conv_transpose`. The three are one
family: each is the gradient of the others.

    Conv2D(input, filter)                     the result
    Conv2DBackpropInput(filter, grad)         of the input's shape
    Conv2DBackpropFilter(input, grad)         of the filter's shape
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import SizesOf
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import PRODUCT
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.nn.conv import CONVOLUTION, OF_FILTER, TRANSPOSED, check_filter_rank, padded
from situs._src.ops.nn.window import Slide, channels_first, defaults, multiplications, passing_on, slide

_FILTER_FROM_TORCH = {1: (2, 1, 0), 2: (2, 3, 1, 0), 3: (2, 3, 4, 1, 0)}
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def _declare(name: str, n: int) -> Op:
    """Declares the gradient for the filter of a convolution over `n` spatial dimensions."""
    signature = "input: T, filter_sizes: host, out_backprop: T -> output: T"
    declared = op(name, signature, traits={PRODUCT}, T=FLOATING, **defaults(n))
    declared.shape(partial(_filter_shape, n))
    declared.kernel(CPU, GPU)(partial(_filter_kernel, n))
    declared.work(multiplications)
    declared.gradient(passing_on(partial(_filter_gradient, n)))
    return declared


def _filter_shape(
    n: int, input: TensorShape, filter_sizes: Any, out_backprop: TensorShape, **window: Any
) -> TensorShape:
    wanted = TensorShape([None] * (n + 2) if filter_sizes is None else filter_sizes)
    check_filter_rank(wanted, n)
    for shape in (input, out_backprop):
        if shape.rank not in (None, n + 2):
            raise ArgumentError(f"The input and out_backprop must be {n + 2}-dimensional, got {shape}")
    return wanted


def _filter_kernel(
    n: int,
    input: torch.Tensor,
    filter_sizes: tuple[int, ...],
    out_backprop: torch.Tensor,
    *,
    data_format: str,
    **window: Any,
) -> torch.Tensor:
    *windows, depth, results = filter_sizes
    x, y = (channels_first(each, n, data_format) for each in (input, out_backprop))
    laid = slide(tuple(x.shape[-n:]), tuple(windows), data_format, **window).lifted()
    if 0 in x.shape or 0 in y.shape or 0 in filter_sizes:
        return input.new_zeros(filter_sizes)
    if tuple(y.shape[2:]) != laid.counts:
        raise ArgumentError(f"out_backprop has sizes {tuple(y.shape[2:])}, the convolution gives {laid.counts}")
    x, laid = padded(x, laid)
    made = filter_gradient(x, y, (results, depth, *(windows if n > 1 else (1, *windows))), laid)
    return (made.squeeze(2) if n == 1 else made).permute(_FILTER_FROM_TORCH[n]).contiguous()


def filter_gradient(x: torch.Tensor, y: torch.Tensor, sizes: tuple[int, ...], laid: Slide) -> torch.Tensor:
    """The gradient of a filter, in PyTorch's layout.

    Args:
        x: What was convolved, channels first.
        y: The gradient of the result, channels first.
        sizes: The sizes of the filter: output channels, input channels of a group, windows.
        laid: How the windows lie, with the same padding on both sides.
    """
    # Only the sizes of the filter are looked at; how it lies in memory tells PyTorch how `x` and `y` do.
    last = not x.is_contiguous()
    filter = torch.empty(
        sizes,
        dtype=x.dtype,
        device=x.device,
        memory_format=_CHANNELS_LAST[x.ndim] if last else torch.contiguous_format,
    )
    groups, none = x.shape[1] // sizes[1], [0] * len(laid.strides)
    made: torch.Tensor = torch.ops.aten.convolution_backward.default(
        y, x, filter, None, laid.strides, laid.before, laid.dilations, False, none, groups, [False, True, False]
    )[1]
    return made


def _filter_gradient(
    n: int, grad: Tensor, input: Tensor, out_backprop: Tensor, input_shape: SizesOf, **window: Any
) -> tuple[Any, Any]:
    return (
        lambda: find_op(TRANSPOSED[n])(input_shape, grad, out_backprop, **window),
        lambda: find_op(CONVOLUTION[n])(input, grad, **window),
    )


for _n, _name in OF_FILTER.items():
    _declare(_name, _n)
