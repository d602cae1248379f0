"""``tf.NodeDef``: one node of a graph.

    >>> NodeDef(name="c", op="Add", input=["a", "b:1", "^d"]).input
    ['a', 'b:1', '^d']

An input is the name of a node, with ``:n`` for its output number n, or ``^`` in front for a control input.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from situs.proto.attribute import AttrValue
from situs.proto.field import MessageMapField, Nested, RepeatedScalar, Scalar
from situs.proto.kind import STRING
from situs.proto.message import Message


class NodeDef(Message):
    """A node of a graph: an op, its inputs, its device and its attributes."""

    class ExperimentalDebugInfo(Message):
        """The nodes and functions this node was made from."""

        original_node_names = RepeatedScalar(1, STRING)
        original_func_names = RepeatedScalar(2, STRING)

    name = Scalar(1, STRING)
    op = Scalar(2, STRING)
    input = RepeatedScalar(3, STRING)
    device = Scalar(4, STRING)
    attr = MessageMapField(5, STRING, AttrValue)
    experimental_debug_info = Nested(6, ExperimentalDebugInfo)

    @classmethod
    def of(cls, name: str, op: str, inputs: tuple[str, ...], device: str, attrs: Mapping[str, AttrValue]) -> Self:
        """A node of parts that nobody changes any more; other nodes may have the same attributes."""
        values: dict[str, Any] = {"name": name, "op": op}
        if inputs:
            values["input"] = inputs
        if device:
            values["device"] = device
        if attrs:
            values["attr"] = attrs
        return cls._of(values)

    def peek(self) -> tuple[Any, Mapping[str, AttrValue]]:
        """The inputs and attributes, to be read only."""
        return NodeDef.input.peek(self), NodeDef.attr.peek(self) or _NOTHING


_NOTHING: Mapping[str, AttrValue] = MappingProxyType({})
