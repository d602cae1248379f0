"""Measured costs out of a recorded run.

    events of the run  ->  shapes of all results       of inputs too, so that every call has a key
                       ->  times by kind and key       into the store

Updates of many variables are one call (`runtime.passes.fuse_updates`), which is recorded under the last of them: its
time is shared out among them by their bytes.

A call lets go of what it was the last to use, which takes time too, after it has returned:

    | MatMul         | free | Relu   | free |        a call takes until the next one of its thread begins
                                                   but no more than it should: the thread may have waited

Calls that are timed one by one take longer than in a step that nobody looks at: a card is waited for after each, steps
are captured and compiled, results lie in the cache. Where the time of the whole step is known as well, what calls took
is brought down (or up) to it, if one processor has done all of it:

    one by one     [a ..][b ..][c ..]      on a card each call gives up as much: launching it, and waiting for it
    in a row       [a][b][c]               on the host each gives up the same share

How much that was is kept for the kind of device (`costs.store.Pace`), and holds for calls of which no whole is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from situs._src.base.devices.logical import Device
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import kind_of, processor_of
from situs._src.placement.costs.model import MEASURED, Cost
from situs._src.placement.costs.store import CostStore, Pace
from situs._src.placement.costs.work import tensor_bytes, work_of
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run.trace import Event
from situs._src.runtime.symbolic.reinfer import with_shapes

NANO = 1e-9
MOST = 3.0  # times as long as by themselves: what calls in a row are believed to take at most
CLEANUP, CLEANUP_SHARE = 2e-5, 0.25  # seconds, and the share of a call, that may be counted to it after its end
Shapes = Mapping[SymbolicTensor, TensorShape]


@dataclass
class Learned:
    """What a run has taught: shapes of tensors, and times of operations that hold graphs, by name and kind."""

    shapes: dict[SymbolicTensor, TensorShape] = field(default_factory=dict)
    held: dict[tuple[str, str], Cost] = field(default_factory=dict)


def learn(
    events: Sequence[Event], plan: Plan, store: CostStore, fed: Shapes | None = None, whole: float | None = None
) -> Learned:
    """Enters what a recorded run took into a store.

    Args:
        events: What was recorded.
        plan: The plan that ran.
        store: Where the times go.
        fed: The shapes of what was fed.
        whole: How many seconds such a run takes when it is not recorded, if that is known.
    """
    found = Learned(shapes_of(events, fed))
    taken = _seconds(events)
    known = with_shapes(list(plan.placed), found.shapes)
    ran = {event.call.node: event for event in events if event.call.node is not None}
    costly = [event for node, event in ran.items() if graphs_of(node) or work_of(known.get(node, node)).calls]
    if whole is not None:
        others = sum(seconds for number, seconds in taken.items() if number not in {id(event) for event in costly})
        _note_pace([(event.call.device, taken[id(event)]) for event in costly], whole - others, store)
    for event in costly:
        node, kind = event.call.node, kind_of(event.call.device)
        assert node is not None, "what is costly is an operation"
        seconds = store.pace(kind).of(taken[id(event)])
        if graphs_of(node):
            found.held[node.name, kind] = Cost(seconds, MEASURED, time.time())
            continue
        members = [node, *_joined(node, plan, ran)]
        sizes = [max(1, sum(map(tensor_bytes, known.get(each, each).inputs))) for each in members]
        for member, size in zip(members, sizes, strict=True):
            seen = known.get(member, member)
            key = key_of(seen)
            if key is not None:
                store.note(kind, key, work_of(seen), seconds * size / sum(sizes))
    return found


def shapes_of(events: Sequence[Event], fed: Shapes | None = None) -> dict[SymbolicTensor, TensorShape]:
    """The shapes of what a recorded run was fed and has made."""
    found = dict(fed or {})
    for event in events:
        for tensor, (shape, dtype, _) in zip(_made(event), event.results, strict=False):
            if dtype:  # a value, not a cell or a queue
                found[tensor] = TensorShape(shape)
    return found


def _note_pace(calls: Sequence[tuple[Device, float]], whole: float, store: CostStore) -> None:
    """Notes how calls go in a row, if one processor has made all of them; others may have gone on side by side."""
    kinds = {(processor_of(device), kind_of(device)) for device, _ in calls}
    times = [seconds for _, seconds in calls]
    if len(kinds) != 1 or whole <= 0 or not sum(times):
        return
    per_call, share = pace_of(times, whole, calls[0][0].is_card)
    store.note_pace(kinds.pop()[1], per_call, share)


def pace_of(times: Sequence[float], whole: float, is_card: bool) -> tuple[float, float]:
    """What each of some calls takes less, and the share of the rest that is left, for them to take `whole` together.

    >>> pace_of([3.0, 1.0], 3.0, is_card=False)
    (0.0, 0.75)
    >>> per_call, share = pace_of([3.0, 1.0], 3.0, is_card=True)
    >>> round(per_call, 6), round(share, 6)
    (0.5, 1.0)
    """
    low, high = 0.0, max(times) if is_card and whole < sum(times) else 0.0
    for _ in range(40):
        middle = (low + high) / 2
        if sum(map(Pace(middle).of, times)) > whole:
            low = middle
        else:
            high = middle
    left = sum(map(Pace(high).of, times))
    return high, min(MOST, whole / left)


def _seconds(events: Sequence[Event]) -> dict[int, float]:
    """How long each call took, by the identity of its event, with what it left to be done after it."""
    found: dict[int, float] = {}
    last: dict[int, Event] = {}  # by thread
    for event in sorted(events, key=lambda each: each.start):
        before = last.get(event.thread)
        if before is not None:
            after = (event.start - before.end) * NANO
            found[id(before)] += min(max(0.0, after), CLEANUP + CLEANUP_SHARE * found[id(before)])
        found[id(event)] = (event.end - event.start) * NANO
        last[event.thread] = event
    return found


def _made(event: Event) -> Iterable[SymbolicTensor]:
    call = event.call
    if call.node is not None:
        return call.node.outputs
    return call.reads.outputs if call.reads is not None else ()


def _joined(node: Operation, plan: Plan, ran: Mapping[Operation, Event]) -> list[Operation]:
    """The updates that were made together with one: of the same op, on its device, and not called themselves."""
    if not node.op_def.updates:
        return []
    where = plan.placed[node].device
    return [
        other
        for other, assignment in plan.placed.items()
        if other.op_def is node.op_def and other not in ran and assignment.device is where
    ]
