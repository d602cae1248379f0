"""The objects of a program as a graph of names: the keys of ``tf.train.Checkpoint``.

    Checkpoint(net=net, step=step)          net/w/.ATTRIBUTES/VARIABLE_VALUE
      net -> w, layers -> 0, 1              net/layers/0/.ATTRIBUTES/VARIABLE_VALUE
      step                                  step/.ATTRIBUTES/VARIABLE_VALUE

An object's children are the result of ``_checkpoint_children()``, or ``_trackable_children()`` as in TensorFlow, else
the items of a list or dictionary, else the attributes that are variables or lead to some. A variable is saved once,
under the shortest path that leads to it; the graph itself is saved with the values, so that it is found by any path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType
from situs._src.base.errors import DataLossError, InvalidArgumentError, shown
from situs._src.base.proto.tensor_bundle import TrackableObjectGraph
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.checkpoints.cells import full_name, has_value, variable_of
from situs._src.checkpoints.index import LARGEST
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.resumable import Resumable
from situs._src.checkpoints.strict_json import loads
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.runtime.session.session import BaseSession
from situs._src.tracing.function import Function, Method

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
STATE = "/.ATTRIBUTES/ITERATOR_STATE"
_PLAIN = (str, bytes, bytearray, int, float, complex, type(None), type, np.ndarray, np.generic, torch.Tensor)
_CODE = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, Function, Method)
_OURS = (Tensor, Graph, Operation, BaseSession, TensorShape, DType, Device)
_NO_OBJECTS = _PLAIN + _CODE + _OURS


# What leads where.


def may_hold_variables(value: object) -> bool:
    """Whether a value is a variable, or an object, list or dictionary that could lead to one."""
    if has_value(value) or isinstance(value, (list, tuple, Mapping)) or hasattr(type(value), "_checkpoint_children"):
        return True
    return not isinstance(value, _NO_OBJECTS) and (hasattr(value, "__dict__") or hasattr(type(value), "__slots__"))


def children(value: object) -> dict[str, Any]:
    """What an object leads to directly, by name; only what may hold variables."""
    return {name: child for name, child in _leading_on(value) if isinstance(name, str)}


def _leading_on(value: object) -> Iterator[tuple[Any, Any]]:
    """The children of an object that may hold variables; the keys of a dictionary may be anything."""
    if has_value(value):
        return
    for name, child in _all_children(value):
        child = variable_of(child)
        if may_hold_variables(child) and not _is_data(child):
            yield name, child


def _all_children(value: Any) -> Iterator[tuple[Any, Any]]:
    if hasattr(type(value), "_checkpoint_children"):
        yield from list(value._checkpoint_children().items())
    elif hasattr(type(value), "_trackable_children"):
        yield from list(value._trackable_children("checkpoint").items())
    elif isinstance(value, Mapping):
        yield from list(value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((str(number), child) for number, child in enumerate(value))
    else:
        yield from _attributes(value).items()


def _is_data(value: object) -> bool:
    """Whether a list or dictionary has nothing but numbers and strings in it, a million of them perhaps."""
    if not isinstance(value, (list, tuple, Mapping)) or not value:
        return False
    kinds = set(map(type, value.values() if isinstance(value, Mapping) else value))
    return all(issubclass(kind, _PLAIN) for kind in kinds)


def _attributes(value: object) -> dict[str, Any]:
    names = [name for cls in type(value).__mro__ for name in _slots(cls)]
    return {name: getattr(value, name) for name in names if hasattr(value, name)} | dict(getattr(value, "__dict__", {}))


def _slots(cls: type) -> list[str]:
    """The attributes that a class has slots for, by the names that Python gives them: private ones have the class's."""
    slots = vars(cls).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else [name for name in slots if name not in ("__dict__", "__weakref__")]
    owner = cls.__name__.lstrip("_")
    return [f"_{owner}{name}" if name.startswith("__") and not name.endswith("__") else name for name in names]


# Walking.


@dataclass
class Node:
    """One object in a saved graph: its children by number, and the key of its value if it is a variable."""

    children: dict[str, int] = field(default_factory=dict)
    key: str | None = None
    full_name: str = ""


@dataclass
class ObjectGraph:
    """The objects that lead to variables; the first node is the root."""

    nodes: list[Node]
    objects: list[Any] = field(default_factory=list)  # of this program, one for each node
    nameless: list[tuple[Any, Any, int]] = field(default_factory=list)  # dictionaries, keys that are not strings, nodes

    @property
    def variables(self) -> list[tuple[str, Any]]:
        """The variables with their keys."""
        pairs = zip(self.nodes, self.objects, strict=True)
        return [(node.key, value) for node, value in pairs if node.key is not None]

    def paths(self) -> dict[int, str]:
        """For each node the shortest way to it, as an error message shows it: ``(root).net.w``."""
        found, queue = {0: "(root)"}, [0]
        for number in queue:
            for name, child in self.nodes[number].children.items():
                if child not in found:
                    found[child] = f"{found[number]}.{name}"
                    queue.append(child)
        return found


def walk(root: object) -> ObjectGraph:
    """The graph of all objects that `root` leads to and that may lead to variables."""
    if has_value(root):
        return ObjectGraph([Node(key=VALUE[1:], full_name=full_name(root))], [root])
    graph = ObjectGraph([Node()], [root])
    numbers, paths = {id(root): 0}, [""]
    for number, value in enumerate(graph.objects):  # which grows meanwhile
        for name, child in _leading_on(value):
            if id(child) not in numbers:
                numbers[id(child)] = len(graph.objects)
                path = f"{paths[number]}/{_escaped(str(name))}".removeprefix("/")
                paths.append(path)
                graph.objects.append(child)
                graph.nodes.append(_node_of(child, path))
            if isinstance(name, str):
                graph.nodes[number].children[name] = numbers[id(child)]
            else:
                graph.nameless.append((value, name, numbers[id(child)]))
    return graph


def _node_of(value: object, path: str) -> Node:
    if not has_value(value):
        return Node()
    return Node(key=path + (STATE if isinstance(value, Resumable) else VALUE), full_name=full_name(value))


def _escaped(name: str) -> str:
    """A name in a path: slashes stand between names, and what begins with a dot is not a name."""
    return name.replace(".", "..").replace("/", ".S")


def pruned(graph: ObjectGraph) -> ObjectGraph:
    """The graph without the objects that lead to no variable.

    Raises:
        InvalidArgumentError: a variable is found only by a key that is not a string.
    """
    keep = _leading_to_variables(graph.nodes)
    for value, key, number in graph.nameless:
        if number in keep:
            raise InvalidArgumentError(
                f"Unable to save the object {shown(value)}: its key {shown(key)} is no string. Use strings for the "
                "keys of dictionaries that hold variables."
            )
    renumbered = {number: place for place, number in enumerate(sorted(keep))}
    nodes = [
        Node(
            {name: renumbered[child] for name, child in graph.nodes[number].children.items() if child in keep},
            graph.nodes[number].key,
            graph.nodes[number].full_name,
        )
        for number in sorted(keep)
    ]
    return ObjectGraph(nodes, [graph.objects[number] for number in sorted(keep)])


def _leading_to_variables(nodes: list[Node]) -> set[int]:
    parents: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        for child in node.children.values():
            parents.setdefault(child, []).append(number)
    queue = [number for number, node in enumerate(nodes) if node.key is not None]
    found = {0, *queue}
    for number in queue:
        for parent in parents.get(number, ()):
            if parent not in found:
                found.add(parent)
                queue.append(parent)
    return found


# In a checkpoint.


def to_text(graph: ObjectGraph) -> bytes:
    """The graph as it is saved: JSON."""
    nodes = [
        {"children": node.children} if node.key is None else {"key": node.key, "full_name": node.full_name}
        for node in graph.nodes
    ]
    content = json.dumps({"nodes": nodes}, separators=(",", ":")).encode()
    if len(content) >= LARGEST - 100:
        raise InvalidArgumentError(f"{len(nodes)} objects are too many for one checkpoint. Save parts of them.")
    return content


def read_graph(reader: CheckpointReader) -> ObjectGraph | None:
    """The graph that a checkpoint was saved with; None if it was saved by names alone.

    Raises:
        DataLossError: it is malformed.
    """
    if not reader.has_tensor(GRAPH_KEY):
        return None
    size = reader.entry(GRAPH_KEY).size
    if size > LARGEST:
        raise DataLossError(f"The object graph of {reader.prefix} has {size} bytes; one has at most {LARGEST}.")
    value = reader.read(GRAPH_KEY)
    parse, writer = (_from_message, "TensorFlow") if reader.index.is_tensorflows else (_from_text, "Situs")
    try:
        nodes = parse(value[()])
        if not nodes:
            raise ValueError("it has no root")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, DecodeError) as error:
        raise DataLossError(
            f"The object graph of {reader.prefix} is not what {writer} writes: {shown(error)}."
        ) from None
    return ObjectGraph(nodes)


def _from_text(text: bytes) -> list[Node]:
    content = loads(text)
    return [_node(node, len(content["nodes"])) for node in content["nodes"]]


def _from_message(content: bytes) -> list[Node]:
    """The nodes of a graph that TensorFlow has written; slots of optimizers are children, as in Situs."""
    messages = TrackableObjectGraph.FromString(content).nodes
    nodes = []
    for message in messages:
        said = {"children": {child.local_name: child.node_id for child in message.children}}
        for attribute in message.attributes:  # at most one; what is no variable of TensorFlow's finds none here
            said |= {"key": attribute.checkpoint_key, "full_name": attribute.full_name}
        for slot in message.slot_variables:
            owner = messages[slot.original_variable_node_id].attributes
            name = owner[0].full_name if owner else ""
            said["children"][slot_child(name, slot.slot_name)] = slot.slot_variable_node_id
        nodes.append(_node(said, len(messages)))
    return nodes


def slot_child(variable: str, slot: str) -> str:
    """What an optimizer calls the child that is its slot for a variable."""
    return f"{variable}.{slot}"


def _node(content: dict[str, Any], count: int) -> Node:
    made = Node(dict(content.get("children", {})), content.get("key"), content.get("full_name", ""))
    numbers = made.children.values()
    if not all(type(number) is int and 0 <= number < count for number in numbers):
        raise ValueError("a child has no node")
    if not isinstance(made.full_name, str) or not isinstance(made.key, (str, type(None))):
        raise ValueError("a key is no string")
    return made


def names_in(reader: CheckpointReader) -> dict[str, str]:
    """The keys of variables that were saved by their place in objects, by the names that they had."""
    graph = read_graph(reader)
    return {} if graph is None else {node.full_name: node.key for node in graph.nodes if node.key and node.full_name}
