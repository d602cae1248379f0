"""Strategies over devices and processes: sums against TensorFlow and bare PyTorch, replicas against one device.

    python -m benchmarks.distribution [--tensorflow PYTHON] [--turns N] [--elements N] [--only PART ...]

All processes talk over loopback, and the libraries take turns; the least time of all turns counts. Replicas are
virtual GPUs on two threads. Losses of the same training on one device, 2 and 4 replicas and 2 processes must agree.
On a machine with a card, two logical devices of it are compared with one, for the same batch.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.report import Bar, print_bars, print_machine
from situs._src.base.devices.physical import find_cards

PEERS = Path(__file__).parent / "peers"
ROOT = Path(__file__).parent.parent
ELEMENTS = 25_000_000
TURNS = 3
TENSORFLOW_BAR, TORCH_BAR = 0.3, 1.3  # of their times for a sum
MIRRORED_BAR = 1.2  # of one device's step, with the same batch
CARD_BAR = 1.15  # the same, of one card
TRACING_BAR = 1.5  # of one replica's
ALIKE = 1e-5
LONGEST = 600.0


def _free_ports(count: int) -> int:
    """The first of some ports in a row that nobody uses now."""
    for first in range(21000, 31000, count):
        found = []
        try:
            for number in range(count):
                found.append(socket.socket())
                found[-1].bind(("127.0.0.1", first + number))
        except OSError:
            continue
        finally:
            for each in found:
                each.close()
        return first
    sys.exit("There are no free ports.")


def _last_line(commands: list[list[str]], envs: list[dict[str, str]]) -> Any:
    """What the first of some processes that run together printed last; all of them are ended."""
    started = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command, env in zip(commands, envs, strict=True)
    ]
    try:
        printed, errors = started[0].communicate(timeout=LONGEST)
        if started[0].returncode:
            sys.exit(f"{' '.join(commands[0])} failed:\n{errors}")
        for each in started[1:]:
            each.wait(LONGEST)
    finally:
        for each in started:
            if each.poll() is None:
                each.kill()
                each.wait()
    return json.loads(printed.strip().splitlines()[-1])


def summed(library: str, python: str, count: int, elements: int) -> float:
    """The seconds of a sum over processes."""
    port = _free_ports(count)
    program = str(PEERS / "distribution_reduce.py")
    commands = [
        [python, program, library, str(rank), str(count), str(port), str(elements), "5"] for rank in range(count)
    ]
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "TF_CONFIG")}
    env |= {"OMP_NUM_THREADS": "1"} | ({"PYTHONPATH": str(ROOT)} if library == "situs" else {})
    return float(min(_last_line(commands, [env] * count)))


def trained(devices: str, width: int | str, threads: int, processes: int = 1) -> dict[str, Any]:
    """What a training step prints."""
    command = [sys.executable, str(PEERS / "distribution_training.py"), devices, str(width)]
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": str(threads)}
    port = _free_ports(processes)
    workers = [f"127.0.0.1:{port + number}" for number in range(processes)]
    envs = []
    for rank in range(processes):
        config = json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})
        envs.append({**env, "TF_CONFIG": config} if processes > 1 else env)
    found: dict[str, Any] = _last_line([command] * processes, envs)
    return found


def sums(pythons: dict[str, str], elements: int, turns: int) -> list[Bar]:
    """Sums over 2 and 4 processes, and their bars."""
    bars = []
    print(f"\nall-reduce of {elements:,} float32{'ms':>14}{'x torch':>10}")
    for count in (2, 4):
        best: dict[str, float] = {}
        for _ in range(turns):
            for library, python in pythons.items():
                best[library] = min(best.get(library, float("inf")), summed(library, python, count, elements))
        for library, seconds in best.items():
            print(f"  {count} processes, {library:16}{seconds * 1e3:>14.1f}{seconds / best['torch']:>10.2f}")
        what = f"all-reduce, {count} processes"
        bars.append(Bar(what, best["situs"] / best["torch"], TORCH_BAR, "x torch.distributed"))
        if "tensorflow" in best:
            bars.append(Bar(what, best["situs"] / best["tensorflow"], TENSORFLOW_BAR, "x TensorFlow"))
    return bars


def replicas(turns: int) -> list[Bar]:
    """Steps and tracing of replicas, and their bars."""
    step = _steps(("1", "2"), ("1 device, 2 threads", "2 replicas, 2 threads"), 512, turns, "calls")
    runs = [[trained(count, 64, threads=1)["traced"] for count in ("1", "8")] for _ in range(turns)]
    traces = [min(each) for each in zip(*runs, strict=True)]
    print(f"\n{'tracing, CPU time':32}{'ms':>10}")
    for name, seconds in zip(("1 replica", "8 replicas"), traces, strict=True):
        print(f"  {name:30}{seconds * 1e3:>10.1f}")
    return [
        Bar("a step of 2 replicas on 2 cores", step[1] / step[0], MIRRORED_BAR, "x one device"),
        Bar("tracing of 8 replicas", traces[1] / traces[0], TRACING_BAR, "x one replica"),
    ]


def _steps(kinds: tuple[str, str], names: tuple[str, str], width: int | str, turns: int, what: str) -> list[float]:
    """The seconds of a step of one device and of two, which take turns."""
    runs = [[trained(kind, width, threads=2) for kind in kinds] for _ in range(turns)]
    found = [min(each["seconds"] for each in of_kind) for of_kind in zip(*runs, strict=True)]
    print(f"\n{'a step, ' + ('convolutions' if width == 'cnn' else f'dense layers of {width}'):32}{'ms':>10}")
    for name, seconds in zip(names, found, strict=True):
        print(f"  {name:30}{seconds * 1e3:>10.2f}")
    print(f"  {what + ' that began beside another one':48}{runs[-1][1]['together']}")
    if "weights" in runs[-1][1]:
        spent = min(run[1]["weights"] for run in runs)
        label = "of which weights and updates of the second"
        print(f"  {label:48}{spent * 1e3:.2f} ms, at the speed of a copy")
    return found


def card(turns: int) -> list[Bar]:
    """A step of two logical devices of a card; nothing where there is none."""
    if not find_cards():
        print("\nThere is no card here: two logical devices of one were not compared with one.")
        return []
    names = "1 logical device of a card", "2 logical devices of a card"
    bars = []
    for width, what in ((4096, "dense layers, bound by memory"), ("cnn", "convolutions, bound by arithmetic")):
        step = _steps(("card1", "card2"), names, width, turns, "kernels")
        bars.append(Bar(f"2 logical devices of a card: {what}", step[1] / step[0], CARD_BAR, "x one device"))
    return bars


def losses() -> Bar:
    """How far apart the losses of the same training are, at most."""
    found = {name: trained(name, 64, threads=1)["losses"] for name in ("0", "2", "4")}
    found["2 processes"] = trained("workers", 64, threads=1, processes=2)["losses"]
    apart = {name: max(abs(a / b - 1) for a, b in zip(each, found["0"], strict=True)) for name, each in found.items()}
    print(f"\n{'losses, apart from one device':32}")
    for name, value in list(apart.items())[1:]:
        print(f"  {name if 'proc' in name else name + ' replicas':30}{value:>10.1e}")
    return Bar("losses of replicas and processes", max(apart.values()) * 1e6, ALIKE * 1e6, " millionths apart")


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", help="an interpreter that can import TensorFlow")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--elements", type=int, default=ELEMENTS)
    parts = ("sums", "replicas", "card", "losses")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts, help="which parts to run")
    given = parser.parse_args()
    pythons = {"situs": sys.executable, "torch": sys.executable}
    if given.tensorflow:
        pythons["tensorflow"] = given.tensorflow
    print_machine()
    bars = sums(pythons, given.elements, given.turns) if "sums" in given.only else []
    bars += replicas(given.turns) if "replicas" in given.only else []
    bars += card(given.turns) if "card" in given.only else []
    print_bars([*bars, losses()] if "losses" in given.only else bars)


if __name__ == "__main__":
    main()
