"""What outlives a run: the variables, queues and counters of one session; and the state of one run.

Kernels that declare a parameter ``run`` get the `Run`; through it they reach the session's state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.base.errors import CancelledError, DeadlineExceededError
from situs._src.base.streams import Position, Stream
from situs._src.runtime.eager.cell import Cell


class State:
    """The state of a session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._cells: dict[str, Cell] = {}
        self._resources: dict[str, Any] = {}
        self._counts: Counter[str] = Counter()
        self._streams = Streams()
        self.closed = locks.event()

    def cell(self, name: str, make: Callable[[], Cell]) -> Cell:
        """The cell of a variable, created at first use."""
        found = self._cells.get(name)
        if found is None:
            with self._lock:
                found = self._cells.get(name) or self._cells.setdefault(name, make())
        return found

    def find_cell(self, name: str) -> Cell | None:
        """The cell of a variable, if it has one already."""
        return self._cells.get(name)

    def bytes_on(self, names: Iterable[str]) -> dict[Device, int]:
        """The bytes that the values of some variables take on each device."""
        found: Counter[Device] = Counter()
        for name in names:
            cell = self._cells.get(name)
            value = None if cell is None else cell.value
            if cell is not None and value is not None:
                found[cell.place.device] += int(getattr(value, "nbytes", 0))
        return dict(found)

    def has_cell(self, name: str) -> bool:
        """Whether a variable has a cell already."""
        return name in self._cells

    def resource(self, name: str, make: Callable[[], Any]) -> Any:
        """A named resource of a session, such as a queue; created at first use."""
        with self._lock:
            if name not in self._resources:
                self._resources[name] = make()
            return self._resources[name]

    def resources(self) -> list[Any]:
        """All resources that were created."""
        with self._lock:
            return list(self._resources.values())

    def count(self, name: str) -> int:
        """How often this was called before with the same name."""
        with self._lock:
            self._counts[name] += 1
            return self._counts[name] - 1

    @property
    def streams(self) -> Streams:
        """The streams of random numbers of its operations."""
        return self._streams


class Streams:
    """The random streams of the operations of a graph; those in a function are separate for each of its calls.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._streams: WeakKeyDictionary[Any, Stream] = WeakKeyDictionary()  # by operation
        self._inside: WeakKeyDictionary[Any, Streams] = WeakKeyDictionary()  # by the operation that calls

    def of(self, node: object, begin: Position) -> Stream:
        """The stream of an operation, which begins with its first draw."""
        with self._lock:
            found = self._streams.get(node)
            if found is None:
                found = self._streams[node] = Stream(begin)
            return found

    def inside(self, call: object) -> Streams:
        """The streams of the operations in a function, for one calling operation."""
        with self._lock:
            found = self._inside.get(call)
            if found is None:
                found = self._inside[call] = Streams()
            return found


class Run:
    """One run: the state it works on, and whether it was cancelled."""

    __slots__ = ("_deadline", "_stopped", "on_stop", "state", "streams")

    def __init__(self, state: State) -> None:
        self.state = state
        self.streams = state.streams
        self._stopped = False
        self._deadline = ""  # the message if the time limit was the reason
        self.on_stop: list[Callable[[], None]] = []  # wakes blocking kernels

    @property
    def stopped(self) -> bool:
        """Whether blocking kernels should give up."""
        return self._stopped or self.state.closed.is_set()

    def stop(self, reason: Exception) -> None:
        """Cancels the run: calls that have not begun do not begin, and those that wait are woken."""
        if isinstance(reason, DeadlineExceededError):  # not the error itself: it holds frames, which hold this run
            self._deadline = str(reason)
        self._stopped = True
        for wake in list(self.on_stop):
            wake()

    def inside(self, call: object) -> Run:
        """The run inside a function that an operation calls: with separate random streams."""
        return _RunInside(self, self.streams.inside(call))

    def check(self) -> None:
        """Raises if the run was cancelled.

        Raises:
            CancelledError: the session was closed, or another part of the run failed.
            DeadlineExceededError: the time limit passed.
        """
        if self._stopped and self._deadline:
            raise DeadlineExceededError(self._deadline)
        if self.stopped:
            raise CancelledError("The run was cancelled: its session was closed, or another part of it failed.")


class _RunInside(Run):
    """A run inside a function: the same, but for the random streams."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Run, streams: Streams) -> None:
        self._outer = outer
        self.state, self.streams, self.on_stop = outer.state, streams, outer.on_stop

    @property
    def stopped(self) -> bool:
        """Whether blocking kernels should give up."""
        return self._outer.stopped

    def stop(self, reason: Exception) -> None:
        """Cancels the whole run."""
        self._outer.stop(reason)

    def check(self) -> None:
        """Raises if the whole run was cancelled."""
        self._outer.check()
