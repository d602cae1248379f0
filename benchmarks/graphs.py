"""What large graphs, many traces, recurrent layers and loops cost: Situs against TensorFlow.

    python -m benchmarks.graphs [--tensorflow PYTHON] [--only recurrent,loops] [--json]

PYTHON is an interpreter that can import TensorFlow; the current one is tried by default. Each library runs the same
programs (``benchmarks/peers/graph_programs.py``) in processes of their own, in turns, with one thread; the least CPU
time of all turns counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Bar, print_bars, print_machine

PROGRAMS = Path(__file__).parent / "peers" / "graph_programs.py"
ROOT = Path(__file__).parent.parent
TURNS = 2
GROWTH = "growth of traces over 1,200"  # a ratio in itself
# The largest ratios to TensorFlow that are meant; of the growth, the largest there may be.
BARS = {
    "as_graph_def of 32,000 nodes": 2.0,
    "the same with shapes": 2.0,
    "import_graph_def of 32,000 nodes": 2.0,
    "a trace after 1,200 others": 1.0,
    GROWTH: 1.3,
    "LSTM unrolled, forwards": 1.5,
    "LSTM unrolled, and back": 1.5,
    "LSTM in a loop, forwards": 1.5,
    "LSTM in a loop, and back": 1.5,
    "LSTM as a layer, forwards": 1.2,
    "LSTM as a layer, and back": 1.2,
}
MOST = 2.0  # of every other case
Figures = dict[str, dict[str, float]]


def peer_figures(library: str, python: str, only: list[str]) -> dict[str, float]:
    """The figures of one library from a process of its own; none where it cannot be imported."""
    path = str(ROOT) if library == "situs" else ""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run([python, str(PROGRAMS), library, *only], capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        if library == "situs" or python != sys.executable:
            sys.exit(f"{python} cannot run {library}:\n{done.stderr}")
        return {}
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure(tensorflow: str | None, only: list[str]) -> Figures:
    """Everything, or some of it, in turns: figures by case and library."""
    figures: Figures = {}
    for _ in range(TURNS):
        for library, python in (("situs", sys.executable), ("tensorflow", tensorflow or sys.executable)):
            for case, figure in peer_figures(library, python, only).items():
                known = figures.setdefault(case, {})
                known[library] = min(figure, known.get(library, float("inf")))
    return figures


def report(figures: Figures) -> None:
    """Prints the figures as a table, and the bars."""
    print_machine()
    print(f"{'ms':34}{'situs':>12}{'tensorflow':>22}")
    bars = []
    for case, found in figures.items():
        if case == GROWTH:
            print(f"{case:34}{found['situs']:>11.2f}x{found.get('tensorflow', float('nan')):>21.2f}x")
            bars.append(Bar(case, found["situs"], BARS[case], "x"))
            continue
        cell = "-"
        if "tensorflow" in found:
            ratio = found["situs"] / found["tensorflow"]
            cell = f"{found['tensorflow'] * 1e3:.2f} ({ratio:.2f}x)"
            bars.append(Bar(case, ratio, BARS.get(case, MOST), "x tensorflow"))
        print(f"{case:34}{found['situs'] * 1e3:>12.2f}{cell:>22}")
    print_bars(bars)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that can import tensorflow")
    parser.add_argument("--only", default="", help="names of functions in graph_programs.py, with commas between them")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = measure(arguments.tensorflow, arguments.only.split(",") if arguments.only else [])
    if arguments.json:
        print(json.dumps(figures))
    else:
        report(figures)


if __name__ == "__main__":
    main()
