"""TensorFloat-32: products of float32 on a GPU in less than float32's precision, as TensorFlow computes them.

Tensor cores use ten bits of a float32's mantissa and accumulate in full precision: several times as fast, and accurate
to about three digits. TensorFlow uses them unless told not to, and so does Situs, from the first use of a GPU on.
PyTorch has the same switch for the whole process, off for matrices and on for convolutions until then.
"""

from __future__ import annotations

import torch

_enabled = True
_has_card = False


def tensor_float_32() -> bool:
    """Whether float32 products may use tensor cores."""
    return _enabled


def set_tensor_float_32(enabled: bool) -> None:
    """Sets whether float32 products may use tensor cores."""
    global _enabled
    _enabled = enabled
    if _has_card:
        _tell_torch()


def apply() -> None:
    """Passes the setting to PyTorch, at the first use of a GPU."""
    global _has_card
    if not _has_card:
        _has_card = True
        _tell_torch()


def _tell_torch() -> None:
    torch.set_float32_matmul_precision("high" if _enabled else "highest")
    torch.backends.cudnn.allow_tf32 = _enabled
