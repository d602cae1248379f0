"""TFRecord files: records of bytes, each with its length and checksums.

    length (8 bytes)   checksum of the length (4)   record   checksum of the record (4)        and so on

Both checksums are verified: a record that is damaged, or cut off, is an error.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from situs.data.checksum import masked_crc32c
from situs.data.text import Reader, as_compression, opened_file
from situs.errors import DataLossError, DTypeError, FailedPreconditionError, UnimplementedError
from situs.files.paths import local, translated

_LENGTH = struct.Struct("<Q")
_CHECK = struct.Struct("<I")
_HEAD = _LENGTH.size + _CHECK.size
_PIECE = 2**20  # bytes: a length that is wrong does not lead to a large buffer


def records_of(compression: Any) -> Reader:
    """What reads the records of a file."""
    return partial(_records, compression=as_compression(compression))


def _records(path: str, compression: str) -> Iterator[bytes]:
    offset = 0
    with opened_file(path, compression) as file:
        while head := file.read(_HEAD):
            if len(head) < _HEAD:
                raise DataLossError(f"{path}: truncated record at {offset}")
            _verify(head[: _LENGTH.size], head[_LENGTH.size :], path, offset)
            (length,) = _LENGTH.unpack(head[: _LENGTH.size])
            record, check = _read(file, length), file.read(_CHECK.size)
            if len(record) < length or len(check) < _CHECK.size:
                raise DataLossError(f"{path}: truncated record at {offset}")
            _verify(record, check, path, offset)
            yield record
            offset += _HEAD + length + _CHECK.size


def _read(file: Any, length: int) -> bytes:
    pieces: list[bytes] = []
    while length and (piece := file.read(min(length, _PIECE))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _verify(data: bytes, check: bytes, path: str, offset: int) -> None:
    if masked_crc32c(data) != _CHECK.unpack(check)[0]:
        raise DataLossError(f"{path}: corrupted record at {offset}")


class TFRecordWriter:
    """Writes records to a file that ``TFRecordDataset`` reads.

    Args:
        path: The name of the file.
        options: Accepted if it asks for no compression.

    Example:
        with tf.io.TFRecordWriter("data.tfrecord") as writer:
            writer.write(b"a record")
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        if getattr(options, "compression_type", options) not in (None, ""):
            raise UnimplementedError("Records are written without compression; compress the file afterwards.")
        place: Path = local(path)
        with translated(path):
            self._file: BinaryIO = place.open("wb")

    def write(self, record: Any) -> None:
        """Adds a record of bytes."""
        if not isinstance(record, bytes):
            raise DTypeError(f"A record is bytes, got {record!r} of type {type(record).__name__!r}.")
        if self._file.closed:
            raise FailedPreconditionError("Writer is closed.")
        head = _LENGTH.pack(len(record))
        with translated(self._file.name):
            self._file.write(head + _CHECK.pack(masked_crc32c(head)) + record + _CHECK.pack(masked_crc32c(record)))

    def flush(self) -> None:
        """Hands everything that was written to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
