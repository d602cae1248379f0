"""Values out of hypothesis strategies, from a random generator: the same value for the same seed."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

_LONGEST = 600  # bytes that decide on a value


class Drawer:
    """Draws from one strategy."""

    def __init__(self, strategy: SearchStrategy[Any]) -> None:
        self._drawn: list[Any] = []

        @settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(strategy)
        def keep(value: Any) -> None:
            self._drawn.append(value)

        self._one = keep.hypothesis.fuzz_one_input  # type: ignore[attr-defined]

    def draw(self, random: Random) -> Any:
        """The value that bytes of the generator stand for."""
        while not self._drawn:
            self._one(random.randbytes(random.randint(8, _LONGEST)))
        return self._drawn.pop()
