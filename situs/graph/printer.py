"""Graphs as text, one line per operation.

    %a : float32[1,2] = Const [[1 2]]
    %x : float32[?,2] = Placeholder()
    %y : float32[1,?] = MatMul(%a, %x) {transpose_b: true}  device=/device:GPU:0  after ^init  # program.py:12

Attributes that have their default are left out, and dtypes stand with the results. The graphs of branches and loops
are indented under the operation that holds them.
"""

from __future__ import annotations

from typing import Any

from situs.graph.function import FunctionGraph
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.origin import line_of
from situs.graph.tensor import SymbolicTensor
from situs.shapes import TensorShape


def graph_text(graph: Graph) -> str:
    """A listing of the graph."""
    return "\n".join(line for node in graph.operations for line in _lines(node, ""))


def node_text(node: Operation) -> str:
    """What ``str(operation)`` prints: the text of its ``NodeDef``, as in TensorFlow."""
    from situs.graph.serialize import to_node_def

    return str(to_node_def(node))
