"""Recording a run: start and end of each call, its device and thread, and the sizes of its results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from situs._src.base.devices.logical import Device
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.plan.plan import Call

now: Callable[[], int] = time.time_ns  # the system's clock


@dataclass(frozen=True)
class Event:
    """One call of a run; times are in nanoseconds of the system's clock.

    Until `ordered` the host was busy launching it: after that it waited for a GPU, if it runs on one. For GPU work that
    was not waited for, `stamps` are the CUDA events around it, and the times are the host's, of its launch.
    """

    call: Call
    start: int
    end: int
    thread: int
    results: tuple[Any, ...]  # (shape, dtype name, bytes) of each
    stamps: tuple[torch.cuda.Event, torch.cuda.Event] | None = None
    ordered: int = 0


class Began(NamedTuple):
    """The start of a call: the host's time, and a CUDA event if the GPU is timed by events."""

    time: int
    stamp: torch.cuda.Event | None = None


def stamp(device: Device) -> torch.cuda.Event | None:
    """A CUDA event at the current position of a GPU's stream; None for other devices."""
    if not device.is_card or torch.cuda.is_current_stream_capturing():
        return None
    made = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    made.record(torch.cuda.current_stream(torch_device(device)))
    return made


class Recorder:
    """Collects the events of one run.

    Args:
        waits: Whether to synchronize with GPUs after each call, so that times are those of the work; else CUDA events
        are
            recorded, which tell when it ended.
    """

    def __init__(self, waits: bool = True) -> None:
        self.events: list[Event] = []
        self._waits = waits

    def begin(self, call: Call) -> Began:
        """A call begins."""
        return Began(now(), None if self._waits else stamp(call.device))

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """Wraps each call to time it, for `emit`."""

        def timed(*values: Any) -> Any:
            began = self.begin(call)
            made = call.function(*values)
            self.note(call, began, made)
            return made

        return timed

    def note(self, call: Call, began: Began, made: Any) -> None:
        """Adds the event of a call that has just returned; synchronizes with the GPU unless CUDA events time it."""
        ordered = now()
        ended = None if began.stamp is None else stamp(call.device)
        if ended is None:
            _finish(call)
        stamps = None if began.stamp is None or ended is None else (began.stamp, ended)
        values = (made,) if call.single else tuple(made)
        sizes = tuple(_size(value) for value in values)
        self.events.append(Event(call, began.time, now(), threading.get_ident(), sizes, stamps, ordered))


class Relay:
    """Forwards calls to the recorder of the current run: code that is emitted once can be recorded many times."""

    def __init__(self) -> None:
        self._here = threading.local()  # the recorder of the current run of a thread

    @contextmanager
    def to(self, recorder: Recorder) -> Iterator[None]:
        """Records the calls of this thread with a recorder; a nested run has its own."""
        before = getattr(self._here, "recorder", None)
        self._here.recorder = recorder
        try:
            yield
        finally:
            self._here.recorder = before

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """Wraps each call to time it, for `emit`."""

        def timed(*values: Any) -> Any:
            recorder: Recorder = self._here.recorder
            began = recorder.begin(call)
            made = call.function(*values)
            recorder.note(call, began, made)
            return made

        return timed


def _finish(call: Call) -> None:
    """Synchronizes with the GPU: a traced run measures work, not launches."""
    if call.device.is_card and not torch.cuda.is_current_stream_capturing():
        torch.cuda.synchronize(torch_device(call.device))


def _size(value: object) -> tuple[tuple[int, ...], str, int]:
    shape = tuple(getattr(value, "shape", ()))
    return shape, str(getattr(value, "dtype", "")), int(getattr(value, "nbytes", 0))
