"""TFRecord files: records of bytes, each with its length and checksums.

    length (8 bytes)   checksum of the length (4)   record   checksum of the record (4)        and so on

Both checksums are verified: a damaged or truncated record is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from situs._src.base.errors import DataLossError
from situs._src.base.settings import longest_record
from situs._src.data.text import Reader, opened_file, read_up_to, too_long
from situs._src.files.crc32c import masked_crc32c
from situs._src.files.record_writer import CHECK as _CHECK
from situs._src.files.record_writer import LENGTH as _LENGTH
from situs._src.files.record_writer import as_compression

_HEAD = _LENGTH.size + _CHECK.size


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
        ResourceExhaustedError: it is longer than records may be.
    """
    head = file.read(_HEAD)
    if not head:
        return None
    if len(head) < _HEAD:
        raise DataLossError(f"{path}: truncated record at {offset}")
    _verify(head[: _LENGTH.size], head[_LENGTH.size :], path, offset)
    (length,) = _LENGTH.unpack(head[: _LENGTH.size])
    most, check = longest_record(), b""
    record = read_up_to(file, min(length, most + 1))
    if len(record) > most:
        raise too_long(most, path, "record")
    if len(record) == length:
        check = file.read(_CHECK.size)
    if len(check) < _CHECK.size:
        raise DataLossError(f"{path}: truncated record at {offset}")
    _verify(record, check, path, offset)
    return record, offset + _HEAD + length + _CHECK.size


def _verify(data: bytes, check: bytes, path: str, offset: int) -> None:
    if masked_crc32c(data) != _CHECK.unpack(check)[0]:
        raise DataLossError(f"{path}: corrupted record at {offset}")
