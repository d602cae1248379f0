"""Reports that were saved as data: damaged, and made into pages, alone and side by side, and into traces.

What is damaged keeps its schema and version in most cases, so that it comes as far as a file made with intent would. A
page that is written must have the scripts of a page and no other, whatever the data say.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import situs as tf
from situs._src.placement.search.plan import plan_of
from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor
from situs._src.placement.search.simulate import simulate
from situs._src.report import data, page, perfetto
from situs._src.report.planned import planned
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_data

_SCRIPT = re.compile(r"<\s*script", re.IGNORECASE)


def problem() -> Problem:
    """A small problem of the placer."""
    devices = (Device("CPU:0", "CPU"), Device("GPU:0", "GPU", memory=1000.0), Device("GPU:1", "GPU", memory=1000.0))
    links = tuple(Link(a, b, 1e-5, 1e-9) for a in range(3) for b in range(3) if a != b)
    nodes = tuple(Node(f"n{i}", (2e-3, 1e-3, 1e-3), weights=10.0 * i) for i in range(6))
    tensors = tuple(Tensor(i, 100.0, (i + 1,)) for i in range(5))
    return Problem(nodes, tensors, devices, links)


def _watched() -> dict[str, Any]:
    w = tf.Variable(tf.ones([3, 3]))

    @tf.function
    def step(x: Any) -> Any:
        w.assign_add(tf.matmul(x, w))
        return tf.cond(tf.reduce_sum(w) > 0.0, lambda: w * 2.0, lambda: w + 0.0)

    with tf.report(title="<b>seed</b>") as report:
        for device in ("GPU:0", "GPU:1", "CPU:0"):
            with tf.device(device):
                step(tf.ones([3, 3])) + 1.0
    return report.to_json()


def _planned() -> dict[str, Any]:
    asked = problem()
    placement = {node.name: ("GPU:0", "GPU:1")[i % 2] for i, node in enumerate(asked.nodes)}
    return planned(asked, plan_of(asked, placement), simulate(asked, placement, "step"), "A plan", 1.0)


class Reports:
    """Cases of reports in files."""

    def __init__(self, folder: Path) -> None:
        self._seeds = [json.loads(json.dumps(each)) for each in (_watched(), _planned())]
        self._scripts = len(_SCRIPT.findall(page.page([self._seeds[0]]))) - 1

    def case(self, random: Random) -> Case:
        """One or two files, the first of them damaged; as a page, or as a trace."""
        seed = random.choice(self._seeds)
        if random.random() < 0.2:
            content = mutated_bytes(random, json.dumps(seed).encode(), [])
        else:
            made = mutated_data(random, seed)
            if isinstance(made, dict) and random.random() < 0.95:
                made.update(schema=seed["schema"], version=seed["version"])
            content = json.dumps(made).encode()
        other = random.choice([None, None, random.choice(self._seeds)])
        as_trace = other is None and random.random() < 0.3
        shown = f"report {content!a}, {'as a trace' if as_trace else 'as a page'}, {'two' if other else 'one'}"
        return Case(shown, lambda: self._made(content, other, as_trace))

    def _made(self, content: bytes, other: dict[str, Any] | None, as_trace: bool) -> None:
        file = Path("report.json")
        file.write_bytes(content)
        found = data.load(str(file))
        if as_trace:
            json.loads(perfetto.trace_text(found))
            return
        text = page.page([found] if other is None else [found, other])
        blocks = 1 if other is None else 2
        require(len(_SCRIPT.findall(text)) == self._scripts + blocks, "the scripts of the page are not its own")
