"""Distributions that reject: gamma, Poisson, binomial; and categories, which search.

How many numbers an output takes is not known before it is made, so each output has blocks of its own: output i begins
256 blocks behind output i - 1. It takes a block of uniform numbers when it needs one, another of normal numbers when it
needs one of those, and the numbers of a block from its last to its first. All outputs are made side by side:

    open outputs   0 1 2 3 4 5 6 7     attempt 1
                     1       5   7     attempt 2, those that were rejected
                             5         attempt 3

Outputs are counted parameter by parameter, all samples of the first before those of the second. The arithmetic is
float64, as it is in TensorFlow; functions such as the logarithm may differ in their last bit, which changes a sample
only where it decides between accepting and rejecting.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from situs._src.base.streams import BLOCKS_PER_OUTPUT, Position
from situs._src.ops.philox.floats import normals, uniforms
from situs._src.ops.philox.words import words, words_at

_INVERSION_BLOCKS = 42  # between the outputs of a binomial with a small mean
_SMALL_MEAN = 10.0
_PER_BLOCK = 2  # numbers of float64


class _Numbers:
    """The uniform and the normal numbers of many outputs."""

    def __init__(self, begin: Position, begins: torch.Tensor) -> None:
        self._begin = begin
        self._next = begins.clone()
        self._uniform = _Buffer(begins, lambda blocks: uniforms(blocks, torch.float64))
        self._normal = _Buffer(begins, lambda blocks: normals(blocks, torch.float64))

    def uniform(self, rows: torch.Tensor) -> torch.Tensor:
        """The next uniform number of some outputs."""
        return self._taken(self._uniform, rows)

    def normal(self, rows: torch.Tensor) -> torch.Tensor:
        """The next normal number of some outputs."""
        return self._taken(self._normal, rows)

    def _taken(self, buffer: _Buffer, rows: torch.Tensor) -> torch.Tensor:
        empty = rows[buffer.left[rows] == 0]
        if empty.numel():
            buffer.fill(empty, words_at(self._begin, self._next[empty]))
            self._next[empty] += 1
        buffer.left[rows] -= 1
        return buffer.values[rows, buffer.left[rows]]


class _Buffer:
    """What is left of the last block of each output."""

    def __init__(self, begins: torch.Tensor, make: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._make = make
        self.left = torch.zeros_like(begins)
        self.values = torch.zeros(len(begins), _PER_BLOCK, dtype=torch.float64, device=begins.device)

    def fill(self, rows: torch.Tensor, blocks: torch.Tensor) -> None:
        """Takes a block for each of some outputs."""
        self.values[rows] = self._make(blocks)
        self.left[rows] = _PER_BLOCK


def _sampled(
    sizes: tuple[int, ...], shape: tuple[int, ...], sample: Callable[[torch.Tensor], torch.Tensor], device: torch.device
) -> torch.Tensor:
    """The outputs of a sampler of parameters, `sizes` for each: `sample` takes the number of the parameter of each."""
    samples, parameters = math.prod(sizes), math.prod(shape)
    of = torch.arange(parameters, device=device).repeat_interleave(samples)
    return sample(of).reshape(parameters, samples).t().reshape(sizes + shape)


def gamma(sizes: tuple[int, ...], alpha: torch.Tensor, begin: Position) -> torch.Tensor:
    """Samples of gamma distributions with rate 1, `sizes` for each concentration, in float64 (Marsaglia and Tsang)."""
    alphas = alpha.reshape(-1).to(torch.float64)

    def sample(of: torch.Tensor) -> torch.Tensor:
        concentration = alphas[of]
        numbers = _Numbers(begin, torch.arange(len(of), device=of.device) * BLOCKS_PER_OUTPUT)
        made = torch.full_like(concentration, math.nan)
        ones = (concentration == 1.0).nonzero().squeeze(1)
        made[ones] = -torch.log1p(-numbers.uniform(ones))
        is_small = concentration < 1.0
        shift = torch.where(is_small, concentration + 2.0 / 3.0, concentration - 1.0 / 3.0)
        spread = (1.0 / 3.0) / torch.sqrt(shift)
        rows = ((concentration != 1.0) & (concentration >= 0.0) & concentration.isfinite()).nonzero().squeeze(1)
        while rows.numel():
            x = numbers.normal(rows)
            v = 1.0 + spread[rows] * x
            tried = rows[v > 0.0]
            x, v = x[v > 0.0], v[v > 0.0] ** 3
            u = numbers.uniform(tried)
            d = shift[tried]
            accepted = u < 1.0 - 0.0331 * (x * x) * (x * x)
            accepted |= torch.log(u) < 0.5 * x * x + d * (1.0 - v + torch.log(v))
            chosen = tried[accepted]
            found = d[accepted] * v[accepted]
            small = is_small[chosen]
            power = numbers.uniform(chosen[small]) ** (1.0 / concentration[chosen[small]])
            found[small] *= power
            made[chosen] = found
            rows = rows[made[rows].isnan()]
        return made

    return _sampled(sizes, tuple(alpha.shape), sample, alpha.device)


def poisson(sizes: tuple[int, ...], rate: torch.Tensor, begin: Position) -> torch.Tensor:
    """Samples of Poisson distributions, `sizes` for each rate, in float64: Knuth's below 10, else Hoermann's."""
    rates = rate.reshape(-1).to(torch.float64)

    def sample(of: torch.Tensor) -> torch.Tensor:
        each = rates[of]
        numbers = _Numbers(begin, torch.arange(len(of), device=of.device) * BLOCKS_PER_OUTPUT)
        made = torch.full_like(each, math.nan)
        made[each == math.inf] = math.inf
        _count_events(each, made, numbers)
        _transform_poisson(each, made, numbers)
        return made

    return _sampled(sizes, tuple(rate.shape), sample, rate.device)


def _count_events(rate: torch.Tensor, made: torch.Tensor, numbers: _Numbers) -> None:
    """Small rates: how many uniform numbers can be multiplied before the product is below exp(-rate)."""
    rows = (rate < _SMALL_MEAN).nonzero().squeeze(1)
    product, count, least = torch.ones_like(rate), torch.zeros_like(rate), torch.exp(-rate)
    while rows.numel():
        product[rows] *= numbers.uniform(rows)
        is_done = product[rows] <= least[rows]
        made[rows[is_done]] = count[rows[is_done]]
        rows = rows[~is_done]
        count[rows] += 1.0


def _transform_poisson(rate: torch.Tensor, made: torch.Tensor, numbers: _Numbers) -> None:
    """Large rates: transformed rejection."""
    rows = ((rate >= _SMALL_MEAN) & rate.isfinite()).nonzero().squeeze(1)
    log_rate, b = torch.log(rate), 0.931 + 2.53 * torch.sqrt(rate)
    a, inverse_alpha = -0.059 + 0.02483 * b, 1.1239 + 1.1328 / (b - 3.4)
    while rows.numel():
        u, v = numbers.uniform(rows) - 0.5, numbers.uniform(rows)
        shifted = 0.5 - u.abs()
        wide, slope, mean = b[rows], a[rows], rate[rows]
        k = torch.floor((2.0 * slope / shifted + wide) * u + mean + 0.43)
        at_once = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (wide - 2.0))
        rejected = (k < 0.0) | ((shifted < 0.013) & (v > shifted))
        s = torch.log(v * inverse_alpha[rows] / (slope / (shifted * shifted) + wide))
        accepted = at_once | (~rejected & (s <= -mean + k * log_rate[rows] - torch.lgamma(k + 1.0)))
        made[rows[accepted]] = k[accepted]
        rows = rows[~accepted]


def binomial(sizes: tuple[int, ...], counts: torch.Tensor, probs: torch.Tensor, begin: Position) -> torch.Tensor:
    """Samples of binomial distributions, `sizes` for each pair of a count and a probability of the same shape.

    In float64: sums of geometric numbers where few successes are expected, else transformed rejection. The samples of
    a pair without a distribution are NaN.
    """
    count_of, prob_of = counts.reshape(-1), probs.reshape(-1)

    def sample(of: torch.Tensor) -> torch.Tensor:
        count, prob = count_of[of].to(torch.float64), prob_of[of]
        flips = prob > 0.5
        rare = torch.where(flips, 1 - prob, prob)
        is_small = count_of[of] * rare < _SMALL_MEAN  # in the dtype of the parameters, as TensorFlow compares
        rare = rare.to(torch.float64)
        strides = torch.where(is_small, _INVERSION_BLOCKS, BLOCKS_PER_OUTPUT)
        numbers = _Numbers(begin, torch.arange(len(of), device=of.device) * strides)
        made = torch.full_like(count, math.nan)
        good = (count > 0.0) & count.isfinite() & (rare > 0.0)
        _sum_geometric(count, rare, (good & is_small).nonzero().squeeze(1), made, numbers)
        _transform_binomial(count, rare, (good & ~is_small).nonzero().squeeze(1), made, numbers)
        made = torch.where(flips, count - made, made)
        made[(count == 0.0) | (prob == 0)] = 0.0
        return torch.where((prob == 1) & (count >= 0.0), count, made)

    return _sampled(sizes, tuple(counts.shape), sample, counts.device)


def _sum_geometric(
    count: torch.Tensor, prob: torch.Tensor, rows: torch.Tensor, made: torch.Tensor, numbers: _Numbers
) -> None:
    total, successes, scale = torch.zeros_like(count), torch.zeros_like(count), torch.log1p(-prob)
    while rows.numel():
        total[rows] += torch.ceil(torch.log(numbers.uniform(rows)) / scale[rows])
        is_done = total[rows] > count[rows]
        made[rows[is_done]] = successes[rows[is_done]]
        rows = rows[~is_done]
        successes[rows] += 1.0


def _transform_binomial(
    count: torch.Tensor, prob: torch.Tensor, rows: torch.Tensor, made: torch.Tensor, numbers: _Numbers
) -> None:
    deviation = torch.sqrt(count * prob * (1.0 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    centre, ratio, alpha = count * prob + 0.5, prob / (1.0 - prob), (2.83 + 5.1 / b) * deviation
    mode = torch.floor((count + 1.0) * prob)
    while rows.numel():
        u, v = numbers.uniform(rows), numbers.uniform(rows)
        u = u - 0.5
        n, m, r, wide, slope = count[rows], mode[rows], ratio[rows], b[rows], a[rows]
        us = 0.5 - u.abs()
        k = torch.floor((2.0 * slope / us + wide) * u + centre[rows])
        at_once = (us >= 0.07) & (v <= 0.92 - 4.2 / wide)
        possible = (k >= 0.0) & (k <= n)
        bound = (
            (m + 0.5) * torch.log((m + 1.0) / (r * (n - m + 1.0)))
            + (n + 1.0) * torch.log((n - m + 1.0) / (n - k + 1.0))
            + (k + 0.5) * torch.log(r * (n - k + 1.0) / (k + 1.0))
            + _stirling_rest(m)
            + _stirling_rest(n - m)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )
        reached = torch.log(v * alpha[rows] / (slope / (us * us) + wide)) <= bound
        accepted = at_once | (possible & reached)
        made[rows[accepted]] = k[accepted]
        rows = rows[~accepted]


_STIRLING_RESTS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_rest(k: torch.Tensor) -> torch.Tensor:
    """What Stirling's formula leaves out of log k!."""
    table = torch.tensor(_STIRLING_RESTS, dtype=torch.float64, device=k.device)
    square = (k + 1.0) * (k + 1.0)
    large = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
    return torch.where(k <= 9.0, table[k.nan_to_num(0.0).clamp(0.0, 9.0).to(torch.int64)], large)


def categories(logits: torch.Tensor, count: int, begin: Position) -> torch.Tensor:
    """For each row of `logits`, `count` classes with probabilities softmax(row), in int64.

    Each takes two words, row by row. Classes whose logits are not finite are never drawn. Of a row without finite
    logits the class is the number of classes, which is not one of them.
    """
    rows = len(logits)
    known = logits.to(torch.float64).masked_fill(~torch.isfinite(logits), -math.inf)
    highest = known.amax(dim=1, keepdim=True).clamp_min(torch.finfo(torch.float64).min)
    cumulated = torch.exp(known - highest).cumsum(dim=1)
    drawn = uniforms(words(begin, -(-rows * count // _PER_BLOCK), logits.device), torch.float64).reshape(-1)
    points = drawn[: rows * count].reshape(rows, count) * cumulated[:, -1:]
    return torch.searchsorted(cumulated, points, right=True)
