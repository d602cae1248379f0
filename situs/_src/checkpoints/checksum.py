"""CRC-32 of a stream of bytes, computed by a separate thread while the bytes are read or written.

    with beside(total) as pool:
        crc = Checksum(pool)
        for piece in pieces:
            crc.update(piece)
            file.write(piece)
        crc.value

On two cores this hides the checksum behind the disk: 0.3 s of 0.8 s for 500 MB.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager

_WORTH_A_THREAD = 2**20  # bytes; handing over takes some 20 us


@contextmanager
def beside(total: int) -> Iterator[Executor | None]:
    """A thread for the checksums of so many bytes, or None if they are too few to start one."""
    if total < _WORTH_A_THREAD:
        yield None
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="situs-checksum") as pool:
        yield pool


class Checksum:
    """The checksum of pieces given one after the other; they must not change before it is asked for."""

    def __init__(self, pool: Executor | None = None) -> None:
        self._pool = pool
        self._known = 0
        self._pending: Future[int] | None = None

    def update(self, piece: memoryview | bytes) -> None:
        """Takes the next piece in."""
        before = self.value
        if self._pool is None or len(piece) < _WORTH_A_THREAD:
            self._known = zlib.crc32(piece, before)
        else:
            self._pending = self._pool.submit(zlib.crc32, piece, before)

    @property
    def value(self) -> int:
        """The checksum of what has been taken in."""
        if self._pending is not None:
            self._known, self._pending = self._pending.result(), None
        return self._known
