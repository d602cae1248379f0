"""All benchmarks, one after the other, and a page of their results.

    python -m benchmarks [--tensorflow PYTHON] [--jax PYTHON] [--turns N] [--write FILE]

The page says what machine it was, what each benchmark printed, and which bars were reached. `make bench` writes
``benchmarks/RESULTS.md``; what the figures mean and what was tried is in ``benchmarks/NOTES.md``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.report import MARK
from situs._src.base.devices.physical import find_processor

ROOT = Path(__file__).parent.parent
# Which of the peers each benchmark takes.
BENCHMARKS = {
    "eager_dispatch": ("tensorflow", "jax"),
    "op_table": ("tensorflow",),
    "session": ("tensorflow",),
    "busy_cores": ("tensorflow",),
    "graphs": ("tensorflow",),
    "memory": (),
    "random": (),
    "placement": (),
    "training": ("tensorflow", "jax"),
    "keras": ("tensorflow",),
    "distribution": ("tensorflow",),
    "compiled": ("jax",),
}


def output_of(name: str, pythons: dict[str, str], turns: int | None) -> str:
    """What a benchmark prints."""
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    command += [f"--turns={turns}"] if turns is not None and name == "training" else []
    for peer in BENCHMARKS[name]:
        command += [f"--{peer}", pythons[peer]] if peer in pythons else []
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.rstrip() if done.returncode == 0 else f"failed:\n{done.stderr.rstrip()}"


def machine() -> str:
    """The machine in a line."""
    processor = find_processor()
    card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no card"
    return f"{processor.name}, {processor.cores} cores, {card}, {platform.system()}"


def versions(pythons: dict[str, str]) -> str:
    """The versions of Python and of all libraries, in a line."""
    found = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    found += [f"numpy {importlib.metadata.version('numpy')}"]
    for peer, python in pythons.items():
        asked = [python, "-c", f"import {peer}; print({peer}.__version__)"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        found.append(f"{peer} {done.stdout.strip() if done.returncode == 0 else 'not there'}")
    return ", ".join(found)


def bars(outputs: dict[str, str]) -> list[str]:
    """The bars of all benchmarks, as rows of a table."""
    lines = [(name, line) for name, text in outputs.items() for line in text.splitlines()]
    return [f"| {name} | {line.removeprefix(MARK)} |" for name, line in lines if line.startswith(MARK)]


def tables(text: str) -> str:
    """What a benchmark printed above its bars."""
    return text.partition(f"\n{MARK}")[0].rstrip()


def page(outputs: dict[str, str], pythons: dict[str, str]) -> str:
    """The page of results."""
    rows = bars(outputs)
    missed = sum("MISSED" in row for row in rows)
    parts = [
        "# Results",
        f"Written by `python -m benchmarks` on {datetime.now(UTC):%Y-%m-%d}. {machine()}. {versions(pythons)}.",
        f"{len(rows)} bars, {len(rows) - missed} reached, {missed} missed.",
        "\n".join(["| benchmark | what | figure | at most | |", "|---|---|---|---|---|", *rows]),
    ]
    for name, text in outputs.items():
        parts.append(f"## {name}\n\n```\n{tables(text)}\n```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Runs all benchmarks from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that can import TensorFlow")
    parser.add_argument("--jax", help="an interpreter that can import JAX")
    parser.add_argument("--turns", type=int, help="how often training is measured, in turns")
    parser.add_argument("--write", help="the file to write the page to")
    given = parser.parse_args()
    pythons = {name: path for name, path in (("tensorflow", given.tensorflow), ("jax", given.jax)) if path}
    outputs = {}
    for name in BENCHMARKS:
        outputs[name] = output_of(name, pythons, given.turns)
        print(f"== {name}\n{outputs[name]}\n", flush=True)
        if given.write:
            Path(given.write).write_text(page(outputs, pythons))


if __name__ == "__main__":
    main()
