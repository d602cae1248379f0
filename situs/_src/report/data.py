"""The data of a report as plain JSON values, shared by the page, files and other programs.

    {"schema": "situs.report", "version": 1,
     "title", "notes": [...], "versions": {...},
     "program": {"name", "arguments", "started", "duration", "runs", "events", "error"},
     "strings": [...]                     string table; columns marked * are indices into it
     "devices":  [{"name", "type", "description", "virtual", "limit", "busy", "ops"}]
     "lanes":    [{"name", "device"}]      rows of the timeline; device is an index into devices, -1 for the host
     "events":   {"kind", "start", "duration", "name"*, "op"*, "device", "source", "lane", "bytes", "line"*, "why"*,
                  "result"*, "graph", "node"}         columns; times in nanoseconds from "started"
     "waits":    {"event", "for"}          columns: which event depended on which
     "critical": [...]                     indices into events
     "idle":     [{"device", "start", "duration", "cause", "by_data", "next", "text"}]
     "memory":   [{"device", "limit", "times", "held", "layers": [{"op", "values"}],
                   "peak": {"size", "time", "holders": [{"op", "line", "caller", "count", "size"}]}}]
     "graphs":   [{"title", "nodes": {"name", "op"*, "device", "why"*, "requested"*, "line"*, "result"*, "time",
                   "bytes", "count"}, "edges": {"source", "target", "copied"}, "reductions": [...]}]
     "totals":   [{"kind", "op", "device", "source", "line", "count", "time", "longest", "bytes"}]   of all events
     "placements": [{"kind", "what", "requested", "device", "reason", "line", "count"}]     soft placements and errors
     "traces":   [{"function", "reason", "nodes", "start", "duration", "line"}]
     "compiled": [{"graph", "ways": [[operation, how], ...]}]
     "sources":  {line: its text}
     "left_out": {"events", "graphs", "traces"}}

``device`` and ``source`` are indices into ``devices``, -1 for none. Adding a field does not change the version;
removing one, or changing its meaning, does.
"""

from __future__ import annotations

import json
import linecache
import platform
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.errors import ArgumentError, NotFoundError, shown
from situs._src.base.typing import PathLike
from situs._src.base.version import __version__
from situs._src.files.paths import local
from situs._src.report import schema
from situs._src.report.collect import COLLECTIVE_OP, COPY, HOST_CALL, KINDS, OP, RUN, TRACE, Collector, Event
from situs._src.report.critical_path import Idle, Span, critical_path, idle_times
from situs._src.report.graphs import Edge, GraphData, Node, is_library
from situs._src.report.memory import Held
from situs._src.report.schema import Data

LEAST_IDLE = 2_000  # nanoseconds; of a long report, a two-thousandth of it
TEXT = 4_000  # characters of one text: a message may print a tensor


@dataclass
class About:
    """What a report is about, besides what was recorded."""

    title: str
    name: str = ""
    arguments: Sequence[str] = ()
    started: int = 0
    ended: int = 0
    error: dict[str, str] | None = None
    notes: list[str] = field(default_factory=list)


class Strings:
    """Texts, each once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """The place of a text."""
        return self.known.setdefault(text[:TEXT], len(self.known))


def as_data(
    about: About, collected: Collector, held: Sequence[Held], known: Sequence[dict[str, Any]] | None = None
) -> Data:
    """Everything of a report as plain data.

    Args:
        about: What it is about.
        collected: What was noted.
        held: The memory of each GPU.
        known: The devices; None for those of this process.
    """
    strings = Strings()
    events = sorted(collected.events, key=lambda event: (event.start, -event.end))
    devices = _devices(events, collected, known)
    place_of = {device["name"]: number for number, device in enumerate(devices)}
    lanes, lane_of = _lanes(events, collected, place_of)
    eager = eager_graph(events)
    new = {event.number: place for place, event in enumerate(events)}
    waits = [(new[event.number], new[first]) for event in events for first in event.waits if first in new]
    path, idle = _analysed(events, lane_of, new, about.ended - about.started)
    begin = about.started
    runs = [event for event in events if event.kind == RUN]
    all_graphs = [*collected.graphs, *([eager.graph] if eager.graph.nodes else [])]
    events = [
        event._replace(graph=len(collected.graphs), node=eager.node_of[event.number])
        if event.number in eager.node_of
        else event
        for event in events
    ]
    graphs = [_graph(graph, number, events, strings, place_of) for number, graph in enumerate(all_graphs)]
    data: Data = {
        "schema": schema.SCHEMA,
        "version": schema.VERSION,
        "title": about.title,
        "program": {
            "name": about.name,
            "arguments": [str(each) for each in about.arguments],
            "started": begin,
            "duration": max(about.ended - begin, 0),
            "runs": collected.runs,
            "events": collected.count,
            "error": about.error,
        },
        "versions": {"situs": __version__, "python": platform.python_version(), "torch": str(torch.__version__)},
        "notes": list(about.notes),
        "devices": devices,
        "lanes": lanes,
        "events": {
            "kind": [KINDS.index(event.kind) for event in events],
            "start": [event.start - begin for event in events],
            "duration": [event.end - event.start for event in events],
            "name": [strings(event.name) for event in events],
            "op": [strings(event.op) for event in events],
            "device": [place_of.get(event.device, -1) for event in events],
            "source": [place_of.get(event.source, -1) for event in events],
            "lane": lane_of,
            "bytes": [event.size for event in events],
            "line": [strings(event.line) for event in events],
            "why": [strings(event.why) for event in events],
            "result": [strings(event.result) for event in events],
            "graph": [event.graph for event in events],
            "node": [event.node for event in events],
        },
        "kinds": list(KINDS),
        "waits": {"event": [event for event, _ in waits], "for": [first for _, first in waits]},
        "critical": path,
        "idle": [_idle(each, events, runs, place_of, begin, collected.noting) for each in idle],
        "memory": [_memory(each, place_of, begin) for each in held],
        "graphs": graphs,
        "totals": _totals(collected, place_of),
        "placements": [
            {**decision._asdict(), "device": place_of.get(decision.device, -1), "count": count}
            for decision, count in collected.decisions.items()
        ],
        "traces": [
            {
                "function": each.function,
                "reason": each.reason[:TEXT],
                "nodes": each.nodes,
                "start": each.start - begin,
                "duration": each.end - each.start,
                "line": each.line,
            }
            for each in collected.traces
        ],
        "compiled": [
            {"graph": each.graph, "ways": [list(way) for way in each.ways]} for each in collected.compiled.values()
        ],
        "left_out": {
            "events": collected.left_out,
            "graphs": collected.graphs_left_out,
            "traces": collected.traces_left_out,
        },
    }
    data["strings"] = list(strings.known)
    data["sources"] = _sources(data)
    return data


class Eager(NamedTuple):
    """Eager code as a graph, and the node of each event by its number."""

    graph: GraphData
    node_of: dict[int, int]


def eager_graph(events: Sequence[Event]) -> Eager:
    """Eager code as a graph: a node for each op at each line and device, an edge where one takes what another made."""
    found, node_of = GraphData("eager code"), dict[int, int]()
    known: dict[tuple[str, str, str], int] = {}
    through: dict[int, tuple[int, ...]] = {}  # a copy, and what it copies
    edges: dict[Edge, None] = {}
    for event in sorted(events, key=lambda event: event.number):
        if event.graph >= 0 or event.kind in (RUN, TRACE):
            continue
        if event.kind == COPY:
            through[event.number] = event.waits
            continue
        key = (event.op, event.device, event.line)
        place = known.setdefault(key, len(known))
        if place == len(found.nodes):
            where = event.line.rpartition("/")[2] or "elsewhere"
            name = f"{where}/{event.op}"
            found.nodes.append(Node(name, event.op, event.device, event.why, "", event.line, event.result))
        node_of[event.number] = place
        for first in event.waits:
            for source in through.get(first, (first,)):
                if source in node_of and node_of[source] != place:
                    edges[Edge(node_of[source], place, first in through)] = None
    found.edges = list(edges)
    return Eager(found, node_of)


def _devices(
    events: Sequence[Event], collected: Collector, known: Sequence[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    """The devices that are known, and any other that the events name."""
    busy: dict[str, int] = {}
    ops: dict[str, int] = {}
    for (kind, _, device, _, _), total in collected.sums.items():
        if kind in (OP, COLLECTIVE_OP, HOST_CALL):
            busy[device] = busy.get(device, 0) + total.time
            ops[device] = ops.get(device, 0) + total.count
    if known is None:
        known = [_device(device) for device in in_listing_order(process.devices())] if process.initialized else []
    found = [dict(each) for each in known]
    names = {each["name"] for each in found}
    missing = sorted({name for event in events for name in (event.device, event.source) if name} - names)
    found += [
        {"name": name, "type": name.partition(":")[0], "description": "", "virtual": False, "limit": None}
        for name in missing
    ]
    for each in found:
        each["busy"], each["ops"] = busy.get(each["name"], 0), ops.get(each["name"], 0)
    return found


def _device(device: Device) -> dict[str, Any]:
    card = device.card
    described = process.processor.name if card is None else card.name
    limit = None if device.account is None else device.account.limit
    return {
        "name": device.short_name,
        "type": device.type,
        "description": described,
        "virtual": device.is_virtual,
        "limit": limit,
    }


def _lanes(
    events: Sequence[Event], collected: Collector, place_of: dict[str, int]
) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows of the timeline, and the row of each event; what overlaps in one row gets another."""
    groups: dict[tuple[int, int, str, int], list[int]] = {}
    first = events[0].thread if events else 0
    main = next((thread for thread, name in collected.threads.items() if name == "MainThread"), first)
    numbers = {event.thread: int(event.thread != main) for event in events}  # all other threads share their rows
    for place, event in enumerate(events):
        if event.kind == COPY:
            end = event.device if not event.device.startswith("CPU") else event.source or event.device
            key = (place_of.get(end, len(place_of)), 1, end, -1)
        elif event.kind in (RUN, TRACE):
            key = (-1, 0, "", numbers[event.thread])
        else:
            key = (place_of.get(event.device, len(place_of)), 0, event.device, numbers[event.thread])
        groups.setdefault(key, []).append(place)
    lanes: list[dict[str, Any]] = []
    lane_of = [0] * len(events)
    for key in sorted(groups):
        rank, is_copies, device, thread = key
        several = sum(other[:3] == key[:3] for other in groups) > 1
        name = "host" if rank < 0 else f"{device} copies" if is_copies else device
        name += " · other threads" if several and thread == 1 else ""
        free: list[int] = []  # until when each row of this lane is taken
        first = len(lanes)
        for place in groups[key]:
            event = events[place]
            row = next((number for number, until in enumerate(free) if until <= event.start), len(free))
            if row == len(free):
                free.append(event.end)
                lanes.append({"name": name if row == 0 else "", "device": place_of.get(device, -1)})
            free[row] = event.end
            lane_of[place] = first + row
    return lanes, lane_of


def _analysed(
    events: Sequence[Event], lane_of: Sequence[int], new: dict[int, int], duration: int
) -> tuple[list[int], list[Idle]]:
    """The critical path, as places in events, and the times in which devices waited."""
    computing = (OP, COLLECTIVE_OP, HOST_CALL)
    spans = [
        Span(
            event.start,
            event.end,
            lane_of[place],
            event.thread,
            event.device,
            tuple(new[first] for first in event.waits if first in new),
            event.kind in computing,
        )
        for place, event in enumerate(events)
    ]
    working = [place for place, event in enumerate(events) if event.kind not in (RUN, TRACE)]
    renumbered = {place: number for number, place in enumerate(working)}
    own = [
        spans[place]._replace(waits=tuple(renumbered[each] for each in spans[place].waits if each in renumbered))
        for place in working
    ]
    path = [working[number] for number in critical_path(own)]
    return path, idle_times(spans, max(LEAST_IDLE, duration // 2_000))


def _idle(
    idle: Idle,
    events: Sequence[Event],
    runs: Sequence[Event],
    place_of: dict[str, int],
    begin: int,
    noting: Iterable[tuple[int, int]],
) -> dict[str, Any]:
    return {
        "device": place_of.get(idle.device, -1),
        "start": idle.start - begin,
        "duration": idle.end - idle.start,
        "cause": idle.cause,
        "by_data": idle.by_data,
        "next": idle.next,
        "text": _idle_text(idle, events, runs, noting),
    }


def _idle_text(
    idle: Idle, events: Sequence[Event], runs: Sequence[Event], noting: Iterable[tuple[int, int]] = ()
) -> str:
    """Why a device waited, in words; `runs` are in the order of their starts."""
    if idle.cause < 0:
        noted = sum(max(min(end, idle.end) - max(start, idle.start), 0) for start, end in noting)
        if noted >= (idle.end - idle.start) / 2:
            return "this report was noting the calls of a run"
        after = events[idle.late]
        place = bisect_right(runs, after.start, key=lambda run: run.start) - 1
        if place >= 0 and runs[place].end >= after.end:  # what ended the wait is part of a run
            after = runs[place]
            if after.start - idle.start < (idle.end - idle.start) / 2:
                return f"the host was preparing calls of {after.name}"
        where = f" before {after.line.rpartition('/')[2]}" if after.line else ""
        return f"the program's own Python{where}"
    cause = events[idle.cause]
    at = f" on {cause.device}" if cause.device else ""
    if cause.kind == COPY:
        route = f"from {cause.source} to {cause.device}" if cause.source else f"to {cause.device}"
        return f"waiting for a copy of {cause.size:,} bytes {route}"
    if cause.kind == TRACE:
        return f"the graph of {cause.name} was being made"
    if cause.kind == HOST_CALL:
        return f"waiting for the Python function of {cause.name}{at}"
    if cause.kind == COLLECTIVE_OP:
        return f"waiting for the other workers in {cause.name}{at}"
    if cause.kind == RUN:
        return f"the host was running {cause.name}"
    return f"waiting for {cause.name}{at}" if idle.by_data else f"its thread was busy with {cause.name}{at}"


def _memory(held: Held, place_of: dict[str, int], begin: int) -> dict[str, Any]:
    return {
        "device": place_of.get(held.device, -1),
        "limit": held.limit,
        "times": [each - begin for each in held.times],
        "held": held.held,
        "layers": [{"op": op, "values": values} for op, values in held.layers],
        "peak": {
            "size": held.peak,
            "time": None if held.peak_time is None else held.peak_time - begin,
            "holders": [
                {
                    "op": each.op,
                    "line": f"{each.file}:{each.lineno}" if each.file and not is_library(each.file) else "",
                    "caller": "" if is_library(each.file) else each.caller,
                    "count": each.count,
                    "size": each.size,
                }
                for each in held.holders
            ],
        },
    }


def _graph(
    graph: GraphData, number: int, events: Sequence[Event], strings: Strings, place_of: dict[str, int]
) -> dict[str, Any]:
    time = [0] * len(graph.nodes)
    size = [0] * len(graph.nodes)
    count = [0] * len(graph.nodes)
    result = [node.result for node in graph.nodes]
    for event in events:
        if event.graph == number and event.node >= 0:
            time[event.node] += event.end - event.start
            size[event.node] = event.size
            count[event.node] += 1
            result[event.node] = event.result or result[event.node]
    return {
        "title": graph.title,
        "nodes": {
            "name": [node.name for node in graph.nodes],
            "op": [strings(node.op) for node in graph.nodes],
            "device": [place_of.get(node.device, -1) for node in graph.nodes],
            "why": [strings(node.why) for node in graph.nodes],
            "requested": [strings(node.requested) for node in graph.nodes],
            "line": [strings(node.line) for node in graph.nodes],
            "result": [strings(each) for each in result],
            "time": time,
            "bytes": size,
            "count": count,
        },
        "edges": {
            "source": [edge.source for edge in graph.edges],
            "target": [edge.target for edge in graph.edges],
            "copied": [int(edge.copied) for edge in graph.edges],
        },
        "reductions": graph.reductions,
    }


def _totals(collected: Collector, place_of: dict[str, int]) -> list[dict[str, Any]]:
    with collected.lock:
        rows = sorted(collected.sums.items(), key=lambda row: -row[1].time)
    return [
        {
            "kind": kind,
            "op": op,
            "device": place_of.get(device, -1),
            "source": place_of.get(source, -1),
            "line": line,
            "count": total.count,
            "time": total.time,
            "longest": total.longest,
            "bytes": total.size,
        }
        for (kind, op, device, source, line), total in rows
    ]


def _sources(data: Data) -> dict[str, str]:
    """The text of each line of the program that the data names."""
    lines = {data["strings"][number] for number in data["events"]["line"]}
    lines |= {data["strings"][number] for graph in data["graphs"] for number in graph["nodes"]["line"]}
    lines |= {row["line"] for row in (*data["placements"], *data["traces"])}
    lines |= {holder["line"] for memory in data["memory"] for holder in memory["peak"]["holders"]}
    found = {}
    for line in lines:
        file, _, number = line.rpartition(":")
        if file and number.isdigit() and (text := linecache.getline(file, int(number)).strip()):
            found[line] = text[:200]
    return found


# Reading.


def load(path: PathLike) -> Data:
    """The data of a report that was saved as JSON.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is not the data of a report, or of one that a later version wrote.
    """
    file = local(path)
    try:
        if not file.is_file():  # a pipe would be waited for
            raise NotFoundError(f"Cannot read {shown(str(path))} as a report: there is no such file.")
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise NotFoundError(f"Cannot read {shown(str(path))} as a report: {error}.") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ArgumentError(f"{shown(str(path))} is not JSON: save a report with report.save('report.json').") from None
    return schema.read(found, str(path))
