"""Writing values into the files of a checkpoint.

    1. shards      written as drafts, one per device, in parallel
    2. index       written as a draft; it has the names and checksums of the shards
    3. publish     the shards are renamed; nothing refers to them yet
    4. replace     the index is renamed: the checkpoint exists, or has replaced the old one
    5. tidy up     shards of the old one are deleted

A failure before 4 leaves the old checkpoint intact, and after 4 there is the new one. Shards are safetensors files,
written here value by value: the library needs all of them in host memory at once.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from situs._src.base.drafts import Draft, sync_folder
from situs._src.base.dtype import DType
from situs._src.base.errors import AbortedError, InvalidArgumentError, shown
from situs._src.checkpoints.checksum import Checksum, beside
from situs._src.checkpoints.encoding import alignment, pieces, size_of, stored_as
from situs._src.checkpoints.index import LARGEST, Entry, Index, Shard
from situs._src.checkpoints.layout import index_path, shard_file, shard_path, shards_on_disk
from situs._src.checkpoints.sweeping import delete_unused, sweep
from situs._src.files.paths import translated
from situs._src.runtime.eager.bridge import Value

_SIDE_BY_SIDE = 8  # shards
_RESERVED = "__metadata__"  # what safetensors files call their own remarks


@dataclass(frozen=True)
class Saved:
    """One value to be saved: its name, its dtype, the value as kernels have it, and the device that has it."""

    name: str
    dtype: DType
    value: Value
    device: str


def write(prefix: Path, values: Sequence[Saved], sharded: bool = True) -> Index:
    """Writes a checkpoint, all of it or nothing.

    Args:
        prefix: The part that its files have in common.
        values: What to save.
        sharded: Whether the values of each device go into a file of their own.

    Raises:
        OpError: the disk is full, the folder is not there or must not be written, a name is too long.
    """
    _check_names(values)
    with translated(prefix):
        sweep(prefix.parent)
        groups = _by_device(values) if sharded else [list(values)]
        files = _free_files(prefix, len(groups))
        with ExitStack() as stack:
            drafts = [stack.enter_context(Draft(prefix.parent)) for _ in groups]
            parts = _side_by_side(_write_shard, drafts, groups, files)
            index = _index(prefix, parts)
            draft = stack.enter_context(Draft(prefix.parent))
            _write_index(draft, index)
            _commit(prefix, index, drafts, draft)
        with suppress(OSError):
            delete_unused(prefix, shards_on_disk(prefix))
    return index


def _check_names(values: Sequence[Saved]) -> None:
    for saved in values:
        try:
            saved.name.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(f"{shown(saved.name)} cannot be the name of a variable: {error}.") from None
        if saved.name == _RESERVED:
            raise InvalidArgumentError(f"{_RESERVED!r} cannot be the name of a variable in a checkpoint.")


def _by_device(values: Sequence[Saved]) -> list[list[Saved]]:
    groups: dict[str, list[Saved]] = {}
    for saved in values:
        groups.setdefault(saved.device, []).append(saved)
    return [groups[device] for device in sorted(groups)] or [[]]


def _free_files(prefix: Path, count: int) -> list[str]:
    """What to call the shards: names of their own, if an older checkpoint has the simple ones."""
    files = [shard_file(number, count) for number in range(count)]
    paths = [index_path(prefix), *(shard_path(prefix, file) for file in files)]
    if any([_is_taken(path) for path in paths][1:]):
        token = secrets.token_hex(4)
        files = [shard_file(number, count, token) for number in range(count)]
    return files


def _is_taken(path: Path) -> bool:
    try:
        os.lstat(path)  # and not `lexists`: a name that is too long is to be found out before anything is written
    except FileNotFoundError:
        return False
    return True


def _side_by_side(function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
    if len(arguments[0]) == 1:
        return [function(*(argument[0] for argument in arguments))]
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="situs-shard") as pool:
        return list(pool.map(function, *arguments))


# A shard.

_Part = tuple[Shard, dict[str, Entry]]


def _write_shard(draft: Draft, values: list[Saved], file: str) -> _Part:
    """Writes a safetensors file; numbers of 8 bytes come first, so that all of them lie at multiples of their size."""
    values = sorted(values, key=lambda saved: -alignment(saved.dtype))
    sizes = [size_of(saved.value) for saved in values]
    header = _header(values, sizes)
    checksum = Checksum()
    checksum.update(header)
    draft.file.write(header)
    entries, begin = {}, len(header)
    with beside(sum(sizes)) as pool:
        for saved, size in zip(values, sizes, strict=True):
            crc = _write_value(draft, saved.value, pool)
            shape = tuple(int(length) for length in saved.value.shape)
            entries[saved.name] = Entry(saved.dtype, shape, 0, begin, size, crc, saved.device)
            begin += size
    draft.finish()
    return Shard(file, begin, len(header), checksum.value), entries


def _header(values: Iterable[Saved], sizes: Iterable[int]) -> bytes:
    """How a safetensors file begins: the length of the JSON that follows, and that."""
    content: dict[str, Any] = {_RESERVED: {"producer": "situs"}}
    begin = 0
    for saved, size in zip(values, sizes, strict=True):
        dtype, shape = stored_as(saved.dtype, saved.value.shape, size)
        content[saved.name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _write_value(draft: Draft, value: Value, pool: Executor | None) -> int:
    checksum = Checksum(pool)
    for piece in pieces(value):
        checksum.update(piece)
        draft.file.write(piece)
    return checksum.value


# The whole.


def _index(prefix: Path, parts: Sequence[_Part]) -> Index:
    entries = {
        name: Entry(entry.dtype, entry.shape, number, entry.begin, entry.size, entry.crc32, entry.device)
        for number, (_, found) in enumerate(parts)
        for name, entry in found.items()
    }
    shards = tuple(shard for shard, _ in parts)
    return Index(prefix.name, shards, {name: entries[name] for name in sorted(entries)})


def _write_index(draft: Draft, index: Index) -> None:
    content = index.to_bytes()
    if len(content) > LARGEST:
        raise InvalidArgumentError(
            f"A checkpoint of {len(index.entries)} variables would have an index of {len(content)} bytes, and one of "
            f"more than {LARGEST} is not read. Save parts of them by themselves."
        )
    draft.file.write(content)
    draft.finish()


def _commit(prefix: Path, index: Index, shards: Sequence[Draft], draft: Draft) -> None:
    paths = [shard_path(prefix, shard.file) for shard in index.shards]
    try:
        for shard, path in zip(shards, paths, strict=True):
            _publish(shard, path)
        sync_folder(prefix.parent)
        draft.replace(index_path(prefix))
    except BaseException:
        if draft.path.exists():  # the index has no name, so nothing has come into being
            for shard, path in zip(shards, paths, strict=True):
                shard.withdraw(path)
        raise
    sync_folder(prefix.parent)


def _publish(shard: Draft, path: Path) -> None:
    try:
        shard.publish(path)
    except FileExistsError:
        raise AbortedError(
            f"{path} came into being while a checkpoint of that name was written: another process or thread saves "
            "under the same name. What it writes is not touched. Use a name of its own for each."
        ) from None
