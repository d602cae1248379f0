"""Programs that TensorFlow saved, for ``situs place``: the graph of a signature, without its variables.

    saved_model.pb    graph: call of f1       functions: f1 (calls f2), f2 (MatMul, ...)       signatures

What a program computes stands in the functions that its signature calls, each in the one before: the first that does
more than call another is what is placed. Variables need not be read for that, whatever format they are kept in.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.proto.graph import FunctionDef, GraphDef, NodeDef
from situs._src.base.proto.saved_model import MetaGraphDef
from situs._src.saved_model.files import read_model

SERVING = "serving_default"


def message_of_program(folder: Path) -> GraphDef:
    """The graph that a saved program runs for its serving signature, or its first.

    Raises:
        OSError: there is no program, or it is damaged.
        InvalidArgumentError: it has no signature, or one whose results are nowhere.
    """
    meta: MetaGraphDef = read_model(folder)[0]
    signatures = {name: found for name, found in meta.signature_def.items() if found.outputs}
    if not signatures:
        raise ArgumentError(f"The program in {shown(str(folder))} has no signature, so nothing says what a run is.")
    signature = signatures.get(SERVING) or next(iter(signatures.values()))
    functions = {function.signature.name: function for function in meta.graph_def.library.function}
    wanted = {info.name.partition(":")[0] for info in signature.outputs.values()}
    nodes = _needed({node.name: node for node in meta.graph_def.node}, wanted)
    message = GraphDef(node=nodes)
    seen: set[str] = set()
    while True:
        called = [name for node in message.node for name in _called(node) if name in functions and name not in seen]
        sizes = {name: _size(name, functions) for name in called}
        largest = max(called, key=sizes.__getitem__, default=None)
        if largest is None or sizes[largest] < len(message.node):
            return message
        seen.add(largest)
        message = _as_graph(functions[largest])


def _needed(nodes: dict[str, NodeDef], wanted: set[str]) -> list[NodeDef]:
    """The nodes that some need, in the order of the graph."""
    missing = sorted(wanted - nodes.keys())
    if missing:
        raise ArgumentError(f"The signature gives {missing[0]!r}, and the graph has no node of that name.")
    found: set[str] = set()
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name not in found and name in nodes:
            found.add(name)
            todo += [text.removeprefix("^").partition(":")[0] for text in nodes[name].input]
    return [node for name, node in nodes.items() if name in found]


def _called(node: NodeDef) -> list[str]:
    """The functions that a node calls."""
    return [value.func.name for value in node.attr.values() if value.HasField("func")]


def _size(name: str, functions: Mapping[str, FunctionDef]) -> int:
    """How many nodes a function has, with those of all that it calls, each once."""
    found: set[str] = set()
    todo = [name]
    while todo:
        one = todo.pop()
        if one not in found and one in functions:
            found.add(one)
            todo += [other for node in functions[one].node_def for other in _called(node)]
    return sum(len(functions[one].node_def) for one in found)


def _as_graph(function: FunctionDef) -> GraphDef:
    """What a function does as a graph of its own, with placeholders for its arguments."""
    made = GraphDef()
    for number, argument in enumerate(function.signature.input_arg):
        node = made.node.add(name=argument.name, op="Placeholder")
        node.attr["dtype"].type = argument.type
        shapes = function.arg_attr[number].attr.get("_output_shapes") if number in function.arg_attr else None
        if shapes is not None:
            node.attr["_output_shapes"].CopyFrom(shapes)
    made.node.extend(function.node_def)
    return made
