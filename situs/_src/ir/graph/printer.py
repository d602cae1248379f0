"""Graphs as text, one line per operation.

    %a : float32[1,2] = Const [[1. 2.]]
    %x : float32[?,2] = Placeholder() {shape: (None, 2)}
    %y : float32[1,?] = MatMul(%a, %x) {transpose_b: true}  device=/device:GPU:0  after ^init  # program.py:12

Attributes with default values are omitted, and dtypes are shown with the results. The graphs of branches and loops are
indented under their operation. Printing never fails: it shows broken graphs, too.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import line_of
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.signature import Arg

_WIDTH = 60  # how long a value may get
_SMALL = 1000  # elements; larger constants are not read, they may be on a device


def graph_text(graph: Graph) -> str:
    """A listing of the graph."""
    return "\n".join(line for node in graph.operations for line in _lines(node, ""))


def node_text(node: Operation) -> str:
    """What ``str(operation)`` prints: the text of its ``NodeDef``, as in TensorFlow."""
    from situs._src.ir.graph.serialize import to_node_def

    return str(to_node_def(node))


def neighbourhood(graph: Graph, node: Operation, radius: int = 5) -> str:
    """The lines around an operation, which is marked with an arrow."""
    operations = graph.operations
    place = next((number for number, other in enumerate(operations) if other is node), None)
    if place is None:
        return f"-> {line(node)}"
    around = range(max(0, place - radius), min(len(operations), place + radius + 1))
    return "\n".join(f"{'->' if number == place else '  '} {line(operations[number])}" for number in around)


def line(node: Operation) -> str:
    """One operation as one line."""
    try:
        parts = [f"{_made(node)} = {_call(node)}", _device(node), _waits(node), _comment(node)]
    except Exception as error:  # a broken node is shown as far as possible
        return f"%{node.name} = {node.type}(...)  # cannot be shown: {type(error).__name__}: {error}"
    return "  ".join(part for part in parts if part)


def _lines(node: Operation, indent: str) -> list[str]:
    lines = [indent + line(node)]
    for name, graph in graphs_of(node):
        lines.append(f"{indent}    {name}({', '.join(map(_typed, graph.arguments))}):")
        for inner in graph.operations:
            lines += _lines(inner, f"{indent}        ")
        lines.append(f"{indent}        return {', '.join(map(_name, graph.results)) or 'nothing'}")
    return lines


def _made(node: Operation) -> str:
    types = ", ".join(f"{_type(out)}" for out in node.outputs)
    return f"%{node.name} : {types}" if types else f"%{node.name}"


def _type(tensor: SymbolicTensor) -> str:
    dims = None if tensor.shape.rank is None else tensor.shape.as_list()
    sizes = "..." if dims is None else ",".join("?" if dim is None else str(dim) for dim in dims)
    return f"{tensor.dtype.name}{'&' if tensor.is_ref else ''}[{sizes}]"


def _typed(tensor: SymbolicTensor) -> str:
    return f"{_name(tensor)} : {_type(tensor)}"


def _name(tensor: SymbolicTensor) -> str:
    return f"%{tensor.op.name}" if tensor.value_index == 0 else f"%{tensor.name}"


def _call(node: Operation) -> str:
    if node.type == "Const":
        return f"Const {_constant(node.attrs['value'])}"
    args = ", ".join(_arg(arg, value) for arg, value in zip(node.op_def.inputs, node.args, strict=True))
    defaults, held = node.op_def.attrs, [value for _, value in graphs_of(node)]
    attrs = [
        f"{name}: {_value(value)}"
        for name, value in node.attrs.items()
        if name not in node.types and not _is_held(value, held) and not _same(value, defaults.get(name))
    ]
    return f"{node.type}({args})" + (f" {{{', '.join(attrs)}}}" if attrs else "")


def _is_held(value: object, held: list[FunctionGraph]) -> bool:
    items = value if isinstance(value, (list, tuple)) else (value,)
    return any(item is graph for item in items for graph in held)


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _arg(arg: Arg, value: object) -> str:
    return f"{arg.name}={_value(value)}" if arg.is_host else _value(value)


def _value(value: object) -> str:
    if isinstance(value, SymbolicTensor):
        return _name(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return str(value)
    if hasattr(value, "shape") and hasattr(value, "dtype") and (hasattr(value, "numpy") or hasattr(value, "ndim")):
        return _constant(value)
    return _shortened(repr(value))


def _constant(value: Any) -> str:
    import numpy as np

    count = TensorShape(value.shape).num_elements() or 0
    if not isinstance(value, np.ndarray):
        if count > _SMALL:
            return f"<{count} values>"
        value = np.asarray(value.numpy())
    with np.printoptions(threshold=8, edgeitems=2, precision=4):
        return _shortened(" ".join(str(value).split()))


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 4]} ..."


def _device(node: Operation) -> str:
    together = f"with {', '.join(node.colocated_with)}" if node.colocated_with else ""
    return "  ".join(part for part in (f"device={node.device}" if node.device else "", together) if part)


def _waits(node: Operation) -> str:
    return f"after {', '.join(f'^{other.name}' for other in node.control_inputs)}" if node.control_inputs else ""


def _comment(node: Operation) -> str:
    where = line_of(node.made_at)
    return f"# {where}" if where else ""
