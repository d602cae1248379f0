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
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

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
    card = f", {torch.cuda.get_device_name(0)}" if torch.cuda.is_available() else ""
    print(f"Python {platform.python_version()}, torch {torch.__version__}, {torch.get_num_threads()} threads{card}")
    for model, columns in figures.items():
        print(f"\n{model:22}{'ms a step':>14}{'x torch':>10}{'MiB at most':>14}")
        for column, found in columns.items():
            times = f"{found['seconds'] * 1e3:>14.3f}{found['seconds'] / columns['torch']['seconds']:>10.2f}"
            held = f"{found['bytes'] / MIB:>14.1f}" if found["bytes"] else ""
            print(f"  {column:20}{times}{held}")
        for line in verdicts(model, columns):
            print(f"  {line}")


def verdicts(model: str, columns: dict[str, dict[str, Any]]) -> list[str]:
    """The bars of a model: what was reached."""
    ours, torchs = columns["situs"], columns["torch"]
    if model == "tape":
        return [_ratio("a tape", ours["seconds"] / torchs["seconds"], "torch's autograd", TAPE_BAR)]
    found = []
    if ours["bytes"]:
        found.append(_ratio("memory", ours["bytes"] / torchs["bytes"], "eager torch's", MEMORY_BAR))
    if model.startswith("gpt"):
        return [_ratio("a step", ours["seconds"] / torchs["seconds"], "eager torch's", GPT_BAR), *found]
    if torch.cuda.is_available():
        bar = CARD_BARS[model]
        best = min(ours["seconds"], columns["situs, session"]["seconds"])
        return [f"a step takes {best * 1e3:.3f} ms, bar {bar * 1e3}: {_word(best, bar)}", *found]
    rivals, bar = CPU_BARS[model]
    known = {rival: columns[rival]["seconds"] for rival in rivals if rival in columns}
    if not known:
        return [f"no bar: {' and '.join(rivals)} cannot be imported", *found]
    fastest = min(known, key=lambda rival: known[rival])
    return [_ratio("a step", ours["seconds"] / known[fastest], f"{fastest}'s", bar), *found]


def _ratio(what: str, ratio: float, whose: str, bar: float) -> str:
    return f"{what} takes {ratio:.2f}x {whose}, bar {bar}: {_word(ratio, bar)}"


def _word(figure: float, bar: float) -> str:
    return "reached" if figure <= bar else "MISSED"


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=sys.executable, help="an interpreter that can import TensorFlow")
    parser.add_argument("--jax", default=sys.executable, help="an interpreter that can import JAX")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args()
    figures = measure({"jax": given.jax, "tensorflow": given.tensorflow}, given.turns)
    print(json.dumps(figures)) if given.json else report(figures)


if __name__ == "__main__":
    main()
