"""``Coordinator``: threads that stop together.

    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=work, args=(coord,)) for _ in range(4)]     while not coord.should_stop(): ...
    ...
    coord.join(threads)                   waits for all of them, and raises what one of them reported

The first request to stop decides how it ends: with its exception, or normally.
"""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from situs._src.base import locks
from situs._src.base.errors import ArgumentError, DTypeError, OutOfRangeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.tree import listed
from situs._src.ops.attribute import as_float

_logger = logging.getLogger("situs")

Report = BaseException | tuple[Any, Any, Any] | None  # an exception, or what sys.exc_info() gives


@export("train.Coordinator")
class Coordinator:
    """Lets any of several threads stop them all.

    Args:
        clean_stop_exception_types: Exceptions that mean a good end: they are not raised in `join`. By default
            ``OutOfRangeError``, which the end of a queue raises.

    Example:
        >>> coord = Coordinator()
        >>> coord.request_stop()
        >>> coord.should_stop()
        True
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean_stop_exception_types = _as_exception_types(clean_stop_exception_types)
        self._lock = locks.lock()
        self._stop_event = locks.event()
        self._error: BaseException | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    @property
    def joined(self) -> bool:
        """Whether `join` is over."""
        return self._joined

    # Stopping.

    def request_stop(self, ex: Report = None) -> None:
        """Asks all threads to stop.

        Args:
            ex: The exception that is the reason, to be raised in `join`; or a triple of ``sys.exc_info()``.

        Raises:
            Exception: `ex` itself, if `join` is over and nobody else would hear of it.
        """
        error = self._serious(ex)
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                return
            if self._stop_event.is_set():
                return
            if error is not None and self._error is None:
                _logger.info("Error reported to Coordinator: %s, %s", type(error), error)
                self._error = error
            self._stop_event.set()

    def _serious(self, ex: Report) -> BaseException | None:
        """The exception of a report, unless it means a good end."""
        if not isinstance(ex, (BaseException, tuple, type(None))) or (isinstance(ex, tuple) and len(ex) != 3):
            raise DTypeError(f"The reason to stop is an exception, or what sys.exc_info() gives; got {shown(ex)}.")
        if isinstance(ex, tuple):
            kind, error, trace = ex
            error = kind() if error is None and isinstance(kind, type) else error
            error = error.with_traceback(trace) if isinstance(error, BaseException) else None
        else:
            error = ex
        return None if isinstance(error, self._clean_stop_exception_types) else error

    def should_stop(self) -> bool:
        """Whether somebody asked to stop."""
        return self._stop_event.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until somebody asks to stop; returns whether that came before the time limit."""
        return self._stop_event.wait(None if timeout is None else _as_seconds(timeout, "timeout"))

    def clear_stop(self) -> None:
        """Forgets that somebody asked to stop, and the exception reported, to begin again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop_event.clear()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A context that turns an exception into a request to stop, with this exception as the reason."""
        try:
            yield
        except BaseException:
            self.request_stop(ex=sys.exc_info())

    def raise_requested_exception(self) -> None:
        """Raises the exception that was reported, if any was."""
        with self._lock:
            if self._error is not None:
                raise self._error

    @property
    def requested_exception(self) -> BaseException | None:
        """The exception that was reported, if any was."""
        return self._error

    # Waiting for the end.

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread that `join` waits for."""
        with self._lock:
            self._registered_threads.add(_as_thread(thread))

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until all threads are over, or until somebody asked to stop and the grace period has passed.

        Args:
            threads: Threads to wait for, besides those that were registered.
            stop_grace_period_secs: How long to wait for threads after the request to stop.
            ignore_live_threads: Whether threads that still run then are let be.

        Raises:
            RuntimeError: threads still run when the grace period has passed.
            Exception: what was reported to `request_stop`.
        """
        seconds = _as_seconds(stop_grace_period_secs, "stop_grace_period_secs")
        given = [] if threads is None else [_as_thread(thread) for thread in listed(threads, "threads")]
        with self._lock:
            waiting = self._registered_threads.union(given)
        while any(thread.is_alive() for thread in waiting) and not self.wait_for_stop(0.05):
            pass
        _wait_for(waiting, seconds)
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._error is not None:
                raise self._error
        _check_over(waiting, ignore_live_threads)


def _as_exception_types(types: object) -> tuple[type[BaseException], ...]:
    found = listed(types, "exception classes")
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in found):
        raise DTypeError(f"clean_stop_exception_types is a tuple of exception classes, got {shown(types)}.")
    return tuple(found)


def _as_thread(thread: Any) -> threading.Thread:
    if not callable(getattr(thread, "is_alive", None)) or not callable(getattr(thread, "join", None)):
        raise DTypeError(f"A coordinator waits for threads, got {shown(thread)}.")
    return thread  # type: ignore[no-any-return]


def _as_seconds(seconds: Any, name: str) -> float:
    """A time to wait; more than the system can wait for stands for as long as it can."""
    number = as_float(seconds, name)
    if math.isnan(number):
        raise ArgumentError(f"{name} is a number of seconds, got {number}.")
    return min(number, threading.TIMEOUT_MAX)


def _wait_for(threads: Iterable[threading.Thread], seconds: float) -> None:
    """Waits for threads, for so many seconds in all."""
    end = time.monotonic() + seconds
    for thread in threads:
        if thread.is_alive():
            thread.join(max(0.0, end - time.monotonic()))


def _check_over(threads: Iterable[threading.Thread], ignore: bool) -> None:
    running = sorted(thread.name for thread in threads if thread.is_alive())
    if not running:
        return
    text = f"Coordinator stopped with threads still running: {' '.join(running)}"
    if not ignore:
        raise StateError(text)
    _logger.info(text)


@export(v1="train.LooperThread")
class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator stops.

    Args:
        coord: The coordinator.
        timer_interval_secs: The time between calls; None for none at all.
        target: The function; a subclass may override `run_loop` instead.
        args: Its arguments.
        kwargs: Its keyword arguments.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ArgumentError(f"'coord' argument must be a Coordinator: {coord}")
        if target is not None and not callable(target):
            raise DTypeError(f"The target of a LooperThread is a function, got {shown(target)}.")
        if not isinstance(kwargs, (Mapping, type(None))):
            raise DTypeError(f"Keyword arguments come as a dictionary, got {shown(kwargs)}.")
        interval = timer_interval_secs
        super().__init__(daemon=True)
        self._coord = coord
        self._timer_interval_secs = None if interval is None else _as_seconds(interval, "timer_interval_secs")
        self._loop_target = target
        self._loop_args = () if args is None else tuple(listed(args, "arguments"))
        self._loop_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Makes such a thread and starts it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Runs the loop; an exception stops the coordinator."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                self._run_on_time(self._timer_interval_secs)
            self.stop_loop()

    def _run_on_time(self, interval: float) -> None:
        due = time.monotonic()  # the first call comes at once
        while not self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
            due += interval
            self.run_loop()

    def start_loop(self) -> None:
        """Called once, in the thread, before the loop."""

    def stop_loop(self) -> None:
        """Called once, in the thread, after the loop."""

    def run_loop(self) -> None:
        """One iteration of the loop."""
        if self._loop_target is not None:
            self._loop_target(*self._loop_args, **self._loop_kwargs)


__all__ = ["Coordinator", "LooperThread"]
