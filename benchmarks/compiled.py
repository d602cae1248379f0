"""Training steps that nobody tuned, compiled: Situs against itself uncompiled, torch.compile, a CUDA graph and JAX.

    python -m benchmarks.compiled [--rows mlp,lstm] [--small] [--jax PYTHON] [--limit S] [--budget S] [--json]

Every library runs the same models (``benchmarks/peers/compiled_programs.py``) in a process of its own, on the card if
there is one: the time of a step once it has settled, the best of several series, and the seconds until then. A row is
printed when it is measured. A process that takes longer than the limit is ended, and its cell says so; when the budget
is spent, the rows that are left are named. PYTHON is an interpreter that can import JAX; it is left out by default.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

from benchmarks.report import Bar, print_bars, print_machine

PROGRAMS = Path(__file__).parent / "peers" / "compiled_programs.py"
ROOT = Path(__file__).parent.parent
ROWS = ("mlp", "cnn", "resnet", "lstm", "transformer", "unet", "keras", "tiny", "elementwise")
OURS = ("situs", "situs compiled")
LIMIT = 150.0  # seconds a program
Figures = dict[str, float]  # "ms", "settled_s" and "loss"
Row = dict[str, Figures | str]  # by library; in words where there are no figures


def libraries(jax: str | None) -> list[str]:
    """Whose figures stand in a row, on this machine."""
    peer = "cuda graph" if torch.cuda.is_available() else "torch"
    return [*OURS, peer, "torch.compile", *(["jax"] if jax else [])]


def figures_of(library: str, model: str, python: str, is_small: bool, seconds: float) -> Figures | str:
    """What one program prints; in words why it prints nothing."""
    command = [python, str(PROGRAMS), library, model, *(["--small"] if is_small else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=max(seconds, 1.0)
        )
    except subprocess.TimeoutExpired:
        return f"over {seconds:.0f} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        print(f"{library} {model} failed: {last}", file=sys.stderr)
        return "failed"
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def cell(found: Figures | str) -> str:
    """Figures as the table shows them."""
    return found if isinstance(found, str) else f"{found['ms']:.3f} ({found['settled_s']:.1f})"


def bars_of(model: str, row: Row) -> list[Bar]:
    """What a row is measured by: the best peer, and Situs uncompiled."""
    known = {library: found["ms"] for library, found in row.items() if not isinstance(found, str)}
    peers = {library: ms for library, ms in known.items() if library not in OURS}
    bars = []
    if "situs compiled" in known and peers:
        best = min(peers, key=lambda library: peers[library])
        ratio = known["situs compiled"] / peers[best]
        bars.append(Bar(f"{model}, compiled", ratio, 1.0, f"x {best}", noise=0.05))
    if set(OURS) <= known.keys():
        ratio = known["situs compiled"] / known["situs"]
        bars.append(Bar(f"{model}, beside uncompiled", ratio, 1.0, "x situs", noise=0.05))
    return bars


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help="models, with commas between them")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU that others use too, or a quick look")
    parser.add_argument("--jax", help="an interpreter that can import jax")
    parser.add_argument("--limit", type=float, default=LIMIT, help="the most seconds of one program")
    parser.add_argument("--budget", type=float, default=float("inf"), help="the most seconds of all of them")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON at the end")
    given = parser.parse_args()
    wanted = given.rows.split(",")
    if unknown := [row for row in wanted if row not in ROWS]:
        parser.error(f"There is no row {', '.join(unknown)}. The rows are {', '.join(ROWS)}.")
    end = time.monotonic() + given.budget
    names = libraries(given.jax)
    print_machine()
    print(f"{'ms a step (s until settled)':28}" + "".join(f"{name:>20}" for name in names), flush=True)
    table: dict[str, Row] = {}
    for model in wanted:
        row: Row = {}
        print(f"{model:28}", end="", flush=True)
        for name in names:
            python = given.jax if name == "jax" and given.jax else sys.executable
            left = min(given.limit, end - time.monotonic())
            row[name] = figures_of(name, model, python, given.small, left) if left > 0 else "not measured"
            print(f"{cell(row[name]):>20}", end="", flush=True)
        print(flush=True)
        table[model] = row
    print_bars(bar for model, row in table.items() for bar in bars_of(model, row))
    if given.json:
        print(json.dumps(table))


if __name__ == "__main__":
    main()
