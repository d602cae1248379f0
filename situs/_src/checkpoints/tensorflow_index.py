"""Checkpoints that TensorFlow has written: their index, and the values in their files.

    model.ckpt-100.index                  a table: under "" the files, under each name a tensor
    model.ckpt-100.data-00000-of-00001    the bytes of the tensors, each with a checksum in the index

`read_index` makes the same `Index` of it that checkpoints of Situs have, so that a `Saver`, a `Checkpoint` and a reader
take either. A variable that was saved in parts has an entry for each, under a key made of its name and its place.
Only reading is here: Situs writes checkpoints of its own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from google.protobuf.message import DecodeError

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import DataLossError, UnimplementedError, shown
from situs._src.base.proto.tensor_bundle import BundleEntryProto, BundleHeaderProto, TensorShapeProto
from situs._src.checkpoints.encoding import Vessel, strings_of
from situs._src.checkpoints.index import HIGHEST_RANK, Entry, Index, Part, Shard, check_apart
from situs._src.checkpoints.layout import MOST_SHARDS
from situs._src.checkpoints.tensorflow_table import MAGIC, Cursor, table_items
from situs._src.files.crc32c import masked_crc32c
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Value

_LITTLE_ENDIAN = 0
_WHOLE = -1  # the length of all of a dimension, in a key

# The index.


def index_in(content: bytes, source: object) -> Index:
    """The index that these bytes are, whoever has written it; `source` is what errors call it.

    Raises:
        DataLossError: it is damaged.
        UnimplementedError: it has something that Situs cannot read, or is of another version.
    """
    return read_index(content, source) if content.endswith(MAGIC) else Index.from_bytes(content, source)


def read_index(content: bytes, source: object) -> Index:
    """The index that TensorFlow wrote as these bytes; `source` is what errors call it.

    Raises:
        DataLossError: it is damaged.
        UnimplementedError: it has something that Situs cannot read.
    """
    try:
        return _index(dict(table_items(content)), os.path.basename(str(source)))  # noqa: PTH119 - only a name
    except (DataLossError, UnimplementedError) as error:
        raise type(error)(f"{source}, the index of a TensorFlow checkpoint, cannot be read: {error}.") from None
    except DecodeError:
        raise DataLossError(
            f"{source}, the index of a TensorFlow checkpoint, is damaged: it has no messages."
        ) from None


def _index(table: dict[bytes, bytes], name: str) -> Index:
    header = _message(BundleHeaderProto, table.pop(b"", b""))
    if header.endianness != _LITTLE_ENDIAN:
        raise UnimplementedError("it was written on a machine with the highest byte of a number first")
    count = header.num_shards
    if not 0 < count <= MOST_SHARDS:
        raise DataLossError(f"it has {count} files")
    shards = tuple(Shard(f"data-{number:05}-of-{count:05}", None, 0, 0) for number in range(count))
    messages = {key: _message(BundleEntryProto, value) for key, value in table.items()}
    if any(key.startswith(b"\0") and message.slices for key, message in messages.items()):
        raise DataLossError("a part of a variable has parts")
    unknown = {key: message.dtype for key, message in messages.items() if _dtype(message.dtype) is None}
    entries = {key: _entry(messages[key], len(shards)) for key in messages.keys() - unknown.keys()}
    check_apart(entry for key, entry in entries.items() if not messages[key].slices)
    found = {
        _name(key): _with_parts(key, entry, messages[key], entries)
        for key, entry in entries.items()
        if not key.startswith(b"\0")
    }
    unreadable = {_name(key): f"it is of TensorFlow's dtype number {number}" for key, number in unknown.items()}
    return Index(name.removesuffix(".index"), shards, found, is_tensorflows=True, unreadable=unreadable)


def _message(kind: Any, content: bytes) -> Any:
    return kind.FromString(content)


def _name(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise DataLossError(f"{shown(key)} is no name of a variable") from None


def _entry(message: Any, shards: int) -> Entry:
    dims = [dim.size for dim in TensorShapeProto.FromString(message.shape).dim]
    if len(dims) > HIGHEST_RANK or min(dims, default=0) < 0 or math.prod(dims) >= 2**63:
        raise DataLossError(f"{shown(dims)} is no shape")
    if message.offset < 0 or message.size < 0 or not 0 <= message.shard_id < shards:
        raise DataLossError(f"bytes {message.offset} to {message.offset + message.size} of file {message.shard_id}")
    dtype = _dtype(message.dtype)
    assert dtype is not None
    if not message.slices and dtype is not dt.string and message.size != math.prod(dims) * dtype.size:
        raise DataLossError(f"{message.size} bytes are no {dtype.name} values of shape {shown(dims)}")
    return Entry(dtype, tuple(dims), message.shard_id, message.offset, message.size, message.crc32c, "")


def _dtype(number: int) -> DType | None:
    """The dtype that TensorFlow numbers so; None if Situs has no values of it, as of states of iterators."""
    try:
        found = as_dtype(number)
    except (TypeError, ValueError):
        return None
    return found if found is dt.string or found in TORCH_DTYPE else None


# Variables in parts.


def _with_parts(key: bytes, entry: Entry, message: Any, entries: Mapping[bytes, Entry]) -> Entry:
    if not message.slices:
        return entry
    parts = []
    for piece in message.slices:
        place = _place(piece, entry.shape)
        part = entries.get(_part_key(key, piece))
        sizes = tuple(cut.stop - cut.start for cut in place)
        if part is None or part.dtype is not entry.dtype or part.shape != sizes:
            raise DataLossError(f"a part of variable {shown(_name(key))} is not what the variable says of it")
        parts.append(Part(place, part))
    is_whole = sum(math.prod(part.entry.shape) for part in parts) == math.prod(entry.shape)
    if not is_whole or len({part.entry for part in parts}) != len(parts):
        raise DataLossError(f"the parts of variable {shown(_name(key))} are not the whole of it")
    return Entry(entry.dtype, entry.shape, entry.shard, 0, 0, 0, "", tuple(parts))


def _place(piece: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Where a part is in the whole."""
    if len(piece.extent) != len(shape):
        raise DataLossError(f"a part has {len(piece.extent)} dimensions, and its variable {len(shape)}")
    found = []
    for extent, size in zip(piece.extent, shape, strict=True):
        stop = extent.start + extent.length if extent.HasField("length") else size
        if not 0 <= extent.start <= stop <= size:
            raise DataLossError(f"a part is at {extent.start} to {stop} of {size}")
        found.append(slice(extent.start, stop))
    return tuple(found)


def _part_key(key: bytes, piece: Any) -> bytes:
    """The key of a part: a zero, the name, and the place, written so that they sort as they count."""
    made = b"\0" + key.replace(b"\0", b"\0\xff") + b"\0\1" + _unsigned(len(piece.extent))
    for extent in piece.extent:
        made += _signed(extent.start) + _signed(extent.length if extent.HasField("length") else _WHOLE)
    return made


def _unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _signed(value: int) -> bytes:
    """An integer in as few bytes as it needs, of which the first as many bits are turned over."""
    size = (value if value >= 0 else ~value).bit_length() // 7 + 1
    turned = ((1 << size) - 1) << (7 * size)
    return ((value & ((1 << (8 * size)) - 1)) ^ turned).to_bytes(size, "big")


# Values.


class Files(Protocol):
    """The files of a checkpoint with its values, by number."""

    def size(self, shard: int) -> int:
        """How many bytes one has."""
        ...

    def fill(self, shard: int, begin: int, view: memoryview) -> object:
        """Reads bytes of one into memory."""
        ...


def read_value(entry: Entry, name: str, files: Files) -> Value:
    """The value of a variable of a checkpoint, by what its index says of it.

    Raises:
        DataLossError: its bytes are damaged.
    """
    if not entry.parts:
        return _whole(entry, name, files)
    values = [(part.place, _whole(part.entry, name, files)) for part in entry.parts]
    if entry.dtype is dt.string:
        joined: Value = np.full(entry.shape, b"", object)
    else:
        joined = torch.zeros(entry.shape, dtype=TORCH_DTYPE[entry.dtype])
    for place, value in values:
        joined[place] = value
    return joined


def _whole(entry: Entry, name: str, files: Files) -> Value:
    if entry.begin + entry.size > files.size(entry.shard):
        raise DataLossError(
            f"Variable {shown(name, 300)} is damaged: it is at bytes {entry.begin} to {entry.begin + entry.size} of a "
            f"file of {files.size(entry.shard)}. Use an older checkpoint."
        )
    if entry.dtype is dt.string:
        return _strings(entry, name, files)
    vessel = Vessel(entry.dtype, entry.shape, entry.size, name)
    files.fill(entry.shard, entry.begin, vessel.view)
    _check(np.frombuffer(vessel.view.toreadonly(), np.uint8), entry, name)
    return vessel.value()


def _check(content: Any, entry: Entry, name: str) -> None:
    if masked_crc32c(content) != entry.crc32:
        raise DataLossError(
            f"Variable {shown(name, 300)} is damaged: the checksum of its {entry.size} bytes is not the one they were "
            "saved with. Use an older checkpoint."
        )


def _strings(entry: Entry, name: str, files: Files) -> Value:
    """Strings: how long each is, a checksum of that, their bytes. For checksums lengths are of four or eight bytes."""
    content = bytearray(entry.size)
    files.fill(entry.shard, entry.begin, memoryview(content))
    cursor = Cursor(bytes(content))
    try:
        lengths = [cursor.varint() for _ in range(math.prod(entry.shape))]
        check = cursor.take(4)
        texts = [cursor.take(length) for length in lengths]
    except DataLossError as error:
        raise DataLossError(f"The strings of {shown(name, 300)} are damaged: {error}.") from None
    counted = b"".join(length.to_bytes(4 if length < 2**32 else 8, "little") for length in lengths)
    _check(counted + check + b"".join(texts), entry, name)
    return strings_of(texts, entry.shape, name)
