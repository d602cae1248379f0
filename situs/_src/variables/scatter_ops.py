"""The ops that update some rows, or some elements, of a variable.

    ScatterAdd(ref, indices, updates)      row indices[i] of ref becomes itself + updates[i]
    ScatterNdAdd(ref, indices, updates)    the element or slice that the vector indices[i] names does

Their kernels are those of ``tf.tensor_scatter_nd_update`` and the like, which return a modified copy: a value that was
read from the variable before does not change. An index that does not exist is an error on the CPU, and its update is
ignored on a GPU. Several updates of one element are applied one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import INDEX, NUMERIC, WIDE_UNSIGNED
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import Op, find_op
from situs._src.ops import scatter  # noqa: F401 - declares the ops whose kernels are used here
from situs._src.ops.array import by_bits
from situs._src.ops.define import CPU, GPU, op
from situs._src.variables.state_ops import merged

Kernel = Callable[..., Any]


def _elements_op(name: str, tensor_op: str) -> Op:
    """An op on state that does what an op on tensors does."""
    model = find_op(tensor_op)
    types: dict[str, Any] = dict(model.types)
    made = op(name, "ref: T&, indices: Tindices, updates: T -> output_ref: T&", stateful=True, **types)
    assert model.shape_rule is not None
    made.shape(model.shape_rule)
    for kernel in model.kernels:
        made.kernel(kernel.device_type, T=kernel.types["T"])(kernel.function)
    return made


scatter_nd_update = _elements_op("ScatterNdUpdate", "TensorScatterUpdate")
scatter_nd_add = _elements_op("ScatterNdAdd", "TensorScatterAdd")
scatter_nd_sub = _elements_op("ScatterNdSub", "TensorScatterSub")
scatter_nd_max = _elements_op("ScatterNdMax", "TensorScatterMax")
scatter_nd_min = _elements_op("ScatterNdMin", "TensorScatterMin")

# Rows.


def _rows_op(name: str, tensor_op: str) -> Op:
    """An op on rows that does what an op on tensors does to the slices that vectors of one index name."""
    model = find_op(tensor_op)
    types: dict[str, Any] = dict(model.types)
    made = op(name, "ref: T&, indices: Tindices, updates: T -> output_ref: T&", stateful=True, **types)
    made.shape(_rows_shape)
    for kernel in model.kernels:
        made.kernel(kernel.device_type, T=kernel.types["T"])(_on_rows(kernel.function, kernel.device_type))
    return made


def _rows_shape(ref: TensorShape, indices: TensorShape, updates: TensorShape) -> TensorShape:
    if ref.rank == 0:
        raise ArgumentError("Shape must be at least rank 1 but is rank 0: a scalar variable has no rows")
    if updates.rank != 0 and ref.rank is not None:
        merged(updates, indices + ref[1:])
    return ref


def _on_rows(kernel: Kernel, device_type: str) -> Kernel:
    def change(ref: Any, indices: torch.Tensor, updates: ArrayLike) -> Any:
        given = _spread(ref, indices, updates)
        if device_type == CPU:
            _check_rows(indices, ref.shape[0])
        if indices.ndim == 0:
            return kernel(ref, indices.reshape(1, 1), given[None])
        return kernel(ref, indices.unsqueeze(-1), given)

    return change


def _spread(ref: Any, indices: torch.Tensor, updates: Any) -> Any:
    """The updates in the shape of the rows they are for; a scalar goes to every element."""
    wanted = (*indices.shape, *ref.shape[1:])
    if updates.ndim and tuple(updates.shape) != wanted:
        raise ArgumentError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{brackets(list(updates.shape))}, indices.shape {brackets(list(indices.shape))}, params.shape "
            f"{brackets(list(ref.shape))}"
        )
    return updates.expand(wanted) if isinstance(updates, torch.Tensor) else np.broadcast_to(updates, wanted)


def _check_rows(indices: torch.Tensor, count: int) -> None:
    missing = (indices < 0) | (indices >= count)
    if bool(missing.any()):
        where = missing.nonzero()[0].tolist()
        value = int(indices[tuple(where)])
        raise ArgumentError(f"indices{brackets(where) if where else ''} = {value} is not in [0, {count})")


scatter_update = _rows_op("ScatterUpdate", "TensorScatterUpdate")
scatter_add = _rows_op("ScatterAdd", "TensorScatterAdd")
scatter_sub = _rows_op("ScatterSub", "TensorScatterSub")
scatter_min = _rows_op("ScatterMin", "TensorScatterMin")
scatter_max = _rows_op("ScatterMax", "TensorScatterMax")

# Products and quotients, which no op on tensors makes.


def _turns_op(name: str, combine: Kernel) -> Op:
    made = op(
        name, "ref: T&, indices: Tindices, updates: T -> output_ref: T&", T=NUMERIC, Tindices=INDEX, stateful=True
    )
    made.shape(_rows_shape)
    for device_type in (CPU, GPU):
        made.kernel(device_type, T=NUMERIC - WIDE_UNSIGNED)(_in_turns(combine, device_type))
    return made


def _in_turns(combine: Kernel, device_type: str) -> Kernel:
    """A kernel in which each row meets its first update, then its second, and so on."""

    def change(ref: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        given = _spread(ref, indices, updates).reshape(indices.numel(), *ref.shape[1:])
        if device_type == CPU:
            _check_rows(indices, ref.shape[0])
        rows = indices.reshape(-1).to(torch.int64)
        exists = (rows >= 0) & (rows < ref.shape[0])
        rows, given = rows[exists], given[exists]
        new, turns = ref.clone(), _turns(rows)
        for turn in range(int(turns.max()) + 1 if rows.numel() else 0):
            now = turns == turn
            new[rows[now]] = combine(new[rows[now]], given[now])
        return new

    return change


def _turns(rows: torch.Tensor) -> torch.Tensor:
    """How often the same row was named before, for each of `rows`."""
    ordered, order = torch.sort(rows, stable=True)
    before = torch.arange(len(rows), device=rows.device) - torch.searchsorted(ordered, ordered)
    return torch.empty_like(rows).scatter_(0, order, before)


def _divide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.is_floating_point() or x.is_complex():
        return x / y
    if bool((y == 0).any()):
        raise ArgumentError("Integer division by zero")
    return torch.div(x, y, rounding_mode="trunc")


scatter_mul = _turns_op("ScatterMul", torch.mul)
scatter_mul.kernel(CPU, T=WIDE_UNSIGNED)(by_bits(_in_turns(torch.mul, CPU)))
scatter_div = _turns_op("ScatterDiv", _divide)

# What a variable becomes is taken as a constant. The other ops of this file have no gradient in TensorFlow either.
for _op in (scatter_nd_update, scatter_nd_add, scatter_nd_sub, scatter_add, scatter_sub, scatter_mul, scatter_div):
    _op.stops_gradients()
