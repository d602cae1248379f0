"""HTML display of values in notebooks: tables, text and pictures.

    table(("op", "device"), [("MatMul", "GPU:0")], caption="1 op")      <table>...</table>
    picture("<svg ...>")                                                <img src="data:...">

Strings from programs are escaped, so that a hostile name is shown literally. A picture is a separate image, not part of
the page: its styles apply only to itself, and nothing in it can run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

LONGEST = 1000  # characters of a cell
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escaped(text: str) -> str:
    """Text as SVG and HTML can hold it: marks escaped, and what no document may contain replaced."""
    return escape(_NOT_XML.sub("\ufffd", text))


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", numbers: Iterable[str] = ()) -> str:
    """A table.

    Args:
        titles: The titles of its columns; none for a table without a head.
        rows: The texts of its cells.
        caption: What stands above it.
        numbers: The titles of columns that stand to the right.
    """
    right = set(numbers)
    parts = ["<table>"]
    if caption:
        parts.append(f'<caption style="text-align:left;white-space:nowrap">{escaped(caption)}</caption>')
    if titles:
        parts.append(_row("th", titles, ["left"] * len(titles)))
    for row in rows:
        sides = ["right" if title in right else "left" for title in titles] or ["right"] * len(row)
        parts.append(_row("td", row, sides))
    return "\n".join([*parts, "</table>"])


def text(shown: str) -> str:
    """Text as it is, in letters of equal width."""
    return f"<pre>{escaped(shown)}</pre>"


def picture(svg: str, title: str) -> str:
    """A picture, as an image with a title for those who cannot see it."""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escaped(title)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def _row(tag: str, cells: Iterable[str], sides: Iterable[str]) -> str:
    shown = (
        f'<{tag} style="text-align:{side}">{escaped(_cut(cell))}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(shown)}</tr>"


def _cut(cell: str) -> str:
    return cell if len(cell) <= LONGEST else f"{cell[:LONGEST]} ... ({len(cell):,} characters)"
