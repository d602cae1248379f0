"""Simulated annealing in rounds, two chains in parallel, each round longer than the one before.

    round 1   from the best starting point     from the best starting point      short: an answer early
    round 2   from the best so far             from the second best              warmer
    round 3   from the best so far             from the third best               colder, longer
    round 4   ...

One chain continues from the best placement, the other restarts elsewhere, to balance exploitation and exploration.
The work is counted in moves, not in seconds, so that the same seed gives the same placement: a budget is converted into
the number of moves that a typical core does in most of it (`moves_in`). If the search is not finished when the
budget is over, the clock ends it; this is reported, and another run may give another result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from situs._src.placement.search import pure
from situs._src.placement.search.compiled import Library, library
from situs._src.placement.search.flat import Flat, Ints
from situs._src.placement.search.problem import Objective
from situs._src.placement.search.schedule import Found, Schedule

CHAINS = 2
FIRST = 400  # moves of the first round
GROWTH = 1.35
# The starting temperatures of rounds, in rotation.
WARM: dict[Objective, tuple[float, ...]] = {
    "step": (0.05, 0.2, 0.01),
    "latency": (0.05, 0.2, 0.01),
    "max_load": (0.02, 0.01, 0.1, 0.004),
}
QUENCHED = 6  # initial rounds that only go downhill, for an early result
QUENCH = 0.002
NORMS = (3, 4, 5)  # doublings
PLANNED = 0.7  # of the budget; the rest is for machines that are slower or busy

# Seconds for what a move looks at, on a usual core: (compiled, Python).
PER_MOVE = (7.0e-7, 6.0e-5)  # largest load
AT_LEAST = (2.0e-7, 5.0e-6)  # what a move takes besides
# Nodes and edges, for each evaluation.
PER_EDGE: dict[Objective, tuple[float, float]] = {"step": (2.5e-9, 3.0e-7), "latency": (7.0e-9, 5.0e-7)}
PER_COPY = (2.0e-9, 4.0e-7)  # tensors by devices, where memory is counted
CACHED = 27_000  # nodes: so many more make each of them as slow again as it is in a small graph


@dataclass(frozen=True)
class Candidate:
    """A placement of blocks, and its value."""

    place: tuple[int, ...]
    found: Found
    name: str


class Clock:
    """The deadline of a search.

    Args:
        seconds: From now; None for never.
    """

    def __init__(self, seconds: float | None) -> None:
        self.start = time.monotonic()
        self.end = None if seconds is None else self.start + seconds
        self.was_cut = False
        self.was_interrupted = False

    @property
    def left(self) -> float | None:
        """Remaining seconds; None for no deadline."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())


class Improver:
    """Evaluates and improves placements of one problem, with compiled code if possible.

    Args:
        flat: The problem.
        objective: What to minimize.
        compiled: The compiled functions; None for Python alone.
    """

    def __init__(self, flat: Flat, objective: Objective, compiled: Library | None) -> None:
        self.flat = flat
        self.objective = objective
        self.compiled = compiled
        self._evaluate = compiled.evaluate if compiled else pure.evaluate
        self._anneal = compiled.anneal if compiled else pure.anneal

    def value(self, place: Sequence[int], name: str) -> Candidate:
        """The value of a placement."""
        array = np.array(place, np.int32)
        return Candidate(tuple(array.tolist()), self._evaluate(self.flat, self.objective, array), name)

    def moves_in(self, seconds: float) -> int:
        """The number of moves that both chains together make in the planned part of a time, each on a typical core."""
        way = 0 if self.compiled else 1
        if self.objective == "max_load":
            each = PER_MOVE[way]
        else:
            flat, objective = self.flat, self.objective
            each = PER_EDGE[objective][way] * (flat.nodes + len(flat.in_tensor))
            if objective == "step" and flat.check_memory:
                each += PER_COPY[way] * flat.tensors * flat.devices
            each = AT_LEAST[way] + each * (1 + (flat.nodes / CACHED if self.compiled else 0.0))
        chains = CHAINS if self.compiled else 1  # Python's threads take turns
        return int(PLANNED * seconds * chains / each)

    def improve(
        self,
        starts: Sequence[Candidate],
        moves: int,
        seed: int,
        clock: Clock,
        better: Callable[[Candidate], None],
        bound: float = 0.0,
    ) -> Candidate:
        """The best placement found in a number of moves.

        Args:
            starts: The starting points, the best first.
            moves: The number of moves, of all chains and rounds together.
            seed: The random seed.
            clock: The deadline.
            better: Called with each better one.
            bound: A value at which nothing is left to gain.
        """
        best = starts[0]
        with ThreadPoolExecutor(CHAINS) as threads:
            for turn, count in enumerate(_rounds(moves)):
                if clock.left == 0.0:
                    clock.was_cut = True
                if clock.was_cut or clock.was_interrupted or self._is_done(best, bound):
                    break
                begin = [best, starts[turn % len(starts)]]
                for candidate in self._round(threads, begin, count, turn, seed, clock):
                    if candidate.found.rank < best.found.rank:
                        best = candidate
                        better(best)
        return best

    def _is_done(self, best: Candidate, bound: float) -> bool:
        nothing_moves = bool((np.diff(self.flat.candidate_start) <= 1).all())
        return nothing_moves or (best.found.excess == 0 and best.found.value <= bound * (1 + 1e-12))

    def _round(
        self, threads: ThreadPoolExecutor, begin: Sequence[Candidate], count: int, turn: int, seed: int, clock: Clock
    ) -> list[Candidate]:
        stop = np.zeros(1, np.int32)
        places = [np.array(start.place, np.int32) for start in begin]
        running = [
            threads.submit(self._anneal, self.flat, self._schedule(count, turn, i, seed), place, stop)
            for i, place in enumerate(places)
        ]
        _wait(running, stop, clock)
        name = f"round {turn + 1}"
        # Sums of differences accumulate errors, so the result is evaluated again.
        return [
            self.value(place.tolist(), name)
            for done, place, start in zip(running, places, begin, strict=True)
            if done.result().rank < start.found.rank
        ]

    def _schedule(self, count: int, turn: int, chain: int, seed: int) -> Schedule:
        own = (seed * 1_000_003 + turn * CHAINS + chain) & 0xFFFFFFFFFFFFFFFF
        warmth, norm = WARM[self.objective], NORMS[(turn + chain) % len(NORMS)]
        warm = QUENCH if turn < QUENCHED else warmth[turn % len(warmth)]
        return Schedule(self.objective, count, own, warm=warm, doublings=norm)


def improver(flat: Flat, objective: Objective) -> Improver:
    """An `Improver`, compiled if it can be."""
    return Improver(flat, objective, library())


def _rounds(moves: int) -> Iterator[int]:
    """Moves of each chain, round by round."""
    left, size = max(1, moves // CHAINS), float(FIRST)
    while left > 0:
        count = left if left < size * (1 + GROWTH) else int(size)
        yield count
        left -= count
        size *= GROWTH


def _wait(running: Sequence[Future[Found]], stop: Ints, clock: Clock) -> None:
    """Waits for a round, and stops it at the deadline or when the user interrupts."""
    try:
        late = wait(running, timeout=clock.left).not_done
        clock.was_cut = bool(late)
    except KeyboardInterrupt:
        clock.was_interrupted = True
        late = set(running)
    if late:
        stop[0] = 1
        wait(running)
