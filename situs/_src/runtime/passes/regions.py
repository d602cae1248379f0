"""Partitioning a plan into regions that are compiled as a whole, and the reason why each other call stays outside.

    CPU:0   %2 = read %0                    stage 0, region 1: nothing outside uses the value
    CPU:0   %3 = MatMul(%1, %2)             stage 0, region 1
    CPU:0   %4 = RandomUniform()            stage 0, outside: a random op with its state on the host
    CPU:0   %5 = Mul(%3, %4)                stage 0, region 1
    CPU:0   %6 = Unique(%5)                 stage 1, outside: depends on values
    CPU:0   %7 = Cast(%6)                   stage 1, region 2
    CPU:0   %8 = AssignSub(%0, %7)          stage 1, region 2: updated in place, next to its gradient

A region consists of calls on one device that are functions of dense tensors, of sizes, and of the *states* of variables
(their values before and after). So a region can always be replaced by its individual calls, with the same results
and Situs' own errors. Calls with other side effects, random ops with state on the host, copies between devices,
control flow, and calls that need values on the host stay outside. Bodies of control flow are plans of their own.

Every call is scheduled into the earliest possible *stage*. In a stage, the calls outside of regions run first, in plan
order, then one region per device. A call that updates a variable, or has another side effect, stays after all calls
that precede it in the plan, so a use of an old value never moves behind the update; a read never moves before an
update. Inside a region, plan order is kept.

A region updates variables in place. So nothing outside the region may use the old value: every read
of the variable before the update must be in a region, together with all users of that read (`_Readings`). Otherwise
the update stays outside. A read, or an alias of it, is not passed from one region to another: each region
reads the variable itself. Other views of a variable that leave a region are copied.

Long regions are split where their calls repeat (`passes.repeats`): regions with the same calls and the same tensor
layouts (`form_of`) are compiled once. The same goes for regions of replicas.

Shapes, strides, dtypes, numbers that depend only on shapes, and which slots are states of which variable are
observed in a run (`Seen`), and a region is compiled for them. Nothing here depends on a particular compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import ALIAS, SHAPE_ONLY, STATE
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.passes.repeats import Row, identity, pieces
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source, makers, slots_in, waits_for

LONGEST = 1500  # calls of one region: what compiling takes grows faster than their number
WHOLE = 1000  # calls of a region that is not cut, though parts of it may be alike
PIECE = 100  # calls: what repeats is joined until it has so many, as calling it costs something
SPARE = 4  # results that a region may return for nobody, to be like others
SHORTEST = 2  # calls: one alone has nothing to be fused with
COUNTS = 16  # calls: fewer that make nothing but a few integers each are not worth a compilation
BAKED = 8  # elements: smaller constants become part of the code

_VIRTUAL = "on a virtual GPU, whose ledger counts every result"


# Facts from a run.


@dataclass(frozen=True)
class Layout:
    """What a region is specialized to, for one tensor."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def __str__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        return f"{dtype} of shape {tuple(self.shape)} with strides {self.stride} on {self.device}"


def are_like(shape: Sequence[int], strides: Sequence[int], others: Sequence[int]) -> bool:
    """Whether elements lie at the same places with two strides: that of a size of one says nothing."""
    return all(size < 2 or a == b for size, a, b in zip(shape, strides, others, strict=True))


def layout_of(value: object) -> Layout | None:
    """The layout of a dense tensor; None for anything else."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_conj() or value.is_neg():
        return None
    return Layout(value.shape, value.stride(), value.dtype, value.device)


class Seen:
    """Facts about the slots of a plan from one run.

    Args:
        plan: The plan.
        as_host_value: Converts a value to a host input.
        memory: The slots that hold the memory of variables instead of their cells.

    Attributes:
        layouts: The layouts of slots with dense tensors, and of the values of variables.
        sizes: The values of the slots that depend on shapes alone, as host inputs.
        states: The slots that are states of variables: cells, or memory; each with the first slot of its variable.
        ambiguous: First slots whose variable has also come in by another slot: in the next run these may be two
        variables.
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
        """Records the values of slots."""
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
            return  # of an update, which returns its cell
        first = next((first for first, known in self._cells.items() if known is cell), None)
        if first is None:
            self._cells[slot] = cell
        else:
            self.ambiguous.add(first)
        self.states[slot] = slot if first is None else first

    def states_in(self, call: Call) -> list[int]:
        """The states that a call takes, as first slots of their variables, in the order of its inputs."""
        return list(dict.fromkeys(self.states[slot] for slot in slots_in(call.inputs) if slot in self.states))

    def layout(self, source: Slot | Literal) -> Layout:
        """The layout of an input of a region."""
        found = layout_of(source.value) if isinstance(source, Literal) else self.layouts[source.number]
        assert found is not None
        return found

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """Wraps each call to record its results, for `emit`."""

        def noted(*values: Any) -> Any:
            if is_change(call):
                first = slots_in(call.inputs)[0]
                self.states.update({slot: self.states[first] for slot in call.outputs if first in self.states})
            made = call.function(*values)
            self.note(call.outputs, (made,) if call.single else made)
            return made

        return noted


def _numbers_needed(plan: Plan) -> set[int]:
    """The slots that a call takes as plain numbers, or that such a number is computed from."""
    found: set[int] = set()
    for call in reversed(plan.calls):
        if found.isdisjoint(call.outputs):
            found.update(s.number for s in _flat(call.inputs) if isinstance(s, Slot) and s.host)
        else:
            found.update(slots_in(call.inputs))
    return found


def size_slots(plan: Plan) -> set[int]:
    """The slots of a plan that hang on shapes alone and lie on the host.

    Where everything lies there, those that somebody needs as plain numbers: the others are tensors like any, and a
    compiler knows what is in them.
    """
    found: set[int] = set()
    needed = _numbers_needed(plan)
    for call in plan.calls:
        node = call.node
        if node is None or node.op_def.stateful or call.takes_run or graphs_of(node):
            continue
        slots = slots_in(call.inputs)
        if SHAPE_ONLY in node.op_def.traits:
            is_needed = not call.device.is_card and not needed.isdisjoint(call.outputs)
            if plan.assignments[node].kernel.host_output or is_needed:
                found.update(call.outputs)
        elif slots and found.issuperset(slots) and not call.device.is_card:
            found.update(call.outputs)
    return found


# Which calls.


def compiles(graph: Graph | None) -> bool | None:
    """The compile setting of the function that a graph belongs to: None, True or False."""
    while graph is not None:
        if graph.compiles is not None:
            return graph.compiles
        graph = graph.outer
    return None


def counts_all(device: Device) -> bool:
    """Whether a device's ledger must see every result, as for a virtual GPU."""
    return device.account is not None and device.account.enters_all


def is_change(call: Call) -> bool:
    """Whether a call updates variables, and can update their memory as well as their cells."""
    return call.node is not None and call.node.op_def.updates and hasattr(call.function, "on_memory")


def number_places(call: Call) -> Collection[int]:
    """The inputs of a call that changes variables whose constants are plain numbers: learning rates and such."""
    found: Collection[int] = getattr(call.function, "numbers", ())
    return found


def draws_from_host(call: Call) -> bool:
    """Whether a call draws random numbers with a host-side state: a capture would freeze it."""
    if call.node is None or not call.node.op_def.draws:
        return False
    given = zip(call.node.op_def.inputs, call.inputs, strict=True)
    named = [source for arg, source in given if arg.name in call.node.op_def.card_inputs]
    return not any(isinstance(source, Slot) and not source.host for source in named)


def why_never(call: Call) -> str | None:
    """Why a call can never be in a region, whatever its inputs; None if it may be."""
    node = call.node
    if node is None:
        if call.reads is None:
            return "copies between devices"
        return _VIRTUAL if counts_all(call.device) else None
    if graphs_of(node):
        return "a branch, a loop or a function that is called"
    if draws_from_host(call):
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
    """Why a call is not in a region, as far as known before tracing; None if it can be."""
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
    rates = number_places(call)
    tensors = _flat([source for place, source in enumerate(call.inputs) if place not in rates])
    constants = [s.value for s in tensors if isinstance(s, Literal) and isinstance(s.value, torch.Tensor)]
    layouts += [layout_of(value) for value in constants]
    if None in layouts:
        return "takes or makes what is not a dense tensor"
    if any((layout.device.type != "cpu") != call.device.is_card for layout in layouts if layout is not None):
        return "takes a value from another device"
    return None


def _why_not_state(call: Call, seen: Seen) -> str | None:
    """Why an input is not a state that a region can read or update; None if it is one."""
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
        sources: Their inputs from outside: slots, and constants that are too large to inline.
        sizes: The slots of numbers that they take, known from shapes.
        kept: The slots of their results that are used outside.
        states: The slots that are states of variables, each with the representative of its variable (`Seen.states`).
        changed: The variables that they update, by representative, in the order of the sources.
        views: Those of the kept slots that may alias the memory of a variable.
    """

    calls: list[Call]
    sources: list[Slot | Literal]
    sizes: list[int]
    kept: list[int]
    states: Mapping[int, int]
    changed: list[int]
    views: set[int] = field(default_factory=set)

    def key(self, source: Slot | Literal) -> int:
        """The identity of a source: its slot or its variable's, or the identity of a constant."""
        if isinstance(source, Literal):
            return -1 - id(source.value)
        return self.states.get(source.number, source.number)

    @property
    def device(self) -> Device:
        """The device of the region."""
        return self.calls[0].device


@dataclass(eq=False)
class Division:
    """A plan's calls in execution order, regions among them, and why calls are outside of regions."""

    steps: list[Call | Region]
    reasons: dict[Call, str]

    @property
    def regions(self) -> list[Region]:
        """The regions."""
        return [step for step in self.steps if isinstance(step, Region)]


def divide(plan: Plan, seen: Seen, refused: Mapping[Call, str] | None = None) -> Division:
    """Divides a plan into regions, as large as possible, and other calls.

    Args:
        plan: The plan.
        seen: Facts from a run of it.
        refused: Calls that must stay outside, with the reasons.
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
    for is_region, numbers in _in_stages(plan.calls, inside, seen, readings, views):
        whole = set(numbers)
        for number in sorted(readings.values(), reverse=True):  # reads, in each region that uses the value
            if any(number == readings.get(slot) for n in whole for slot in slots_in(plan.calls[n].inputs)):
                whole.add(number)
        members = [plan.calls[number] for number in sorted(whole)]
        again = {plan.calls[number] for number in whole.difference(numbers)}  # in other regions as well
        region = _region(members, again, readers, returned, seen) if is_region else None
        if region is not None:
            region.views = views.intersection(region.kept)
            steps.append(region)
            continue
        steps += [call for call in members if call not in again or call not in steps]
        reasons.update({call: "nothing beside it to be compiled with" for call in members if reasons[call] is None})
    division = Division(steps, {call: reason for call, reason in reasons.items() if reason is not None})
    _keep_alike(division.regions, seen)
    return division


def _readings(calls: Sequence[Call], inside: Sequence[bool]) -> dict[int, int]:
    """The calls, by the slots they produce, that read variables in regions, or pass a read value on unchanged."""
    found: dict[int, int] = {}
    for number, call in enumerate(calls):
        if inside[number] and (call.reads is not None or (_passes_on(call) and slots_in(call.inputs)[0] in found)):
            found[call.outputs[0]] = number
    return found


def _passes_on(call: Call) -> bool:
    """Whether a call returns its first input unchanged."""
    return call.node is not None and ALIAS in call.node.op_def.traits and len(slots_in(call.inputs)) == 1


def _views(calls: Sequence[Call], readings: Mapping[int, int]) -> set[int]:
    """The slots that may alias the memory of a variable that is read in a region."""
    found = set(readings)
    for call in calls:
        node = call.node
        if node is not None and not (node.op_def.is_fresh(node) or node.op_def.updates):
            found.update(call.outputs if not found.isdisjoint(slots_in(call.inputs)) else ())
    return found


class _Readings:
    """Decides which variables are read and updated in regions: a value that is updated there must not be used outside.

    Args:
        calls: The calls of the plan.
        seen: Facts from a run.
        reasons: Why calls are outside, or None; this is what is decided.
        readers: The users of each slot.
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
        """Moves reads and updates outside until none outside conflicts with one inside."""
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
        """For each variable that is updated in regions, the number of the last call there that does so."""
        inside = [(number, call) for number, call in self._users if self._reasons[call] is None and is_change(call)]
        return {state: number for number, call in inside for state in self._seen.states_in(call)}

    def _belongs(self, call: Call, last: Mapping[int, int]) -> bool:
        """Whether a read belongs into a region: its variable is updated in one, and the value has no other use.

        Each user may then read it again, as it does not change in between.
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
        """The users of a call's result, also where it is passed on unchanged; None if the plan returns it."""
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
    """A region of some calls; None if there is too little in them, or nobody uses what they make.

    Args:
        calls: The calls.
        again: Reads of variables that other regions repeat: their results are not used outside.
        readers: The users of each slot.
        returned: The slots that the plan returns.
        seen: Facts from a run.
    """
    members = set(calls)
    made = {slot for call in calls for slot in call.outputs}
    makes = [call for call in calls if call not in again]
    kept = [s for call in makes for s in call.outputs if s in returned or not readers.get(s, set()) <= members]
    changed = dict.fromkeys(state for call in calls if is_change(call) for state in seen.states_in(call))
    if len(makes) < SHORTEST or not (kept or changed) or _only_counts(makes, seen):
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


def _only_counts(calls: Sequence[Call], seen: Seen) -> bool:
    """Whether calls are few and compute with sizes, counters and seeds alone."""
    made = [seen.layouts[slot] for call in calls for slot in call.outputs]
    return len(calls) < COUNTS and all(
        not (each.dtype.is_floating_point or each.dtype.is_complex) and each.shape.numel() <= BAKED for each in made
    )


def form_of(region: Region, seen: Seen) -> Hashable:
    """A key of regions that can share one compiled function: everything but the actual tensors."""
    where = _positions(region)
    kept = tuple([(where[slot], slot in region.views) for slot in region.kept])
    return _body_of(region, seen), kept


def _positions(region: Region) -> dict[int, tuple[int, int]]:
    """For each slot that a region produces, the call and the index of the result."""
    return {slot: (n, place) for n, call in enumerate(region.calls) for place, slot in enumerate(call.outputs)}


def _body_of(region: Region, seen: Seen) -> Hashable:
    """The same, ignoring which results are used outside."""
    given = {region.key(source): place for place, source in enumerate(region.sources)}
    where = _positions(region)

    def wired(source: Source) -> Hashable:
        if isinstance(source, Literal):
            return given[region.key(source)] if is_passed(source) else identity(source.value)
        if isinstance(source, Slot):
            if source.host:
                return "size", identity(seen.sizes[source.number])
            key = region.key(source)
            return given[key] if key in given else where[source.number]
        return type(source), tuple(map(wired, source))

    calls = [
        (_function_in(call), tuple(map(wired, call.inputs)), tuple([seen.layouts.get(slot) for slot in call.outputs]))
        for call in region.calls
    ]
    layouts = tuple([seen.layout(source) for source in region.sources])
    states = tuple([(region.key(s) in region.states, region.key(s) in region.changed) for s in region.sources])
    return tuple(calls), layouts, states, tuple([identity(seen.sizes[slot]) for slot in region.sizes])


def _keep_alike(regions: Iterable[Region], seen: Seen) -> None:
    """Makes equal regions return the same results, if few of them are unused."""
    alike: dict[Hashable, list[Region]] = {}
    for region in regions:
        alike.setdefault(_body_of(region, seen), []).append(region)
    for members in alike.values():
        if len(members) == 1:
            continue
        where = [_positions(region) for region in members]
        kept = [{known[slot] for slot in region.kept} for known, region in zip(where, members, strict=True)]
        every = set[tuple[int, int]]().union(*kept)
        if len(every) > max(map(len, kept)) + SPARE:
            continue
        views = {known[slot] for known, region in zip(where, members, strict=True) for slot in region.views}
        for region in members:
            region.kept = [region.calls[n].outputs[place] for n, place in sorted(every)]
            region.views = {region.calls[n].outputs[place] for n, place in views}


def is_passed(literal: Literal) -> bool:
    """Whether a constant is an input of a region, rather than inlined."""
    return isinstance(literal.value, torch.Tensor) and literal.value.numel() > BAKED


def _in_stages(
    calls: Sequence[Call], inside: Sequence[bool], seen: Seen, readings: Mapping[int, int], views: set[int]
) -> Iterable[tuple[bool, list[int]]]:
    """The numbers of the calls in consecutive groups: each a region's, or outside of regions.

    Reads that belong into regions are in none of them: each region has those that it uses.
    """
    stages = _stages(calls, inside, seen.states)
    groups: dict[tuple[int, bool, Device | None], list[int]] = {}
    apart = set(readings.values())
    for number, (call, stage, within) in enumerate(zip(calls, stages, inside, strict=True)):
        if number not in apart:
            groups.setdefault((stage, within, call.device if within else None), []).append(number)
    for (_, within, _), members in sorted(groups.items(), key=lambda item: item[0][:2]):
        if within and len(members) > min(WHOLE, LONGEST):
            row = _row([calls[number] for number in members], members, seen, views)
            yield from ((True, [members[place] for place in piece]) for piece in pieces(row, PIECE, LONGEST))
        else:
            yield within, members


def _row(calls: Sequence[Call], numbers: Sequence[int], seen: Seen, views: set[int]) -> Row:
    """What is known about a sequence of calls, to find equal ones.

    Args:
        calls: The calls.
        numbers: Their numbers in the plan.
        seen: Facts from a run.
        views: The slots that may alias the memory of a variable: their users do not move.
    """
    places = {number: place for place, number in enumerate(numbers)}
    maker = makers(calls)
    kinds: list[Hashable] = []
    exact: list[Hashable] = []
    takes: list[list[int]] = []
    movable: list[bool] = []
    for call in calls:
        slots = [source.number for source in _flat(call.inputs) if isinstance(source, Slot) and not source.host]
        layouts = tuple([seen.layouts.get(slot) for slot in (*slots, *call.outputs)])
        kinds.append((None if call.node is None else call.node.op_def, len(slots), layouts))
        exact.append((_function_in(call), tuple([_baked(source, seen) for source in call.inputs])))
        before = {maker[slot] for slot in slots if slot in maker}
        takes.append(sorted(before | {places[number] for number in call.after if number in places}))
        movable.append(not is_change(call) and views.isdisjoint(slots) and seen.states.keys().isdisjoint(slots))
    return Row(kinds, exact, takes, movable)


def _function_in(call: Call) -> Hashable:
    """The identity of the function that a compiler sees for a call."""
    if call.reads is not None:
        return "read"
    function: Any = call.function if is_change(call) else anew(call).function
    return call.single, identity(function.on_memory if is_change(call) else function)


def _baked(source: Source, seen: Seen) -> Hashable:
    """The part of a source that is inlined: constants and sizes, but not tensors that are inputs."""
    if isinstance(source, Literal):
        return "given" if is_passed(source) else identity(source.value)
    if isinstance(source, Slot):
        return identity(seen.sizes[source.number]) if source.host else "given"
    return type(source), tuple([_baked(each, seen) for each in source])


def _stages(calls: Sequence[Call], inside: Sequence[bool], states: Mapping[int, int]) -> list[int]:
    """For each call the first stage in which all its dependencies are available."""
    maker = makers(calls)
    stages: list[int] = []
    latest: dict[Device | None, int] = {}  # the last stage with calls in the regions of a device, or outside
    cells: dict[int, frozenset[int]] = {}  # the variables behind a slot, each by its first slot
    changed: dict[int, int] = {}  # the call that last updated a variable
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
        if is_effect:  # after everything before it
            stage = max([stage, *(last + (where is not None and where is not here) for where, last in latest.items())])
        stages.append(stage)
        latest[here] = max(latest.get(here, 0), stage)
    return stages


def _has_effect(node: Operation | None) -> bool:
    """Whether an operation has a side effect that must keep its order: it updates a variable, prints, takes a batch."""
    return node is not None and node.op_def.stateful and STATE not in node.op_def.traits and not node.op_def.draws


def anew(call: Call) -> Call:
    """A call as it is if its result must not be written over an input."""
    if call.anew is None:
        return call
    return replace(call, function=call.anew, overwrites=None, anew=None)
