"""A placement plan as a report: the predicted step, before anything runs.

Events come from simulating the plan; memory is the predicted peak as a flat line, because
a plan has no more detail. The page says that it is a forecast.
"""

from __future__ import annotations

import math

from situs._src.base.errors import ArgumentError
from situs._src.placement.search.plan import Plan
from situs._src.placement.search.problem import Problem
from situs._src.placement.search.simulate import Simulation
from situs._src.report.collect import COPY, OP, Collector, Event
from situs._src.report.data import About, as_data
from situs._src.report.graphs import Edge, GraphData, Node
from situs._src.report.memory import Held
from situs._src.report.schema import Data

ARROW = " -> "


def planned(problem: Problem, plan: Plan, simulation: Simulation, title: str, seconds: float = 1.0) -> Data:
    """The data of a report on a plan.

    Args:
        problem: What is placed.
        plan: Where it goes.
        simulation: What that takes.
        title: What the page is called.
        seconds: How long a unit of the problem's times is.

    Raises:
        InvalidArgumentError: its times or sizes are too large to be counted in nanoseconds and bytes.
    """
    scale = seconds * 1e9
    figures = [span.end * scale for span in simulation.timeline] + list(simulation.peak.values())
    figures += [tensor.bytes * len(problem.tensors) for tensor in problem.tensors]
    if not all(map(math.isfinite, figures)):
        raise ArgumentError("The times or sizes of this plan are too large for a report.")
    collector = Collector(head=max(1, len(simulation.timeline)), tail=1)
    makers: dict[int, list[int]] = {number: [] for number in range(len(problem.nodes))}
    sizes = [0.0] * len(problem.nodes)
    for tensor in problem.tensors:
        sizes[tensor.producer] += tensor.bytes
        for consumer in tensor.consumers:
            makers[consumer].append(tensor.producer)
    made_by: dict[tuple[str, str], int] = {}  # the event that brings what a node makes to a device
    for number, span in enumerate(sorted(simulation.timeline, key=lambda span: (span.start, span.end))):
        source, is_sent, device = span.row.rpartition(ARROW)
        device = device if is_sent else span.row
        node = problem.index.get(span.name, -1)
        if is_sent:
            first = [made_by[source, span.name]] if (source, span.name) in made_by else []
        else:
            names = (problem.nodes[each].name for each in (makers[node] if node >= 0 else ()))
            first = [made_by[device, name] for name in names if (device, name) in made_by]
        made_by[device, span.name] = number
        collector.add(
            Event(
                number,
                COPY if is_sent else OP,
                span.name,
                "Copy" if is_sent else "node",
                device,
                source,
                0,
                round(span.start * scale),
                round(span.end * scale),
                int(sizes[node]) if node >= 0 else 0,
                "",
                f"sent for a node on {device}" if is_sent else f"planned: {plan.objective}",
                "",
                tuple(first),
                -1 if is_sent or node < 0 else 0,
                -1 if is_sent else node,
            )
        )
    collector.graphs.append(_graph(problem, plan))
    end = max((round(span.end * scale) for span in simulation.timeline), default=0)
    held = [
        Held(
            device.name,
            int(device.memory or simulation.peak[device.name]),
            [0, end],
            [int(simulation.peak[device.name])] * 2,
            peak=int(simulation.peak[device.name]),
            peak_time=0,
        )
        for device in problem.devices
        if not device.is_host and simulation.peak[device.name] > 0
    ]
    notes = ["A forecast: nothing has run. Times are those that the placer expects."]
    notes += [f"costs: {line}" for line in plan.rests_on] + list(plan.notes) + list(simulation.violations)
    devices = [
        {
            "name": device.name,
            "type": device.kind,
            "description": "planned",
            "virtual": False,
            "limit": None if device.memory is None else int(device.memory),
        }
        for device in problem.devices
    ]
    return as_data(About(title, started=0, ended=end, notes=notes), collector, held, devices)


def _graph(problem: Problem, plan: Plan) -> GraphData:
    nodes = [
        Node(node.name, "node", plan.placement[node.name], f"planned: {plan.objective}", "", "", "")
        for node in problem.nodes
    ]
    edges = [
        Edge(
            tensor.producer,
            consumer,
            plan.placement[problem.nodes[tensor.producer].name] != plan.placement[problem.nodes[consumer].name],
        )
        for tensor in problem.tensors
        for consumer in tensor.consumers
    ]
    return GraphData("plan", nodes, edges)
