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
    # One large matrix with the stack along its diagonal: its product has theirs there.
    count, rows, inner, columns = left[0] if len(left) == 3 else 1, left[-2], left[-1], right[-1]
    one = _matrix(a_indices, a_values, rows, inner, count)
    other = _matrix(b_indices, b_values, inner, columns, count)
    found = torch.sparse.mm(one, other).coalesce()
    places = found.indices()
    row, column = places[0] % max(rows, 1), places[1] % max(columns, 1)
    stacked = [places[0] // max(rows, 1)] if len(left) == 3 else []
    shape = torch.tensor([*left[:-1], columns], dtype=torch.int64)
    return torch.stack([*stacked, row, column], 1), found.values(), shape


def _matrix(indices: torch.Tensor, values: torch.Tensor, rows: int, columns: int, count: int) -> torch.Tensor:
    number = indices[:, 0] if indices.shape[1] == 3 else torch.zeros_like(indices[:, 0])
    places = torch.stack([indices[:, -2] + number * rows, indices[:, -1] + number * columns])
    return torch.sparse_coo_tensor(places, values, (rows * count, columns * count), check_invariants=True)


def sparse_matmul(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices, or of two stacks of as many; no gradients go through it."""
    made = SparseTensor(
        *_product.many(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape)
    )
    made.set_shape([*a.shape[:-1], b.shape[-1]])
    return made
