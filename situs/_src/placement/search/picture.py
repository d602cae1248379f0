"""A timeline as a picture: a row for each lane of a device and for each link, a bar for everything that takes time.

The file is self-contained: no script, no style sheet, no external font. A bar shows its name when the pointer rests on
it. Bars thinner than half a pixel are merged with their neighbours.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, PermissionDeniedError, shown
from situs._src.placement.search.simulate import Simulation, Span

WIDTH = 1200
LEFT = 150
ROW = 22
GAP = 4
TICKS = 6
THIN = 0.5  # pixels
COLOURS = {"run": "#4c78a8", "call": "#4c78a8", "send": "#f58518"}


def save(simulation: Simulation, path: str | Path, title: str) -> None:
    """Writes a timeline.

    Args:
        simulation: The simulation.
        path: A file that ends in ``.svg`` or ``.html``.
        title: The title.

    Raises:
        InvalidArgumentError: it ends in something else.
        PermissionDeniedError: it cannot be written.
    """
    check_name(path)
    picture = svg(simulation, title)
    if Path(path).suffix == ".html":
        head = f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{_escaped(title)}</title>\n<body>\n'
        picture = f"{head}{picture}\n</body>\n</html>\n"
    try:
        write_named(Path(path), picture)
    except (OSError, ValueError) as error:
        raise PermissionDeniedError(f"Cannot write {shown(str(path))}: {error}.") from None


def check_name(path: str | Path) -> None:
    """Checks the file name of a picture.

    Raises:
        InvalidArgumentError: it ends neither in ``.svg`` nor in ``.html``.
    """
    if Path(path).suffix not in (".svg", ".html"):
        raise ArgumentError(f"A picture is a file that ends in .svg or .html, got {shown(str(path))}.")


def svg(simulation: Simulation, title: str) -> str:
    """The timeline as SVG."""
    rows: dict[tuple[str, int], list[Span]] = {}
    for span in simulation.timeline:
        rows.setdefault((span.row, span.lane), []).append(span)
    end = max((span.end for span in simulation.timeline), default=0.0) or 1.0
    scale = (WIDTH - LEFT - 20) / end
    height = 60 + len(rows) * (ROW + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="10" y="18" font-size="14">{_escaped(title)}</text>',
    ]
    for i in range(TICKS + 1):
        x = LEFT + (WIDTH - LEFT - 20) * i / TICKS
        parts.append(f'<line x1="{x:.1f}" y1="30" x2="{x:.1f}" y2="{height - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" text-anchor="middle">{end * i / TICKS:.4g}</text>')
    # Devices come first, then links.
    for i, (row, lane) in enumerate(sorted(rows, key=lambda key: (" -> " in key[0], key))):
        y = 32 + i * (ROW + GAP)
        label = row if lane == 0 else f"{row}, lane {lane + 1}"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{_escaped(label)}</text>')
        parts += [_bar(span, y, scale) for span in _joined(rows[row, lane], scale)]
    return "\n".join([*parts, "</svg>"])


def _bar(span: Span, y: int, scale: float) -> str:
    width = max((span.end - span.start) * scale, THIN)
    text = _escaped(f"{span.name}: {span.start:.6g} to {span.end:.6g}")
    return (
        f'<rect x="{LEFT + span.start * scale:.2f}" y="{y}" width="{width:.2f}" height="{ROW}" '
        f'fill="{COLOURS[span.kind]}" stroke="white" stroke-width="0.3"><title>{text}</title></rect>'
    )


def _joined(spans: Sequence[Span], scale: float) -> list[Span]:
    """The spans of a row, sorted by time, with thin ones merged."""
    found: list[Span] = []
    count = 1
    for span in sorted(spans, key=lambda each: (each.start, each.end)):
        last = found[-1] if found else None
        if span.end == span.start:
            continue
        if (
            last is not None
            and last.kind == span.kind
            and (span.start - last.end) * scale < THIN
            and min(last.end - last.start, span.end - span.start) * scale < THIN
        ):
            count += 1
            first = last.name.split(" and ")[0] if count > 2 else last.name
            name = f"{first} and {count - 1} more"
            found[-1] = Span(last.row, name, last.start, max(last.end, span.end), last.kind, last.lane)
        else:
            count = 1
            found.append(span)
    return found


def _escaped(text: str) -> str:
    """Text for SVG, in which control characters are not allowed."""
    return html.escape("".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text))
