"""How long and how warm one run of annealing is, and what it found: what `pure.py` and ``fast.c`` both take and
give."""

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
        objective: What is made small.
        moves: How many moves are tried.
        seed: Where chance begins.
        warm: The temperature at the start, as a share of the value: how much worse a move may be and still be taken.
        cold: The temperature at the end.
        soft: What memory over the limit costs at the start: this share of the value, if all of it is over once more.
        hard: What it costs at the end.
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
    """What a placement is worth.

    Attributes:
        value: The objective.
        excess: Memory over the limits, as shares of them, added up; 0 if everything fits.
        tried: How many moves were tried.
    """

    value: float
    excess: float
    tried: int = 0

    @property
    def fits(self) -> bool:
        """Whether the placement may be used: memory suffices, and no call waits for itself."""
        return self.excess == 0 and self.value < math.inf

    @property
    def rank(self) -> tuple[float, float]:
        """Smaller is better; what fits comes first."""
        return self.excess, self.value
