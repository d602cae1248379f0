"""Tapes while a graph is being built.

A graph knows how everything in it was computed, so operations need not be recorded: the tape only keeps when it
recorded, and since when it watches what. Operations are numbered in order of creation; those that the tape would have
recorded are found when a gradient is computed:

    operations   0 .. 5 .. 9 .. 14          spans [5, 9), watched {x: 5}
    recorded     those in a span that depend on x through recorded operations
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from situs._src.autodiff.graph import Origins, operations_before
from situs._src.autodiff.registered import rule_of
from situs._src.base.devices.scope import here
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation, now
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.variables.capture import captured_variable, captured_variables
from situs._src.variables.collections import GraphKeys
from situs._src.variables.eager import Variable


class GraphRecording:
    """When a tape recorded, and what it watches in graphs.

    Args:
        sees_variables: Whether trainable variables are watched as soon as they are read.
    """

    def __init__(self, sees_variables: bool) -> None:
        self._sees_variables = sees_variables
        self._spans: list[tuple[float, float]] = []
        self._watched: list[tuple[Any, int]] = []  # symbolic and eager tensors, variables, and since when
        self._graphs: dict[Graph, None] = {}  # the graphs that it was used in

    def start(self) -> None:
        """Records what is built from now on."""
        self._spans.append((now(), inf))

    def stop(self) -> None:
        """Records no more."""
        self._spans[-1] = (self._spans[-1][0], now())

    def watch(self, item: object) -> None:
        """Records from now on what depends on a tensor or a variable."""
        self._watched.append((item, now()))

    def note_graph(self) -> None:
        """Adds the current graph, and its outer graphs, whose variables may be asked for later."""
        graph = here.graph
        while graph is not None:
            self._graphs[graph] = None
            graph = graph.outer

    def variables(self) -> list[Any]:
        """The watched variables, in order of first use."""
        self.note_graph()
        met: list[tuple[int, Any]] = []
        origins = Origins(reads=True)
        for graph in self._graphs:
            variables = _variables_of(outermost(graph))
            for node in filter(self._is_recorded, graph.operations if self._sees_variables else ()):
                found = [variables.get(key) for key in _read_by(node, origins)]
                met += [(node.serial, variable) for variable in found if variable is not None and variable.trainable]
        met += [(since, item) for item, since in map(_with_variable, self._watched) if is_variable(item)]
        return list({id(variable): variable for _, variable in sorted(met, key=lambda pair: pair[0])}.values())

    def recorded(self, targets: Sequence[Any], origins: Origins) -> tuple[list[Operation], set[int]]:
        """The recorded operations on the path to some targets, and the keys of all known tensors."""
        known = self._known(origins)
        variables: dict[Graph, dict[int, Any]] = {}
        nodes = []
        for node in operations_before(targets, origins):
            if not self._is_recorded(node):
                continue
            top = outermost(node.graph)
            if self._sees_variables and top not in variables:
                variables[top] = _variables_of(top)
            for key in _read_by(node, origins) if self._sees_variables else ():
                found = variables[top].get(key)
                if found is not None and found.trainable:
                    known.setdefault(key, node.serial)
            if getattr(rule_of(node), "stops", False):
                continue
            if any(known.get(origins.key(tensor), inf) <= node.serial for tensor in node.inputs):
                nodes.append(node)
                known.update({origins.key(tensor): node.serial for tensor in node.outputs})
        for target in targets:  # a variable is read now
            top = outermost(target.graph)
            variable = _variables_of(top).get(id(target)) if target.is_ref else None
            if self._sees_variables and variable is not None and variable.trainable:
                known.setdefault(id(target), 0)
        return nodes, set(known)

    def _known(self, origins: Origins) -> dict[int, float]:
        known: dict[int, float] = {}
        for item, since in self._watched:
            tensor = captured_variable(here.graph, item) if isinstance(item, Variable) else state_or_tensor(item)
            known.setdefault(origins.key(tensor), since)
        return known

    def _is_recorded(self, node: Operation) -> bool:
        return any(start <= node.serial < end for start, end in self._spans)


def state_or_tensor(item: object) -> Any:
    """A tensor itself; for a graph variable, its state tensor."""
    return getattr(item, "_variable", item)


def is_variable(item: object) -> bool:
    """Whether something is a variable, eager or in a graph."""
    return isinstance(item, Variable) or hasattr(item, "_variable")


def _with_variable(watched: tuple[Any, int]) -> tuple[Any, int]:
    """What is watched, and since when; for the state of a graph variable, the variable."""
    item, since = watched
    if isinstance(item, SymbolicTensor) and item.is_ref:
        item = _variables_of(outermost(item.graph)).get(id(item), item)
    return item, since


def _variables_of(graph: Graph) -> dict[int, Any]:
    """The variables of a graph, by the ids of their state tensors."""
    found = {id(state): variable for variable, state in captured_variables(graph)}
    for name in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES):
        found |= {id(v._variable): v for v in graph.get_collection(name) if hasattr(v, "_variable")}
    return found


def _read_by(node: Operation, origins: Origins) -> list[int]:
    """The keys of the states that an operation reads; not if it updates the variable."""
    if node.op_def.updates:
        return []
    states = [origins(tensor) for tensor in node.inputs]
    return [id(state) for state in states if isinstance(state, SymbolicTensor) and state.is_ref]
