"""C code, compiled at first use with the system's compiler: an optional fast implementation of Python code.

Callers of `library` have a slower implementation with the same results, and use it if there is no library:

    library("philox", source)  ->  the library, loaded   found in the cache, or compiled now, about a second
                               ->  None                  no compiler, SITUS_NO_COMPILER=1, or compiling failed

Compiled libraries are cached in ``situs/c`` in the user's cache folder, one file per source, flags, compiler and CPU:

    philox-5f1c...e0.so           the library
    philox-5f1c...e0.so.sum       its SHA-256: a file that does not have it is compiled again

Most libraries are worth the second of compiling only to a program that has much work for them: `Deferred` uses a cached
one at once, and compiles only after a number of elements.

A file is written under another name and then renamed, so two processes that compile at once each find a whole one. A
folder that others may write to is not used: its contents would run as this user. If nothing can be written, the library
is compiled into a temporary folder, for this process alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from situs._src.base import locks, settings

_FLAGS = (
    "-O3",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-std=c11",
    "-shared",
    "-fPIC",
)
_SECONDS = 120  # for one compilation
F = TypeVar("F")
_lock = locks.lock()
_loaded: dict[tuple[str, str], ctypes.CDLL | None] = {}


def library(
    name: str, source: str, flags: Sequence[str] = (), *, holds_the_lock: bool = False, may_compile: bool = True
) -> ctypes.CDLL | None:
    """The library made of a C source; None where it cannot be made. It is compiled at most once in a process.

    Args:
        name: What its file is called, in letters and underscores.
        source: The text of the source.
        flags: Options for the compiler beside the usual ones.
        holds_the_lock: Whether its functions are called with the interpreter's lock held, as those must be that touch
            Python's objects; else other threads run meanwhile.
        may_compile: Whether to compile it where none is kept, which takes a second or more; else it is None there.
    """
    if settings.no_compiler():
        return None
    key = (name, source)
    with _lock:
        if key not in _loaded:
            loader = ctypes.PyDLL if holds_the_lock else ctypes.CDLL
            found = _made(name, source, (*_FLAGS, *flags), loader, may_compile)
            if found is None and not may_compile:
                return None
            _loaded[key] = found
        return _loaded[key]


class Deferred(Generic[F]):
    """The functions of a library as soon as they are worth it: kept ones at once, else compiled after so many elements.

    A program with only a few hundred elements should not wait for a compiler.
    """

    def __init__(
        self,
        name: str,
        source: str,
        declare: Callable[[ctypes.CDLL], F],
        worth_compiling: int,
        flags: Sequence[str] = (),
        *,
        holds_the_lock: bool = False,
    ) -> None:
        """Nothing is looked for yet.

        Args:
            name: What the library's file is called, as for `library`.
            source: The text of the source.
            declare: Makes of the library what callers use, such as functions whose argument types are told.
            worth_compiling: The elements that a process has seen when it compiles.
            flags: Options for the compiler beside the usual ones.
            holds_the_lock: Whether its functions are called with the interpreter's lock held.
        """
        self._name, self._source, self._declare, self._flags = name, source, declare, tuple(flags)
        self._worth_compiling, self._holds_the_lock = worth_compiling, holds_the_lock
        self._functions: F | None = None
        self._seen = 0  # elements; -1 when there is nothing left to ask for

    def functions(self, elements: int) -> F | None:
        """The functions for so many elements, if they are there."""
        if settings.no_compiler():
            return None
        if self._functions is None and self._seen >= 0:
            first, self._seen = self._seen == 0, self._seen + elements
            if first or self._seen >= self._worth_compiling:
                self._ask(may_compile=self._seen >= self._worth_compiling)
        return self._functions

    def _ask(self, may_compile: bool) -> None:
        found = library(
            self._name, self._source, self._flags, holds_the_lock=self._holds_the_lock, may_compile=may_compile
        )
        if found is not None:
            self._functions = self._declare(found)
        elif may_compile:
            self._seen = -1


def _made(
    name: str, source: str, flags: tuple[str, ...], loader: type[ctypes.CDLL], may_compile: bool
) -> ctypes.CDLL | None:
    compiler = _compiler()
    if compiler is None:
        return None
    folder = own_folder("c")
    if folder is not None:
        file = folder / f"{name}-{_digest(source, flags, compiler)}.so"
        found = _load(file, loader)
        if found is None and may_compile and _compile(compiler, source, flags, file):
            found = _load(file, loader)
        if found is not None:
            return found
    if not may_compile:
        return None
    with tempfile.TemporaryDirectory(prefix="situs-") as made:  # a library stays loaded when its file is gone
        file = Path(made) / f"{name}.so"
        return _load(file, loader) if _compile(compiler, source, flags, file) else None


def _compiler() -> str | None:
    if os.name != "posix":
        return None
    return next((found for found in map(shutil.which, ("cc", "gcc", "clang")) if found), None)


def _digest(source: str, flags: tuple[str, ...], compiler: str) -> str:
    """What the library depends on: ``-march=native`` makes instructions that another CPU may not have."""
    known = Path(compiler).stat()
    parts = (source, *flags, compiler, str(known.st_size), str(known.st_mtime_ns), platform.machine(), _instructions())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _instructions() -> str:
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(("flags", "Features", "isa")):
                return line
    return platform.processor()


def own_folder(name: str) -> Path | None:
    """A folder for code in the user's cache folder, if it belongs to this user alone; None if there is none.

    Args:
        name: Of the folder; a path stands for itself.
    """
    folder = Path(settings.cache_folder()) / "situs" / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
    except OSError:
        return None
    return folder if about.st_uid == os.getuid() and not about.st_mode & 0o022 else None


def _load(file: Path, loader: type[ctypes.CDLL] = ctypes.CDLL) -> ctypes.CDLL | None:
    """A library whose file is whole; None if it is not there, or damaged."""
    try:
        expected = _sum_file(file).read_text(encoding="ascii")
        if hashlib.sha256(file.read_bytes()).hexdigest() != expected:
            return None
        return loader(str(file))
    except (OSError, UnicodeDecodeError):
        return None


def _compile(compiler: str, source: str, flags: tuple[str, ...], file: Path) -> bool:
    """Compiles a source into a file; whether it is there then."""
    try:
        with tempfile.TemporaryDirectory(prefix=".making-", dir=file.parent) as made:
            text, result = Path(made) / "source.c", Path(made) / "result.so"
            text.write_text(source, encoding="utf-8")
            command = [compiler, *flags, "-o", str(result), str(text), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL)
            check = Path(made) / "sum"
            check.write_text(hashlib.sha256(result.read_bytes()).hexdigest(), encoding="ascii")
            result.replace(file)
            check.replace(_sum_file(file))
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def _sum_file(file: Path) -> Path:
    return file.with_name(file.name + ".sum")
