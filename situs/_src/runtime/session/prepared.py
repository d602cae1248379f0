"""Prepared runs: for one form of fetches and feeds, the program, and how values get in and out of it.

Arrays come out as the caller's own: changing one changes no constant, no variable and nothing that was fed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.eager.tensor import to_client
from situs._src.runtime.run.program import Program
from situs._src.runtime.session.feeds import feed_value
from situs._src.runtime.session.fetches import Fetches


class Prepared:
    """One kind of run: what is fetched and fed, and the program for it."""

    __slots__ = ("feeds", "fetches", "program", "single")

    def __init__(self, fetches: Fetches, feeds: list[SymbolicTensor], program: Program, single: bool) -> None:
        self.fetches = fetches
        self.feeds = feeds
        self.program = program
        self.single = single  # one tensor is fetched, and nothing around it

    def values(self, given: Iterable[Any]) -> list[Value]:
        """The values that a program fed, in the order of the feeds, as kernels take them."""
        share = not self.program.plan.changes_state
        return [feed_value(tensor, value, share) for tensor, value in zip(self.feeds, given, strict=True)]

    def answer(self, made: Sequence[Value]) -> Any:
        """What the program computed, for the caller of ``run``."""
        if self.single:
            return to_client(made[0])
        return self.fetches.answer([to_client(value) for value in made])
