"""TFRecord files: records of bytes, each with its length and checksums.

    length (8 bytes)   checksum of the length (4)   record   checksum of the record (4)        and so on

Both checksums are verified: a record that is damaged, or cut off, is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from situs.data.text import Reader, opened_file
from situs.errors import DataLossError
from situs.files.crc32c import masked_crc32c
from situs.files.record_writer import CHECK as _CHECK
from situs.files.record_writer import LENGTH as _LENGTH
from situs.files.record_writer import as_compression

_HEAD = _LENGTH.size + _CHECK.size
_PIECE = 2**20  # bytes: a length that is wrong does not lead to a large buffer


def records_of(compression: Any) -> Reader:
    """What reads the records of a file."""
    return partial(_records, compression=as_compression(compression))


def _records(path: str, compression: str) -> Iterator[bytes]:
    offset = 0
    with opened_file(path, compression) as file:
        while found := next_record(file, path, offset):
            record, offset = found
            yield record


def next_record(file: Any, path: str, offset: int) -> tuple[bytes, int] | None:
    """The record at the place where a file is, and the place behind it; None at the end.

    Raises:
        DataLossError: it is damaged, or cut off.
    """
    head = file.read(_HEAD)
    if not head:
        return None
    if len(head) < _HEAD:
        raise DataLossError(f"{path}: truncated record at {offset}")
    _verify(head[: _LENGTH.size], head[_LENGTH.size :], path, offset)
    (length,) = _LENGTH.unpack(head[: _LENGTH.size])
    record, check = _read(file, length), file.read(_CHECK.size)
    if len(record) < length or len(check) < _CHECK.size:
        raise DataLossError(f"{path}: truncated record at {offset}")
    _verify(record, check, path, offset)
    return record, offset + _HEAD + length + _CHECK.size


def _read(file: Any, length: int) -> bytes:
    pieces: list[bytes] = []
    while length and (piece := file.read(min(length, _PIECE))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def _verify(data: bytes, check: bytes, path: str, offset: int) -> None:
    if masked_crc32c(data) != _CHECK.unpack(check)[0]:
        raise DataLossError(f"{path}: corrupted record at {offset}")
