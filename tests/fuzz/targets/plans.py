"""Placement problems, published workloads, and plans: damaged, and given to ``situs place``."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from situs._src.cli.main import main
from situs._src.placement.search.plan import plan_of
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_data
from tests.fuzz.targets.reports import problem

BUDGET = "0.05"  # seconds of a search
PUBLISHED: dict[str, Any] = {
    "maxSizePerFPGA": 100.0,
    "maxFPGAs": 2,
    "maxCPUs": 1,
    "nodes": [
        {"id": i, "supportedOnFpga": 1, "cpuLatency": 3.0, "fpgaLatency": 1.0, "isBackwardNode": 0, "size": 5.0}
        for i in range(1, 6)
    ],
    "edges": [{"sourceId": i, "destId": i + 1, "cost": 0.5, "size": 3.0} for i in range(1, 5)],
}


class Plans:
    """Cases of ``situs place`` of problems, with and without a plan."""

    def __init__(self, folder: Path) -> None:
        asked = problem()
        placement = {node.name: ("GPU:0", "GPU:1")[i % 2] for i, node in enumerate(asked.nodes)}
        self._problem = asked.to_json()
        self._plan = plan_of(asked, placement).to_json()

    def case(self, random: Random) -> Case:
        """A problem, a workload or a plan that is damaged."""
        seed = random.choice((self._problem, self._problem, PUBLISHED, self._plan, self._plan))
        if random.random() < 0.2:
            content = mutated_bytes(random, json.dumps(seed).encode(), [])
        else:
            made = mutated_data(random, seed)
            if isinstance(made, dict) and random.random() < 0.95:
                made.update({key: seed[key] for key in ("format", "version") if key in seed})
            content = json.dumps(made).encode()
        objective = random.choice(("step", "step", "latency", "max_load"))
        if seed is self._plan:
            how = [random.choice(("--from", "--compare")), "plan.json"]
        else:
            how = random.choice(
                ([], ["--json"], ["--report", "out.html"], ["--out", "out.json"], ["--picture", "p.svg"])
            )
        line = ["place", "graph.json", "--budget", BUDGET, "--objective", objective, *how]

        def run() -> None:
            good = json.dumps(self._problem).encode()
            Path("graph.json").write_bytes(good if seed is self._plan else content)
            Path("plan.json").write_bytes(content if seed is self._plan else b"")
            require(main(line) in (0, 1, 3), "the exit status")

        return Case(f"situs {line!a} with {content!a}", run)
