"""A plan in parts: what brings values to a card, the card's work, and what is made of it.

    before      random numbers, the next batch: whatever needs nothing of the work
    arrivals    copies of feeds to the card, and of other values, that the work alone takes
    work        launches on one card that are the same in every run with the same shapes
    after       copies of results to the host, counters on the host: whatever nothing in the work waits for

Sizes are the same, too: ``Shape`` of a value of the work, and what the host computes of that, belong to the work.
So do changes of variables that lie on the card, and the reading of those variables. A plan that goes back and forth
between the card and the host has no such parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import variant
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.registry.traits import SHAPE_ONLY, STATE
from situs._src.runtime.plan.plan import Call, Plan, Slot, makers, slots_in, waits_for

SHORTEST = 8  # calls: below that, copying in and out costs more than ordering them


@dataclass(eq=False)
class Parts:
    """The parts of a plan.

    Attributes:
        before: The calls that bring values.
        arrivals: The copies of values to the card that nothing but the work takes, by the slot of the copy.
        work: The work. What it does to variables, it does to their memory (`on_memory`).
        after: The calls that come after it.
        device: The card.
        boundary: The slots that the other parts take from before.
        incoming: The slots that the work takes: of the boundary, and of the arrivals.
        states: Those of these that are cells of variables; the work changes them, or reads them between changes.
        reads: Those that are values of variables, which the work does not change.
        sizes: The slots of the work that are known from shapes; they lie on the host.
    """

    before: list[Call]
    arrivals: dict[int, Call]
    work: list[Call]
    after: list[Call]
    device: Device
    boundary: list[int]
    incoming: list[int]
    states: list[int]
    reads: set[int]
    sizes: set[int]


def parts_of(plan: Plan) -> Parts | None:
    """The parts of a plan; None if it has no such parts, or too little work."""
    split = _Split(plan)
    if len({call.device for call in split.launches()}) != 1 or sum(1 for _ in split.launches()) < SHORTEST:
        return None
    return split.parts()


class _Split:
    """Says of each call of a plan, by number, to which part it belongs."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.maker = makers(plan.calls)
        self.sizes: set[int] = set()
        self.changed = self._changed_states()
        self.in_work = [self._belongs_to_work(number) for number in range(len(plan.calls))]

    def launches(self) -> Iterable[Call]:
        """The calls of the work that give the card something to do."""
        return (call for call, inside in zip(self.plan.calls, self.in_work, strict=True) if inside and _is_launch(call))

    # What the work is.

    def _changed_states(self) -> set[int]:
        """The cells, by slot, that the work changes."""
        changing = (call for call in self.plan.calls if _is_launch(call) and _on_memory(call) is not None)
        return {self.cell(slot) for call in changing for slot in slots_in(call.inputs) if self._is_state(slot)}

    def cell(self, slot: int) -> int:
        """The slot of the cell that a call has passed on under another number: a change returns what it changes."""
        call = self._made(slot)
        while call is not None and call.node is not None and STATE not in call.node.op_def.traits:
            slot = slots_in(call.inputs)[0]
            call = self._made(slot)
        return slot

    def _is_state(self, slot: int) -> bool:
        call = self._made(slot)
        if call is None or call.node is None:
            return False
        return STATE in call.node.op_def.traits or call.node.op_def.updates

    def _made(self, slot: int) -> Call | None:
        number = self.maker.get(slot)
        return None if number is None else self.plan.calls[number]

    def _belongs_to_work(self, number: int) -> bool:
        call = self.plan.calls[number]
        if call.reads is not None:
            return self.cell(slots_in(call.inputs)[0]) in self.changed
        if self._is_size(call):
            self.sizes.update(call.outputs)
            return True
        if call.copies is not None and _on_card(call):
            return self.sizes.issuperset(slots_in(call.inputs))
        return _is_launch(call) and all(slot in self.sizes for slot in _host_slots(call.inputs))

    def _is_size(self, call: Call) -> bool:
        """Whether the results of a call depend on shapes alone, and lie on the host."""
        if call.node is None or call.node.op_def.stateful or call.takes_run or graphs_of(call.node):
            return False
        if SHAPE_ONLY in call.node.op_def.traits:
            return self.plan.assignments[call.node].kernel.host_output
        slots = slots_in(call.inputs)
        return bool(slots) and self.sizes.issuperset(slots) and not _on_card(call)

    # The parts.

    def parts(self) -> Parts | None:
        """The parts; None if the work waits for something that comes after it."""
        calls, late = self.plan.calls, self._late()
        if late is None:
            return None
        work = [call for call, inside in zip(calls, self.in_work, strict=True) if inside]
        after = [call for number, call in enumerate(calls) if number in late]
        before = [call for number, call in enumerate(calls) if number not in late and not self.in_work[number]]
        arrivals = _arrivals(before, _taken([*before, *after]) | set(slots_in(self.plan.outputs)))
        before = [call for call in before if arrivals.keys().isdisjoint(call.outputs)]
        brought = {*self.plan.inputs, *(slot for call in before for slot in call.outputs)}
        incoming = sorted((brought | arrivals.keys()) & _taken(work))
        taken = _taken([*arrivals.values(), *work, *after])
        boundary = sorted(brought & (taken | set(slots_in(self.plan.outputs))))
        states = [slot for slot in incoming if slot in self.changed]
        reads = {slot for call in before if call.reads is not None for slot in call.outputs}
        device = next(iter(self.launches())).device
        return Parts(
            before, arrivals, work, after, device, boundary, incoming, states, reads & set(incoming), self.sizes
        )

    def _late(self) -> set[int] | None:
        """The calls that come after the work; None if some of the work waits for one of them."""
        late: set[int] = set()
        touched: set[int] = set()  # the work, and what comes after it
        for number, call in enumerate(self.plan.calls):
            earlier = waits_for(call, self.maker)
            if self.in_work[number]:
                touched.add(number)
                if not late.isdisjoint(earlier):
                    return None
            elif not touched.isdisjoint(earlier) or _changes_elsewhere(call):
                late.add(number)
                touched.add(number)
        return late


def _arrivals(calls: Iterable[Call], taken_elsewhere: set[int]) -> dict[int, Call]:
    """The copies to a card among some calls that only the work takes, by the slots that they make."""
    copies = (call for call in calls if call.copies is not None and _on_card(call))
    return {call.outputs[0]: call for call in copies if call.outputs[0] not in taken_elsewhere}


def _is_launch(call: Call) -> bool:
    """Whether a call is launches on a card that are the same in every run, as far as the call itself says."""
    if call.node is None or not _on_card(call) or call.takes_run or _draws_from_host(call):
        return False
    if any(tensor.dtype is variant for tensor in (*call.node.inputs, *call.node.outputs)):
        return False  # a list lies on the host, and a run makes it anew
    return not call.node.op_def.stateful or _on_memory(call) is not None


def _draws_from_host(call: Call) -> bool:
    """Whether a call draws random numbers that begin where the host says: what is recorded would say it once."""
    if call.node is None or not call.node.op_def.draws:
        return False
    given = zip(call.node.op_def.inputs, call.inputs, strict=True)
    named = [source for arg, source in given if arg.name in call.node.op_def.card_inputs]
    return not any(isinstance(source, Slot) and not source.host for source in named)


def _on_card(call: Call) -> bool:
    return call.device.is_card


def _changes_elsewhere(call: Call) -> bool:
    """Whether a call changes a variable that does not lie on the card: after the work, so that reading comes before."""
    return call.node is not None and call.node.op_def.updates


def _on_memory(call: Call) -> Any:
    """The function that does to the memory of variables what a call does to variables; None if there is none."""
    return getattr(call.function, "on_memory", None)


def _host_slots(sources: Iterable[Any]) -> Iterable[int]:
    for source in sources:
        if isinstance(source, Slot):
            if source.host:
                yield source.number
        elif isinstance(source, (tuple, list)):
            yield from _host_slots(source)


def _taken(calls: Iterable[Call]) -> set[int]:
    return {slot for call in calls for slot in slots_in(call.inputs)}


# Who still has a variable's memory when it is changed.


def kept_views(parts: Parts, outputs: set[int]) -> set[int]:
    """The slots that hold a variable's memory, and are used when it has been changed, or returned: they need a copy.

    Args:
        parts: The parts.
        outputs: The slots of the work that somebody sees after it.
    """
    found: set[int] = set()
    sources = [(slot, -1) for slot in parts.reads]
    sources += [(call.outputs[0], number) for number, call in enumerate(parts.work) if call.reads is not None]
    for slot, made in sources:
        views, last = _views(parts.work, slot)
        if not views.isdisjoint(outputs) or _is_changed_between(parts, slot, made, last):
            found.add(slot)
    return found


def _views(work: list[Call], slot: int) -> tuple[set[int], int]:
    """The slots that may share the memory of one, and the number of the last call that takes any of them."""
    views, last = {slot}, -1
    for number, call in enumerate(work):
        if views.isdisjoint(slots_in(call.inputs)):
            continue
        last = number
        if call.node is None or not (call.node.op_def.is_fresh(call.node) or call.node.op_def.updates):
            views.update(call.outputs)
    return views, last


def _is_changed_between(parts: Parts, slot: int, made: int, last: int) -> bool:
    """Whether the work changes the variable whose value a slot is, after reading it and before the last use."""
    if made < 0:
        return False  # it is read before the work, which leaves it alone
    roots = {slot: slot for slot in parts.states}
    for number, call in enumerate(parts.work[: last + 1]):
        cells = [roots[taken] for taken in slots_in(call.inputs) if taken in roots]
        if call.node is not None and cells:
            roots.update(dict.fromkeys(call.outputs, cells[0]))
            if number > made and roots[slots_in(parts.work[made].inputs)[0]] in cells:
                return True
    return False
