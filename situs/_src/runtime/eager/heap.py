"""Host memory between the runs of a graph: the next run reuses what one run has freed.

glibc returns a large block to the system as soon as it is freed and requests it again in the next run, which then gets
zeroed pages, one page fault at a time. A training step of a small CNN spends a third of its time on that (150 ms, and
104 without). So, when the first graph runs on the CPU, malloc is configured to keep up to ``SITUS_KEEP_HEAP`` of free
memory. Blocks of more than half of that are returned as before.

A program that has configured glibc itself, by its variables, is left alone; so are other C libraries.
"""

from __future__ import annotations

import ctypes
import os

from situs._src.base import locks, settings

# From glibc's malloc.h.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3

_lock = locks.lock()
_is_settled = False


def keep() -> None:
    """Makes malloc keep the memory that graphs free, from the first call on."""
    global _is_settled
    if _is_settled:
        return
    with _lock:
        kept = 0 if _is_settled or settings.chooses_malloc() else settings.keep_heap()
        _is_settled = True
    if kept:
        _tell_malloc(kept)


def _tell_malloc(kept: int) -> bool:
    """Sets how much to keep; False if the C library does not support it."""
    mallopt = _function("mallopt")
    if mallopt is None:
        return False
    most = 2**31 - 1  # an int
    return bool(mallopt(M_MMAP_THRESHOLD, min(kept // 2, most)) and mallopt(M_TRIM_THRESHOLD, min(kept, most)))


def give_back() -> None:
    """Returns the memory that malloc keeps to the system."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def _function(name: str) -> ctypes._NamedFuncPointer | None:
    """A function of glibc; None where the C library is another one."""
    if os.name != "posix":
        return None
    try:
        library = ctypes.CDLL(None)
        return getattr(library, name) if hasattr(library, "gnu_get_libc_version") else None
    except OSError:
        return None
