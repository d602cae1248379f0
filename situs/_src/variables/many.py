"""Arithmetic on lists of tensors, in place, for the kernels of optimizers.

    blend(into, values, 0.1, step)       into += (values - into) 0.1, for every tensor of the lists

A number is a Python number, or a tensor on a GPU, which is not read. ``step`` is a list of scratch tensors, whose
contents are undefined afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from situs._src.runtime.eager.shown import is_shown
from situs._src.runtime.eager.torch_private import (
    foreach_add_,
    foreach_addcdiv_,
    foreach_addcmul_,
    foreach_copy_,
    foreach_lerp_,
    foreach_mul_,
    foreach_reciprocal_,
    foreach_sqrt_,
    foreach_sub_,
    fused_adam_,
    fused_adamw_,
    fused_sgd_,
)

Tensors = list[torch.Tensor]
Number = Any  # a Python number, or a tensor on a GPU

LARGE = 2**13  # elements: from here on, going through memory takes longer than calling a function
NEVER = 1e9  # steps: after so many, PyTorch corrects no bias any more. TensorFlow's correction is in the learning rate


def is_number(*values: Number) -> bool:
    """Whether all of these are known on the host."""
    return not any(isinstance(value, torch.Tensor) for value in values)


def times(values: Tensors, by: Number) -> None:
    """``values *= by``."""
    foreach_mul_(values, _as_tensor(values, by))


def plus(values: Tensors, by: Number) -> None:
    """``values += by``."""
    number = _as_tensor(values, by)
    foreach_add_(values, [number] * len(values) if number is not by else by)


def _as_tensor(values: Tensors, number: Number) -> Number:
    """A number as a tensor, where PyTorch would make one of it for every tensor of a list: that takes 1.2 us each."""
    exact = values[0].dtype in (torch.float32, torch.float64)  # others compute in more digits than they have
    if not exact or values[0].is_cuda or not is_number(number) or is_shown():
        return number
    return torch.tensor(number, dtype=values[0].dtype)


def divide_by_root(
    var: Tensors,
    along: Tensors,
    square: Tensors,
    step: Tensors,
    lr: Number,
    inside: Number = 0.0,
    outside: Number = 0.0,
) -> None:
    """``var -= lr along / (sqrt(square + inside) + outside)``; `step` may be `square` itself."""
    shift(step, square, inside)
    foreach_sqrt_(step)
    if not is_number(outside) or outside:
        plus(step, outside)
    if is_number(lr):
        foreach_addcdiv_(var, along, step, -lr)
    else:
        foreach_reciprocal_(step)
        foreach_mul_(step, along)
        times(step, lr)
        foreach_sub_(var, step)


def blend(into: Tensors, values: Tensors, weight: Number, step: Tensors) -> None:
    """``into += (values - into) weight``."""
    if is_number(weight):
        foreach_lerp_(into, values, weight)
    else:
        foreach_copy_(step, values)
        foreach_sub_(step, into)
        times(step, weight)
        foreach_add_(into, step)


def blend_squares(into: Tensors, values: Tensors, weight: Number, step: Tensors) -> None:
    """``into += (values^2 - into) weight``."""
    if is_number(weight):
        times(into, 1 - weight)
        foreach_addcmul_(into, values, values, weight)
    else:
        foreach_copy_(step, values)
        foreach_mul_(step, values)
        foreach_sub_(step, into)
        times(step, weight)
        foreach_add_(into, step)


def shift(step: Tensors, values: Tensors, by: Number) -> None:
    """``step = values + by``; `step` may be `values` itself."""
    if step is not values and is_number(by) and not values[0].is_cuda and _are_large(values):
        for target, value in zip(step, values, strict=True):  # in one go through memory
            torch.add(value, by, out=target)
        return
    if step is not values:
        foreach_copy_(step, values)
    if not is_number(by) or by:
        plus(step, by)


def _are_large(values: Tensors) -> bool:
    return sum(map(torch.Tensor.numel, values)) >= LARGE * len(values)


def subtract_scaled(into: Tensors, values: Tensors, factor: Number, step: Tensors) -> None:
    """``into -= factor values``; `step` may be `values` itself."""
    if is_number(factor):
        foreach_add_(into, values, alpha=-factor)
    else:
        if step is not values:
            foreach_copy_(step, values)
        times(step, factor)
        foreach_sub_(into, step)


def number_of(value: Number) -> Number:
    """A scalar tensor of the host as a number; one on a GPU as it is."""
    return value.item() if isinstance(value, torch.Tensor) and value.device.type == "cpu" else value


# PyTorch's fused kernels.


def may_fuse(rate: Number, *lists: Tensors) -> bool:
    """Whether PyTorch's fused kernels do what is wanted.

    They go through memory as it lies, without looking, and read a learning rate on a GPU as float32.
    """
    if not is_number(rate) and rate.dtype is not torch.float32:
        return False
    if is_shown():
        return False  # a compiler fuses the plain way with what makes the gradients
    every = chain.from_iterable(lists)
    return lists[0][0].is_floating_point() and all(map(torch.Tensor.is_contiguous, every))


def fused_sgd(
    var: Tensors,
    grad: Tensors,
    accum: Tensors,
    *,
    lr: Number,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
) -> None:
    """``accum = momentum accum + (1 - dampening) grad; var -= lr accum``; without momentum if `accum` is empty."""
    fused_sgd_(
        var,
        grad,
        accum,
        weight_decay=0.0,
        momentum=momentum,
        lr=lr,
        dampening=dampening,
        nesterov=nesterov,
        maximize=False,
        is_first_step=False,
    )


def fused_adam(
    states: Sequence[Tensors], grad: Tensors, alpha: Number, beta1: float, beta2: float, epsilon: float, decay: float
) -> None:
    """A step of Adam with the learning rate `alpha`, in which biases are corrected already."""
    var, m, v, *largest = states
    function = fused_adamw_ if decay else fused_adam_
    function(
        var,
        grad,
        m,
        v,
        largest[0] if largest else [],
        [_never(var[0].device)] * len(var),
        lr=alpha,
        beta1=beta1,
        beta2=beta2,
        weight_decay=decay,
        eps=epsilon,
        amsgrad=bool(largest),
        maximize=False,
    )


_steps: dict[torch.device, torch.Tensor] = {}


def _never(device: torch.device) -> torch.Tensor:
    found = _steps.get(device)
    if found is None:
        found = _steps.setdefault(device, torch.full((), NEVER, dtype=torch.float32, device=device))
    return found
