"""Gradients of gathering: elements are scattered back to where they came from.

These ops are the gradients of `ops.gather`. Everything else is zero, and repeated elements are summed:

    y = gather(x, [2, 0, 2], axis=1)       GatherV2Grad([[a, b, c]], [2, 0, 2], shape of x, 1)      [[b, 0, a + c]]

Gradients of rows of a large table, gathered along its first axis, stay sparse: `rows_of`. An index that does not exist,
which gives a zero on a GPU, has no gradient.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from situs._src.base.dtype import COMPLEX, FIXED, FLOATING, INDEX, WIDE_UNSIGNED, int16, int32
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import HostInput, HostValue, ShapeLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import as_integer, reshape
from situs._src.ops.array import size as size_op
from situs._src.ops.define import CPU, GPU, compiled_as, op
from situs._src.ops.positions import any_outside, safe_linear_indices
from situs._src.ops.slices import IndexedSlices
from situs._src.runtime.symbolic.fold import partial_value

_NUMBERS = FLOATING | COMPLEX


# Rows.


def rows_of(grad: Tensor, indices: Tensor, shape: ShapeLike) -> IndexedSlices:
    """The gradient of a table whose rows were picked, as slices."""
    if indices.shape.rank == 1:
        return IndexedSlices(grad, indices, shape)
    count = indices.shape.num_elements() if indices.shape.is_fully_defined() else size_op(indices, int32)
    row = _row_of(shape)
    sizes = (count, *row) if isinstance(row, tuple) else find_op("ConcatV2")([[count], row], 0)
    return IndexedSlices(reshape(grad, sizes), reshape(indices, [-1]), shape)


def _row_of(shape: Any) -> Any:
    """The shape of a row: sizes if all are known, even if the number of rows is not; else a tensor."""
    known = partial_value(shape) if isinstance(shape, SymbolicTensor) else shape
    return shape[1:] if known is None or None in known[1:] else known[1:]


# Slices along another axis.

gather_grad = op(
    "GatherV2Grad",
    "grad: T, indices: Tindices, shape: host, axis: host -> output: T",
    T=_NUMBERS,
    Tindices=INDEX | {int16},
    batch_dims=0,
)
gather_grad.shape(lambda grad, indices, shape, axis, *, batch_dims: TensorShape(shape))


@gather_grad.kernel(CPU)
def _gather_grad_cpu(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], axis: HostValue, batch_dims: int
) -> torch.Tensor:
    whole, rows, parts = _aligned(grad, indices, shape, axis, batch_dims)
    return _summed(whole, rows, parts).view(shape)


@gather_grad.kernel(GPU)
def _gather_grad_gpu(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], axis: Any, batch_dims: int
) -> torch.Tensor:
    whole, rows, parts = _aligned(grad, indices, shape, axis, batch_dims)
    size = whole.shape[2]
    if size == 0:
        return whole.view(shape)
    missing = (rows < 0) | (rows >= size)
    parts = parts.masked_fill(missing[:, None, :, None], 0)
    return _summed(whole, rows.clamp(0, size - 1), parts).view(shape)


def _gather_grad_refuses(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], axis: HostValue, batch_dims: int
) -> torch.Tensor:
    return any_outside(indices, shape[as_integer(axis, "axis")])


compiled_as(_gather_grad_cpu, _gather_grad_gpu, _gather_grad_refuses)
compiled_as(_gather_grad_gpu, _gather_grad_gpu)


def _aligned(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], axis: Any, batch_dims: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Zeros [outer, before, size, after], indices [outer, count] and gradients [outer, before, count, after]."""
    place = as_integer(axis, "axis") % len(shape)
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    outer, before, after = (math.prod(part) for part in (shape[:batch], shape[batch:place], shape[place + 1 :]))
    count = math.prod(indices.shape[batch:])
    rows = indices.reshape(outer, count).to(torch.int64)
    return grad.new_zeros(outer, before, shape[place], after), rows, grad.reshape(outer, before, count, after)


def _summed(whole: torch.Tensor, rows: torch.Tensor, parts: torch.Tensor) -> torch.Tensor:
    if len(whole) == 1:
        whole[0].index_add_(1, rows[0], parts[0])
        return whole
    return whole.scatter_add_(2, rows[:, None, :, None].expand_as(parts), parts)


@gather_grad.gradient
def _gather_grad_gradient(grad: Tensor, indices: Tensor, axis: HostInput, *, batch_dims: int) -> tuple[Tensor, None]:
    return find_op("GatherV2")(grad, indices, axis, batch_dims=batch_dims), None


# Elements or slices that vectors of indices name.

gather_nd_grad = op(
    "GatherNdGrad",
    "grad: T, indices: Tindices, shape: host -> output: T",
    T=_NUMBERS,
    Tindices=INDEX,
    batch_dims=0,
)
gather_nd_grad.shape(lambda grad, indices, shape, *, batch_dims: TensorShape(shape))


@gather_nd_grad.kernel(CPU)
def _gather_nd_grad_cpu(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], batch_dims: int
) -> torch.Tensor:
    whole, rows, _ = _as_matrix(grad, indices, shape, batch_dims)
    parts = grad.reshape(len(rows), whole.shape[1])
    return whole.index_put_((rows,), parts, accumulate=True).view(shape)


@gather_nd_grad.kernel(GPU)
def _gather_nd_grad_gpu(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], batch_dims: int
) -> torch.Tensor:
    whole, rows, missing = _as_matrix(grad, indices, shape, batch_dims)
    if len(whole) == 0:
        return whole.view(shape)
    parts = grad.reshape(len(rows), whole.shape[1]).masked_fill(missing[:, None], 0)
    return whole.index_add_(0, rows.masked_fill(missing, 0), parts).view(shape)


def _gather_nd_grad_refuses(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], batch_dims: int
) -> torch.Tensor:
    return safe_linear_indices(indices, shape[batch_dims:])[1].any()


compiled_as(_gather_nd_grad_cpu, _gather_nd_grad_gpu, _gather_nd_grad_refuses)
compiled_as(_gather_nd_grad_gpu, _gather_nd_grad_gpu)


def _as_matrix(
    grad: torch.Tensor, indices: torch.Tensor, shape: tuple[int, ...], batch_dims: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Zeros with one row for each slice that there is, the rows that were picked, and which of these do not exist."""
    depth, batches = indices.shape[-1], math.prod(shape[:batch_dims])
    inside = math.prod(shape[batch_dims : batch_dims + depth])
    rows, missing = safe_linear_indices(indices, shape[batch_dims:])
    if batch_dims:
        first = torch.arange(batches, device=rows.device) * inside
        rows = (rows.reshape(batches, -1) + first[:, None]).reshape(-1) if len(rows) else rows
    return grad.new_zeros(batches * inside, math.prod(shape[batch_dims + depth :])), rows, missing


@gather_nd_grad.gradient
def _gather_nd_grad_gradient(grad: Tensor, indices: Tensor, *, batch_dims: int) -> tuple[Tensor, None]:
    return find_op("GatherNd")(grad, indices, batch_dims=batch_dims), None


# Elements or slices where a mask is true.

boolean_mask_grad = op(
    "BooleanMaskGrad",
    "grad: T, mask: Tmask, axis: host, shape: host -> output: T",
    T=_NUMBERS,
    Tmask=FIXED - WIDE_UNSIGNED,
)
boolean_mask_grad.shape(lambda grad, mask, axis, shape: TensorShape(shape))


@boolean_mask_grad.kernel(CPU, GPU)
def _boolean_mask_grad_kernel(
    grad: torch.Tensor, mask: torch.Tensor, axis: Any, shape: tuple[int, ...]
) -> torch.Tensor:
    place = as_integer(axis, "axis") % len(shape)
    where: tuple[Any, ...] = (*[slice(None)] * place, mask if mask.dtype is torch.bool else mask != 0)
    whole = grad.new_zeros(shape)
    whole[where] = grad
    return whole


@boolean_mask_grad.gradient
def _boolean_mask_grad_gradient(grad: Tensor, mask: Tensor, axis: HostInput) -> tuple[Tensor, None]:
    return find_op("BooleanMask")(grad, mask, axis), None
