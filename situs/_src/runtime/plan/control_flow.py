"""Branches, loops and function calls: planning operations that contain graphs.

Each of their graphs is placed and planned like any other, with the captured tensors as inputs, and
becomes a function of its own. A branch or a loop is then a call like any other: `runtime.run.control_flow` reads the
condition on the host and calls these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from situs._src.base.devices import threads
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.bridge import home_of, host
from situs._src.runtime.eager.execute import verifying
from situs._src.runtime.passes.accumulate import accumulating
from situs._src.runtime.passes.unpack import unpacked
from situs._src.runtime.plan.plan import Plan, Source
from situs._src.runtime.plan.transfer import transfer
from situs._src.runtime.run.control_flow import Branch, FunctionCall, Held, Loop, Part
from situs._src.runtime.run.emit import Function, emit
from situs._src.runtime.run.threads import schedule, shared_pool
from situs._src.runtime.run.verify import checking

if TYPE_CHECKING:
    from situs._src.runtime.plan.planner import Builder


def prepare(node: Operation, assignment: Assignment, builder: Builder) -> tuple[Held, bool, list[Source]]:
    """The function of an operation that contains graphs, that it takes the run, and its inputs."""
    holder = _Holder(node, assignment.device, builder)
    held = {"If": holder.branch, "While": holder.loop}.get(node.type, holder.call)()
    return held, True, _inputs(node, builder)


def assignments_in(plan: Plan) -> Iterable[Assignment]:
    """Where everything in a plan goes, what is in branches, loops and called functions included."""
    return (assignment for _, assignment in assigned_in(plan))


def assigned_in(plan: Plan) -> Iterable[tuple[Operation, Assignment]]:
    """The same, with the operations."""
    for call in plan.calls:
        if call.node is not None:
            yield call.node, plan.assignments[call.node]
        if isinstance(call.function, Held):
            for part in call.function.parts:
                yield from assigned_in(part.plan)


def _inputs(node: Operation, builder: Builder) -> list[Source]:
    """Predicates are read on the host; arguments, loop variables and captures are passed as they are, on their devices.

    Captured variables are passed as cells, so that a branch or an iteration of a loop sees earlier assignments.
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
    """An operation that contains graphs, while its function is built."""

    def __init__(self, node: Operation, device: Device, builder: Builder) -> None:
        self.node = node
        self.device = device
        self.builder = builder

    def branch(self) -> Held:
        """A function of the predicate and of what both branches use."""
        outside = self.node.args[1]
        residuals = zip(*self.node.residuals, strict=True) if self.node.residuals else ((), ())
        pairs = zip(("then_branch", "else_branch"), residuals, strict=True)
        parts = [self._part(self.node.attrs[name], [], outside, residuals=further) for name, further in pairs]
        return Branch(self.node, parts)

    def call(self) -> Held:
        """A function of the arguments and captures of the called function."""
        arguments, outside = self.node.args
        homes = [self.builder.homes[tensor] for tensor in arguments]
        residuals = [tensor for (tensor,) in self.node.residuals]
        part = self._part(self.node.attrs["f"], homes, outside, residuals=residuals)
        return FunctionCall(self.node, [part])

    def loop(self) -> Held:
        """A function of the initial loop variables and of the captures of the loop."""
        node = self.node
        states, outside = node.args
        homes = [self.builder.homes[tensor] for tensor in states]
        test = self._part(node.attrs["cond"], homes, outside, [host()])
        saves = len(node.outputs) > len(states)  # residuals for a gradient: see situs._src.autodiff.residuals
        residuals = [tensor for (tensor,) in node.residuals] if saves else None
        step, sums = self._step(node.attrs["body"], homes, outside, residuals)
        moves = [self._move(tensor, home) for tensor, home in zip(states, homes, strict=True)]
        return Loop(node, [test, step], moves, saves, sums)

    def _step(
        self,
        graph: FunctionGraph,
        homes: Sequence[Device],
        outside: Sequence[SymbolicTensor],
        saved: Sequence[SymbolicTensor] | None,
    ) -> tuple[Part, list[int]]:
        """One iteration of a loop, and the loop variables that are sums accumulated in place."""
        step = self._part(graph, homes, outside, homes, saved=saved)
        plan, sums = accumulating(step.plan, len(homes), parts=not verifying())
        quick = unpacked(plan)
        if quick is step.plan:
            return step, sums
        return replace(step, plan=plan, function=emit(quick, checking(quick) if verifying() else None).function), sums

    def _move(self, tensor: SymbolicTensor, home: Device) -> Callable[[Any], Any] | None:
        """How a loop variable is copied from its device in the loop to the device of the loop's results."""
        return transfer(home, self.device, tensor.dtype)

    def _part(
        self,
        graph: FunctionGraph,
        homes: Sequence[Device],
        outside: Sequence[SymbolicTensor],
        targets: Sequence[Device] | None = None,
        residuals: Sequence[SymbolicTensor] = (),
        saved: Sequence[SymbolicTensor] | None = None,
    ) -> Part:
        """A graph as a function of its arguments and of some of the captures.

        Args:
            graph: The graph.
            homes: The devices of its arguments.
            outside: The captures of the operation.
            targets: The devices of its results; by default, the device of the operation.
            residuals: The values it returns for a gradient after its results.
            saved: The values that an iteration saves for a gradient, each on its device; None if none are needed.
        """
        number = {id(tensor): place for place, tensor in enumerate(outside)}  # == is an op in a tf.function
        order = [number[id(tensor)] for tensor in graph.captures]
        inside = list(zip(graph.arguments, homes, strict=True))
        inside += [(graph.captures[tensor], self.builder.homes[tensor]) for tensor in graph.captures]
        states = [tensor for tensor in graph.captures if _is_state(tensor, self.builder)]
        roots = {graph.captures[tensor]: self.builder.root(tensor) for tensor in states}
        given = [*graph.results, *residuals]
        results = list(zip(given, [self.device] * len(given) if targets is None else targets, strict=True))
        plan = self._plan(graph, inside, results, roots, saved or ())
        scheduled = self._side_by_side(graph, plan, inside, roots)
        function = scheduled or emit(plan, checking(plan) if verifying() else None).function
        return Part(plan, function, order, None if saved is None else len(results), scheduled is not None)

    def _side_by_side(
        self,
        graph: FunctionGraph,
        plan: Plan,
        inside: Sequence[tuple[SymbolicTensor, Device]],
        roots: dict[SymbolicTensor, SymbolicTensor],
    ) -> Function | None:
        """The plan of a graph with replicas as a function that runs them in parallel, if that pays."""
        if graph.replicas is None:
            return None
        pairs = zip(plan.inputs, inside, strict=True)
        states = {slot: id(roots[tensor]) for slot, (tensor, _) in pairs if tensor in roots}
        found = schedule(plan, shared_pool(threads.current.inter), ordered=True, states=states)
        return None if found is None else lambda run, *values: found.run(run, values)

    def _plan(
        self,
        graph: FunctionGraph,
        inside: Sequence[tuple[SymbolicTensor, Device]],
        results: Sequence[tuple[SymbolicTensor, Device]],
        roots: dict[SymbolicTensor, SymbolicTensor],
        saved: Iterable[SymbolicTensor],
    ) -> Plan:
        planner = self.builder.planner
        placement = planner.place_inner(graph, {tensor.op: where for tensor, where in inside}, self.device)
        homes = dict(inside)
        stay = [(tensor, homes.get(tensor) or home_of(placement[tensor.op])) for tensor in saved]
        return planner.plan(placement, inside, [*results, *stay], effects_of(graph), roots)


def effects_of(graph: FunctionGraph) -> list[Operation]:
    """The operations that run even though no result needs them.

    In a ``tf.function``, everything with a side effect; in a graph of TensorFlow 1, what the function returned.
    """
    if graph.runs_effects:
        return [node for node in graph.operations if node.op_def.stateful]
    return graph.run_anyway
