"""Atomic file writes: files that get their names when they are complete.

    draft = Draft(folder)              .situs-0123456789abcdef.tmp, locked while its writer is alive
    draft.file.write(...)
    draft.finish()                     the bytes are on the disk
    draft.publish(path)                renamed; the name must have been free
    draft.replace(path)                renamed, replacing an existing file

    write_whole(path, content)         all of that for known content
    write_named(path, content)         the same for a user-given path: reports, plans, pictures

A draft that is not locked belongs to a dead writer.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_DRAFT = re.compile(r"\.situs-[0-9a-f]{16}\.tmp")
_BUFFER = 2**20
_NO_SYNC = {errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOTSUP}  # file systems that keep folders otherwise
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EACCES}


def draft_path(folder: Path) -> Path:
    """A name for a draft that no other has."""
    return folder / f".situs-{secrets.token_hex(8)}.tmp"


def is_draft(name: str) -> bool:
    """Whether a file has the name of a draft."""
    return _DRAFT.fullmatch(name) is not None


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
            FileExistsError: the name is taken.
        """
        _name_it(self.path, path)

    def withdraw(self, path: Path) -> None:
        """Takes a name back, if it is this file that has it."""
        with suppress(OSError):
            if is_at(self.file.fileno(), path):
                path.unlink()

    def replace(self, path: Path) -> None:
        """Gives the file a name, in place of the file that has it."""
        with _errors_about(path):
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
    """A new file, locked: retried if another process takes its writer for dead and deletes it in between."""
    while True:
        path = draft_path(folder)
        with _errors_about(folder):
            file = path.open("xb", buffering=_BUFFER)
        is_claimed = False
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is about to be deleted
            is_claimed = True
        except OSError:  # on a file system without locks nothing is swept either
            pass
        if not is_claimed and is_at(file.fileno(), path):
            return path, file
        file.close()
        path.unlink(missing_ok=True)


@contextmanager
def _errors_about(path: Path) -> Iterator[None]:
    """A context whose errors name this path where they would name a draft, which tells a program nothing."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None


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


def write_named(path: Path, content: str) -> None:
    """Writes a text to a file that a user named: whole or not at all, as `write_whole` does.

    The file that a link leads to is written, and keeps its mode. What is no file, such as a pipe or ``/dev/stdout``, is
    written to as it is.

    Args:
        path: The file.
        content: The text, which may hold halves of characters; these are replaced.
    """
    encoded = content.encode("utf-8", "replace")
    if path.exists() and not path.is_file():
        path.write_bytes(encoded)
        return
    target = path.resolve()
    with Draft(target.parent) as draft:
        if target.exists():
            os.fchmod(draft.file.fileno(), target.stat().st_mode & 0o7777)
        draft.file.write(encoded)
        draft.finish()
        draft.replace(target)
        sync_folder(target.parent)


# Locks.


def lock(number: int) -> bool:
    """Locks an open file; whether that worked. The kernel releases a lock when its process ends, however it does."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked by another process; or locks are not supported
        return False
    return True


def is_at(number: int, path: Path) -> bool:
    """Whether an open file is the one that has this name."""
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False
