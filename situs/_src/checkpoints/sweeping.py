"""Cleaning up after killed writers.

A draft that is not locked belongs to a dead writer: `sweep` deletes it. If it is an index, it also names the shards
that its writer had published, and those are deleted too, unless the current checkpoint uses them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from situs._src.base.drafts import is_at, is_draft, lock
from situs._src.base.errors import OpError
from situs._src.checkpoints.index import LARGEST, MARK, Index
from situs._src.checkpoints.layout import index_path, shard_path, shards_on_disk
from situs._src.checkpoints.opening import read_plain
from situs._src.checkpoints.tensorflow_index import index_in


def sweep(folder: Path) -> None:
    """Deletes the drafts of dead writers in a folder, and what they had published without an index."""
    with suppress(OSError):
        for name in [entry.name for entry in os.scandir(folder) if is_draft(entry.name)]:
            with suppress(OSError), _claimed(folder / name) as number:
                if number is not None:
                    _delete_draft(folder / name, number)


def _delete_draft(draft: Path, number: int) -> None:
    if os.pread(number, len(MARK), 0) == MARK:
        with suppress(OpError, ValueError):  # it was not finished, or has a name that cannot be one
            index = Index.from_bytes(os.pread(number, LARGEST, 0), draft)
            prefix = draft.parent / index.name
            shards = [shard_path(prefix, shard.file) for shard in index.shards]
            if prefix.parent == draft.parent and not delete_unused(prefix, shards):  # else it is not one of ours
                return  # what cannot be deleted now is not forgotten
    draft.unlink(missing_ok=True)


def delete_unused(prefix: Path, shards: Iterable[Path]) -> bool:
    """Deletes shards that the checkpoint of this prefix does not use; whether none is left that it does not use.

    Those that are being written stay.
    """
    used = _used_by(prefix)
    left = [path for path in shards if path not in used and not _deleted(path, prefix)]
    return not left


def _deleted(path: Path, prefix: Path) -> bool:
    """Whether a shard is gone, or is used after all.

    A writer has its shards locked until its index stands. So the index is read once more when the shard is claimed: it
    may be that of a writer who was not done when it was read before.
    """
    try:
        with _claimed(path) as number:
            if number is not None and path not in _used_by(prefix):
                path.unlink(missing_ok=True)
            return number is not None
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _used_by(prefix: Path) -> set[Path]:
    """The shards of the checkpoint that has this prefix; everything that looks like one, if its index is damaged."""
    path = index_path(prefix)
    if not os.path.lexists(path):
        return set()
    try:
        return {shard_path(prefix, shard.file) for shard in index_in(read_plain(path, LARGEST), path).shards}
    except (OpError, OSError):
        return set(shards_on_disk(prefix))


@contextmanager
def _claimed(path: Path) -> Iterator[int | None]:
    """The descriptor of an open file that is not locked by others; None if it is."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield number if lock(number) and is_at(number, path) else None
    finally:
        os.close(number)
