"""``tf.placement.profile``: while it is open, graphs are recorded as they run, for the store of costs.

    with tf.placement.profile():
        for _ in range(5):
            train_step(batch)
    # the file of measured costs now knows these operations and the links between the devices

Recorded runs are slower: each call is timed by itself, and cards are waited for. Every program skips its first run,
in which kernels are chosen and memory is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from situs._src.base import locks
from situs._src.base.devices.inventory import process
from situs._src.base.export import export
from situs._src.placement.costs.store import CostStore, shared_store
from situs._src.runtime.dynamic.learn import learn
from situs._src.runtime.dynamic.links import measure_links
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run import program
from situs._src.runtime.run.trace import Recorder

_lock = locks.lock()


class Profile:
    """What is measured while ``tf.placement.profile`` is open.

    Attributes:
        runs: How many runs of graphs were recorded.
        store: Where the times go.
    """

    def __init__(self, store: CostStore) -> None:
        self.runs = 0
        self.store = store

    def __repr__(self) -> str:
        return f"<profile of {self.runs} runs: {len(self.store)} measured costs, {len(self.store.links())} links>"

    def _over(self, plan: Plan, recorder: Recorder) -> None:
        learn(recorder.events, plan, self.store)
        self.runs += 1


@export("placement.profile", as_is=True)
@contextmanager
def profile(save: bool = True, links: bool = True) -> Iterator[Profile]:
    """Measures what the operations of graphs cost that run meanwhile, and copies between devices.

    Args:
        save: Whether to write it to the user's file of costs at the end, for later programs.
        links: Whether to measure copies between all devices of this process, which takes milliseconds.
    """
    made = Profile(shared_store())
    with _lock:
        before, program.listener = program.listener, made._over
    try:
        yield made
    finally:
        with _lock:
            program.listener = before
        if links:
            measure_links(process.devices(), made.store)
        if save:
            made.store.save()
