"""``tf.GraphDef``: a graph as a value, for printing, saving and importing.

    >>> graph = GraphDef()
    >>> graph.node.add(name="a", op="Const").attr["dtype"].type = 1

The parts have files of their own (`node`, `attribute`, `tensor`, `function`); their names are here as well.
"""

from __future__ import annotations

from situs.proto.attribute import AttrValue as AttrValue
from situs.proto.attribute import NameAttrList as NameAttrList
from situs.proto.field import Nested, RepeatedNested, RepeatedScalar, Scalar
from situs.proto.function import FunctionDef as FunctionDef
from situs.proto.function import FunctionDefLibrary as FunctionDefLibrary
from situs.proto.kind import INT32
from situs.proto.message import Message
from situs.proto.node import NodeDef as NodeDef
from situs.proto.tensor import DataType as DataType
from situs.proto.tensor import TensorProto as TensorProto
from situs.proto.tensor import TensorShapeProto as TensorShapeProto


class VersionDef(Message):
    """Which versions of the producer made a graph, and who may read it."""

    producer = Scalar(1, INT32)
    min_consumer = Scalar(2, INT32)
    bad_consumers = RepeatedScalar(3, INT32)


class GraphDef(Message):
    """A graph: its nodes, the version that made it, and the functions they call."""

    node = RepeatedNested(1, NodeDef)
    versions = Nested(4, VersionDef)
    version = Scalar(3, INT32)
    library = Nested(2, FunctionDefLibrary)
