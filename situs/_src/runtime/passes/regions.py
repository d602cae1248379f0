"""Which calls of a plan can be compiled together, one region a device, and why each other call cannot.

    CPU:0   %2 = read %0                    stage 0, region 1: nothing outside takes the value
    CPU:0   %3 = MatMul(%1, %2)             stage 0, region 1
    CPU:0   %4 = RandomUniform()            stage 0, outside: it draws random numbers
    CPU:0   %5 = Mul(%3, %4)                stage 0, region 1
    CPU:0   %6 = Unique(%5)                 stage 1, outside: it looks at values
    CPU:0   %7 = Cast(%6)                   stage 1, region 2
    CPU:0   %8 = AssignSub(%0, %7)          stage 1, region 2: its memory is changed where the gradient is made

A region holds calls on one device that are functions of dense tensors, of sizes, and of the *states* of variables: what
they hold before, and what they hold after. So it can be left out and its calls made one by one, with the same results
and Situs' own errors. What has another effect, draws random numbers, copies between devices, holds graphs or needs
values on the host stays a call of its own.

Every call goes into the first *stage* it can be in. In a stage the calls outside of regions come first, in the order
of the plan, then one region a device. What changes a variable, or has another effect, comes after all calls that stood
before it in the plan, so a use of an old value never moves behind it; reading a variable never moves before what
changes it. Inside of a region the order is the plan's.

A region that changes a variable writes into its memory. So nobody but the region may have the old value: every reading
of the variable before the change is in a region, together with all that takes what was read (`_Readings`). Otherwise
the change stays outside. A reading, and what passes it on as it is, is not handed from one region to another: each reads
anew. Other views of a variable that leave a region leave it as copies.

What is known of values comes from a run (`Seen`): shapes, strides and dtypes, numbers that hang on shapes alone, and
which slots are states of which variable. They are what a region is compiled for. Nothing here knows a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import ALIAS, SHAPE_ONLY, STATE
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source, makers, slots_in, waits_for

LONGEST = 1500  # calls of one region: what compiling takes grows faster than their number
SHORTEST = 2  # calls: one alone has nothing to be fused with
BAKED = 8  # elements: smaller constants become part of the code

_VIRTUAL = "on a virtual GPU, whose ledger counts every result"


# What a run shows.


@dataclass(frozen=True)
class Layout:
    """What a region is compiled for, of one tensor."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device


def layout_of(value: object) -> Layout | None:
    """The layout of a dense tensor; None for anything else."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_conj() or value.is_neg():
        return None
    return Layout(value.shape, value.stride(), value.dtype, value.device)


class Seen:
    """What one run has shown of the slots of a plan.

    Args:
        plan: The plan.
        as_host_value: Makes of a value what host inputs take.
        memory: The slots that hold the memory of variables in the place of their cells.

    Attributes:
        layouts: Of the slots that held dense tensors, and of what variables held.
        sizes: The values of the slots that hang on shapes alone, as host inputs take them.
        states: The slots that are states of variables: cells, or memory; each with the first slot of its variable.
        ambiguous: Those first slots whose variable has also come in by another slot: the next run may bring two.
    """

    def __init__(self, plan: Plan, as_host_value: Callable[[Any], Any], memory: Iterable[int] = ()) -> None:
        self.layouts: dict[int, Layout] = {}
        self.sizes: dict[int, Any] = {}
        self.states: dict[int, int] = {slot: slot for slot in memory}
        self.ambiguous: set[int] = set()
        self._cells: dict[int, Cell] = {}  # by their first slots
        self._size_slots = size_slots(plan)
        self._as_host_value = as_host_value

    def note(self, slots: Iterable[int], values: Iterable[Any]) -> None:
        """Notes the values of slots."""
        for slot, value in zip(slots, values, strict=True):
            if isinstance(value, Cell):
                self._note_cell(slot, value)
            layout = layout_of(value.value if isinstance(value, Cell) else value)
            if layout is not None:
                self.layouts[slot] = layout
            if slot in self._size_slots:
                self.sizes[slot] = self._as_host_value(value)

    def _note_cell(self, slot: int, cell: Cell) -> None:
        if slot in self.states:
            return  # of a change, which passes on what it changes
        first = next((first for first, known in self._cells.items() if known is cell), None)
        if first is None:
            self._cells[slot] = cell
        else:
            self.ambiguous.add(first)
        self.states[slot] = slot if first is None else first

    def states_in(self, call: Call) -> list[int]:
        """The states that a call takes, each by the first slot of its variable, in the order of its inputs."""
        return list(dict.fromkeys(self.states[slot] for slot in slots_in(call.inputs) if slot in self.states))

    def layout(self, source: Slot | Literal) -> Layout:
        """The layout of what a region takes."""
        found = layout_of(source.value) if isinstance(source, Literal) else self.layouts[source.number]
        assert found is not None
        return found

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """What `emit` puts around each call to note its results."""

        def noted(*values: Any) -> Any:
            if is_change(call):
                first = slots_in(call.inputs)[0]
                self.states.update({slot: self.states[first] for slot in call.outputs if first in self.states})
            made = call.function(*values)
            self.note(call.outputs, (made,) if call.single else made)
            return made

        return noted


def size_slots(plan: Plan) -> set[int]:
    """The slots of a plan that hang on shapes alone and lie on the host."""
    found: set[int] = set()
    for call in plan.calls:
        node = call.node
        if node is None or node.op_def.stateful or call.takes_run or graphs_of(node):
            continue
        slots = slots_in(call.inputs)
        if SHAPE_ONLY in node.op_def.traits:
            if plan.assignments[node].kernel.host_output:
                found.update(call.outputs)
        elif slots and found.issuperset(slots) and not call.device.is_card:
            found.update(call.outputs)
    return found


# Which calls.


def compiles(graph: Graph | None) -> bool | None:
    """What the function that a graph is of, or lies in, was told of compilation: nothing, yes or no."""
    while graph is not None:
        if graph.compiles is not None:
            return graph.compiles
        graph = graph.outer
    return None


def counts_all(device: Device) -> bool:
    """Whether a device's ledger must see every result: a virtual GPU's."""
    return device.account is not None and device.account.enters_all


def is_change(call: Call) -> bool:
    """Whether a call changes variables, and can do so to their memory as well as to their cells."""
    return call.node is not None and call.node.op_def.updates and hasattr(call.function, "on_memory")


def why_never(call: Call) -> str | None:
    """Why a call can never be in a region, whatever it is given; None if it may be."""
    node = call.node
    if node is None:
        if call.reads is None:
            return "copies between devices"
        return _VIRTUAL if counts_all(call.device) else None
    if graphs_of(node):
        return "a branch, a loop or a function that is called"
    if node.op_def.draws:
        return "draws random numbers"
    if STATE in node.op_def.traits:
        return "a variable"
    if not is_change(call) and (node.op_def.stateful or call.takes_run):
        return "changes a variable" if node.op_def.updates else "has state or an effect"
    if counts_all(call.device):
        return _VIRTUAL
    if not call.outputs:
        return "computes nothing"
    return "in a function with jit_compile=False" if compiles(node.graph) is False else None


def why_outside(call: Call, seen: Seen) -> str | None:
    """Why a call is not in a region, as far as that is known before it is traced; None if it can be."""
    never = why_never(call)
    if never is not None:
        return never
    if not seen.sizes.keys().isdisjoint(call.outputs):
        return "computes sizes on the host"
    sources = list(_flat(call.inputs))
    values = [source.number for source in sources if isinstance(source, Slot) and not source.host]
    if any(isinstance(source, Slot) and source.host and source.number not in seen.sizes for source in sources):
        return "needs a value on the host"
    if is_change(call) or call.reads is not None:
        state = _why_not_state(call, seen)
        if state is not None:
            return state
    elif not seen.states.keys().isdisjoint(values):
        return "takes a variable itself"
    layouts = [seen.layouts.get(slot) for slot in (*values, *call.outputs)]
    constants = [s.value for s in sources if isinstance(s, Literal) and isinstance(s.value, torch.Tensor)]
    layouts += [layout_of(value) for value in constants if value.ndim or not is_change(call)]  # rates are numbers
    if None in layouts:
        return "takes or makes what is not a dense tensor"
    if any((layout.device.type != "cpu") != call.device.is_card for layout in layouts if layout is not None):
        return "takes a value from another device"
    return None


def _why_not_state(call: Call, seen: Seen) -> str | None:
    """Why what a call takes is no state that a region can read or change; None if it is one."""
    what = "reads" if call.reads is not None else "changes"
    first = slots_in(call.inputs)[:1]
    states = seen.states_in(call)
    if not states or first[0] not in seen.states or not seen.ambiguous.isdisjoint(states):
        return f"{what} a variable"
    if is_change(call) and len(states) != sum(slot in seen.states for slot in slots_in(call.inputs)):
        return "changes a variable twice"
    before, after = seen.layouts.get(first[0]), seen.layouts.get(call.outputs[0])
    if before is None or after is None or (before.shape, before.dtype) != (after.shape, after.dtype):
        return f"{what} a variable, which has another shape then"
    return None


def _flat(sources: Iterable[Source]) -> Iterable[Slot | Literal]:
    for source in sources:
        if isinstance(source, (Slot, Literal)):
            yield source
        else:
            yield from _flat(source)


# Regions.


@dataclass(eq=False)
class Region:
    """Calls to be compiled as one function.

    Attributes:
        calls: The calls, in the order of the plan.
        sources: What they take from outside: slots, and constants that are too large to be part of the code.
        sizes: The slots of numbers that they take, known from shapes.
        kept: The slots of their results that somebody outside uses.
        states: Which slots are states of variables, each with what stands for its variable (`Seen.states`).
        changed: The variables that they change, by what stands for them, in the order of the sources.
        views: Those of the kept slots that may lie in the memory of a variable.
    """

    calls: list[Call]
    sources: list[Slot | Literal]
    sizes: list[int]
    kept: list[int]
    states: Mapping[int, int]
    changed: list[int]
    views: set[int] = field(default_factory=set)

    def key(self, source: Slot | Literal) -> int:
        """What tells a source from the others: its slot or its variable's, or the identity of a constant."""
        if isinstance(source, Literal):
            return -1 - id(source.value)
        return self.states.get(source.number, source.number)

    @property
    def device(self) -> Device:
        """Where all of it runs."""
        return self.calls[0].device


@dataclass(eq=False)
class Division:
    """A plan's calls in the order in which they run, regions among them, and why calls are outside of regions."""

    steps: list[Call | Region]
    reasons: dict[Call, str]

    @property
    def regions(self) -> list[Region]:
        """The regions."""
        return [step for step in self.steps if isinstance(step, Region)]


def divide(plan: Plan, seen: Seen, refused: Mapping[Call, str] | None = None) -> Division:
    """Divides a plan into regions, as large as they can be, and other calls.

    Args:
        plan: The plan.
        seen: What a run of it has shown.
        refused: Calls that are to stay outside, and why.
    """
    refused = refused or {}
    reasons = {call: refused.get(call) or why_outside(call, seen) for call in plan.calls}
    readers: dict[int, set[Call]] = {}
    for call in plan.calls:
        for slot in slots_in(call.inputs):
            readers.setdefault(slot, set()).add(call)
    returned = set(slots_in(plan.outputs))
    _Readings(plan.calls, seen, reasons, readers, returned).settle()
    inside = [reasons[call] is None for call in plan.calls]
    readings = _readings(plan.calls, inside)
    views = _views(plan.calls, readings)
    steps: list[Call | Region] = []
    for is_region, numbers in _in_stages(plan.calls, inside, seen.states, set(readings.values())):
        whole = set(numbers)
        for number in sorted(readings.values(), reverse=True):  # what reads, in each region that takes the value
            if any(number == readings.get(slot) for n in whole for slot in slots_in(plan.calls[n].inputs)):
                whole.add(number)
        members = [plan.calls[number] for number in sorted(whole)]
        again = {plan.calls[number] for number in whole.difference(numbers)}  # by others as well
        region = _region(members, again, readers, returned, seen) if is_region else None
        if region is not None:
            region.views = views.intersection(region.kept)
            steps.append(region)
            continue
        steps += [call for call in members if call not in again or call not in steps]
        reasons.update({call: "nothing beside it to be compiled with" for call in members if reasons[call] is None})
    return Division(steps, {call: reason for call, reason in reasons.items() if reason is not None})


def _readings(calls: Sequence[Call], inside: Sequence[bool]) -> dict[int, int]:
    """The calls, by the slots they make, that read variables in regions, or pass on what was read as it is."""
    found: dict[int, int] = {}
    for number, call in enumerate(calls):
        if inside[number] and (call.reads is not None or (_passes_on(call) and slots_in(call.inputs)[0] in found)):
            found[call.outputs[0]] = number
    return found


def _passes_on(call: Call) -> bool:
    """Whether the result of a call is its first input as it is."""
    return call.node is not None and ALIAS in call.node.op_def.traits and len(slots_in(call.inputs)) == 1


def _views(calls: Sequence[Call], readings: Mapping[int, int]) -> set[int]:
    """The slots that may lie in the memory of a variable that is read in a region."""
    found = set(readings)
    for call in calls:
        node = call.node
        if node is not None and not (node.op_def.is_fresh(node) or node.op_def.updates):
            found.update(call.outputs if not found.isdisjoint(slots_in(call.inputs)) else ())
    return found


class _Readings:
    """Settles which variables are read and changed in regions: nobody outside may have a value that is changed there.

    Args:
        calls: The calls of the plan.
        seen: What a run has shown.
        reasons: Why calls are outside, or None; this is what is settled.
        readers: Who takes each slot.
        returned: The slots that the plan returns.
    """

    def __init__(
        self,
        calls: Sequence[Call],
        seen: Seen,
        reasons: dict[Call, str | None],
        readers: Mapping[int, set[Call]],
        returned: set[int],
    ) -> None:
        self._seen = seen
        self._reasons = reasons
        self._readers = readers
        self._returned = returned
        self._numbers = {call: number for number, call in enumerate(calls)}
        self._users = [(number, call) for number, call in enumerate(calls) if seen.states_in(call)]
        self._readings = [call for call in calls if call.reads is not None]

    def settle(self) -> None:
        """Puts readings and changes outside until none outside is in the way of one inside."""
        while True:
            last = self._last_changes()
            for call in self._readings:
                if self._reasons[call] is None and not self._belongs(call, last):
                    self._reasons[call] = "reads a variable"
            outside = {
                state
                for number, call in self._users
                if self._reasons[call] is not None
                for state in self._seen.states_in(call)
                if number < last.get(state, -1)
            }
            hindered = [call for _, call in self._users if self._is_hindered(call, outside)]
            if not hindered:
                return
            self._reasons.update(dict.fromkeys(hindered, "changes a variable whose old value is used elsewhere"))

    def _last_changes(self) -> dict[int, int]:
        """For each variable that is changed in regions the number of the last call there that does so."""
        inside = [(number, call) for number, call in self._users if self._reasons[call] is None and is_change(call)]
        return {state: number for number, call in inside for state in self._seen.states_in(call)}

    def _belongs(self, call: Call, last: Mapping[int, int]) -> bool:
        """Whether a reading belongs into a region: its variable is changed in one, and nobody else takes the value.

        Whoever takes it may then read it anew, as nothing changes it in between.
        """
        state = self._seen.states_in(call)[0]
        if state not in last:
            return False
        takers = self._takers(call)
        if takers is None or not all(self._reasons[taker] is None and taker.device is call.device for taker in takers):
            return False
        end = max((self._numbers[taker] for taker in takers), default=0)
        others = (other for number, other in self._users if self._numbers[call] < number < end)
        return not any(other.reads is None and state in self._seen.states_in(other) for other in others)

    def _takers(self, call: Call) -> list[Call] | None:
        """Who takes what a call makes, also where it is passed on as it is; None if the plan returns that."""
        found: list[Call] = []
        if not self._returned.isdisjoint(call.outputs):
            return None
        for taker in (taker for slot in call.outputs for taker in self._readers.get(slot, ())):
            found.append(taker)
            if _passes_on(taker) and self._reasons[taker] is None:
                further = self._takers(taker)
                if further is None:
                    return None
                found += further
        return found

    def _is_hindered(self, call: Call, outside: set[int]) -> bool:
        is_inside = self._reasons[call] is None and is_change(call)
        return is_inside and not outside.isdisjoint(self._seen.states_in(call))


def _region(
    calls: list[Call], again: set[Call], readers: Mapping[int, set[Call]], returned: set[int], seen: Seen
) -> Region | None:
    """A region of some calls; None if there are too few of them, or nobody uses what they make.

    Args:
        calls: The calls.
        again: Those that read variables, which other regions do as well: nobody outside takes what they make.
        readers: Who takes each slot.
        returned: The slots that the plan returns.
        seen: What a run has shown.
    """
    members = set(calls)
    made = {slot for call in calls for slot in call.outputs}
    makes = [call for call in calls if call not in again]
    kept = [s for call in makes for s in call.outputs if s in returned or not readers.get(s, set()) <= members]
    changed = dict.fromkeys(state for call in calls if is_change(call) for state in seen.states_in(call))
    if len(makes) < SHORTEST or not (kept or changed):
        return None
    region = Region(calls, [], [], kept, seen.states, list(changed))
    sources: dict[int, Slot | Literal] = {}
    sizes: dict[int, None] = {}
    for source in _flat([each for call in calls for each in call.inputs]):
        if isinstance(source, Literal):
            if is_passed(source):
                sources.setdefault(region.key(source), source)
        elif source.host:
            sizes[source.number] = None
        elif source.number in seen.states or source.number not in made:
            sources.setdefault(region.key(source), source)
    region.sources, region.sizes = list(sources.values()), list(sizes)
    region.changed = [key for key in sources if key in changed]
    return region


def is_passed(literal: Literal) -> bool:
    """Whether a constant is given to a region, rather than made part of its code."""
    return isinstance(literal.value, torch.Tensor) and literal.value.numel() > BAKED


def _in_stages(
    calls: Sequence[Call], inside: Sequence[bool], states: Mapping[int, int], readings: set[int]
) -> Iterable[tuple[bool, list[int]]]:
    """The numbers of the calls in groups that may follow each other: each a region's or outside of regions.

    Readings that belong into regions are in none of them: each region has those that it takes.
    """
    stages = _stages(calls, inside, states)
    groups: dict[tuple[int, bool, Device | None], list[int]] = {}
    for number, (call, stage, within) in enumerate(zip(calls, stages, inside, strict=True)):
        if number not in readings:
            groups.setdefault((stage, within, call.device if within else None), []).append(number)
    for (_, within, _), members in sorted(groups.items(), key=lambda item: item[0][:2]):
        length = LONGEST if within else len(members)
        for start in range(0, len(members), length):
            yield within, members[start : start + length]


def _stages(calls: Sequence[Call], inside: Sequence[bool], states: Mapping[int, int]) -> list[int]:
    """For each call the first stage in which everything it waits for is there."""
    maker = makers(calls)
    stages: list[int] = []
    latest: dict[Device | None, int] = {}  # the last stage with calls in the regions of a device, or outside
    cells: dict[int, frozenset[int]] = {}  # the variables behind a slot, each by its first slot
    changed: dict[int, int] = {}  # the call that changed a variable last
    for number, call in enumerate(calls):
        here = call.device if inside[number] else None
        earlier = waits_for(call, maker)
        is_effect = _has_effect(call.node)
        if call.reads is not None or is_effect or not states.keys().isdisjoint(slots_in(call.inputs)):
            touched = {cell for slot in slots_in(call.inputs) for cell in cells.get(slot, (states.get(slot, slot),))}
            earlier |= {changed[cell] for cell in touched if cell in changed}
            if is_effect:
                changed.update(dict.fromkeys(touched, number))
                cells.update(dict.fromkeys(call.outputs, frozenset(touched)))
        stage = 0
        for other in earlier:
            leaves = inside[other] and calls[other].device is not here
            stage = max(stage, stages[other] + leaves)
        if is_effect:  # after all that stands before it
            stage = max([stage, *(last + (where is not None and where is not here) for where, last in latest.items())])
        stages.append(stage)
        latest[here] = max(latest.get(here, 0), stage)
    return stages


def _has_effect(node: Operation | None) -> bool:
    """Whether an operation does something that must stay in its order: it changes a variable, prints, takes a batch."""
    return node is not None and node.op_def.stateful and STATE not in node.op_def.traits and not node.op_def.draws


def anew(call: Call) -> Call:
    """A call as it is if its result must not be written over an input."""
    if call.overwrites is None:
        return call
    assert call.anew is not None
    return replace(call, function=call.anew, overwrites=None, anew=None)
