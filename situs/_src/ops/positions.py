"""Where vectors of indices point to, as positions in the flattened leading dimensions of a tensor.

indices [[1, 2], [0, 3]] into a tensor of shape [2, 4]       positions [6, 3]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import brackets


def linear_indices(indices: torch.Tensor, shape: Sequence[int], what: str) -> torch.Tensor:
    """Multi-dimensional indices as positions in the flattened leading dimensions of `shape`.

    Raises:
        InvalidArgumentError: one does not exist.
    """
    depth = indices.shape[-1]
    if depth and indices.device.type == "cpu":
        few = _of_few(indices, shape) if indices.ndim == 2 and indices.numel() <= _FEW else None
        if few is not None:
            return few
        columns = indices.numpy().reshape(math.prod(indices.shape[:-1]), depth).T
        try:
            return torch.from_numpy(np.asarray(np.ravel_multi_index(tuple(columns), tuple(shape[:depth]))))
        except ValueError:
            pass  # one does not exist: which one is found below
    rows, missing = safe_linear_indices(indices, shape)
    if bool(missing.any()):
        flat = int(missing.nonzero()[0])
        where = np.unravel_index(flat, indices.shape[:-1]) if indices.ndim > 1 else ()
        subscript = brackets([int(each) for each in where]) if where else ""
        value = indices.reshape(-1, indices.shape[-1])[flat].tolist()
        raise ArgumentError(f"indices{subscript} = {value} does not index into {what} {brackets(list(shape))}")
    return rows


_FEW = 64  # indices that Python reads sooner than NumPy finds out how


def _of_few(indices: torch.Tensor, shape: Sequence[int]) -> torch.Tensor | None:
    rows = []
    for vector in indices.tolist():
        row = 0
        for place, size in zip(vector, shape, strict=False):
            if not 0 <= place < size:
                return None
            row = row * size + place
        rows.append(row)
    return torch.from_numpy(np.array(rows, np.int64))


def any_outside(indices: torch.Tensor, size: int) -> torch.Tensor:
    """Whether one of some indices is not in [0, size), as a tensor."""
    return ((indices < 0) | (indices >= size)).any()


def safe_linear_indices(indices: torch.Tensor, shape: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions, and which of them do not exist; nothing waits for the device."""
    depth = indices.shape[-1]
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth).to(torch.int64)
    rows = torch.zeros(len(flat), dtype=torch.int64, device=indices.device)
    missing = torch.zeros(len(flat), dtype=torch.bool, device=indices.device)
    for dim in range(depth):
        column = flat[:, dim]
        missing = missing | (column < 0) | (column >= shape[dim])
        rows = rows * shape[dim] + column
    return rows, missing
