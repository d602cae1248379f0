"""A report as one self-contained HTML page: a picture with tables."""

from __future__ import annotations

from collections.abc import Iterable

from situs._src.base import html
from situs._src.base.html import escaped
from situs._src.inspect.svg import WIDTH
from situs._src.inspect.table import Table, is_number

_STYLE = (
    f"body{{font:14px system-ui,sans-serif;max-width:{WIDTH}px;margin:2em auto;color:#1f2328;background:#fff}}"
    "svg{max-width:100%;height:auto}table{border-collapse:collapse;margin:1em 0}"
    "th,td{padding:.25em .8em;text-align:left;border-bottom:1px solid #d1d9e0}.number{text-align:right}"
    "@media(prefers-color-scheme:dark){body{color:#f0f6fc;background:#0d1117}th,td{border-color:#3d444d}}"
)


def page(title: str, picture: str, tables: Iterable[Table]) -> str:
    """The page, as text."""
    head = f'<meta charset="utf-8">\n<title>{escaped(title)}</title>\n<style>{_STYLE}</style>'
    body = "\n".join([f"<h1>{escaped(title)}</h1>", picture, *map(_table, tables)])
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>'


def fragment(picture: str, title: str, tables: Iterable[Table]) -> str:
    """A picture, if there is one, with tables under it, as a notebook shows them."""
    shown = [html.picture(picture, title)] if picture else []
    shown += [html.table(each.titles, each.rows, numbers=filter(is_number, each.titles)) for each in tables]
    return "\n".join(shown)


def _table(table: Table) -> str:
    rows = [_row("th", table.titles, table.titles), *(_row("td", table.titles, row) for row in table.rows)]
    return "<table>\n" + "\n".join(rows) + "\n</table>"


def _row(tag: str, titles: Iterable[str], cells: Iterable[str]) -> str:
    kinds = (' class="number"' if is_number(title) else "" for title in titles)
    return "<tr>" + "".join(f"<{tag}{k}>{escaped(c)}</{tag}>" for k, c in zip(kinds, cells, strict=True)) + "</tr>"
