"""The search for a placement: reduce, start from all heuristics, improve under a budget, prove if possible.

    check      is there any placement?                           conflict.py; exhaustive if small: every.py
    reduce     nodes to blocks; large graphs to small ones       reduce.py
    start      common heuristics, the fast ones first  seeds.py, lists.py
    improve    rounds of annealing from the best                 improve.py
    finish     a proof, or better, from OR-Tools                 exact.py
    simulate   the result, node by node               simulate.py

The result is never worse than any starting point, including the best single device that fits. It is an anytime search:
an interrupt (Ctrl-C) stops it and returns the best so far.

A budget is in seconds, and yet the same seed gives the same result: the budget is converted to a number of moves by
fixed rates, the same on every machine, for which a typical core needs most of the budget. A slower or busy machine may
reach the end of the budget first; then the clock stops the search, and `Plan.notes` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export
from situs._src.base.progress import working
from situs._src.placement.search import conflict, every, exact
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.placement.search.flat import Blocks, Flat, flatten
from situs._src.placement.search.improve import Candidate, Clock, Improver, improver
from situs._src.placement.search.orders import orders_of
from situs._src.placement.search.plan import Plan, forecast_of
from situs._src.placement.search.problem import OBJECTIVES, Objective, Problem, checked_problem
from situs._src.placement.search.reduce import LARGE, blocks_of, coarsen, groups_of
from situs._src.placement.search.seeds import Rules
from situs._src.placement.search.simulate import simulate

Progress = Callable[[float, str], None]

OPENING = 0.07  # of the budget: improving the best of the fast starting points before the others are computed
BEFORE_PROOF = 0.5  # of the budget, for annealing where OR-Tools goes on from it
KEPT = 3  # starting points that are improved
TABLES = 5e6  # entries of slices' tables, for each second of the budget
DEFAULT = 5.0  # seconds, where a search is given moves in place of a budget
QUICK = 0.05  # of these, for the smallest stand-in of a large graph
SMALLER = 0.6  # of the budget of a large graph, for its stand-ins
FIRST = 0.036  # of that, for the first answer of a stand-in, and as much for what the graph makes of it


@export("placement.search", as_is=True)
def search(
    problem: Problem,
    objective: Objective = "step",
    budget: float = 5.0,
    seed: int = 0,
    previous: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    seeds: Mapping[str, Mapping[str, str]] | None = None,
    moves: int | None = None,
) -> Plan:
    """Finds a placement.

    Args:
        problem: The problem.
        objective: ``step``: the time of one step with transfers overlapping computation. ``latency``, ``max_load``: the
            two models of the published workloads (see `simulate`).
        budget: The seconds that it may take.
        seed: The random seed; the same seed gives the same placement.
        previous: A placement to start from, among others: devices by names of nodes. What does not fit is moved.
        progress: Called with the best value so far and its origin.
        seeds: More placements to start from, by their names in the plan.
        moves: The number of moves, instead of a budget; there is no deadline, and OR-Tools is not used.

    Raises:
        InfeasibleError: no placement satisfies the constraints; it names a minimal conflicting set.
        InvalidArgumentError: an argument is wrong.
    """
    problem = checked_problem(problem)
    if objective not in OBJECTIVES:
        raise ArgumentError(f"The objective must be one of {', '.join(OBJECTIVES)}, got {shown(objective)}.")
    if not 0 <= budget < float("inf"):
        raise ArgumentError(f"The budget must be a number of seconds from 0, got {shown(budget)}.")
    given = {"previous": previous} if previous is not None else {}
    clock = Clock(budget if moves is None else None)
    effort = TABLES * (budget if moves is None else DEFAULT)
    best: list[tuple[float, str]] = []  # the value of the best so far, and its origin

    def note(value: float, what: str) -> None:
        best[:] = [(value, what)]
        if progress is not None:
            progress(value, what)

    def best_so_far() -> str:
        return "best {:.6g} ({})".format(*best[0]) if best else "nothing yet"

    # A sum that is too large for a number is worse than all others, of which nobody need be warned.
    with np.errstate(over="ignore", invalid="ignore"), working("Searching a placement", best_so_far):
        return _Search(problem, objective, seed, note, {**given, **(seeds or {})}, clock, effort).run(budget, moves)


class _Search:
    """One search, from its seeds to its plan."""

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        seed: int,
        progress: Progress | None,
        given: Mapping[str, Mapping[str, str]],
        clock: Clock,
        effort: float,
    ) -> None:
        self.effort = effort
        self.problem = problem
        self.objective = objective
        self.seed = seed
        self.progress = progress
        self.given = given
        self.clock = clock
        self.tried: dict[str, float | None] = {}
        self.single: tuple[str, float] | None = None
        self.notes: list[str] = []
        self.told = float("inf")  # the best value reported to `progress`
        self.bound = bound_of(problem, objective)

    def run(self, budget: float, moves: int | None) -> Plan:
        """The search itself."""
        if not self.problem.nodes:
            return self._plan([], None)
        packed = conflict.check(self.problem, self.objective)
        is_large, is_small = len(self.problem.nodes) > LARGE, every.applies(self.problem)
        blocks = groups_of(self.problem) if is_large or is_small else blocks_of(self.problem)
        level = _Level(self.problem, blocks, self.objective)
        starts = self._starts(level, level.rules.quick())
        if packed is not None:
            starts.append(self._try(level, "packed", [packed[block[0]] for block in level.blocks]))
        starts += [self._try(level, name, level.rules.previous(given)) for name, given in self.given.items()]
        self._report(_best(starts))
        if is_small:
            return self._proven(level)
        opening = level.improver.moves_in(OPENING * budget) if moves is None else int(OPENING * moves)
        starts.append(level.improver.improve([_best(starts)], opening, self.seed, self.clock, self._report, self.bound))
        if is_large:
            starts += self._from_smaller(level, SMALLER * budget, moves)
            budget *= 1 - SMALLER
        else:
            starts += self._starts(level, level.rules.thorough(self.objective, self.effort))
        starts = sorted({each.found.rank: each for each in reversed(starts)}.values(), key=lambda each: each.found.rank)
        self._report(starts[0])
        has_finish = moves is None and exact.applies(level.flat, self.objective)
        share = budget * (BEFORE_PROOF if has_finish else 1.0)
        count = level.improver.moves_in(share) if moves is None else moves
        best = level.improver.improve(starts[:KEPT], count, self.seed, self.clock, self._report, self.bound)
        best = self._finish(level, best, budget)
        if not best.found.fits and len(level.blocks) < len(groups_of(self.problem)):
            # Chains that no search would cut may have to be cut for memory.
            fused, level = level, _Level(self.problem, groups_of(self.problem), self.objective)
            count = level.improver.moves_in(budget) if moves is None else moves
            of_node = fused.by_node(best.place)
            starts = self._starts(level, level.rules.quick())
            if packed is not None:
                starts.append(self._try(level, "packed", [packed[block[0]] for block in level.blocks]))
            starts.append(level.improver.value([of_node[block[0]] for block in level.blocks], best.name))
            best = level.improver.improve([_best(starts)], count, self.seed, self.clock, self._report, self.bound)
        if not best.found.fits:
            raise InfeasibleError(self._closest(level, best))
        return self._plan(level.by_node(best.place), level.flat)

    def _proven(self, level: _Level) -> Plan:
        """The best of all placements of a small problem; the heuristics are evaluated for comparison."""
        self._starts(level, level.rules.thorough(self.objective, self.effort))
        found = every.best_of_all(self.problem, self.objective)
        if found is None or not found[1].fits:
            raise conflict.refusal(self.problem, self.objective)
        best = level.improver.value(found[0], "every placement")
        self._report(best)
        self.bound = best.found.value
        self.notes.append("Every placement was looked at: this is the best.")
        return self._plan(level.by_node(best.place), level.flat)

    def _starts(self, level: _Level, rules: Iterator[tuple[str, list[int]]]) -> list[Candidate]:
        """Evaluates heuristics; an interrupt stops them, if there is a result already."""
        found: list[Candidate] = []
        try:
            for name, place in rules:
                found.append(self._try(level, name, place))
                self._report(_best(found))
        except KeyboardInterrupt:
            if not self.tried:
                raise
            self.clock.was_interrupted = True
        return found

    def _try(self, level: _Level, name: str, place: Sequence[int]) -> Candidate:
        candidate = level.improver.value(place, name)
        fits = candidate.found.fits
        self.tried[name] = candidate.found.value if fits else None
        if fits and (self.single is None or candidate.found.value < self.single[1]):
            alone = _alone(self.problem, level.rules.candidates, candidate.place)
            if alone is not None:
                self.single = self.problem.devices[alone].name, candidate.found.value
        return candidate

    def _from_smaller(self, level: _Level, budget: float, moves: int | None) -> list[Candidate]:
        """Placements of a large graph from smaller ones, refined on each level on the way back."""
        if self._is_late():
            return []
        smaller = coarsen(self.problem)
        seen: list[Candidate] = []

        def show(i: int, found: Sequence[int]) -> None:
            """Projects a placement of a smaller graph onto the large one."""
            for coarse in reversed(smaller[: i + 1]):
                found = [found[c] for c in coarse.cluster_of]
            candidate = level.improver.value([found[block[0]] for block in level.blocks], "smaller graph")
            if not seen:  # the first result: improved a little at once
                count = level.improver.moves_in(FIRST * budget) if moves is None else moves
                candidate = level.improver.improve([candidate], count, self.seed, self.clock, self._report)
            seen.append(candidate)
            self._report(_best(seen))

        place: list[int] | None = None
        for i in reversed(range(len(smaller))):
            if self._is_late():
                break
            inner = _Level(smaller[i].problem, groups_of(smaller[i].problem), self.objective)
            if place is None:
                rules = [*inner.rules.quick(), *inner.rules.thorough(self.objective, QUICK * self.effort)]
                starts = sorted((inner.improver.value(p, n) for n, p in rules), key=lambda each: each.found.rank)
            else:
                starts = [inner.improver.value([place[block[0]] for block in inner.blocks], "smaller graph")]
            share = budget / (len(smaller) + 1)
            for seconds in [share] if place is not None else [FIRST * budget, 2 * share]:
                count = inner.improver.moves_in(seconds) if moves is None else moves
                best = inner.improver.improve(starts[:KEPT], count, self.seed + i + 1, self.clock, lambda _: None)
                starts.insert(0, best)
                of_node = inner.by_node(best.place)
                show(i, of_node)
            place = [of_node[c] for c in smaller[i].cluster_of]
        return seen

    def _is_late(self) -> bool:
        """Whether the deadline has passed, or the user has interrupted."""
        if self.clock.left == 0.0:
            self.clock.was_cut = True
        return self.clock.was_cut or self.clock.was_interrupted

    def _finish(self, level: _Level, best: Candidate, budget: float) -> Candidate:
        """Runs OR-Tools, if it is installed and the problem is small enough."""
        left = self.clock.left
        if left is None:
            return best
        is_over = self.clock.was_cut or self.clock.was_interrupted
        if is_over or not exact.applies(level.flat, self.objective):
            return best
        try:
            found = exact.finish(level.flat, best.place, best.found, budget, left)
        except KeyboardInterrupt:
            self.clock.was_interrupted = True
            return best
        self.clock.was_cut = found.was_cut
        self.bound = max(self.bound, found.bound)
        self.notes.append(found.note)
        candidate = level.improver.value(found.place, "exact")
        if candidate.found.rank < best.found.rank:
            self._report(candidate)
            return candidate
        return best

    def _report(self, candidate: Candidate) -> None:
        """Reports a placement that fits and is better than all reported before."""
        if self.progress is not None and candidate.found.fits and candidate.found.value < self.told:
            self.told = candidate.found.value
            self.progress(candidate.found.value, candidate.name)

    def _closest(self, level: _Level, best: Candidate) -> str:
        """The error if nothing that fits was found, without a proof of infeasibility."""
        placement = self._named(level.by_node(best.place))
        wrong = " ".join(simulate(self.problem, placement, self.objective, level.flat).violations)
        return (
            f"No placement was found that fits, nor a proof that there is none. The closest one: {wrong} "
            "Allow more memory or more devices, give up a pin, or search longer."
        )

    def _named(self, devices: Sequence[int]) -> dict[str, str]:
        names = [device.name for device in self.problem.devices]
        return {node.name: names[d] for node, d in zip(self.problem.nodes, devices, strict=True)}

    def _plan(self, devices: Sequence[int], flat: Flat | None) -> Plan:
        placement = self._named(devices)
        found = simulate(self.problem, placement, self.objective, flat)
        if self.clock.was_cut:
            self.notes.append("The clock ended the search: with the same seed, another run may end elsewhere.")
        if self.clock.was_interrupted:
            self.notes.append("The search was interrupted.")
        return Plan(
            placement,
            self.objective,
            forecast_of(found),
            self.single,
            self.tried,
            min(self.bound, found.value),
            self.problem.rests_on,
            tuple(self.notes),
        )


class _Level:
    """A problem in blocks, with everything that works on it."""

    def __init__(self, problem: Problem, blocks: Blocks, objective: Objective) -> None:
        orders = orders_of(problem, blocks)
        self.blocks = blocks
        self.flat = flatten(problem, blocks, list(orders.values()))
        self.improver: Improver = improver(self.flat, objective)
        self.rules = Rules(problem, blocks, self.flat, orders, self.improver.compiled)

    def by_node(self, place: Sequence[int]) -> list[int]:
        """A placement of blocks as one of nodes."""
        found = [0] * self.flat.nodes
        for block, d in zip(self.blocks, place, strict=True):
            for v in block:
                found[v] = d
        return found


def _alone(problem: Problem, candidates: Sequence[Sequence[int]], place: Sequence[int]) -> int | None:
    """The device that has all blocks but those that it cannot have, which are on hosts; None if there is none."""
    used = set(place)
    others = {d for d in used if not problem.devices[d].is_host} or used
    if len(others) > 1:
        return None
    alone = next(iter(others))
    return alone if all(d == alone or alone not in found for d, found in zip(place, candidates, strict=True)) else None


def _best(found: Sequence[Candidate]) -> Candidate:
    return min(found, key=lambda each: each.found.rank)


def bound_of(problem: Problem, objective: Objective) -> float:
    """A lower bound of all placements: the longest path, except for ``max_load``, and all work spread evenly."""
    least = [min((time for time in node.times if time is not None), default=0.0) for node in problem.nodes]
    if objective == "max_load":
        groups = groups_of(problem)
        largest = max((sum(least[v] for v in group) for group in groups), default=0.0)
        return max(largest, sum(least) / len(problem.devices)) * (1 - 1e-12)
    way = list(least)
    out: list[list[int]] = [[] for _ in problem.nodes]
    for tensor in problem.tensors:
        out[tensor.producer] += tensor.consumers
    for v in reversed(range(len(way))):
        way[v] += max((way[c] for c in out[v]), default=0.0)
    longest = max(way, default=0.0)
    if objective == "step":
        longest = max(longest, sum(least) / sum(device.lanes for device in problem.devices))
    return longest * (1 - 1e-12)
