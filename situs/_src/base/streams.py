"""Random streams: the position of a draw, and how far it advances its stream.

A counter-based generator has no state but a position: a key of 64 bits and a counter of 128. Block number n of four
words of 32 bits is a function of the key and of ``counter + n`` alone (`ops.philox`), so a draw only needs a
`Position`, and the next draw starts further on:

    op with seeds (seed, seed2)     key = seed, counter = seed2 * 2**64
    its first draw, m outputs       counter .................... counter + 256 m
    its second draw                                              counter + 256 m ....

These are TensorFlow's rules: what an op reserves depends on how many outputs it makes, not on how many blocks it uses.
A `Stream` belongs to one operation: of a graph in a session, of a function, or of eager code with an op seed.
"""

from __future__ import annotations

from typing import NamedTuple

from situs._src.base import locks

WORD = 2**64
COUNTERS = 2**128
BLOCKS_PER_OUTPUT = 256  # what an op reserves for each of its outputs, however many it uses


class Position(NamedTuple):
    """Where a draw begins.

    Attributes:
        key: 64 bits.
        counter: 128 bits, of the first block.
    """

    key: int
    counter: int

    def skip(self, blocks: int) -> Position:
        """The position so many blocks further on; counters wrap around."""
        return Position(self.key, (self.counter + blocks) % COUNTERS)


def of_seeds(seed: int, seed2: int) -> Position:
    """Where the stream of an op with two seeds begins."""
    return Position(seed % WORD, (seed2 % WORD) * WORD)


class Stream:
    """The stream of one operation. Safe to use from many threads."""

    __slots__ = ("__weakref__", "_lock", "_next")

    def __init__(self, begin: Position) -> None:
        self._next = begin
        self._lock = locks.lock()

    def reserve(self, blocks: int) -> Position:
        """Where the next draw begins; the one after it begins so many blocks further on."""
        with self._lock:
            begin = self._next
            key, counter = begin
            self._next = Position(key, (counter + blocks) % COUNTERS)
        return begin

    def __repr__(self) -> str:
        return f"<Stream at {self._next}>"


class Again:
    """A stream for a draw that may have to be made again: it begins at the same position however often it is asked."""

    __slots__ = ("_begin", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._begin: Position | None = None

    @property
    def stream(self) -> Stream:
        """The stream that it draws from."""
        return self._stream

    def reserve(self, blocks: int) -> Position:
        """Where the draw begins."""
        if self._begin is None:
            self._begin = self._stream.reserve(blocks)
        return self._begin
