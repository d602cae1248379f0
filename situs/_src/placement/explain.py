"""Why ops ran where they ran, as data and as a table.

Assignments of ops are recorded in a ring buffer. An `Explanation` is a snapshot of
some of them:

    MatMul -> GPU:0 (default: first GPU with a float32 kernel)

Operations of a graph are shown with their names, and those of a compiled program with how they run.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from situs._src.base import html
from situs._src.ir.graph.replicas import Reduction, Replicas
from situs._src.placement.candidates import Assignment

if TYPE_CHECKING:
    from situs._src.placement.search.plan import Plan

REMEMBERED = 1024
recent: deque[Assignment] = deque(maxlen=REMEMBERED)


class Explanation(Sequence[Assignment]):
    """The placement of some ops, oldest first: iterate, index, print, or take ``to_dicts()``.

    Args:
        assignments: Their assignments.
        replicas: Their replicas, in a distributed step, and the traffic of its reductions.
        plan: The plan of the dynamic placer, if that placed them.
    """

    def __init__(
        self, assignments: Sequence[Assignment], replicas: Replicas | None = None, plan: Plan | None = None
    ) -> None:
        self._assignments = tuple(assignments)
        self._replicas = replicas
        self.plan = plan

    @property
    def reductions(self) -> list[Reduction]:
        """Where the values of replicas are reduced, and how many bytes that moves."""
        return [] if self._replicas is None else list(self._replicas.reductions)

    def to_dicts(self) -> list[dict[str, str]]:
        """One plain dictionary per op."""
        found = [_as_dict(assignment) for assignment in self._assignments]
        for each in found if self._replicas is not None else ():
            if (number := self._replicas.of_node.get(each.get("node", ""))) is not None:  # type: ignore[union-attr]
                each["replica"] = str(number)
        return found

    def __len__(self) -> int:
        return len(self._assignments)

    def __getitem__(self, key: Any) -> Any:
        found = self._assignments[key]
        return Explanation(found, self._replicas, self.plan) if isinstance(key, slice) else found

    def __str__(self) -> str:
        from rich.console import Console  # loaded only when a table is printed

        console = Console(file=io.StringIO(), width=120, color_system=None, force_jupyter=False)
        console.print(self._table())
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        if self._replicas is not None:
            lines += self._replicas.summary({each.node: each.device.short_name for each in self._assignments})
        from situs._src.placement.summary import summary  # here, because it loads NumPy

        whole = [] if self.plan is None else ["", *summary(self.plan).splitlines()]
        return "\n".join([*(line.rstrip() for line in lines if line.strip()), *whole])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from situs._src.placement.summary import summary  # here, because it loads NumPy

        titles, rows = self._columns()
        whole = [] if self.plan is None else [html.text(summary(self.plan))]
        return "\n".join([html.table(titles, rows, numbers=["times"]), *whole])

    def _table(self) -> Any:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        titles, rows = self._columns()
        for title in titles:
            table.add_column(title, justify="right" if title == "times" else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        return table

    def _columns(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The titles and the rows of the table."""
        named = any(assignment.node for assignment in self._assignments)
        compiled = any(assignment.runs_as for assignment in self._assignments)
        titles = ("node", "op", "device", "why") if named else ("op", "times", "device", "why")
        rows = [
            (
                *((a.node, a.op) if named else (a.op, str(times))),
                a.device.name,
                a.reason,
                *((a.runs_as or "kernel",) if compiled else ()),
            )
            for a, times in _runs(self._assignments)
        ]
        return ((*titles, "runs as") if compiled else titles), rows


def last(count: int | None = None) -> Explanation:
    """Explains the last `count` ops of this process; by default all that are recorded."""
    noted = _snapshot()
    return Explanation(noted if count is None else noted[len(noted) - min(count, len(noted)) :])


def _snapshot() -> list[Assignment]:
    while True:
        try:
            return list(recent)
        except RuntimeError:  # another thread ran an op meanwhile
            continue


def _runs(assignments: Sequence[Assignment]) -> Iterator[tuple[Assignment, int]]:
    """Folds equal neighbours into one row: a loop should not fill the screen."""
    for _, group in groupby(assignments, key=lambda a: (a.node, a.op, a.device.name, a.reason, a.runs_as)):
        run = list(group)
        yield run[0], len(run)


def _as_dict(assignment: Assignment) -> dict[str, str]:
    return {
        **({"node": assignment.node} if assignment.node else {}),
        "op": assignment.op,
        "device": assignment.device.name,
        "kind": assignment.kind,
        "reason": assignment.reason,
        "requested": assignment.requested,
        **({"runs_as": assignment.runs_as} if assignment.runs_as else {}),
    }
