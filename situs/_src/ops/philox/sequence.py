"""Words one after the other, for what draws them one at a time: buffers that shuffle, samplers of classes."""

from __future__ import annotations

import numpy as np
import torch

from situs._src.base.streams import Position
from situs._src.ops.philox.floats import uniforms
from situs._src.ops.philox.words import PER_BLOCK, words

_HOST = torch.device("cpu")
_FEWEST, _MOST = 16, 1024  # blocks that are made ahead
Integers = np.ndarray[tuple[int], np.dtype[np.uint64]]
Doubles = np.ndarray[tuple[int], np.dtype[np.float64]]


class Words:
    """The words of a stream from a position on.

    Args:
        begin: Where the first word is.
        taken: How many words were taken from there on before.
    """

    __slots__ = ("_ahead", "_begin", "_blocks", "taken")

    def __init__(self, begin: Position, taken: int = 0) -> None:
        self._begin = begin
        self.taken = taken
        self._blocks = _FEWEST
        self._ahead: list[int] = []

    def next(self) -> int:
        """The next word, a number of 32 bits."""
        if not self._ahead:
            block, inside = divmod(self.taken, PER_BLOCK)
            made = words(self._begin.skip(block), self._blocks, _HOST).reshape(-1)
            self._ahead = made[inside:].tolist()[::-1]
            self._blocks = min(2 * self._blocks, _MOST)
        self.taken += 1
        return self._ahead.pop()

    def below(self, count: int) -> int:
        """A number below `count`: the next word, modulo it."""
        return self.next() % count

    def exactly_below(self, count: int) -> int:
        """A number below `count`, all alike: words that would favour the first ones are left out."""
        least = 2**32 % count
        while (word := self.next()) < least:
            pass
        return word % count


def pairs(begin: Position, taken: int, count: int) -> Integers:
    """Numbers of 64 bits made of two words each, after the first `taken` of them."""
    first, inside = divmod(taken, 2)
    made = words(begin.skip(first), -(-(inside + count) // 2), _HOST).reshape(-1, 2)[inside : inside + count]
    found: Integers = (made[:, 0] | (made[:, 1] << 32)).numpy().view(np.uint64)
    return found


def doubles(begin: Position, taken: int, count: int) -> Doubles:
    """Numbers of [0, 1) made of two words each, after the first `taken` of them."""
    first, inside = divmod(taken, 2)
    blocks = words(begin.skip(first), -(-(inside + count) // 2), _HOST)
    found: Doubles = uniforms(blocks, torch.float64).reshape(-1)[inside : inside + count].numpy()
    return found
