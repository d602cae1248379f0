"""Where the elements of a tensor begin in memory, for functions in C."""

from __future__ import annotations

import torch


def address(value: torch.Tensor) -> int:
    """The address of the first element of a tensor.

    Raises:
        NotImplementedError: it has no elements: its kernel is called for the shapes alone (`runtime.abstract`).
    """
    if value.is_meta:
        raise NotImplementedError("a function in C takes elements, and this tensor has none")
    return value.data_ptr()
