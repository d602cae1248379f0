"""The regularized incomplete beta function, by its continued fraction in double precision."""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import float32, float64
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, SizesOf
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.math import exp, lgamma, log1p, xlogy
from situs._src.ops.sum_to import sum_to

_TERMS = 20000
_TINY = 1e-300
_betainc = op("Betainc", "a: T, b: T, x: T -> z: T", T=frozenset({float32, float64}))


@_betainc.shape
def _betainc_shape(a: TensorShape, b: TensorShape, x: TensorShape) -> TensorShape:
    return broadcast(broadcast(a, b), x)


@_betainc.kernel(CPU, GPU)
def _betainc_kernel(a: torch.Tensor, b: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    p, q, at = torch.broadcast_tensors(a.double(), b.double(), x.double())  # type: ignore[no-untyped-call]
    valid = (p > 0) & (q > 0) & (at > 0) & (at < 1)
    p, q, at = torch.where(valid, p, 1.0), torch.where(valid, q, 1.0), torch.where(valid, at, 0.5)
    far = at > (p + 1) / (p + q + 2)  # where that of the other end converges quickly
    p, q, at = torch.where(far, q, p), torch.where(far, p, q), torch.where(far, 1 - at, at)
    beta = torch.lgamma(p) + torch.lgamma(q) - torch.lgamma(p + q)
    part = torch.exp(p * at.log() + q * torch.log1p(-at) - beta) / p * _fraction(p, q, at)
    made = torch.where(far, 1 - part, part)
    ends = torch.where((a > 0) & (b > 0) & ((x == 0) | (x == 1)), x.double(), torch.nan)
    return torch.where(valid, made, ends).to(a.dtype)


def _fraction(p: torch.Tensor, q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Lentz's method: numerators and denominators of the convergents as ratios, none of which becomes 0."""

    def away(value: torch.Tensor) -> torch.Tensor:
        return torch.where(value.abs() < _TINY, _TINY, value)

    above = torch.ones_like(x)
    below = 1 / away(1 - (p + q) * x / (p + 1))
    total = below
    for m in range(1, _TERMS):
        even = m * (q - m) * x / ((p + 2 * m - 1) * (p + 2 * m))
        below, above = 1 / away(1 + even * below), away(1 + even / above)
        total = total * below * above
        odd = -(p + m) * (p + q + m) * x / ((p + 2 * m) * (p + 2 * m + 1))
        below, above = 1 / away(1 + odd * below), away(1 + odd / above)
        step = below * above
        total = total * step
        if m % 8 == 0 and bool(((step - 1).abs() < 1e-15).all()):
            break
    return total


@_betainc.gradient
def _betainc_gradient(grad: Tensor, a: Tensor, b: Tensor, x: Tensor, x_shape: SizesOf) -> tuple[Any, Any, Any]:
    def of_x() -> Tensor:
        beta = lgamma(a) + lgamma(b) - lgamma(a + b)
        return sum_to(grad * exp((b - 1.0) * log1p(-x) + xlogy(a - 1.0, x) - beta), x_shape)

    return None, None, of_x


@export("math.betainc", v1=("betainc", "math.betainc"))
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike, name: str | None = None) -> Tensor:
    """The regularized incomplete beta function: the integral of ``t^(a-1) (1-t)^(b-1)`` to x, as a part of that to 1.

    Args:
        a: The first parameter, above 0.
        b: The second one.
        x: Where the integral ends, from 0 to 1. Only with respect to this there is a gradient.
        name: A name for the op.
    """
    return _betainc(a, b, x, name=name)
