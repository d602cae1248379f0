"""Repeated structure in a long sequence of calls: where to split it, so that one compiled function serves many pieces.

    a b c d | e f g | e f g | e f g | h i        cells of a recurrent network, blocks of a transformer
    plain     three equal pieces      plain      compiled: 4 + 3 + 2 calls rather than 15

Compile time grows with the number of calls, so repeated parts are compiled once and called several times. Nothing is
fused across a split, and values that cross it go through memory, so short sequences are not split (`regions.WHOLE`).

A *run* is a stretch in which each call is of the same *kind* as the one a *period* before it: the same op, of tensors
laid out alike. Periods are found by hashes of neighbourhoods, four calls long: how far back the last ones like it
stood. The runs that save most are taken first. Some calls of a run differ each time in a constant (``x[:, t]``): of the
same kind, but not *exactly* alike. They are moved before the run, if they use nothing of it, or after it, if
nothing in it uses their results; otherwise it is not a run. Repetitions are joined until a piece has
`least` calls, as each call of a piece costs something too, and cut where the fewest values go from one call of a period
to the next.

Everything here works on integers: positions in the sequence, and equivalence classes of calls. The time is linear in
the length of the sequence times the logarithm of the number of runs, and the result is deterministic.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType, MethodType

import numpy as np
import torch

NEIGHBOURS = 4  # calls: what is hashed to find periods
LOOK_BACK = 4  # occurrences: blocks may have equal parts inside
PERIODS = 16  # of one sequence, the most frequent ones
SAVED = 48  # calls that a run must save


@dataclass(frozen=True)
class Row:
    """A sequence of calls, by position.

    Attributes:
        kinds: The kind of each call: equal ones may be one function of other values.
        exact: The same with everything that is compiled in: equal ones are one function.
        takes: The earlier positions whose results each call uses.
        movable: Whether a call may run earlier or later, as far as its inputs and uses allow.
    """

    kinds: Sequence[Hashable]
    exact: Sequence[Hashable]
    takes: Sequence[Sequence[int]]
    movable: Sequence[bool]


@dataclass(frozen=True)
class Run:
    """A part of a sequence that repeats: `count` times `period` calls from `start` on."""

    start: int
    period: int
    count: int

    @property
    def end(self) -> int:
        """The position after it."""
        return self.start + self.period * self.count

    @property
    def saved(self) -> int:
        """The number of calls that need not be compiled."""
        return self.period * (self.count - 1)


def pieces(row: Row, least: int, longest: int) -> list[list[int]]:
    """The positions in pieces that can run one after the other; those of a run are equal.

    Args:
        row: The row.
        least: The number of calls that a piece of a run should have.
        longest: The number of calls that a piece may have.
    """
    found: list[list[int]] = []
    plain: list[int] = []  # since the last run
    done = 0
    for run in runs(row.kinds):
        run = _rotated(row, run)
        moved = _differing(row, run)
        if moved is None:
            continue
        early, late = moved
        each = max(1, -(-least // max(1, run.period - len(early | late) // run.count)))  # repetitions per piece
        if run.count // each < 2:
            continue
        end = run.start + run.count // each * each * run.period
        plain += [*range(done, run.start), *sorted(place for place in early if place < end)]
        found += _in_lengths(plain, longest)
        for start in range(run.start, end, each * run.period):
            inside = [p for p in range(start, start + each * run.period) if p not in early and p not in late]
            found += _in_lengths(inside, longest)
        plain, done = sorted(place for place in late if place < end), end
    return found + _in_lengths([*plain, *range(done, len(row.kinds))], longest)


def _in_lengths(places: Sequence[int], longest: int) -> list[list[int]]:
    return [list(places[start : start + longest]) for start in range(0, len(places), longest)]


# Runs.


def runs(kinds: Sequence[Hashable]) -> list[Run]:
    """The runs of a sequence that are worthwhile, in order, without overlaps."""
    known: dict[Hashable, int] = {}
    numbers = [known.setdefault(kind, len(known)) for kind in kinds]
    queue: list[tuple[int, int, int, int]] = []  # minus the saving, period, start, count
    for period in _periods(numbers):
        start = 0
        for place in range(len(numbers) - period + 1):
            if place == len(numbers) - period or numbers[place] != numbers[place + period]:
                _push(queue, start, place - start + period, period)
                start = place + 1
    taken: list[Run] = []  # in order
    while queue:
        _, period, start, count = heapq.heappop(queue)
        run = Run(start, period, count)
        place = bisect_left(taken, run.end, key=lambda other: other.start)  # runs that begin before its end
        over = taken[place - 1] if place and taken[place - 1].end > run.start else None
        if over is None:
            taken.insert(place, run)
        else:  # the rest of it, before and after
            _push(queue, run.start, over.start - run.start, period)
            _push(queue, over.end, run.end - over.end, period)
    return taken


def _push(queue: list[tuple[int, int, int, int]], start: int, length: int, period: int) -> None:
    count = length // period
    if count >= 2 and period * (count - 1) >= SAVED:
        heapq.heappush(queue, (-period * (count - 1), period, start, count))


def _periods(numbers: Sequence[int]) -> list[int]:
    """The distances between equal neighbourhoods, the most frequent first."""
    before: dict[tuple[int, ...], list[int]] = {}
    votes: Counter[int] = Counter()
    for place in range(len(numbers) - NEIGHBOURS + 1):
        places = before.setdefault(tuple(numbers[place : place + NEIGHBOURS]), [])
        votes.update(place - other for other in places)
        places.append(place)
        del places[:-LOOK_BACK]
    return sorted(votes, key=lambda period: (-votes[period], period))[:PERIODS]


def _rotated(row: Row, run: Run) -> Run:
    """The run, shifted to where the fewest values cross from one call to another less than a period away."""
    if run.count < 3:
        return run
    begin, period = run.start, run.period  # counted in the middle of three repetitions
    change = [0] * (3 * period + 1)  # of the number of crossing values, from one position to the next
    for place in range(begin, begin + 3 * period):
        for other in row.takes[place]:
            if begin <= other and place - other < period:
                change[other + 1 - begin] += 1
                change[place + 1 - begin] -= 1
    crossing = list(itertools.accumulate(change))[period : 2 * period]
    best = min(range(period), key=lambda shift: (crossing[shift], shift))
    return run if not best else Run(begin + best, period, run.count - 1)


def _differing(row: Row, run: Run) -> tuple[set[int], set[int]] | None:
    """The positions in a run whose calls differ between repetitions: those to move before it, and those after it.

    None if one of them can move neither way.
    """
    differing: set[int] = set()
    for offset in range(run.period):
        places = range(run.start + offset, run.end, run.period)
        if len({row.exact[place] for place in places}) > 1:
            differing.update(places)
    early: set[int] = set()
    for place in sorted(differing):
        if row.movable[place] and all(other < run.start or other in early for other in row.takes[place]):
            early.add(place)
    taken: dict[int, list[int]] = {}
    for place in range(run.start, run.end):
        for other in row.takes[place]:
            taken.setdefault(other, []).append(place)
    late: set[int] = set()
    for place in sorted(differing - early, reverse=True):
        if not row.movable[place] or not late.issuperset(taken.get(place, ())):
            return None
        late.add(place)
    return early, late


# Equality of functions.


def identity(value: object) -> Hashable:
    """A key that is equal for functions that do the same, and for equal constants.

    A function is identified by its code and its closure. Something that cannot be compared is only equal to itself, and
    is kept alive by the key, so that its id is not reused.
    """
    if isinstance(value, partial):
        bound = tuple([(name, identity(each)) for name, each in sorted(value.keywords.items())])
        return partial, identity(value.func), identity(value.args), bound
    if isinstance(value, MethodType):
        return MethodType, identity(value.__func__), _Itself(value.__self__)
    if isinstance(value, FunctionType):
        cells = tuple([identity(cell.cell_contents) for cell in value.__closure__ or ()])
        defaults = identity(value.__defaults__), identity(value.__kwdefaults__)
        return FunctionType, value.__code__, cells, defaults, _Itself(value.__globals__)
    if isinstance(value, torch.Tensor) and value.numel() <= _COMPARED:
        return torch.Tensor, value.dtype, value.shape, value.device, identity(value.tolist())
    if isinstance(value, (np.ndarray, np.generic)) and value.size <= _COMPARED and value.dtype != object:
        return np.ndarray, value.dtype, value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), tuple(map(identity, value))
    if isinstance(value, dict):
        return dict, tuple([(identity(key), identity(each)) for key, each in value.items()])
    if isinstance(value, slice):
        return slice, identity((value.start, value.stop, value.step))
    if isinstance(value, (float, complex)):
        return type(value), repr(value)  # -0.0 differs from 0.0, and NaNs are equal
    return (type(value), value) if isinstance(value, _PLAIN) else _Itself(value)


_COMPARED = 8  # elements
_PLAIN = (bool, int, str, bytes, torch.dtype, torch.device, type(None))


class _Itself:
    """Stands for an object that is equal to itself alone."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
