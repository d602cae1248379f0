"""Uniform and normal tensors, and integers, from a position on.

    float32 and narrower, 32 bits     an output takes a word: block n makes the outputs 4n to 4n + 3
    float64, 64 bits                  an output takes two words: block n makes the outputs 2n and 2n + 1
    truncated normal                  a group of 4 outputs (2 of float64) has 256 (128) blocks of its own, and takes
                                      the first normal numbers in them that lie within two deviations

A tensor whose size is no multiple of a block's outputs leaves the rest of its last block unused. A position may lie in
the memory of the device (`words.Placed`).

A compiler is shown such a draw as one operator, ``situs::draw``, which it calls as it is: fused with what takes the
numbers, each of them would cost a block of its own, ten rounds of products of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from situs._src.base.streams import Position
from situs._src.ops.philox import card, compiled
from situs._src.ops.philox.floats import normals, uniforms
from situs._src.ops.philox.words import PER_BLOCK, Begin, Placed, words, words_at
from situs._src.runtime.eager.own_operators import declare
from situs._src.runtime.eager.shown import is_shown

_RESERVED_WORDS = 256  # of each output of a truncated normal
_EDGE = 2.0
_MOST_AT_ONCE = 2**33  # outputs that C and Triton count
_PRODUCTS_FIT = 2**31  # what a remainder times 2**32 may be below to fit into int64


def uniform(sizes: tuple[int, ...], dtype: torch.dtype, begin: Begin, device: torch.device) -> torch.Tensor:
    """Numbers of [0, 1)."""
    if is_shown() and isinstance(begin, Placed):
        return _whole("uniform", sizes, dtype, begin)
    found = _quick("uniform", sizes, dtype, begin, device)
    if found is not None:
        return found
    count, each = math.prod(sizes), _per_block(dtype)
    return uniforms(words(begin, -(-count // each), device), dtype).reshape(-1)[:count].reshape(sizes)


def normal(sizes: tuple[int, ...], dtype: torch.dtype, begin: Begin, device: torch.device) -> torch.Tensor:
    """Numbers of the normal distribution with mean 0 and deviation 1."""
    if is_shown() and isinstance(begin, Placed):
        return _whole("normal", sizes, dtype, begin)
    found = _quick("normal", sizes, dtype, begin, device)
    if found is not None:
        return found
    count, each = math.prod(sizes), _per_block(dtype)
    return normals(words(begin, -(-count // each), device), dtype).reshape(-1)[:count].reshape(sizes)


def truncated_normal(sizes: tuple[int, ...], dtype: torch.dtype, begin: Begin, device: torch.device) -> torch.Tensor:
    """Numbers of the normal distribution that lie within two deviations."""
    if is_shown() and isinstance(begin, Placed):
        return _whole("truncated", sizes, dtype, begin)
    found = _quick("truncated", sizes, dtype, begin, device)
    if found is not None:
        return found
    count, each = math.prod(sizes), _per_block(dtype)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    groups = -(-count // each)
    made = torch.zeros(groups, each, dtype=wide, device=device)
    filled = torch.zeros(groups, dtype=torch.int64, device=device)
    open_groups, used = torch.arange(groups, device=device), 0
    while open_groups.numel():
        begins = open_groups * (each * _RESERVED_WORDS // PER_BLOCK) + used
        candidates = normals(words_at(begin, begins), wide)
        fits = candidates.abs() < _EDGE
        place = fits.cumsum(1) - 1 + filled[open_groups].unsqueeze(1)
        kept = fits & (place < each)
        made[open_groups.unsqueeze(1).expand_as(place)[kept], place[kept]] = candidates[kept]
        filled[open_groups] += fits.sum(1)
        open_groups, used = open_groups[filled[open_groups] < each], used + 1
    return made.reshape(-1)[:count].reshape(sizes).to(dtype)


def integers(
    sizes: tuple[int, ...], low: int, high: int, dtype: torch.dtype, begin: Begin, device: torch.device
) -> torch.Tensor:
    """Integers of [low, high), int32 or int64: bits of the dtype's width, modulo the width of the interval."""
    width, count = high - low, math.prod(sizes)
    if dtype is torch.int32:
        rest = words(begin, -(-count // PER_BLOCK), device).reshape(-1)[:count] % width
        return (rest + low).to(torch.int32).reshape(sizes)
    pairs = words(begin, -(-count // 2), device).reshape(-1, 2)[:count]
    if width < _PRODUCTS_FIT:
        return ((((pairs[:, 1] % width) << 32) + pairs[:, 0]) % width).add_(low).reshape(sizes)
    bits = (pairs[:, 0] | (pairs[:, 1] << 32)).cpu().numpy().view(np.uint64)  # PyTorch has no unsigned remainder
    rest = torch.from_numpy((bits % np.uint64(width)).view(np.int64)).to(device)
    return rest.add_(low).reshape(sizes)


def bits(sizes: tuple[int, ...], dtype: torch.dtype, begin: Begin, device: torch.device) -> torch.Tensor:
    """All integers of a dtype of 32 or 64 bits."""
    count = math.prod(sizes)
    if dtype.itemsize == 4:
        made = words(begin, -(-count // PER_BLOCK), device).reshape(-1)[:count].to(torch.int32)
    else:
        pairs = words(begin, -(-count // 2), device).reshape(-1, 2)[:count]
        made = pairs[:, 0] | (pairs[:, 1] << 32)
    return made.view(dtype).reshape(sizes)


def permutation(count: int, begin: Position) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The numbers below `count` in the order of a shuffle: word i says which of the rest comes to place i."""
    drawn = words(begin, -(-(count - 1) // PER_BLOCK), torch.device("cpu")).reshape(-1)[: count - 1].numpy()
    chosen = (drawn % (count - np.arange(count - 1)) + np.arange(count - 1)).tolist()
    order = list(range(count))
    for place, other in enumerate(chosen):
        order[place], order[other] = order[other], order[place]
    return np.array(order, np.int64)


def _per_block(dtype: torch.dtype) -> int:
    return PER_BLOCK // 2 if dtype is torch.float64 else PER_BLOCK


def _quick(
    what: str, sizes: tuple[int, ...], dtype: torch.dtype, begin: Begin, device: torch.device
) -> torch.Tensor | None:
    """The draw by C on the CPU, or by Triton on a GPU; None where PyTorch's ops have to make it."""
    if dtype is not torch.float32 or math.prod(sizes) >= _MOST_AT_ONCE:
        return None
    if device.type == "cuda":
        on_card = card.functions()
        return None if on_card is None else on_card.fill(what, begin, sizes, device)
    quick = compiled.functions() if device.type == "cpu" else None
    return None if quick is None or isinstance(begin, Placed) else quick.fill(what, begin, sizes, device)


# To a compiler.


def _draw(what: str, place: torch.Tensor, is_seed: bool, sizes: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    make = {"uniform": uniform, "normal": normal, "truncated": truncated_normal}[what]
    return make(tuple(sizes), dtype, Placed(place, is_seed), place.device)


def _drawn(what: str, place: torch.Tensor, is_seed: bool, sizes: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty(list(sizes), dtype=dtype, device=place.device)


_DRAW = declare("draw(str what, Tensor place, bool is_seed, int[] sizes, ScalarType dtype) -> Tensor", _draw, _drawn)


def _whole(what: str, sizes: tuple[int, ...], dtype: torch.dtype, begin: Placed) -> torch.Tensor:
    """A draw as one operator of PyTorch's."""
    return _DRAW(what, begin.words, begin.is_seed, list(sizes), dtype)
