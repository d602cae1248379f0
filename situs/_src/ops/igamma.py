"""The derivative of the lower incomplete gamma function P(a, x) with respect to a.

There is no closed form. Two expansions are differentiated term by term, each where it converges quickly:

    x <= max(1, a)     P = x^a e^-x / gamma(a + 1) * sum of x^n / ((a + 1) ... (a + n))
    beyond             1 - P as a continued fraction, of which numerators and denominators follow a recurrence

Everything is computed in double precision, in which terms are added until they change nothing any more.
"""

from __future__ import annotations

import torch

from situs._src.base.dtype import float32, float64
from situs._src.base.shapes import broadcast
from situs._src.base.tensor import Tensor
from situs._src.ops.define import CPU, GPU, op

_TERMS = 4096
_BETWEEN_LOOKS = 16  # terms: a look at a GPU waits for it
_BIG = 2.0**52
_igamma_grad_a = op("IgammaGradA", "a: T, x: T -> z: T", T=frozenset({float32, float64}))
_igamma_grad_a.shape(broadcast)


def igamma_grad_a(a: Tensor, x: Tensor) -> Tensor:
    """Returns the derivative of P(a, x) with respect to a; NaN where P is."""
    return _igamma_grad_a(a, x)


@_igamma_grad_a.kernel(CPU, GPU)
def _igamma_grad_a_kernel(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    order, bound = torch.broadcast_tensors(a.double(), x.double())  # type: ignore[no-untyped-call]
    valid, far = (order > 0) & (bound > 0), (bound > 1) & (bound > order)
    near = valid & ~far
    series = _by_series(torch.where(near, order, 1.0), torch.where(near, bound, 1.0))
    far = valid & far
    fraction = _by_fraction(torch.where(far, order, 1.0), torch.where(far, bound, 2.0))
    outside = torch.where(bound == 0, 0.0, torch.nan)
    return torch.where(near, series, torch.where(far, -fraction, outside)).to(a.dtype)


def _by_series(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The derivative of P by its series: of each term, and of all before it."""
    term, slope = torch.ones_like(a), torch.zeros_like(a)
    total, slopes = term, slope
    for n in range(1, _TERMS):
        term = term * x / (a + n)
        slope = slope * x / (a + n) - term / (a + n)
        total, slopes = total + term, slopes + slope
        if n % _BETWEEN_LOOKS == 0 and bool((slope.abs() <= 1e-17 * slopes.abs()).all()):
            break
    scale = torch.exp(a * x.log() - x - torch.lgamma(a + 1))
    return scale * (total * (x.log() - torch.digamma(a + 1)) + slopes)


def _by_fraction(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The derivative of 1 - P by its continued fraction: of each convergent (numerator, denominator)."""
    y, z = 1 - a, x - a + 2
    before, last = torch.stack([torch.ones_like(x), x]), torch.stack([x + 1, z * x])
    slopes_before, slopes = torch.zeros_like(before), torch.stack([torch.zeros_like(x), -x])
    ratio, slope = last[0] / last[1], torch.zeros_like(x)
    for n in range(1, _TERMS):
        y, z = y + 1, z + 2
        slopes_before, slopes = slopes, slopes * z - last - slopes_before * y * n + before * n
        before, last = last, last * z - before * y * n
        ratio, old = last[0] / last[1], slope
        slope = (slopes[0] - ratio * slopes[1]) / last[1]
        if n % _BETWEEN_LOOKS == 0 and bool(((slope - old).abs() <= 1e-16 * slope.abs()).all()):
            break
        shrink = torch.where(last[0].abs() > _BIG, 1 / _BIG, 1.0)
        before, last, slopes_before, slopes = (each * shrink for each in (before, last, slopes_before, slopes))
    scale = torch.exp(a * x.log() - x - torch.lgamma(a))
    return scale * (slope + ratio * (x.log() - torch.digamma(a)))
