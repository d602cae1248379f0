"""The schedule and the result of one annealing run, shared by `pure.py` and ``fast.c``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from situs._src.placement.search.problem import OBJECTIVES, Objective

CODES: Final[dict[Objective, int]] = {objective: code for code, objective in enumerate(OBJECTIVES)}


@dataclass(frozen=True)
class Schedule:
    """One run of annealing.

    Attributes:
        objective: What to minimize.
        moves: The number of moves.
        seed: The random seed.
        warm: The initial temperature, relative to the value: how much worse a move may be and still be accepted.
        cold: The final temperature.
        soft: The initial penalty for memory over the limit, relative to the value, if all of it is exceeded once.
        hard: The final penalty.
        doublings: Loads count by their norm of order ``3 * 2**doublings``: the higher, the less others count.
    """

    objective: Objective
    moves: int
    seed: int
    warm: float = 0.02
    cold: float = 1e-5
    soft: float = 1.0
    hard: float = 100.0
    doublings: int = 3


@dataclass(frozen=True)
class Found:
    """The value of a placement.

    Attributes:
        value: The objective.
        excess: Memory over the limits, relative to them, summed; 0 if everything fits.
        tried: The number of moves tried.
    """

    value: float
    excess: float
    tried: int = 0

    @property
    def fits(self) -> bool:
        """Whether the placement is valid: memory suffices, and there is no cycle of calls."""
        return self.excess == 0 and self.value < math.inf

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better; what fits comes first."""
        return self.excess, self.value
