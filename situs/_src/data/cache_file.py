"""The file format of a cache: elements one after the other, without executable content.

    magic, length of the header, header (JSON: the dtypes and shapes of the components)
    for each element:  1, length, CRC-32, then for each component its sizes and its bytes
    at the end:        0, number of elements

It is renamed when it is complete: an existing file is always whole. What is read is checked against its lengths and
checksums, and against the elements of the dataset that reads it.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.drafts import Draft, sync_folder
from situs._src.base.errors import DataLossError, InvalidArgumentError
from situs._src.data.element import Element, Leaf, Spec
from situs._src.data.node import guarded_items
from situs._src.files.paths import local, translated
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.eager.convert import host_to_value
from situs._src.runtime.eager.tensor import to_numpy_value

SUFFIX = ".dataset"
_MAGIC = b"situs dataset 1\n"
_HEADER = struct.Struct("<I")
_RECORD = struct.Struct("<BQI")  # 1, the length of the payload, its checksum
_SIZE = struct.Struct("<q")
_LONGEST_HEADER = 2**20


class CacheFile:
    """The file of one cache.

    Args:
        path: What its name begins with.
        spec: What its elements are.
    """

    def __init__(self, path: str, spec: Spec) -> None:
        self._path = Path(f"{local(path)}{SUFFIX}")
        self._spec = spec

    def exists(self) -> bool:
        """Whether it has been written."""
        return self._path.exists()

    def count(self) -> int:
        """How many elements its end says that there are; none if it has no such end."""
        with translated(self._path), self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            if size < _RECORD.size:
                return 0
            file.seek(size - _RECORD.size)
            mark, count, checksum = _RECORD.unpack(file.read())
            return count if (mark, checksum) == (0, zlib.crc32(b"end")) else 0

    # Writing.

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """A context in which the file is written; it is there afterwards if it was finished."""
        folder = self._path.parent
        with translated(self._path):
            folder.mkdir(parents=True, exist_ok=True)
            with Draft(folder) as draft:
                writer = Writer(draft.file, self._spec)
                yield writer
                if writer.is_complete:
                    draft.finish()
                    draft.replace(self._path)
                    sync_folder(folder)

    # Reading.

    def read(self) -> Iterator[Any]:
        """The elements in it; a `Failure` where it is damaged, and nothing after that."""
        return guarded_items(self._all())

    def _all(self) -> Iterator[Element]:
        with translated(self._path), self._path.open("rb") as file:
            self._check_header(file)
            yield from self._elements(file, os.fstat(file.fileno()).st_size)

    def _check_header(self, file: BinaryIO) -> None:
        start = file.read(len(_MAGIC) + _HEADER.size)
        if len(start) < len(_MAGIC) + _HEADER.size or not start.startswith(_MAGIC):
            raise self._damaged("it does not begin as the file of a cache does")
        (length,) = _HEADER.unpack(start[len(_MAGIC) :])
        found = file.read(length) if length <= _LONGEST_HEADER else b""
        if found != _header(self._spec):
            raise InvalidArgumentError(
                f"The cache {self._path} holds other elements than this dataset has, which are "
                f"{self._spec.structure!r}: it holds {found[:200]!r}. Delete it, or cache to another file."
            )

    def _elements(self, file: BinaryIO, size: int) -> Iterator[Element]:
        count = 0
        while True:
            head = file.read(_RECORD.size)
            if len(head) < _RECORD.size:
                raise self._damaged(f"it ends after {count} elements")
            mark, length, checksum = _RECORD.unpack(head)
            if mark == 0:
                if (length, checksum) != (count, zlib.crc32(b"end")) or file.read(1):
                    raise self._damaged(f"{count} elements were read, and it says that there are {length}")
                return
            payload = file.read(length) if mark == 1 and length <= size else b""
            if mark != 1 or len(payload) != length or zlib.crc32(payload) != checksum:
                raise self._damaged(f"element {count} is not what was written")
            yield self._element(memoryview(payload))
            count += 1

    def _element(self, payload: memoryview) -> Element:
        values: list[Value] = []
        for leaf in self._spec.leaves:
            try:
                value, payload = _unpacked(payload, leaf)
            except (struct.error, ValueError, OverflowError, MemoryError) as error:
                raise self._damaged(f"a component cannot be read: {error}") from None
            values.append(value)
        return tuple(values)

    def _damaged(self, why: str) -> DataLossError:
        return DataLossError(f"The cache {self._path} is damaged: {why}. Delete it, and it will be rewritten.")


class Writer:
    """Writes elements to a file."""

    def __init__(self, file: IO[bytes], spec: Spec) -> None:
        header = _header(spec)
        self._file = file
        self._count = 0
        self._usable = True
        self.is_complete = False
        file.write(_MAGIC + _HEADER.pack(len(header)) + header)

    def write(self, element: Element) -> None:
        """Adds an element."""
        payload = b"".join([piece for value in element for piece in _packed(value)])
        self._file.write(_RECORD.pack(1, len(payload), zlib.crc32(payload)))
        self._file.write(payload)
        self._count += 1

    def give_up(self) -> None:
        """Lets the file be forgotten: an element is missing."""
        self._usable = False

    def finish(self) -> None:
        """Writes the end: all elements are there."""
        self._file.write(_RECORD.pack(0, self._count, zlib.crc32(b"end")))
        self.is_complete = self._usable


def _header(spec: Spec) -> bytes:
    components = [[leaf.dtype.name, None if leaf.shape.rank is None else leaf.shape.as_list()] for leaf in spec.leaves]
    return json.dumps({"form": str(spec.form), "components": components}).encode()


def _packed(value: Value) -> Iterator[bytes]:
    """The sizes of a value, and its bytes; of strings, their lengths before them."""
    array = to_numpy_value(value)
    yield _SIZE.pack(array.ndim)
    for size in array.shape:
        yield _SIZE.pack(size)
    if array.dtype != object:
        yield np.ascontiguousarray(array).tobytes()
        return
    texts = array.ravel().tolist()
    yield np.array([len(text) for text in texts], "<i8").tobytes()
    yield from texts


def _unpacked(payload: memoryview, leaf: Leaf) -> tuple[Value, memoryview]:
    """A value, and what follows it."""
    (rank,) = _SIZE.unpack_from(payload)
    if not 0 <= rank <= 64:
        raise ValueError(f"it has rank {rank}")
    shape = struct.unpack_from(f"<{rank}q", payload, _SIZE.size)
    payload = payload[_SIZE.size * (1 + rank) :]
    if min(shape, default=0) < 0 or not leaf.shape.is_compatible_with(shape):
        raise ValueError(f"it has shape {shape}")
    count = prod(shape)
    if leaf.dtype is dt.string:
        return _strings(payload, shape, count)
    kind = np.dtype(leaf.dtype.as_numpy_dtype)
    length = count * kind.itemsize
    array = np.frombuffer(payload[:length], kind).reshape(shape)
    return host_to_value(array.copy(), leaf.dtype), payload[length:]


def _strings(payload: memoryview, shape: tuple[int, ...], count: int) -> tuple[Value, memoryview]:
    lengths = np.frombuffer(payload[: 8 * count], "<i8")
    if len(lengths) != count or (lengths < 0).any():
        raise ValueError("the lengths of its strings are wrong")
    made = np.empty(count, dtype=object)
    position = 8 * count
    for number, length in enumerate(lengths.tolist()):
        made[number] = bytes(payload[position : position + length])
        if len(made[number]) != length:
            raise ValueError("its strings end too early")
        position += length
    return made.reshape(shape), payload[position:]
