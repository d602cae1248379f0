"""Worker pools: threads that compute results ahead of their consumer.

    pool = WorkerPool(2, "map")
    job = pool.submit(work)        starts as soon as a thread is free
    job.wait(life)                 until it is done, or cancelled
    job.result()

The threads belong to one iteration and reference only their work: when the iteration is dropped, `close` is called, and
they end after their current job. They start with the first job. A `Pace` determines how many elements make a job, so
that passing them between threads costs little even if the work on each takes no time.

A forked child has none of its parent's threads: a pool starts new ones there, and jobs of the parent are lost.
"""

from __future__ import annotations

import atexit
import itertools
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

import torch

from situs._src.base import locks
from situs._src.base.errors import FailedPreconditionError
from situs._src.data.node import Life
from situs._src.runtime.eager.torch_private import kernel_threads
from situs._src.runtime.run.thread_exit import wait_at_exit

POLL = 0.1  # seconds between two questions whether to give up
_numbers = itertools.count()
_process = 0  # how many forks lie between this process and the program's first


def _count_fork() -> None:
    global _process
    _process += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class Job:
    """Some work, to be done by another thread."""

    __slots__ = ("_done", "_error", "_made", "_process", "_report", "_work")

    def __init__(self, work: Callable[[], Any], report: SimpleQueue[Job] | None = None) -> None:
        self._work: Callable[[], Any] | None = work
        self._report = report
        self._made: Any = None
        self._error: BaseException | None = None
        self._process = _process
        self._done = threading.Lock()
        self._done.acquire()

    @property
    def is_done(self) -> bool:
        """Whether the result is there."""
        return not self._done.locked()

    def run(self) -> None:
        """Does the work, in whichever thread calls this."""
        work, self._work = self._work, None
        assert work is not None
        try:
            self._made = work()
        except BaseException as error:
            self._error = error
        self._done.release()
        if self._report is not None:
            self._report.put(self)

    def wait(self, life: Life) -> None:
        """Waits until the work is done.

        Raises:
            CancelledError: the iteration was closed meanwhile.
            DeadlineExceededError: the run that wants the result may not wait any longer.
            FailedPreconditionError: a parent process had begun it.
        """
        while not self._done.acquire(timeout=POLL):
            if self._process != _process:
                raise FailedPreconditionError(
                    "This iterator was begun before os.fork, and what worked for it was left in the parent process. "
                    "Make a new iterator of the dataset in the child."
                )
            life.check()
        self._done.release()

    def result(self) -> Any:
        """What the work gave, once it is done; raises what it raised."""
        error, self._error = self._error, None
        if error is None:
            return self._made
        try:
            raise error
        finally:
            del self, error  # the error holds this frame, which shall not hold the error


class WorkerPool:
    """Some threads, and the jobs that they have to do.

    Args:
        size: How many threads. They share the cores: the more of them, the fewer threads their kernels use.
        purpose: A word for their names.
    """

    def __init__(self, size: int, purpose: str) -> None:
        self._size = size
        self._purpose = purpose
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = locks.lock()  # several threads may hand out work
        self._open = True
        self._process = _process

    def submit(self, work: Callable[[], Any], report: SimpleQueue[Job] | None = None) -> Job:
        """Hands a job to the threads; it is put into `report` when it is done."""
        job = Job(work, report)
        with self._lock:
            if self._process != _process:
                self._process, self._jobs, self._threads = _process, SimpleQueue(), []
            if self._open:
                self._jobs.put(job)
                if len(self._threads) < self._size:
                    self._hire()
        return job

    def _hire(self) -> None:
        name = f"situs-data-{self._purpose}-{next(_numbers)}"
        share = max(1, torch.get_num_threads() // self._size)
        thread = threading.Thread(target=_work_through, args=(self._jobs, share), name=name, daemon=True)
        self._threads.append(thread)
        _running.add(self)
        wait_at_exit(thread)
        thread.start()

    def close(self) -> None:
        """Lets the threads end; jobs that have not begun are dropped."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            while not self._jobs.empty():
                self._jobs.get()
            for _ in self._threads:
                self._jobs.put(None)


def _work_through(jobs: SimpleQueue[Job | None], share: int) -> None:
    kernel_threads(share)
    while True:
        job = jobs.get()
        if job is None:
            return
        job.run()
        del job  # it holds a result, and this thread may wait long for the next one


_running: WeakSet[WorkerPool] = WeakSet()


@atexit.register  # after `ending` has registered, so that threads are told to stop before they are waited for
def _close_all() -> None:
    for pool in list(_running):
        pool.close()


class Pace:
    """How many elements to put into a job: few where each takes long, more where it takes next to nothing.

    Args:
        most: The largest number.
    """

    __slots__ = ("_most", "size")
    _QUICK = 100e-6  # seconds: below, handing over a job costs more than a few percent of it
    _SLOW = 1e-3

    def __init__(self, most: int = 128) -> None:
        self._most = most
        self.size = 1

    def note(self, seconds: float) -> None:
        """Takes into account how long a job took."""
        if seconds < self._QUICK:
            self.size = min(2 * self.size, self._most)
        elif seconds > self._SLOW:
            self.size = max(self.size // 2, 1)
