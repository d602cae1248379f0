"""All benchmarks, one after the other, and a page of their results.

    python -m benchmarks [--tensorflow PYTHON] [--jax PYTHON] [--only NAMES] [--limit S] [--turns N] [--write FILE]

The page says what machine it was, what each benchmark printed, and which bars were reached. `make bench` writes
``benchmarks/RESULTS.md``; what the figures mean and what was tried is in ``benchmarks/NOTES.md``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import signal
import subprocess
import sys
import tempfile
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


def output_of(name: str, pythons: dict[str, str], turns: int | None, limit: float | None) -> str:
    """What a benchmark prints.

    Args:
        name: Which one.
        pythons: Interpreters by the peer that they can import.
        turns: How often training is measured.
        limit: The most seconds it may take; then what it has printed counts, and a line says so.
    """
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    command += [f"--turns={turns}"] if turns is not None and name == "training" else []
    for peer in BENCHMARKS[name]:
        command += [f"--{peer}", pythons[peer]] if peer in pythons else []
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
        # A session of its own, so that the peers that it started end with it.
        process = subprocess.Popen(command, cwd=ROOT, stdout=printed, stderr=said, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
        printed.seek(0)
        said.seek(0)
        output = printed.read().rstrip()
        if status:
            return f"failed:\n{said.read().rstrip()}"
        return output if status == 0 else f"{output}\n\nended after {limit:g} s".lstrip()


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
    parser.add_argument("--only", help="names of benchmarks, with commas between them; by default all")
    parser.add_argument("--limit", type=float, help="the most seconds of each")
    parser.add_argument("--turns", type=int, help="how often training is measured, in turns")
    parser.add_argument("--write", help="the file to write the page to")
    given = parser.parse_args()
    pythons = {name: path for name, path in (("tensorflow", given.tensorflow), ("jax", given.jax)) if path}
    names = list(BENCHMARKS) if given.only is None else given.only.split(",")
    if unknown := set(names).difference(BENCHMARKS):
        parser.error(f"there are no benchmarks {sorted(unknown)}, but {', '.join(BENCHMARKS)}")
    outputs = {}
    for name in names:
        outputs[name] = output_of(name, pythons, given.turns, given.limit)
        print(f"== {name}\n{outputs[name]}\n", flush=True)
        if given.write:
            Path(given.write).write_text(page(outputs, pythons))


if __name__ == "__main__":
    main()
