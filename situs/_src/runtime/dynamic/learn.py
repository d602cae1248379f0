"""Measured costs from a recorded run.

    events of the run  ->  shapes of all results       of inputs too, so that every call has a key
                       ->  times by kind and key       into the store

Updates of many variables are one call (`runtime.passes.fuse_updates`), which is recorded under the last of them: its
time is divided among them by their bytes.

A call frees values that it was the last to use, which takes time too, after it has returned:

    | MatMul         | free | Relu   | free |        a call lasts until the next one of its thread begins
                                                   but at most a limit: the thread may have waited

Calls that are timed one by one take longer than in an undisturbed step: the GPU is synchronized after each, steps are
captured and compiled, results are in the cache. If the time of the whole step is known as well, the times of the calls
are scaled to it, if one processor has done all of it:

    one by one     [a ..][b ..][c ..]      on a GPU the same time is subtracted per call: its synchronization
    in a row       [a][b][c]               on the host each is scaled by the same factor

A GPU call takes host time too, until it is launched. A step that is captured as a CUDA graph tells the GPU time of its
calls; one that is not, and that is bound by the host, tells their host time.

    captured       host [.]                        not captured     host [launch a][launch b][launch c]
                   GPU     [a][b][c]                                GPU            [a]       [b]       [c]

The calls that share a step's time are those that a prediction counts (`placement.assembly`): not views, not sizes. The
rest is attributed to them, so that the prediction for the same step is what it took. The factor is stored per kind of
device (`costs.store.Pace`), and used for calls whose step was not timed as a whole.

For a step that was recorded several times, each call has the median of its times, and each key the mean of its calls:
sums of these are sums of steps, which sums of medians of noisy times are not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from situs._src.base.devices.logical import Device
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import SIZE_ARITHMETIC, VIEW
from situs._src.placement.assembly import VIEW_SECONDS
from situs._src.placement.costs.key import Key, key_of
from situs._src.placement.costs.kinds import kind_of, processor_of
from situs._src.placement.costs.model import MEASURED, Cost, CostModel
from situs._src.placement.costs.store import CostStore, Pace, ordering_of
from situs._src.placement.costs.work import Work, tensor_bytes, work_of
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.plan.plan import Call, Plan, makers, slots_in
from situs._src.runtime.run.program import Way
from situs._src.runtime.run.trace import Event
from situs._src.runtime.symbolic.reinfer import with_shapes

NANO = 1e-9
MOST = 3.0  # times as long as alone: a bound for calls in a row
HOSTS = 0.5  # of a step: the least share of the host's calls for a step shared with a GPU to be informative
CLEANUP, CLEANUP_SHARE = 2e-5, 0.25  # seconds, and the share of a call, that may be added after its end
Shapes = Mapping[SymbolicTensor, TensorShape]


@dataclass
class Learned:
    """What was learned from a run: shapes of tensors, and times of control-flow operations, by name and kind."""

    shapes: dict[SymbolicTensor, TensorShape] = field(default_factory=dict)
    held: dict[tuple[str, str], Cost] = field(default_factory=dict)


def learn(
    runs: Sequence[Sequence[Event]],
    plan: Plan,
    store: CostStore,
    fed: Shapes | None = None,
    whole: float | None = None,
    way: Way = Way.STRAIGHT,
) -> Learned:
    """Enters the costs of recorded runs of a plan into a store.

    Args:
        runs: The recorded runs, at least one.
        plan: The plan that ran.
        store: The cost store.
        fed: The shapes of the feeds.
        whole: The seconds of such a run when it is not recorded, if known.
        way: How it runs then.
    """
    events = runs[-1]
    found = Learned(shapes_of(events, fed))
    taken = _taken(runs)
    known = with_shapes(list(plan.placed), found.shapes)
    ran = {event.call.node: event for event in events if event.call.node is not None}
    costly = [event for node, event in ran.items() if graphs_of(node) or work_of(known.get(node, node)).calls]
    counted = {event.call for event in costly if _counts(event, taken[event.call].seconds)}
    mixed: Pace | None = None
    if whole is not None:
        maker = makers(plan.calls)
        copied = sum(_copy_seconds(event, taken[event.call], plan, maker, store) for event in events)
        calls = [(event.call.device, taken[event.call]) for event in costly if event.call in counted]
        _note_pace(calls, whole - copied, store, way)
        mixed = _pace_beside_a_card(calls, whole - copied, store)
    noted: dict[tuple[str, Key], list[tuple[Work, Taken]]] = {}
    called: set[Operation] = set()
    for event in costly:
        node, kind = event.call.node, kind_of(event.call.device)
        assert node is not None, "what is costly is an operation"
        raw = taken[event.call]
        pace = mixed if mixed is not None and not event.call.device.is_card else store.pace(kind)
        seconds, ordering = pace.of(raw.seconds) if event.call in counted else 0.0, raw.ordering
        if graphs_of(node):
            share = store.pace(ordering_of(kind)).share
            found.held[node.name, kind] = Cost(seconds, MEASURED, time.time(), ordering=ordering * share)
            continue
        members = [node, *_joined(node, plan, ran)]
        called.update(members)
        sizes = [max(1, sum(map(tensor_bytes, known.get(each, each).inputs))) for each in members]
        for member, size in zip(members, sizes, strict=True):
            seen = known.get(member, member)
            key = key_of(seen)
            if key is not None:
                part = size / sum(sizes)
                noted.setdefault((kind, key), []).append((work_of(seen), Taken(seconds * part, ordering * part)))
    for node, assignment in plan.placed.items():  # what was folded at planning takes no time
        seen = known.get(node, node)
        key = None if node in called or node in ran or graphs_of(node) or not work_of(seen).calls else key_of(seen)
        if key is not None:
            noted.setdefault((kind_of(assignment.device), key), []).append((work_of(seen), Taken(0.0)))
    for (kind, key), all_of_it in noted.items():
        seconds = fmean(each.seconds for _, each in all_of_it)
        store.note(kind, key, all_of_it[-1][0], seconds, fmean(each.ordering for _, each in all_of_it))
    return found


@dataclass(frozen=True)
class Taken:
    """The time of a call: on its device, and on the host to launch it, if it runs on a GPU."""

    seconds: float
    ordering: float = 0.0


def _taken(runs: Sequence[Sequence[Event]]) -> dict[Call, Taken]:
    """The times of each call in some runs: medians."""
    seconds: dict[Call, list[float]] = {}
    ordering: dict[Call, list[float]] = {}
    for events in runs:
        of_event = _seconds(events)
        for event in events:
            ordered = (event.ordered - event.start) * NANO if event.call.device.is_card and event.ordered else 0.0
            ordering.setdefault(event.call, []).append(ordered)
            seconds.setdefault(event.call, []).append(max(0.0, of_event[id(event)] - ordered))
    return {call: Taken(median(each), median(ordering[call])) for call, each in seconds.items()}


def _counts(event: Event, seconds: float) -> bool:
    """Whether a prediction counts a call: views and sizes do not count."""
    node = event.call.node
    assert node is not None, "what is costly is an operation"
    traits = node.op_def.traits
    if SIZE_ARITHMETIC in traits and all(tensor.dtype.is_integer for tensor in node.outputs):
        return seconds > VIEW_SECONDS
    return VIEW not in traits or seconds > VIEW_SECONDS


def _copy_seconds(event: Event, taken: Taken, plan: Plan, maker: Mapping[int, int], store: CostStore) -> float:
    """The time of a copy according to its link, as a prediction has it; if unknown, what it took."""
    call = event.call
    if call.copies is None:
        return 0.0
    made = maker.get(slots_in(call.inputs)[0])
    source = host() if made is None else plan.calls[made].device  # no producer: it was fed
    link = CostModel(store).link(source, call.device)
    size = sum(size for _, _, size in event.results)
    return link.seconds(size) if link.source == MEASURED else taken.seconds + taken.ordering


def shapes_of(events: Sequence[Event], fed: Shapes | None = None) -> dict[SymbolicTensor, TensorShape]:
    """The shapes of the feeds and results of a recorded run."""
    found = dict(fed or {})
    for event in events:
        for tensor, (shape, dtype, _) in zip(_made(event), event.results, strict=False):
            if dtype:  # a value, not a cell or a queue
                found[tensor] = TensorShape(shape)
    return found


def _note_pace(calls: Sequence[tuple[Device, Taken]], whole: float, store: CostStore, way: Way) -> None:
    """Records the pace of calls in a row, if one processor has run all of them; others may have run in parallel."""
    kinds = {(processor_of(device), kind_of(device)) for device, _ in calls}
    times = [each.seconds for _, each in calls]
    if len(kinds) != 1 or whole <= 0 or not sum(times):
        return
    kind, is_card = kinds.pop()[1], calls[0][0].is_card
    if not is_card or way is Way.CAPTURED:
        store.note_pace(kind, *pace_of(times, whole, is_card))
        return
    ordering = sum(each.ordering for _, each in calls)
    if ordering and sum(map(store.pace(kind).of, times)) < whole:  # bound by the host
        store.note_pace(ordering_of(kind), 0.0, min(MOST, whole / ordering))


def _pace_beside_a_card(calls: Sequence[tuple[Device, Taken]], whole: float, store: CostStore) -> Pace | None:
    """The pace of the host's calls in a step that it shares with a GPU, if most of the step is the host's; else None.

    Next to a GPU fewer of them run in parallel than in a step of the host alone: they take what the GPU leaves of the
    step, but no more than each by itself.
    """
    cards = [(device, each) for device, each in calls if device.is_card]
    own = [(device, each) for device, each in calls if not device.is_card]
    if not cards or not own:
        return None
    known = store.pace(kind_of(own[0][0]))
    alone = sum(each.seconds for _, each in own)
    left = whole - sum(store.pace(kind_of(device)).of(each.seconds) for device, each in cards)
    if not alone or known.share * alone < HOSTS * whole:
        return None
    return Pace(0.0, min(max(known.share, left / alone), max(1.0, known.share)))


def pace_of(times: Sequence[float], whole: float, is_card: bool) -> tuple[float, float]:
    """The time to subtract from each call, and the factor for the rest, so that they take `whole` together.

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
    """The duration of each call, by the identity of its event, including the clean-up after it."""
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
    """The updates that were fused with one: of the same op, on its device, and not called themselves."""
    if not node.op_def.updates:
        return []
    where = plan.placed[node].device
    return [
        other
        for other, assignment in plan.placed.items()
        if other.op_def is node.op_def and other not in ran and assignment.device is where
    ]
