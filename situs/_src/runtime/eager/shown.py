"""Whether a compiler is tracing kernels in this thread: then tensors have shapes, but no elements.

A kernel that has a fast path for what it finds in memory, or calls one of PyTorch's functions that are opaque to a
compiler, checks this first and takes the plain path: the compiler fuses that itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class _Here(threading.local):
    shown = False


_here = _Here()


def is_shown() -> bool:
    """Whether a compiler is tracing."""
    return _here.shown


def number_in(scalar: torch.Tensor) -> Any:
    """The number in a scalar tensor; None if a compiler is tracing, and it is not a constant."""
    try:
        return scalar.item()
    except RuntimeError:
        if not is_shown():
            raise
        return None


@contextmanager
def to_compiler() -> Iterator[None]:
    """Tells kernels that are called inside that a compiler is tracing."""
    before, _here.shown = _here.shown, True
    try:
        yield
    finally:
        _here.shown = before
