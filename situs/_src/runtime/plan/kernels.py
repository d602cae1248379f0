"""Turning an operation and its kernel into a function of values only.

Attributes, dtypes and the device are bound once, when the plan is built. A kernel may be lowered to a faster form for
what is statically known of its inputs (`Kernel.lower`): a matrix product of rank 2 is ``torch.mm`` itself.

State is handled here, so that the kernels of assignments stay functions from values to a value:

    AssignAdd(ref, delta)     cell -> kernel(cell.read(), delta) -> cell

A kernel whose result depends on attributes only has a function ``known`` that returns it: no call is made in a run.

A function that updates a variable has a variant ``on_memory``, which takes a tensor instead of the
cell and writes into it: that one can be captured (`runtime.run.cuda_graph`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.streams import of_seeds
from situs._src.ir.graph.node import Operation, tensors_in
from situs._src.ir.registry.signature import HOST
from situs._src.ir.registry.traits import DRAWS
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.allocations import PLAIN, counted, enter_variable
from situs._src.runtime.eager.binding import BoundInputs
from situs._src.runtime.eager.bridge import Value, place_of, torch_device
from situs._src.runtime.eager.capacity import check_fits, may_be_large
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import exchange
from situs._src.runtime.eager.tensor import wrap
from situs._src.runtime.eager.verify import dtype_of
from situs._src.runtime.plan.plan import Known

Function = Callable[..., Any]


def function_of(node: Operation, assignment: Assignment, may_lower: bool = True) -> tuple[Function, bool]:
    """The function that computes an operation's results from its values.

    Args:
        node: The operation.
        assignment: Its kernel and its device.
        may_lower: Whether static knowledge of its inputs holds in every run: constants are not fed.

    Returns:
        The function, and whether it takes the `Run` as its first argument.
    """
    function, takes_run = _function_of(node, assignment, may_lower)
    return (_fitting(function, takes_run, node, assignment) if _has_computed_sizes(node) else function), takes_run


def _has_computed_sizes(node: Operation) -> bool:
    pairs = zip(node.op_def.kinds, node.args, strict=True)
    return any(kind is HOST and bool(tensors_in((value,))) for kind, value in pairs)


def _fitting(function: Function, takes_run: bool, node: Operation, assignment: Assignment) -> Function:
    """A function that rejects sizes, computed in the run, that no memory can hold: trying might kill the process."""

    sizes = [place for place, kind in enumerate(node.op_def.kinds) if kind is HOST]

    def run(*values: Any) -> Any:
        given = values[1:] if takes_run else values
        if may_be_large([given[place] for place in sizes]):
            check_fits(node.op_def, bound_inputs(node, given, assignment.device), node.attrs, assignment)
        return function(*values)

    setattr(run, PLAIN, function)
    return run


def bound_inputs(node: Operation, values: Iterable[Any], device: Device) -> BoundInputs:
    """The inputs of a call on a device, as in eager code: tensors instead of a kernel's values."""
    return BoundInputs(tuple(_as_tensor(value, device) for value in values), dict(node.types))


def _as_tensor(value: Any, device: Device) -> Any:
    if isinstance(value, list):
        return [_as_tensor(item, device) for item in value]
    if isinstance(value, Cell):
        return wrap(value, value.place)  # for its shape and dtype
    return value if dtype_of(value) is None else wrap(value, place_of(device, value))


def _function_of(node: Operation, assignment: Assignment, may_lower: bool) -> tuple[Function, bool]:
    kernel = assignment.kernel
    lowered = kernel.lower(*node.args, **node.attrs) if may_lower and kernel.lower is not None else None
    if lowered is not None:
        return _counted(lowered, node, assignment), False
    known = getattr(kernel.function, "known", None)
    if known is not None and (value := known(node.attrs)) is not None:
        return Known(value), False
    on_cells = getattr(kernel.function, "on_cells", None)
    if on_cells is not None:  # it updates variables in place: see situs._src.runtime.eager.in_place
        return on_cells(node.attrs), False
    bound = dict(node.attrs)
    if kernel.takes_device:
        bound["device"] = torch_device(assignment.device)
    function = kernel.function if kernel.takes_run else _counted(kernel.function, node, assignment)
    if node.op_def.updates:
        return _updating(partial(function, **bound) if bound else function, node), False
    if DRAWS in node.op_def.traits:
        return _drawing(function, bound, node), True
    if kernel.takes_run:
        if "where" in inspect.signature(function).parameters:
            bound["where"] = assignment.device
        return (lambda run, *values: function(*values, run=run, **bound)), True
    return (partial(function, **bound) if bound else function), False


def _counted(function: Function, node: Operation, assignment: Assignment) -> Function:
    """A kernel whose results are entered into the ledger.

    Where an allocator keeps the totals, only what outlives the run has to be entered: the values of variables.
    """
    account = assignment.device.account
    if account is None or assignment.kernel.host_output or not (account.enters_all or node.op_def.updates):
        return function
    scope = node.name.rpartition("/")[0]  # such as the name of a layer
    label = f"{node.type} {scope}" if scope else node.type
    return counted(function, assignment.device, label, node.made_at, node.op_def.stateful)


def _drawing(function: Function, bound: dict[str, Any], node: Operation) -> Function:
    """A random kernel: it draws from the operation's stream in this session. Without seeds it has no stream."""
    seed, seed2 = bound["seed"], bound["seed2"]
    if not seed and not seed2:
        return lambda run, *values: function(*values, **bound)
    begin = of_seeds(seed, seed2)
    del bound["seed"]
    return lambda run, *values: function(*values, seed=run.streams.of(node, begin), **bound)


def _updating(function: Function, node: Operation) -> Function:
    overwrites = node.op_def.overwrites

    def update(cell: Cell, *values: Value) -> Cell:
        with cell.lock:
            old = cell.value if overwrites else cell.read()
            new = function(old, *values)
            if overwrites:
                if node.attrs.get("validate_shape", True):
                    cell.check(new)
            elif new.shape != old.shape:
                raise InvalidArgumentError(
                    f"{node.type} of shape {brackets(TensorShape(values[-1].shape))} to variable '{cell.name}' of "
                    f"shape {brackets(TensorShape(old.shape))}: the shapes must be the same."
                )
            del old
            exchange(cell, new)
            enter_variable(cell.value, cell.place.device, cell.name)
        return cell

    def on_memory(old: Value, *values: Value) -> Value:
        return old.copy_(function(old, *values))

    update.on_memory = on_memory  # type: ignore[attr-defined]
    return update
