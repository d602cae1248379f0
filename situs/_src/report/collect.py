"""Recording events while a program runs.

    kernels, copies, runs, traces  --->  hub  --->  a Collector for each open report
    (runtime.watch)                                   the first HEAD and the last TAIL events, in full
                                                      totals of all events by (op, devices, line)

The hub is the only watcher of the process while a report is open, and is removed afterwards: a program without a report
pays nothing. An event is recorded in the thread in which it happens. The producer of each tensor is kept in a weak map
by identity, so that an event knows which events it depended on. GPUs are never synchronized: CUDA events on their
streams tell when work began and ended (`card_clock`), and it is recorded once it has completed. A captured CUDA graph
is a single event on its GPU: running it call by call would update its variables in other memory, and force another
capture.

Memory stays bounded: events between the first and the last ones are counted only in the totals, and the report says how
many these are.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.origin import origin
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import CALLS_PYTHON, COLLECTIVE
from situs._src.placement.candidates import Assignment
from situs._src.report.card_clock import Later, Span
from situs._src.report.graphs import GraphData, graph_of, line_text, title_of
from situs._src.runtime import watch
from situs._src.runtime.eager.bridge import home_of, host
from situs._src.runtime.plan.plan import Call, Plan, makers, waits_for
from situs._src.runtime.run import trace
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.trace import Began, Recorder, now, stamp

HEAD = TAIL = 20_000  # events kept in full
SUMS = 20_000  # rows; what comes after these is summed by op and devices alone
NODES = 60_000  # of all graphs together
ROWS = 2_000  # soft placements, refusals, traces

# What an event is.
LONG_NOTING = 1_000_000  # nanoseconds
OP, COPY, COLLECTIVE_OP, HOST_CALL, RUN, TRACE = KINDS = ("op", "copy", "collective", "host call", "run", "trace")


class Event(NamedTuple):
    """Something that took time. Times are nanoseconds of the system's clock."""

    number: int
    kind: str
    name: str  # of the operation, the tensor that is copied, the function
    op: str
    device: str  # short; empty for what the host does: runs and traces
    source: str  # of a copy, where it comes from
    thread: int
    start: int
    end: int
    size: int  # bytes of its results
    line: str
    why: str
    result: str  # dtypes and shapes of the results
    waits: tuple[int, ...]  # the numbers of the events that made its inputs
    graph: int = -1
    node: int = -1


@dataclass
class Sum:
    """All events of one op, on one device, at one line."""

    count: int = 0
    time: int = 0
    longest: int = 0
    size: int = 0


class Decision(NamedTuple):
    """A placement that is not what the program asked for."""

    kind: str  # soft, or refused
    what: str
    requested: str
    device: str
    reason: str
    line: str


class Trace(NamedTuple):
    """A graph that was made of a function."""

    function: str
    reason: str
    nodes: int
    start: int
    end: int
    line: str


@dataclass
class Compiled:
    """How the operations of a graph run that is, or was to be, compiled."""

    graph: int
    ways: list[tuple[str, str]] = field(default_factory=list)  # an operation, and how


class Collector:
    """Everything that one report has noted.

    Args:
        head: How many of the first events are kept.
        tail: How many of the last.
        on_many: Called whenever `many` more events have been noted.
        many: How many these are.
    """

    def __init__(
        self, head: int = HEAD, tail: int = TAIL, on_many: Callable[[], None] | None = None, many: int = 0
    ) -> None:
        self._on_many, self._many = on_many, many
        self.lock = locks.lock()
        self.head_size = head
        self.head: list[Event] = []
        self.tail: deque[Event] = deque(maxlen=tail)
        self.count = 0
        self.sums: dict[tuple[str, str, str, str, str], Sum] = {}
        self.graphs: list[GraphData] = []
        self.graphs_left_out = 0
        self.decisions: dict[Decision, int] = {}
        self.traces: list[Trace] = []
        self.traces_left_out = 0
        self.programs: WeakKeyDictionary[Plan, int] = WeakKeyDictionary()
        self.compiled: dict[int, Compiled] = {}
        self.threads: dict[int, str] = {}
        self.runs = 0
        self.noting: deque[tuple[int, int]] = deque(maxlen=tail)  # when the report itself kept the program waiting
        self._nodes = 0

    @property
    def events(self) -> list[Event]:
        """The events that were kept, in the order in which they ended."""
        with self.lock:
            return [*self.head, *self.tail]

    @property
    def left_out(self) -> int:
        """How many events are in the sums alone."""
        return self.count - len(self.head) - len(self.tail)

    def add(self, event: Event) -> None:
        """Notes an event."""
        with self.lock:
            self.count += 1
            if len(self.head) < self.head_size:
                self.head.append(event)
            else:
                self.tail.append(event)
            key = (event.kind, event.op, event.device, event.source, event.line)
            if len(self.sums) >= SUMS and key not in self.sums:
                key = (*key[:4], "")
            total = self.sums.setdefault(key, Sum())
            took = event.end - event.start
            total.count += 1
            total.time += took
            total.longest = max(total.longest, took)
            total.size += event.size
            if event.thread not in self.threads:
                names = {thread.ident: thread.name for thread in threading.enumerate()}
                self.threads[event.thread] = names.get(event.thread, "")
            is_many = self._on_many is not None and self.count % self._many == 0
        if is_many and self._on_many is not None:
            self._on_many()

    def decide(self, decision: Decision) -> None:
        """Notes a placement that the program did not ask for."""
        with self.lock:
            if decision in self.decisions or len(self.decisions) < ROWS:
                self.decisions[decision] = self.decisions.get(decision, 0) + 1

    def trace(self, trace: Trace) -> None:
        """Notes that a graph was made."""
        with self.lock:
            if len(self.traces) < ROWS:
                self.traces.append(trace)
            else:
                self.traces_left_out += 1

    def graph_of(self, plan: Plan) -> int:
        """The number of a plan's graph; -1 if there is no room for it."""
        with self.lock:
            found = self.programs.get(plan)
            if found is None:
                if self._nodes + len(plan.placed) > NODES:
                    found = -1
                    self.graphs_left_out += 1
                else:
                    made = graph_of(plan)
                    self._nodes += len(made.nodes)
                    found = len(self.graphs)
                    self.graphs.append(made)
                self.programs[plan] = found
            return found


class _PlanFacts(NamedTuple):
    """What is the same in every run of a plan."""

    number_of: dict[Call, int]
    waits: list[set[int]]
    device: Device  # that most of its calls are on


class _WholeRecorder(Recorder):
    """Records a run, and when the device of most of its calls came to it."""

    def __init__(self, device: Device) -> None:
        super().__init__(waits=False)
        self.began = Began(now(), stamp(device))


class Hub:
    """The watcher: makes events of what it is told, for all reports that are open."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._collectors: tuple[Collector, ...] = ()
        self._numbers = itertools.count()
        self._made: dict[int, tuple[ref[torch.Tensor], int]] = {}  # who made a tensor, by its identity
        self._plans: WeakKeyDictionary[Plan, _PlanFacts] = WeakKeyDictionary()
        self._later = Later()

    def open(self, collector: Collector) -> None:
        """Tells a collector from now on."""
        with self._lock:
            is_first = not self._collectors
            self._collectors = (*self._collectors, collector)
            if is_first:
                watch.install(self)

    def close(self, collector: Collector) -> None:
        """Tells a collector no more, when all that it is to know is over."""
        self._later.settle()
        with self._lock:
            self._collectors = tuple(each for each in self._collectors if each is not collector)
            if not self._collectors:
                watch.install(None)
                self._made = {}

    def leave(self) -> None:
        """In a child process: the reports are its parent's."""
        self._collectors, self._made = (), {}
        self._later.forget()
        watch.watcher = None

    # Eager code.

    def kernel(self, run: watch.Function, op: Op, assignment: Assignment) -> watch.Function:
        """The function of an eager step, with a clock around it."""
        device = assignment.device
        kind = kind_of(op)
        soft = assignment.kind == "soft"

        def timed(*values: Any, **attrs: Any) -> Any:
            start, began = now(), stamp(device)
            made = run(*values, **attrs)
            span = Span(device, start, now(), began, stamp(device))
            line = line_text(origin())
            results = [value for value in _flat(made) if isinstance(value, torch.Tensor)]
            waits = tuple(dict.fromkeys(self._makers(values)))
            where = device.short_name
            number = next(self._numbers)
            size, text = sum(value.nbytes for value in results), _results(results)
            self._note(
                Event(
                    number, kind, op.name, op.name, where, "", threading.get_ident(), 0, 0, size, line,
                    assignment.reason, text, waits,
                ),
                span,
            )  # fmt: skip
            if soft:
                self._decide(Decision("soft", op.name, assignment.requested, where, assignment.detail, line))
            for value in results:
                self._remember(value, number)
            return made

        return timed

    def copy(self, copy: watch.Function, source: Device, target: Device) -> watch.Function:
        """The function that copies an input, with a clock around it."""

        card = target if target.is_card else source

        def timed(value: Any) -> Any:
            start, began = now(), stamp(card)
            made = copy(value)
            span = Span(card, start, now(), began, stamp(card))
            number = next(self._numbers)
            text = _results([made])
            self._note(
                Event(
                    number, COPY, text or "copy", "Copy", target.short_name, source.short_name, threading.get_ident(),
                    0, 0, int(getattr(made, "nbytes", 0)), line_text(origin()),
                    f"an op on {target.short_name} takes what lies on {source.short_name}", text,
                    tuple(self._makers((value,))),
                ),
                span,
            )  # fmt: skip
            if isinstance(made, torch.Tensor):
                self._remember(made, number)
            return made

        return timed

    def update(self, change: watch.Function, op: Op, device: Device) -> watch.Function:
        """The function by which an optimizer changes variables, with a clock around it."""

        def timed(cells: Sequence[Sequence[Any]], grads: Sequence[Any], *rest: Any) -> None:
            start, began = now(), stamp(device)
            change(cells, grads, *rest)
            span = Span(device, start, now(), began, stamp(device))
            many = f"{len(grads)} variables" if len(grads) != 1 else "a variable"
            self._note(
                Event(
                    next(self._numbers), OP, op.name, op.name, device.short_name, "", threading.get_ident(), 0, 0, 0,
                    line_text(origin()), f"state: changes {many} there", "",
                    tuple(dict.fromkeys(self._makers(grads))),
                ),
                span,
            )  # fmt: skip

        return timed

    def _makers(self, values: Sequence[Any]) -> list[int]:
        found = []
        for value in _flat(values):
            known = self._made.get(id(value))
            if known is not None and known[0]() is value:
                found.append(known[1])
        return found

    def _remember(self, value: torch.Tensor, number: int) -> None:
        key, made = id(value), self._made

        def gone(weakly: ref[torch.Tensor]) -> None:
            known = made.get(key)
            if known is not None and known[0] is weakly:
                del made[key]

        made[key] = ref(value, gone), number

    # Graphs.

    def begin(self, program: Program) -> Recorder:
        """What to record a run with."""
        return _WholeRecorder(self._facts(program.plan).device)

    def end(self, program: Program, recorder: Recorder, start: int, in_calls: bool, error: Exception | None) -> None:
        """A run is over: an event for each of its calls, and one for all of it."""
        end = now()
        plan, thread = program.plan, threading.get_ident()
        graphs = [(each, each.graph_of(plan)) for each in self._collectors]
        title = title_of(plan)
        ways = program.ways()
        line = line_text(origin())
        device = self._facts(plan).device
        whole_of = recorder.began if isinstance(recorder, _WholeRecorder) else Began(start)
        if in_calls:
            spans = [
                Span(each.call.device, each.start, each.end, *(each.stamps or (None, None))) for each in recorder.events
            ]
            self._later.add(spans, lambda times: self._note_calls(plan, recorder.events, times, graphs, line))
        captured = not in_calls and program.is_captured
        how = "" if in_calls else ", a CUDA graph" if captured else ", compiled"
        said = "" if error is None else f"; it failed: {type(error).__name__}"
        for collector, graph in graphs:
            event = Event(
                next(self._numbers), RUN, title, "run", "", "", thread, start, end, 0, line,
                f"{len(plan.calls)} calls{how}{said}", "", (), graph,
            )  # fmt: skip
            collector.add(event)
            collector.runs += 1
            if not in_calls:  # its calls are not told apart: their device was busy with all of them
                whole = event._replace(
                    number=next(self._numbers),
                    kind=OP,
                    op="CUDA graph" if captured else "compiled program",
                    device=device.short_name,
                )
                self._note(whole, Span(device, start, end, whole_of.stamp, stamp(device)), (collector,))
            if ways and graph >= 0:
                collector.compiled[graph] = Compiled(graph, [(node.name, way) for node, way in ways.items()])
        noted = now()
        if noted - end >= LONG_NOTING:
            for collector, _ in graphs:
                collector.noting.append((end, noted))

    def _facts(self, plan: Plan) -> _PlanFacts:
        facts = self._plans.get(plan)
        if facts is None:
            maker = makers(plan.calls)
            devices = Counter(call.device for call in plan.calls)
            facts = _PlanFacts(
                {call: number for number, call in enumerate(plan.calls)},
                [waits_for(call, maker) for call in plan.calls],
                devices.most_common(1)[0][0] if devices else host(),
            )
            self._plans[plan] = facts
        return facts

    def _note_calls(
        self,
        plan: Plan,
        events: Sequence[trace.Event],
        times: Sequence[tuple[int, int]],
        graphs: list[tuple[Collector, int]],
        ran_at: str,
    ) -> None:
        facts = self._facts(plan)
        numbers: dict[int, int] = {}
        for recorded, (start, end) in sorted(zip(events, times, strict=True), key=lambda each: each[1][1]):
            call = recorded.call
            number = facts.number_of.get(call, -1)
            own = numbers[number] = next(self._numbers)
            waits = tuple(numbers[first] for first in sorted(facts.waits[number]) if first in numbers)
            size = sum(each for _, _, each in recorded.results)
            text = ", ".join(_type_text(dtype, shape) for shape, dtype, _ in recorded.results[:4])
            kind, name, op, source, why, made_at, assignment = _described(plan, call)
            if kind == COPY and source == call.device.short_name:
                continue  # an argument is taken where it lies
            line = made_at or ran_at  # in the thread of a replica no line of the program is seen
            for collector, graph in graphs:
                node = -1 if graph < 0 else collector.graphs[graph].of_call.get(number, -1)
                collector.add(
                    Event(
                        own, kind, name, op, call.device.short_name, source, recorded.thread, start, end, size, line,
                        why, text, waits, graph, node,
                    )
                )  # fmt: skip
                if assignment is not None and assignment.kind == "soft":
                    collector.decide(
                        Decision(
                            "soft", assignment.node or op, assignment.requested, call.device.short_name,
                            assignment.detail, line,
                        )
                    )  # fmt: skip

    # The rest.

    def traced(self, name: str, graph: Graph, reason: str, start: int) -> None:
        """The graph of a function was made."""
        end, line = now(), line_text(origin())
        for collector in self._collectors:
            collector.trace(Trace(name, reason, len(graph.operations), start, end, line))
        event = Event(
            next(self._numbers), TRACE, name, "trace", "", "", threading.get_ident(), start, end, 0, line, reason,
            f"{len(graph.operations)} operations", (),
        )  # fmt: skip
        for collector in self._collectors:
            collector.add(event)

    def refused(self, what: str, requested: str, error: Exception) -> None:
        """Something could not be placed."""
        self._decide(Decision("refused", what, requested, "", str(error), line_text(origin())))

    def _note(self, event: Event, span: Span, collectors: Sequence[Collector] | None = None) -> None:
        """Notes an event, whose times are those of a span, when that is over."""
        told = self._collectors if collectors is None else collectors

        def note(times: list[tuple[int, int]]) -> None:
            start, end = times[0]
            for collector in told:
                collector.add(event._replace(start=start, end=end))

        self._later.add([span], note)

    def _decide(self, decision: Decision) -> None:
        for collector in self._collectors:
            collector.decide(decision)


hub = Hub()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=hub.leave)


def kind_of(op: Op) -> str:
    """Which kind of event an op is."""
    if COLLECTIVE in op.traits:
        return COLLECTIVE_OP
    return HOST_CALL if CALLS_PYTHON in op.traits else OP


def _described(plan: Plan, call: Call) -> tuple[str, str, str, str, str, str, Assignment | None]:
    """Kind, name, op, source, reason and line of a call, and where its operation was placed."""
    node, copied = call.node, call.copies
    if node is not None:
        assignment = plan.assignments.get(node)
        why = "" if assignment is None else assignment.reason
        return kind_of(node.op_def), node.name, node.type, "", why, line_text(node.made_at), assignment
    if copied is None:
        read, line = (call.reads.name, line_text(call.reads.made_at)) if call.reads is not None else ("read", "")
        return OP, read, "Read", "", "reads a variable where it lies", line, None
    placed, target = plan.placed.get(copied.op), call.device
    home = host() if placed is None else home_of(placed)
    source = (host() if home is target else home).short_name  # what is fed comes from the host, wherever it is placed
    why = f"an operation on {target.short_name} takes what {copied.op.name} makes"
    return COPY, copied.op.name, "Copy", source, why, line_text(copied.op.made_at), None


def _flat(values: Any) -> list[Any]:
    found: list[Any] = []
    for value in values if isinstance(values, (tuple, list)) else (values,):
        found += _flat(value) if isinstance(value, (tuple, list)) else (value,)
    return found


def _results(values: Sequence[Any]) -> str:
    return ", ".join(
        _type_text(str(value.dtype), tuple(value.shape)) for value in values[:4] if hasattr(value, "dtype")
    )


def _type_text(dtype: str, shape: Sequence[int]) -> str:
    return f"{dtype.removeprefix('torch.')}[{', '.join(map(str, shape))}]"
