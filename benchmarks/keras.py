"""What a batch of Keras' `fit` takes: Keras on Situs against Keras on TensorFlow and on PyTorch.

    python -m benchmarks.keras [--tensorflow PYTHON] [--turns N] [--batches N] [--json]
    python -m benchmarks.keras --profile [--models mlp cnn] [--batches N]

PYTHON is an interpreter that can import TensorFlow and Keras; without one, TensorFlow is left out. One program
(``benchmarks/peers/keras_fit.py``) runs in processes of their own, in turns, and the best figure of all turns counts;
first losses must agree. `fit` is compared with a step that is written out as a `tf.function`, too: that has its bar
on a card, where it shows what Keras' loop adds to each batch. What a call of `fit` sets up once, some milliseconds, is
left out of that (and is in the other figures), and an epoch has more batches there: a step of a card takes a tenth of
one of a CPU. A machine that does other work too slows all of them down: the seconds of the CPU are printed as well.
`--profile` prints where the time of a batch goes on Situs instead, piece by piece
(``benchmarks/peers/keras_pieces.py``).
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

ROOT = Path(__file__).parent.parent
PROGRAM = ROOT / "benchmarks" / "peers" / "keras_fit.py"
PIECES = ROOT / "benchmarks" / "peers" / "keras_pieces.py"
MODELS = ("mlp", "cnn", "lstm")
BAR = 1.0  # of the time of Keras on another backend
TURNS = 3
ALIKE = 1e-3  # how far losses of the same work may be apart
ON_CARD = 400  # batches in an epoch
BARE_BAR = 1.15  # of the time of a step that is written out, on a card
_PATHS = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", ".", str(ROOT))]
Figures = dict[str, dict[str, dict[str, Any]]]  # by model and backend


def peer(backend: str, python: str, model: str, batches: int | None) -> dict[str, Any] | None:
    """What the program printed on a backend; None where that is not there."""
    command = [python, *(["-m", "situs", "run"] if backend == "situs" else []), str(PROGRAM), model]
    command += [] if batches is None else [str(batches)]
    env = {
        **os.environ,
        "KERAS_BACKEND": "torch" if backend == "torch" else "tensorflow",
        "PYTHONPATH": os.pathsep.join(_PATHS),
    }
    if backend == "situs":
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *_PATHS])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        if backend == "situs" or python != sys.executable:
            sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
        return None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def profile(model: str, batches: int | None) -> None:
    """Prints where the time of a batch goes, on this machine's first card if it has one."""
    command = [sys.executable, "-m", "situs", "run", str(PIECES), model, *([] if batches is None else [str(batches)])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *_PATHS])}
    subprocess.run(command, check=True, env=environment)


def measure(tensorflow: str, turns: int, models: tuple[str, ...], batches: int | None = None) -> Figures:
    """Everything, in turns."""
    figures: Figures = {}
    for _ in range(turns):
        for model in models:
            for backend, python in (("situs", sys.executable), ("torch", sys.executable), ("tensorflow", tensorflow)):
                found = peer(backend, python, model, batches)
                if found is not None:
                    known = figures.setdefault(model, {}).setdefault(backend, found)
                    for figure in {"seconds", "cpu", "later", "bare"} & known.keys():
                        known[figure] = min(known[figure], found[figure])
    for model, columns in figures.items():
        for backend, found in columns.items():
            apart = max(abs(a / b - 1) for a, b in zip(found["losses"], columns["situs"]["losses"], strict=True))
            if apart > ALIKE:
                sys.exit(f"The losses of {backend} and situs in {model} are {apart:.1%} apart: not the same work.")
    return figures


def report(figures: Figures) -> None:
    """Prints the figures as tables."""
    print_machine()
    bars = []
    for model, columns in figures.items():
        ours = columns["situs"]
        print(f"\n{model:16}{'ms a batch':>14}{'ms of CPU':>14}{'Situs takes':>14}")
        for backend, found in columns.items():
            ratio = ours["seconds"] / found["seconds"]
            print(f"  {backend:14}{found['seconds'] * 1e3:>14.2f}{found['cpu'] * 1e3:>14.2f}{ratio:>13.2f}x")
            if backend != "situs":
                bars.append(Bar(f"fit of {model}, a batch", ratio, BAR, f"x Keras on {backend}"))
        print(f"  {'later epochs':14}{ours['later'] * 1e3:>14.2f}")
        print(f"  {'a step alone':14}{ours['bare'] * 1e3:>14.2f}{'':>14}{ours['later'] / ours['bare']:>13.2f}x")
        if torch.cuda.is_available():
            bars.append(
                Bar(f"later epochs of {model}, a batch", ours["later"] / ours["bare"], BARE_BAR, "x a step alone")
            )
    print_bars(iter(bars))


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=sys.executable, help="an interpreter that can import TensorFlow")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--batches", type=int, help="how many an epoch has; by default 10 to 40, on a card 400")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--profile", action="store_true", help="print where the time of a batch goes, piece by piece")
    given = parser.parse_args()
    if given.profile:
        for model in given.models:
            profile(model, given.batches)
        return
    batches = given.batches or (ON_CARD if torch.cuda.is_available() else None)
    figures = measure(given.tensorflow, given.turns, tuple(given.models), batches)
    if given.json:
        print(json.dumps(figures))
    else:
        report(figures)


if __name__ == "__main__":
    main()
