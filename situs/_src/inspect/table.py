"""Reports as text: tables of devices and of their memory use, for a terminal of 120 columns."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from situs._src.inspect.holders import Holder
from situs._src.runtime.eager.oom import size_text

SHOWN = 10  # holders of one device; the others are added up


class Table(NamedTuple):
    """Rows of text under titles; numbers stand to the right."""

    titles: tuple[str, ...]
    rows: list[tuple[str, ...]]


_NUMBERS = frozenset({"current", "peak", "reserved", "limit", "size", "share", "tensors"})


def is_number(title: str) -> bool:
    """Whether a column holds numbers."""
    return title in _NUMBERS


def holder_table(devices: Iterable[tuple[str, Sequence[Holder], int]]) -> Table:
    """What fills devices, given as (short name, holders, bytes in all)."""
    rows = [(name, *row) for name, holders, total in devices for row in _holder_rows(holders, total)]
    table = Table(("device", "size", "share", "tensors", "op", "line", "called from"), rows)
    for title in ("op", "line", "called from"):
        table = _without_empty(table, title)
    return table


def _holder_rows(holders: Sequence[Holder], total: int) -> list[tuple[str, ...]]:
    shown, rest = holders[:SHOWN], holders[SHOWN:]
    rows = [_row(h.size, total, str(h.count), h.op, h.line, h.caller) for h in shown]
    are_lines = any(holder.line and not holder.op for holder in holders)
    if rest:
        rows.append(_row(_sum(rest), total, str(sum(h.count for h in rest)), *_word("(more)", are_lines)))
    if total > _sum(holders):
        rows.append(_row(total - _sum(holders), total, "", *_word("(other)", are_lines)))
    return rows


def _row(size: int, total: int, tensors: str, op: str, line: str, caller: str) -> tuple[str, ...]:
    return size_text(size), f"{100 * size / max(total, 1):.0f} %", tensors, op, line, caller


def _sum(holders: Iterable[Holder]) -> int:
    return sum(holder.size for holder in holders)


def _word(text: str, are_lines: bool) -> tuple[str, str, str]:
    return ("", text, "") if are_lines else (text, "", "")


def _without_empty(table: Table, title: str) -> Table:
    """The table without this column, if that says nothing."""
    number = table.titles.index(title)
    if any(row[number] for row in table.rows):
        return table
    cut = [row[:number] + row[number + 1 :] for row in table.rows]
    return Table(table.titles[:number] + table.titles[number + 1 :], cut)


def text_of(table: Table) -> str:
    """A table as lines of text."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(box=SIMPLE_HEAD, pad_edge=False)
    for title in table.titles:
        drawn.add_column(title, justify="right" if is_number(title) else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    # Names come from programs: brackets and colons in them are just that. In a notebook, rich would display the table.
    console = Console(
        file=io.StringIO(),
        width=120,
        color_system=None,
        markup=False,
        emoji=False,
        highlight=False,
        force_jupyter=False,
    )
    console.print(drawn)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines if line.strip())
