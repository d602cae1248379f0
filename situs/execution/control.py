"""Branches, loops and calls of functions: operations that hold graphs.

Each graph they hold is placed and planned like any other, with the captured tensors as what comes in, and
becomes a function of its own. A branch or a loop is then a call like any other, of a function that asks for the
truth of a scalar on the host and calls those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from situs.devices.logical import Device
from situs.eager.bridge import host
from situs.eager.execute import verifying
from situs.eager.tensor import to_numpy_value
from situs.errors import InvalidArgumentError
from situs.execution.emit import emit
from situs.execution.plan import Plan, Planner, Source
from situs.execution.state import Run
from situs.execution.transfer import transfer
from situs.execution.verify import checking
from situs.graph.function import FunctionGraph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.placement.candidates import Assignment

if TYPE_CHECKING:
    from situs.execution.plan import _Builder

Function = Callable[..., tuple[Any, ...]]
_STAYS = frozenset({"string", "resource"})  # dtypes that live on the host alone


def prepare(
    planner: Planner, node: Operation, assignment: Assignment, builder: _Builder
) -> tuple[Function, bool, list[Source]]:
    """The function of an operation that holds graphs, that it takes the run, and its inputs."""
    holder = _Holder(planner, node, assignment.device, builder)
    function = {"If": holder.branch, "While": holder.loop}.get(node.type, holder.call)()
    function.__dict__[_INSIDE] = holder.assignments
    return function, True, _inputs(node, builder)


_INSIDE = "assignments"


def assignments_in(plan: Plan) -> Iterable[Assignment]:
    """Where everything in a plan goes, what is in branches, loops and called functions included."""
    for call in plan.calls:
        if call.node is not None:
            yield plan.assignments[call.node]
        yield from getattr(call.function, _INSIDE, ())


def _inputs(node: Operation, builder: _Builder) -> list[Source]:
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


def _is_state(tensor: SymbolicTensor, builder: _Builder) -> bool:
    return tensor.is_ref or tensor in builder.views


class _Holder:
    """An operation that holds graphs, while its function is made."""

    def __init__(self, planner: Planner, node: Operation, device: Device, builder: _Builder) -> None:
        self.planner = planner
        self.node = node
        self.device = device
        self.builder = builder
        self.keeps = bool(node.attrs.get("_keeps"))  # a gradient needs values from inside: see situs.autodiff.kept
        self.assignments: list[Assignment] = []

    def branch(self) -> Function:
        """A function of the predicate and of what both branches use."""
        node, outside = self.node, self.node.args[1]
        then, then_order = self._part(node.attrs["then_branch"], [], outside)
        otherwise, else_order = self._part(node.attrs["else_branch"], [], outside)

        def branch(run: Run, predicate: Any, *values: Any) -> tuple[Any, ...]:
            if truth(predicate, node):
                return then(run, *[values[i] for i in then_order])
            return otherwise(run, *[values[i] for i in else_order])

        return branch

    def call(self) -> Function:
        """A function of the arguments and of what else the called function uses."""
        arguments, outside = self.node.args
        count = len(arguments)
        homes = [self.builder.homes[tensor] for tensor in arguments]
        inside, order = self._part(self.node.attrs["f"], homes, outside)

        def call(run: Run, *values: Any) -> tuple[Any, ...]:
            return inside(run, *values[:count], *[values[count + i] for i in order])

        return call

    def loop(self) -> Function:
        """A function of the first values of the loop variables and of what else the loop uses."""
        node = self.node
        states, outside = node.args
        homes = [self.builder.homes[tensor] for tensor in states]
        test, test_order = self._part(node.attrs["cond"], homes, outside, [host()])
        step, step_order = self._part(node.attrs["body"], homes, outside, homes)
        moves = [self._move(tensor, home) for tensor, home in zip(states, homes, strict=True)]
        stays, keeps, count = not any(moves), self.keeps, len(states)

        def loop(run: Run, *values: Any) -> tuple[Any, ...]:
            state, rest = values[:count], values[count:]
            del values
            turns: list[Any] = []
            for_test, for_step = [rest[i] for i in test_order], [rest[i] for i in step_order]
            while truth(test(run, *state, *for_test)[0], node):
                run.check()
                state = step(run, *state, *for_step)
                if keeps:
                    turns.append(state[-1])
                    state = state[:-1]
            if not stays:
                state = tuple([v if move is None else move(v) for move, v in zip(moves, state, strict=True)])
            return (*state, turns) if keeps else state

        return loop

    def _move(self, tensor: SymbolicTensor, home: Device) -> Callable[[Any], Any] | None:
        """How a loop variable gets from where it is during the loop to where the results of the loop are."""
        return None if tensor.dtype.name in _STAYS else transfer(home, self.device)

    def _part(
        self,
        graph: FunctionGraph,
        homes: Sequence[Device],
        outside: Sequence[SymbolicTensor],
        targets: Sequence[Device] | None = None,
    ) -> tuple[Function, list[int]]:
        """A graph as a function of its arguments and of some of what comes from outside; which, says the list."""
        number = {id(tensor): place for place, tensor in enumerate(outside)}  # == is an op in a tf.function
        order = [number[id(tensor)] for tensor in graph.captures]
        inside = list(zip(graph.arguments, homes, strict=True))
        inside += [(graph.captures[tensor], self.builder.homes[tensor]) for tensor in graph.captures]
        states = [tensor for tensor in graph.captures if _is_state(tensor, self.builder)]
        roots = {graph.captures[tensor]: self.builder.root(tensor) for tensor in states}
        wanted = [self.device] * len(graph.results) if targets is None else targets
        results = list(zip(graph.results, wanted, strict=True))
        if graph is self.node.attrs.get("cond") or not self.keeps:
            return self._function(graph, inside, results, roots), order
        return _keeping(self._function(graph, inside, results, roots, list(graph.kept)), len(results)), order

    def _function(
        self,
        graph: FunctionGraph,
        inside: Sequence[tuple[SymbolicTensor, Device]],
        results: Sequence[tuple[SymbolicTensor, Device]],
        roots: dict[SymbolicTensor, SymbolicTensor],
        kept: Sequence[SymbolicTensor] = (),
    ) -> Function:
        placement = self.planner.place_inner(graph, {tensor.op: where for tensor, where in inside}, self.device)
        homes = dict(inside)
        stay = [(tensor, homes.get(tensor) or home_of(placement[tensor.op])) for tensor in kept]
        plan = self.planner.plan(placement, inside, [*results, *stay], effects_of(graph), roots)
        self.assignments += assignments_in(plan)
        return emit(plan, checking(plan) if verifying() else None).function

    def _roots(self, graph: FunctionGraph) -> dict[SymbolicTensor, SymbolicTensor]:
        """What comes in as a cell, and the variable it is the cell of."""
        pairs = graph.captures.items()
        return {inside: self.builder.root(outside) for outside, inside in pairs if _is_state(outside, self.builder)}


def home_of(assignment: Assignment) -> Device:
    """Where the results of an operation lie."""
    return host() if assignment.kernel.host_output else assignment.device


def _keeping(function: Function, count: int) -> Function:
    """A function that returns `count` results and what is kept, as a function with the keep for its last result."""

    def keeping(*values: Any) -> tuple[Any, ...]:
        made = function(*values)
        return (*made[:count], made[count:])

    return keeping


def effects_of(graph: FunctionGraph) -> list[Operation]:
    """The operations that run though no result needs them.

    In a ``tf.function``, everything with a side effect; in a graph of TensorFlow 1, what the function returned.
    """
    if graph.runs_effects:
        return [node for node in graph.operations if node.op_def.stateful]
    return graph.run_anyway


def truth(value: Any, node: Operation) -> bool:
    """The truth of a scalar.

    Raises:
        InvalidArgumentError: it is no scalar.
    """
    if type(value) is torch.Tensor and value.numel() == 1:
        return bool(value)
    array = to_numpy_value(value)
    if array.size != 1:
        raise InvalidArgumentError(
            f"The predicate of {node.type} '{node.name}' must be a scalar, got shape {list(array.shape)}."
        )
    return bool(array.item())
