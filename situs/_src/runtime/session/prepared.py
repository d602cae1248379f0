"""Prepared runs: for a structure of fetches and feeds, the program, and how values get in and out of it.

Returned arrays belong to the caller: modifying one changes no constant, variable or feed.
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
    """One kind of run: its fetches and feeds, and its program."""

    __slots__ = ("feeds", "fetches", "program", "single")

    def __init__(self, fetches: Fetches, feeds: list[SymbolicTensor], program: Program, single: bool) -> None:
        self.fetches = fetches
        self.feeds = feeds
        self.program = program
        self.single = single  # a single tensor is fetched

    def values(self, given: Iterable[Any]) -> list[Value]:
        """The fed values, in the order of the feeds, as kernel values."""
        share = not self.program.plan.changes_state
        return [feed_value(tensor, value, share) for tensor, value in zip(self.feeds, given, strict=True)]

    def answer(self, made: Sequence[Value]) -> Any:
        """The results of the program, for the caller of ``run``."""
        if self.single:
            return to_client(made[0])
        return self.fetches.answer([to_client(value) for value in made])
