"""Recording a run: when each call began and ended, on which device and thread, and how large its results are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.plan.plan import Call

now: Callable[[], int] = time.time_ns  # the system's clock


@dataclass(frozen=True)
class Event:
    """One call of a run; times are in nanoseconds of the system's clock."""

    call: Call
    start: int
    end: int
    thread: int
    results: tuple[Any, ...]  # (shape, dtype name, bytes) of each


class Recorder:
    """Collects the events of one run."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """What `emit` puts around each call to time it."""

        def timed(*values: Any) -> Any:
            start = now()
            made = call.function(*values)
            self.note(call, start, made)
            return made

        return timed

    def note(self, call: Call, start: int, made: Any) -> None:
        """Adds the event of a call that has just returned; waits for its work, if a card does it."""
        _finish(call)
        values = (made,) if call.single else tuple(made)
        sizes = tuple(_size(value) for value in values)
        self.events.append(Event(call, start, now(), threading.get_ident(), sizes))


class Relay:
    """Notes calls for a recorder that is named when a run begins: what is emitted once can be recorded many times."""

    def __init__(self) -> None:
        self._here = threading.local()  # the recorder of the run that is going on in a thread

    @contextmanager
    def to(self, recorder: Recorder) -> Iterator[None]:
        """Lets what this thread calls be noted by a recorder; a run inside of a run has its own."""
        before = getattr(self._here, "recorder", None)
        self._here.recorder = recorder
        try:
            yield
        finally:
            self._here.recorder = before

    def around(self, number: int, call: Call) -> Callable[..., Any]:
        """What `emit` puts around each call to time it."""

        def timed(*values: Any) -> Any:
            start = now()
            made = call.function(*values)
            self._here.recorder.note(call, start, made)
            return made

        return timed


def _finish(call: Call) -> None:
    """Waits for the card: a traced run measures work, not the time to order it."""
    if call.device.is_card:
        torch.cuda.synchronize(torch_device(call.device))


def _size(value: object) -> tuple[tuple[int, ...], str, int]:
    shape = tuple(getattr(value, "shape", ()))
    return shape, str(getattr(value, "dtype", "")), int(getattr(value, "nbytes", 0))
