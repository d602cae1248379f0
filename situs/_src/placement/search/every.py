"""Problems so small that every placement is looked at: then the best is known to be the best, and none to be none.

A placement is one device for each group of nodes, of those that all of its nodes may be on. Where so few of them are
possible that all can be simulated (`MOST`), the search does not go by chance: its answer is proven, and where nothing
fits, so is that.
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
    """Whether every placement of a problem can be looked at."""
    count = len(problem.nodes)
    for group in groups_of(problem):
        count *= len(block_candidates(problem, group))
        if count > MOST:
            return False
    return True


def best_of_all(problem: Problem, objective: Objective) -> tuple[list[int], Found] | None:
    """The best placement of the groups of a problem, and what it is worth; None where a group has no device at all."""
    groups = groups_of(problem)
    if not all(block_candidates(problem, group) for group in groups):
        return None
    compiled, flat = library(), flatten(problem, groups)
    return pure.every(flat, objective) if compiled is None else compiled.every(flat, objective)


def has_none(problem: Problem, objective: Objective) -> bool:
    """Whether no placement fits, as far as that can be looked at."""
    if not applies(problem):
        return False
    found = best_of_all(problem, objective)
    return found is None or not found[1].fits
