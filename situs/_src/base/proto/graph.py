"""``tf.GraphDef``: a graph as a value, for printing, saving and importing.

    >>> graph = GraphDef()
    >>> graph.node.add(name="c", op="Add", input=["a", "b:1", "^d"]).attr["T"].type = 1

An input is the name of a node, with ``:n`` for its output number n, or ``^`` in front for a control input.
"""

from __future__ import annotations

from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList
from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from situs._src.base.export import export
from situs._src.base.proto.own import documented

documented(GraphDef, "A graph: its nodes, the version that made it, and the functions they call.")
documented(NodeDef, "A node of a graph: an op, its inputs, its device and its attributes.")
documented(AttrValue, "The value of one attribute of a node: exactly one of its fields is set.")
documented(NameAttrList, "A function by name, with the attributes it is called with.")
documented(FunctionDef, "A function: its signature and its nodes.")
documented(FunctionDefLibrary, "The functions of a graph.")

__all__ = ["AttrValue", "FunctionDef", "FunctionDefLibrary", "GraphDef", "NameAttrList", "NodeDef"]

export(v1="AttrValue")(AttrValue)
export(v1="GraphDef")(GraphDef)
export(v1="NodeDef")(NodeDef)
