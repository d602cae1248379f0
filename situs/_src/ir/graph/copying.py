"""Copies of operations, in the graph that they belong to: with other inputs, names and devices.

    x ---- MatMul ---- Relu             the operations that are copied: MatMul, Relu
    w -----'                            given: x is to be y, and GPU:0 is to be GPU:1
    y ---- MatMul ---- Relu             the copies; w, which nobody spoke of, is theirs too
    w -----'

It is what `distribute` makes the replicas of a step with that are like the first one. What a copy is made of is known
already, so that nothing is bound, converted or inferred: it costs a tenth of calling the op again.

Invariants:
    - Copies come in the order of what they are copies of, so their effects do, too.
    - A copy has the shapes, attributes and control inputs of the original, with the copies of tensors and operations
      in their place, where these were copied as well.
    - The graphs of branches, loops and calls are copied with the operation that holds them; a graph that several hold
      is one for their copies, too. Their residuals, which gradients ask for later, are not to change after that: who
      copies asks `Copier.changed`.
    - What stands for values from outside (`FED`, `STATE`) is never copied: `Copier` asks what stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FED, STATE

OUTSIDE = frozenset({FED, STATE})

Renamed = Callable[[str], str]
Attributes = Callable[[Operation], Mapping[str, Any]]
Look = Callable[[SymbolicTensor], SymbolicTensor]


class Copier:
    """Makes copies of operations, and knows what it has copied.

    Args:
        graph: The graph of the copies.
        look: What stands for a tensor that was not copied, in the copies.
        renamed: From the name of an operation to that of its copy.
        devices: From the devices that operations ask for to those that copies do; others stay.
        attributes: The attributes of the copy of an operation, which holds no graphs.
    """

    def __init__(
        self, graph: Graph, look: Look, renamed: Renamed, devices: Mapping[str, str], attributes: Attributes
    ) -> None:
        self._graph, self._look, self._renamed = graph, look, renamed
        self._devices, self._attributes = devices, attributes
        self.tensors: dict[SymbolicTensor, SymbolicTensor] = {}
        self._nodes: dict[Operation, Operation] = {}
        self._names: dict[str, str] = {}
        self._inner: dict[FunctionGraph, tuple[FunctionGraph, Copier]] = {}
        self._held: dict[Operation, tuple[int, ...]] = {}  # what the originals that hold graphs looked like

    def tensor(self, original: SymbolicTensor) -> SymbolicTensor:
        """What stands for a tensor in the copies."""
        found = self.tensors.get(original)
        if found is None:
            found = self.tensors[original] = self._look(original)
        return found

    def node(self, original: Operation) -> Operation:
        """The copy of an operation; itself, if it was not copied."""
        return self._nodes.get(original, original)

    def changed(self) -> list[Operation]:
        """The operations whose inner graphs or results became more since they were copied."""
        return [node for node, size in self._held.items() if _size(node) != size]

    def copy(self, originals: Sequence[Operation]) -> list[Operation]:
        """Adds copies of operations to the graph; they are in the order of the graph, and none was copied before."""
        made = [self._copied(node) for node in originals]
        self._graph.add_copies(made)
        return made

    def _copied(self, node: Operation) -> Operation:
        inner = graphs_of(node)
        attrs = self._with_graphs(node.attrs) if inner else self._attributes(node)
        name = self._renamed(node.name)
        made = Operation(self._graph, node.op_def, name, self._args(node.args), attrs, node.types, node.made_at)
        for number, tensor in enumerate(node.outputs):
            copied = SymbolicTensor(made, number, tensor._dtype, tensor._shape, tensor.is_ref)
            made.outputs.append(copied)
            self.tensors[tensor] = copied
        self._nodes[node] = made
        self._names[node.name] = name
        if inner:
            order = [self._inner[graph][1] for _, graph in inner if graph in self._inner]
            made.residuals = [self._residual(each, order) for each in node.residuals]
            self._held[node] = _size(node)
        if node.control_inputs:
            made.control_inputs = [self._nodes.get(other, other) for other in node.control_inputs]
        if node.colocated_with:
            made.colocated_with = tuple(sorted(self._companion(node.graph, other) for other in node.colocated_with))
            is_beside_own = made.colocated_with != node.colocated_with
            made.device = self._devices.get(node.device, node.device) if is_beside_own else node.device
        else:
            made.device = self._devices.get(node.device, node.device)
        if node in node.graph.gradient_names:
            self._graph.gradient_names[made] = node.graph.gradient_names[node]
        return made

    def _companion(self, graph: Graph, name: str) -> str:
        """The name of the operation that a copy wants to be with, by that of the one that the original wants."""
        found = self._names.get(name)
        if found is None:
            node = graph.get_operation_by_name(name)
            found = name if node.op_def.traits.isdisjoint(OUTSIDE) else self.tensor(node.outputs[0]).op.name
            self._names[name] = found
        return found

    def _args(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([self._arg(arg) for arg in args])

    def _arg(self, arg: Any) -> Any:
        if isinstance(arg, SymbolicTensor):
            return self.tensor(arg)
        return type(arg)([self._arg(item) for item in arg]) if type(arg) in (list, tuple) else arg

    # The graphs that operations hold.

    def _with_graphs(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: self._attr(value) for name, value in attrs.items()}

    def _attr(self, value: Any) -> Any:
        if isinstance(value, FunctionGraph):
            return self._graph_of(value)
        return type(value)([self._attr(item) for item in value]) if type(value) in (list, tuple) else value

    def _graph_of(self, graph: FunctionGraph) -> FunctionGraph:
        """The copy of a graph that lies in the one that is copied from."""
        if graph in self._inner:
            return self._inner[graph][0]
        made = graph.emptied(self._graph)
        within = Copier(made, _same, str, self._devices, _attrs)
        for outside, inside in graph.captures.items():
            own = self.tensor(outside)
            if own in made.captures:  # two tensors became one
                within.tensors[inside] = made.captures[own]
                continue
            (stand_in,) = within.copy([inside.op])
            made.captures[own] = stand_in.outputs[0]
        captured = {inside.op for inside in graph.captures.values()}
        within.copy([node for node in graph.operations if node not in captured])
        made.arguments = [within.tensors[tensor] for tensor in graph.arguments]
        made.results = [within.tensor(tensor) for tensor in graph.results]
        made.run_anyway = [within.node(node) for node in graph.run_anyway]
        made.waits_for = {self.node(node): None for node in graph.waits_for}
        if graph.finalized:
            made.finalize()
        self._inner[graph] = made, within
        return made

    def _residual(self, residual: tuple[SymbolicTensor, ...], order: Sequence[Copier]) -> tuple[SymbolicTensor, ...]:
        """A residual of the copy: of the graph whose tensor it is, for each of its tensors."""
        return tuple([next(each.tensors[t] for each in order if t in each.tensors) for t in residual])


def _same(tensor: SymbolicTensor) -> SymbolicTensor:
    raise AssertionError(f"{tensor!r} is used in a graph that does not have it.")


def _attrs(node: Operation) -> Mapping[str, Any]:
    return node.attrs


def _size(node: Operation) -> tuple[int, ...]:
    """Numbers that become larger when something is added to an operation, or to the graphs that it holds."""
    graphs = [graph for _, graph in graphs_of(node)]
    inner = [size for graph in graphs for each in graph.operations if graphs_of(each) for size in _size(each)]
    return len(node.outputs), len(node.residuals), *[len(graph) for graph in graphs], *inner
