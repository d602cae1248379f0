"""Start and end times of GPU work without synchronizing: CUDA events on its streams, read once they have completed.

    host    launch a  launch b  launch c ........................... now
    GPU              |--- a ---|------ b ------|-- c --|     anchor
    stamps           ^         ^               ^       ^     ^

A stamp is a CUDA event, recorded on a stream after the work before it. The GPU's clock is not the
host's: an anchor is a stamp that the host has waited for, paired with the host's time at that moment, and every other
stamp is timed relative to it. Anchors are renewed every second, because elapsed times are 32-bit floats.

Pending entries are queued in program order. Every `MANY` entries the queue is polled, and completed ones are recorded;
beyond `MOST` entries the oldest are waited for, so that the queue stays bounded even if the program runs far ahead of
its GPUs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.runtime.run.trace import now, stamp

MANY, MOST = 256, 8192  # entries of the queue
ANCHORED = 1_000_000_000  # nanoseconds for which an anchor is taken


class Span(NamedTuple):
    """Work between two stamps of a GPU; or what the host has measured itself, without stamps."""

    device: Device
    start: int
    end: int
    began: torch.cuda.Event | None = None
    ended: torch.cuda.Event | None = None


class CardClock:
    """Turns stamps of GPUs into the host's time."""

    def __init__(self) -> None:
        self._anchors: dict[Device, tuple[torch.cuda.Event, int]] = {}

    def times(self, span: Span) -> tuple[int, int]:
        """The start and the end of work that is over, in nanoseconds of the system's clock."""
        if span.began is None or span.ended is None:
            return span.start, span.end
        anchor, at = self._anchor(span.device)
        end = at + round(anchor.elapsed_time(span.ended) * 1e6)
        took = round(span.began.elapsed_time(span.ended) * 1e6)
        return end - max(took, 0), end

    def _anchor(self, device: Device) -> tuple[torch.cuda.Event, int]:
        found = self._anchors.get(device)
        if found is None or now() - found[1] > ANCHORED:
            made = stamp(device)
            assert made is not None
            made.synchronize()
            found = self._anchors[device] = (made, now())
        return found


class Later:
    """What is noted when the work that it is about is over."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._queue: deque[tuple[list[Span], Callable[[list[tuple[int, int]]], None]]] = deque()
        self._clock = CardClock()

    def add(self, spans: list[Span], note: Callable[[list[tuple[int, int]]], None]) -> None:
        """Notes work at once if no GPU does it, else when it is over.

        Args:
            spans: The work.
            note: Called with the start and the end of each.
        """
        if all(span.ended is None for span in spans):
            note([(span.start, span.end) for span in spans])
            return
        with self._lock:
            self._queue.append((spans, note))
            count = len(self._queue)
        if count % MANY == 0:
            self.settle(MOST // 2 if count >= MOST else 0)

    def settle(self, waits: int | None = None) -> None:
        """Notes what is over.

        Args:
            waits: How many of the oldest are waited for; None for all.
        """
        while True:
            with self._lock:
                if not self._queue:
                    return
                spans, note = self._queue[0]
                must = waits is None or waits > 0
                ends = [span.ended for span in spans if span.ended is not None]
                if not must and not all(end.query() for end in ends):  # type: ignore[no-untyped-call]
                    return
                self._queue.popleft()
                waits = None if waits is None else waits - 1
                for end in ends:
                    end.synchronize()
                times = [self._clock.times(span) for span in spans]
            note(times)

    def forget(self) -> None:
        """Releases everything, as a child process does: the GPUs are its parent's."""
        self._queue.clear()
        self._clock = CardClock()
