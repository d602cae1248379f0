"""Background compilation of programs that did not request it: when it starts, and how it stays out of the way.

    runs     1 ... 20 ............. 50 ......................... n ............ n + 40 ...........
    time     |  record shapes       |  warm: worth it           |  ready: compared and timed in small slices
    background                         [ other processes trace and compile ][ loaded, warmed up ]

**When** (`Settled`). Nobody knows how long a program will keep running; a good estimate is as long as it has run so
far. The gain is then a fraction of the time that its runs have taken so far. The cost is the slowdown while compilers
work: small if cores are free, because the compilers are low-priority processes, and otherwise as much as the compile
time. Compiling starts when the gain exceeds the cost, after 50 runs and 2 seconds.

    a step of 100 calls      free cores: after 2 s          few cores: after a minute

**In the background** (`Beside`). A thread sends regions to the compiling processes, waits, and loads the results.
Python switches threads every 5 ms; while that thread computes, the interval is 0.1 ms (`courteous`), so that the
program rarely waits for the GIL. On a GPU it autotunes kernels with a few launches of each.

**In slices** (`Bits`). Work that the program has to do itself (comparing, timing, capturing again) is done between its
runs in slices; before each slice, the program runs for ten times as long as the last slice took.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Generic, TypeVar

from situs._src.base import locks
from situs._src.runtime.run.thread_exit import wait_at_exit
from situs._src.runtime.run.workers import EndedError, free_cores

T = TypeVar("T")

LEAST, LEAST_SECONDS = 50, 2.0  # runs, and their total time, before anything starts
PART = 0.3  # share of a run's time that fused kernels are expected to save, if all of it is compiled
FIRST_SECONDS = 15.0  # to start the compiler and compile something small
SECONDS_A_CALL = 0.04  # a stack of ResNet's blocks, 575 calls, took 83 s in all, an LSTM's 1178 took 49
LOST = 0.03  # share of the program's time, while others compile on free cores
LOOKS = 1.0  # seconds between two checks for free cores
PAUSE, LEAST_PAUSE = 4.0, 0.5  # times the shortest gap between runs, and seconds: longer gaps do not count
SHARE = 0.1  # share of the program's time that slices may take
IMPORTING = 0.33  # share of the time spent importing modules
SELDOM = 10**6  # young garbage collections before a full one
TURN = 1e-4  # the switch interval in seconds, instead of Python's 5e-3

_logger = logging.getLogger("situs")


class Settled:
    """Decides when a program has run long enough for compiling to pay.

    Args:
        calls: How many calls there are to compile.
        of: The total number of calls.
        clock: Returns the time in seconds.
        free: Returns the number of idle cores.
    """

    def __init__(
        self,
        calls: int,
        of: int,
        clock: Callable[[], float] = time.perf_counter,
        free: Callable[[], int] = free_cores,
    ) -> None:
        self._clock = clock
        self._free = free
        self._cost = FIRST_SECONDS + SECONDS_A_CALL * calls
        self._part = PART * calls / max(of, 1)
        self._runs = 0
        self._last: float | None = None
        self._shortest = float("inf")
        self._spent = 0.0
        self._looked = float("-inf")

    def now(self) -> bool:
        """Whether to begin; called at the start of every run."""
        time_ = self._clock()
        if self._last is not None:
            between = time_ - self._last
            self._shortest = min(self._shortest, between)
            self._spent += min(between, max(PAUSE * self._shortest, LEAST_PAUSE))  # GPU runs are synchronized late
        self._last = time_
        self._runs += 1
        if self._runs <= LEAST or self._spent < LEAST_SECONDS:
            return False
        won = self._part * self._spent
        if won > self._cost:
            return True
        if won <= LOST * self._cost or time_ - self._looked < LOOKS:
            return False
        self._looked = time_
        return self._free() > 0


# Thread switching.


class _Courtesy:
    """Counts the threads that yield, and saves Python's switch interval and GC settings."""

    def __init__(self) -> None:
        self.lock = locks.lock()
        self.threads = 0
        self.turn = 0.0
        self.collections = (0, 0, 0)

    def begin(self) -> None:
        """One more thread yields."""
        with self.lock:
            self.threads += 1
            if self.threads == 1:
                self.turn, self.collections = sys.getswitchinterval(), gc.get_threshold()
                sys.setswitchinterval(min(TURN, self.turn))
                gc.set_threshold(*self.collections[:2], SELDOM)

    def end(self) -> None:
        """One of them has finished."""
        with self.lock:
            self.threads -= 1
            if not self.threads:
                sys.setswitchinterval(self.turn)
                gc.set_threshold(*self.collections)


_courtesy = _Courtesy()


@contextmanager
def courteous() -> Iterator[None]:
    """Makes this thread yield quickly to the program's threads.

    A full garbage collection stops all threads and takes 0.5 s in a program that has loaded a compiler: it is postponed
    until the thread has finished. A third of the time at most goes into importing modules.
    """
    _courtesy.begin()
    imports = _Imports()
    sys.meta_path.insert(0, imports)
    try:
        yield
    finally:
        sys.meta_path.remove(imports)
        _courtesy.end()


class _Imports(MetaPathFinder):
    """An import hook that finds nothing, but sleeps before this thread imports another module."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._pace = Pace(IMPORTING, time.thread_time)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called for every module, by every thread."""
        if threading.get_ident() == self._thread:
            self._pace()
        return None


class Pace:
    """Sleeps so that a thread takes no more than a share of the time of a core or a GPU.

    Args:
        share: The share.
        clock: Returns the time in seconds.
        sleep: Sleeps for a number of seconds.
    """

    def __init__(
        self,
        share: float = SHARE,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rest = (1.0 - share) / share
        self._clock = clock
        self._sleep = sleep
        self._since = clock()

    def __call__(self) -> None:
        """Sleeps in proportion to the time since the last call."""
        self._sleep((self._clock() - self._since) * self._rest)
        self._since = self._clock()


# Work in the background, and work between runs.


class Beside(Generic[T]):
    """A value that is computed in a background thread.

    Args:
        make: Computes it.

    Attributes:
        made: The result; None until then, and if it failed.
        failure: Why it failed; empty unless it did.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.made: T | None = None
        self.failure = ""
        self._make: Callable[[], T] | None = make
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._work, name="situs-compiling", daemon=True)
        wait_at_exit(self._thread)  # its processes are killed at exit, so it ends soon
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it has finished or failed; in a forked child, which does not have the thread, it has."""
        if not self.failure and self.made is None and self._process != os.getpid():
            self.failure = "it was begun by the process that this one is a child of"
        return self.made is not None or bool(self.failure)

    def wait(self, seconds: float) -> None:
        """Waits until it has finished, or until the timeout."""
        self._thread.join(seconds)

    def _work(self) -> None:
        assert self._make is not None
        try:
            self.made = self._make()
        except EndedError:  # at exit: the result is not needed
            self.failure = "the program ends"
        except Exception as error:  # the program continues uncompiled
            self.failure = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            _logger.warning("A graph runs as it is: compiling it failed: %s", self.failure)
        finally:
            self._make = None


class Bits:
    """Work that is done in slices between runs, so that it takes no more than a share of the time.

    Args:
        work: The work; it yields at the end of a slice.
        clock: Returns the time in seconds.

    Attributes:
        is_over: Whether all of it is done.
        longest: The seconds of the longest slice.
    """

    def __init__(self, work: Iterator[None], clock: Callable[[], float] = time.perf_counter) -> None:
        self._work = work
        self._clock = clock
        self._next = float("-inf")
        self.is_over = False
        self.longest = 0.0

    def go_on(self) -> None:
        """Does another slice, if it is time for one."""
        start = self._clock()
        if self.is_over or start < self._next:
            return
        try:
            next(self._work)
        except StopIteration:
            self.is_over = True
        end = self._clock()
        self.longest = max(self.longest, end - start)
        self._next = end + (end - start) * (1.0 - SHARE) / SHARE
