"""Which calls of a plan can be compiled together, one region a device, and why each other call cannot.

    CPU:0   %2 = read %0                    stage 0, outside: it reads a variable
    CPU:0   %3 = MatMul(%1, %2)             stage 0, region 1
    CPU:0   %4 = RandomUniform()            stage 0, outside: it draws random numbers
    CPU:0   %5 = Mul(%3, %4)                stage 0, region 1
    CPU:0   %6 = Unique(%5)                 stage 1, outside: it looks at values
    CPU:0   %7 = Cast(%6)                   stage 1, region 2
    CPU:0   %8 = AssignSub(%0, %5)          stage 1, outside: it changes a variable

A region holds pure calls: functions of dense tensors on one device, and of sizes. So it can always be left out and
its calls made one by one, with the same results and Situs' own errors. What has state, draws random numbers, copies
between devices, holds graphs or needs values on the host stays a call of its own.

Every call goes into the first *stage* it can be in. In a stage the calls outside of regions come first, in the order
of the plan, then one region a device. What changes a variable, or has another effect, comes after all calls that stood
before it in the plan, so a use of an old value never moves behind it; reading a variable never moves before what
changes it.

What is known of values comes from a run (`Seen`): shapes, strides and dtypes, and numbers that hang on shapes alone.
They are what a region is compiled for. Nothing here knows a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import SHAPE_ONLY, STATE
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

    Attributes:
        layouts: Of the slots that held dense tensors.
        sizes: The values of the slots that hang on shapes alone, as host inputs take them.
    """

    def __init__(self, plan: Plan, as_host_value: Callable[[Any], Any]) -> None:
        self.layouts: dict[int, Layout] = {}
        self.sizes: dict[int, Any] = {}
        self._size_slots = size_slots(plan)
        self._as_host_value = as_host_value

    def note(self, slots: Iterable[int], values: Iterable[Any]) -> None:
        """Notes the values of slots."""
        for slot, value in zip(slots, values, strict=True):
            layout = layout_of(value)
            if layout is not None:
                self.layouts[slot] = layout
            if slot in self._size_slots:
                self.sizes[slot] = self._as_host_value(value)

    def layout(self, source: Slot | Literal) -> Layout:
        """The layout of what a region takes."""
        found = layout_of(source.value) if isinstance(source, Literal) else self.layouts[source.number]
        assert found is not None
        return found

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """What `emit` puts around each call to note its results."""

        def noted(*values: Any) -> Any:
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


def why_never(call: Call) -> str | None:
    """Why a call can never be in a region, whatever it is given; None if it may be."""
    node = call.node
    if node is None:
        return "reads a variable" if call.reads is not None else "copies between devices"
    if graphs_of(node):
        return "a branch, a loop or a function that is called"
    if node.op_def.draws:
        return "draws random numbers"
    if STATE in node.op_def.traits:
        return "a variable"
    if node.op_def.updates:
        return "changes a variable"
    if node.op_def.stateful or call.takes_run:
        return "has state or an effect"
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
    layouts = [seen.layouts.get(slot) for slot in (*values, *call.outputs)]
    layouts += [layout_of(s.value) for s in sources if isinstance(s, Literal) and isinstance(s.value, torch.Tensor)]
    if None in layouts:
        return "takes or makes what is not a dense tensor"
    if any((layout.device.type != "cpu") != call.device.is_card for layout in layouts if layout is not None):
        return "takes a value from another device"
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
    """

    calls: list[Call]
    sources: list[Slot | Literal]
    sizes: list[int]
    kept: list[int]

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
    inside = [reasons[call] is None for call in plan.calls]
    readers: dict[int, set[Call]] = {}
    for call in plan.calls:
        for slot in slots_in(call.inputs):
            readers.setdefault(slot, set()).add(call)
    returned = set(slots_in(plan.outputs))
    steps: list[Call | Region] = []
    for is_region, members in _in_stages(plan.calls, inside):
        region = _region(members, readers, returned) if is_region else None
        if region is not None:
            steps.append(region)
            continue
        steps += members
        reasons.update({call: "nothing beside it to be compiled with" for call in members if reasons[call] is None})
    return Division(steps, {call: reason for call, reason in reasons.items() if reason is not None})


def _region(calls: list[Call], readers: Mapping[int, set[Call]], returned: set[int]) -> Region | None:
    """A region of some calls; None if there are too few of them, or nobody uses what they make."""
    members = set(calls)
    made = {slot for call in calls for slot in call.outputs}
    kept = [s for call in calls for s in call.outputs if s in returned or not readers.get(s, set()) <= members]
    if len(calls) < SHORTEST or not kept:
        return None
    sources: dict[int, Slot | Literal] = {}
    sizes: dict[int, None] = {}
    for source in _flat([each for call in calls for each in call.inputs]):
        if isinstance(source, Literal):
            if is_passed(source):
                sources.setdefault(-1 - id(source.value), source)
        elif source.host:
            sizes[source.number] = None
        elif source.number not in made:
            sources.setdefault(source.number, source)
    return Region(calls, list(sources.values()), list(sizes), kept)


def is_passed(literal: Literal) -> bool:
    """Whether a constant is given to a region, rather than made part of its code."""
    return isinstance(literal.value, torch.Tensor) and literal.value.numel() > BAKED


def _in_stages(calls: Sequence[Call], inside: Sequence[bool]) -> Iterable[tuple[bool, list[Call]]]:
    """The calls in groups that may follow each other: each a region's or outside of regions."""
    stages = _stages(calls, inside)
    groups: dict[tuple[int, bool, Device | None], list[Call]] = {}
    for call, stage, within in zip(calls, stages, inside, strict=True):
        groups.setdefault((stage, within, call.device if within else None), []).append(call)
    for (_, within, _), members in sorted(groups.items(), key=lambda item: item[0][:2]):
        length = LONGEST if within else len(members)
        for start in range(0, len(members), length):
            yield within, members[start : start + length]


def _stages(calls: Sequence[Call], inside: Sequence[bool]) -> list[int]:
    """For each call the first stage in which everything it waits for is there."""
    maker = makers(calls)
    stages: list[int] = []
    over = 0  # the stage in which all calls so far are over
    cells: dict[int, frozenset[int]] = {}  # the variables behind a slot, each by its first slot
    changed: dict[int, int] = {}  # the stage in which a variable was changed last
    for number, call in enumerate(calls):
        stage = 0
        for other in waits_for(call, maker):
            leaves = inside[other] and not (inside[number] and calls[other].device is call.device)
            stage = max(stage, stages[other] + leaves)
        if call.reads is not None or _has_effect(call.node):
            touched = {cell for slot in slots_in(call.inputs) for cell in cells.get(slot, (slot,))}
            stage = max([stage, *(changed.get(cell, 0) for cell in touched)])
            if call.reads is None:
                stage = max(stage, over)
                changed.update(dict.fromkeys(touched, stage))
                cells.update(dict.fromkeys(call.outputs, frozenset(touched)))
        stages.append(stage)
        over = max(over, stage + inside[number])
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
