"""``tf.placement.profile``: while it is open, graphs are recorded as they run, for the store of costs.

    with tf.placement.profile():
        for _ in range(5):
            train_step(batch)
    # the file of measured costs now knows these operations and the links between the devices

Recorded runs are slower: each call is timed by itself, and cards are waited for. So every other run is timed as a
whole, as it is, and what was recorded is brought to that (`learn`). Every program skips its first run, in which kernels
are chosen and memory is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.inventory import process
from situs._src.placement.costs.store import CostStore, shared_store
from situs._src.placement.summary import seconds_text
from situs._src.runtime.dynamic.learn import learn
from situs._src.runtime.dynamic.links import measure_links
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run import program
from situs._src.runtime.run.trace import Recorder

_lock = locks.lock()


class Profile:
    """What is measured while ``tf.placement.profile`` is open.

    Attributes:
        runs: How many runs of graphs were measured.
        store: Where the times go.
    """

    def __init__(self, store: CostStore) -> None:
        self.runs = 0
        self.store = store
        self._recorded: dict[Plan, Recorder] = {}  # whose time as a whole is not known yet

    def report(self, count: int) -> str:
        """What took longest, and where all of it is kept.

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
        """What was measured as plain data that JSON can hold: times in seconds, longest first, and links."""
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

    def _record(self, plan: Plan, recorder: Recorder) -> None:
        """Takes a run that was recorded."""
        with _lock:
            self._recorded[plan] = recorder
            self.runs += 1

    def _time(self, plan: Plan, seconds: float) -> None:
        """Takes the time of a run that was not."""
        with _lock:
            recorder = self._recorded.pop(plan, None)
            self.runs += 1
        if recorder is not None:
            learn(recorder.events, plan, self.store, whole=seconds)

    def _end(self) -> None:
        """Learns from what was recorded and never timed as a whole."""
        for plan, recorder in self._recorded.items():
            learn(recorder.events, plan, self.store)


@contextmanager
def profiled(save: bool, links: bool) -> Iterator[Profile]:
    """What ``tf.placement.profile`` does."""
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
