"""Training steps that nobody tuned, compiled: Situs against itself uncompiled, torch.compile, a CUDA graph and JAX.

    python -m benchmarks.compiled [--rows mlp,lstm] [--small] [--jax PYTHON] [--limit S] [--budget S] [--json] [--again]

Every library runs the same models (``benchmarks/peers/compiled_programs.py``) in a process of its own, on the card if
there is one: the time of a step once it has settled, the best of several series, and the seconds until then. Caches are
empty at the beginning of a row; ``--again`` runs Situs compiled and torch.compile a second time, with what they have
kept on disk. A row is printed when it is measured. A process that takes longer than the limit is ended, and its cell
says so; when the budget is spent, the rows that are left are named. PYTHON is an interpreter that can import JAX; it is
left out by default.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.report import Bar, print_bars, print_machine

PROGRAMS = Path(__file__).parent / "peers" / "compiled_programs.py"
ROOT = Path(__file__).parent.parent
ROWS = ("mlp", "cnn", "resnet", "lstm", "transformer", "unet", "keras", "tiny", "elementwise")
OURS = ("situs", "situs compiled")
CACHED = ("situs compiled", "torch.compile")  # who keeps what was compiled on disk
AGAIN = ", again"
LIMIT = 150.0  # seconds a program
FROM_CACHE = 10.0  # seconds until a step has settled, with what was kept
Figures = dict[str, float]  # "ms", "settled_s" and "loss"
Row = dict[str, Figures | str]  # by library; in words where there are no figures


def libraries(jax: str | None) -> list[str]:
    """Whose figures stand in a row, on this machine."""
    peer = "cuda graph" if torch.cuda.is_available() else "torch"
    return [*OURS, peer, "torch.compile", *(["jax"] if jax else [])]


def figures_of(library: str, model: str, python: str, is_small: bool, seconds: float, cache: Path) -> Figures | str:
    """What one program prints; in words why it prints nothing."""
    command = [python, str(PROGRAMS), library, model, *(["--small"] if is_small else [])]
    own = cache / library.replace(" ", "-")
    folders = {
        "SITUS_COMPILE_CACHE": own / "regions",
        "TORCHINDUCTOR_CACHE_DIR": own,
        "TRITON_CACHE_DIR": own / "triton",
    }
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **{name: str(folder) for name, folder in folders.items()}}
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
    seconds = {library: found["settled_s"] for library, found in row.items() if not isinstance(found, str)}
    if set(CACHED) <= seconds.keys():
        ratio = seconds["situs compiled"] / seconds["torch.compile"]
        bars.append(Bar(f"{model}, until it has settled", ratio, 0.5, "x torch.compile", noise=0.05))
    if "situs compiled" + AGAIN in seconds:
        bars.append(Bar(f"{model}, from the cache", seconds["situs compiled" + AGAIN], FROM_CACHE, "s", noise=0.05))
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
    parser.add_argument("--again", action="store_true", help="run compiled programs again, from their caches")
    given = parser.parse_args()
    wanted = given.rows.split(",")
    if unknown := [row for row in wanted if row not in ROWS]:
        parser.error(f"There is no row {', '.join(unknown)}. The rows are {', '.join(ROWS)}.")
    end = time.monotonic() + given.budget
    names = libraries(given.jax) + [library + AGAIN for library in CACHED if given.again]
    print_machine()
    print(f"{'ms a step (s until settled)':28}" + "".join(f"{name:>22}" for name in names), flush=True)
    table: dict[str, Row] = {}
    for model in wanted:
        row: Row = {}
        print(f"{model:28}", end="", flush=True)
        with tempfile.TemporaryDirectory(prefix="situs-benchmark-") as folder:
            for name in names:
                python = given.jax if name == "jax" and given.jax else sys.executable
                library = name.removesuffix(AGAIN)
                left = min(given.limit, end - time.monotonic())
                row[name] = (
                    figures_of(library, model, python, given.small, left, Path(folder)) if left > 0 else "not measured"
                )
                print(f"{cell(row[name]):>22}", end="", flush=True)
        print(flush=True)
        table[model] = row
    print_bars(bar for model, row in table.items() for bar in bars_of(model, row))
    if given.json:
        print(json.dumps(table))


if __name__ == "__main__":
    main()
