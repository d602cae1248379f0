"""Inlining function calls: the plan of a function that calls others is one flat list of kernel calls.

    %1 = IteratorGetNext(%0)                          %1 = IteratorGetNext(%0)
    %3 = PartitionedCall(%1 | %2)     becomes         %5 = MatMul(%1, %2)
    %4 = OptionalFromValue(%3)                        %6 = Relu(%5)
                                                      %4 = OptionalFromValue(%6)

Later passes see through function boundaries: memory is reused across them, threads run the function's calls in parallel
with others, errors and traces name its operations, and on a GPU the training step of Keras' `fit`, which is a function
called by a function, is captured with its variables.

The inlined calls inherit the dependencies of the function call, and what depended on the call depends on all of them.
If a plan may run on several threads, the function's side effects keep their order. A call is not inlined if an
operation of its function is already in the plan with another kernel or device: a plan has one assignment per operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.function import operations_in
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import DRAWS
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.binding import host_value
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.runtime.plan.effects import in_order
from situs._src.runtime.plan.plan import Call, Literal, Plan, Slot, Source
from situs._src.runtime.run.control_flow import FunctionCall, Held


def inline_calls(plan: Plan, side_by_side: bool = False) -> Plan:
    """The plan with function calls inlined; the plan itself if there are none.

    Args:
        plan: The plan.
        side_by_side: Whether independent calls may run in parallel.
    """
    if not any(isinstance(call.function, FunctionCall) for call in plan.calls):
        return plan
    inliner = _Inliner(plan, side_by_side)
    for call in plan.calls:
        if isinstance(call.function, FunctionCall) and inliner.may_join(call.function):
            inliner.join(call, call.function)
        else:
            inliner.keep(call)
    return inliner.made()


class _Inliner:
    """A plan while it is built from another one and from those of the functions it calls."""

    def __init__(self, plan: Plan, side_by_side: bool) -> None:
        self._plan = plan
        self._side_by_side = side_by_side
        self._calls: list[Call] = []
        self._slots = plan.slots
        self._results: dict[int, Source] = {}  # of removed calls: what their slots are now
        self._numbers: list[list[int]] = []  # for each call of the plan, the calls that replace it
        self._copies: dict[tuple[int, Device], int] = {}  # values copied to a device
        self._called = {call.node for call in plan.calls if isinstance(call.function, FunctionCall)}
        self._assignments = {node: each for node, each in plan.assignments.items() if node not in self._called}
        self._placed = dict(plan.placed)
        self._changes_state, self._as_known = plan.changes_state, plan.as_known

    def may_join(self, function: FunctionCall) -> bool:
        """Whether no operation of a function has another assignment here, and no loop in it draws random numbers."""
        inner, known = function.parts[0].plan, self._assignments
        if function.draws and any(_draws(call) and isinstance(call.function, Held) for call in inner.calls):
            return False
        return all(_are_alike(known.get(node, each), each) for node, each in inner.assignments.items())

    def keep(self, call: Call) -> None:
        """Adds a call of the plan itself."""
        if call.node in self._called:
            assert call.node is not None
            self._assignments[call.node] = self._plan.assignments[call.node]
        self._numbers.append([len(self._calls)])
        inputs = [_with(source, self._results) for source in call.inputs]
        self._calls.append(replace(call, inputs=inputs, after=self._now(call.after)))
        if call.copies is not None and isinstance(inputs[0], Slot):
            self._copies.setdefault((inputs[0].number, call.device), call.outputs[0])

    def join(self, call: Call, function: FunctionCall) -> None:
        """Inlines the calls of a function."""
        inner = function.parts[0].plan
        given = [_with(source, self._results) for source in call.inputs]
        sources = dict(zip(inner.inputs, function.arguments_of(given), strict=True))
        before = self._now(call.after)
        order: list[set[int]] = []
        if self._side_by_side and inner.changes_state:
            order = in_order(inner, {slot: slot for slot in inner.inputs})
        now: list[int] = []  # the numbers of the function's calls here
        for number, each in enumerate(inner.calls):
            inputs = [_with(source, sources) for source in each.inputs]
            source = inputs[0] if each.copies is not None else None
            copied = self._copies.get((source.number, each.device)) if isinstance(source, Slot) else None
            if copied is not None:
                sources[each.outputs[0]] = Slot(copied)
                now.append(self._maker(copied))
                continue
            outputs = [self._new_slot() for _ in each.outputs]
            after = sorted({*before, *(now[other] for other in {*each.after, *(order[number] if order else ())})})
            over = None if each.overwrites is None else _number(sources[each.overwrites])
            now.append(len(self._calls))
            made = replace(each, inputs=inputs, outputs=outputs, after=after, overwrites=over)
            self._calls.append(_in_function(made, function.node) if _draws(each) else made)
            sources.update(zip(each.outputs, map(Slot, outputs), strict=True))
            if isinstance(source, Slot):
                self._copies[source.number, each.device] = outputs[0]
        self._results.update(zip(call.outputs, [_with(source, sources) for source in inner.outputs], strict=True))
        self._numbers.append(sorted({*now}) or before)
        self._assignments.update(inner.assignments)
        self._placed.update(inner.placed)
        self._changes_state |= inner.changes_state
        self._as_known &= inner.as_known

    def made(self) -> Plan:
        """The plan."""
        return replace(
            self._plan,
            calls=self._calls,
            outputs=[_with(source, self._results) for source in self._plan.outputs],
            slots=self._slots,
            assignments=self._assignments,
            changes_state=self._changes_state,
            placed=self._placed,
            as_known=self._as_known,
        )

    def _now(self, numbers: Sequence[int]) -> list[int]:
        return sorted({now for number in numbers for now in self._numbers[number]})

    def _maker(self, slot: int) -> int:
        return next(number for number, call in enumerate(self._calls) if slot in call.outputs)

    def _new_slot(self) -> int:
        self._slots += 1
        return self._slots - 1


def _draws(call: Call) -> bool:
    return call.node is not None and any(DRAWS in node.op_def.traits for node in operations_in(call.node))


def _in_function(call: Call, caller: Operation) -> Call:
    """A call that draws random numbers, with the streams of the operation that called its function."""
    function = call.function
    return replace(call, function=lambda run, *values: function(run.inside(caller), *values))


def _are_alike(one: Assignment, other: Assignment) -> bool:
    return one is other or (one.device is other.device and one.kernel is other.kernel)


def _with(source: Source, known: Mapping[int, Source]) -> Source:
    """A source with some slots replaced by others, or by known values."""
    if isinstance(source, Slot):
        found = known.get(source.number, source)
        if source.host and isinstance(found, Slot):
            return Slot(found.number, host=True)
        if source.host and isinstance(found, Literal):
            return Literal(host_value(to_numpy_value(found.value)))
        return found
    if isinstance(source, Literal):
        return source
    return type(source)([_with(each, known) for each in source])


def _number(source: Source) -> int:
    assert isinstance(source, Slot)  # an overwritten value was made by a call
    return source.number
