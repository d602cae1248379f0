"""Gradients of pooling.

That of a maximum goes to the place where it was found; that of a mean is spread over the window. Back through the
first gradient, elements are picked from those places again.

    MaxPool(input)                              -> output, places
    MaxPoolGrad(sizes, maxima, grad, places)    -> zeros, with `grad` added at the places
    MaxPoolGradGrad(x, places)                  -> the elements of `x` at the places

The maxima themselves make no difference to it. They are an input because a second derivative is zeros, not nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import torch
from torch.nn import functional

from situs._src.base.dtype import FLOATING, INDEX
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import SizesOf
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.nn.pool_window import AVG_POOL, MAX_POOL, Ints, fit_to, lay, lifted
from situs._src.ops.nn.window import Slide, as_given, channels_first, defaults, passing_on

_aten = torch.ops.aten


def _input_shape(input_sizes: Any, *rest: Any, **attrs: Any) -> TensorShape:
    return UNKNOWN if input_sizes is None else TensorShape(input_sizes)


def _memory_for(input_sizes: tuple[int, ...], grad: torch.Tensor, n: int, data_format: str) -> torch.Tensor:
    """Memory for the gradient of the input, as PyTorch sees it."""
    return channels_first(grad.new_empty(tuple(input_sizes)), n, data_format)


def _as_laid_out(x: torch.Tensor, n: int, data_format: str) -> torch.Tensor:
    """PyTorch's view of a gradient, which may have been broadcast, in the layout of the input."""
    return channels_first(x.contiguous(), n, data_format)


# Maxima.


def _max_grad_kernel(
    n: int,
    input_sizes: tuple[int, ...],
    maxima: torch.Tensor,
    grad: torch.Tensor,
    places: torch.Tensor,
    *,
    ksize: Ints,
    data_format: str,
    **window: Any,
) -> torch.Tensor:
    if 0 in input_sizes or not grad.numel():
        return grad.new_zeros(tuple(input_sizes))
    made = _memory_for(input_sizes, grad, n, data_format)
    y, found = _as_laid_out(grad, n, data_format), _as_laid_out(places, n, data_format)
    windows, laid = lifted(*lay(tuple(made.shape[-n:]), ksize, data_format, **window))
    fit = fit_to(tuple(made.shape[2:]), windows, laid)
    if fit is None or not fit.exact:
        made.zero_().flatten(2).scatter_add_(2, found.flatten(2), y.flatten(2))
        return as_given(made, n, data_format)
    back = (_aten.max_pool3d_with_indices_backward if n == 3 else _aten.max_pool2d_with_indices_backward).grad_input
    # Of the input only the sizes are looked at: the memory of the result stands for it.
    back(y, made, windows, laid.strides, fit.margins, laid.dilations, fit.beyond, found, grad_input=made)
    return as_given(made, n, data_format)


def _pick_kernel(n: int, input: torch.Tensor, places: torch.Tensor, *, data_format: str, **window: Any) -> torch.Tensor:
    x, found = (_as_laid_out(each, n, data_format) for each in (input, places))
    picked = x.flatten(2).gather(2, found.flatten(2))
    return as_given(picked.reshape(found.shape), n, data_format)


def _pick_shape(input: TensorShape, places: TensorShape, **window: Any) -> TensorShape:
    return places


def _max_grad_gradient(name: str, grad: Tensor, maxima: Tensor, places: Tensor, **window: Any) -> tuple[Any, Any, None]:
    return lambda: zeros_like(maxima), lambda: find_op(f"{name}GradGrad")(grad, places, **window), None


def _pick_gradient(
    name: str, grad: Tensor, input_shape: SizesOf, places: Tensor, output: Tensor, **window: Any
) -> tuple[Any, None]:
    return lambda: find_op(f"{name}Grad")(input_shape, output, grad, places, **window), None


def _declare_max(name: str, n: int) -> None:
    """Declares the gradient of max pooling over `n` spatial dimensions, and the gradient of that."""
    window = {"T": FLOATING, "ksize": (1,) * (n + 2), **defaults(n)}
    signature = "input_sizes: host, maxima: T, grad: T, places: int64 -> output: T"
    back = op(f"{name}Grad", signature, traits={FRESH}, **window)
    back.shape(_input_shape)
    back.kernel(CPU, GPU)(partial(_max_grad_kernel, n))
    back.gradient(passing_on(partial(_max_grad_gradient, name), "ksize"))
    pick = op(f"{name}GradGrad", "input: T, places: int64 -> output: T", **window)
    pick.shape(_pick_shape)
    pick.kernel(CPU, GPU)(partial(_pick_kernel, n))
    pick.gradient(passing_on(partial(_pick_gradient, name), "ksize"))


for _n, _name in MAX_POOL.items():
    _declare_max(_name, _n)

# Means.


def _avg_grad_kernel(
    n: int, input_sizes: tuple[int, ...], grad: torch.Tensor, *, ksize: Ints, data_format: str, **window: Any
) -> torch.Tensor:
    if 0 in input_sizes or not grad.numel():
        return grad.new_zeros(tuple(input_sizes))
    made = _memory_for(input_sizes, grad, n, data_format)
    y = _as_laid_out(grad, n, data_format)
    windows, laid = lifted(*lay(tuple(made.shape[-n:]), ksize, data_format, **window))
    if n == 3 or max(laid.dilations) > 1:
        return as_given(_spread(y, made.zero_(), windows, laid), n, data_format)
    fit = fit_to(tuple(made.shape[2:]), windows, laid)
    if fit is None or not fit.exact or any(fit.margins):
        return as_given(_spread_at_once(y, made, windows, laid), n, data_format)
    back = _aten.avg_pool2d_backward.grad_input
    back(y, made, windows, laid.strides, fit.margins, fit.beyond, False, None, grad_input=made)
    return as_given(made, n, data_format)


def _spread_at_once(y: torch.Tensor, x: torch.Tensor, windows: Ints, laid: Slide) -> torch.Tensor:
    """The same with the padding made part of the tensor.

    PyTorch lacks padding on one side, and up to 2.12 gets any padding wrong if channels are last, on a GPU
    (its issue 188344).
    """
    shares, padded = y / _counts(x, windows, laid), functional.pad(x, laid.amounts())
    back = _aten.avg_pool2d_backward.grad_input
    back(shares, padded, windows, laid.strides, (0, 0), False, False, 1, grad_input=padded)
    return _inner(padded, x, laid)


def _spread(y: torch.Tensor, x: torch.Tensor, windows: Ints, laid: Slide) -> torch.Tensor:
    """The same one element of the windows after the other: for volumes, and for windows with gaps."""
    shares, padded = y / _counts(x, windows, laid), functional.pad(x, laid.amounts())
    steps = list(zip(laid.counts, laid.strides, laid.dilations, strict=True))
    for offsets in product(*map(range, windows)):
        each = [_every(offset, *step) for offset, step in zip(offsets, steps, strict=True)]
        padded[(slice(None), slice(None), *each)] += shares
    return _inner(padded, x, laid)


def _inner(padded: torch.Tensor, x: torch.Tensor, laid: Slide) -> torch.Tensor:
    """What of a padded tensor is the tensor itself."""
    for dim, (before, size) in enumerate(zip(laid.before, x.shape[2:], strict=True), start=2):
        padded = padded.narrow(dim, before, size)
    return padded


def _every(offset: int, count: Any, stride: int, dilation: int) -> slice:
    """The places of one element of every window along a dimension."""
    first = offset * dilation
    return slice(first, first + (count - 1) * stride + 1, stride)


def _counts(x: torch.Tensor, windows: Ints, laid: Slide) -> torch.Tensor:
    """How many elements of the input there are in each window, made on its device."""
    total = x.new_ones(())
    for dim, window in enumerate(windows):
        inside = functional.pad(x.new_ones(x.shape[2 + dim]), (laid.before[dim], laid.after[dim]))
        step = laid.counts[dim], laid.strides[dim], laid.dilations[dim]
        found = torch.stack([inside[_every(offset, *step)] for offset in range(window)]).sum(0)
        total = total * found.reshape([-1] + [1] * (len(windows) - dim - 1))
    return total


def _avg_grad_gradient(name: str, grad: Tensor, **window: Any) -> Tensor:
    return find_op(name)(grad, **window)


def _declare_avg(name: str, n: int) -> None:
    """Declares the gradient of average pooling over `n` spatial dimensions."""
    window = {"T": FLOATING, "ksize": (1,) * (n + 2), **defaults(n)}
    back = op(f"{name}Grad", "orig_input_shape: host, grad: T -> output: T", traits={FRESH}, **window)
    back.shape(_input_shape)
    back.kernel(CPU, GPU)(partial(_avg_grad_kernel, n))
    back.gradient(passing_on(partial(_avg_grad_gradient, name), "ksize"))


for _n, _name in AVG_POOL.items():
    _declare_avg(_name, _n)

# Maxima whose places the program has asked for: these count through the channels, and perhaps the batch.

_argmax_grad = op(
    "MaxPoolGradWithArgmax",
    "input_sizes: host, grad: T, argmax: Targmax -> output: T",
    T=FLOATING,
    Targmax=INDEX,
    include_batch_in_index=False,
)
_argmax_grad.shape(_input_shape)
_argmax_pick = op(
    "MaxPoolGradGradWithArgmax",
    "input: T, argmax: Targmax -> output: T",
    T=FLOATING,
    Targmax=INDEX,
    include_batch_in_index=False,
)
_argmax_pick.shape(_pick_shape)


@_argmax_grad.kernel(CPU, GPU)
def _argmax_grad_kernel(
    input_sizes: tuple[int, ...], grad: torch.Tensor, argmax: torch.Tensor, *, include_batch_in_index: bool
) -> torch.Tensor:
    made = grad.new_zeros(tuple(input_sizes))
    if made.numel():
        rows = 1 if include_batch_in_index else made.shape[0]
        made.view(rows, -1).scatter_add_(1, argmax.long().reshape(rows, -1), grad.reshape(rows, -1))
    return made


@_argmax_pick.kernel(CPU, GPU)
def _argmax_pick_kernel(input: torch.Tensor, argmax: torch.Tensor, *, include_batch_in_index: bool) -> torch.Tensor:
    if not input.numel():
        return input.new_empty(argmax.shape)
    rows = 1 if include_batch_in_index else input.shape[0]
    return input.reshape(rows, -1).gather(1, argmax.long().reshape(rows, -1)).view(argmax.shape)


@_argmax_grad.gradient
def _argmax_grad_gradient(grad: Tensor, argmax: Tensor, *, include_batch_in_index: bool) -> tuple[Any, None]:
    return lambda: _argmax_pick(grad, argmax, include_batch_in_index=include_batch_in_index), None


@_argmax_pick.gradient
def _argmax_pick_gradient(
    grad: Tensor, input_shape: SizesOf, argmax: Tensor, *, include_batch_in_index: bool
) -> tuple[Any, None]:
    batched = include_batch_in_index
    return lambda: _argmax_grad(input_shape, grad, argmax, include_batch_in_index=batched), None
