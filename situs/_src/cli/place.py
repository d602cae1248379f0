"""``situs place GRAPH``: places a graph on devices, so that a step takes the least time, and says why.

    situs place graph.json                                       a table
    situs place graph.json --budget 30 --out plan.json           the plan as a file, which can be edited
    situs place graph.json --from plan.json                      that plan as it is, checked and simulated again
    situs place graph.json --compare plan.json                   a new plan, and what is different
    situs place graph.json --report plan.html                    the plan as a page: timeline, graph, tables
    situs place workload.json --objective max_load --out split.json --picture timeline.html

GRAPH is a placement problem (``situs.placement.problem``); a graph that Situs or TensorFlow wrote (``.pb``,
``.pbtxt``, a saved program, a model of Keras: `cli.graph_file`), for the devices of this machine; or a published
workload, whose placement is written as the split that the published tools read, with the plan beside it. The exit
status is 0 for a placement, 1 if a file or an argument is wrong, 2 if the command is, and 3 if there is no placement
that keeps to the wishes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, NotFoundError, PermissionDeniedError, shown
from situs._src.cli import graph_file, output
from situs._src.placement.search import picture, published
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.placement.search.plan import Plan, compare, load, pinned
from situs._src.placement.search.problem import OBJECTIVES, Json, Objective, Problem, from_json, parse
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate

INFEASIBLE = 3  # exit status


@dataclass(frozen=True)
class Graph:
    """What was read.

    Attributes:
        problem: The graph, with devices and costs.
        is_published: Whether it is a published workload, whose times are milliseconds.
    """

    problem: Problem
    is_published: bool = False

    @property
    def unit(self) -> str:
        """The unit of its times."""
        return "ms" if self.is_published else "s"


def add_command(commands: Any) -> None:
    """Adds ``place`` to the command line."""
    parser = commands.add_parser("place", help="place a graph on devices so that a step takes the least time")
    parser.add_argument("graph", metavar="GRAPH", help="a placement problem, a graph, or a published workload")
    parser.add_argument("--devices", metavar="NAMES", help="use only these of its devices: GPU:0,GPU:1,CPU:0")
    parser.add_argument(
        "--objective", choices=OBJECTIVES, default="step", help="what is made small: the time of a step (default), ..."
    )
    parser.add_argument("--budget", metavar="SECONDS", type=_seconds, default=10.0, help="how long to search (10)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="the same seed gives the same placement")
    parser.add_argument("--out", metavar="FILE", help="write the plan, or the split of a published workload")
    parser.add_argument("--picture", metavar="FILE", help="write a timeline (.svg, .html)")
    parser.add_argument("--report", metavar="FILE", help="write a report on the plan: a page (.html) or data (.json)")
    parser.add_argument("--from", metavar="PLAN", dest="plan", help="keep to a plan that was written before")
    parser.add_argument("--compare", metavar="PLAN", help="say what is different from a plan")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Places a graph, prints a table, and writes what was asked for."""
    if arguments.picture is not None:
        picture.check_name(arguments.picture)
    if arguments.report is not None and Path(arguments.report).suffix.lower() not in (".html", ".json"):
        raise ArgumentError(f"A report is written as .html or .json, got {shown(arguments.report)}.")
    other = load(arguments.compare) if arguments.compare else None
    kept = load(arguments.plan) if arguments.plan else None
    graph = read_graph(arguments.graph, arguments.objective)
    problem = graph.problem
    if arguments.devices is not None:
        problem = problem.only([name.strip() for name in arguments.devices.split(",")])
    if kept is not None:
        problem = pinned(problem, kept.placement)
    try:
        plan, problem = best_plan(graph.is_published, problem, arguments)
    except InfeasibleError as error:
        print(f"situs: {error}", file=sys.stderr)
        return INFEASIBLE
    if arguments.json:
        different = {} if other is None else {"compared": str(compare(other, plan))}
        output.print_json({**_data(plan, graph), **different})
    else:
        print_plan(plan, problem, graph.unit)
        if other is not None:
            print(f"Compared with {arguments.compare}: {compare(other, plan)}")
    if arguments.out is not None:
        _write(arguments.out, plan, graph)
    if arguments.picture is not None:
        title = f"{Path(arguments.graph).name}: {plan.objective} {plan.forecast.value:.6g} {graph.unit}"
        picture.save(simulate(problem, plan.placement, plan.objective), arguments.picture, title)
    if arguments.report is not None:
        _write_report(arguments.report, plan, problem, graph)
    return 0


def best_plan(is_published: bool, problem: Problem, arguments: argparse.Namespace) -> tuple[Plan, Problem]:
    """A plan, and the problem with its nodes in the order in which the plan has them dispatched.

    A published workload says nothing of that order, so ``step`` shares its budget among several.
    """
    is_free = is_published and arguments.objective == "step"
    problems = published.orders(problem) if is_free else [problem]
    budget = arguments.budget / len(problems)
    found = [(search(each, arguments.objective, budget, arguments.seed), each) for each in problems]
    return min(found, key=lambda pair: pair[0].forecast.value)


# Reading graphs. Another format is another function of the same kind in `READERS`.


def read_graph(path: str, objective: Objective) -> Graph:
    """Reads a graph in any of the formats that are known.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is none of them.
    """
    if graph_file.is_graph_file(path):
        return Graph(graph_file.problem_of(path))
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotFoundError(f"Cannot read {shown(path)}: {why}.") from None
    try:
        data = parse(content)
    except ArgumentError:
        raise ArgumentError(f"{shown(path)} is neither JSON nor the file of {KINDS}.") from None
    for reader in READERS:
        graph = reader(data, objective)
        if graph is not None:
            return graph
    raise ArgumentError(f"{shown(path)} is JSON, but not that of {KINDS}.")


def read_published(data: object, objective: Objective) -> Graph | None:
    """A published workload; its CPUs are devices where loads are counted, and else the cores of one."""
    if not published.is_published(data):
        return None
    cores = data.get("maxCPUs") if isinstance(data, dict) and objective != "max_load" else None
    whole = isinstance(cores, int) and not isinstance(cores, bool) and cores > 0
    return Graph(published.read(data, cores if whole else None), is_published=True)


def read_problem(data: object, objective: Objective) -> Graph | None:
    """A placement problem."""
    return Graph(from_json(data)) if isinstance(data, dict) and "format" in data else None


READERS: list[Callable[[object, Objective], Graph | None]] = [read_published, read_problem]
KINDS = "a graph (.pb, .pbtxt, .json), a saved program, a model of Keras, a placement problem or a published workload"


# What is printed and written.


def print_plan(plan: Plan, problem: Problem, unit: str) -> None:
    """Prints a plan: a row for each device, and what the plan rests on."""
    from rich.box import SIMPLE_HEAD  # loaded only when a table is printed
    from rich.table import Table

    forecast = plan.forecast
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("device", "nodes", f"busy ({unit})", "share", "peak memory", "limit", "receives", "sends"):
        table.add_column(title, justify="left" if title == "device" else "right")
    for device in problem.devices:
        count = sum(1 for where in plan.placement.values() if where == device.name)
        busy = forecast.busy[device.name]
        share = busy / forecast.value if forecast.value else 0.0
        received = sum(size for (_, target), size in forecast.traffic.items() if target == device.name)
        sent = sum(size for (source, _), size in forecast.traffic.items() if source == device.name)
        limit = "none" if device.memory is None else _bytes(device.memory)
        peak = _bytes(forecast.peak[device.name])
        table.add_row(
            device.name, str(count), f"{busy:.6g}", f"{share:.0%}", peak, limit, _bytes(received), _bytes(sent)
        )
    output.console().print(table)
    for line in _summary(plan, unit):
        print(line)


def _summary(plan: Plan, unit: str) -> list[str]:
    value = plan.forecast.value
    lines = [f"{plan.objective}: {value:.6g} {unit}"]
    if plan.single is not None:
        device, alone = plan.single
        factor = f", {alone / value:.2f}x as long" if value else ""
        lines.append(f"one device alone ({device}): {alone:.6g} {unit}{factor}")
    else:
        lines.append("one device alone: none can have all of it")
    tried = sorted((found, name) for name, found in (plan.tried or {}).items() if found is not None)
    if tried:
        lines.append(f"best of {len(plan.tried or {})} rules: {tried[0][0]:.6g} {unit} ({tried[0][1]})")
    if plan.bound:
        lines.append(f"no placement is below {plan.bound:.6g} {unit}: this one is within {plan.gap:.1%}")
    lines += [f"costs: {line}" for line in plan.rests_on]
    return lines + [f"note: {line}" for line in plan.notes]


def _data(plan: Plan, graph: Graph) -> dict[str, Json]:
    """The plan as plain data; that of a published workload as its split, with the plan beside it."""
    if not graph.is_published:
        return plan.to_json()
    split = published.split_of(graph.problem, plan.placement)
    claim: dict[str, Json] = {}
    if plan.objective != "step":
        claim = {"maxLoad" if plan.objective == "max_load" else "totalLatency": plan.forecast.value}
    return {**split, **claim, "plan": plan.to_json()}


def _write(path: str, plan: Plan, graph: Graph) -> None:
    _write_text(path, json.dumps(_data(plan, graph), indent=1) + "\n")


def _write_report(path: str, plan: Plan, problem: Problem, graph: Graph) -> None:
    from situs._src.report import page  # here, because these load PyTorch
    from situs._src.report.planned import planned

    simulation = simulate(problem, plan.placement, plan.objective)
    data = planned(problem, plan, simulation, "A plan of the placer", 1e-3 if graph.is_published else 1.0)
    _write_text(path, json.dumps(data) if path.lower().endswith(".json") else page.page([data]))


def _write_text(path: str, text: str) -> None:
    try:
        write_named(Path(path), text)
    except (OSError, ValueError) as error:
        raise PermissionDeniedError(f"Cannot write {shown(path)}: {error}.") from None


def _bytes(size: float) -> str:
    units = ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.4g} {units[0]}"


def _seconds(given: str) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds from 0, got {given!r}")
    return seconds
