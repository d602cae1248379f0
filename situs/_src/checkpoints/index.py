"""The index of a checkpoint: every variable with its shard and offset, and checksums of everything.

    {"crc32":"1b2c3d4e","format":"situs checkpoint","version":1,"name":"model-3",
     "shards":[{"file":"data-00000-of-00001.safetensors","size":176,"header":152,"crc32":...}],
     "variables":{"w":{"dtype":"float32","shape":[2,3],"shard":0,"begin":152,"size":24,"crc32":...,"device":...}}}

The first member is the checksum of all that follows it. The result of `Index.from_bytes` is consistent: shard names
stay within the checkpoint, sizes match dtypes and shapes, no two variables overlap. Damaged bytes are a
`DataLossError`; an inconsistent index with the right checksum is an `InvalidArgumentError`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from situs._src.base.dtype import ALL, DType
from situs._src.base.errors import DataLossError, InvalidArgumentError, UnimplementedError, shown
from situs._src.checkpoints.layout import MOST_SHARDS, is_shard_file
from situs._src.checkpoints.strict_json import NotStrictError, loads

FORMAT = "situs checkpoint"
VERSION = 1
LARGEST = 64 * 2**20  # bytes of an index: some 300,000 variables
HIGHEST_RANK = 254
MARK = b'{"crc32":"'  # how every index begins
_BODY = len(MARK) + len('01234567",')  # where what the checksum covers begins
_DTYPES = {dtype.name: dtype for dtype in ALL}


@dataclass(frozen=True, slots=True)
class Shard:
    """One file of values: its name, its bytes in all, and those of the header that begins it."""

    file: str
    size: int | None  # None if the index does not say
    header: int
    crc32: int  # of the header; every value has its own


@dataclass(frozen=True, slots=True)
class Entry:
    """One variable: what it is, where its bytes are, and the device it was on."""

    dtype: DType
    shape: tuple[int, ...]
    shard: int
    begin: int  # in the file
    size: int
    crc32: int
    device: str
    parts: tuple[Part, ...] = ()  # of one that TensorFlow has cut; the place of the bytes is theirs then

    @property
    def in_shards(self) -> set[int]:
        """The shards with its bytes."""
        return {part.entry.shard for part in self.parts} or {self.shard}


class Part(NamedTuple):
    """A part of a variable: where it is in the whole, and where its bytes are."""

    place: tuple[slice, ...]
    entry: Entry


@dataclass(frozen=True, slots=True)
class Index:
    """All of a checkpoint but the values; `name` is what it was saved as."""

    name: str
    shards: tuple[Shard, ...]
    entries: Mapping[str, Entry]
    is_tensorflows: bool = False  # whether TensorFlow has written it, see `tensorflow_index`
    unreadable: Mapping[str, str] = field(default_factory=dict)  # of TensorFlow's: why, by the name of the variable

    def to_bytes(self) -> bytes:
        """The index as it is written."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "shards": [{"file": s.file, "size": s.size, "header": s.header, "crc32": s.crc32} for s in self.shards],
            "variables": {name: _as_json(entry) for name, entry in self.entries.items()},
        }
        body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
        return MARK + b'%08x",' % zlib.crc32(body[1:]) + body[1:]

    @staticmethod
    def from_bytes(content: bytes, source: object) -> Index:
        """The index that was written as these bytes; `source` is what errors call it.

        Raises:
            DataLossError: the bytes are damaged, or are no index.
            InvalidArgumentError: it contradicts itself.
            UnimplementedError: it is of another version.
        """
        _check_whole(content, source)
        try:
            return _index(loads(content))
        except (_WrongError, NotStrictError) as error:
            raise InvalidArgumentError(f"{source} is not an index that can be used: {error}.") from None


def _as_json(entry: Entry) -> dict[str, Any]:
    return {
        "dtype": entry.dtype.name,
        "shape": list(entry.shape),
        "shard": entry.shard,
        "begin": entry.begin,
        "size": entry.size,
        "crc32": entry.crc32,
        "device": entry.device,
    }


# Reading.


class _WrongError(Exception):
    """Says what is wrong with an index."""


def _check_whole(content: bytes, source: object) -> None:
    if not content.startswith(MARK) or content[_BODY - 2 : _BODY] != b'",':
        what = "is empty" if not content else "is damaged, or no index of a checkpoint"
        raise DataLossError(f"{source} {what}: it has {len(content)} bytes, which do not begin as an index does.")
    if content[len(MARK) : _BODY - 2] != b"%08x" % zlib.crc32(content[_BODY:]):
        raise DataLossError(f"{source} is damaged: its checksum is not that of its content. Use an older checkpoint.")


def _index(content: dict[str, Any]) -> Index:
    if content.get("format") != FORMAT:
        raise _WrongError(f"its format is {shown(content.get('format'))}")
    if content.get("version") != VERSION:
        raise UnimplementedError(
            f"The checkpoint is of version {shown(content.get('version'))} of the format, and this version of Situs "
            f"reads version {VERSION}. Use the version that wrote it, or save it again with that."
        )
    shards = tuple(map(_shard, _member(content, "shards", list)))
    if len(shards) > MOST_SHARDS or len({shard.file for shard in shards}) != len(shards):
        raise _WrongError(f"it names {len(shards)} shards, too many or one of them twice")
    entries = {name: _entry(name, entry, shards) for name, entry in _member(content, "variables", dict).items()}
    check_apart(entries.values())
    return Index(_member(content, "name", str), shards, entries)


def _shard(content: object) -> Shard:
    file = _member(content, "file", str)
    if not is_shard_file(file):
        raise _WrongError(f"it calls a shard {shown(file)}, which could lead anywhere")
    size = _count(content, "size")
    found = Shard(file, size, _count(content, "header"), _count(content, "crc32"))
    if found.header > size:
        raise _WrongError(f"the header of {file} is longer than the file")
    return found


def _entry(name: str, content: Any, shards: tuple[Shard, ...]) -> Entry:
    try:
        dtype = _DTYPES.get(_member(content, "dtype", str))
        if dtype is None:
            raise _WrongError(f"the dtype {shown(content['dtype'])} is not known")
        shape = _shape(_member(content, "shape", list))
        shard, begin, size, crc32 = (_count(content, key) for key in ("shard", "begin", "size", "crc32"))
        found = Entry(dtype, shape, shard, begin, size, crc32, _member(content, "device", str))
        _check_place(found, shards)
    except _WrongError as error:
        raise _WrongError(f"variable {shown(name)}: {error}") from None
    return found


def _check_place(entry: Entry, shards: tuple[Shard, ...]) -> None:
    if entry.shard >= len(shards):
        raise _WrongError(f"there is no shard {entry.shard}")
    shard = shards[entry.shard]
    if not shard.header <= entry.begin <= entry.begin + entry.size <= (shard.size or 0):
        raise _WrongError(f"bytes {entry.begin} to {entry.begin + entry.size} are not among the values of {shard.file}")
    count = math.prod(entry.shape)
    fits = entry.size >= 8 * (count + 1) if entry.dtype.name == "string" else entry.size == count * entry.dtype.size
    if not fits:
        raise _WrongError(f"{entry.size} bytes are no {entry.dtype.name} values of shape {shown(list(entry.shape))}")


def check_apart(entries: Iterable[Entry]) -> None:
    """Checks that no two variables share bytes: small files must not stand for much memory."""
    ends: dict[int, int] = {}
    for entry in sorted(entries, key=attrgetter("shard", "begin", "size")):
        if entry.begin < ends.get(entry.shard, 0):
            raise _WrongError(f"two variables share byte {entry.begin} of shard {entry.shard}")
        ends[entry.shard] = entry.begin + entry.size


def _shape(sizes: list[Any]) -> tuple[int, ...]:
    if len(sizes) > HIGHEST_RANK or not all(type(size) is int and 0 <= size < 2**63 for size in sizes):
        raise _WrongError(f"{shown(sizes)} is no shape")
    return tuple(sizes)


def _member(content: object, key: str, kind: type) -> Any:
    found = content.get(key) if isinstance(content, dict) else None
    if type(found) is not kind:
        raise _WrongError(f"{key!r} is {shown(found)}")
    return found


def _count(content: object, key: str) -> int:
    found = _member(content, key, int)
    if not 0 <= found < 2**63:
        raise _WrongError(f"{key!r} is {found}")
    return found  # type: ignore[no-any-return]
