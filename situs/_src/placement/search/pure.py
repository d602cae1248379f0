"""Annealing in pure Python: the same as ``fast.c``, with the same placements for the same seed.

A run starts from a placement of blocks and tries moves, one after the other:

    35 %  a block to the device of a neighbour               12 %  a block to any device
    10 %  two blocks are swapped                             25 %  an interval of an order to the device at either end
    18 %  a block and neighbours of the same device, grown in breadth, to another device

A move is accepted if it improves the value, or at random if the loss is small relative to the temperature, which falls
from `Schedule.warm` to `Schedule.cold`. Memory over a limit is a penalty whose weight rises. The acceptance threshold
is drawn before a move is evaluated, so that an evaluation stops as soon as it is exceeded. ``max_load`` is evaluated
incrementally, and as a norm of all loads rather than the largest, which most moves do not change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

from situs._src.placement.search.flat import Flat, Ints, rows_of
from situs._src.placement.search.problem import Objective
from situs._src.placement.search.schedule import Found, Schedule
from situs._src.placement.search.simulate import INFINITY, Latency, MaxLoad, Step

LOOK_EVERY = 64
SUM_EVERY = 100_000
_MASK = (1 << 64) - 1


class Chance:
    """The random number generator (splitmix64) that C and Python share."""

    def __init__(self, seed: int) -> None:
        self.state = seed & _MASK

    def next(self) -> int:
        """64 random bits."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return ((self.next() >> 32) * n) >> 32

    def unit(self) -> float:
        """A number from 0 to 1, without 1."""
        return (self.next() >> 11) * (1.0 / 9007199254740992.0)


class Moves:
    """Proposes moves: lists of (block, device)."""

    def __init__(self, flat: Flat, chance: Chance) -> None:
        self.chance = chance
        self.count = flat.blocks
        self.orders = flat.orders
        self.order, self.position = flat.order.tolist(), flat.position.tolist()
        self.candidates = rows_of(flat.candidate_start, flat.candidate)
        self.near = rows_of(flat.near_start, flat.near)

    def propose(self, place: list[int]) -> list[tuple[int, int]]:
        """The next move; empty if it would change nothing."""
        chance, n = self.chance, self.count
        b = chance.below(n)
        kind = chance.below(100)
        if kind < 35:
            wanted = [(b, self._near_device(place, b))]
        elif kind < 47:
            wanted = [(b, self._some_device(b))]
        elif kind < 57:
            c = chance.below(n)
            wanted = [(b, place[c]), (c, place[b])]
        elif kind < 82:
            wanted = self._stretch(place, b)
        else:
            wanted = self._region(place, b)
        return [(c, d) for c, d in wanted if place[c] != d and d in self.candidates[c]]

    def _some_device(self, b: int) -> int:
        found = self.candidates[b]
        return found[self.chance.below(len(found))]

    def _near_device(self, place: list[int], b: int) -> int:
        near = self.near[b]
        return place[near[self.chance.below(len(near))]] if near else self._some_device(b)

    def _stretch(self, place: list[int], b: int) -> list[tuple[int, int]]:
        chance, n = self.chance, self.count
        which = chance.below(self.orders)
        order, first = self.order[which], self.position[which][b]
        most = 1 << chance.below(9)
        last = min(first + 1 + chance.below(min(most, n)), n)
        side = chance.below(3)
        if side == 0 and first > 0:
            d = place[order[first - 1]]
        elif side == 1 and last < n:
            d = place[order[last]]
        else:
            d = self._some_device(b)
        return [(c, d) for c in order[first:last]]

    def _region(self, place: list[int], b: int) -> list[tuple[int, int]]:
        chance = self.chance
        most, source = 2 << chance.below(7), place[b]
        d = self._near_device(place, b) if chance.below(2) else self._some_device(b)
        queue, seen, at = [b], {b}, 0
        while at < len(queue):
            for e in self.near[queue[at]]:
                if len(queue) >= most:
                    break
                if e in seen or place[e] != source:
                    continue
                seen.add(e)
                if chance.below(8):
                    queue.append(e)
            at += 1
        return [(c, d) for c in queue]


def evaluate(flat: Flat, objective: Objective, place: Ints) -> Found:
    """The value of a placement of blocks."""
    return _evaluator(flat, objective)(place.tolist())


def _evaluator(flat: Flat, objective: Objective) -> Callable[[list[int]], Found]:
    """The evaluator of placements of blocks."""
    if objective == "max_load":
        load = MaxLoad(flat)

        def largest(place: list[int]) -> Found:
            load.begin(place)
            return Found(*load.value(), 1)

        return largest
    model: Step | Latency = Step(flat) if objective == "step" else Latency(flat)
    return lambda place: Found(*model.run(_spread(flat, place)), 1)


def every(flat: Flat, objective: Objective) -> tuple[list[int], Found]:
    """The best of all placements of blocks, the first among equals, and its value."""
    best: tuple[list[int], Found] | None = None
    value = _evaluator(flat, objective)
    for place in product(*rows_of(flat.candidate_start, flat.candidate)):
        found = value(list(place))
        if best is None or found.rank < best[1].rank:
            best = list(place), found
    assert best is not None, "every block has a device"
    return best


def anneal(flat: Flat, schedule: Schedule, place: Ints, stop: Ints) -> Found:
    """Improves a placement of blocks.

    Args:
        flat: The problem.
        schedule: The number of moves, and the temperatures.
        place: The starting point; afterwards the best placement found.
        stop: One number; the run ends soon after it is not 0.
    """
    run: Callable[[Flat, Schedule, Ints, Ints], Found]
    run = _anneal_load if schedule.objective == "max_load" else _anneal_whole
    return run(flat, schedule, place, stop)


def _anneal_whole(flat: Flat, schedule: Schedule, place: Ints, stop: Ints) -> Found:
    model: Step | Latency = Step(flat) if schedule.objective == "step" else Latency(flat)
    blocks = rows_of(flat.block_start, flat.block_node)
    chance = Chance(schedule.seed)
    moves = Moves(flat, chance)
    now: list[int] = place.tolist()
    dev = _spread(flat, now)
    value, excess = model.run(dev)
    scale = value if 0 < value < INFINITY else 1.0
    found = Found(value, excess)
    tried = 0
    for temperature, weight in _cooling(schedule):
        if tried % LOOK_EVERY == 0 and stop[0]:
            break
        tried += 1
        move = moves.propose(now)
        luck = chance.unit()
        if not move:
            continue
        # The move is accepted below this; an evaluation that exceeds it may stop.
        most = value + scale * (weight * excess - temperature * math.log(luck + 1e-300))
        for b, d in move:
            for v in blocks[b]:
                dev[v] = d
        its_value, its_excess = model.run(dev, most)
        if value == INFINITY or (its_value < INFINITY and its_value + scale * weight * its_excess <= most):
            value, excess = its_value, its_excess
            for b, d in move:
                now[b] = d
            if Found(value, excess).rank < found.rank:
                found = Found(value, excess)
                place[:] = now
        else:
            for b, _ in move:
                for v in blocks[b]:
                    dev[v] = now[b]
    return Found(found.value, found.excess, tried)


def _anneal_load(flat: Flat, schedule: Schedule, place: Ints, stop: Ints) -> Found:
    model = MaxLoad(flat)
    chance = Chance(schedule.seed)
    moves = Moves(flat, chance)
    now: list[int] = place.tolist()
    model.begin(now)
    value, excess = model.value()
    scale = 1.0 / value if value > 0 else 1.0
    level = _energy(model, scale, schedule.doublings)
    found = Found(value, excess)
    tried = 0
    for temperature, weight in _cooling(schedule):
        if tried % LOOK_EVERY == 0 and stop[0]:
            break
        if tried % SUM_EVERY == SUM_EVERY - 1:
            model.begin(now)  # sums of differences accumulate errors
        tried += 1
        move = moves.propose(now)
        luck = chance.unit()
        if not move:
            continue
        back = []
        for b, d in move:
            back.append((b, now[b]))
            model.shift(b, d)
        its_value, its_excess = model.value()
        its_level = _energy(model, scale, schedule.doublings)
        if its_level + weight * its_excess <= level + weight * excess - temperature * math.log(luck + 1e-300):
            value, excess, level = its_value, its_excess, its_level
            if Found(value, excess).rank < found.rank:
                found = Found(value, excess)
                place[:] = now
        else:
            for b, d in reversed(back):
                model.shift(b, d)
    return Found(found.value, found.excess, tried)


def _cooling(schedule: Schedule) -> Iterator[tuple[float, float]]:
    """The temperature and the weight of the memory penalty, for each move."""
    temperature, weight = schedule.warm, schedule.soft
    steps = schedule.moves - 1
    cool = math.exp(math.log(schedule.cold / schedule.warm) / steps) if steps > 0 else 1.0
    harden = math.exp(math.log(schedule.hard / schedule.soft) / steps) if steps > 0 else 1.0
    for _ in range(schedule.moves):
        yield temperature, weight
        temperature *= cool
        weight *= harden


def _energy(model: MaxLoad, scale: float, doublings: int) -> float:
    total = 0.0
    for load in model.load:
        x = load * scale
        x = x * x * x
        for _ in range(doublings):
            x = x * x
        total += x
    return math.log(total + 1e-300) / (3 << doublings)


def _spread(flat: Flat, place: list[int]) -> list[int]:
    dev = [0] * flat.nodes
    for b, block in enumerate(rows_of(flat.block_start, flat.block_node)):
        for v in block:
            dev[v] = place[b]
    return dev
