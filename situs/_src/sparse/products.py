"""Products of two sparse matrices, also of stacks of them.

Keras asks TensorFlow for these by ops on compressed rows. Here a sparse tensor stays one: only the product is an op.
"""

from __future__ import annotations

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.ops.define import CPU, op
from situs._src.sparse.tensor import SparseTensor

_product = op(
    "SparseMatrixSparseMatMul",
    "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64 -> "
    "indices: int64, values: T, shape: int64",
    T=frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128}),
)
_product.stops_gradients()


@_product.shape
def _product_shape(*shapes: TensorShape) -> list[TensorShape]:
    rank = shapes[2][0] if shapes[2].rank == 1 else None
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


@_product.kernel(CPU)
def _product_kernel(
    a_indices: torch.Tensor,
    a_values: torch.Tensor,
    a_shape: torch.Tensor,
    b_indices: torch.Tensor,
    b_values: torch.Tensor,
    b_shape: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    left, right = a_shape.tolist(), b_shape.tolist()
    if len(left) != len(right) or len(left) not in (2, 3) or left[:-2] != right[:-2] or left[-1] != right[-2]:
        raise ArgumentError(f"Matrices of the shapes {left} and {right} have no product.")
    stacked, rows, columns = len(left) == 3, left[-2], right[-1]
    above = a_indices[:, 0] if stacked else torch.zeros_like(a_indices[:, 0])
    below = b_indices[:, 0] if stacked else torch.zeros_like(b_indices[:, 0])
    # Elements meet where the number of a matrix and of what is summed over is the same.
    meeting, order = torch.sort(below * left[-1] + b_indices[:, -2], stable=True)
    sought = above * left[-1] + a_indices[:, -1]
    first, last = torch.searchsorted(meeting, sought), torch.searchsorted(meeting, sought, right=True)
    ones = torch.repeat_interleave(torch.arange(len(sought)), last - first)
    before = torch.cumsum(last - first, 0) - (last - first)
    others = order[torch.arange(len(ones)) - before[ones] + first[ones]]
    places = (above[ones] * rows + a_indices[ones, -2]) * columns + b_indices[others, -1]
    found, which = torch.unique(places, return_inverse=True)
    values = torch.zeros(len(found), dtype=a_values.dtype).index_add_(0, which, a_values[ones] * b_values[others])
    width = max(columns, 1)
    parts = [found // width % max(rows, 1), found % width]
    if stacked:
        parts.insert(0, found // (width * max(rows, 1)))
    return torch.stack(parts, 1), values, torch.tensor([*left[:-1], columns], dtype=torch.int64)


def sparse_matmul(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices, or of two stacks of as many; no gradients go through it."""
    made = SparseTensor(*_product.many(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape))
    made.set_shape([*a.shape[:-1], b.shape[-1]])
    return made
