"""Branches, loops and calls of functions: planning operations that hold graphs.

Each graph they hold is placed and planned like any other, with the captured tensors as what comes in, and
becomes a function of its own. A branch or a loop is then a call like any other: `situs.execution.held` asks for the
truth of a scalar on the host and calls those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from situs.devices.logical import Device
from situs.eager.bridge import home_of, host
from situs.eager.execute import verifying
from situs.execution.emit import emit
from situs.execution.held import Branch, FunctionCall, Held, Loop, Part
from situs.execution.plan import Plan, Source
from situs.execution.transfer import transfer
from situs.execution.verify import checking
from situs.graph.function import FunctionGraph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.placement.candidates import Assignment

if TYPE_CHECKING:
    from situs.execution.planner import Builder


def prepare(node: Operation, assignment: Assignment, builder: Builder) -> tuple[Held, bool, list[Source]]:
    """The function of an operation that holds graphs, that it takes the run, and its inputs."""
    holder = _Holder(node, assignment.device, builder)
    held = {"If": holder.branch, "While": holder.loop}.get(node.type, holder.call)()
    return held, True, _inputs(node, builder)


def assignments_in(plan: Plan) -> Iterable[Assignment]:
    """Where everything in a plan goes, what is in branches, loops and called functions included."""
    for call in plan.calls:
        if call.node is not None:
            yield plan.assignments[call.node]
        if isinstance(call.function, Held):
            yield from call.function.assignments


def _inputs(node: Operation, builder: Builder) -> list[Source]:
    """Predicates are read on the host; arguments, loop variables and captured tensors come as they are, where they are.

    Captured variables come as their cells, so that a branch or a turn of a loop sees what was assigned before it.
    """
    first, captured = node.args
    if node.type == "If":
        sources = [builder.value(first, host())]
    else:
        sources = [builder.value(tensor, builder.homes[tensor]) for tensor in first]
    for tensor in captured:
        is_state = _is_state(tensor, builder)
        sources.append(builder.cell(tensor) if is_state else builder.value(tensor, builder.homes[tensor]))
    return sources


def _is_state(tensor: SymbolicTensor, builder: Builder) -> bool:
    return tensor.is_ref or tensor in builder.views


class _Holder:
    """An operation that holds graphs, while its function is made."""

    def __init__(self, node: Operation, device: Device, builder: Builder) -> None:
        self.node = node
        self.device = device
        self.builder = builder
        self.keeps = bool(node.attrs.get("_keeps"))  # a gradient needs values from inside: see situs.autodiff.kept
        self.assignments: list[Assignment] = []

    def branch(self) -> Held:
        """What takes the predicate, and what both branches use."""
        outside = self.node.args[1]
        parts = [self._part(self.node.attrs[name], [], outside) for name in ("then_branch", "else_branch")]
        return Branch(self.node, parts, self.assignments)

    def call(self) -> Held:
        """What takes the arguments, and what else the called function uses."""
        arguments, outside = self.node.args
        homes = [self.builder.homes[tensor] for tensor in arguments]
        return FunctionCall(self.node, [self._part(self.node.attrs["f"], homes, outside)], self.assignments)

    def loop(self) -> Held:
        """What takes the first values of the loop variables, and what else the loop uses."""
        node = self.node
        states, outside = node.args
        homes = [self.builder.homes[tensor] for tensor in states]
        test = self._part(node.attrs["cond"], homes, outside, [host()])
        step = self._part(node.attrs["body"], homes, outside, homes)
        moves = [self._move(tensor, home) for tensor, home in zip(states, homes, strict=True)]
        return Loop(node, [test, step], self.assignments, moves, self.keeps)

    def _move(self, tensor: SymbolicTensor, home: Device) -> Callable[[Any], Any] | None:
        """How a loop variable gets from where it is during the loop to where the results of the loop are."""
        return transfer(home, self.device, tensor.dtype)

    def _part(
        self,
        graph: FunctionGraph,
        homes: Sequence[Device],
        outside: Sequence[SymbolicTensor],
        targets: Sequence[Device] | None = None,
    ) -> Part:
        """A graph as a function of its arguments and of some of what comes from outside."""
        number = {id(tensor): place for place, tensor in enumerate(outside)}  # == is an op in a tf.function
        order = [number[id(tensor)] for tensor in graph.captures]
        inside = list(zip(graph.arguments, homes, strict=True))
        inside += [(graph.captures[tensor], self.builder.homes[tensor]) for tensor in graph.captures]
        states = [tensor for tensor in graph.captures if _is_state(tensor, self.builder)]
        roots = {graph.captures[tensor]: self.builder.root(tensor) for tensor in states}
        wanted = [self.device] * len(graph.results) if targets is None else targets
        results = list(zip(graph.results, wanted, strict=True))
        keeps = self.keeps and graph is not self.node.attrs.get("cond")
        plan = self._plan(graph, inside, results, roots, graph.kept if keeps else ())
        function = emit(plan, checking(plan) if verifying() else None).function
        return Part(plan, function, order, len(results) if keeps else None)

    def _plan(
        self,
        graph: FunctionGraph,
        inside: Sequence[tuple[SymbolicTensor, Device]],
        results: Sequence[tuple[SymbolicTensor, Device]],
        roots: dict[SymbolicTensor, SymbolicTensor],
        kept: Iterable[SymbolicTensor],
    ) -> Plan:
        planner = self.builder.planner
        placement = planner.place_inner(graph, {tensor.op: where for tensor, where in inside})
        homes = dict(inside)
        stay = [(tensor, homes.get(tensor) or home_of(placement[tensor.op])) for tensor in kept]
        plan = planner.plan(placement, inside, [*results, *stay], effects_of(graph), roots)
        self.assignments += assignments_in(plan)
        return plan


def effects_of(graph: FunctionGraph) -> list[Operation]:
    """The operations that run though no result needs them.

    In a ``tf.function``, everything with a side effect; in a graph of TensorFlow 1, what the function returned.
    """
    if graph.runs_effects:
        return [node for node in graph.operations if node.op_def.stateful]
    return graph.run_anyway
