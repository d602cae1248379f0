"""The ops of variables. ``&`` in a signature marks state.

Kernels compute what the state becomes, from what it was: `situs.variables.eager` and the plans of
`situs.execution` put it in place. There is no kernel for int32 variables on a GPU, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from situs import dtype as dt
from situs.dtype import ALL, FIXED, INDEX, NUMERIC, DType
from situs.eager.bridge import place
from situs.eager.cell import Cell
from situs.errors import InvalidArgumentError, OutOfRangeError
from situs.ops.define import CPU, GPU, op, same_shape
from situs.registry.op import Op
from situs.shapes import SCALAR, TensorShape

variable = op("Variable", "-> ref: dtype&", stateful=True, shape=None, shared_name="", cell=None)


@variable.shape
def _variable_shape(*, shape: TensorShape, shared_name: str, cell: Any) -> TensorShape:
    return shape


@variable.kernel(CPU)
@variable.kernel(GPU, dtype=FIXED - {dt.int32})
def _variable_kernel(
    *, shape: TensorShape, shared_name: str, cell: Cell | None, dtype: DType, run: Any, where: Any
) -> Cell:
    """The cell: an eager variable's own, or the session's of that name."""
    if cell is not None:
        return cell
    made: Cell = run.state.cell(shared_name, lambda: Cell(shared_name, dtype, shape, place(where, dtype)))
    return made


# Assignment.

assign = op("Assign", "ref: T&, value: T -> output_ref: T&", T=ALL, stateful=True, validate_shape=True)
assign.overwrites = True


@assign.shape
def _assign_shape(ref: TensorShape, value: TensorShape, *, validate_shape: bool) -> TensorShape:
    if not validate_shape:
        return value
    if not ref.is_compatible_with(value):
        raise InvalidArgumentError(f"Shapes {ref} and {value} are incompatible: a variable keeps its shape in assign.")
    return ref.merge_with(value)


@assign.kernel(CPU)
@assign.kernel(GPU, T=FIXED)
def _assign_kernel(ref: Any, value: Any, *, validate_shape: bool) -> Any:
    return value


def _update_op(name: str, kernel: Callable[..., Any]) -> Op:
    made = op(name, "ref: T&, value: T -> output_ref: T&", T=NUMERIC, stateful=True)
    made.shape(_updated_shape)
    made.kernel(CPU, GPU)(kernel)
    return made


def _updated_shape(ref: TensorShape, value: TensorShape) -> TensorShape:
    if not ref.is_compatible_with(value):
        raise InvalidArgumentError(f"Shapes {ref} and {value} are incompatible: a variable is not broadcast.")
    return ref.merge_with(value)


assign_add = _update_op("AssignAdd", torch.add)
assign_sub = _update_op("AssignSub", torch.sub)

# Changes of some rows, or of some elements.


def _rows_op(name: str, change: Callable[..., Any]) -> Op:
    made = op(name, "ref: T&, indices: I, updates: T -> output_ref: T&", T=FIXED, I=INDEX, stateful=True)
    made.shape(same_shape)
    made.kernel(CPU, GPU)(change)
    return made


def _changed(how: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that applies `how(new, rows, updates)` to a copy of the variable's value."""

    def kernel(ref: torch.Tensor, indices: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        rows = indices.reshape(-1).long()
        if rows.numel() and (int(rows.min()) < 0 or int(rows.max()) >= ref.shape[0]):
            raise InvalidArgumentError(f"indices = {rows.tolist()[:8]} are not all in [0, {ref.shape[0]})")
        new = ref.clone()
        given = updates.expand((*indices.shape, *ref.shape[1:])).reshape((rows.numel(), *ref.shape[1:]))
        how(new, rows, given)
        return new

    return kernel


def _put(new: torch.Tensor, rows: torch.Tensor, given: torch.Tensor) -> None:
    new.index_put_((rows,), given)


def _combine(mode: str) -> Callable[..., None]:
    def combine(new: torch.Tensor, rows: torch.Tensor, given: torch.Tensor) -> None:
        new.index_reduce_(0, rows, given, mode)

    return combine


def _divide(new: torch.Tensor, rows: torch.Tensor, given: torch.Tensor) -> None:
    divisor = torch.ones_like(new).index_reduce_(0, rows, given, "prod")
    new.copy_(new / divisor if new.is_floating_point() else new // divisor)


scatter_update = _rows_op("ScatterUpdate", _changed(_put))
scatter_add = _rows_op("ScatterAdd", _changed(lambda new, rows, given: new.index_add_(0, rows, given)))
scatter_sub = _rows_op("ScatterSub", _changed(lambda new, rows, given: new.index_add_(0, rows, given, alpha=-1)))
scatter_mul = _rows_op("ScatterMul", _changed(_combine("prod")))
scatter_div = _rows_op("ScatterDiv", _changed(_divide))
scatter_min = _rows_op("ScatterMin", _changed(_combine("amin")))
scatter_max = _rows_op("ScatterMax", _changed(_combine("amax")))

# Questions about state.

is_initialized = op("IsVariableInitialized", "ref: dtype& -> is_initialized: bool", stateful=True)
is_initialized.shape(lambda ref: SCALAR)


@is_initialized.kernel(CPU, GPU, host_output=True)
def _is_initialized_kernel(ref: Cell) -> torch.Tensor:
    return torch.tensor(ref.value is not None)


count_up_to = op("CountUpTo", "ref: T& -> output: T", T=INDEX, stateful=True, limit=0)
count_up_to.shape(lambda ref, *, limit: SCALAR)


@count_up_to.kernel(CPU)
def _count_up_to_kernel(ref: Cell, *, limit: int) -> torch.Tensor:
    with ref.lock:
        value: torch.Tensor = ref.read()
        if int(value) >= limit:
            raise OutOfRangeError(f"Reached limit of {limit}")
        ref.value = value + 1
    return value
