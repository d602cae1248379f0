"""``tf.NodeDef``: one node of a graph.

    >>> NodeDef(name="c", op="Add", input=["a", "b:1", "^d"]).input
    ['a', 'b:1', '^d']

An input is the name of a node, with ``:n`` for its output number n, or ``^`` in front for a control input.
"""

from __future__ import annotations

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
