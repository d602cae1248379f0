"""Philox on a GPU: one launch of a Triton kernel per draw, with the same numbers as on the CPU.

PyTorch's packages for CUDA include Triton. Without it, PyTorch's ops compute the same numbers, in about a hundred
launches. A kernel is compiled at first use, and Triton caches it for later processes.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

import torch

if TYPE_CHECKING:
    from situs._src.ops.philox.words import Begin


class Functions(Protocol):
    """What `kernels` has."""

    def fill(self, what: str, begin: Begin, sizes: Sequence[int], device: torch.device) -> torch.Tensor:
        """Numbers of float32 that are uniform, normal or truncated normal."""
        ...

    def words_at(self, begin: Begin, offsets: torch.Tensor) -> torch.Tensor:
        """Blocks so far behind a position, each word a number in int64."""
        ...


def functions() -> Functions | None:
    """The kernels; None where there is no Triton to compile them."""
    global _found
    if _found is _UNASKED:
        try:
            _found = importlib.import_module("situs._src.ops.philox.kernels")
        except ImportError:
            _found = None
    return cast("Functions | None", _found)


_UNASKED = object()
_found: object = _UNASKED
