"""Paths given by programs, resolved on this machine, and errors of the operating system.

local("file:///tmp/x")      Path("/tmp/x")
local("gs://bucket/x")      UnimplementedError
ENOENT                      NotFoundError: /tmp/x; No such file or directory
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from situs._src.base.errors import (
    AlreadyExistsError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.typing import PathLike


@export("io.gfile.join")
def join(path: PathLike, *paths: Any) -> Any:
    """Parts of a path as one, with slashes between them; a part that begins with a slash starts again."""
    parts = [os.fspath(part) if isinstance(part, os.PathLike) else part for part in (path, *paths)]
    if not all(isinstance(part, type(parts[0])) and isinstance(part, (str, bytes)) for part in parts):
        raise DTypeError(f"The parts of a path must all be str or all be bytes, got {(path, *paths)!r}")
    return posixpath.join(*parts)


@export("io.gfile.get_registered_schemes")
def get_registered_schemes() -> list[str]:
    """The kinds of paths that can be used: local ones, with or without ``file://``."""
    return ["", "file"]


def as_text(path: PathLike) -> str:
    """A path as a string.

    Raises:
        TypeError: it is not a string, bytes or path.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise DTypeError(f"Expected binary or unicode string, got {path!r}")
    return os.fsdecode(path)


def as_texts(paths: Any, what: str) -> list[str]:
    """Paths as strings.

    Args:
        paths: A list of them, or anything else that gives them one by one.
        what: What they are, for the message.

    Raises:
        TypeError: this is not a list, or something else is in it.
    """
    try:
        items = None if isinstance(paths, (str, bytes)) else iter(paths)
    except TypeError:
        items = None
    if items is None:
        raise DTypeError(f"{what} are given as a list of paths, got {shown(paths)}.")
    return [as_text(path) for path in items]


def local(path: PathLike) -> Path:
    """The place of a path on this machine.

    Raises:
        UnimplementedError: it is on another machine.
        NotFoundError: it is empty.
    """
    text = without_scheme(as_text(path))
    if not text:  # Path("") would be the current folder
        raise NotFoundError("The path is empty; No such file or directory")
    return Path(text)


def without_scheme(text: str) -> str:
    """A path without its ``file://``, if it has one.

    Raises:
        UnimplementedError: it has another scheme.
    """
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text)
    if found is None:
        return text
    if found[1] != "file":
        raise UnimplementedError(
            f"File system scheme '{found[1]}' not implemented (file: '{text}'). Only files of this machine can be "
            "used: mount the file system, or copy what is needed."
        )
    return text[found.end() :]


# Errors.


@contextmanager
def translated(path: PathLike) -> Iterator[None]:
    """A context in which the operating system's errors become those of `base.errors`."""
    try:
        yield
    except OpError:
        raise
    except OSError as error:
        raise as_op_error(error, path) from error
    except ValueError as error:  # a NUL in the path
        raise InvalidArgumentError(f"{as_text(path)!r} cannot be a path: {error}") from error


def as_op_error(error: OSError, path: PathLike) -> OpError:
    """What an error of the operating system is called here."""
    cls = _BY_ERRNO.get(error.errno or 0, UnknownError)
    named = path if error.filename is None else error.filename
    return cls(f"{as_text(named)}; {error.strerror or error}")


_BY_ERRNO: dict[int, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EINVAL: InvalidArgumentError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.ELOOP: InvalidArgumentError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
}
