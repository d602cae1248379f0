"""Checksums of streams of bytes, held against zlib's of all bytes at once."""

from __future__ import annotations

import zlib

import pytest

from situs._src.checkpoints.checksum import Checksum, beside

MIB = 2**20


@pytest.mark.parametrize("sizes", [[], [0], [5, 0, 7], [MIB], [3, MIB, 4, 2 * MIB, MIB - 1, MIB + 1]], ids=str)
def test_pieces_have_the_checksum_of_the_whole(sizes):
    pieces = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    with beside(sum(sizes)) as pool:
        found = Checksum(pool)
        for piece in pieces:
            found.update(memoryview(piece))
        assert found.value == found.value == zlib.crc32(b"".join(pieces))


def test_a_thread_is_started_for_many_bytes_only():
    with beside(MIB - 1) as few, beside(MIB) as many:
        assert few is None
        assert many is not None
