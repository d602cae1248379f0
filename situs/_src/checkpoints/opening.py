"""Opening untrusted files: only regular files, and only inside the expected folder.

a pipe, a device          rejected, without blocking
a link out of the folder  rejected: a checkpoint is inside its folder
more bytes than allowed   rejected before reading
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from situs._src.base.errors import InvalidArgumentError


def open_plain(path: Path) -> int:
    """Opens a file for reading and returns its number.

    Raises:
        InvalidArgumentError: it is a link that leads out of its folder, or no ordinary file.
        OSError: the operating system refuses.
    """
    folder, real = os.path.realpath(path.parent), os.path.realpath(path)
    if path.is_symlink() and os.path.dirname(real) != folder:  # noqa: PTH120 - Path.resolve fails on links in circles
        raise InvalidArgumentError(
            f"{path} is a link to {real}, out of the folder of the checkpoint, and is not followed. Copy the file."
        )
    number = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InvalidArgumentError(f"{path} is no ordinary file.")
    return number


def read_plain(path: Path, limit: int) -> bytes:
    """The content of a file.

    Raises:
        InvalidArgumentError: it is not an ordinary file, or has more than `limit` bytes.
        OSError: the operating system refuses.
    """
    number = open_plain(path)
    try:
        size = os.fstat(number).st_size
        if size > limit:
            raise InvalidArgumentError(f"{path} has {size} bytes; such a file has at most {limit}.")
        return os.pread(number, size, 0)
    finally:
        os.close(number)
