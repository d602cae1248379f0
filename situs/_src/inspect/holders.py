"""Holders: the ops and lines of the program that allocated the memory in use.

    Holder(op='MatMul', file='/home/me/layers.py', lineno=12, caller='train.py:40', count=2, size=8388608)

Holders are listed largest first, one for each op, line and caller of that line: a function that creates all layers of a
model does not merge them. `by_op` and `by_line` aggregate further.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from situs._src.base.export import export

Maker = tuple[str, str, int, str]  # an op, a file, a line in it, and where that was called from


@export("memory.Holder")
@dataclass(frozen=True)
class Holder:
    """The tensors that one op made at one line of the program.

    Attributes:
        op: The op, or ``'Variable '`` and a name; empty where holders were joined by line.
        file: The program's file as Python knows it; empty where that is not known.
        lineno: The line in it; 0 where that is not known.
        caller: Where the function that has this line was called from, as ``train.py:40``; empty for a module's own.
        count: How many blocks of memory these tensors have: tensors that share one count once.
        size: How many bytes these blocks have together.
    """

    op: str
    file: str
    lineno: int
    caller: str
    count: int
    size: int

    @property
    def line(self) -> str:
        """The line as ``train.py:12``; empty if it is not known."""
        return _line(self.file, self.lineno) if self.file else ""

    def to_dict(self) -> dict[str, Any]:
        """The holder as plain data."""
        place = {"line": self.line, "file": self.file, "lineno": self.lineno, "caller": self.caller}
        return {"op": self.op, **place, "count": self.count, "size": self.size}


@lru_cache(maxsize=4096)
def _line(file: str, lineno: int) -> str:
    return f"{Path(file).name}:{lineno}"


def maker(op: str, made_at: Any) -> Maker:
    """What tells the holders of a device apart; `made_at` is an origin, or nothing."""
    if not made_at:
        return op, "", 0, ""
    code, lineno = made_at[0]
    return op, code.co_filename, lineno, _caller(made_at)


_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def _caller(made_at: Any) -> str:
    """Where the function that has a line was called from; what calls a module is Python, which says nothing."""
    inside = [code.co_name not in _COMPREHENSIONS for code, _ in made_at]
    function = inside.index(True) if True in inside else len(made_at)
    if function + 1 >= len(made_at) or made_at[function][0].co_name == "<module>":
        return ""
    caller, lineno = made_at[function + 1]
    return _line(caller.co_filename, lineno)


def joined(parts: Iterable[tuple[Maker, int, int]]) -> tuple[Holder, ...]:
    """Holders of (maker, count, size) triples: one for each maker, largest first."""
    found: dict[Maker, list[int]] = {}
    for key, count, size in parts:
        total = found.setdefault(key, [0, 0])
        total[0] += count
        total[1] += size
    holders = [Holder(*key, count, size) for key, (count, size) in found.items()]
    return tuple(sorted(holders, key=lambda h: (-h.size, h.op, h.file, h.lineno, h.caller)))


def by_op(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """Holders joined by op, wherever in the program it was called."""
    return joined(((holder.op, "", 0, ""), holder.count, holder.size) for holder in holders)


def by_line(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """Holders joined by the line of the program, whatever ops it called."""
    return joined((("", holder.file, holder.lineno, ""), holder.count, holder.size) for holder in holders)
