"""What training steps take: Situs against PyTorch, JAX and TensorFlow on the same work.

    python -m benchmarks.training [--tensorflow PYTHON] [--jax PYTHON] [--turns N] [--json]

PYTHON is an interpreter that can import the library; the current one is tried by default. Each library runs each
model (``benchmarks/peers/models.py``) in processes of their own, in turns, and the best figure of all turns counts; the
first losses must agree, so that the work is the same. On a card, the GPT is measured as well, and what tensors hold.
PyTorch runs eagerly, and by a CUDA graph made by hand where there is a card. A tape over 100 small ops is measured
against PyTorch's autograd.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import Bar, print_bars, print_machine

PEERS = Path(__file__).parent / "peers"
ROOT = Path(__file__).parent.parent
MODELS = ("mlp", "cnn")
TURNS = 3
ALIKE = 2e-3  # how far losses of the same work may be apart
ALIKE_IN_HALF = 5e-2  # the same in bfloat16
MIB = 2**20
# Of a CPU: how many times the faster of some libraries a step may take.
CPU_BARS = {"mlp": (("torch", "jax"), 1.0), "cnn": (("tensorflow",), 1.1)}
CARD_BARS = {"mlp": 0.15e-3, "cnn": 0.9e-3}  # seconds
GPT_BAR = 1.1  # of eager PyTorch's step
TAPE_BAR = 2.0  # of PyTorch's autograd
MEMORY_BAR = 1.0  # of eager PyTorch's peak
Figures = dict[str, dict[str, dict[str, Any]]]  # by model and library


def peer(library: str, python: str, *arguments: str) -> dict[str, Any] | None:
    """What a library's program printed, run in a process of its own; None where it cannot be imported."""
    command = [python, str(PEERS / f"training_{library}.py"), *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)} if library == "situs" else dict(os.environ)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        if library in ("situs", "torch") or python != sys.executable:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def cases(pythons: dict[str, str]) -> list[tuple[str, str, str, str]]:
    """What is measured: the model, under which name, the library, and what its program calls the model."""
    card = torch.cuda.is_available()
    found = [(model, library, library, model) for model in MODELS for library in ("situs", "torch", *pythons)]
    found += [(model, "situs, session", "situs", f"{model}, session") for model in MODELS]
    if card:
        found += [(model, "torch, CUDA graph", "torch", f"{model}, CUDA graph") for model in MODELS]
    others = ["gpt", "gpt, attention fused", "tape"] if card else ["tape"]
    return found + [(name, library, library, name) for name in others for library in ("situs", "torch")]


def measure(pythons: dict[str, str], turns: int) -> Figures:
    """Everything, in turns."""
    figures: Figures = {}
    for _ in range(turns):
        for model, column, library, name in cases(pythons):
            found = peer(library, pythons.get(library, sys.executable), name)
            if found is not None:
                known = figures.setdefault(model, {}).setdefault(column, found)
                known["seconds"] = min(known["seconds"], found["seconds"])
    for model, columns in figures.items():
        _check_alike(model, columns)
    return figures


def _check_alike(model: str, columns: dict[str, dict[str, Any]]) -> None:
    most = ALIKE_IN_HALF if model.startswith("gpt") else ALIKE
    for column, found in columns.items():
        pairs = zip(found["losses"], columns["torch"]["losses"], strict=True)
        apart = max((abs(a / b - 1) for a, b in pairs), default=0.0)
        if apart > most:
            sys.exit(f"The losses of {column} and torch in {model} are {apart:.1%} apart: this is not the same work.")


# The report.


def report(figures: Figures) -> None:
    """Prints the figures as tables."""
    print_machine()
    for model, columns in figures.items():
        print(f"\n{model:22}{'ms a step':>14}{'x torch':>10}{'MiB at most':>14}")
        for column, found in columns.items():
            times = f"{found['seconds'] * 1e3:>14.3f}{found['seconds'] / columns['torch']['seconds']:>10.2f}"
            held = f"{found['bytes'] / MIB:>14.1f}" if found["bytes"] else ""
            print(f"  {column:20}{times}{held}")
    print_bars(bar for model, columns in figures.items() for bar in bars(model, columns))


def bars(model: str, columns: dict[str, dict[str, Any]]) -> list[Bar]:
    """What Situs means to stay under with a model."""
    ours, torchs = columns["situs"], columns["torch"]
    ratio = ours["seconds"] / torchs["seconds"]
    if model == "tape":
        return [Bar("a tape over 100 small ops", ratio, TAPE_BAR, "x torch's autograd")]
    found = []
    if ours["bytes"]:
        found.append(Bar(f"{model}, bytes at most", ours["bytes"] / torchs["bytes"], MEMORY_BAR, "x eager torch"))
    if model.startswith("gpt"):
        return [Bar(f"{model}, a step", ratio, GPT_BAR, "x eager torch"), *found]
    if torch.cuda.is_available():
        return [Bar(f"{model}, a step", ours["seconds"] * 1e3, CARD_BARS[model] * 1e3, " ms", 3), *found]
    return [*_cpu_bars(model, columns), *found]


def _cpu_bars(model: str, columns: dict[str, dict[str, Any]]) -> list[Bar]:
    """The bar against the fastest of the libraries that a step is compared with; none if they are not there."""
    rivals, most = CPU_BARS[model]
    times = {rival: columns[rival]["seconds"] for rival in rivals if rival in columns}
    if not times:
        return []
    fastest = min(times, key=lambda rival: times[rival])
    return [Bar(f"{model}, a step", columns["situs"]["seconds"] / times[fastest], most, f"x {fastest}")]


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=sys.executable, help="an interpreter that can import TensorFlow")
    parser.add_argument("--jax", default=sys.executable, help="an interpreter that can import JAX")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    figures = measure({"jax": given.jax, "tensorflow": given.tensorflow}, given.turns)
    if given.json:
        print(json.dumps(figures))
    else:
        report(figures)


if __name__ == "__main__":
    main()
