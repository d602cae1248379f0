"""Recordings: allocations and frees on every GPU, and what was in use at the peak.

    with tf.memory.record() as recording:
        train()
    print(recording)                     # what was alive at the peak
    recording.peak("GPU:0").holders      # the same as data
    recording.save("memory.svg")         # memory over time, by op

Recordings may be nested and may overlap in threads; each starts with the memory that is in use at its own start. A
recording may also begin before the devices are created.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from situs._src.base import html, locks
from situs._src.base.budget.ledger import Account, Event
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.errors import NotFoundError
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.inspect.holders import Holder, by_line, by_op
from situs._src.inspect.names import find, short_name
from situs._src.inspect.output import write
from situs._src.inspect.page import fragment, page
from situs._src.inspect.picture import timeline
from situs._src.inspect.table import Table, holder_table, text_of
from situs._src.inspect.track import Track, track
from situs._src.runtime.eager.oom import size_text

NOTHING = "Nothing was recorded: no memory of a GPU was used meanwhile."
_LOOK_EVERY = 0.01  # seconds


@export("memory.MemoryEvent")
class MemoryEvent(NamedTuple):
    """A block of memory that came (`size` above 0) or went (below), in nanoseconds of the system's clock."""

    time: int
    device: str
    size: int
    op: str
    file: str
    lineno: int
    caller: str


@export("memory.Peak")
@dataclass(frozen=True)
class Peak:
    """The moment at which tensors held most of a device's memory.

    Attributes:
        name: The device's full name.
        size: How many bytes were held.
        limit: How many may be.
        time: When, in nanoseconds of the system's clock; None if nothing was ever held.
        holders: What was alive then, by op and line, largest first.
    """

    name: str
    size: int
    limit: int
    time: int | None
    holders: tuple[Holder, ...]

    def by_op(self) -> Peak:
        """The same with holders joined by op."""
        return replace(self, holders=by_op(self.holders))

    def by_line(self) -> Peak:
        """The same with holders joined by the line of the program."""
        return replace(self, holders=by_line(self.holders))

    def to_dict(self) -> dict[str, Any]:
        """The peak as plain data."""
        return {"size": self.size, "time": self.time, "holders": [holder.to_dict() for holder in self.holders]}


@export("memory.Recording")
class Recording:
    """What came and went on every GPU while it was recorded; made by `record`.

    It can be asked at any time. While it runs, the answers are about what has been so far.
    """

    def __init__(self) -> None:
        self._begin = time.time_ns()
        self._marks: dict[Account, int] = {}
        self._end: int | None = None  # until it is stopped
        self._tracks: tuple[Track, ...] = ()

    def _start(self) -> None:
        self._begin, self._marks = time.time_ns(), _tape.start()

    def _stop(self) -> None:
        self._tracks = self._read(_tape.stop())
        self._end = time.time_ns()

    def _read(self, noted: Mapping[Account, list[Event]]) -> tuple[Track, ...]:
        return tuple(
            track(account.device.name, account.limit, events).since(self._marks.get(account, 0), self._begin)
            for account, events in noted.items()
        )

    def tracks(self) -> tuple[Track, ...]:
        """The events of each GPU as arrays."""
        return self._read(_tape.read()) if self._end is None else self._tracks

    @property
    def events(self) -> list[MemoryEvent]:
        """Every block of memory that came or went, in the order of time; what was held at the start comes first."""
        found = [
            MemoryEvent(moment, line.name, size, *line.known[number])
            for line in self.tracks()
            for moment, size, number in zip(line.times.tolist(), line.sizes.tolist(), line.makers.tolist(), strict=True)
        ]
        return sorted(found, key=lambda event: event.time)

    def peak(self, device: str | None = None) -> Peak:
        """The moment at which most was held on a GPU, and what it was; by default on the one that held most.

        Raises:
            ValueError: this is not a name of one device.
            NotFoundError: it is not recorded; only GPUs are.
        """
        tracks = self.tracks()
        if device is None and not tracks:
            raise NotFoundError("No GPU was there to be recorded.")
        return _peak(max(tracks, key=lambda line: line.peak) if device is None else find(tracks, device))

    def to_dict(self) -> dict[str, Any]:
        """The recording as plain data that JSON can hold: for each GPU its peak, and its events as columns."""
        return {"begin": self._begin, "end": self._end, "devices": [_as_dict(line) for line in self.tracks()]}

    def save(self, path: PathLike) -> None:
        """Writes the recording to a file: a picture (``.svg``), a page with tables (``.html``) or data (``.json``).

        Raises:
            ValueError: the name of the file ends in none of these.
            OpError: the file cannot be written.
        """
        as_text: dict[str, Callable[[], str]] = {
            ".json": lambda: json.dumps(self.to_dict()),
            ".svg": self._picture,
            ".html": lambda: page("Memory over time", self._picture(), self._tables()),
        }
        write(path, as_text)

    def _picture(self) -> str:
        used = _used(self.tracks())
        return timeline(used, self._begin, self._end or time.time_ns(), NOTHING)

    def _tables(self) -> list[Table]:
        peaks = [_peak(line) for line in _used(self.tracks())]
        if not peaks:
            return []
        figures = Table(
            ("device", "peak", "limit"),
            [(short_name(peak.name), size_text(peak.size), size_text(peak.limit)) for peak in peaks],
        )
        return [figures, holder_table((short_name(peak.name), peak.holders, peak.size) for peak in peaks)]

    def __str__(self) -> str:
        tables = self._tables()
        if not tables:
            return NOTHING
        figures, alive = (text_of(table) for table in tables)
        return f"{figures}\n\nAlive at the peak:\n{alive}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        tables = self._tables()
        return fragment(self._picture(), "Memory over time", tables) if tables else html.text(NOTHING)


def _used(tracks: tuple[Track, ...]) -> list[Track]:
    return [line for line in tracks if line.peak > 0]


def _peak(line: Track) -> Peak:
    when = None if line.peak_at is None else int(line.times[line.peak_at])
    return Peak(line.name, line.peak, line.limit, when, line.holders(line.peak_at))


def _as_dict(line: Track) -> dict[str, Any]:
    makers = [dict(zip(("op", "file", "lineno", "caller"), made, strict=True)) for made in line.known]
    columns = {"time": line.times.tolist(), "size": line.sizes.tolist(), "maker": line.makers.tolist()}
    return {"name": line.name, "limit": line.limit, "peak": _peak(line).to_dict(), "makers": makers, "events": columns}


@export("memory.record")
@contextmanager
def record() -> Iterator[Recording]:
    """Records when memory comes and goes on every GPU, and by which op and line of the program.

    An op costs 5 to 25 microseconds more meanwhile, and some 600 bytes of the host's memory are kept for each tensor.
    On a whole real GPU, what comes and goes inside a graph is seen if the graph is first run while recording.
    """
    recording = Recording()
    recording._start()
    try:
        yield recording
    finally:
        recording._stop()


class _Tape:
    """What the ledgers note while anyone records: one list of events for each GPU, shared by all recordings."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._accounts: list[Account] = []
        self._recordings = 0
        self._over = locks.event()

    def open(self, devices: tuple[Device, ...]) -> None:
        """Takes the devices, once they are made."""
        with self._lock:
            found = [device.account for device in devices if device.account is not None]
            self._accounts = sorted(found, key=lambda account: account.device.index)
            if self._recordings:
                self._record()

    def start(self) -> dict[Account, int]:
        """Begins to record for one more; returns how much had been noted for others by then."""
        with self._lock:
            self._recordings += 1
            if self._recordings == 1:
                self._record()
                self._over = locks.event()
                threading.Thread(target=self._look, args=(self._over,), daemon=True).start()
                return {}
            return {account: len(account.recorded()) for account in self._accounts}

    def _record(self) -> None:
        for account in self._accounts:
            account.record()

    def read(self) -> dict[Account, list[Event]]:
        """What has been noted."""
        with self._lock:
            return {account: account.recorded() for account in self._accounts}

    def stop(self) -> dict[Account, list[Event]]:
        """Ends to record for one; returns what has been noted."""
        with self._lock:
            self._recordings -= 1
            if self._recordings:
                return {account: account.recorded() for account in self._accounts}
            self._over.set()
            return {account: account.stop_recording() for account in self._accounts}

    def _look(self, over: threading.Event) -> None:
        """Asks now and then: a ledger notes that a tensor has gone when it is next asked."""
        while not over.wait(_LOOK_EVERY):
            for account in self._accounts:
                account.usage()


_tape = _Tape()
process.on_start(_tape.open)
