"""Why there is no placement: the smallest set of wishes that cannot hold together.

Wishes are what the user can change: a node's allowed devices, a group, a device's memory limit. What is there is not:
kernels, sizes. Whether wishes can hold together is asked of `pack`: every block on a device that all of its nodes may
be on, and no device with more than fits. It answers yes with a placement, no with a proof, or that it does not know,
when it has looked at too many; only a proof refuses. Of small problems every placement is simulated (`every`). The set
is found by halves (QuickXplain): none of its members can be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from situs._src.base.errors import InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.placement.search import every
from situs._src.placement.search.flat import block_candidates
from situs._src.placement.search.problem import Objective, Problem
from situs._src.placement.search.reduce import groups_of

LOOKS = 20_000  # placements of blocks that `pack` tries before it says that it does not know
SHOWN = 8  # wishes of a conflict in a message


@dataclass(frozen=True)
class Wish:
    """Something that was asked for.

    Attributes:
        kind: ``allowed`` (devices of a node), ``group`` or ``memory`` (limit of a device).
        subject: The name of the node, the group or the device.
        text: The wish in words.
    """

    kind: str
    subject: str
    text: str


@export("placement.InfeasibleError")
class InfeasibleError(InvalidArgumentError):
    """No placement keeps to the wishes.

    Attributes:
        wishes: The smallest set that conflicts: without any one of them there would be a placement. Empty if the reason
            is no wish (no kernel anywhere), or is not known.
    """

    def __init__(self, message: str, wishes: Sequence[Wish] = ()) -> None:
        super().__init__(message)
        self.wishes = tuple(wishes)

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[str, tuple[Wish, ...]]]:
        return type(self), (self.message, self.wishes)


@dataclass(frozen=True)
class Packing:
    """What `pack` found: a placement of nodes, or None; and whether it has looked at everything."""

    devices: list[int] | None
    is_proof: bool


def check(problem: Problem, objective: Objective) -> list[int] | None:
    """A placement that keeps to the wishes, if `pack` found one; None if it does not know.

    Raises:
        InfeasibleError: there is none.
    """
    for node in problem.nodes:
        if all(time is None for time in node.times):
            raise InfeasibleError(f"Node {shown(node.name)} has no kernel for any of the devices.")
    packing = pack(problem, objective)
    if packing.devices is None and packing.is_proof:
        raise refusal(problem, objective)
    return packing.devices


def refusal(problem: Problem, objective: Objective) -> InfeasibleError:
    """What is said of a problem that is proven to have no placement."""
    wishes = smallest_conflict(problem, objective)
    return InfeasibleError(_message(problem, wishes), wishes)


def wishes_of(problem: Problem) -> list[Wish]:
    """All wishes of a problem."""
    names = [device.name for device in problem.devices]
    found = [
        Wish(
            "allowed",
            node.name,
            f"node {shown(node.name)} only on {', '.join(names[d] for d in node.allowed) or 'no device'}",
        )
        for node in problem.nodes
        if node.allowed is not None and len(node.allowed) < len(names)
    ]
    members: dict[str, list[str]] = {}
    for node in problem.nodes:
        if node.group is not None:
            members.setdefault(node.group, []).append(node.name)
    for group, nodes in members.items():
        if len(nodes) > 1:
            some = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
            found.append(Wish("group", group, f"group {shown(group)} on one device: {some}"))
    for device in problem.devices:
        if device.memory is not None:
            found.append(Wish("memory", device.name, f"at most {device.memory:.6g} bytes on {device.name}"))
    return found


def without(problem: Problem, dropped: Sequence[Wish]) -> Problem:
    """The problem without some wishes."""
    gone = {(wish.kind, wish.subject) for wish in dropped}
    nodes = tuple(
        replace(
            node,
            allowed=None if ("allowed", node.name) in gone else node.allowed,
            group=None if ("group", node.group) in gone else node.group,
        )
        for node in problem.nodes
    )
    devices = tuple(replace(each, memory=None) if ("memory", each.name) in gone else each for each in problem.devices)
    return replace(problem, nodes=nodes, devices=devices)


def smallest_conflict(problem: Problem, objective: Objective) -> list[Wish]:
    """Wishes that cannot hold together, of which none can be left out; the problem must be proven infeasible."""
    wishes = wishes_of(problem)

    def conflicts(kept: Sequence[Wish]) -> bool:
        chosen = {(wish.kind, wish.subject) for wish in kept}
        return has_none(without(problem, [w for w in wishes if (w.kind, w.subject) not in chosen]), objective)

    def needed(base: list[Wish], rest: list[Wish], grew: bool) -> list[Wish]:
        if grew and conflicts(base):
            return []
        if len(rest) == 1:
            return rest
        left, right = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        of_right = needed(base + left, right, bool(left))
        return needed(base + of_right, left, bool(of_right)) + of_right

    return needed([], wishes, False) if wishes and not conflicts([]) else []


def has_none(problem: Problem, objective: Objective) -> bool:
    """Whether it is proven that no placement keeps to all wishes of a problem."""
    packing = pack(problem, objective)
    return (packing.devices is None and packing.is_proof) or every.has_none(problem, objective)


def pack(problem: Problem, objective: Objective) -> Packing:
    """Puts every block on a device that it may be on, so that no device holds too much, or proves that nobody can.

    In ``step`` only weights are held all the time, and a node needs room for what it takes and makes beside its own;
    in the published models everything is held all the time.
    """
    blocks = groups_of(problem)
    needs = _needs(problem, objective)
    limits = [float("inf") if device.memory is None else device.memory for device in problem.devices]
    items: list[tuple[float, list[int], int]] = []
    for b, block in enumerate(blocks):
        held = sum(needs.held[v] for v in block)
        beside = max(needs.beside[v] for v in block)
        fitting = [d for d in block_candidates(problem, block) if held + beside <= limits[d]]
        if not fitting:
            return Packing(None, True)
        items.append((held, fitting, b))
    items.sort(key=lambda item: (-item[0], len(item[1]), item[2]))
    place = _fit([(size, fitting) for size, fitting, _ in items], limits)
    if place.devices is None:
        return place
    devices = [0] * len(problem.nodes)
    for (_, _, b), d in zip(items, place.devices, strict=True):
        for v in blocks[b]:
            devices[v] = d
    return Packing(devices, True)


@dataclass(frozen=True)
class _Needs:
    held: list[float]  # by node: bytes that are there all the time
    beside: list[float]  # by node: bytes that it needs besides while it runs


def _needs(problem: Problem, objective: Objective) -> _Needs:
    held = [node.weights for node in problem.nodes]
    beside = [node.workspace if objective == "step" else 0.0 for node in problem.nodes]
    for tensor in problem.tensors:
        if objective != "step":
            held[tensor.producer] += tensor.bytes
            continue
        for v in {tensor.producer, *tensor.consumers}:
            beside[v] += tensor.bytes
    return _Needs(held, beside)


def _fit(items: Sequence[tuple[float, list[int]]], limits: Sequence[float]) -> Packing:
    """Depth first, the largest item first, the emptiest device first; devices that are alike are tried once."""
    if _is_overfull(items, limits):
        return Packing(None, True)
    room = list(limits)
    sets = {tuple(fitting) for _, fitting in items}
    kind = [frozenset(each for each in sets if d in each) for d in range(len(limits))]
    alike = [kind.index(each) for each in kind]
    choices: list[list[int]] = []
    chosen: list[int] = []
    looks = 0
    while len(chosen) < len(items):
        size, fitting = items[len(chosen)]
        if len(choices) == len(chosen):  # an item that has not been tried
            found = {(room[d], alike[d]): d for d in reversed(fitting) if size <= room[d]}
            choices.append(sorted(found.values(), key=lambda d: (room[d], -d)))
        if choices[-1]:
            d = choices[-1].pop()
            room[d] -= size
            chosen.append(d)
            looks += 1
            if looks > LOOKS + len(items):
                return Packing(None, False)
            continue
        choices.pop()
        if not chosen:
            return Packing(None, True)
        d = chosen.pop()
        room[d] += items[len(chosen)][0]
    return Packing(chosen, True)


def _is_overfull(items: Sequence[tuple[float, list[int]]], limits: Sequence[float]) -> bool:
    """Whether some devices cannot hold what can be on no others."""
    totals: dict[tuple[int, ...], float] = {}
    for size, fitting in items:
        totals[tuple(fitting)] = totals.get(tuple(fitting), 0.0) + size
    for devices in totals:
        inside = sum(size for others, size in totals.items() if set(others) <= set(devices))
        if inside > sum(limits[d] for d in devices):
            return True
    return False


def _message(problem: Problem, wishes: Sequence[Wish]) -> str:
    if not wishes:
        return "No placement fits, whatever wish is given up: kernels and sizes leave none."
    lines = [f"  {wish.text}" for wish in wishes[:SHOWN]]
    if len(wishes) > SHOWN:
        lines.append(f"  and {len(wishes) - SHOWN} more")
    facts = _facts(problem, wishes)
    head = (
        "No placement keeps to these wishes, of which any one could be given up:"
        if len(wishes) != 1
        else ("No placement keeps to this wish:")
    )
    return "\n".join([head, *lines, *facts])


def _facts(problem: Problem, wishes: Sequence[Wish]) -> list[str]:
    """What is there, and stands against the wishes."""
    facts: list[str] = []
    names = [device.name for device in problem.devices]
    groups = {wish.subject for wish in wishes if wish.kind == "group"}
    pinned = {wish.subject for wish in wishes if wish.kind == "allowed"}
    for node in problem.nodes:
        kernels = [names[d] for d, time in enumerate(node.times) if time is not None]
        if (node.group in groups or node.name in pinned) and len(kernels) < len(names) and len(facts) < SHOWN:
            facts.append(f"Node {shown(node.name)} has kernels for {', '.join(kernels)}.")
    if any(wish.kind == "memory" for wish in wishes):
        facts.append(f"All nodes together have weights of {sum(node.weights for node in problem.nodes):.6g} bytes.")
    return facts
