"""Binary files of fixed-length records, such as CIFAR-10's.

header   record   record   ...   record   footer
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from situs._src.base.errors import InvalidArgumentError
from situs._src.base.typing import IntLike
from situs._src.data.text import Reader, opened_file, read_up_to
from situs._src.files.paths import local, translated
from situs._src.files.record_writer import as_compression
from situs._src.ops.attribute import as_int

_CHUNK = 2**20  # bytes read at a time


def slices_of(record_bytes: IntLike, header_bytes: Any, footer_bytes: Any, compression: Any) -> Reader:
    """What reads the records of a file.

    Raises:
        InvalidArgumentError: records cannot have such lengths.
    """
    size = as_int(record_bytes, "record_bytes")
    if size <= 0:
        raise InvalidArgumentError(f"`record_bytes` must be > 0, got {size}")
    margins = []
    for name, value in (("header_bytes", header_bytes), ("footer_bytes", footer_bytes)):
        margins.append(0 if value is None else as_int(value, name))
        if margins[-1] < 0:
            raise InvalidArgumentError(f"`{name}` must be >= 0, got {margins[-1]}")
    header, footer = margins
    return partial(_slices, size=size, header=header, footer=footer, compression=as_compression(compression))


def _slices(path: str, size: int, header: int, footer: int, compression: str) -> Iterator[bytes]:
    if not compression:  # of a compressed file the length is known when it has been read
        with translated(path):
            _check_length(path, local(path).stat().st_size - header - footer, size, header, footer)
    length = -header
    with opened_file(path, compression) as file:
        length += len(read_up_to(file, header))
        rest = b""
        while block := read_up_to(file, max(size, _CHUNK)):
            rest += block
            length += len(block)
            count = max(len(rest) - footer, 0) // size
            yield from (rest[number * size : (number + 1) * size] for number in range(count))
            rest = rest[count * size :]
    _check_length(path, length - footer, size, header, footer)


def _check_length(path: str, body: int, size: int, header: int, footer: int) -> None:
    if body < 0 or body % size:
        raise InvalidArgumentError(
            f'Excluding the header ({header} bytes) and footer ({footer} bytes), input file "{path}" has body length '
            f"{body} bytes, which is not an exact multiple of the record length ({size} bytes)."
        )
