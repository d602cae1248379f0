"""Determinism: the same program gives the same bits each time, or an error where no kernel can.

On the host the kernels do so anyway. On a card sums by atomic additions come out in the order in which threads happen
to run; PyTorch has other kernels for most of them, and refuses the rest. Random ops must have a seed.
"""

from __future__ import annotations

import os

import torch

_required = False


def is_required() -> bool:
    """Whether ops must give the same bits each time."""
    return _required


def require() -> None:
    """Lets ops give the same bits each time from here on; programs have no way back, as in TensorFlow."""
    global _required
    _required = True
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without which PyTorch refuses products on a card
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # all of it is written


def relax() -> None:
    """Takes `require` back, as TensorFlow's tests do: programs have no public way."""
    global _required
    _required = False
    torch.use_deterministic_algorithms(False)
