"""Folders and whole files: queries, listing, copying, deleting; the functions of ``tf.io.gfile``.

    makedirs("run/1")
    glob("run/*")        ["run/1"]

Listings are sorted, so that programs are deterministic.
"""

from __future__ import annotations

import glob as globbing
import os
import posixpath
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from situs._src.base.errors import AlreadyExistsError, FailedPreconditionError, NotFoundError
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import as_op_error, as_text, local, translated, without_scheme

# Questions.


@export("io.gfile.exists")
def exists(path: PathLike) -> bool:
    """Whether there is a file or folder of this name."""
    return bool(as_text(path)) and _known(Path.exists, path)


@export("io.gfile.isdir")
def isdir(path: PathLike) -> bool:
    """Whether this is a folder."""
    return bool(as_text(path)) and _known(Path.is_dir, path)


def _known(question: Callable[[Path], bool], path: PathLike) -> bool:
    with translated(path):
        return question(local(path))


@dataclass(frozen=True)
class FileStatistics:
    """What `stat` tells: the size in bytes, when the contents last changed, and whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


@export("io.gfile.stat")
def stat(path: PathLike) -> FileStatistics:
    """Size, time of the last change and kind of a file.

    Raises:
        NotFoundError: there is none.
    """
    with translated(path):
        found = local(path).stat()
        return FileStatistics(found.st_size, found.st_mtime_ns, local(path).is_dir())


@export("io.gfile.listdir")
def listdir(path: PathLike) -> list[str]:
    """The names in a folder, sorted.

    Raises:
        NotFoundError: there is no such folder.
    """
    if not isdir(path):
        raise NotFoundError(f"Could not find directory {as_text(path)}")
    with translated(path):
        return sorted(entry.name for entry in local(path).iterdir())


@export("io.gfile.glob")
def glob(pattern: Any) -> list[str]:
    """The paths that fit a pattern, or one of several: ``*`` and ``?`` stop at slashes, ``[abc]`` is one of these."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return [path for one in patterns for path in _matches(as_text(one))]


def _matches(pattern: str) -> list[str]:
    if not pattern:
        return []
    wanted = without_scheme(pattern)
    if not posixpath.dirname(wanted):
        wanted = f"./{wanted}"  # as TensorFlow gives the names of the current folder
    return sorted(globbing.glob(wanted, include_hidden=True))  # noqa: PTH207 - pathlib's ** goes down by itself


@export("io.gfile.walk")
def walk(top: PathLike, topdown: bool = True, onerror: Any = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Goes through a tree of folders: the path, the folders and the files of each; nothing if there is none.

    Args:
        top: The folder to begin with.
        topdown: Whether a folder comes before those in it.
        onerror: Called with the error when a folder cannot be listed.
    """

    def report(error: OSError) -> None:
        if onerror is not None:
            onerror(as_op_error(error, error.filename))

    start = without_scheme(as_text(top))
    with translated(start):
        for path, folders, files in os.walk(start, topdown, report):
            folders.sort()
            yield path, folders, sorted(files)


# Changes.


@export("io.gfile.mkdir")
def mkdir(path: PathLike) -> None:
    """Makes a folder in one that exists; one that is there already is left as it is."""
    with translated(path):
        if not isdir(path):
            local(path).mkdir()


@export("io.gfile.makedirs")
def makedirs(path: PathLike) -> None:
    """Makes a folder and those above it; one that is there already is left as it is."""
    if not as_text(path):  # the folder of "name.txt", which programs ask for before they write it
        return
    with translated(path):
        if exists(path) and not isdir(path):
            raise FailedPreconditionError(f"{as_text(path)} is not a directory")
        local(path).mkdir(parents=True, exist_ok=True)


@export("io.gfile.remove")
def remove(path: PathLike) -> None:
    """Deletes a file.

    Raises:
        FailedPreconditionError: it is a folder; `rmtree` deletes these.
    """
    with translated(path):
        local(path).unlink()


@export("io.gfile.rmtree")
def rmtree(path: PathLike) -> None:
    """Deletes a folder with all that is in it, or a file."""
    with translated(path):
        target = local(path)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()


@export("io.gfile.copy")
def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copies a file.

    Raises:
        AlreadyExistsError: there is a file at `dst`, and `overwrite` was not asked for.
    """
    _check_free(dst, overwrite)
    with translated(src):
        shutil.copyfile(local(src), local(dst))
        shutil.copymode(local(src), local(dst))


@export("io.gfile.rename")
def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Gives a file or folder another name.

    Raises:
        AlreadyExistsError: `dst` is taken, and `overwrite` was not asked for.
    """
    _check_free(dst, overwrite)
    with translated(src):
        local(src).replace(local(dst))


def _check_free(path: PathLike, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError(f"{as_text(path)}: file already exists; pass overwrite=True to replace it")
