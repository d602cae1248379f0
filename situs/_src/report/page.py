"""One or two reports as a self-contained HTML file.

    page.html                    the frame
    style.css, core.js, ...      ours, in the order of `_SCRIPTS`
    vendor/uPlot, vendor/dagre   embedded as published

Nothing that comes from the program is ever interpreted as markup or code. The data is an inert script block in which
``<`` is escaped, or compressed (gzip, base64) if it is long; the scripts insert strings as text only; and
the page's content security policy allows exactly these scripts, by hash: no other script, no network, no eval.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from situs._src.base.errors import ArgumentError
from situs._src.base.version import __version__
from situs._src.report.schema import Data

PACKED_FROM = 600_000  # characters
_ASSETS = Path(__file__).parent / "assets"
_STYLES = ("vendor/uPlot.min.css", "style.css")
_LIBRARIES = ("vendor/uPlot", "vendor/dagre")  # each with its licence, which goes where the code goes
_SCRIPTS = ("core.js", "tables.js", "timeline.js", "memory.js", "graph.js", "compare.js", "main.js")


def page(reports: Sequence[Data]) -> str:
    """The page about one report, or about two side by side."""
    if not 1 <= len(reports) <= 2:
        raise ArgumentError(f"A page shows one report, or compares two; got {len(reports)}.")
    style, libraries, script = _packed_assets()
    title = " | ".join(str(each.get("title", "Report")) for each in reports)
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_hash, (*libraries, script)))}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "version": html.escape(__version__),
        "title": html.escape(title),
        "style": style,
        "summary": _summary(reports),
        "data": "\n".join(map(_block, reports)),
        "scripts": "\n".join(f"<script>{text}</script>" for text in (*libraries, script)),
    }
    pieces = (_ASSETS / "page.html").read_text(encoding="utf-8").split("{{")
    text = [pieces[0]]
    for piece in pieces[1:]:  # one pass: what is put in is never looked at again
        name, _, rest = piece.partition("}}")
        text += [parts[name], rest]
    return "".join(text)


def _block(data: Data) -> str:
    """The data as an element that no browser runs."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    if len(text) < PACKED_FROM:
        escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
        return f'<script type="application/json" data-report>{escaped}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()
    return f'<script type="application/gzip" data-report>{packed}</script>'


def _summary(reports: Sequence[Data]) -> str:
    """What to read where scripts do not run: the devices, and the ops that took longest."""
    rows = []
    for data in reports:
        rows += [
            ("device", each["name"], f"{each['ops']} ops, {each['busy'] / 1e6:.3f} ms") for each in data["devices"]
        ]
        rows += [
            (row["kind"], row["op"], f"{row['count']} times, {row['time'] / 1e6:.3f} ms, {row['line']}")
            for row in data["totals"][:20]
        ]
    cells = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{each}</tr>" for each in cells) + "</table>"


@cache
def _packed_assets() -> tuple[str, list[str], str]:
    """The style, the libraries, and our own scripts as one."""
    own = {name: (_ASSETS / name).read_text(encoding="utf-8") for name in (*_STYLES, *_SCRIPTS)}
    libraries = []
    for name in _LIBRARIES:
        licence, code = ((_ASSETS / f"{name}{end}").read_text(encoding="utf-8") for end in (".LICENSE", ".min.js"))
        libraries.append(f"/*\n{licence.strip()}\n*/\n{code}")
    style, script = ("\n".join(own[name] for name in part) for part in (_STYLES, _SCRIPTS))
    return style, libraries, script


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
