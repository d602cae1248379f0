"""``situs report A.json [B.json] --out FILE``: a page of reports that were saved as data: one, two, or all workers'.

situs run --report before.json train.py
situs run --report after.json train.py                       with another placement
situs report before.json after.json --out compare.html       both on one page
situs report before.json --out before.trace.json             a trace for Perfetto
situs report --workers 0.json 1.json 2.json --out all.html   workers of one program, on one clock
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, shown


def add_command(commands: Any) -> None:
    """Adds ``report`` to the command line."""
    parser = commands.add_parser("report", help="make a page of a report that was saved as data, or of two")
    parser.add_argument("reports", metavar="A.json", nargs="+", help="a report, saved as data; two are compared")
    parser.add_argument("--workers", action="store_true", help="they are of the workers of one program: one page")
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="the page (.html), or a trace for Perfetto (.trace.json)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the page, or the trace, and says where it is."""
    from situs._src.files.paths import local, translated  # here, because these load PyTorch
    from situs._src.report import data, page, perfetto, workers

    names = arguments.reports
    out = local(arguments.out)
    as_trace = out.name.lower().endswith(".trace.json")
    if not as_trace and out.suffix.lower() != ".html":
        raise ArgumentError(f"--out is a page (.html) or a trace (.trace.json), got {shown(arguments.out)}.")
    if as_trace and len(names) > 1 and not arguments.workers:
        raise ArgumentError("A trace is of one report: leave the other one out, or write a page (.html).")
    if len(names) > 2 and not arguments.workers:
        raise ArgumentError(f"Two reports are compared, got {len(names)}; --workers says that they are of one program.")
    reports = [data.load(name) for name in names]
    if arguments.workers:
        reports = [workers.together(reports, f"{len(reports)} workers")]
    text = perfetto.trace_text(reports[0]) if as_trace else page.page(reports)
    with translated(arguments.out):
        write_named(out, text)
    print(Path(out).resolve().as_uri())
    return 0
