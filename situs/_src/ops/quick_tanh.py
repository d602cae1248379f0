"""The hyperbolic tangent of many float32 on a host where PyTorch's is slow.

PyTorch asks MKL, or Sleef, for a result that is rounded correctly, which on AMD's CPUs takes five times as long as
TensorFlow's. Here it takes a few passes of plain arithmetic over the tensor. With ``C(x) = x / tanh(x)``

    C(x)   = 1 + x^2 / (3 + x^2 / 5 ...)        quickly, for small x
    C(2 x) = C(x) + x^2 / C(x)                  twice as large, in one pass

so ``C(x / 4)``, cut short, is doubled twice. Doubling makes errors smaller the larger x is, so what was cut off is made
up for by the constants, which were fitted to the whole range. The result is within 4 units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.devices.physical import processor_facts
from situs._src.base.tensor import Tensor

IS_NEEDED = processor_facts().get("vendor_id") == "AuthenticAMD"
MANY = 2**14  # elements, from which on it is quicker
_AT_ONCE = 2**16  # elements for each thread, so that what lies between stays in the cache

_ONE = torch.tensor(1.0)
_THREE = torch.tensor(48.318080826574686)  # 3 of the fraction, for x / 4; the other constants belong to it
_A_FIFTH, _TO_A_HALF, _TO_ALL = 0.2153464660152445, 0.06263713134044348, 0.24999970734782553
_LARGE = 49.0  # the square up to which the result is surely less than 1
_LARGEST = 81.5  # the square from which on the result is 1


def kernel(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent, by whichever way is quicker."""
    return torch.tanh(x) if x.numel() < MANY else quick_tanh(x)


kernel.when_compiled = torch.tanh  # type: ignore[attr-defined]


def in_place() -> Callable[[torch.Tensor], torch.Tensor]:
    """The kernel, with the result written over its input."""
    return overwriting(torch.tanh, _tanh)


def lower(x: Tensor) -> Any:
    """In a graph: PyTorch's own function, which can run together with others, unless there surely are many elements."""
    size = x.shape.num_elements()
    return torch.tanh if size is None or size < MANY else None


def quick_tanh(x: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent of each element of a float32 tensor of the host's."""
    return in_parts(_tanh, x)


def in_parts(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """What a function of parts of `x` writes into parts of the result, which it returns; part by part if x is large."""
    at_once = _AT_ONCE * torch.get_num_threads()
    if x.numel() <= at_once:
        return function(x, torch.empty_like(x))
    made = torch.empty(x.shape, dtype=x.dtype)
    flat, results = x.reshape(-1), made.view(-1)
    for start in range(0, len(flat), at_once):
        function(flat[start : start + at_once], results[start : start + at_once])
    return made


def overwriting(
    of_torch: Callable[..., torch.Tensor], function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> Callable[[torch.Tensor], torch.Tensor]:
    """What a function of parts makes of `x`, written over `x`; by PyTorch's function if x is small."""

    def compute(x: torch.Tensor) -> torch.Tensor:
        if x.numel() < MANY:
            return of_torch(x, out=x)
        if not x.is_contiguous():
            return x.copy_(in_parts(function, x))
        flat, at_once = x.view(-1), _AT_ONCE * torch.get_num_threads()
        for start in range(0, len(flat), at_once):
            part = flat[start : start + at_once]
            part.copy_(function(part, torch.empty_like(part)))
        return x

    compute.when_compiled = of_torch  # type: ignore[attr-defined]
    return compute


def _tanh(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    squares = torch.mul(x, x)
    has_large = not squares.amax().item() <= _LARGE  # or a NaN
    if has_large:
        squares.clamp_(max=_LARGEST)
    torch.add(_THREE, squares, alpha=_A_FIFTH, out=result)
    torch.addcdiv(_ONE, squares, result, out=result)
    torch.addcdiv(result, squares, result, value=_TO_A_HALF, out=result)
    torch.addcdiv(result, squares, result, value=_TO_ALL, out=result)
    torch.div(x, result, out=result)
    return result.clamp_(-1.0, 1.0) if has_large else result
