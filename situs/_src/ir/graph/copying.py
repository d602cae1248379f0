"""Copying operations within their graph: with other inputs, names and devices.

    x ---- MatMul ---- Relu             the operations that are copied: MatMul, Relu
    w -----'                            given: x is to be y, and GPU:0 is to be GPU:1
    y ---- MatMul ---- Relu             the copies; w, which was not mapped, is shared
    w -----'

`distribute` uses it for replicas that are identical to the first one. Everything about a copy is known already, so
nothing is bound, converted or inferred: it costs a seventh of tracing it again.

Invariants:
    - Copies are in the order of their originals, and so are their side effects.
    - A copy has the shapes, attributes and control inputs of the original, with tensors and operations replaced by
      their copies, if they have been copied as well.
    - The graphs of branches, loops and calls are copied with their operation; a graph that several operations share is
      shared by their copies, too. Their residuals, which are added for gradients, must not change after that: callers
      check `Copier.changed`.
    - Placeholders and state (`FED`, `STATE`) are never copied: `Copier` maps them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import InternalError
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FED, STATE, Trait

OUTSIDE = frozenset({FED, STATE})

Renamed = Callable[[str], str]
Attributes = Callable[[Operation], Mapping[str, Any]]
Look = Callable[[SymbolicTensor], SymbolicTensor]


class Original(NamedTuple):
    """An operation to be copied, perhaps several times, with cached facts.

    Attributes:
        node: The operation.
        graphs: Its graphs.
        attributes: Returns the attributes of a copy; None if they are unchanged.
    """

    node: Operation
    graphs: list[FunctionGraph]
    attributes: Attributes | None


def originals(
    nodes: Iterable[Operation], attributes: Attributes | None = None, trait: Trait | None = None
) -> list[Original]:
    """Operations to be copied, without placeholders and state.

    Args:
        nodes: The operations.
        attributes: Returns the attributes of copies of those whose op has a trait, if it has no graphs.
        trait: The trait.
    """
    return [
        Original(node, [graph for _, graph in graphs_of(node)], attributes if trait in node.op_def.traits else None)
        for node in nodes
        if node.op_def.traits.isdisjoint(OUTSIDE)
    ]


class Copier:
    """Copies operations, and keeps track of the copies.

    Args:
        graph: The graph of the copies.
        look: Maps a tensor that was not copied.
        renamed: Maps the name of an operation to that of its copy.
        devices: Maps requested devices to those of the copies; others are kept.
    """

    def __init__(self, graph: Graph, look: Look, renamed: Renamed, devices: Mapping[str, str]) -> None:
        self._graph, self._look, self._renamed, self._devices = graph, look, renamed, devices
        self._tensors: dict[int, SymbolicTensor] = {}  # by the ids of tensors, which their graph keeps
        self._nodes: dict[Operation, Operation] = {}
        self._inner: dict[FunctionGraph, tuple[FunctionGraph, Copier]] = {}
        self._held: dict[Operation, tuple[int, ...]] = {}  # what the originals that hold graphs looked like

    def tensor(self, original: SymbolicTensor) -> SymbolicTensor:
        """The counterpart of a tensor among the copies."""
        found = self._tensors.get(id(original))
        if found is None:
            found = self._tensors[id(original)] = self._look(original)
        return found

    def known(self, original: SymbolicTensor) -> SymbolicTensor | None:
        """The same, if it is already known."""
        return self._tensors.get(id(original))

    def learn(self, original: SymbolicTensor, stands: SymbolicTensor) -> None:
        """Registers the counterpart of a tensor."""
        self._tensors[id(original)] = stands

    def node(self, original: Operation) -> Operation:
        """The copy of an operation; itself, if it was not copied."""
        return self._nodes.get(original, original)

    def changed(self) -> list[Operation]:
        """The operations whose inner graphs or results have grown since they were copied."""
        return [node for node, size in self._held.items() if _size(node) != size]

    def copy(self, given: Sequence[Original]) -> list[Operation]:
        """Adds copies of operations to the graph; in graph order, and none was copied before."""
        made = [self._copied(*each) for each in given]
        self._graph.add_copies(made)
        return made

    def _copied(self, node: Operation, graphs: list[FunctionGraph], attributes: Attributes | None) -> Operation:
        attrs = node.attrs if attributes is None else attributes(node)
        if graphs:
            attrs = {name: self._attr(value) for name, value in attrs.items()}
        tensors = self._tensors
        known = tensors.get
        args = tuple([self._arg(arg) if (found := known(id(arg))) is None else found for arg in node.args])
        made = node.like(self._graph, self._renamed(node.name), args, attrs)
        for tensor, copied in zip(node.outputs, made.outputs, strict=True):
            tensors[id(tensor)] = copied
        self._nodes[node] = made
        if graphs:
            order = [self._inner[graph][1] for graph in graphs]
            made.residuals = [self._residual(each, order) for each in node.residuals]
            self._held[node] = _size(node)
        if node.control_inputs:
            made.control_inputs = [self._nodes.get(other, other) for other in node.control_inputs]
        made.device = self._devices.get(node.device, node.device)
        if node.colocated_with:
            made.colocated_with = tuple(sorted([self._companion(node.graph, other) for other in node.colocated_with]))
            if made.colocated_with == node.colocated_with:
                made.device = node.device
        if node.graph.gradient_names and node in node.graph.gradient_names:
            self._graph.gradient_names[made] = node.graph.gradient_names[node]
        return made

    def _companion(self, graph: Graph, name: str) -> str:
        """The name of the operation that a copy is colocated with, from that of the original."""
        node = graph.get_operation_by_name(name)
        found = self._nodes.get(node)
        if found is None:
            return name if node.op_def.traits.isdisjoint(OUTSIDE) else self.tensor(node.outputs[0]).op.name
        return found.name

    def _arg(self, arg: Any) -> Any:
        if isinstance(arg, SymbolicTensor):
            return self.tensor(arg)
        return type(arg)([self._arg(item) for item in arg]) if type(arg) in (list, tuple) else arg

    # Graphs of operations.

    def _attr(self, value: Any) -> Any:
        if isinstance(value, FunctionGraph):
            return self._graph_of(value)
        return type(value)([self._attr(item) for item in value]) if type(value) in (list, tuple) else value

    def _graph_of(self, graph: FunctionGraph) -> FunctionGraph:
        """The copy of a nested graph."""
        if graph in self._inner:
            return self._inner[graph][0]
        made = graph.emptied(self._graph)
        within = Copier(made, _missing, str, self._devices)
        for outside, inside in graph.captures.items():
            own = self.tensor(outside)
            if own not in made.captures:  # else two tensors became one
                (stand_in,) = within.copy([Original(inside.op, [], None)])
                made.captures[own] = stand_in.outputs[0]
            within.learn(inside, made.captures[own])
        for argument in graph.arguments:
            (stand_in,) = within.copy([Original(argument.op, [], None)])
            made.arguments.append(stand_in.outputs[0])
        within.copy(originals(graph.operations))
        made.results = [within.tensor(tensor) for tensor in graph.results]
        made.run_anyway = [within.node(node) for node in graph.run_anyway]
        made.waits_for = {self.node(node): None for node in graph.waits_for}
        if graph.finalized:
            made.finalize()
        self._inner[graph] = made, within
        return made

    def _residual(self, residual: tuple[SymbolicTensor, ...], order: Sequence[Copier]) -> tuple[SymbolicTensor, ...]:
        """A residual of the copy: the counterpart of each of its tensors."""
        return tuple([next(found for each in order if (found := each.known(t)) is not None) for t in residual])


def _missing(tensor: SymbolicTensor) -> SymbolicTensor:
    raise InternalError(f"{tensor!r} is used in a graph that does not have it.")


def _size(node: Operation) -> tuple[int, ...]:
    """Numbers that grow when something is added to an operation, or to its graphs."""
    graphs = [graph for _, graph in graphs_of(node)]
    inner = [size for graph in graphs for each in graph.operations if graphs_of(each) for size in _size(each)]
    return len(node.outputs), len(node.residuals), *[len(graph) for graph in graphs], *inner
