"""Stages that work ahead, in threads: prefetching, parallel map, parallel interleave.

    prefetched(items, limit)               one thread takes items in advance
    prefetched_if_slow(items)              the same, once items have turned out to be slow
    mapped(items, call, workers)           a pool takes items and calls the function on them
    read_ahead(items, pool)                one job at a time takes some more of the items

All of them pass on chunks of items, of the size that `Pace` determines, and bound the memory in use. Their threads end
when the stream is dropped.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from situs._src.base.errors import OpError
from situs._src.data.node import Failure, Life
from situs._src.data.worker_pool import POLL, Job, Pace, WorkerPool

Items = Iterator[Any]
Run = tuple[list[Any], bool]  # some items, and whether they were the last


def _taker(items: Items, pace: Pace, count: int) -> Callable[[], Run]:
    """A job that takes `count` items."""

    def take() -> Run:
        start = time.perf_counter()
        taken = list(islice(items, count))
        pace.note(time.perf_counter() - start)
        return taken, len(taken) < count

    return take


# Prefetching.


class Limit:
    """How many items may wait.

    Args:
        size: The number.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def note(self, ready: bool, all_ready: bool, item: object) -> None:
        """Takes into account whether an item was there when it was asked for, and all others as well."""


class TunedLimit(Limit):
    """A limit that grows while more items might help.

    That is so if the buffer was full at some time and empty later: the items come in bursts, or are taken in bursts. A
    producer that is always too slow gains nothing from a larger buffer.
    """

    MOST = 64
    MOST_BYTES = 2**28

    def __init__(self) -> None:
        super().__init__(2)
        self._was_full = False

    def note(self, ready: bool, all_ready: bool, item: object) -> None:
        """Doubles the limit when the buffer is found empty after it was full."""
        if ready:
            self._was_full |= all_ready
        elif self._was_full:
            self._was_full = False
            larger = min(2 * self.size, self.MOST)
            if larger * _bytes_of(item) <= self.MOST_BYTES:
                self.size = larger


def _bytes_of(item: Any) -> int:
    return 0 if type(item) is Failure else sum(getattr(value, "nbytes", 0) for value in item)


def prefetched(items: Items, limit: Limit, life: Life, purpose: str = "prefetch") -> Items:
    """The same items, taken by a thread before they are asked for."""
    pool = WorkerPool(1, purpose)
    line = _Ahead(items, limit, pool, life)
    ended = False
    try:
        while not ended:
            line.fill(0)
            while (failure := interrupted(line.wait, life)) is not None:
                yield failure
            taken, ended = line.next()
            if not ended:
                line.fill(len(taken) - 1)  # the first of them leaves the buffer at once
            while taken:
                yield taken.pop(0)
    finally:
        pool.close()


QUICK = 3e-4  # seconds
SLOW_IN_A_ROW = 4  # the first may only have opened files or filled a buffer, and another process may take the core


def prefetched_if_slow(items: Items, life: Life) -> Items:
    """The same items, taken by a thread before they are asked for if some in a row take long.

    Items that are quick are made when they are asked for: a thread has to wake up for each of them and to take the
    interpreter's lock from the program. A batch of Keras' `fit` of a small network took, on two quiet cores, 0.85 to
    0.87 ms without a thread and 0.90 to 1.13 with one (128 rows of 784 numbers), 0.65 to 0.75 and 0.74 to 0.82 (of 16).
    With two other busy processes the order changed from run to run.
    """
    slow = 0
    while slow < SLOW_IN_A_ROW:
        start = time.perf_counter()
        for item in items:  # noqa: B007 - one only
            break
        else:
            return
        slow = slow + 1 if time.perf_counter() - start > QUICK else 0
        yield item
    yield from prefetched(items, TunedLimit(), life)


def interrupted(wait: Callable[[], None], life: Life) -> Failure | None:
    """Waits; if something else comes up, such as a time limit or the keyboard, that, instead of an element.

    A stage that passed it on as an error would be over. So it only passes it on, and waits again for the next one.
    """
    try:
        wait()
    except (OpError, KeyboardInterrupt) as error:
        if life.closed:
            raise
        return Failure(error)
    return None


_MOST_JOBS = 2**12  # waiting at a time: a buffer of a billion items is filled as the program takes from it


class _Ahead:
    """The jobs of one thread that takes items."""

    def __init__(self, items: Items, limit: Limit, pool: WorkerPool, life: Life) -> None:
        self._items = items
        self._limit = limit
        self._pool = pool
        self._life = life
        self._pace = Pace()
        self._jobs: deque[tuple[Job, int]] = deque()
        self._pending = 0  # items that the jobs are to bring
        self._was_ready = False

    def fill(self, held: int) -> None:
        """Gives out jobs until as many items are on their way, or held already, as the limit allows."""
        most = self._limit.size
        while (room := most - held - self._pending) > 0 and len(self._jobs) < _MOST_JOBS:
            count = min(self._pace.size, max(most // 2, 1), room)
            self._jobs.append((self._pool.submit(_taker(self._items, self._pace, count)), count))
            self._pending += count

    def wait(self) -> None:
        """Waits for the first job."""
        job, _ = self._jobs[0]
        self._was_ready = job.is_done
        job.wait(self._life)

    def next(self) -> Run:
        """The items of the first job."""
        job, count = self._jobs.popleft()
        taken, ended = job.result()
        self._pending -= count
        is_full = self._was_ready and (not self._jobs or self._jobs[-1][0].is_done)
        self._limit.note(self._was_ready, is_full, taken[0] if taken else ())
        return taken, ended


# Mapping.


def mapped(items: Items, call: Callable[[Any], Any], workers: int, ordered: bool, life: Life) -> Items:
    """What a function makes of the items, several at a time.

    Args:
        items: The items.
        call: The function; it raises nothing.
        workers: How many threads take items and call it.
        ordered: Whether the results come in the order of the items, rather than as they are done.
        life: Says when to give up.
    """
    pool, work = WorkerPool(workers, "map"), _Work(items, call)
    line = _InOrder(life) if ordered else _AsDone(life)
    ended = False
    try:
        while True:
            while len(line) < workers and not ended:
                line.add(pool, work.next_job())
            if not len(line):
                return
            while (failure := interrupted(line.wait, life)) is not None:
                yield failure
            made, was_last = line.next()
            ended |= was_last
            yield from made
    finally:
        pool.close()


class _Work:
    """Jobs that take items, one job after the other, and call a function on them, side by side."""

    def __init__(self, items: Items, call: Callable[[Any], Any]) -> None:
        self._items = items
        self._call = call
        self._pace = Pace()
        self._turn = threading.Condition()
        self._given = itertools.count()
        self._taking = 0  # the number of the job that may take items now

    def next_job(self) -> Callable[[], Run]:
        """Another job."""
        return partial(self._work, next(self._given))

    def _work(self, number: int) -> Run:
        count = self._pace.size
        taken = self._take(number, count)
        start = time.perf_counter()
        made = [self._call(item) for item in taken]
        self._pace.note(time.perf_counter() - start)
        return made, len(taken) < count

    def _take(self, number: int, count: int) -> list[Any]:
        with self._turn:
            self._turn.wait_for(lambda: self._taking == number)
            try:
                return list(islice(self._items, count))
            finally:
                self._taking += 1
                self._turn.notify_all()


class _InOrder:
    """Jobs whose results are wanted in the order in which they were given out."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._jobs: deque[Job] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    def add(self, pool: WorkerPool, work: Callable[[], Run]) -> None:
        self._jobs.append(pool.submit(work))

    def wait(self) -> None:
        self._jobs[0].wait(self._life)

    def next(self) -> Run:
        made: Run = self._jobs.popleft().result()
        return made


class _AsDone:
    """Jobs whose results are wanted as soon as they are there."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._pending = 0
        self._done: SimpleQueue[Job] = SimpleQueue()
        self._first: Job | None = None

    def __len__(self) -> int:
        return self._pending

    def add(self, pool: WorkerPool, work: Callable[[], Run]) -> None:
        pool.submit(work, self._done)
        self._pending += 1

    def wait(self) -> None:
        while self._first is None:
            try:
                self._first = self._done.get(timeout=POLL)
            except Empty:
                self._life.check()

    def next(self) -> Run:
        assert self._first is not None
        job, self._first = self._first, None
        self._pending -= 1
        made: Run = job.result()
        return made


# Seconds: quicker functions are called here, rather than by other threads. Their time is mostly Python's, which one
# thread has at a time: sixteen threads with a random_crop of 80 us make a seventh of what one makes.
_WORTH_IT = 1e-3
_CONVINCED = 4  # slow calls more than quick ones; the first call, and the tenth, make programs and are always slow


def tuned(items: Items, call: Callable[[Any], Any], workers: int, ordered: bool, life: Life) -> Items:
    """What a function makes of the items: here as long as it is quick, by a pool from when it proves to be slow."""
    slow = 0
    for item in items:
        start = time.perf_counter()
        made = call(item)
        slow = slow + 1 if time.perf_counter() - start > _WORTH_IT else max(slow - 1, 0)
        yield made
        if slow >= _CONVINCED:
            yield from mapped(items, call, workers, ordered, life)
            return


# Reading ahead.


def read_ahead(items: Items, pool: WorkerPool, life: Life) -> Items:
    """The same items, the next of them taken by a pool that also serves others. The first job begins at once."""
    pace = Pace(16)
    first = pool.submit(_taker(items, pace, pace.size))
    return _reading(items, pool, life, pace, first)


def _reading(items: Items, pool: WorkerPool, life: Life, pace: Pace, job: Job) -> Items:
    while True:
        while (failure := interrupted(partial(job.wait, life), life)) is not None:
            yield failure
        taken, ended = job.result()
        if not ended:
            job = pool.submit(_taker(items, pace, pace.size))
        yield from taken
        if ended:
            return
