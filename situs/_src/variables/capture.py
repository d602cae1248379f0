"""Eager variables in graphs: each is represented by one operation ``Variable``.

Its cell is the variable's own, so eager code reads what the graph assigns, and vice versa.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from situs._src.base.devices.scope import ROOT, build_into
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.names import as_node_name
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.variables import state_ops

if TYPE_CHECKING:
    from situs._src.variables.eager import Variable

_CAPTURED = "__captured_variables"  # a collection: what is kept there lives as long as the graph


def captured_variable(graph: Graph, variable: Variable) -> SymbolicTensor:
    """The tensor that stands for a variable's state in a graph, made once in the outermost one."""
    variable = variable._component()
    top = outermost(graph)
    known = _captured_by(top)
    if id(variable) not in known:
        known[id(variable)] = variable, _add(top, variable)
    return graph.capture(known[id(variable)][1])


def captured_like(graph: Graph, state: SymbolicTensor, variable: Variable) -> SymbolicTensor:
    """The same, where `state` stands for another variable of the same kind, and the operation is a copy of its."""
    top = outermost(graph)
    known = _captured_by(top)
    if id(variable) not in known:
        like = state.op
        attrs = {**like.attrs, "shared_name": variable._name, "cell": variable._cell}
        made = Operation(
            top, like.op_def, top.absolute_name(as_node_name(variable._name)), (), attrs, like.types, like.made_at
        )
        made.outputs = [SymbolicTensor(made, 0, state.dtype, variable.shape, state.is_ref)]
        made.device = variable.device
        top.add_copies([made])
        known[id(variable)] = variable, made.outputs[0]
    return graph.capture(known[id(variable)][1])


def captured_in(graph: Graph) -> list[Variable]:
    """The eager variables that a graph uses, in the order of first use."""
    return [variable for variable, _ in captured_variables(graph)]


def captured_variables(graph: Graph) -> list[tuple[Variable, SymbolicTensor]]:
    """The same, each with the tensor that stands for its state."""
    return list(_captured_by(graph).values())


def _captured_by(graph: Graph) -> dict[int, tuple[Variable, SymbolicTensor]]:
    found = graph.get_collection_ref(_CAPTURED)
    if not found:
        found.append({})
    return found[0]  # type: ignore[no-any-return]


def _add(graph: Graph, variable: Variable) -> SymbolicTensor:
    attrs = {
        "shape": variable.shape,
        "shared_name": variable._name,
        "cell": variable._cell,
        "dtype": variable.dtype,
    }
    result = (state_ops.variable.outputs[0], variable.dtype, variable.shape)
    before = build_into(graph, ROOT)
    try:
        with graph.control_dependencies(None), graph.colocate_with(None, ignore_existing=True):
            name = as_node_name(variable._name)
            node = graph.add(state_ops.variable, (), attrs, {"dtype": variable.dtype}, [result], name)
            node.device = variable.device
            return node.outputs[0]
    finally:
        build_into(*before)
