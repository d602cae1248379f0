"""Plans as graphs to display: the kernel calls of a run, their devices, and why they are there.

    a (Const) ----.                      nodes: the calls of the plan, its constants and arguments
                  MatMul --- copy --- AddN
    b (Const) ----'                      a copy is not a node but a marked edge

Called functions are inlined in the plan, as they run; a branch or a loop is a single node.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.origin import Origin
from situs._src.ir.graph.replicas import Reduction, together
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.candidates import Assignment
from situs._src.runtime.plan.plan import Plan, makers, slots_in

RESULTS = 4  # shown of each operation


class Node(NamedTuple):
    """An operation of a graph: what it is, where it runs, and why."""

    name: str
    op: str
    device: str
    why: str
    requested: str
    line: str
    result: str


class Edge(NamedTuple):
    """A tensor that one node makes and another takes; `copied` if they are on different devices."""

    source: int
    target: int
    copied: bool


@dataclass
class GraphData:
    """A graph.

    Attributes:
        title: The name of the function, or of what runs graphs.
        nodes: The operations.
        edges: Which takes what from which.
        of_call: The node of each call of the plan, by its number.
        reductions: Where values of replicas are reduced, in words.
    """

    title: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    of_call: dict[int, int] = field(default_factory=dict)
    reductions: list[str] = field(default_factory=list)


def graph_of(plan: Plan) -> GraphData:
    """The graph of a plan."""
    found = GraphData(title_of(plan))
    number_of: dict[Operation, int] = {}
    for number, call in enumerate(plan.calls):
        if call.node is not None:
            found.of_call[number] = number_of[call.node] = len(found.nodes)
            found.nodes.append(_node(call.node, plan.assignments.get(call.node)))
    for node, assignment in plan.placed.items():
        if node not in number_of:
            number_of[node] = len(found.nodes)
            found.nodes.append(_node(node, assignment))
    edges = dict.fromkeys(_edges(plan, found, number_of))
    used = {end for edge in edges for end in (edge.source, edge.target)} | set(found.of_call.values())
    _keep(found, sorted(used), list(edges))
    graphs = {node.graph: None for node in number_of}
    replicas = [graph.replicas for graph in graphs if isinstance(graph, FunctionGraph) and graph.replicas is not None]
    reductions: list[Reduction] = together(replicas).reductions if replicas else []
    found.reductions = list(map(str, reductions))
    return found


def title_of(plan: Plan) -> str:
    """What to call a plan: the function that it is of, or what runs it."""
    graphs = list(dict.fromkeys(node.graph for node in plan.placed))
    named = [graph.title for graph in graphs if graph.title]
    return named[0] if named else "unnamed function" if any(graph.is_inner for graph in graphs) else "Session.run"


def _edges(plan: Plan, found: GraphData, number_of: dict[Operation, int]) -> list[Edge]:
    """Which node takes what from which: through the slots of the plan, past copies, and from what is not called."""
    maker = makers(plan.calls)
    edges = []
    for number, call in enumerate(plan.calls):
        if call.node is None:
            continue
        target = found.of_call[number]
        for slot in slots_in(call.inputs):
            first, copied = maker.get(slot), False
            while first is not None and first not in found.of_call:
                before = plan.calls[first]
                copied = copied or before.copies is not None
                first = next((maker[each] for each in slots_in(before.inputs) if each in maker), None)
                if first is None and before.copies is not None and before.copies.op in number_of:
                    edges.append(Edge(number_of[before.copies.op], target, copied))
            if first is not None:
                edges.append(Edge(found.of_call[first], target, copied))
        for tensor in call.node.inputs:
            source = number_of.get(tensor.op)
            if source is not None and source >= len(found.of_call):
                there, here = found.nodes[source].device, found.nodes[target].device
                edges.append(Edge(source, target, there != here))
    return [edge for edge in edges if edge.source != edge.target]


def _keep(found: GraphData, used: list[int], edges: list[Edge]) -> None:
    """Leaves out unused nodes."""
    new = {old: number for number, old in enumerate(used)}
    found.nodes = [found.nodes[old] for old in used]
    found.edges = [Edge(new[edge.source], new[edge.target], edge.copied) for edge in edges]
    found.of_call = {call: new[old] for call, old in found.of_call.items()}


def _node(node: Operation, assignment: Assignment | None) -> Node:
    results = ", ".join(f"{tensor.dtype.name}{_shape(tensor)}" for tensor in node.outputs[:RESULTS])
    if assignment is None:
        return Node(node.name, node.type, "", "", node.device, line_text(node.made_at), results)
    return Node(
        node.name,
        node.type,
        assignment.device.short_name,
        assignment.reason,
        assignment.requested,
        line_text(node.made_at),
        results,
    )


def _shape(tensor: SymbolicTensor) -> str:
    shape = tensor.shape
    return (
        "[?]" if shape.rank is None else f"[{', '.join('?' if dim is None else str(dim) for dim in shape.as_list())}]"
    )


_LIBRARY = str(Path(threading.__file__).parent) + os.sep
_PACKAGES = f"{os.sep}site-packages{os.sep}"


@cache
def is_library(file: str) -> bool:
    """Whether a file is of Python's own library, which starts threads and calls functions."""
    return file.startswith(_LIBRARY) and _PACKAGES not in file


def line_text(made_at: Origin) -> str:
    """The user's line, with its path; empty if it is not known."""
    for code, number in made_at:
        if not is_library(code.co_filename):
            return f"{code.co_filename}:{number}"
    return ""
