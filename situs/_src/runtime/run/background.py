"""Compiling beside a program that nobody asked to compile: when that begins, and how it stays out of the way.

    runs     1 ... 50 ........ n ............................ m .................
    time     |  settles  |  worth it: shapes are noted  |  ready: compared, timed, the faster kept
    beside                 [ traced, 10 % of the time ][ compiled by a process of PyTorch's ]

**When** (`Settled`). How long a program will go on, nobody knows; a good guess is: as long as it has gone on. What is
won is then a part of the time that its runs have taken so far. When that exceeds what compiling takes (a few seconds,
and some for each call), compiling begins.

**Beside** (`Beside`, `Pace`). Tracing is Python, and Python runs one thread at a time: so it works a tenth of the time
and sleeps for the rest. What comes after that, the compiler proper, is another process's work, and this one waits for
it. The program goes on as it is, and takes up what has been made in one of its next runs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LEAST = 50  # runs, before which nothing begins
PART = 0.3  # of the time of a run that fused kernels are expected to save
FIRST_SECONDS = 15.0  # to start the compiler, and for what is small
SECONDS_A_CALL = 0.04  # a stack of ResNet's blocks, 575 calls, took 83 s in all, an LSTM's 1178 took 49
PAUSE, LEAST_PAUSE = 4.0, 0.5  # times the shortest time between runs, and seconds: longer ones are somebody else's
SHARE = 0.1  # of the time that tracing works

_logger = logging.getLogger("situs")


class Settled:
    """Says when a program has run so long that compiling it pays.

    Args:
        calls: How many calls there are to compile.
        clock: Tells the time, in seconds.
    """

    def __init__(self, calls: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._cost = FIRST_SECONDS + SECONDS_A_CALL * calls
        self._runs = 0
        self._last: float | None = None
        self._shortest = float("inf")
        self._spent = 0.0

    def now(self) -> bool:
        """Whether to begin; asked at the beginning of every run."""
        time_ = self._clock()
        if self._last is not None:
            between = time_ - self._last
            self._shortest = min(self._shortest, between)
            self._spent += min(between, max(PAUSE * self._shortest, LEAST_PAUSE))  # runs of a card are waited for late
        self._last = time_
        self._runs += 1
        return self._runs > LEAST and PART * self._spent > self._cost


class Pace:
    """Sleeps so much that a thread works for a share of the time."""

    def __init__(
        self,
        share: float = SHARE,
        worked: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rest = (1.0 - share) / share
        self._worked = worked
        self._sleep = sleep
        self._since = worked()

    def __call__(self) -> None:
        """Sleeps for what was worked since the last call."""
        self._sleep((self._worked() - self._since) * self._rest)
        self._since = self._worked()


class Beside(Generic[T]):
    """Something that is made in a thread of its own.

    Args:
        make: Makes it.

    Attributes:
        made: What was made; None until then, and if it failed.
        failure: Why it failed; empty unless it did.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.made: T | None = None
        self.failure = ""
        self._make: Callable[[], T] | None = make
        self._thread = threading.Thread(target=self._work, name="situs-compiling", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it is made, or has failed."""
        return self.made is not None or bool(self.failure)

    def wait(self, seconds: float) -> None:
        """Waits until it is over, or the time is."""
        self._thread.join(seconds)

    def _work(self) -> None:
        assert self._make is not None
        try:
            self.made = self._make()
        except Exception as error:  # the program goes on as it is
            self.failure = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            _logger.warning("A graph runs as it is: compiling it failed: %s", self.failure)
        finally:
            self._make = None
