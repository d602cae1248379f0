"""The ready queue: which calls of a plan can start, and which thread runs them.

Every call waits for the producers of its inputs and for its control inputs. When a call finishes, those that were
waiting only for it become ready. The same thread continues with the cheap ones, or with one slow call if
there is no cheap one; other slow calls are queued for any free thread.

`runtime.run.threads` runs plans by these rules. `rounds` simulates them, to
forecast memory; since the duration of calls is not known in advance, it is one of many possible orders:

    two threads     round 1   a1 b1        a1 = MatMul ...
                    round 2   a2 b2
                    round 3   c1 a3
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

CHEAP, SLOW, BLOCKING = "cheap", "slow", "blocking"  # a blocking call may wait for another run
Work = list[int]  # the numbers of calls that one thread runs, one after the other


class Ready:
    """The calls of one run that have started or may start. Not thread-safe: callers hold a lock.

    Args:
        kinds: The kind of each call: cheap, slow or blocking.
        dependencies: The calls that each call waits for.
    """

    __slots__ = ("kinds", "left", "next", "waits")

    def __init__(self, kinds: Sequence[str], dependencies: Sequence[set[int]]) -> None:
        self.kinds = kinds
        self.waits = [len(first) for first in dependencies]
        self.next: list[list[int]] = [[] for _ in kinds]
        for number, first in enumerate(dependencies):
            for other in first:
                self.next[other].append(number)
        self.left = len(kinds)

    def again(self) -> Ready:
        """The same calls for another run, of which none has started."""
        other = Ready.__new__(Ready)
        other.kinds, other.next = self.kinds, self.next
        other.waits, other.left = list(self.waits), self.left
        return other

    def first(self) -> list[Work]:
        """The work that may start at once."""
        return self.pieces([number for number, count in enumerate(self.waits) if count == 0])

    def end(self, number: int) -> list[int]:
        """Records the end of a call; returns the calls that are ready now."""
        ready = []
        for other in self.next[number]:
            self.waits[other] -= 1
            if not self.waits[other]:
                ready.append(other)
        self.left -= 1
        return ready

    def go_on(self, todo: deque[int], ready: list[int]) -> list[Work]:
        """Adds the ready calls that a thread takes itself to its work; returns the rest, for others."""
        cheap = [number for number in ready if self.kinds[number] == CHEAP]
        others = [number for number in ready if self.kinds[number] != CHEAP]
        if not todo and not cheap:
            own = next((number for number in others if self.kinds[number] == SLOW), None)
            if own is not None:
                others.remove(own)
                todo.append(own)
        todo += cheap
        return self.pieces(others)

    def pieces(self, ready: list[int]) -> list[Work]:
        """Ready calls as pieces of work: the cheap ones together, and each other one separately."""
        cheap = [number for number in ready if self.kinds[number] == CHEAP]
        return [*([cheap] if cheap else []), *([number] for number in ready if self.kinds[number] != CHEAP)]


def rounds(ready: Ready, threads: int) -> list[Work]:
    """The calls in the order in which some threads run them; those in one list run in parallel.

    Slow calls are assumed to take equally long, and cheap ones no time at all.
    """
    made: list[Work] = []
    queue = deque(ready.first())
    busy: list[deque[int]] = [deque() for _ in range(threads)]

    def next_slow(todo: deque[int]) -> int | None:
        while todo or queue:
            if not todo:
                todo += queue.popleft()
            number = todo.popleft()
            if ready.kinds[number] != CHEAP:
                return number
            made.append([number])
            queue.extend(ready.go_on(todo, ready.end(number)))
        return None

    while queue or any(busy):
        found = [(todo, next_slow(todo)) for todo in busy]
        slow = [(todo, number) for todo, number in found if number is not None]
        if slow:
            made.append([number for _, number in slow])
        for todo, number in slow:
            queue.extend(ready.go_on(todo, ready.end(number)))
    return made
