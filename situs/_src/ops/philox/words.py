"""Blocks of Philox 4x32-10.

    counter + n, 128 bits   c0 c1 c2 c3          ten rounds:   hi, lo = M0 * c0        c0 c1 c2 c3 <-
    key, 64 bits            k0 k1                              HI, LO = M1 * c2        HI^c1^k0, LO, hi^c3^k1, lo
                                                               k0 += W0, k1 += W1

Words are kept in int64, so that a product of two of them has room: it may wrap around, and its bits are right.

Where a draw begins is known on the host, a `Position`, or lies in the memory of the device, `Placed`. Then nobody waits
for it, and a kernel that was recorded (`runtime.run.cuda_graph`) begins elsewhere each time that it is replayed:

    a seed of two integers     scrambled by the kernel                 tf.random.stateless_normal(shape, seed=tensor)
    a key and a counter        as they are                             tf.random.Generator, whose state lies there
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch

from situs._src.base.streams import Position
from situs._src.ops.philox import card, compiled

PER_BLOCK = 4
_MASK = 2**32 - 1
_FACTORS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
_FEW = 32  # blocks that Python makes sooner than PyTorch
SCRAMBLING_KEY = 0x02461E293EC8F720  # what TensorFlow scrambles the seeds of stateless ops with


class Placed(NamedTuple):
    """Where a draw begins, in the memory of the device that makes it.

    Attributes:
        words: int64: a seed's two integers, or a key and the two words of a counter.
        is_seed: Which of these.
    """

    words: torch.Tensor
    is_seed: bool

    def position(self) -> torch.Tensor:
        """The key and the two words of the counter, in int64."""
        if not self.is_seed:
            return self.words
        key = torch.full((1,), SCRAMBLING_KEY, dtype=torch.int64, device=self.words.device)
        mixed = _blocks(Placed(torch.cat([key, self.words]), is_seed=False), torch.zeros_like(key))[0]
        wide = mixed[0::2] | (mixed[1::2] << 32)
        return torch.stack([wide[0], torch.zeros_like(wide[0]), wide[1]])


Begin = Position | Placed


def words(begin: Begin, count: int, device: torch.device) -> torch.Tensor:
    """The first `count` blocks from a position on: [count, 4], each word a number of 0 to 2**32 - 1 in int64."""
    if isinstance(begin, Position) and device.type == "cpu":
        quick = compiled.functions()
        if quick is not None:
            return unsigned(quick.words(begin, count))
        if 0 < count <= _FEW:
            return torch.tensor([block(begin.skip(number)) for number in range(count)])
    return words_at(begin, torch.arange(count, device=device))


def words_at(begin: Begin, offsets: torch.Tensor) -> torch.Tensor:
    """The blocks so far behind a position, each alone: the shape of `offsets`, and 4."""
    if offsets.device.type == "cpu":
        quick = compiled.functions() if isinstance(begin, Position) else None
        if quick is None or isinstance(begin, Placed):
            return _blocks(begin, offsets)
        return unsigned(quick.words_at(begin, offsets.contiguous()))
    kernels = card.functions() if offsets.device.type == "cuda" else None
    return _blocks(begin, offsets) if kernels is None else kernels.words_at(begin, offsets)


def unsigned(bits: torch.Tensor) -> torch.Tensor:
    """Words that are held as int32, as numbers."""
    return bits.to(torch.int64).bitwise_and_(_MASK)


def _limbs(begin: Begin) -> tuple[Sequence[int | torch.Tensor], Sequence[int | torch.Tensor]]:
    """A counter in four words of 32 bits, and a key in two."""
    if isinstance(begin, Position):
        counter = [(begin.counter >> 32 * place) & _MASK for place in range(PER_BLOCK)]
        return counter, (begin.key & _MASK, begin.key >> 32)
    key, low, high = begin.position().unbind()
    halves = [(word & _MASK, (word >> 32) & _MASK) for word in (key, low, high)]
    return [*halves[1], *halves[2]], halves[0]


def _blocks(begin: Begin, offsets: torch.Tensor) -> torch.Tensor:
    counter, (k0, k1) = _limbs(begin)
    parts = []
    carry: torch.Tensor | int = 0
    for place, limb in enumerate(counter):
        total = ((offsets >> 32 * place) & _MASK) + limb + carry if place < 2 else carry + limb
        assert isinstance(total, torch.Tensor)
        parts.append(total & _MASK)
        carry = total >> 32
    c0, c1, c2, c3 = parts
    for _ in range(_ROUNDS):
        first, second = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0 = (second >> 32).bitwise_and_(_MASK).bitwise_xor_(c1).bitwise_xor_(k0)
        c2 = (first >> 32).bitwise_and_(_MASK).bitwise_xor_(c3).bitwise_xor_(k1)
        c1, c3 = second.bitwise_and_(_MASK), first.bitwise_and_(_MASK)
        k0, k1 = (k0 + _KEY_STEPS[0]) & _MASK, (k1 + _KEY_STEPS[1]) & _MASK
    return torch.stack([c0, c1, c2, c3], dim=-1)


def block(begin: Position) -> tuple[int, int, int, int]:
    """One block, in Python's integers: quicker than tensors for so few."""
    c0, c1, c2, c3 = ((begin.counter >> 32 * place) & _MASK for place in range(PER_BLOCK))
    k0, k1 = begin.key & _MASK, begin.key >> 32
    for _ in range(_ROUNDS):
        first, second = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK, (first >> 32) ^ c3 ^ k1, first & _MASK
        k0, k1 = (k0 + _KEY_STEPS[0]) & _MASK, (k1 + _KEY_STEPS[1]) & _MASK
    return c0, c1, c2, c3


@lru_cache(maxsize=256)  # programs that give one seed again and again are common: ten rounds in Python take 2 us
def scrambled(first: int, second: int) -> Position:
    """Where the draw of a stateless op with two seeds begins: a block of a key whose rounds are known."""
    c0, c1, c2, c3 = first & _MASK, (first >> 32) & _MASK, second & _MASK, (second >> 32) & _MASK
    for k0, k1 in _SCRAMBLING_ROUNDS:
        one, other = c0 * 0xD2511F53, c2 * 0xCD9E8D57
        c0, c1, c2, c3 = (other >> 32) ^ c1 ^ k0, other & 0xFFFFFFFF, (one >> 32) ^ c3 ^ k1, one & 0xFFFFFFFF
    return Position(c0 | c1 << 32, c2 << 64 | c3 << 96)


_SCRAMBLING_ROUNDS = [
    (((SCRAMBLING_KEY & _MASK) + turn * _KEY_STEPS[0]) & _MASK, ((SCRAMBLING_KEY >> 32) + turn * _KEY_STEPS[1]) & _MASK)
    for turn in range(_ROUNDS)
]
