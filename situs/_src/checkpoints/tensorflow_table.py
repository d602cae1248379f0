"""Tables of keys and values, in which TensorFlow keeps the index of a checkpoint: LevelDB's file format, read only.

    block | block | ... | index block | footer

    footer    where the index block is, and eight bytes that end every such file
    index     the last key of each block, and where the block is
    block     keys in order, each as what it adds to the one before, with their values; then where whole keys begin

Each block has a checksum. Nothing in the file is trusted: whatever does not fit is a `DataLossError`. Keys have to
ascend, and to be written in full now and then, so that a small file cannot stand for much memory or time.
"""

from __future__ import annotations

from collections.abc import Iterator

from situs._src.base.errors import DataLossError, UnimplementedError
from situs._src.files.crc32c import masked_crc32c

MAGIC = bytes.fromhex("57fb808b247547db")  # how every table ends
_FOOTER = 48
_TRAILER = 5  # bytes after each block: how it is compressed, and its checksum
_MOST_SHARED = 64  # bytes of keys for each byte of the file; TensorFlow writes every 16th key in full


class Cursor:
    """Bytes that are read one value after the other."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def varint(self) -> int:
        """The next integer: seven bits in a byte, the lowest first.

        Raises:
            DataLossError: the bytes end within it, or it takes more than 64 bits.
        """
        found = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            found |= (byte & 0x7F) << shift
            if byte < 0x80 and found < 2**64:
                return found
        raise DataLossError("a number in it has no end")

    def take(self, count: int) -> bytes:
        """The next bytes.

        Raises:
            DataLossError: there are not so many.
        """
        found = self.content[self.at : self.at + count]
        if len(found) != count:
            raise DataLossError(f"{count} bytes are wanted at {self.at} of {len(self.content)}")
        self.at += count
        return found


def table_items(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table, in order.

    Raises:
        DataLossError: it is damaged.
        UnimplementedError: it is compressed.
    """
    footer = Cursor(content[-_FOOTER:])
    for _ in range(2):  # the first block says what the table is about, which is nothing here
        index = footer.varint(), footer.varint()
    last, left = None, _MOST_SHARED * len(content)
    for _, place in _items(_block(content, *index)):
        handle = Cursor(place)
        for key, value in _items(_block(content, handle.varint(), handle.varint())):
            left -= len(key)
            if left < 0 or (last is not None and key <= last):
                raise DataLossError(f"its keys do not ascend, or are too long for {len(content)} bytes")
            last = key
            yield key, value


def _block(content: bytes, begin: int, size: int) -> bytes:
    end = begin + size
    if end + _TRAILER > len(content) - _FOOTER:
        raise DataLossError(f"a block ends at {end} of {len(content)} bytes")
    block, kind = content[begin:end], content[end]
    if masked_crc32c(content[begin : end + 1]) != int.from_bytes(content[end + 1 : end + _TRAILER], "little"):
        raise DataLossError(f"the checksum of bytes {begin} to {end} is not that of its content")
    if kind != 0:
        raise UnimplementedError("it is compressed, which TensorFlow's checkpoints are not")
    return block


def _items(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise DataLossError(f"a block of {len(block)} bytes has {restarts} places where keys begin")
    entries, key = Cursor(block[:end]), b""
    while entries.at < end:
        shared, added, size = entries.varint(), entries.varint(), entries.varint()
        if shared > len(key):
            raise DataLossError(f"a key shares {shared} bytes with one of {len(key)}")
        key = key[:shared] + entries.take(added)
        yield key, entries.take(size)
