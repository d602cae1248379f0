"""Training steps that nobody tuned, compiled: Situs against itself uncompiled, torch.compile and JAX.

    python -m benchmarks.compiled [--jax PYTHON] [--only mlp,elementwise,lstm] [--small] [--json]

PYTHON is an interpreter that can import JAX; it is left out by default. Every library runs the same models
(``benchmarks/peers/compiled_programs.py``) in a process of its own, on the card if there is one: the time of a step
once it has settled, the best of several series, and the seconds until then.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.report import Bar, print_bars, print_machine

PROGRAMS = Path(__file__).parent / "peers" / "compiled_programs.py"
ROOT = Path(__file__).parent.parent
MODELS = ("mlp", "elementwise", "lstm")
WAYS = ("situs", "situs compiled", "torch", "torch.compile", "jax")
Figures = dict[str, dict[str, dict[str, float]]]  # by model and way: "ms", "settled_s" and "loss"


def figures_of(way: str, model: str, python: str, is_small: bool) -> dict[str, float]:
    """What one program prints."""
    command = [python, str(PROGRAMS), way, model, *(["--small"] if is_small else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(models: list[str], jax: str | None, is_small: bool) -> Figures:
    """The figures of all programs."""
    pythons = dict.fromkeys(WAYS, sys.executable) | ({"jax": jax} if jax else {})
    ways = [way for way in WAYS if way != "jax" or jax]
    return {model: {way: figures_of(way, model, pythons[way], is_small) for way in ways} for model in models}


def report(figures: Figures) -> None:
    """Prints the figures as a table, and the bars."""
    print_machine()
    ways = list(next(iter(figures.values())))
    print(f"{'ms a step (s until settled)':30}" + "".join(f"{way:>22}" for way in ways))
    bars = []
    for model, found in figures.items():
        cells = [f"{found[way]['ms']:.3f} ({found[way]['settled_s']:.1f})" for way in ways]
        print(f"{model:30}" + "".join(f"{cell:>22}" for cell in cells))
        peers = {way: each["ms"] for way, each in found.items() if not way.startswith("situs")}
        best = min(peers, key=lambda way: peers[way])
        ours = found["situs compiled"]["ms"]
        bars.append(Bar(f"{model}, compiled", ours / peers[best], 1.0, f"x {best}", noise=0.05))
        bars.append(Bar(f"{model}, beside uncompiled", ours / found["situs"]["ms"], 1.0, "x situs", noise=0.05))
    print_bars(bars)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax", help="an interpreter that can import jax")
    parser.add_argument("--only", default=",".join(MODELS), help="models, with commas between them")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU that others use too")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures = measure(arguments.only.split(","), arguments.jax, arguments.small)
    if arguments.json:
        print(json.dumps(figures))
    else:
        report(figures)


if __name__ == "__main__":
    main()
