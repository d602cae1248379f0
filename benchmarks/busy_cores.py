"""What ops on the CPU take while another process has one of the cores: Situs against TensorFlow.

    python -m benchmarks.busy_cores [--tensorflow PYTHON] [--turns N] [--json]

PYTHON is an interpreter that can import TensorFlow; the current one is tried by default. Each library runs in processes
of its own, in turns, with free cores and beside a process that computes on one core without end. Situs is also run with
the waiting that PyTorch has by default, which is what its own choice (`situs._src.base.devices.spinning`) is
compared with on free cores. Medians of a process, the best of all turns; in microseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Bar, print_bars, print_machine

PEER = Path(__file__).parent / "peers" / "busy_ops.py"
ROOT = Path(__file__).parent.parent
TURNS = 3
FREE_BAR = 1.1  # of the time with the default waiting, on free cores
BUSY_BAR = 2.0  # of TensorFlow's time, on busy ones
DEFAULT_SPINS = {"GOMP_SPINCOUNT": "300000"}  # GNU OpenMP's own
HOG = "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nwhile True: pass"
Figures = dict[str, dict[str, float]]  # microseconds by column and op


@contextmanager
def hog(wanted: bool) -> Iterator[None]:
    """A process that computes on the last core, if it is wanted."""
    process = subprocess.Popen([sys.executable, "-c", HOG]) if wanted else None
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def run(library: str, python: str, env: dict[str, str]) -> dict[str, float] | None:
    """The times of one process; None where the library cannot be imported."""
    clean = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "OMP_NUM_THREADS")}
    given = {**clean, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "", **env}
    done = subprocess.run([python, str(PEER), library], env=given, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if library == "situs" or python != sys.executable:
            sys.exit(f"{python} cannot run {library}:\n{done.stderr}")
        return None
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(tensorflow: str, turns: int) -> Figures:
    """Everything, in turns."""
    cases = [
        ("free, default waiting", "situs", sys.executable, DEFAULT_SPINS, False),
        ("free", "situs", sys.executable, {}, False),
        ("free, tensorflow", "tensorflow", tensorflow, {}, False),
        ("busy, default waiting", "situs", sys.executable, DEFAULT_SPINS, True),
        ("busy", "situs", sys.executable, {}, True),
        ("busy, tensorflow", "tensorflow", tensorflow, {}, True),
    ]
    figures: Figures = {}
    for _ in range(turns):
        for column, library, python, env, is_busy in cases:
            with hog(is_busy):
                found = run(library, python, env)
            if found is not None:
                best = figures.setdefault(column, found)
                figures[column] = {op: min(time, best[op]) for op, time in found.items()}
    return figures


def report(figures: Figures) -> None:
    """Prints the figures as a table."""
    print_machine()
    ops = list(figures["free"])
    print(f"{'us':24}" + "".join(f"{op:>16}" for op in ops))
    for column, times in figures.items():
        print(f"{column:24}" + "".join(f"{times[op]:>16.1f}" for op in ops))
    print_bars(bars(figures))


def bars(figures: Figures) -> list[Bar]:
    """What Situs means to stay under."""
    free, before = figures["free"], figures["free, default waiting"]
    found = [Bar(f"{op}, free cores", free[op] / before[op], FREE_BAR, "x default waiting", noise=0.1) for op in free]
    if "busy, tensorflow" in figures:
        busy, theirs = figures["busy"], figures["busy, tensorflow"]
        found += [Bar(f"{op}, busy cores", busy[op] / theirs[op], BUSY_BAR, "x tensorflow", noise=0.1) for op in busy]
    return found


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=sys.executable, help="an interpreter that can import TensorFlow")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    figures = measure(given.tensorflow, given.turns)
    if given.json:
        print(json.dumps(figures))
    else:
        report(figures)


if __name__ == "__main__":
    main()
