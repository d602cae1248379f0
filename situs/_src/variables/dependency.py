"""Initial values that depend on other variables.

    a = tf.Variable(1.0)
    b = tf.Variable(a * 2.0)       tf.global_variables_initializer() runs both assignments, in any order

So the initial value of ``b`` is computed from the initial value of ``a``, unless ``a`` has a value already:

    a/read --- mul                 becomes          cond(a is initialized, a, a/initial_value) --- mul_b
"""

from __future__ import annotations

from typing import Any

from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.signature import Arg
from situs._src.variables.collections import GraphKeys


def independent(graph: Graph, tensor: SymbolicTensor, name: str) -> SymbolicTensor:
    """The tensor, or a copy of it that reads no variable before it is initialized; copies are named after `name`."""
    needed = _needed(tensor.op)
    if not any(_reads_state(node) for node in needed):
        return tensor
    others: dict[SymbolicTensor, SymbolicTensor] = {}
    for node in sorted(needed, key=lambda node: node.index):
        variable = _variable_read_by(graph, node)
        if variable is not None:
            others[node.outputs[0]] = variable.initialized_value()
        elif any(source in others for source in node.inputs) and not node.op_def.stateful and not graphs_of(node):
            copy = _copy(graph, node, _exchanged(node.args, others), f"{node.name}_{name}")
            others.update(zip(node.outputs, copy.outputs, strict=True))
    return others.get(tensor, tensor)


def _copy(graph: Graph, node: Operation, args: tuple[Any, ...], name: str) -> Operation:
    results = [(Arg("output", "any"), tensor.dtype, tensor.shape) for tensor in node.outputs]
    with graph.name_scope(None):
        return graph.add(node.op_def, args, node.attrs, node.types, results, name)


def _needed(node: Operation) -> set[Operation]:
    """The operation and all that it takes something from, as far as the values of variables."""
    found, waiting = {node}, [node]
    while waiting:
        now = waiting.pop()
        if not _reads_state(now):
            new = {tensor.op for tensor in now.inputs} - found
            found |= new
            waiting += new
    return found


def _reads_state(node: Operation) -> bool:
    return node.type == "Identity" and node.inputs[0].is_ref


def _variable_read_by(graph: Graph, node: Operation) -> Any:
    if not _reads_state(node):
        return None
    state = node.inputs[0].op
    known = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    return next((v for v in known if getattr(v, "op", None) is state and hasattr(v, "initialized_value")), None)


def _exchanged(arg: object, others: dict[SymbolicTensor, SymbolicTensor]) -> Any:
    if isinstance(arg, SymbolicTensor):
        return others.get(arg, arg)
    return type(arg)(_exchanged(item, others) for item in arg) if isinstance(arg, (list, tuple)) else arg
