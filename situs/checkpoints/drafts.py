"""Files that get their names when they are complete, and what a killed writer leaves behind.

    draft = Draft(folder)              .situs-0123456789abcdef.tmp, locked for as long as its writer lives
    draft.file.write(...)
    draft.finish()                     the bytes are on the disk
    draft.publish(path)                under its name, which must have been free
    draft.replace(path)                under its name, in place of the file there was

A draft that nobody has locked belongs to a writer that is dead: `sweep` deletes it. If it is an index, it also says
which shards its writer had published for it, and those go too, unless the checkpoint that stands there uses them.
Locks are the kernel's: they end with their process, however it ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from situs.checkpoints.index import LARGEST, MARK, Index
from situs.checkpoints.layout import index_path, shard_path, shards_on_disk
from situs.checkpoints.opening import read_plain
from situs.errors import AbortedError, OpError

_DRAFT = re.compile(r"\.situs-[0-9a-f]{16}\.tmp")
_BUFFER = 2**20
_NO_SYNC = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP}  # file systems that keep folders otherwise
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EACCES}


def draft_path(folder: Path) -> Path:
    """A name for a draft that no other has."""
    return folder / f".situs-{secrets.token_hex(8)}.tmp"


class Draft:
    """A file that has no name of its own yet."""

    def __init__(self, folder: Path) -> None:
        self.path, self.file = _opened(folder)

    def finish(self) -> None:
        """Waits until the bytes are on the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def publish(self, path: Path) -> None:
        """Gives the file a name.

        Raises:
            AbortedError: the name is taken.
        """
        try:
            _name_it(self.path, path)
        except FileExistsError:
            raise AbortedError(
                f"{path} came into being while a checkpoint of that name was written: another process or thread saves "
                "under the same name. What it writes is not touched. Use a name of its own for each."
            ) from None

    def withdraw(self, path: Path) -> None:
        """Takes a name back, if it is this file that has it."""
        with suppress(OSError):
            if _is_at(self.file.fileno(), path):
                path.unlink()

    def replace(self, path: Path) -> None:
        """Gives the file a name, in place of the file that has it."""
        self.path.replace(path)

    def close(self) -> None:
        """Lets the file be, and forgets it if it got no name."""
        with suppress(OSError):  # what a full disk has not taken by now was reported before
            self.file.close()
        with suppress(OSError):  # what stays is swept up by the next save
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _opened(folder: Path) -> tuple[Path, IO[bytes]]:
    """A new file, locked: tried again if `sweep` of another process came between the two."""
    while True:
        path = draft_path(folder)
        file = path.open("xb", buffering=_BUFFER)
        _locked(file.fileno())  # on a file system without locks nobody sweeps either
        if _is_at(file.fileno(), path):
            return path, file
        file.close()


def _name_it(draft: Path, path: Path) -> None:
    """Gives a file a name that is free, besides its own; where there are no links, the name is only looked at."""
    try:
        os.link(draft, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        draft.rename(path)


def sync_folder(folder: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file of which readers see the old content or the new, never a part, whatever happens."""
    with Draft(path.parent) as draft:
        draft.file.write(content)
        draft.finish()
        draft.replace(path)
        sync_folder(path.parent)


# What is left behind.


def sweep(folder: Path) -> None:
    """Deletes the drafts of dead writers in a folder, and what they had published without an index."""
    with suppress(OSError):
        for name in [entry.name for entry in os.scandir(folder) if _DRAFT.fullmatch(entry.name)]:
            with suppress(OSError), _claimed(folder / name) as number:
                if number is not None:
                    _delete_draft(folder / name, number)


def _delete_draft(draft: Path, number: int) -> None:
    if os.pread(number, len(MARK), 0) == MARK:
        with suppress(OpError, ValueError):  # it was not finished, or has a name that cannot be one
            index = Index.from_bytes(os.pread(number, LARGEST, 0), draft)
            prefix = draft.parent / index.name
            shards = [shard_path(prefix, shard.file) for shard in index.shards]
            if prefix.parent == draft.parent and not delete_unused(prefix, shards):  # else it is none of ours
                return  # what cannot be deleted now is not forgotten
    draft.unlink(missing_ok=True)


def delete_unused(prefix: Path, shards: Iterable[Path]) -> bool:
    """Deletes shards that the checkpoint of this prefix does not use; whether none is left that it does not use.

    Those that somebody is writing stay.
    """
    used = _used_by(prefix)
    left = [path for path in shards if path not in used and not _deleted(path)]
    return not left


def _deleted(path: Path) -> bool:
    try:
        with _claimed(path) as number:
            if number is not None:
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
        return {shard_path(prefix, shard.file) for shard in Index.from_bytes(read_plain(path, LARGEST), path).shards}
    except (OpError, OSError):
        return set(shards_on_disk(prefix))


@contextmanager
def _claimed(path: Path) -> Iterator[int | None]:
    """The number of an open file that nobody else has locked; None if somebody has."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield number if _locked(number) and _is_at(number, path) else None
    finally:
        os.close(number)


def _locked(number: int) -> bool:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody else has locked it; or nobody can, and then who knows
        return False
    return True


def _is_at(number: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
