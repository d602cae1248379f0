"""Graphs of benchmark results, drawn from the table of bars that ``python -m benchmarks`` writes.

    | benchmark | what | figure | at most | |
    | session | 1000 tiny nodes | 0.49x torch | 1.05 | reached |

Each figure is drawn as its share of the bar it must stay below: a mark at the middle of the picture is the bar itself,
and what crosses it was missed. So figures of different units stand side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from situs._src.inspect import svg

_ROW = re.compile(
    r"\| (?P<benchmark>\w+) \| (?P<what>.+?) \| (?P<figure>.+?) \| (?P<most>[\d.e+-]+) \| (?P<verdict>.+?) \|"
)
_LEFT, _MIDDLE, _HEIGHT = 330, 640, 22


class Result(NamedTuple):
    """A row of the table.

    Attributes:
        benchmark: Which benchmark measured it.
        what: What was measured.
        figure: The figure with its unit, as the table has it.
        most: The most that it may be.
        reached: Whether it is below the bar.
    """

    benchmark: str
    what: str
    figure: str
    most: float
    reached: bool

    @property
    def share(self) -> float:
        """The figure as a share of its bar; a bar of zero is reached by zero alone."""
        found = float(re.match(r"[\d.]+", self.figure)[0])  # type: ignore[index]
        return found / self.most if self.most else (0.0 if found == 0 else 2.0)


def results(page: str) -> list[Result]:
    """The rows of a page of results."""
    return [
        Result(row["benchmark"], row["what"], row["figure"], float(row["most"]), row["verdict"] == "reached")
        for row in _ROW.finditer(page)
    ]


def with_charts(page: str, name: str) -> tuple[str, dict[str, str]]:
    """A page of results with a picture above each benchmark's section, and the pictures by their file names.

    Args:
        page: The text of the page.
        name: What the names of its pictures begin with.
    """
    pictures = {}
    for benchmark, rows in groupby(results(page), key=lambda row: row.benchmark):
        file = f"{name}-{benchmark}.svg"
        pictures[file] = "\n".join(_chart(benchmark, list(rows)))
        page = page.replace(
            f"\n## {benchmark}\n", f"\n## {benchmark}\n\n![Figures of {benchmark} beside their bars]({file})\n"
        )
    return page, pictures


def _chart(benchmark: str, rows: list[Result]) -> Iterator[str]:
    parts = [svg.label(_MIDDLE, 16, "the bar", "middle")]
    for number, row in enumerate(rows):
        top = 26 + _HEIGHT * number
        length = min(row.share, 1.3) * (_MIDDLE - _LEFT)
        hover = f"{row.what}: {row.figure}, at most {row.most:g}, {'reached' if row.reached else 'missed'}"
        parts.append(svg.label(_LEFT - 8, top + 14, row.what, "right", hover))
        parts.append(svg.box(0 if row.reached else 6, _LEFT, top + 3, max(length, 1), _HEIGHT - 8, hover))
        parts.append(svg.label(_LEFT + 1.3 * (_MIDDLE - _LEFT) + 12, top + 14, f"{row.figure} (at most {row.most:g})"))
    parts.append(svg.line("limit", _MIDDLE, 22, _MIDDLE, 26 + _HEIGHT * len(rows)))
    yield svg.svg(parts, 34 + _HEIGHT * len(rows), f"{benchmark}: figures as shares of their bars")
