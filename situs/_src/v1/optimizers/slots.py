"""Slots: the variables that an optimizer keeps for each variable it updates.

    W                 the variable
    W/Momentum        its slot, of the same shape and on the same device

In a graph a slot is named after its variable and the optimizer, numbered if there are several, and colocated with the
variable. In eager code it is on the device of the variable.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ops.constant import convert_to_tensor
from situs._src.variables.eager import Variable
from situs._src.variables.scope import current_store, variable_scope
from situs._src.variables.symbolic import RefVariable, here_or

Initial = Callable[[], Any]  # builds the first value


def make_slot(primary: Any, initial: Initial, name: str, beside: bool = True) -> Any:
    """A new variable beside another one, not to be trained.

    Args:
        primary: The variable, or a tensor of a graph.
        initial: Builds the first value; called where the slot will be.
        name: What to call it, after the name of `primary`.
        beside: Whether it goes to the device of `primary`.
    """
    if isinstance(primary, Variable):
        with device(primary.device):
            return Variable(initial, trainable=False, name=f"{primary._name}/{name}")
    if not hasattr(primary, "op"):
        raise DTypeError(f"A slot belongs to a variable, got {shown(primary)}.")
    with here_or(primary.graph):
        return _in_graph(primary, initial, name, beside)


def _in_graph(primary: Any, initial: Initial, name: str, beside: bool) -> RefVariable:
    graph: Graph = primary.graph
    with variable_scope(None, f"{primary.op.name}/{name}", auxiliary_name_scope=False) as scope:
        store = current_store()
        if scope.reuse and scope.name in store.variables:
            return store.variables[scope.name]
        place = graph.colocate_with(primary.op) if beside else nullcontext()
        with graph.name_scope(None), place:
            with graph.name_scope(f"{scope.name}/Initializer"):
                first = convert_to_tensor(initial())
            slot = RefVariable(first, trainable=False, name=scope.name, validate_shape=first.shape.is_fully_defined())
        store.variables[scope.name] = slot
        return slot


def known_shape(variable: Any) -> TensorShape | None:
    """The shape of a variable if it is fixed, else None."""
    shape: TensorShape = variable.shape
    return shape if shape.is_fully_defined() else None


def check_name(name: Any) -> str:
    """The name of an optimizer.

    Raises:
        InvalidArgumentError: it is empty, or no string.
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"Must specify the optimizer name, got {shown(name)}.")
    return name
