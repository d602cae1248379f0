"""Why there is no placement: a minimal set of conflicting constraints.

Constraints are what the user can change: a node's allowed devices, a group, a device's memory limit, as opposed to
kernels and sizes. Feasibility is decided by `pack`: every block on a device that allows all of its nodes, and no device
over its limit. The answer is a placement, a proof that there is none, or unknown, if the search was too large; only a
proof is reported. For small problems every placement is simulated (`every`). The minimal set
is found with QuickXplain: none of its members can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from situs._src.base.errors import InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.placement.search import every
from situs._src.placement.search.flat import block_candidates
from situs._src.placement.search.problem import ROUNDING, Objective, Problem
from situs._src.placement.search.reduce import groups_of

LOOKS = 20_000  # placements of blocks that `pack` tries before it goes device by device ...
SETS = 1_000_000  # ... and steps to sets for one device before it says that it does not know
SHOWN = 8  # wishes of a conflict in a message

Item = tuple[float, list[int]]  # bytes of a block, and the devices that it may be on


@dataclass(frozen=True)
class Wish:
    """A constraint of the user.

    Attributes:
        kind: ``allowed`` (devices of a node), ``group`` or ``memory`` (limit of a device).
        subject: The name of the node, the group or the device.
        text: The constraint in words.
    """

    kind: str
    subject: str
    text: str


@export("placement.InfeasibleError")
class InfeasibleError(InvalidArgumentError):
    """No placement satisfies the constraints.

    Attributes:
        wishes: A minimal conflicting set: without any one of them there would be a placement. Empty if the reason is
        not a
            constraint (no kernel anywhere), or is not known.
    """

    def __init__(self, message: str, wishes: Sequence[Wish] = ()) -> None:
        super().__init__(message)
        self.wishes = tuple(wishes)

    def __reduce__(self) -> tuple[type[InfeasibleError], tuple[str, tuple[Wish, ...]]]:
        return type(self), (self.message, self.wishes)


@dataclass(frozen=True)
class Packing:
    """The result of `pack`: a placement of nodes, or None; and whether the search was exhaustive."""

    devices: list[int] | None
    is_proof: bool


def check(problem: Problem, objective: Objective) -> list[int] | None:
    """A placement that satisfies the constraints, if `pack` found one; None if unknown.

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
    """The error for a problem that is proven infeasible."""
    wishes = smallest_conflict(problem, objective)
    return InfeasibleError(_message(problem, wishes), wishes)


def wishes_of(problem: Problem) -> list[Wish]:
    """All constraints of a problem."""
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
    """The problem without some constraints."""
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
    """A minimal set of conflicting constraints; the problem must be proven infeasible."""
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
    """Whether a problem is proven infeasible."""
    packing = pack(problem, objective)
    return (packing.devices is None and packing.is_proof) or every.has_none(problem, objective)


def pack(problem: Problem, objective: Objective) -> Packing:
    """Assigns every block to a device within the memory limits, or proves that it is impossible.

    In ``step`` only weights stay in memory all the time, and a node needs memory for its inputs and results as well; in
    the published models everything stays in memory all the time.
    """
    blocks = groups_of(problem)
    needs = _needs(problem, objective)
    limits = [device.room for device in problem.devices]
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
    held: list[float]  # by node: bytes in use all the time
    beside: list[float]  # by node: additional bytes while it runs


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


def _fit(items: Sequence[Item], limits: Sequence[float]) -> Packing:
    """Item by item, which finds a placement where there is some room to spare; then device by device, where there is
    little."""
    if _is_overfull(items, limits):
        return Packing(None, True)
    found = _by_item(items, limits)
    return found if found.is_proof else _ByDevice(items, limits).run()


def _by_item(items: Sequence[Item], limits: Sequence[float]) -> Packing:
    """Depth first, the largest item first, the emptiest device first; devices that are alike are tried once."""
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


class _ByDevice:
    """Fills device after device, the smallest first, each with every set of items that leaves little enough unused.

    What all devices together can hold beyond all items is to spare. A set for one device that leaves more room than
    that cannot be right, whatever the others hold. So the less there is to spare, the fewer sets are looked at.
    """

    def __init__(self, items: Sequence[Item], limits: Sequence[float]) -> None:
        self.items = items
        self.limits = limits
        self.devices = sorted(range(len(limits)), key=lambda d: (limits[d], d))
        self.place = [-1 if size else fitting[0] for size, fitting in items]  # what is nothing fits everywhere
        self.looks = 0

    def run(self) -> Packing:
        """A placement, a proof that there is none, or neither."""
        spare = sum(self.limits) * (1 + ROUNDING) - sum(size for size, _ in self.items)
        if spare == float("inf"):
            return Packing(None, False)
        found = self._fill(0, spare)
        is_proof = found or self.looks <= SETS
        return Packing(list(self.place) if found else None, is_proof)

    def _fill(self, at: int, spare: float) -> bool:
        """Fills the devices from one on; whether all items have a place then."""
        left = [i for i, d in enumerate(self.place) if d < 0]
        if at == len(self.devices):
            return not left
        d, later = self.devices[at], set(self.devices[at + 1 :])
        here = [i for i in left if d in self.items[i][1]]
        must = [i for i in here if later.isdisjoint(self.items[i][1])]
        options = [i for i in here if not later.isdisjoint(self.items[i][1])]
        room = self.limits[d] - sum(self.items[i][0] for i in must)
        for some, unused in self._sets(options, room, spare):
            chosen = must + some
            for i in chosen:
                self.place[i] = d
            if self._fill(at + 1, spare - unused):
                return True
            for i in chosen:
                self.place[i] = -1
        return False

    def _sets(self, options: list[int], room: float, spare: float) -> Iterator[tuple[list[int], float]]:
        """Sets of items that fit, and how much room each leaves; of items that are alike the first ones."""
        after = [0.0] * (len(options) + 1)
        for j in reversed(range(len(options))):
            after[j] = after[j + 1] + self.items[options[j]][0]
        chosen: list[int] = []  # positions in `options`
        j = 0
        while room >= 0 and self.looks <= SETS:
            self.looks += 1
            if j < len(options) and room - after[j] <= spare:
                if self.items[options[j]][0] <= room:
                    chosen.append(j)
                    room -= self.items[options[j]][0]
                j += 1
                continue
            if j == len(options) and room <= spare:
                yield [options[c] for c in chosen], room
            if not chosen:
                return
            j = chosen.pop()
            room += self.items[options[j]][0]
            kind = self.items[options[j]]
            while j < len(options) and self.items[options[j]] == kind:
                j += 1


def _is_overfull(items: Sequence[Item], limits: Sequence[float]) -> bool:
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
        return "No placement fits, even without any constraint: kernels and sizes rule out all of them."
    first = wishes if len(wishes) <= SHOWN else sorted(wishes, key=lambda wish: wish.kind != "memory")
    lines = [f"  {wish.text}" for wish in first[:SHOWN]]  # of many pins, what they conflict with is not left out
    if len(wishes) > SHOWN:
        lines.append(f"  and {len(wishes) - SHOWN} more")
    facts = _facts(problem, wishes)
    head = (
        "No placement satisfies all of these constraints. Dropping any one of them may help:"
        if len(wishes) != 1
        else ("No placement keeps to this wish:")
    )
    return "\n".join([head, *lines, *facts])


def _facts(problem: Problem, wishes: Sequence[Wish]) -> list[str]:
    """The given facts that conflict with the constraints."""
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
