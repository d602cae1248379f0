"""The search for a placement. (In work: the signature stands.)"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from situs._src.placement.search.plan import Plan
from situs._src.placement.search.problem import Objective, Problem

Progress = Callable[[float, str], None]


def search(
    problem: Problem,
    objective: Objective = "step",
    budget: float = 5.0,
    seed: int = 0,
    previous: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    seeds: Mapping[str, Mapping[str, str]] | None = None,
) -> Plan:
    """Finds a placement.

    Args:
        problem: What is to be placed.
        objective: ``step``: the time of one step with transfers beside computation. ``latency``, ``max_load``: the
            two models of the published workloads (see `simulate`).
        budget: How many seconds it may take.
        seed: Where chance begins; the same seed gives the same placement.
        previous: A placement to start from, among others: devices by names of nodes. What does not fit is moved.
        progress: Called with the best value so far and what found it.
        seeds: More placements to start from, by the names that the plan will give them.

    Raises:
        InfeasibleError: no placement keeps to the wishes; it names the smallest set that conflicts.
    """
    raise NotImplementedError
