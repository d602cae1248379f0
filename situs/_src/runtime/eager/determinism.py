"""Determinism: bitwise reproducible results, or an error where no kernel can provide them.

On the host all kernels are deterministic. On a GPU sums by atomic additions depend on the order in which threads
happen to run; PyTorch has other kernels for most of them, and raises errors for the rest. Random ops must have a seed.
"""

from __future__ import annotations

import os

import torch

_required = False


def is_required() -> bool:
    """Whether ops must be deterministic."""
    return _required


def require() -> None:
    """Makes ops deterministic from here on; programs cannot undo it, as in TensorFlow."""
    global _required
    _required = True
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # PyTorch requires it for products on a GPU
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # all of it is overwritten anyway


def relax() -> None:
    """Undoes `require`, for TensorFlow's tests: programs have no public way."""
    global _required
    _required = False
    torch.use_deterministic_algorithms(False)
