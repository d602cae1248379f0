"""The memory of each GPU while a report is open, downsampled to a bounded number of points.

The ledger's own recording keeps every event; here it is read and cleared periodically, so that memory stays bounded.
Of each interval only the peaks are kept, and what was in use at the overall peak:

    held   /\\_/\\__/\\      points: the peak and the last moment of each interval
               ^ peak      holders by op and line, only at the peak

The breakdown by op is kept as long as there is a single interval; a long program has totals only.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np

from situs._src.base import locks
from situs._src.inspect.holders import Holder
from situs._src.inspect.names import short_name
from situs._src.inspect.recording import Recording, record
from situs._src.inspect.track import Track, layers, moments

POINTS = 800  # of a stretch
MOST = 4 * POINTS  # of a device
HOLDERS = 60  # rows at the peak


@dataclass
class Held:
    """The memory of one GPU."""

    device: str
    limit: int
    times: list[int] = field(default_factory=list)  # nanoseconds of the system's clock
    held: list[int] = field(default_factory=list)
    layers: list[tuple[str, list[int]]] = field(default_factory=list)  # what each op held at these times
    peak: int = 0
    peak_time: int | None = None
    holders: tuple[Holder, ...] = ()

    def add(self, track: Track) -> None:
        """Adds what came and went since."""
        chosen = moments(track, POINTS)
        if not len(chosen):
            return
        is_first = not self.times
        self.times += track.times[chosen].tolist()
        self.held += track.totals[chosen].tolist()
        self.layers = [(each.op, each.values.tolist()) for each in layers(track, chosen)] if is_first else []
        if track.peak > self.peak and track.peak_at is not None:
            self.peak, self.peak_time = track.peak, int(track.times[track.peak_at])
            self.holders = track.holders(track.peak_at)[:HOLDERS]
        if len(self.times) > MOST:
            self._thin()

    def _thin(self) -> None:
        """Keeps the fuller of every two neighbours."""
        held = np.array(self.held)
        pairs = held[: len(held) // 2 * 2].reshape(-1, 2)
        kept = (np.arange(len(pairs)) * 2 + pairs.argmax(axis=1)).tolist() + list(range(len(pairs) * 2, len(held)))
        self.times = [self.times[each] for each in kept]
        self.held = [self.held[each] for each in kept]


class MemoryTape:
    """Records the memory of all GPUs from `start` to `stop`."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._open: tuple[AbstractContextManager[Recording], Recording] | None = None
        self._devices: dict[str, Held] = {}

    def start(self) -> None:
        """Begins."""
        with self._lock:
            self._begin()

    def roll(self) -> None:
        """Takes what was recorded so far, and goes on."""
        with self._lock:
            if self._open is not None:
                self._take()
                self._begin()

    def stop(self) -> None:
        """Ends."""
        with self._lock:
            if self._open is not None:
                self._take()

    def devices(self) -> list[Held]:
        """What was recorded, of the GPUs that held anything; what is not yet taken is looked at."""
        with self._lock:
            return [held for held in self._devices.values() if held.peak]

    def _begin(self) -> None:
        manager = record()
        self._open = manager, manager.__enter__()

    def _take(self) -> None:
        assert self._open is not None
        manager, recording = self._open
        self._open = None
        manager.__exit__(None, None, None)
        for track in recording.tracks():
            held = self._devices.setdefault(track.name, Held(short_name(track.name), track.limit))
            held.add(track)
