"""Large products of float32 matrices by oneDNN, on hosts where MKL is slow.

PyTorch multiplies by MKL, which has AVX-512 for Intel's CPUs alone. Milliseconds on an AMD EPYC with two threads:

    rows x inner x columns     MKL     oneDNN
    64 x 784 x 512             0.28    0.12
    512 x 512 x 512            1.20    0.54
    1024 x 1024 x 1024         9.57    4.33
    8 x 2048 x 2048            0.86    0.36

For sizes that it has not seen oneDNN takes 0.35 ms more, once. So products that take less than that are left to MKL,
unless a graph knows their sizes beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs._src.base.devices.physical import processor_facts
from situs._src.runtime.eager.torch_private import onednn

Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

LINEAR: Any = onednn("linear_pointwise") if processor_facts().get("vendor_id") == "AuthenticAMD" else None
IS_NEEDED = LINEAR is not None
LARGE = 2**24  # multiplications
LARGE_IN_GRAPHS = 2**22
SMALLEST = 2**12  # elements of the left matrix: with fewer, no product is looked at
_FEWEST_ROWS = 4  # one row by a matrix is limited by memory, and MKL is as quick


def is_large(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether a product of rows, in any number of dimensions, and a matrix is oneDNN's.

    Asked where the first has `SMALLEST` elements or more. What a compiler traces is not: it gets PyTorch's product.
    """
    return (
        type(a) is torch.Tensor
        and a.dtype is torch.float32
        and a.is_cpu
        and a.ndim >= 2
        and b.ndim == 2
        and a.shape[-1] == b.shape[0]
        and a.numel() >= _FEWEST_ROWS * b.shape[0]
        and a.numel() * b.shape[1] >= LARGE
    )


def by_onednn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A large product, of rows in any number of dimensions and a matrix."""
    made: torch.Tensor = LINEAR(a, dense(b.t()), None, "none", [], "")
    return made


def dense(matrix: torch.Tensor) -> torch.Tensor:
    """A matrix whose rows, or whose columns, follow each other in memory.

    oneDNN takes no other second operand well: 512x300 out of a wider matrix takes 1500 ms, a copy of it 0.5.
    """
    is_dense = matrix.is_contiguous() or matrix.t().is_contiguous()
    return matrix if is_dense else matrix.contiguous()


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two matrices, by whichever library is quicker."""
    if IS_NEEDED and a.numel() >= SMALLEST and is_large(a, b):
        return by_onednn(a, b)
    return torch.mm(a, b)


def product_plus(addend: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of two matrices, plus what broadcasts to it."""
    if IS_NEEDED and a.numel() >= SMALLEST and is_large(a, b):
        return by_onednn(a, b).add_(addend)
    return torch.addmm(addend, a, b)


def add_product(whole: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Adds the product of two matrices to a third, which it returns."""
    if IS_NEEDED and a.numel() >= SMALLEST and is_large(a, b):
        return whole.add_(by_onednn(a, b))
    return whole.addmm_(a, b)
