"""Branches and loops: operations that hold graphs.

Each graph they hold is placed and planned like any other, with the captured tensors as what comes in, and
becomes a function of its own. A branch or a loop is then a call like any other, of a function that asks for the
truth of a scalar on the host and calls those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from situs.devices.logical import Device
from situs.eager.bridge import host
from situs.eager.tensor import to_numpy_value
from situs.errors import InvalidArgumentError
from situs.execution.emit import emit
from situs.execution.plan import Planner, Source
from situs.execution.state import Run
from situs.graph.function import FunctionGraph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.placement.candidates import Assignment

if TYPE_CHECKING:
    from situs.execution.plan import _Builder

Function = Callable[..., tuple[Any, ...]]


def prepare(
    planner: Planner, node: Operation, assignment: Assignment, builder: _Builder
) -> tuple[Function, bool, list[Source]]:
    """The function of a branch or loop, that it takes the run, and its inputs."""
    make = _branch if node.type == "If" else _loop
    return make(planner, node, assignment.device, builder), True, _inputs(node, builder)


def _inputs(node: Operation, builder: _Builder) -> list[Source]:
    """Predicates are read on the host, loop variables and captured tensors come as they are, where they are."""
    first, captured = node.args
    if node.type == "If":
        return [builder.value(first, host()), *_captured(captured, builder)]
    return [*(builder.value(tensor, builder.homes[tensor]) for tensor in first), *_captured(captured, builder)]


def _captured(tensors: Sequence[SymbolicTensor], builder: _Builder) -> list[Source]:
    """Variables come as their cells, so that a branch or a turn of a loop sees what was assigned before it."""
    return [
        builder.cell(tensor) if _is_state(tensor, builder) else builder.value(tensor, builder.homes[tensor])
        for tensor in tensors
    ]


def _is_state(tensor: SymbolicTensor, builder: _Builder) -> bool:
    return tensor.is_ref or tensor in builder.views


def _roots(graph: FunctionGraph, builder: _Builder) -> dict[SymbolicTensor, SymbolicTensor]:
    """What comes in as a cell, and the variable it is the cell of."""
    pairs = graph.captures.items()
    return {inside: builder.root(outside) for outside, inside in pairs if _is_state(outside, builder)}


def _branch(planner: Planner, node: Operation, device: Device, builder: _Builder) -> Function:
    number = {id(tensor): place for place, tensor in enumerate(node.args[1])}  # == is an op in a tf.function
    functions = []
    for graph in (node.attrs["then_branch"], node.attrs["else_branch"]):
        order = [number[id(tensor)] for tensor in graph.captures]
        inside = [(graph.captures[tensor], builder.homes[tensor]) for tensor in graph.captures]
        results = [(t, device) for t in graph.results]
        functions.append((_function(planner, graph, inside, results, device, _roots(graph, builder)), order))
    (then, then_order), (otherwise, else_order) = functions

    def branch(run: Run, predicate: Any, *values: Any) -> tuple[Any, ...]:
        if truth(predicate, node):
            return then(run, *[values[i] for i in then_order])
        return otherwise(run, *[values[i] for i in else_order])

    return branch


def _loop(planner: Planner, node: Operation, device: Device, builder: _Builder) -> Function:
    states, outside = node.args
    condition, body = node.attrs["cond"], node.attrs["body"]
    homes = [builder.homes[tensor] for tensor in states]
    count = len(states)
    test, test_order = _part(planner, condition, homes, outside, builder, [host()])
    step, step_order = _part(planner, body, homes, outside, builder, homes)
    moves = _moves(homes, device)

    def loop(run: Run, *values: Any) -> tuple[Any, ...]:
        state, rest = values[:count], values[count:]
        del values
        for_test, for_step = [rest[i] for i in test_order], [rest[i] for i in step_order]
        while truth(test(run, *state, *for_test)[0], node):
            run.check()
            state = step(run, *state, *for_step)
        return tuple([value if move is None else move(value) for move, value in zip(moves, state, strict=True)])

    return loop


def _moves(homes: Sequence[Device], device: Device) -> list[Any]:
    from situs.eager.bridge import copier

    return [copier(home, device) for home in homes]


def _part(
    planner: Planner,
    graph: FunctionGraph,
    homes: Sequence[Device],
    outside: Sequence[SymbolicTensor],
    builder: _Builder,
    targets: Sequence[Device],
) -> tuple[Function, list[int]]:
    """The condition or the body of a loop: a function of the state and of some of what is captured."""
    number = {id(tensor): place for place, tensor in enumerate(outside)}
    order = [number[id(tensor)] for tensor in graph.captures]
    inside = list(zip(graph.arguments, homes, strict=True))
    inside += [(graph.captures[tensor], builder.homes[tensor]) for tensor in graph.captures]
    results = list(zip(graph.results, targets, strict=True))
    device = targets[0] if targets else host()
    return _function(planner, graph, inside, results, device, _roots(graph, builder)), order


def _function(
    planner: Planner,
    graph: FunctionGraph,
    inside: Sequence[tuple[SymbolicTensor, Device]],
    results: Sequence[tuple[SymbolicTensor, Device]],
    device: Device,
    roots: dict[SymbolicTensor, SymbolicTensor],
) -> Function:
    placement = planner.place_inner(graph, {tensor.op: where for tensor, where in inside}, device)
    targets = [node for node in graph.operations if node.op_def.stateful]
    return emit(planner.plan(placement, inside, results, targets, roots)).function


def truth(value: Any, node: Operation) -> bool:
    """The truth of a scalar.

    Raises:
        InvalidArgumentError: it is no scalar.
    """
    array = to_numpy_value(value)
    if array.size != 1:
        raise InvalidArgumentError(
            f"The predicate of {node.type} '{node.name}' must be a scalar, got shape {list(array.shape)}."
        )
    return bool(array.item())
