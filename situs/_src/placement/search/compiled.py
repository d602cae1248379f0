"""``fast.c`` as functions, where there is a C compiler: built on first use, kept in the user's cache.

    source, compiler, machine -> KEY;  what was built -> DIGEST     ~/.cache/situs/placement-KEY-DIGEST.so

What is built is written beside its name and then renamed, so that two processes that build at once both succeed. The
digest of its bytes is in its name: a file that was cut short or changed is never loaded, but built again. So is one
that belongs to another user or that others may write to. Without a compiler, without a folder that can be written to,
or with ``SITUS_COMPILED_SEARCH=0``, `library` returns None and `pure.py` does the same work more slowly.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np

from situs._src.base import settings
from situs._src.base.locks import lock
from situs._src.placement.search.flat import Flat, Ints
from situs._src.placement.search.problem import Objective
from situs._src.placement.search.schedule import CODES, Found, Schedule

SOURCE = Path(__file__).with_name("fast.c")
VERSION = 1  # what situs_version returns
FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")
PATIENCE = 120.0  # seconds for the compiler

_lock = lock()
_loaded: dict[str, Library | None] = {}


class _CSchedule(ctypes.Structure):
    _fields_ = (
        ("moves", ctypes.c_int64),
        ("warm", ctypes.c_double),
        ("cold", ctypes.c_double),
        ("soft", ctypes.c_double),
        ("hard", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("objective", ctypes.c_int32),
        ("doublings", ctypes.c_int32),
    )


class _CFound(ctypes.Structure):
    _fields_ = (("value", ctypes.c_double), ("excess", ctypes.c_double), ("tried", ctypes.c_int64))


class _CFlat(ctypes.Structure):
    _fields_ = tuple((field.name, ctypes.c_int32 if field.type == "int" else ctypes.c_void_p) for field in fields(Flat))


class Library:
    """The functions of ``fast.c``. They let other threads run."""

    def __init__(self, path: Path) -> None:
        self._functions = ctypes.CDLL(str(path))
        if self._functions.situs_version() != VERSION:
            raise OSError(f"{path} is of another version.")

    def anneal(self, flat: Flat, schedule: Schedule, place: Ints, stop: Ints) -> Found:
        """As `pure.anneal`."""
        table, found = _as_struct(flat), _CFound()
        asked = _CSchedule(
            schedule.moves,
            schedule.warm,
            schedule.cold,
            schedule.soft,
            schedule.hard,
            schedule.seed,
            CODES[schedule.objective],
            schedule.doublings,
        )
        done = self._functions.situs_anneal(
            ctypes.byref(table), ctypes.byref(asked), _address(place), _address(stop), ctypes.byref(found)
        )
        return _found(done, found)

    def evaluate(self, flat: Flat, objective: Objective, place: Ints) -> Found:
        """As `pure.evaluate`."""
        table, found = _as_struct(flat), _CFound()
        done = self._functions.situs_evaluate(
            ctypes.byref(table), CODES[objective], _address(place), ctypes.byref(found)
        )
        return _found(done, found)


def library() -> Library | None:
    """The compiled functions; None where there are none to be had."""
    if not settings.compiled_search():
        return None
    key = _key()
    with _lock:
        if key not in _loaded:
            _loaded[key] = _find(key) or _build(key)
        return _loaded[key]


def _as_struct(flat: Flat) -> _CFlat:
    values = ((field.name, getattr(flat, field.name)) for field in fields(flat))
    return _CFlat(**{name: value.ctypes.data if isinstance(value, np.ndarray) else value for name, value in values})


def _address(array: Ints) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _found(done: int, found: _CFound) -> Found:
    if not done:
        raise MemoryError("There is no memory left for the search.")
    return Found(found.value, found.excess, found.tried)


def _compiler() -> str | None:
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)


def _key() -> str:
    parts = (SOURCE.read_bytes(), _compiler() or "", " ".join(FLAGS), platform.machine(), platform.system())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _folders() -> Iterator[Path]:
    """Where it may be kept: in the user's cache, or else in a folder of the user's beside temporary files."""
    yield Path(settings.cache_folder()) / "situs"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    yield Path(tempfile.gettempdir()) / f"situs-{user}"


def _find(key: str) -> Library | None:
    for folder in _folders():
        with suppress(OSError):
            for path in sorted(folder.glob(f"placement-{key}-*.so")):
                if _is_ours(folder) and _is_ours(path) and path.stem.endswith(_digest(path.read_bytes())):
                    with suppress(OSError):
                        return Library(path)
    return None


def _is_ours(path: Path) -> bool:
    """Whether nobody else could have written a file."""
    found = path.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _build(key: str) -> Library | None:
    """Builds and keeps it, in the first folder that can be written to."""
    compiler = _compiler()
    if compiler is None:
        return None
    for folder in _folders():
        draft = folder / f"placement-{key}-{os.getpid()}.draft"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(folder):
                continue
            command = [compiler, *FLAGS, "-o", str(draft), str(SOURCE), "-lm"]
            subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)
            draft.chmod(0o700)
            path = folder / f"placement-{key}-{_digest(draft.read_bytes())}.so"
            draft.replace(path)
            return Library(path)
        except (OSError, subprocess.SubprocessError):
            with suppress(OSError):
                draft.unlink()
    return None
