"""Writing reports to files: the format depends on the file extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from situs._src.base.drafts import write_named
from situs._src.base.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, PermissionDeniedError
from situs._src.base.typing import PathLike
from situs._src.files.paths import local, translated

SUFFIXES = (".svg", ".html", ".json")


def write(path: PathLike, as_text: Mapping[str, Callable[[], str]]) -> None:
    """Writes a report to a file.

    Args:
        path: The file; what it held is replaced.
        as_text: How to make the text for each end of a file's name.

    Raises:
        ValueError: its name ends in none of these.
        OpError: it cannot be written.
    """
    file = _with_known_suffix(path, as_text)
    text = as_text[file.suffix.lower()]()
    with translated(path):
        write_named(file, text + "\n")


def check_writable(path: PathLike) -> Path:
    """Raises what `write` would, as far as it can be known before there is anything to write.

    Returns:
        The file, wherever the program goes until it is written.
    """
    _with_known_suffix(path, SUFFIXES)
    return place_to_write(path)


def place_to_write(path: PathLike) -> Path:
    """The absolute path of a file of any kind that will be written later.

    Raises:
        OpError: it cannot be written.
    """
    file = local(path)
    with translated(path):
        if file.is_dir():
            raise FailedPreconditionError(f"{file}; it is a folder.")
        if not file.parent.is_dir():
            raise NotFoundError(f"{file}; there is no folder {file.parent} to write it to.")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise PermissionDeniedError(f"{file}; it may not be written.")
        return file.absolute()


def _with_known_suffix(path: PathLike, suffixes: Iterable[str]) -> Path:
    file = local(path)
    if file.suffix.lower() not in suffixes:
        known = ", ".join(SUFFIXES)
        raise InvalidArgumentError(
            f"Cannot tell what to write to {str(file)!r}: its name should end in one of {known}."
        )
    return file
