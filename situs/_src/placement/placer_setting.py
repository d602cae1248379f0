"""The setting of the placer: the simple one, by rules, or the dynamic one, by predicted time.

as_placer("simple")         rules: the best device that can run an operation
as_placer("dynamic")        the least predicted time of a step
as_placer(plan)             by a plan: a `Plan`, or the path of a file with one
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from situs._src.base.errors import ArgumentError, NotFoundError, shown
from situs._src.base.settings import number

if TYPE_CHECKING:
    from situs._src.placement.search.plan import Plan

LARGEST_PLAN = 2**28  # bytes of a file


@dataclass(frozen=True, eq=False)
class Placer:
    """How graphs are placed.

    Attributes:
        kind: ``simple`` or ``dynamic``.
        budget: The seconds that a search may take; None for a number of moves by the size of the graph.
        seed: The random seed of searches.
        plan: The placement to use instead of a search.
        period: The number of steps after which the step time is checked again; 0 for never, once it has settled.
    """

    kind: str
    budget: float | None = None
    seed: int = 0
    plan: Plan | None = None
    period: int = 0

    @property
    def is_dynamic(self) -> bool:
        """Whether costs or a plan decide."""
        return self.kind == "dynamic"

    def __repr__(self) -> str:
        return self.kind if self.plan is None else f"a plan for {len(self.plan.placement)} operations"


SIMPLE = Placer("simple")
KINDS = ("simple", "dynamic")
if TYPE_CHECKING:
    AnyPlacer = str | os.PathLike[str] | Plan | Placer


def as_placer(given: object, budget: float | None = None, seed: int = 0) -> Placer:
    """The placer for a setting.

    Args:
        given: ``"simple"``, ``"dynamic"``, a plan, the path of a file with one, or a placer.
        budget: The seconds that a search may take.
        seed: The random seed of searches.

    Raises:
        InvalidArgumentError: it is none of these.
        NotFoundError: there is no such file.
    """
    from situs._src.placement.search.plan import Plan  # here, because it loads NumPy

    if isinstance(given, Placer):
        return given
    if isinstance(given, Plan):
        return Placer("dynamic", plan=given)
    if budget is not None and not 0 <= number(budget) < math.inf:
        raise ArgumentError(f"The budget of a search is a number of seconds, got {shown(budget)}.")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArgumentError(f"The seed of a search is an integer, got {shown(seed)}.")
    if isinstance(given, str) and given in KINDS:
        return Placer(given, None if budget is None else float(budget), seed)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and given.endswith(".json")):
        return Placer("dynamic", plan=read_plan(given))
    raise ArgumentError(
        f"A placer is 'simple', 'dynamic', a plan, or the path of a plan that ends with .json; got {shown(given)}."
    )


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a saved plan.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is not a plan.
    """
    from situs._src.placement.search.plan import from_json  # here, because it loads NumPy
    from situs._src.placement.search.problem import parse

    file = Path(path)
    if not file.is_file():
        raise NotFoundError(f"There is no plan {shown(str(file))}.")
    if file.stat().st_size > LARGEST_PLAN:
        raise ArgumentError(f"{shown(str(file))} is larger than {LARGEST_PLAN >> 20} MiB, and so no plan.")
    return from_json(parse(file.read_bytes()))
