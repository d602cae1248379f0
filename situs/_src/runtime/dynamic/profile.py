"""``tf.placement.profile``: records graphs as they run, for the cost store.

    with tf.placement.profile():
        for _ in range(5):
            train_step(batch)
    # the file of measured costs now knows these operations and the links between the devices

Recorded runs are slower: each call is timed separately, with GPU synchronization. So every other run is timed as a
whole, unrecorded, and the recorded times are scaled to that (`learn`). Every program skips its first run, in which
kernels are selected and memory is allocated. Everything is evaluated at the end, so that it does not disturb the runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.inventory import process
from situs._src.placement.costs.store import CostStore, shared_store
from situs._src.placement.summary import seconds_text
from situs._src.runtime.dynamic.learn import learn
from situs._src.runtime.dynamic.links import measure_links
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run import program
from situs._src.runtime.run.trace import Event, Recorder

KEPT = 32  # recorded runs of a plan
_lock = locks.lock()


class Profile:
    """The measurements made while ``tf.placement.profile`` is open.

    Attributes:
        runs: The number of measured runs of graphs.
        store: The cost store.
    """

    def __init__(self, store: CostStore) -> None:
        self.runs = 0
        self.store = store
        self._seen: dict[Plan, _Seen] = {}

    def report(self, count: int) -> str:
        """The longest operations, and where everything is stored.

        Args:
            count: How many of the measured operations to show.
        """
        rows = sorted(self.store.items(), key=lambda row: -row[2].median)
        width = max((len(key.family.split(" ", 1)[0]) for _, key, _ in rows[:count]), default=0)
        lines = [
            f"{seconds_text(found.median):>9}  {key.family.split(' ', 1)[0]:<{width}}  {key.sizes}  on {kind}"
            for kind, key, found in rows[:count]
        ]
        links = [
            f"{seconds_text(link.latency):>9}  and {1e-9 / link.per_byte if link.per_byte else inf:.3g} GB/s  {name}"
            for name, link in sorted(self.store.links().items())
        ]
        kept = f"{self.runs} runs recorded; {len(rows)} measured costs and {len(links)} links in {self.store.path}"
        return "\n".join([*lines, *links, kept])

    def to_dict(self) -> dict[str, Any]:
        """The measurements as plain data for JSON: times in seconds, longest first, and links."""
        rows = sorted(self.store.items(), key=lambda row: -row[2].median)
        costs = [
            {"op": key.family.split(" ", 1)[0], "sizes": str(key.sizes), "device": kind, "seconds": found.median}
            for kind, key, found in rows
        ]
        links = {
            name: {"latency": link.latency, "seconds_per_byte": link.per_byte}
            for name, link in sorted(self.store.links().items())
        }
        return {"runs": self.runs, "costs": costs, "links": links, "file": str(self.store.path)}

    def __repr__(self) -> str:
        return f"<profile of {self.runs} runs: {len(self.store)} measured costs, {len(self.store.links())} links>"

    def _record(self, plan: Plan, recorder: Recorder, way: program.Way) -> None:
        """Receives a recorded run."""
        with _lock:
            seen = self._seen.setdefault(plan, _Seen(way))
            seen.recorded.append(recorder.events)
            self.runs += 1

    def _time(self, plan: Plan, seconds: float) -> None:
        """Receives the time of an unrecorded run."""
        with _lock:
            self.runs += 1
            if plan in self._seen:
                self._seen[plan].wholes.append(seconds)

    def _end(self) -> None:
        """Evaluates the recorded runs."""
        for plan, seen in self._seen.items():
            whole = median(seen.wholes) if seen.wholes else None
            learn(list(seen.recorded), plan, self.store, whole=whole, way=seen.way)


@dataclass
class _Seen:
    """The last runs of one plan: the recorded ones, and the total times of others."""

    way: program.Way
    recorded: deque[Sequence[Event]] = field(default_factory=lambda: deque(maxlen=KEPT))
    wholes: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))


@contextmanager
def profiled(save: bool, links: bool) -> Iterator[Profile]:
    """The implementation of ``tf.placement.profile``."""
    made = Profile(shared_store())
    with _lock:
        before, program.listener = program.listener, program.Listener(made._record, made._time)
    try:
        yield made
    finally:
        with _lock:
            program.listener = before
        made._end()
        if links:
            measure_links(process.devices(), made.store)
        if save:
            made.store.save()
