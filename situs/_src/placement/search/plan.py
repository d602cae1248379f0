"""A placement with its predicted cost and the source of the costs: saved, loaded, edited by hand, compared.

    {"format": "situs.placement.plan", "version": 1, "objective": "step",
     "placement": {"embed": "GPU:0", "head": "GPU:1", ...},       the placement; may be edited
     "forecast": {...}, "tried": {...}, ...}                      predictions at the time of writing

A plan can be loaded without its problem. Its predictions are valid only for the original placement, so an edited plan
is simulated again before it is used (`plan_of`).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from situs._src.base import html
from situs._src.base.drafts import write_named
from situs._src.base.errors import ArgumentError, DTypeError, NotFoundError, PermissionDeniedError, shown
from situs._src.base.export import export
from situs._src.placement.search.problem import (
    OBJECTIVES,
    Json,
    Node,
    Objective,
    Problem,
    check_head,
    number,
    parse,
    rows,
    table_of,
    text,
)
from situs._src.placement.search.simulate import Simulation, simulate

FORMAT = "situs.placement.plan"
VERSION = 1
ARROW = " -> "


@dataclass(frozen=True)
class Forecast:
    """The simulator's forecast for a placement.

    Attributes:
        value: The objective: seconds of a step, of one sample, or of the busiest device.
        busy: Seconds of computation, by device.
        traffic: Bytes sent, by (source, target) of devices.
        peak: Bytes at the fullest moment, by device.
        ordering: Seconds that the host spends launching GPU calls one by one.
    """

    value: float
    busy: Mapping[str, float]
    traffic: Mapping[tuple[str, str], float]
    peak: Mapping[str, float]
    ordering: float = 0.0


@export("placement.Plan")
@dataclass(frozen=True)
class Plan:
    """The device of each node, with the forecast.

    Attributes:
        placement: Devices by names of nodes.
        objective: What was minimized.
        forecast: The forecast for the placement.
        single: The best single device that fits: (name, value); None if none fits. What it cannot have is on the host.
        tried: The value of each starting point, by name; None for one that does not fit.
        bound: A lower bound of all placements; 0 if unknown.
        rests_on: The origin of the costs, in words.
        notes: Remarks, such as that the clock stopped the search.
    """

    placement: Mapping[str, str]
    objective: Objective
    forecast: Forecast
    single: tuple[str, float] | None = None
    tried: Mapping[str, float | None] | None = None
    bound: float = 0.0
    rests_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How much better another placement could be at most, relative to this one's value."""
        return 1 - self.bound / self.forecast.value if self.forecast.value else 0.0

    def _repr_html_(self) -> str:
        from situs._src.placement.summary import bytes_text, seconds_text, summary  # which is about plans

        counts = Counter(self.placement.values())
        devices = sorted({*counts, *self.forecast.busy})
        busy, peak = self.forecast.busy, self.forecast.peak
        rows = [
            (name, str(counts[name]), seconds_text(busy.get(name, 0.0)), bytes_text(peak.get(name, 0.0)))
            for name in devices
        ]
        titles = ("device", "nodes", "busy", "peak")
        return html.table(
            titles, rows, f"{self.objective} {seconds_text(self.forecast.value)}", titles[1:]
        ) + html.text(summary(self))

    def to_json(self) -> dict[str, Json]:
        """The plan as plain data, which `from_json` reads."""
        traffic: dict[str, Json] = {ARROW.join(pair): size for pair, size in self.forecast.traffic.items()}
        return {
            "format": FORMAT,
            "version": VERSION,
            "objective": self.objective,
            "placement": dict(self.placement),
            "forecast": {
                "value": self.forecast.value,
                "busy": dict(self.forecast.busy),
                "traffic": traffic,
                "peak": dict(self.forecast.peak),
                "ordering": self.forecast.ordering,
            },
            "single": list(self.single) if self.single else None,
            "tried": dict(self.tried or {}),
            "bound": self.bound,
            "rests_on": list(self.rests_on),
            "notes": list(self.notes),
        }

    def save(self, path: str | Path) -> None:
        """Writes the plan, as JSON.

        Raises:
            PermissionDeniedError: it cannot be written.
        """
        try:
            write_named(Path(path), json.dumps(self.to_json(), indent=1) + "\n")
        except (OSError, ValueError) as error:
            raise PermissionDeniedError(f"Cannot write the plan {shown(str(path))}: {error}.") from None


@export("placement.load_plan", as_is=True)
def load(path: str | Path) -> Plan:
    """Reads a plan written by `Plan.save`.

    Raises:
        TypeError: the path is not a file name.
        NotFoundError: there is no such file.
        InvalidArgumentError: it is not a plan.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise DTypeError(f"A plan is read from a file, got {shown(path)}.")
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise NotFoundError(f"Cannot read the plan {shown(str(path))}: {why}.") from None
    return from_json(parse(content))


def from_json(data: object) -> Plan:
    """Reads the result of `Plan.to_json`, or an edited one.

    Raises:
        InvalidArgumentError: it is something else; the message says where.
    """
    if isinstance(data, dict) and "plan" in data:  # beside a split of a published workload
        data = data["plan"]
    table = check_head(data, FORMAT, VERSION)
    objective = next((each for each in OBJECTIVES if each == table.get("objective")), None)
    if objective is None:
        raise ArgumentError(
            f"The objective must be one of {', '.join(OBJECTIVES)}, got {shown(table.get('objective'))}."
        )
    placed = table_of(table.get("placement"), "placement")
    placement = {name: text(placed, name, "placement") for name in placed}
    said = table_of(table.get("forecast", {"value": 0.0}), "forecast")
    traffic = {}
    for pair, size in _numbers(said, "traffic").items():
        source, _, target = pair.partition(ARROW)
        traffic[source, target] = size
    value, ordering = number(said, "value", "forecast"), number(said, "ordering", "forecast", 0.0)
    forecast = Forecast(value, _numbers(said, "busy"), traffic, _numbers(said, "peak"), ordering)
    found = table_of(table.get("tried", {}), "tried")
    tried = {name: None if found[name] is None else number(found, name, "tried") for name in found}
    notes = [tuple(str(line) for line in rows(table, key, ())) for key in ("rests_on", "notes")]
    return Plan(placement, objective, forecast, _single(table), tried, number(table, "bound", "the file", 0.0), *notes)


@export("placement.plan_of", as_is=True)
def plan_of(problem: Problem, placement: Mapping[str, str], objective: Objective = "step") -> Plan:
    """The plan of a given placement, simulated again; its notes list what is wrong with it.

    Raises:
        InvalidArgumentError: it does not match the problem.
    """
    found = simulate(problem, placement, objective)
    own = {node.name: placement[node.name] for node in problem.nodes}
    return Plan(own, objective, forecast_of(found), rests_on=problem.rests_on, notes=found.violations)


def forecast_of(found: Simulation) -> Forecast:
    """The forecast of a simulation."""
    return Forecast(found.value, found.busy, found.traffic, found.peak, found.ordering)


def pinned(problem: Problem, placement: Mapping[str, str]) -> Problem:
    """The problem with every node that a placement names pinned to its device; the others are free.

    Raises:
        InvalidArgumentError: the placement names an unknown device or node, or a device that a node cannot have.
    """
    unknown = next((name for name in placement if name not in problem.index), None)
    if unknown is not None:
        raise ArgumentError(f"The plan places node {shown(unknown)}, which is not in the graph.")
    nodes: list[Node] = []
    for node in problem.nodes:
        device = placement.get(node.name)
        if device is not None and device not in problem.device_index:
            there = ", ".join(problem.device_index)
            raise ArgumentError(f"The plan places node {shown(node.name)} on {shown(device)}; there are {there}.")
        if device is not None and problem.device_index[device] not in problem.candidates(len(nodes)):
            allowed = ", ".join(problem.devices[d].name for d in problem.candidates(len(nodes))) or "no device"
            raise ArgumentError(
                f"The plan places node {shown(node.name)} on {device}, and its kernels and the graph's wishes allow "
                f"{allowed}. Change that line of the plan."
            )
        nodes.append(node if device is None else replace(node, allowed=(problem.device_index[device],)))
    return replace(problem, nodes=tuple(nodes))


@dataclass(frozen=True)
class Comparison:
    """The differences between two plans.

    Attributes:
        before: The value of the first.
        after: The value of the second.
        moved: Nodes with another device: (name, device in the first, device in the second).
        only_before: Nodes that only the first places.
        only_after: Nodes that only the second places.
    """

    before: float
    after: float
    moved: tuple[tuple[str, str, str], ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    def __str__(self) -> str:
        share = f" ({self.after / self.before - 1:+.1%})" if self.before else ""
        lines = [f"{self.before:.6g}{ARROW}{self.after:.6g}{share}, {len(self.moved)} nodes are elsewhere"]
        lines += [f"  {name}: {old}{ARROW}{new}" for name, old, new in self.moved[:20]]
        if len(self.moved) > 20:
            lines.append(f"  and {len(self.moved) - 20} more")
        for what, names in (("first", self.only_before), ("second", self.only_after)):
            if names:
                lines.append(f"  {len(names)} nodes are in the {what} plan alone, such as {shown(names[0])}")
        return "\n".join(lines)


@export("placement.compare", as_is=True)
def compare(before: Plan, after: Plan) -> Comparison:
    """Compares two plans.

    Raises:
        TypeError: one is not a plan.
        InvalidArgumentError: their values cannot be compared.
    """
    for plan in (before, after):
        if not isinstance(plan, Plan):
            raise DTypeError(f"Plans are compared, got {shown(plan)}.")
    if before.objective != after.objective:
        raise ArgumentError(f"A plan for {before.objective} cannot be compared with one for {after.objective}.")
    both = [name for name in before.placement if name in after.placement]
    moved = tuple(
        (name, before.placement[name], after.placement[name])
        for name in both
        if before.placement[name] != after.placement[name]
    )
    only_before = tuple(name for name in before.placement if name not in after.placement)
    only_after = tuple(name for name in after.placement if name not in before.placement)
    return Comparison(before.forecast.value, after.forecast.value, moved, only_before, only_after)


def _single(table: Mapping[str, object]) -> tuple[str, float] | None:
    if table.get("single") is None:
        return None
    found = rows(table, "single")
    if len(found) != 2 or not isinstance(found[0], str):
        raise ArgumentError(f"'single' must be a device and a number, got {shown(found)}.")
    return found[0], number({"value": found[1]}, "value", "single")


def _numbers(table: Mapping[str, object], key: str) -> dict[str, float]:
    found = table_of(table.get(key, {}), key)
    return {name: number(found, name, key) for name in found}
