"""Exhaustive search for small problems, which proves the optimum, or that there is no placement.

A placement assigns each group of nodes a device that all of its nodes allow. If there are so few
placements that all of them can be simulated (`MOST`), they are, and the answer is proven.
"""

from __future__ import annotations

from situs._src.placement.search import pure
from situs._src.placement.search.compiled import library
from situs._src.placement.search.flat import block_candidates, flatten
from situs._src.placement.search.problem import Objective, Problem
from situs._src.placement.search.reduce import groups_of
from situs._src.placement.search.schedule import Found

MOST = 300_000  # nodes, in all placements together


def applies(problem: Problem) -> bool:
    """Whether a problem is small enough for exhaustive search."""
    count = len(problem.nodes)
    for group in groups_of(problem):
        count *= len(block_candidates(problem, group))
        if count > MOST:
            return False
    return True


def best_of_all(problem: Problem, objective: Objective) -> tuple[list[int], Found] | None:
    """The best placement of the groups of a problem, and its value; None if a group has no device at all."""
    groups = groups_of(problem)
    if not all(block_candidates(problem, group) for group in groups):
        return None
    compiled, flat = library(), flatten(problem, groups)
    return pure.every(flat, objective) if compiled is None else compiled.every(flat, objective)


def has_none(problem: Problem, objective: Objective) -> bool:
    """Whether no placement fits, as far as exhaustive search applies."""
    if not applies(problem):
        return False
    found = best_of_all(problem, objective)
    return found is None or not found[1].fits
