"""Graphs as ``GraphDef`` messages; `situs.importing` reads them.

    name: "Reshape"  op: "Reshape"  input: "x"  device: "/device:GPU:0"
    attr { key: "T" value { type: DT_FLOAT } }
    attr { key: "_host:shape" value { s: "[-1, {\\"input\\": 1}]" } }

Beyond what TensorFlow writes, attributes with an underscore hold what Situs knows of a node: a host input that is not
just a tensor (``_host:``), how many tensors each of several lists has (``_length:``), values that messages have no
exact field for (``_value:``). The graphs of branches and loops are functions of the library; in these, an argument that
is captured says which input of the node it is (``_capture``).
"""

from __future__ import annotations

from itertools import count
from typing import Any

from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.attributes import write_attr
from situs.graph.function import FunctionGraph, captured
from situs.graph.graph import Graph
from situs.graph.node import Operation, tensors_in
from situs.graph.objects import FUNCTIONS, OBJECT, Kind, kind_of
from situs.graph.plain import NotPlainError, dumps
from situs.graph.tensor import SymbolicTensor
from situs.proto.function import FunctionDef
from situs.proto.graph import GraphDef
from situs.proto.node import NodeDef
from situs.proto.tensor import shape_to_proto
from situs.registry.signature import ANY

HOST = "_host:"
LENGTH = "_length:"
VERSION = 1  # of what the attributes with an underscore mean


def to_node_def(node: Operation) -> NodeDef:
    """The operation as a message; attributes that are Python objects are named by placeholders."""
    message = NodeDef()
    _Writer(strict=False).fill(message, node, "")
    return message


def to_graph_def(graph: Graph, from_version: int = 0, add_shapes: bool = False) -> GraphDef:
    """The graph as a message.

    Args:
        graph: The graph.
        from_version: How many of its operations to leave out, from the first on.
        add_shapes: Whether to write the static shapes of the results as ``_output_shapes``.

    Raises:
        InvalidArgumentError: an attribute is a Python object, such as the function of a ``py_func``.
    """
    if isinstance(from_version, bool) or not isinstance(from_version, int) or from_version < 0:
        raise DTypeError(f"from_version is a version of the graph, an integer from 0 on; got {from_version!r}.")
    made = GraphDef()
    made.versions.producer = VERSION
    writer = _Writer(strict=True, add_shapes=add_shapes)
    for node in graph.operations[from_version:]:
        writer.fill(made.node.add(), node, "")
    for function in writer.functions:
        made.library.function.append(function)
    return made


class _Writer:
    """Writes nodes, and collects the functions that they hold."""

    def __init__(self, strict: bool, add_shapes: bool = False) -> None:
        self.strict = strict
        self.add_shapes = add_shapes
        self.functions: list[FunctionDef] = []

    def fill(self, message: NodeDef, node: Operation, prefix: str) -> None:
        """Writes a node; `prefix` stands before the names of its functions."""
        message.name, message.op, message.device = node.name, node.type, node.device
        message.input.extend([input_name(tensor) for tensor in node.inputs])
        message.input.extend([f"^{other.name}" for other in node.control_inputs])
        self._fill_attrs(message, node, prefix)
        self._fill_inputs(message, node)
        if node.colocated_with:
            message.attr["_class"].list.s.extend([f"loc:@{other}".encode() for other in node.colocated_with])
        of_any_kind = any(arg.type is ANY for arg in node.op_def.outputs)  # no shape rule knows its results
        if of_any_kind:
            message.attr["_output_types"].list.SetInParent()
            message.attr["_output_types"].list.type.extend([out.dtype.as_datatype_enum for out in node.outputs])
        if of_any_kind or node.op_def is captured or (self.add_shapes and node.outputs):
            shapes = message.attr["_output_shapes"].list
            shapes.SetInParent()
            shapes.shape.extend([shape_to_proto(out.shape) for out in node.outputs])

    def _fill_attrs(self, message: NodeDef, node: Operation, prefix: str) -> None:
        for name, dtype in node.types.items():
            message.attr[name].type = dtype.as_datatype_enum
        for name, value in node.attrs.items():
            if name in node.types:
                continue
            if graphs := _graphs_in(value):
                self._fill_functions(message, node, name, graphs, prefix, isinstance(value, (list, tuple)))
                continue
            try:
                if (kind := kind_of(value)) is not None:
                    self._fill_object(message, node, name, value, kind, prefix)
                    continue
                write_attr(message.attr, name, value, node.op_def.attrs.get(name))
            except NotPlainError as error:
                self._refuse(message, node, name, value, error)

    def _fill_object(self, message: NodeDef, node: Operation, name: str, value: Any, kind: Kind, prefix: str) -> None:
        text, graphs = kind.describe(value, lambda tensor: _position(tensor, node))
        message.attr[f"{OBJECT}{kind.name}:{name}"].s = text.encode()
        if graphs:
            self._fill_functions(message, node, f"{FUNCTIONS}{name}", graphs, prefix, True)

    def _refuse(self, message: NodeDef, node: Operation, name: str, value: Any, error: NotPlainError) -> None:
        if self.strict:
            raise InvalidArgumentError(
                f"Operation '{node.name}' ({node.type}) cannot be written down: its attribute {name!r} holds {error}, "
                "which lives in this process only. Leave it out of the graph to be exported."
            )
        message.attr[name].placeholder = repr(value)

    def _fill_functions(
        self, message: NodeDef, node: Operation, name: str, graphs: list[FunctionGraph], prefix: str, listed: bool
    ) -> None:
        for number, graph in enumerate(graphs):
            function = f"{prefix}{node.name}:{name}" + (f":{number}" if listed else "")
            if listed:
                message.attr[name].list.func.add(name=function)
            else:
                message.attr[name].func.name = function
            if self.strict:
                self._add_function(function, graph, node)

    def _add_function(self, name: str, graph: FunctionGraph, holder: Operation) -> None:
        made = FunctionDef()
        made.signature.name = name
        made.attr["_compares_elements"].b = graph.compares_elements
        for tensor in [*graph.arguments, *graph.captures.values()]:
            made.signature.input_arg.add(name=tensor.op.name, type=tensor.dtype.as_datatype_enum, is_ref=tensor.is_ref)
        for number, outside in enumerate(graph.captures, start=len(graph.arguments)):
            made.arg_attr[number].attr["_capture"].i = _position(outside, holder)
        for number, tensor in enumerate(graph.results):
            made.signature.output_arg.add(name=f"result_{number}", type=tensor.dtype.as_datatype_enum)
            made.ret[f"result_{number}"] = input_name(tensor)
        for node in graph.operations:
            self.fill(made.node_def.add(), node, f"{name}/")
        self.functions.append(made)

    def _fill_inputs(self, message: NodeDef, node: Operation) -> None:
        lists = [arg.name for arg in node.op_def.inputs if arg.is_list]
        position = 0
        for arg, value in zip(node.op_def.inputs, node.args, strict=True):
            if arg.is_list:
                message.attr["N" if len(lists) == 1 else f"{LENGTH}{arg.name}"].i = len(value)
            elif arg.is_host and not isinstance(value, SymbolicTensor):
                self._fill_host(message, node, arg.name, value, position)
            position += len(tensors_in([value]))

    def _fill_host(self, message: NodeDef, node: Operation, arg: str, value: Any, position: int) -> None:
        numbers = count(position)
        try:
            text = dumps(value, lambda item: next(numbers) if isinstance(item, SymbolicTensor) else None)
        except NotPlainError as error:
            self._refuse(message, node, f"{HOST}{arg}", value, error)
        else:
            message.attr[f"{HOST}{arg}"].s = text.encode()


def input_name(tensor: SymbolicTensor) -> str:
    """A tensor as the inputs of nodes name it: the first result has no number."""
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _position(outside: SymbolicTensor, holder: Operation) -> int:
    for number, tensor in enumerate(holder.inputs):
        if tensor is outside:
            return number
    raise InvalidArgumentError(
        f"Operation '{holder.name}' uses {outside.name} inside, but does not take it as an input."
    )


def _graphs_in(value: Any) -> list[FunctionGraph]:
    if isinstance(value, FunctionGraph):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, FunctionGraph) for item in value):
        return list(value)
    return []
