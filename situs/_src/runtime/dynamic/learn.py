"""Measured costs out of a recorded run.

    events of the run  ->  shapes of all results       of inputs too, so that every call has a key
                       ->  times by kind and key       into the store

Updates of many variables are one call (`runtime.passes.fuse_updates`), which is recorded under the last of them: its
time is shared out among them by their bytes.

A call lets go of what it was the last to use, which takes time too, after it has returned:

    | MatMul         | free | Relu   | free |        a call takes until the next one of its thread begins
                                                   but no more than it should: the thread may have waited
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import kind_of
from situs._src.placement.costs.model import MEASURED, Cost
from situs._src.placement.costs.store import CostStore
from situs._src.placement.costs.work import tensor_bytes, work_of
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run.trace import Event
from situs._src.runtime.symbolic.reinfer import with_shapes

NANO = 1e-9
CLEANUP, CLEANUP_SHARE = 2e-5, 0.25  # seconds, and the share of a call, that may be counted to it after its end
Shapes = Mapping[SymbolicTensor, TensorShape]


@dataclass
class Learned:
    """What a run has taught: shapes of tensors, and times of operations that hold graphs, by name and kind."""

    shapes: dict[SymbolicTensor, TensorShape] = field(default_factory=dict)
    held: dict[tuple[str, str], Cost] = field(default_factory=dict)


def learn(events: Sequence[Event], plan: Plan, store: CostStore, fed: Shapes | None = None) -> Learned:
    """Enters what a recorded run took into a store.

    Args:
        events: What was recorded.
        plan: The plan that ran.
        store: Where the times go.
        fed: The shapes of what was fed.
    """
    found = Learned(dict(fed or {}))
    for event in events:
        for tensor, (shape, dtype, _) in zip(_made(event), event.results, strict=False):
            if dtype:  # a value, not a cell or a queue
                found.shapes[tensor] = TensorShape(shape)
    ran = {event.call.node: event for event in events if event.call.node is not None}
    taken = _seconds(events)
    known = with_shapes(list(plan.placed), found.shapes)
    for node, event in ran.items():
        seconds, kind = taken[id(event)], kind_of(event.call.device)
        if graphs_of(node):
            found.held[node.name, kind] = Cost(seconds, MEASURED, time.time())
            continue
        members = [node, *_joined(node, plan, ran)]
        sizes = [max(1, sum(map(tensor_bytes, known.get(each, each).inputs))) for each in members]
        for member, size in zip(members, sizes, strict=True):
            seen = known.get(member, member)
            key = key_of(seen)
            work = work_of(seen)
            if key is not None and work.calls:
                store.note(kind, key, work, seconds * size / sum(sizes))
    return found


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
