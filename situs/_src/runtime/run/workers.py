"""A pool of processes that compile regions in the background (`runtime.run.compile_worker`).

    with Workers(2) as workers:
        outcomes = workers.outcomes(orders)         several at a time; a failure is an outcome as well

There are as many as there are free cores. They exit when the work is done, when the program exits, and when it is
killed: no process is left behind, and none is waited for. A child created by ``os.fork`` has none of them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import TracebackType
from weakref import WeakSet

from situs._src.base import locks
from situs._src.runtime.run.compile_worker import receive, send
from situs._src.runtime.run.region_cache import Outcome
from situs._src.runtime.run.thread_exit import wait_at_exit  # registered first, so that it runs after `_end_all`

MANY = 4  # cores: with more than that, some may be free
MOST = 4  # workers: each takes GPU memory, too
COMMAND = ("-m", "situs._src.runtime.run.compile_worker")  # of Python
_running: WeakSet[Workers] = WeakSet()
_lock = locks.lock()
_ending = threading.Event()  # the program ends: no more processes are started


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_cores() -> int:
    """The number of idle cores, besides those that this process needs itself; 0 on a machine with few."""
    if cores() <= MANY:
        return 0
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(int(cores() - max(load, 1.0)), 0)


_LOST = Outcome(failure="the process that compiles has ended")


class EndedError(Exception):
    """The workers were killed while they worked."""


class _Process:
    """A worker process; on a machine with few cores, it starts few helpers of its own.

    Attributes:
        traced: The numbers of the orders that it has traced.

    Raises:
        OSError: no process can be started.
    """

    def __init__(self) -> None:
        helpers = str(max(1, min(8, cores() // 2)))
        path = os.pathsep.join(each for each in sys.path if each)
        environment = {"TORCHINDUCTOR_COMPILE_THREADS": helpers, **os.environ, "PYTHONPATH": path}
        self._process = subprocess.Popen(
            [sys.executable, *COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.pid = self._process.pid
        self.traced: list[int] = []

    def ask(self, message: bytes) -> Outcome:
        """Sends a message and returns the answer; a failure if the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            send(self._process.stdin, message)
            data = receive(self._process.stdout)
        except OSError:
            data = None
        if data is None:
            return _LOST
        found: Outcome = pickle.loads(data)
        return found

    def kill(self) -> None:
        """Kills it, whatever it is doing; a caller that waits for its answer gets none."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Closes the pipes; nobody may be waiting for an answer."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # the last message can no longer be read
                if pipe is not None:
                    pipe.close()

    def forget(self) -> None:
        """Forgets the process after a fork: it belongs to the parent."""
        self._process.returncode = 0


class Workers:
    """Worker processes.

    Args:
        count: How many at most; they are started on demand.
    """

    def __init__(self, count: int) -> None:
        self._count = max(count, 1)
        self._processes: list[_Process] = []
        self._is_over = False

    def __enter__(self) -> Workers:
        with _lock:
            if _ending.is_set():
                raise EndedError("The program ends.")
            _running.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        for process in self._processes:
            process.close()

    def outcomes(self, orders: Sequence[bytes]) -> list[Outcome | None]:
        """The outcomes of packed orders, in order; several are processed at a time.

        If a call in one of them cannot be traced, nothing is compiled, and the others have no outcome.

        Raises:
            EndedError: the workers were killed, because the program exits.
        """
        found: list[Outcome | None] = [None] * len(orders)
        left: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(orders)):
            left.put(number)
        started: list[_Process] = []
        tracing = partial(self._trace, orders, left, started, found)
        self._side_by_side([tracing] * min(self._count, len(orders)))
        if any(outcome is not None and outcome.refused for outcome in found):
            return found
        self._side_by_side([partial(self._compile, process, found) for process in started])
        return [_LOST if outcome is None else outcome for outcome in found]

    def _side_by_side(self, parts: Sequence[Callable[[], None]]) -> None:
        threads = [threading.Thread(target=part, name="situs-compiling", daemon=True) for part in parts]
        for thread in threads:
            wait_at_exit(thread)
            thread.start()
        for thread in threads:
            thread.join()
        if self._is_over:
            raise EndedError("The program ends.")

    def _trace(
        self,
        orders: Sequence[bytes],
        left: queue.SimpleQueue[int],
        started: list[_Process],
        found: list[Outcome | None],
    ) -> None:
        """Starts a process, and lets it trace orders until none are left."""
        try:
            process = _Process()
        except OSError as error:
            found[:] = [Outcome(failure=f"no process can be started: {error}")] * len(orders)
            return
        with _lock:
            self._processes.append(process)
            is_over = self._is_over
        if is_over:
            process.kill()
        started.append(process)
        while not left.empty():
            try:
                number = left.get_nowait()
            except queue.Empty:  # another thread has taken the last one
                return
            outcome = process.ask(orders[number])
            if outcome != Outcome():
                found[number] = outcome
            process.traced.append(number)
            if outcome.failure:
                return

    def _compile(self, process: _Process, found: list[Outcome | None]) -> None:
        """Lets a process compile what it has traced."""
        for place, number in enumerate(process.traced):
            if found[number] is None:
                found[number] = process.ask(str(place).encode())

    def end(self) -> None:
        """Kills the processes, whatever they are doing."""
        with _lock:
            self._is_over = True
            _running.discard(self)
        for process in self._processes:
            process.kill()

    def forget(self) -> None:
        """Forgets the processes after a fork: they belong to the parent."""
        for process in self._processes:
            process.forget()
        self._processes = []


def _end_all(all_workers: Iterable[Workers] = _running) -> None:
    with _lock:
        _ending.set()
        running = list(all_workers)
    for workers in running:
        workers.end()


def _forget_all() -> None:
    for workers in list(_running):
        workers.forget()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
