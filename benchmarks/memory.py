"""What programs hold: Situs' graphs against eager PyTorch on the same work, and what it costs to know it.

    python -m benchmarks.memory [--json]

Each model (``benchmarks/peers/models.py``) runs in a process of its own per library, and the results are
compared, so that the work is the same. On a card, PyTorch's allocator counts for both. Without one, Situs runs on a
virtual GPU and its ledger counts; PyTorch's results are counted by the same rule. Figures include weights and input,
and Situs' are of the first run and of all runs while it warms up: a program that is captured holds buffers of its own.
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

from benchmarks.peers.models import STEPS
from benchmarks.report import Bar, print_bars, print_machine

PEERS = Path(__file__).parent / "peers"
ROOT = Path(__file__).parent.parent
MODELS = {
    ("cnn",): "CIFAR CNN forward",
    ("mlp",): "MLP forward",
    ("cnn", "train"): "CIFAR CNN training",
    ("mlp", "train"): "MLP training",
}
PEAK_BAR = 1.0  # of eager PyTorch's peak
GROWTH_BAR = 0  # bytes more taken from the card
COST_BAR = 0.05  # of what an eager op takes
PLAN_BAR = 0.1  # of the measured peak
ALIKE = 2e-3  # how far results of the same work may be apart, in TensorFloat-32
MIB = 2**20
Figures = dict[str, dict[str, Any]]


def figures_of(peer: str, *arguments: str) -> dict[str, Any]:
    """What a peer printed, run in a process of its own."""
    command = [sys.executable, str(PEERS / f"memory_{peer}.py"), *arguments]
    env = {key: value for key, value in os.environ.items() if not key.startswith("SITUS_")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**env, "PYTHONPATH": str(ROOT)})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure() -> Figures:
    """Bytes of each model, in each library."""
    return {title: model_figures(*model) for model, title in MODELS.items()}


def model_figures(model: str, *how: str) -> dict[str, Any]:
    """What a model holds in Situs and in PyTorch; the two must have computed the same."""
    steps = STEPS if model == "mlp" or torch.cuda.is_available() else 0  # 1000 runs of the CNN take minutes on a CPU
    situs, plain = figures_of("situs", model, str(steps), *how), figures_of("torch", model, *how)
    thrifty = figures_of("torch", model, "inplace", *how)
    _check_alike(situs.pop("result"), plain["result"])
    return {**situs, "steps": steps, "torch": plain["peak"], "torch in place": thrifty["peak"]}


def _check_alike(ours: list[list[float]], theirs: list[list[float]]) -> None:
    apart = max(abs(a - b) for mine, yours in zip(ours, theirs, strict=True) for a, b in zip(mine, yours, strict=True))
    if apart > ALIKE:
        sys.exit(f"The results of Situs and PyTorch are {apart} apart: this is not the same work.")


def report(figures: Figures, costs: dict[str, dict[str, float]]) -> None:
    """Prints the figures as tables."""
    print_machine()
    print(f"{'MiB at most':20}{'planned':>9}{'first run':>11}{'situs':>9}{'torch':>17}{'torch, in place':>18}")
    for title, found in figures.items():
        _report_peak(title, found)
    for case, times in costs.items():
        added = times["counted"] - times["alone"]
        print(f"{case:34}{times['alone']:>7.0f} ns +{added:.0f} ({added / times['alone']:.1%})")
    print_bars([*byte_bars(figures), *cost_bars(costs)])


def _report_peak(title: str, found: dict[str, Any]) -> None:
    plain, thrifty = (
        f"{found[peer] / MIB:.1f} ({found['peak'] / found[peer]:.2f}x)" for peer in ("torch", "torch in place")
    )
    ours = f"{found['planned'] / MIB:>9.1f}{found['first'] / MIB:>11.1f}{found['peak'] / MIB:>9.1f}"
    print(f"{title:20}{ours}{plain:>17}{thrifty:>18}")


def byte_bars(figures: Figures) -> list[Bar]:
    """What Situs means to stay under in bytes."""
    found = []
    for title, each in figures.items():
        apart = abs(each["planned"] / each["first"] - 1)
        found.append(Bar(f"{title}, bytes at most", each["peak"] / each["torch"], PEAK_BAR, "x torch", 4))
        found.append(Bar(f"{title}, plan and first run apart", apart, PLAN_BAR, "x"))
        if each["steps"]:
            found.append(Bar(f"{title}, more taken in {each['steps']} runs", each["grown"], GROWTH_BAR, " bytes", 0))
    return found


def cost_bars(costs: dict[str, dict[str, float]]) -> list[Bar]:
    """What Situs means to stay under in time; not on a virtual GPU, where every tensor is entered, however small."""
    ledgers = {case: times for case, times in costs.items() if case.startswith("ledger") and "virtual" not in case}
    return [Bar(case, times["counted"] / times["alone"] - 1, COST_BAR, "x more") for case, times in ledgers.items()]


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    figures, costs = measure(), figures_of("cost")
    if arguments.json:
        print(json.dumps({"bytes": figures, "ns": costs}))
    else:
        report(figures, costs)


if __name__ == "__main__":
    main()
