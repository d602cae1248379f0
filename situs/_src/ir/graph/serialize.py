"""Graphs as ``GraphDef`` messages; `tracing.importing` reads them.

    name: "Reshape"  op: "Reshape"  input: "x"  device: "/device:GPU:0"
    attr { key: "T" value { type: DT_FLOAT } }
    attr { key: "_host:shape" value { s: "[-1, {\\"input\\": 1}]" } }

In addition to what TensorFlow writes, attributes with an underscore have what Situs knows about a node: a host input
that is not just a tensor (``_host:``), the number of tensors of each of several lists (``_length:``), values without an
exact field in messages (``_value:``), the residuals of its functions for gradients (``_residuals``). The graphs of
branches and loops are functions of the library; in these, a captured argument says which input of the node it is
(``_capture``).
"""

from __future__ import annotations

import functools
from itertools import count
from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.proto.graph import AttrValue, FunctionDef, GraphDef, NameAttrList, NodeDef
from situs._src.base.proto.tensor import shape_to_proto
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.attributes import attr_list, written_attr
from situs._src.ir.graph.function import FunctionGraph, captured
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation, tensors_in
from situs._src.ir.graph.objects import FUNCTIONS, OBJECT, Kind, kind_of
from situs._src.ir.graph.plain import NotPlainError, dumps
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import ANY

HOST = "_host:"
LENGTH = "_length:"
RESIDUALS = "_residuals"
VERSION = 1  # of the attributes with an underscore


def to_node_def(node: Operation) -> NodeDef:
    """The operation as a message; attributes that are Python objects are replaced by placeholders."""
    made = NodeDef()
    _Writer(strict=False).write(node, "", made)
    return made


def to_graph_def(graph: Graph, from_version: int = 0, add_shapes: bool = False) -> GraphDef:
    """The graph as a message.

    Args:
        graph: The graph.
        from_version: The number of operations to leave out at the beginning.
        add_shapes: Whether to write the static shapes of the results as ``_output_shapes``.

    Raises:
        InvalidArgumentError: an attribute is a Python object, such as the function of a ``py_func``.
    """
    if isinstance(from_version, bool) or not isinstance(from_version, int) or from_version < 0:
        raise DTypeError(f"from_version is a version of the graph, an integer from 0 on; got {from_version!r}.")
    made = GraphDef()
    made.versions.producer = VERSION
    writer = _Writer(strict=True, add_shapes=add_shapes)
    add = made.node.add
    for node in graph.operations[from_version:]:
        writer.write(node, "", add())
    if writer.functions:
        made.library.function.extend(writer.functions)
    return made


def to_function_defs(name: str, graph: FunctionGraph) -> list[FunctionDef]:
    """The graph of a function as a message, preceded by the functions that its operations refer to.

    Eager variables are written as variables without a value.

    Args:
        name: A name for the function.
        graph: Its graph, without captures.

    Raises:
        InvalidArgumentError: an attribute is a Python object, such as the function of a ``py_func``.
    """
    writer = _Writer(strict=True, with_cells=False)
    writer.add_function(name, graph)
    return writer.functions


Entries = dict[str, AttrValue]
Variants = dict[tuple[object, ...], tuple[NodeDef, Entries]]


class _Writer:
    """Writes nodes, and collects their functions.

    A graph has many similar nodes. The op and the attributes of one of them are cached as a message, and copied for the
    others: that takes a third of the time of setting them one by one.
    """

    def __init__(self, strict: bool, add_shapes: bool = False, with_cells: bool = True) -> None:
        self.strict = strict
        self.add_shapes = add_shapes
        self.with_cells = with_cells  # without it, eager variables are an error
        self.functions: list[FunctionDef] = []
        self._alike: dict[tuple[Any, ...], tuple[NodeDef, Variants]] = {}
        self._extras: dict[tuple[Any, ...], AttrValue] = {}

    def write(self, node: Operation, prefix: str, made: NodeDef) -> None:
        """Writes a node into an empty message; `prefix` is prepended to the names of its functions."""
        made.CopyFrom(self._pattern(node, prefix))
        made.name = node.name
        inputs = [input_name(tensor) for tensor in node.inputs]
        if node.control_inputs:
            inputs += [f"^{other.name}" for other in node.control_inputs]
        if inputs:
            made.input.extend(inputs)
        if node.device:
            made.device = node.device

    def _pattern(self, node: Operation, prefix: str) -> NodeDef:
        """The op and the attributes of a node, as a message to be copied."""
        alike = _alike(node)
        found = None if alike is None else self._alike.get(alike)
        if found is None:
            found = NodeDef(op=node.type, attr=self._entries(node, prefix)), {}
            if alike is not None:
                self._alike[alike] = found
        plain, variants = found
        extra = self._extra(node)
        if not extra:
            return plain
        key = (*extra, *map(id, extra.values()))
        variant = variants.get(key)
        if variant is None:
            made = NodeDef(op=node.type, attr=extra)
            made.MergeFrom(plain)
            variant = variants[key] = made, extra  # keeps the objects, and so their ids, alive
        return variant[0]

    def _entries(self, node: Operation, prefix: str) -> Entries:
        """The serialized dtypes and attributes of a node."""
        entries: Entries = {name: AttrValue(type=dtype.as_datatype_enum) for name, dtype in node.types.items()}
        for name, value in node.attrs.items():
            if name in node.types or (name == "cell" and not self.with_cells):
                continue
            if graphs := _graphs_in(value):
                entries[name] = self._functions(node, name, graphs, prefix, isinstance(value, (list, tuple)))
                continue
            try:
                if (kind := kind_of(value)) is not None:
                    entries |= self._object(node, name, value, kind, prefix)
                    continue
                entry = written_attr(name, value, node.op_def.attrs.get(name))
            except NotPlainError as error:
                entry = name, self._refuse(node, name, value, error)
            if entry is not None:
                entries[entry[0]] = entry[1]
        return entries

    def _object(self, node: Operation, name: str, value: object, kind: Kind, prefix: str) -> Entries:
        text, graphs = kind.describe(value, lambda tensor: _position(tensor, node))
        entries = {f"{OBJECT}{kind.name}:{name}": AttrValue(s=text.encode())}
        if graphs:
            functions = f"{FUNCTIONS}{name}"
            entries[functions] = self._functions(node, functions, graphs, prefix, True)
        return entries

    def _refuse(self, node: Operation, name: str, value: object, error: NotPlainError) -> AttrValue:
        if self.strict:
            raise ArgumentError(
                f"Operation '{node.name}' ({node.type}) cannot be written down: its attribute {name!r} holds {error}, "
                "which lives in this process only. Leave it out of the graph to be exported."
            )
        return AttrValue(placeholder=repr(value))

    def _functions(
        self, node: Operation, name: str, graphs: list[FunctionGraph], prefix: str, listed: bool
    ) -> AttrValue:
        names = [f"{prefix}{node.name}:{name}" + (f":{number}" if listed else "") for number in range(len(graphs))]
        if self.strict:
            for function, graph in zip(names, graphs, strict=True):
                self.add_function(function, graph, node)
        if listed:
            return attr_list("func", [NameAttrList(name=function) for function in names])
        return AttrValue(func={"name": names[0]})

    def add_function(self, name: str, graph: FunctionGraph, holder: Operation | None = None) -> None:
        """Writes the graph of a function, after those that it refers to; its captures are inputs of `holder`."""
        made = FunctionDef()
        made.signature.name = name
        made.attr["_compares_elements"].b = graph.compares_elements
        for tensor in [*graph.arguments, *graph.captures.values()]:
            made.signature.input_arg.add(name=tensor.op.name, type=tensor.dtype.as_datatype_enum, is_ref=tensor.is_ref)
        for number, outside in enumerate(graph.captures, start=len(graph.arguments)):
            assert holder is not None, "a function by itself captures nothing"
            made.arg_attr[number].attr["_capture"].i = _position(outside, holder)
        for number, tensor in enumerate(graph.results):
            made.signature.output_arg.add(name=f"result_{number}", type=tensor.dtype.as_datatype_enum)
            made.ret[f"result_{number}"] = input_name(tensor)
        for node in graph.operations:
            self.write(node, f"{name}/", made.node_def.add())
        self.functions.append(made)

    # Additional attributes.

    def _extra(self, node: Operation) -> Entries:
        """How the inputs are grouped, what the node is colocated with, and its results and residuals."""
        op_def = node.op_def
        has_other_inputs, of_any_kind = _facts(op_def)
        found = self._inputs(node) if has_other_inputs else {}
        if node.colocated_with:
            found["_class"] = self._list("s", tuple([f"loc:@{other}".encode() for other in node.colocated_with]))
        if of_any_kind:
            found["_output_types"] = self._list("type", tuple([out.dtype.as_datatype_enum for out in node.outputs]))
        if node.residuals:
            names = [input_name(tensor).encode() for residual in node.residuals for tensor in residual]
            found[RESIDUALS] = self._list("s", tuple(names))
        if of_any_kind or op_def is captured or (self.add_shapes and node.outputs):
            found["_output_shapes"] = self._list("shape", tuple([out.shape for out in node.outputs]))
        return found

    def _list(self, field: str, items: tuple[Any, ...]) -> AttrValue:
        found = self._extras.get((field, items))
        if found is None:
            values = [shape_to_proto(item) for item in items] if field == "shape" else list(items)
            found = self._extras[field, items] = attr_list(field, values)
        return found

    def _scalar(self, field: str, value: object) -> AttrValue:
        found = self._extras.get((field, value))
        if found is None:
            found = self._extras[field, value] = AttrValue(**{field: value})
        return found

    def _inputs(self, node: Operation) -> Entries:
        found: Entries = {}
        lists = [arg.name for arg in node.op_def.inputs if arg.is_list]
        position = 0
        for arg, value in zip(node.op_def.inputs, node.args, strict=True):
            if arg.is_list:
                found["N" if len(lists) == 1 else f"{LENGTH}{arg.name}"] = self._scalar("i", len(value))
            elif arg.is_host and not isinstance(value, SymbolicTensor):
                found[f"{HOST}{arg.name}"] = self._host(node, arg.name, value, position)
            position += len(tensors_in([value]))
        return found

    def _host(self, node: Operation, arg: str, value: object, position: int) -> AttrValue:
        numbers = count(position)
        try:
            text = dumps(value, lambda item: next(numbers) if isinstance(item, SymbolicTensor) else None)
        except NotPlainError as error:
            return self._refuse(node, f"{HOST}{arg}", value, error)
        return self._scalar("s", text.encode())


_PLAIN_TYPES = frozenset({bool, int, str, type(None), DType})


def _alike(node: Operation) -> tuple[Any, ...] | None:
    """A key that is equal for nodes with equally serialized attributes; None if unknown."""
    values = tuple(node.attrs.values())
    kinds = [*map(type, values)]
    if not _PLAIN_TYPES.issuperset(kinds):
        values = tuple([_key(value) for value in values])
        if None in values:
            return None
    return (node.op_def, *map(id, node.types.values()), *kinds, *values)  # dtypes live for ever


def _key(value: Any) -> str | tuple[Any] | None:
    """A key that distinguishes 1 from 1.0 and from True: a value, or its description; None for objects."""
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return (value,)
    if kind is float or kind is TensorShape:
        return repr(value)
    if kind is tuple and all(type(item) is float or type(item) in _PLAIN_TYPES for item in value):
        return repr(value)
    return None


@functools.cache
def _facts(op_def: Op) -> tuple[bool, bool]:
    """Whether an op has inputs that are not just tensors, and whether it has no shape rule."""
    return any(arg.is_list or arg.is_host for arg in op_def.inputs), any(arg.type is ANY for arg in op_def.outputs)


def input_name(tensor: SymbolicTensor) -> str:
    """The name of a tensor in the inputs of nodes: the first result has no number."""
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _position(outside: SymbolicTensor, holder: Operation) -> int:
    for number, tensor in enumerate(holder.inputs):
        if tensor is outside:
            return number
    raise ArgumentError(f"Operation '{holder.name}' uses {outside.name} inside, but does not take it as an input.")


def _graphs_in(value: object) -> list[FunctionGraph]:
    if isinstance(value, FunctionGraph):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, FunctionGraph) for item in value):
        return list(value)
    return []
