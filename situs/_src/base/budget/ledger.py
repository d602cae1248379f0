"""The ledger: the exact memory use of each GPU's tensors, at any moment.

An *account* belongs to one logical GPU (``device.account``; a CPU has none). The unit is a *storage*, the block of
memory behind one or more tensors, which is entered when the first of them is created:

    account.hold(storage, key, size, op, made_at)       entered once, however many views it has
    ... the last tensor that uses it is freed ...        removed, without any callback

A `Holding` is a weak reference, and freeing its storage costs one ``deque.append``: no lock, no Python code, so tensors
may be freed at any time, in any thread. The frees are counted before the next entry is made or read, so `current` is
the sum of live storages whenever it is read, and `peak` is never too small.

Where the driver's allocator serves one device alone it keeps the totals itself (``meter``), and only large tensors are
entered, to be able to report them. Elsewhere (virtual GPUs, several logical GPUs on one physical GPU) every storage is
entered, and one that would exceed the limit is rejected.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ref

from situs._src.base import locks
from situs._src.base.budget import policy
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device

REGION = 2 * 2**20  # what a growing device takes at a time, at least
LISTED_FROM = 64 * 2**10  # bytes: on a GPU with a meter, smaller tensors are in the total only


class LimitReached(MemoryError):  # noqa: N818 -- users never see it: they get a ResourceExhaustedError
    """A tensor does not fit into what its device may still hold.

    ``made`` says what it was, where that is known: the op, the shape, PyTorch's dtype.
    """

    def __init__(self, account: Account, size: int, held: int) -> None:
        super().__init__(f"{size} bytes do not fit on {account.device.name}, where {held} are held")
        self.account = account
        self.size = size
        self.held = held
        self.made: tuple[str, Sequence[int], Any] | None = None


class Usage(NamedTuple):
    """The figures of one device, in bytes: held by tensors now and at most, taken from the GPU, and the bound."""

    current: int
    peak: int
    reserved: int
    limit: int


@dataclass(frozen=True, slots=True)
class Event:
    """A storage that came (`size` above 0) or went (below), in nanoseconds of the system's clock."""

    time: int
    size: int
    op: str
    made_at: Any


class Holding(ref):  # type: ignore[type-arg]
    """One live storage: how large it is, which op made it, and where in the program."""

    __slots__ = ("key", "made_at", "op", "size")

    key: int
    size: int
    op: str
    made_at: Any


Meter = Callable[[], tuple[int, int, int]]  # current, peak, reserved, as an allocator counts them


class Account:
    """What one logical GPU holds.

    ``limit`` and ``growing`` follow the policy; they may change until the account is ``used``.
    """

    def __init__(self, device: Device, limit: int, growing: bool = False) -> None:
        self.device = device
        self.limit = limit
        self.growing = growing  # whether memory is taken from the GPU as it is needed, rather than at first use
        self.listed_from = 0  # bytes: smaller storages are not entered
        self.meter: Meter | None = None
        self.used = False  # whether anything has ever been held
        self._lock = locks.rlock()
        self._gone: deque[Holding] = deque()
        self._holdings: dict[int, Holding] = {}
        self._current = self._peak = 0
        self._torn = False  # while an entry is made or struck out
        self._reserved = 0  # what a virtual GPU has taken from its physical GPU, as a real one would
        self._events: list[Event] | None = None
        self._reset_meter: Callable[[], None] = lambda: None

    def read_from(self, meter: Meter, reset: Callable[[], None]) -> None:
        """Takes the totals from an allocator that serves this device alone; `reset` has it forget its peak."""
        self.meter, self._reset_meter = meter, reset
        self.listed_from = LISTED_FROM if self._events is None else 0

    # Entering.

    def hold(self, storage: Any, key: int, size: int, op: str, made_at: Callable[[], Any]) -> None:
        """Enters a storage, unless it is entered already.

        Args:
            storage: What lives as long as the memory does.
            key: What tells it from other live ones: its address.
            size: How many bytes it has.
            op: The op that made it.
            made_at: Gives the place in the user's program, if it is a new one.

        Raises:
            LimitReached: it does not fit. Nothing is entered.
        """
        with self._lock:
            if self._gone or self._torn:
                self._settle()
            if key in self._holdings or size == 0:
                return
            if self.meter is None and self._current + size > self.limit:
                raise LimitReached(self, size, self._current)
            self._enter(storage, key, size, op, made_at())

    def _enter(self, storage: Any, key: int, size: int, op: str, made_at: Any) -> None:
        self._torn = True
        holding = Holding(storage, self._gone.append)
        holding.key, holding.size, holding.op, holding.made_at = key, size, op, made_at
        if not self.used and not self.growing:
            self._reserved = self.limit
        self.used = True
        self._holdings[key] = holding
        self._current += size
        if self.meter is None:  # else the allocator counts these
            self._peak = max(self._peak, self._current)
            self._reserved = max(self._reserved, min(self.limit, _regions(self._current)))
        if self._events is not None:
            self._note(holding, size)
        self._torn = False

    def rename(self, key: int, op: str) -> None:
        """Says what a storage is now, if it is entered: the value of a variable, rather than what computed it."""
        with self._lock:
            holding = self._holdings.get(key)
            if holding is not None and holding.op != op:
                self._note(holding, -holding.size)
                holding.op = op
                self._note(holding, holding.size)

    def _settle(self) -> None:
        """Strikes out what has gone since."""
        if self._torn:
            self._mend()
        if not self._gone:
            return
        self._torn = True
        while self._gone:
            holding = self._gone.popleft()
            if self._holdings.pop(holding.key, None) is not None:
                self._current -= holding.size
                if self._events is not None:
                    self._note(holding, -holding.size)
        self._torn = False

    def _mend(self) -> None:
        """Counts again: an interrupt at the keyboard has come between two lines that belong together."""
        self._gone.clear()
        self._holdings = {key: holding for key, holding in self._holdings.items() if holding() is not None}
        self._current = sum(holding.size for holding in self._holdings.values())
        self._torn = False

    def _note(self, holding: Holding, size: int) -> None:
        if self._events is not None:
            self._events.append(Event(time.time_ns(), size, holding.op, holding.made_at))

    # Reading.

    @property
    def enters_all(self) -> bool:
        """Whether every storage is entered, however small."""
        return self.listed_from == 0

    def usage(self) -> Usage:
        """What is held now, was held at most, is taken from the GPU, and the bound."""
        with self._lock:
            self._settle()
            if self.meter is not None:
                return Usage(*self.meter(), self.limit)
            return Usage(self._current, self._peak, self._reserved, self.limit)

    def holds(self, key: int) -> bool:
        """Whether a storage is entered."""
        with self._lock:
            self._settle()
            return key in self._holdings

    def holdings(self) -> list[Holding]:
        """Every storage that is entered, oldest first."""
        with self._lock:
            self._settle()
            return list(self._holdings.values())

    def reset_peak(self) -> None:
        """Counts the peak from now on."""
        with self._lock:
            self._settle()
            self._peak = self._current
            self._reset_meter()

    def released(self) -> None:
        """Gives back what a virtual GPU had taken from its GPU and does not use."""
        with self._lock:
            self._settle()
            self._reserved = min(self.limit, _regions(self._current))

    # Recording.

    def record(self) -> None:
        """Notes from now on when storages come and go, the small ones too; what is held now came now."""
        with self._lock:
            self._settle()
            self._events = []
            self.listed_from = 0
            for holding in self._holdings.values():
                self._note(holding, holding.size)

    def recorded(self) -> list[Event]:
        """What was noted since `record`."""
        with self._lock:
            self._settle()
            return list(self._events or ())

    def stop_recording(self) -> list[Event]:
        """Ends `record` and returns what was noted."""
        with self._lock:
            events = self.recorded()
            self._events = None
            self.listed_from = LISTED_FROM if self.meter is not None else 0
        return events


def _regions(size: int) -> int:
    return -(-size // REGION) * REGION


def accounts() -> list[Account]:
    """The accounts of all GPUs, in the order of their numbers."""
    found = [device.account for device in process.devices() if device.account is not None]
    return sorted(found, key=lambda account: account.device.index)


def _open(devices: tuple[Device, ...]) -> None:
    for device in devices:
        if device.type == "GPU" and device.account is None:
            device.account = Account(device, device.memory_limit, policy.of(device).growth)


process.on_start(_open)
