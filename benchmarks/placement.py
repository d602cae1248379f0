"""Searched placements against the best that is known: published workloads, and graphs of any size.

    python -m benchmarks.placement [--workloads FOLDER] [--budget SECONDS] [--quick] [--without-exact] [--python]

The published workloads (NeurIPS 2020) are read from ``../shared/placement_inputs`` if they are there. Values to reach
are the best that any tool or solver has found within a minute (``max_load``, ``latency``), and the result of a plain
annealer after 8 s (``step``). A workload says nothing of the order of dispatch, which ``step`` needs: the order of the
file and the one by the longest way to the end get half of the time each.

Generated graphs have layers of weights, products and activations, four GPUs and a host. A usable answer is one that is
at most 5 % above the final one; how long it takes is counted from the call, reduction and starting points included.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Bar, print_bars, print_machine
from situs._src.placement.search import compiled, exact, published
from situs._src.placement.search.problem import Device, Link, Node, Objective, Problem, Tensor
from situs._src.placement.search.search import search

ROOT = Path(__file__).parent.parent
WORKLOADS = ROOT.parent / "shared" / "placement_inputs"
BEST: dict[Objective, dict[str, float]] = {
    "max_load": {
        "layer.bert24_inference": 17.715,
        "layer.bert24_training": 39.790,
        "layer.resnet50_inference": 33.579,
        "layer.resnet50_training": 76.959,
        "op.bert_l-3_inference": 21.908,
        "op.bert_l-3_training": 54.207,
        "op.resnet50_inference": 124.349,
        "op.resnet50_training": 255.194,
    },
    "latency": {
        "layer.bert24_inference": 100.219,
        "layer.resnet50_inference": 1156.881,
        "op.bert_l-3_inference": 408.474,
        "op.resnet50_inference": 651.121,
    },
    "step": {
        "layer.bert24_inference": 100.2,
        "layer.resnet50_inference": 1124.7,
        "op.bert_l-3_inference": 400.8,
        "op.resnet50_inference": 597.6,
    },
}
FOLDER: dict[Objective, str] = {"max_load": "max_load", "latency": "latency", "step": "latency"}
NEAR = 1.005  # of the best known
ROUNDED = 1.0005  # values of ``step`` are known to four digits
STEP_SECONDS = 8.0
CORES = 4  # of the host in ``step``, as in the values to reach
USABLE = 1.05
# Nodes, budget in seconds, seconds to a usable answer.
GRAPHS = ((1_000, 3.0, 0.3), (10_000, 15.0, 3.0), (100_000, 60.0, 12.0))
PYTHON_FACTOR = 20


@dataclass(frozen=True)
class Row:
    """What was found for one workload."""

    name: str
    objective: Objective
    value: float
    best: float
    bound: float
    seconds: float
    first: float
    note: str

    @property
    def ratio(self) -> float:
        """The value as a multiple of the best that is known."""
        return self.value / self.best


def workload(path: Path, objective: Objective, best: float, budget: float) -> Row:
    """Places one published workload."""
    data = json.loads(path.read_text())
    problem = published.read(data, CORES if objective == "step" else None if objective == "max_load" else 1)
    problems = published.orders(problem) if objective == "step" else [problem]
    start, seen = time.perf_counter(), list[tuple[float, float]]()
    plans = [
        search(each, objective, budget / len(problems), progress=lambda v, _: seen.append((time.perf_counter(), v)))
        for each in problems
    ]
    seconds = time.perf_counter() - start
    plan = min(plans, key=lambda each: each.forecast.value)
    first = next(when for when, value in seen if value <= plan.forecast.value * NEAR) - start
    bound = min(each.bound for each in plans)
    note = "; ".join(note for note in plan.notes if not note.startswith("exact"))
    return Row(path.stem, objective, plan.forecast.value, best, bound, seconds, first, note)


def workloads(folder: Path, budget: float) -> Iterator[Row]:
    """Places all published workloads that there are, and prints a row for each."""
    print(f"\n{'workload':27} {'objective':9} {'found':>10} {'best known':>10} {'ratio':>7} {'bound':>10} "
          f"{'s':>6} {'s to 0.5 %':>10}")  # fmt: skip
    for objective, known in BEST.items():
        for name, best in known.items():
            path = folder / FOLDER[objective] / f"{name}.json"
            if path.is_file():
                row = workload(path, objective, best, STEP_SECONDS if objective == "step" else budget)
                print(f"{name:27} {objective:9} {row.value:10.4f} {best:10.3f} {row.ratio:7.4f} {row.bound:10.4f} "
                      f"{row.seconds:6.1f} {row.first:10.2f}  {row.note}", flush=True)  # fmt: skip
                yield row


def generated(count: int, gpus: int = 4) -> Problem:
    """A graph in layers of units, each of which takes the results of two units of the layer before.

    A unit is three nodes: weights, which take no time, an operation that is colocated with them, and an activation.
    """
    chance = random.Random(count)
    units = count // 3
    width = max(4, int(units**0.5) // 2)
    nodes, tensors = [], []
    takers: list[list[int]] = [[] for _ in range(units)]
    for i in range(units):
        seconds, short = chance.expovariate(1.0) * 3e-4, 1e-5
        nodes.append(Node(f"weights{i}", (0.0,) * (gpus + 1), weights=chance.random() * 3e6, group=f"unit{i}"))
        nodes.append(Node(f"product{i}", (*(seconds,) * gpus, 10 * seconds), group=f"unit{i}"))
        nodes.append(Node(f"activation{i}", (*(short,) * gpus, 10 * short), group=f"unit{i}"))
        if i >= width:
            for _ in range(2):
                takers[(i // width - 1) * width + chance.randrange(width)].append(3 * i + 1)
    for i in range(units):
        size = chance.random() * 2e6
        tensors += [Tensor(3 * i, nodes[3 * i].weights, (3 * i + 1,)), Tensor(3 * i + 1, size, (3 * i + 2,))]
        tensors.append(Tensor(3 * i + 2, size, tuple(sorted(set(takers[i])))))
    devices = (*(Device(f"GPU:{i}", "GPU") for i in range(gpus)), Device("CPU:0", "CPU", None, 4))
    pairs = itertools.permutations(range(gpus + 1), 2)
    links = tuple(Link(a, b, 1e-5, 1e-10, (f"{a} out", f"{b} in")) for a, b in pairs)
    return Problem(tuple(nodes), tuple(tensors), devices, links)


def graph(count: int, budget: float) -> tuple[float, float]:
    """Places one generated graph; returns seconds to a usable answer, and by how much the best rule is above."""
    problem = generated(count)
    start, seen = time.perf_counter(), list[tuple[float, float]]()
    plan = search(problem, "step", budget, progress=lambda v, _: seen.append((time.perf_counter() - start, v)))
    seconds = time.perf_counter() - start
    usable = next((when for when, value in seen if value <= plan.forecast.value * USABLE), seconds)
    rule = min(value for value in (plan.tried or {}).values() if value is not None) / plan.forecast.value
    note = "; ".join(plan.notes)
    print(f"{count:9} {plan.forecast.value:10.5f} {rule:18.3f} {usable:10.2f} {seconds:8.1f}  {note}", flush=True)
    return usable, rule


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=Path, default=WORKLOADS, help="a folder with max_load/ and latency/")
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for each workload")
    parser.add_argument("--quick", action="store_true", help="leave out the graph of 100,000 nodes")
    parser.add_argument("--without-exact", action="store_true", help="as if OR-Tools was not there")
    parser.add_argument("--python", action="store_true", help="nothing compiled; only the generated graphs")
    given = parser.parse_args()
    print_machine()
    if given.without_exact:
        exact.is_there = lambda: False
    if given.python:
        os.environ["SITUS_NO_COMPILER"] = "1"
    way = "compiled" if compiled.library() else "Python alone"
    print(f"{way}, {'with' if exact.is_there() else 'without'} OR-Tools")
    bars = []
    for row in [] if given.python else workloads(given.workloads, given.budget):
        most = ROUNDED if row.objective == "step" else NEAR
        bars.append(Bar(f"{row.objective} {row.name}", row.ratio, most, "x best known", digits=4))
    print(f"\n{'nodes':>9} {'found':>10} {'best rule / found':>18} {'s to 5 %':>10} {'s':>8}")
    for count, budget, most in GRAPHS[: 2 if given.quick else 3]:
        factor = PYTHON_FACTOR if given.python else 1
        usable, _ = graph(count, budget * factor)
        bars.append(Bar(f"usable answer, {count} nodes, {way}", usable, most * factor, " s"))
    print_bars(bars)


if __name__ == "__main__":
    main()
