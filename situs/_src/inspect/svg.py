"""Self-contained SVG: no scripts, no fonts, no files. Everything that comes from programs is escaped.

    svg([label(8, 20, "MatMul"), box(0, 90, 8, 200, hover="MatMul: 3.0 MiB")], height=40, title="Memory")

The colours follow the reader's light or dark mode; a mark shows its name when the pointer rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from situs._src.base.html import escaped as escaped

WIDTH = 960
_COLOURS = (
    *("#4477aa", "#ee7733", "#228833", "#ccbb44", "#aa3377", "#66ccee", "#cc3311", "#44bb99", "#997700", "#bb88dd"),
    "#8b949e",
)
OTHERS = len(_COLOURS) - 1  # the colour of what is added up
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.head{font-weight:600}.right{text-anchor:end}"
    ".middle{text-anchor:middle}.paper{fill:#fff}.grid{stroke:#d1d9e0}.axis{stroke:#59636e}"
    ".limit{stroke:#d1242f;stroke-width:1.5;stroke-dasharray:6 4}"
    + "".join(f".c{number}{{fill:{colour}}}" for number, colour in enumerate(_COLOURS))
    + "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.paper{fill:#0d1117}.grid{stroke:#3d444d}"
    ".axis{stroke:#9198a1}.limit{stroke:#f85149}}"
)


def svg(parts: Sequence[str], height: int, title: str) -> str:
    """A whole picture of these parts."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    paper = f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
    return "\n".join([f'{head} role="img">', _hover(title), f"<style>{_STYLE}</style>", paper, *parts, "</svg>"])


def label(x: float, y: float, text: str, kind: str = "left", hover: str = "") -> str:
    """Text that begins, or for the kind ``right`` ends, at a point."""
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{escaped(text)}{_hover(hover)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float, hover: str = "") -> str:
    """A straight line."""
    ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return f'<line class="{kind}" {ends}>{_hover(hover)}</line>'


def box(colour: int, x: float, y: float, width: float, height: float, hover: str = "") -> str:
    """A filled rectangle."""
    sides = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="c{colour}" {sides}>{_hover(hover)}</rect>'


def area(colour: int, path: str, hover: str = "") -> str:
    """A filled outline."""
    return f'<path class="c{colour}" d="{path}">{_hover(hover)}</path>'


def _hover(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def number(value: float) -> str:
    """A place in the picture, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def short(text: str, length: int) -> str:
    """Text that is cut where it is too long."""
    return text if len(text) <= length else text[: length - 1] + "…"
