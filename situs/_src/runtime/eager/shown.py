"""Whether kernels are being shown to a compiler, in this thread: then tensors have shapes, and no elements.

A kernel that has a quick way for what it finds in memory, or hands its work to one of PyTorch's functions that a
compiler takes as a whole, asks here first and goes the plain way: the compiler fuses that itself.
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
    """Whether a compiler looks on."""
    return _here.shown


def number_in(scalar: torch.Tensor) -> Any:
    """The number in a scalar tensor; None if a compiler looks on, and it is no constant."""
    try:
        return scalar.item()
    except RuntimeError:
        if not is_shown():
            raise
        return None


@contextmanager
def to_compiler() -> Iterator[None]:
    """Lets kernels know, while they are called, that a compiler looks on."""
    before, _here.shown = _here.shown, True
    try:
        yield
    finally:
        _here.shown = before
