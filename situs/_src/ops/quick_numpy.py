"""Functions of many elements on a host by NumPy, where that is the quickest: comparisons, transcendental functions.

A comparison makes bytes of wider elements, for which NumPy has vector instructions on every CPU: it takes 8 us for
65,536 pairs of float32 where PyTorch takes 29 to 42 on one thread, and equal is equal.

Transcendental functions need a host with AVX-512. NumPy computes them for 8 or 16 elements at once there, three to
thirty times as fast as PyTorch on one thread, within 4 units in the last place for float32 and 1 for float64.

Small tensors are left to PyTorch, which is sooner called, and so are tensors that PyTorch would divide among many
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.physical import processor_facts
from situs._src.base.tensor import Tensor
from situs._src.ir.registry.op import Op
from situs._src.ops.define import CPU

_NEEDED = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
IS_QUICKER = _NEEDED.issubset(processor_facts().get("flags", "").split())
MANY = 2**12  # elements, from which on NumPy is quicker
_OF_A_THREAD = 2**15  # elements that PyTorch gives a thread at least
_THREADS = 4  # as many of PyTorch's are as fast as NumPy


_FLOATS = frozenset({dt.float32, dt.float64})
COMPARED: dt.DTypes = _FLOATS | {dt.int32, dt.int64}  # PyTorch is as quick with narrower ones


def add_kernels(
    op: Op,
    of_torch: Callable[..., torch.Tensor],
    of_numpy: np.ufunc,
    types: dt.DTypes = _FLOATS,
    is_quicker: bool = IS_QUICKER,
) -> None:
    """Gives an element-wise op the kernel of NumPy's, where that is quicker.

    Args:
        op: The op.
        of_torch: PyTorch's function, for few elements.
        of_numpy: NumPy's.
        types: The dtypes for which NumPy's is.
        is_quicker: Whether it is, on this host.
    """
    if is_quicker:
        op.kernel(CPU, T=types, lower=lowering(of_torch), settled=True)(kernel(of_torch, of_numpy))
        if types is _FLOATS:  # a comparison's result does not fit into what is compared
            op.in_place(*range(len(op.inputs)))(lambda node, place: overwriting(of_torch, of_numpy, place))


def kernel(of_torch: Callable[..., torch.Tensor], of_numpy: np.ufunc) -> Callable[..., torch.Tensor]:
    """A function of tensors of one dtype, by whichever library is quicker."""

    def compute(*values: torch.Tensor) -> torch.Tensor:
        if not _is_numpys(values):
            return of_torch(*values)
        with np.errstate(all="ignore"):
            return torch.from_numpy(of_numpy(*(value.resolve_neg().numpy() for value in values)))

    compute.when_compiled = of_torch  # type: ignore[attr-defined]
    return compute


def overwriting(of_torch: Callable[..., torch.Tensor], of_numpy: np.ufunc, place: int) -> Callable[..., torch.Tensor]:
    """The same, with the result written over one of the tensors."""

    def compute(*values: torch.Tensor) -> torch.Tensor:
        into = values[place]
        if not _is_numpys(values):
            return of_torch(*values, out=into)
        with np.errstate(all="ignore"):
            of_numpy(*(value.resolve_neg().numpy() for value in values), out=into.numpy())
        return into

    compute.when_compiled = of_torch  # type: ignore[attr-defined]
    return compute


def _is_numpys(values: tuple[torch.Tensor, ...]) -> bool:
    """Whether NumPy is the quicker one for these."""
    size = max(value.numel() for value in values)
    return size >= MANY and min(size // _OF_A_THREAD, torch.get_num_threads()) < _THREADS


def lowering(of_torch: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """In a graph: PyTorch's own function, which can run together with others, unless there surely are many elements."""

    def lower(*values: Tensor) -> Callable[..., torch.Tensor] | None:
        sizes = [value.shape.num_elements() for value in values]
        return None if any(size is not None and size >= MANY for size in sizes) else of_torch

    return lower
