"""The ops of variables. ``&`` in a signature marks state.

Kernels compute the new state from the old one: `variables.eager` and the plans of `runtime.plan.kernels` store it.
There is no kernel for int32 variables on a GPU, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import ALL, FIXED, INDEX, NUMERIC, WIDE_UNSIGNED, DType
from situs._src.base.errors import ArgumentError, OutOfRangeError
from situs._src.base.shapes import SCALAR, TensorShape, brackets
from situs._src.base.typing import ArrayLike
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import STATE
from situs._src.ops.array import by_bits
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime.eager.bridge import place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.run.state import Run

variable = op("Variable", "-> ref: dtype&", traits={STATE}, stateful=True, shape=None, shared_name="", cell=None)


@variable.shape
def _variable_shape(*, shape: TensorShape, shared_name: str, cell: Any) -> TensorShape:
    return shape


@variable.kernel(CPU)
@variable.kernel(GPU, dtype=FIXED - {dt.int32})
def _variable_kernel(
    *, shape: TensorShape, shared_name: str, cell: Cell | None, dtype: DType, run: Run, where: Any
) -> Cell:
    """The cell: an eager variable's own, or the session's of that name."""
    if cell is not None:
        return cell
    made: Cell = run.state.cell(shared_name, lambda: Cell(shared_name, dtype, shape, place(where, dtype)))
    return made


_variable_kernel.known = itemgetter("cell")  # type: ignore[attr-defined]  # an eager variable's own is always the same


# Assignment.

assign = op("Assign", "ref: T&, value: T -> output_ref: T&", T=ALL, stateful=True, validate_shape=True)
assign.overwrites = True


@assign.shape
def _assign_shape(ref: TensorShape, value: TensorShape, *, validate_shape: bool) -> TensorShape:
    if not validate_shape:
        return value
    return merged(ref, value)


def merged(ref: TensorShape, value: TensorShape) -> TensorShape:
    """What two shapes that must be the same say together.

    Raises:
        InvalidArgumentError: they are not the same.
    """
    if ref.is_compatible_with(value):
        return ref.merge_with(value)
    if ref.rank != value.rank:
        raise ArgumentError(
            f"Shapes must be equal rank, but are {ref.rank} and {value.rank}: a variable of shape {brackets(ref)} "
            f"takes no value of shape {brackets(value)}, and neither is broadcast"
        )
    pairs = enumerate(zip(ref, value, strict=True))
    axis, (a, b) = next((i, pair) for i, pair in pairs if None not in pair and pair[0] != pair[1])
    raise ArgumentError(
        f"Dimension {axis} in both shapes must be equal, but are {a} and {b}. Shapes are {brackets(ref)} and "
        f"{brackets(value)}."
    )


@assign.kernel(CPU)
@assign.kernel(GPU, T=FIXED)
def _assign_kernel(ref: Any, value: ArrayLike, *, validate_shape: bool) -> Any:
    return value


def _update_op(name: str, kernel: Callable[..., Any]) -> Op:
    made = op(name, "ref: T&, value: T -> output_ref: T&", T=NUMERIC, stateful=True)
    made.shape(merged)
    made.kernel(CPU, GPU, T=NUMERIC - WIDE_UNSIGNED)(_same_size(kernel))
    made.kernel(CPU, GPU, T=WIDE_UNSIGNED)(by_bits(_same_size(kernel)))
    return made


def _same_size(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, for inputs of one shape: PyTorch would broadcast a smaller one."""

    def update(ref: torch.Tensor, value: torch.Tensor) -> Any:
        if ref.shape != value.shape:
            raise ArgumentError(
                f"Parameters and update must be the same size: the variable has shape {brackets(list(ref.shape))}, the "
                f"update {brackets(list(value.shape))}"
            )
        return kernel(ref, value)

    return update


assign_add = _update_op("AssignAdd", torch.add)
assign_sub = _update_op("AssignSub", torch.sub)

for _op in (assign, assign_add, assign_sub):
    _op.stops_gradients()  # what a variable becomes is taken as a constant, as in TensorFlow

# Questions about state.

is_initialized = op("IsVariableInitialized", "ref: dtype& -> is_initialized: bool", stateful=True)
is_initialized.shape(lambda ref: SCALAR)


@is_initialized.kernel(CPU, GPU, host_output=True)
def _is_initialized_kernel(ref: Cell) -> torch.Tensor:
    return torch.tensor(ref.is_initialized)


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
