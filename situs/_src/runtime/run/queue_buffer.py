"""Buffers, the implementation of queues. Threads put elements in, take them out, and block if they must.

A call that cannot proceed waits in line, producers in one line and consumers in another:

    put(c) put(b)  -->  [ elements ]  -->  take(2) take(1)

Only the first of a line acts, and it acts as far as it can, so calls are not overtaken and the elements of one call
stay together. Closing is an entry in the producers' line: it comes after those that were there before. A buffer knows
nothing about tensors; elements can be anything.
"""

from __future__ import annotations

import heapq
import os
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from situs._src.base import locks
from situs._src.base.errors import CancelledError, InvalidArgumentError, OpError, OutOfRangeError

if TYPE_CHECKING:
    from situs._src.runtime.run.state import Run

Element = Any


class Buffer:
    """A first-in, first-out buffer.

    Args:
        name: Its name in messages.
        capacity: How many elements it holds; negative for any number.
        form: The structure of its elements, for comparison when it is shared.

    Example:
        >>> buffer = Buffer("q", 3)
        >>> buffer.put([1, 2, 3])
        >>> buffer.take(2)
        [1, 2]
    """

    kind = "FIFOQueue"

    def __init__(self, name: str, capacity: int, form: Any = None) -> None:
        self.name = name
        self.capacity = capacity
        self.form = form
        self.is_closed = False
        self._lock = locks.lock()
        self._producers: deque[_Act] = deque()
        self._consumers: deque[_Act] = deque()
        self._elements: Any = self._empty()
        _buffers.add(self)

    # Operations.

    def put(self, elements: Iterable[Element], run: Run | None = None) -> None:
        """Puts elements in, in order; blocks while there is no room.

        Raises:
            CancelledError: it is closed, or `run` was cancelled.
        """
        act = _Put(self, deque(elements))
        if act.elements:
            self._do(act, self._producers, run)

    def take(self, count: int, run: Run | None = None, fewer: bool = False) -> list[Element]:
        """Takes elements out; blocks until there are enough.

        Args:
            count: How many.
            run: The run whose cancellation ends the wait; None to wait for ever.
            fewer: Whether to take what is left when the buffer is closed.

        Raises:
            OutOfRangeError: it is closed and has too few elements.
            CancelledError: `run` was cancelled; elements that had been taken are put back.
        """
        act = _Take(self, count, fewer)
        if count:
            self._do(act, self._consumers, run)
        return act.taken

    def close(self, cancel: bool = False, run: Run | None = None) -> None:
        """Accepts no more elements; those in the buffer can be taken out.

        Args:
            cancel: Whether waiting producers fail; else their elements are accepted first.
            run: The run whose cancellation ends the wait.

        Raises:
            CancelledError: it was already closed, and `cancel` is false.
        """
        if not cancel:
            self._do(_Close(self), self._producers, run)
            return
        with self._lock:
            self.is_closed = True
            for act in self._producers:
                act.fail(CancelledError(act.cancelled))
            self._producers.clear()
            self._advance()

    def size(self) -> int:
        """The number of elements."""
        with self._lock:
            return len(self._elements)

    def wake(self) -> None:
        """Wakes the waiters of runs that were cancelled, so that they give up."""
        with self._lock:
            waiting = [*self._producers, *self._consumers]
        for act in waiting:
            if act.run is not None and act.run.stopped:
                self._give_up(act)

    def leave_behind(self) -> None:
        """After ``os.fork``: drops the parent's waiters; elements they had taken are put back."""
        with self._lock:
            for act in (*self._producers, *self._consumers):
                act.undo()
            self._producers.clear()
            self._consumers.clear()

    # Lines.

    def _do(self, act: _Act, line: deque[_Act], run: Run | None) -> None:
        act.run, act.line = run, line
        with self._lock:
            line.append(act)
            self._advance()
        if not act.over:
            self._wait(act)
        if act.given_up:
            act.say_why()
        if act.error is not None:
            raise act.error

    def _advance(self) -> None:
        """Lets the first of each line act until neither can."""
        while _act_in_turn(self._producers) | _act_in_turn(self._consumers):
            pass

    def _wait(self, act: _Act) -> None:
        if act.run is None:
            self._wait_for_signal(act)
            return
        stop = partial(self._give_up, act)
        act.run.on_stop.append(stop)
        try:
            if act.run.stopped:  # cancelled before the line above
                stop()
            self._wait_for_signal(act)
        finally:
            act.run.on_stop.remove(stop)

    def _wait_for_signal(self, act: _Act) -> None:
        try:
            act.signal.wait()
        except BaseException:  # KeyboardInterrupt
            self._give_up(act)
            raise

    def _give_up(self, act: _Act) -> None:
        """Removes an entry from its line and undoes it, unless it has finished: then it has no effect."""
        with self._lock:
            if not act.over:
                act.line.remove(act)
                act.undo()
                act.given_up = act.end()
                self._advance()

    # How elements are stored. The lock is held while these run.

    def _empty(self) -> Any:
        return deque()

    def _room(self) -> bool:
        return self.capacity < 0 or len(self._elements) < self.capacity

    def _available(self) -> int:
        return len(self._elements)

    def _add(self, element: Element) -> None:
        self._elements.append(element)

    def _next(self) -> Element:
        return self._elements.popleft()

    def _put_back(self, elements: Sequence[Element]) -> None:
        self._elements.extendleft(reversed(elements))


class PaddingBuffer(Buffer):
    """A buffer whose elements may differ in size; taking several pads them."""

    kind = "PaddingFIFOQueue"


_at_random = random.SystemRandom().randrange


class ShuffleBuffer(Buffer):
    """A buffer that returns elements at random, and while it is open keeps some to choose from.

    Args:
        name: Its name in messages.
        capacity: How many elements it holds; negative for any number.
        form: The structure of its elements.
        least: The least number of elements that stay in it while it is open.
        choose: Returns an index below a number; at random by default.

    Raises:
        InvalidArgumentError: `least` leaves no room.
    """

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        capacity: int,
        form: Any = None,
        least: int = 0,
        choose: Callable[[int], int] = _at_random,
    ) -> None:
        if least < 0:
            raise InvalidArgumentError(f"min_after_dequeue {least} must be >= 0")
        if 0 <= capacity <= least:
            raise InvalidArgumentError(f"min_after_dequeue {least} must be < capacity {capacity}")
        super().__init__(name, capacity, form)
        self.least = least
        self._choose = choose

    def _empty(self) -> Any:
        return []

    def _available(self) -> int:
        return len(self._elements) - (0 if self.is_closed else self.least)

    def _next(self) -> Element:
        chosen = self._choose(len(self._elements))
        self._elements[chosen], self._elements[-1] = self._elements[-1], self._elements[chosen]
        return self._elements.pop()

    def _put_back(self, elements: Sequence[Element]) -> None:
        self._elements += elements


class PriorityBuffer(Buffer):
    """A buffer that returns the smallest element first, and the oldest among equal ones.

    Args:
        name: Its name in messages.
        capacity: How many elements it holds; negative for any number.
        form: The structure of its elements.
        priority: Returns the number that elements are sorted by.
    """

    kind = "PriorityQueue"

    def __init__(self, name: str, capacity: int, form: Any = None, priority: Callable[[Element], int] = int) -> None:
        super().__init__(name, capacity, form)
        self._priority = priority
        self._latest = 0
        self._earliest = 0

    def _empty(self) -> Any:
        return []

    def _add(self, element: Element) -> None:
        self._latest += 1
        heapq.heappush(self._elements, (self._priority(element), self._latest, element))

    def _next(self) -> Element:
        return heapq.heappop(self._elements)[2]

    def _put_back(self, elements: Sequence[Element]) -> None:
        for element in reversed(elements):
            self._earliest -= 1
            heapq.heappush(self._elements, (self._priority(element), self._earliest, element))


_buffers: WeakSet[Buffer] = WeakSet()


def _leave_behind() -> None:
    for buffer in list(_buffers):
        buffer.leave_behind()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)


# The entries of the lines.


class _Act:
    """A pending operation of a thread on a buffer. `signal` wakes the thread if it waits."""

    cancelled: str

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer
        self.line: deque[_Act] = deque()
        self.run: Run | None = None
        self.over = False
        self.given_up = False
        self.error: OpError | None = None
        self.signal = threading.Event()

    def act(self) -> bool:
        """Proceeds as far as it can now; returns whether it made progress."""
        raise NotImplementedError

    def undo(self) -> None:
        """Undoes what can be undone of an abandoned operation."""

    def say_why(self) -> None:
        """Raises the reason for giving up."""
        if self.run is not None:
            try:
                self.run.check()
            except CancelledError:
                pass
        raise CancelledError(self.cancelled)

    def fail(self, error: OpError) -> bool:
        """Finishes with an error."""
        self.error = error
        return self.end()

    def end(self) -> bool:
        """Finishes, and wakes the thread."""
        self.over = True
        self.signal.set()
        return True


def _act_in_turn(line: deque[_Act]) -> bool:
    changed = False
    while line:
        changed |= line[0].act()
        if not line[0].over:
            break
        line.popleft()
    return changed


class _Put(_Act):
    cancelled = "Enqueue operation was cancelled"

    def __init__(self, buffer: Buffer, elements: deque[Element]) -> None:
        super().__init__(buffer)
        self.elements = elements

    def act(self) -> bool:
        buffer = self.buffer
        if buffer.is_closed:
            return self.fail(CancelledError(f"{buffer.kind} '{buffer.name}' is closed."))
        before = len(self.elements)
        while self.elements and buffer._room():
            buffer._add(self.elements.popleft())
        return len(self.elements) < before if self.elements else self.end()


class _Take(_Act):
    cancelled = "Dequeue operation was cancelled"

    def __init__(self, buffer: Buffer, count: int, fewer: bool) -> None:
        super().__init__(buffer)
        self.left = count
        self.fewer = fewer
        self.taken: list[Element] = []

    def act(self) -> bool:
        buffer = self.buffer
        if buffer.is_closed and buffer._available() < self.left:
            there = len(buffer._elements)
            self.undo()
            if not self.fewer or not buffer._elements:
                return self.fail(
                    OutOfRangeError(
                        f"{buffer.kind} '{buffer.name}' is closed and has insufficient elements (requested "
                        f"{self.left}, current size {there})"
                    )
                )
            self.left = len(buffer._elements)
        before = self.left
        while self.left and buffer._available() > 0:
            self.taken.append(buffer._next())
            self.left -= 1
        return self.left < before if self.left else self.end()

    def undo(self) -> None:
        self.buffer._put_back(self.taken)
        self.taken = []


class _Close(_Act):
    cancelled = "Close operation was cancelled"

    def act(self) -> bool:
        if self.buffer.is_closed:
            return self.fail(CancelledError(f"Queue '{self.buffer.name}' is already closed."))
        self.buffer.is_closed = True
        return self.end()
