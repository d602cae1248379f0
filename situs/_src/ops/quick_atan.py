"""The inverse tangent of many float32 on a host where PyTorch's is slow.

PyTorch asks MKL, or Sleef, for a result that is rounded correctly, which on AMD's CPUs takes three times as long as
TensorFlow's. Here it takes a few passes of plain arithmetic, for elements from -1 to 1:

    atan(x) = x / (1 + a x^2 / (1 + b x^2 / (1 + ...)))

With five constants, fitted to that range, the fraction is right to 3e-8, and the result is within 2 units in the last
place. A part of the tensor that has larger elements is left to PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.tensor import Tensor
from situs._src.ops.quick_tanh import MANY, in_parts, overwriting

_ONE = torch.tensor(1.0)
_INNERMOST, *_OUTER = 0.14698533, 0.23208944, 0.25506223, 0.26657962, 0.33333188


def kernel(x: torch.Tensor) -> torch.Tensor:
    """The inverse tangent, by whichever way is quicker."""
    return torch.atan(x) if x.numel() < MANY else quick_atan(x)


kernel.when_compiled = torch.atan  # type: ignore[attr-defined]


def in_place() -> Callable[[torch.Tensor], torch.Tensor]:
    """The kernel, with the result written over its input."""
    return overwriting(torch.atan, _atan)


def lower(x: Tensor) -> Any:
    """In a graph: PyTorch's own function, which can run together with others, unless there surely are many elements."""
    size = x.shape.num_elements()
    return torch.atan if size is None or size < MANY else None


def quick_atan(x: torch.Tensor) -> torch.Tensor:
    """The inverse tangent of each element of a float32 tensor of the host's."""
    return in_parts(_atan, x)


def _atan(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    squares = torch.mul(x, x)
    if not squares.amax().item() <= 1.0:  # or a NaN
        return torch.atan(x, out=result)
    torch.add(_ONE, squares, alpha=_INNERMOST, out=result)
    for constant in _OUTER:
        torch.addcdiv(_ONE, squares, result, value=constant, out=result)
    return torch.div(x, result, out=result)
