"""The dynamic placer: devices by predicted time.

    place(nodes, ..., choose=dynamic.choose)
      wishes        the devices allowed by kernels, requests and groups             placement.placer
      assemble      a problem: times, sizes, links, free memory                     placement.assembly, placement.costs
      search        the placement with the least predicted step time                placement.search
      reasons       explanations for each operation

Requests, groups and kernels are hard constraints. The placement of the simple placer, and
every single device, are among the starting points, so the predicted time is never worse than theirs.

Instead of a search, a saved or hand-edited plan can be used. It is checked against the graph first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from situs._src.base.devices.logical import Device
from situs._src.base.devices.spec import DeviceSpec, parse_spec
from situs._src.base.errors import ArgumentError, OpError, shown
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.assembly import Assembly, Ends, Running, assemble, is_made_before
from situs._src.placement.costs.kinds import kind_of
from situs._src.placement.costs.model import Cost, CostModel
from situs._src.placement.placement import Reason
from situs._src.placement.placer import Wish
from situs._src.placement.search.plan import Plan, forecast_of
from situs._src.placement.search.problem import Objective, Problem
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate
from situs._src.placement.summary import bytes_text as bytes_text
from situs._src.placement.summary import seconds_text

Decisions = dict[Operation, tuple[Device, Reason]]
FEWEST_MOVES, MOST_MOVES = 200, 20_000
SIMULATED = 4_000_000  # nodes, in all moves together
SLACK = 1.25  # by which memory is stretched, once, if an overestimating problem does not fit


@dataclass(frozen=True)
class Choice:
    """The decision: devices with reasons, and the plan that they are from."""

    decisions: Decisions
    plan: Plan
    assembly: Assembly


def moves_for(problem: Problem) -> int:
    """The number of moves of a search before a first run, if no budget is given.

    A number of moves, not seconds, so that the same program is placed the same way on a busy machine. A move costs a
    simulation of the step, for which the compiled search takes a millisecond per some ten thousand nodes.
    """
    return max(FEWEST_MOVES, min(MOST_MOVES, SIMULATED // max(1, len(problem.nodes))))


def decide(
    wishes: Sequence[Wish],
    devices: Sequence[Device],
    model: CostModel,
    *,
    feeds: Ends = (),
    fetches: Ends = (),
    known: Mapping[Operation, Operation] | None = None,
    memory: Mapping[Device, float] | None = None,
    shapes: Mapping[SymbolicTensor, TensorShape] | None = None,
    budget: float | None = None,
    seed: int = 0,
    objective: Objective = "step",
    previous: Mapping[Operation, Device] | None = None,
    running: Running | None = None,
) -> Choice:
    """Finds the placement with the least predicted time.

    Args:
        wishes: The operations in execution order, each with its choices.
        devices: The devices.
        model: The costs of operations and copies.
        feeds: The fed tensors, and their devices.
        fetches: The fetched tensors, and their target devices.
        known: Replacements for some operations with better known shapes.
        memory: The free bytes of devices that have a limit.
        shapes: Shapes of tensors that are known from elsewhere, such as those of feeds.
        budget: The seconds that the search may take; by default a number of moves, by the size of the graph.
        seed: The random seed.
        objective: What to minimize.
        previous: The previous devices of operations, as a starting point.
        running: How the run will execute.

    Raises:
        InvalidArgumentError: the constraints are infeasible; it names a minimal conflicting set.
    """
    made = assemble(wishes, devices, model, feeds, fetches, known, memory, shapes, running)
    before = {node.name: device.short_name for node, device in (previous or {}).items() if node.name in made.wishes}
    seeds = {"the simple placer": _simple(made)}
    if budget is None:
        moves = moves_for(made.problem)
        found = search(made.problem, objective, 0.0, seed, before or None, seeds=seeds, moves=moves)
    else:
        found = search(made.problem, objective, budget, seed, before or None, seeds=seeds)
    return Choice(explained(made, found, devices), found, made)


def _simple(made: Assembly) -> dict[str, str]:
    """The simple placer's devices for the nodes: for each the best one that it may have."""
    placed = {name: wish.devices[0].short_name for name, wish in made.wishes.items()}
    leaders = {wish.group.name: placed[name] for name, wish in made.wishes.items() if wish.group is not None}
    for node in made.problem.nodes:
        if node.name not in placed:
            pinned = None if node.allowed is None else made.problem.devices[node.allowed[0]].name
            placed[node.name] = pinned or leaders.get(node.group or "") or placed[str(node.group)]
    return placed


# Plans that are given.


def follow(plan: Plan, wishes: Sequence[Wish], devices: Sequence[Device], names: Iterable[str]) -> Decisions:
    """The devices that a plan gives to operations.

    Args:
        plan: The plan.
        wishes: The operations, each with its choices.
        devices: The devices.
        names: The names of all operations of the graph.

    Raises:
        InvalidArgumentError: the plan belongs to another graph, names a device that does not exist, or gives an
        operation
            a device that it cannot have.
    """
    known = set(names)
    named = {name: device for name, device in plan.placement.items() if not name.startswith("(")}
    strange = [name for name in named if name not in known]
    if strange:
        raise ArgumentError(
            f"The plan is of another graph: it places {len(strange)} operations that this one does not have, such as "
            f"{shown(strange[0])}. Make a plan of this graph, or take these lines out of the file."
        )
    found: Decisions = {}
    for wish in wishes:
        text = named.get(wish.node.name)
        if text is None:
            continue
        device = device_named(text, devices)
        if device not in wish.devices:
            raise ArgumentError(
                f"The plan puts operation {wish.node.name!r} ({wish.node.type}) on {device.short_name}, which its "
                f"kernels, its request or what it is colocated with do not allow: it can be on "
                f"{', '.join(each.short_name for each in wish.devices)}. Change that line of the plan."
            )
        found[wish.node] = device, ("dynamic", "as the plan that was given says")
    _check_groups(wishes, found)
    return found


def device_named(text: str, devices: Sequence[Device]) -> Device:
    """The device with a name, short or full.

    Raises:
        InvalidArgumentError: there is none.
    """
    try:
        spec = parse_spec(text if text.startswith("/") else f"/device:{text}")
    except OpError:
        spec = DeviceSpec(device_type="?")
    found = [device for device in devices if spec.matches(device.spec)]
    if len(found) != 1 or not spec:
        there = ", ".join(device.short_name for device in devices)
        raise ArgumentError(f"The plan names a device {shown(text)}; there are {there}.")
    return found[0]


def _check_groups(wishes: Sequence[Wish], found: Decisions) -> None:
    first: dict[Operation, Operation] = {}
    for wish in wishes:
        if wish.group is None or wish.node not in found:
            continue
        other = first.setdefault(wish.group, wish.node)
        if found[other][0] is not found[wish.node][0]:
            raise ArgumentError(
                f"The plan puts {other.name!r} on {found[other][0].short_name} and {wish.node.name!r} on "
                f"{found[wish.node][0].short_name}, and they must be together. Give them the same device."
            )


# Why.


def explained(made: Assembly, plan: Plan, devices: Sequence[Device]) -> Decisions:
    """The decisions of a plan, with reasons; operations without a choice keep their reason."""
    by_name = {device.short_name: device for device in devices}
    neighbours = _neighbours(made.problem)
    found: Decisions = {}
    for name, wish in made.wishes.items():
        device = by_name[plan.placement[name]]
        if len(wish.devices) > 1:
            found[wish.node] = device, ("dynamic", _why(made, plan, wish, device, neighbours.get(name, ())))
    for node, leader in made.follows.items():
        device = by_name[plan.placement[leader.name]]
        what = "made where it is used first, by" if is_made_before(node) else "the same memory as"
        found[node] = device, ("dynamic", f"{what} '{leader.name}'")
    return found


def _neighbours(problem: Problem) -> dict[str, list[tuple[str, float]]]:
    """For each node the nodes it exchanges tensors with, and how many bytes, largest first."""
    found: dict[str, list[tuple[str, float]]] = {}
    for tensor in problem.tensors:
        maker = problem.nodes[tensor.producer].name
        for number in tensor.consumers:
            user = problem.nodes[number].name
            found.setdefault(maker, []).append((user, tensor.bytes))
            found.setdefault(user, []).append((maker, tensor.bytes))
    return {name: sorted(others, key=lambda other: -other[1]) for name, others in found.items()}


def _why(made: Assembly, plan: Plan, wish: Wish, device: Device, others: Sequence[tuple[str, float]]) -> str:
    """Why an operation is on its device: fastest there, next to its neighbours, or no memory elsewhere."""
    name = wish.node.name
    times = {each: made.costs[name, kind_of(each)] for each in wish.devices}
    here = times[device]
    rest = {each: cost for each, cost in times.items() if each is not device}
    best = min(rest, key=lambda each: rest[each].seconds)
    figures = f"{_time(here)} here, {_time(rest[best])} on {best.short_name}"
    beside = next((o for o, size in others if size and plan.placement.get(o) == device.short_name), None)
    if here.seconds < rest[best].seconds:
        return f"quickest here: {figures}"
    if here.source == "free" and beside is not None:
        return f"next to '{beside}'"
    if beside is not None:
        return f"next to '{beside}': {figures}"
    if plan.single is None:
        return f"no device can have all: {figures}"
    return f"the step is shortest so: {figures}"


def _time(cost: Cost) -> str:
    return f"{seconds_text(cost.seconds)} {cost.source}" if cost.source != "free" else "no time"


def noted(plan: Plan, *notes: str) -> Plan:
    """The plan with further notes."""
    return replace(plan, notes=(*plan.notes, *notes))


def as_placed(made: Assembly, plan: Plan, placed: Mapping[Operation, Device]) -> Plan:
    """The plan for the actual devices of its operations, with its prediction."""
    placement = {
        node.name: placed[made.wishes[node.name].node].short_name
        for node in made.problem.nodes
        if node.name in made.wishes
    }
    for node in made.problem.nodes:  # what is fed and fetched, and variables until the end
        if node.name not in placement:
            together = placement.get(node.name.partition(" ")[2]) if node.allowed is None else None
            placement[node.name] = together or made.problem.devices[(node.allowed or (0,))[0]].name
    forecast = forecast_of(simulate(made.problem, placement, plan.objective))
    return replace(plan, placement=placement, forecast=forecast, rests_on=made.problem.rests_on)
