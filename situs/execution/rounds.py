"""Which calls run at a time where a plan runs on a pool of threads, if all slow ones take equally long.

The rules are those of `situs.execution.parallel`: a thread goes on with what its last call made ready, cheap calls
first; the rest waits for a free thread.

    two threads     round 1   a1 b1        a1 = MatMul ...
                    round 2   a2 b2
                    round 3   c1 a3

How long calls take is not known before they run, so this is one order of many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from situs.execution.parallel import Schedule


def rounds_of(schedule: Schedule) -> list[list[int]]:
    """The calls of a schedule in the order in which they run; those in one list run side by side."""
    return _Rounds(schedule).run()


class _Rounds:
    """A pool in the making of one run."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.waits = list(schedule.waits)
        self.queue: deque[deque[int]] = deque()
        self.threads: list[deque[int]] = [deque() for _ in range(schedule.pool.size)]
        self.rounds: list[list[int]] = []

    def run(self) -> list[list[int]]:
        """Runs everything."""
        self._start(number for number, count in enumerate(self.waits) if count == 0)
        while self.queue or any(self.threads):
            found = [(todo, self._next_slow(todo)) for todo in self.threads]
            slow = [(todo, number) for todo, number in found if number is not None]
            if slow:
                self.rounds.append([number for _, number in slow])
            for todo, number in slow:
                self._done(todo, number)
        return self.rounds

    def _next_slow(self, todo: deque[int]) -> int | None:
        """The next slow call of a thread, after the cheap ones before it; None if there is nothing to do."""
        while todo or self.queue:
            if not todo:
                todo += self.queue.popleft()
            number = todo.popleft()
            if not self._is_cheap(number):
                return number
            self.rounds.append([number])
            self._done(todo, number)
        return None

    def _done(self, todo: deque[int], number: int) -> None:
        ready = []
        for other in self.schedule.next[number]:
            self.waits[other] -= 1
            if not self.waits[other]:
                ready.append(other)
        cheap = [other for other in ready if self._is_cheap(other)]
        slow = [other for other in ready if not self._is_cheap(other)]
        if slow and not todo and not cheap:
            todo.append(slow.pop(0))
        todo += cheap
        self._start(slow)

    def _start(self, ready: Iterable[int]) -> None:
        ready = list(ready)
        cheap = deque(number for number in ready if self._is_cheap(number))
        if cheap:
            self.queue.append(cheap)
        self.queue += [deque([number]) for number in ready if not self._is_cheap(number)]

    def _is_cheap(self, number: int) -> bool:
        return self.schedule.kinds[number] == "cheap"
