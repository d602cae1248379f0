"""Splitting a plan for capture: producing inputs, the GPU's work, and processing its results.

    before      random numbers, the next batch: whatever does not depend on the work
    arrivals    copies to the GPU of feeds and other values that only the work uses
    work        kernel launches on one GPU that are the same in every run with the same shapes; on one logical
                device or several of that GPU, with the copies between them
    after       copies of results to the host, counters on the host: whatever the work does not depend on

Sizes are constant, too: ``Shape`` of a value of the work, and what the host computes from it, belong to the work.
So do reads and updates of variables on the GPU. A plan that alternates
between GPU and host cannot be split like this, nor can one that uses several GPUs: their launches
would have to wait for each other in the middle. Then `parts_of` says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import variant
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.registry.traits import SHAPE_ONLY, STATE
from situs._src.runtime.passes.regions import draws_from_host
from situs._src.runtime.plan.plan import Call, Plan, Slot, makers, slots_in, waits_for

SHORTEST = 8  # calls: with fewer, copying in and out costs more than launching them


@dataclass(eq=False)
class Parts:
    """The parts of a plan.

    Attributes:
        before: The calls that produce inputs.
        arrivals: The copies to the GPU that only the work uses, by the slot of the copy.
        work: The captured part. It updates the memory of variables in place (`on_memory`).
        after: The calls after it.
        devices: The logical devices of the GPU that the work is on, by number.
        boundary: The slots that the other parts take from `before`.
        incoming: The inputs of the work: from the boundary, and the arrivals.
        states: Those of them that are cells of variables, which the work updates, or reads between updates.
        reads: Those that are values of variables, which the work does not update.
        sizes: The slots of the work that depend on shapes alone; they are on the host.
        measured: The incoming slots of which the work uses only the shapes.
    """

    before: list[Call]
    arrivals: dict[int, Call]
    work: list[Call]
    after: list[Call]
    devices: list[Device]
    boundary: list[int]
    incoming: list[int]
    states: list[int]
    reads: set[int]
    sizes: set[int]
    measured: set[int]


def parts_of(plan: Plan) -> Parts | str:
    """Splits a plan; returns the reason instead, if it cannot be split, or has too little work."""
    split = _Split(plan)
    if split.why_not():
        split = _Split(plan, measures_host=False)
    return split.why_not() or split.parts()


def recording_of(device: Device) -> str:
    """The key of the CUDA graph that can hold a device's launches: one graph holds those of one GPU."""
    return str(_card(device))


class _Split:
    """Assigns each call of a plan, by number, to a part.

    Args:
        plan: The plan.
        measures_host: Whether sizes of fed host values belong to the work. They do unless a call before the work
            needs them, such as random numbers with the size of a batch.
    """

    def __init__(self, plan: Plan, measures_host: bool = True) -> None:
        self.plan = plan
        self.measures_host = measures_host
        self.maker = makers(plan.calls)
        self.sizes: set[int] = set()
        self.changed = self._changed_states()
        self.in_work: list[bool] = []
        for call in plan.calls:
            self.in_work.append(self._belongs_to_work(call))
        self._late = self._found_late()

    def why_not(self) -> str:
        """Why the plan cannot be split; empty if it can."""
        devices = self._devices()
        if not devices:
            return "nothing in it runs on a GPU"
        if len({recording_of(device) for device in devices}) > 1:
            return f"it runs on several GPUs: {', '.join(device.short_name for device in devices)}"
        if sum(1 for _ in self.launches()) < SHORTEST:
            return f"it has fewer than {SHORTEST} operations on a GPU"
        return "the host has work to do between operations on the GPU" if self._late is None else ""

    def launches(self) -> Iterable[Call]:
        """The calls of the work that launch kernels."""
        return (call for call, inside in zip(self.plan.calls, self.in_work, strict=True) if inside and _is_launch(call))

    # What the work is.

    def _changed_states(self) -> set[int]:
        """The cells, by slot, that the work updates."""
        changing = (call for call in self.plan.calls if _is_launch(call) and _on_memory(call) is not None)
        return {self.cell(slot) for call in changing for slot in slots_in(call.inputs) if self._is_state(slot)}

    def cell(self, slot: int) -> int:
        """The slot of the cell that a call has passed on under another number: an update returns its cell."""
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

    def _devices(self) -> list[Device]:
        return sorted({call.device for call in self.launches()}, key=lambda device: device.rank)

    def _belongs_to_work(self, call: Call) -> bool:
        if call.reads is not None:
            return self.cell(slots_in(call.inputs)[0]) in self.changed
        if self._is_size(call):
            self.sizes.update(call.outputs)
            return True
        if call.copies is not None and _on_card(call):
            return all(slot in self.sizes or self._is_made_beside(slot, call) for slot in slots_in(call.inputs))
        return _is_launch(call) and all(slot in self.sizes for slot in _host_slots(call.inputs))

    def _is_made_beside(self, slot: int, copy: Call) -> bool:
        """Whether a copied value is produced by the work, on another logical device of the same GPU."""
        number = self.maker.get(slot)
        if number is None or not self.in_work[number]:
            return False
        call = self.plan.calls[number]
        return _on_card(call) and _card(call.device) == _card(copy.device)

    def _is_size(self, call: Call) -> bool:
        """Whether the results of a call depend on shapes alone, and are on the host."""
        if call.node is None or call.node.op_def.stateful or call.takes_run or graphs_of(call.node):
            return False
        if SHAPE_ONLY in call.node.op_def.traits:
            on_host = self.measures_host and not _on_card(call)
            return on_host or self.plan.assignments[call.node].kernel.host_output
        slots = slots_in(call.inputs)
        return bool(slots) and self.sizes.issuperset(slots) and not _on_card(call)

    # The parts.

    def parts(self) -> Parts:
        """The parts of a plan that can be split."""
        calls, late = self.plan.calls, self._late
        assert late is not None, "the work waits for something that comes after it"
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
        measuring = [call for call in work if call.node is not None and SHAPE_ONLY in call.node.op_def.traits]
        measured = set(incoming) & _taken(measuring) - _taken([call for call in work if call not in measuring])
        reads &= set(incoming)
        devices = self._devices()
        sizes = self.sizes
        return Parts(before, arrivals, work, after, devices, boundary, incoming, states, reads, sizes, measured)

    def _found_late(self) -> set[int] | None:
        """The calls after the work; None if the work depends on one of them."""
        late: set[int] = set()
        touched: set[int] = set()  # the work and its dependents
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
    """The copies to a GPU among some calls that only the work uses, by the slots of their results."""
    copies = (call for call in calls if call.copies is not None and _on_card(call))
    return {call.outputs[0]: call for call in copies if call.outputs[0] not in taken_elsewhere}


def _is_launch(call: Call) -> bool:
    """Whether a call launches the same kernels in every run, as far as the call itself tells."""
    if call.node is None or not _on_card(call) or call.takes_run or draws_from_host(call):
        return False
    if any(tensor.dtype is variant for tensor in (*call.node.inputs, *call.node.outputs)):
        return False  # lists are on the host, and made in every run
    return not call.node.op_def.stateful or _on_memory(call) is not None


def _on_card(call: Call) -> bool:
    return call.device.is_card


def _card(device: Device) -> Any:
    """The physical GPU of a logical device."""
    return device.physical


def _changes_elsewhere(call: Call) -> bool:
    """Whether a call updates a variable that is not on the GPU: these go after the work, so that reads come first."""
    return call.node is not None and call.node.op_def.updates


def _on_memory(call: Call) -> Any:
    """The in-place counterpart, on memory, of a call that updates variables; None if there is none."""
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


# Views of a variable's memory that outlive an update.


def kept_views(parts: Parts, outputs: set[int]) -> set[int]:
    """The slots that alias a variable's memory and are used, or returned, after its update: they need a copy.

    Args:
        parts: The parts.
        outputs: The slots of the work that are used after it.
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
    """The slots that may alias one, and the number of the last call that uses any of them."""
    views, last = {slot}, -1
    for number, call in enumerate(work):
        if views.isdisjoint(slots_in(call.inputs)):
            continue
        last = number
        if call.node is None or not (call.node.op_def.is_fresh(call.node) or call.node.op_def.updates):
            views.update(call.outputs)
    return views, last


def _is_changed_between(parts: Parts, slot: int, made: int, last: int) -> bool:
    """Whether the work updates the variable behind a slot after reading it and before its last use."""
    if made < 0:
        return False  # read before the work, which does not update it
    roots = {slot: slot for slot in parts.states}
    for number, call in enumerate(parts.work[: last + 1]):
        cells = [roots[taken] for taken in slots_in(call.inputs) if taken in roots]
        if call.node is not None and cells:
            roots.update(dict.fromkeys(call.outputs, cells[0]))
            if number > made and roots[slots_in(parts.work[made].inputs)[0]] in cells:
                return True
    return False
