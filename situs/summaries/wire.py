"""Messages of Situs as TensorBoard's: field by field, since names and meanings are the same.

    to_wire(graph.as_graph_def(), "graph_pb2", "GraphDef").SerializeToString()     bytes that TensorBoard reads

The bytes that messages of Situs make of themselves are JSON, which TensorBoard does not read.
"""

from __future__ import annotations

from typing import Any

from situs.errors import InvalidArgumentError
from situs.graph.graph import Graph
from situs.graph.serialize import VERSION, to_node_def
from situs.proto.containers import Map
from situs.proto.field import Field
from situs.proto.graph import GraphDef
from situs.proto.message import Message
from situs.summaries import messages


def to_wire(message: Message, module: str, name: str) -> Any:
    """The message as TensorBoard's message of that module and name."""
    made = getattr(messages.proto(module), name)()
    _fill(made, message)
    return made


def _fill(made: Any, message: Message) -> None:
    known = made.DESCRIPTOR.fields_by_name
    for field, value in message.ListFields():
        if field.name in known:  # TensorBoard need not know everything that Situs writes down
            _fill_field(made, field, value)


def _fill_field(made: Any, field: Field, value: Any) -> None:
    if isinstance(value, Message):
        inner = getattr(made, field.name)
        inner.SetInParent()
        _fill(inner, value)
    elif isinstance(value, Map):
        _fill_map(getattr(made, field.name), value)
    elif field.singular:
        setattr(made, field.name, value)
    else:
        _fill_list(getattr(made, field.name), list(value))


def _fill_map(made: Any, values: Any) -> None:
    for key in values:
        if isinstance(values[key], Message):
            _fill(made[key], values[key])
        else:
            made[key] = values[key]


def _fill_list(made: Any, values: list[Any]) -> None:
    if not values or not isinstance(values[0], Message):
        made.extend(values)
        return
    for value in values:
        _fill(made.add(), value)


def graph_message(graph: Graph) -> GraphDef:
    """A graph as a message to look at: Python objects in it, such as functions, are named and not written down."""
    try:
        return graph.as_graph_def(add_shapes=True)  # type: ignore[no-any-return]
    except InvalidArgumentError:
        made = GraphDef()
        made.versions.producer = VERSION  # TensorBoard puts graphs of one version together
        for node in graph.operations:
            made.node.append(to_node_def(node))
        return made
