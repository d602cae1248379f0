"""Programs as CUDA graphs: all launches of a run recorded once, and ordered again in one go.

Ordering a small kernel takes longer than running it. When a program has run a few times with the same shapes
and everything between its feeds and fetches is work of one card, its launches are captured:

    feeds, variables  --copy-->  buffers  --replay-->  buffers  --copy-->  fetches

The memory of a variable is captured as it is, without a buffer. If the variable gets another value, the program is
captured once more, with a buffer for it, and from then on the value is copied in when it has changed. What depends on
the run (random numbers, assignments, values read on the host) is not captured, and neither is a program whose capture
fails: it goes on as before. One thread replays at a time; another that comes meanwhile runs the program the usual way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from situs.eager.bridge import torch_device
from situs.eager.counting import enter
from situs.execution.emit import emit
from situs.execution.plan import Call, Plan, Slot, slots_in
from situs.execution.state import Run

CAPTURED_AFTER = 20  # runs
SHORTEST = 8  # calls: below that, copying in and out costs more than ordering them

Function = Callable[..., tuple[Any, ...]]


class OutdatedCapture(Exception):  # noqa: N818 -- it never leaves the program
    """A variable has changed whose memory was captured."""

    def __init__(self, changed: set[int]) -> None:
        super().__init__()
        self.changed = changed


class Parts:
    """A plan in three parts: what brings values to the card, the card's work, what brings them back."""

    def __init__(self, before: list[Call], work: list[Call], after: list[Call]) -> None:
        self.before = before
        self.work = work
        self.after = after
        made = {slot for call in work for slot in call.outputs}
        used = {slot for call in work for slot in slots_in(call.inputs)}
        self.incoming = sorted(used - made)
        self.of_variables = {slot for call in before if call.reads is not None for slot in call.outputs}
        self.device = work[0].device


def parts_of(plan: Plan) -> Parts | None:
    """The parts of a plan that can be captured; None if it cannot."""
    work = [call for call in plan.calls if _is_work(call)]
    if len(work) < SHORTEST or len({call.device for call in work}) != 1:
        return None
    from_work = {slot for call in work for slot in call.outputs}
    others = [call for call in plan.calls if not _is_work(call)]
    before = [call for call in others if from_work.isdisjoint(slots_in(call.inputs))]
    after = [call for call in others if not from_work.isdisjoint(slots_in(call.inputs))]
    back = {slot for call in after for slot in call.outputs}
    returns = any(not back.isdisjoint(slots_in(call.inputs)) for call in (*work, *before))
    if returns or not all(map(_brings, before)) or not all(_is_copy(call) for call in after):
        return None  # something comes back from the card and goes there again, or is not the card's work
    return Parts(before, work, after)


def _is_work(call: Call) -> bool:
    """Whether a call is launches on a card that are the same in every run."""
    on_card = call.device.card is not None and not call.device.is_virtual
    pure = call.node is not None and not call.node.op_def.stateful and not call.takes_run
    return on_card and pure and not any(_reads_host(source) for source in call.inputs)


def _reads_host(source: Any) -> bool:
    return source.host if isinstance(source, Slot) else isinstance(source, tuple) and any(map(_reads_host, source))


def _is_copy(call: Call) -> bool:
    return call.node is None and call.copies is not None


def _brings(call: Call) -> bool:
    """Whether a call does nothing but bring a value: a copy, a variable, the reading of one."""
    return call.node is None or call.node.type == "Variable"


class Captured:
    """A program captured for some shapes."""

    def __init__(self, plan: Plan, parts: Parts, run: Run, values: Sequence[Any], changing: set[int]) -> None:
        self.shapes = shapes_of(values)
        self._lock = threading.Lock()
        self._device = torch_device(parts.device)
        incoming = [Slot(slot) for slot in parts.incoming]
        self._bring = emit(Plan(parts.before, plan.inputs, list(incoming), plan.slots, plan.assignments)).function
        results = sorted({slot for call in parts.work for slot in call.outputs} & _needed(plan, parts))
        work = emit(Plan(parts.work, parts.incoming, [Slot(s) for s in results], plan.slots, plan.assignments)).function
        passed = [slot for slot in parts.incoming if slot in _needed(plan, parts)]
        self._passed = [parts.incoming.index(slot) for slot in passed]
        self._fetch = emit(Plan(parts.after, [*results, *passed], plan.outputs, plan.slots, plan.assignments)).function
        self._seen = list(self._bring(run, *values))
        self._account = parts.device.account
        self._incoming = parts.incoming
        self._borrowed = parts.of_variables - changing
        self._buffers = [
            value if slot in self._borrowed else self._entered(value.clone())
            for slot, value in zip(parts.incoming, self._seen, strict=True)
        ]
        self._results = self._record(work)

    def _record(self, work: Function) -> tuple[Any, ...]:
        side = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(self._device))
        with _own_work_space(), torch.cuda.stream(side):
            work(None, *self._buffers)  # once for what kernels set up when they are first used
        torch.cuda.current_stream(self._device).wait_stream(side)
        torch.cuda.synchronize(self._device)
        self._graph = torch.cuda.CUDAGraph()
        # "thread_local": what other threads allocate meanwhile is none of this capture's business.
        with _own_work_space(), torch.cuda.graph(self._graph, stream=side, capture_error_mode="thread_local"):
            return work(None, *self._buffers)

    def changed(self, brought: Sequence[Any]) -> set[int]:
        """The variables, by slot, whose memory was captured and that have got other memory since."""
        pairs = zip(self._incoming, brought, self._seen, strict=True)
        return {slot for slot, value, seen in pairs if slot in self._borrowed and value is not seen}

    def run(self, run: Run, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Replays the launches and returns what is fetched; None if another thread is at it."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            brought = self._bring(run, *values)
            if shapes_of(brought) != shapes_of(self._buffers):
                return None  # a variable of an open shape has changed it
            changed = self.changed(brought)
            if changed:
                raise OutdatedCapture(changed)
            for number, value in enumerate(brought):
                if value is not self._seen[number]:
                    self._buffers[number].copy_(value, non_blocking=True)
                    self._seen[number] = value
            self._graph.replay()
            passed = [self._buffers[number] for number in self._passed]
            made = self._fetch(run, *self._results, *passed)
            if not made:
                torch.cuda.current_stream(
                    self._device
                ).synchronize()  # a run that fetches nothing is over when its work is
            return tuple([self._own(value) for value in made])
        finally:
            self._lock.release()

    def _own(self, value: Any) -> Any:
        """What stays on the card is copied: the next replay writes into the buffers."""
        return self._entered(value.clone()) if isinstance(value, torch.Tensor) and value.is_cuda else value

    def _entered(self, value: torch.Tensor) -> torch.Tensor:
        return value if self._account is None else enter(value, self._account, "CUDA graph")


@contextmanager
def _own_work_space() -> Iterator[None]:
    """Lets go of the matrix library's work space before and after: each stream has one, and a graph needs its own."""
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()


def _needed(plan: Plan, parts: Parts) -> set[int]:
    return set(slots_in(plan.outputs)) | {slot for call in parts.after for slot in slots_in(call.inputs)}


def shapes_of(values: Sequence[Any]) -> tuple[Any, ...]:
    """The shapes of the values that come in."""
    return tuple([value.shape for value in values])


def capture(plan: Plan, run: Run, values: Sequence[Any], changing: set[int]) -> Captured | None:
    """A program captured for the shapes of these values; None if it cannot be.

    Args:
        plan: The plan.
        run: The run.
        values: What is fed.
        changing: Variables, by slot, that are known to change: they are copied in, like feeds.
    """
    parts = parts_of(plan)
    if parts is None:
        return None
    try:
        return Captured(plan, parts, run, values, changing)
    except Exception as error:  # a kernel that looks at its results, for instance
        logging.getLogger("situs").debug("A program was not captured as a CUDA graph: %s", error)
        torch.cuda.synchronize()
        return None
