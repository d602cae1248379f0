"""Merging the reports of all workers of a program: each worker's devices and rows, side by side.

    w0 host     |==== step ====|==== step ====|
    w0 CPU:0    |= op =|=coll=|= op =|=coll=|          one clock: times are from the start of the first worker
    w1 host       |==== step ====|==== step ====|
    w1 CPU:0      |= op =|coll=|= op =|coll=|

Indices (of devices, strings, events, graphs) are renumbered into the merged lists. The critical path is that of
the worker that finished last; its collectives show which others it waited for. The limits on events and graphs apply to
all workers together: the first and the last events of each worker are kept, and the totals cover all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from situs._src.base.errors import ArgumentError
from situs._src.report.collect import HEAD, NODES, TAIL
from situs._src.report.data import Strings
from situs._src.report.schema import SCHEMA, VERSION, Data

_TEXTS = ("name", "op", "line", "why", "result")  # columns of events that hold places in strings
_OF_NODES = ("op", "why", "requested", "line", "result")
_ADDED = ("runs", "events")


def together(reports: Sequence[Data | None], title: str) -> Data:
    """One report of several workers'.

    Args:
        reports: The data of each worker, by its number; None for one that has left none.
        title: What the page is called.

    Raises:
        InvalidArgumentError: no worker has left any.
    """
    there = [(number, data) for number, data in enumerate(reports) if data is not None]
    if not there:
        raise ArgumentError("No worker left a report: they were killed before they could write one.")
    first = there[0][1]
    begin = min(data["program"]["started"] for _, data in there)
    end = max(data["program"]["started"] + data["program"]["duration"] for _, data in there)
    made = _Together(len(there), begin)
    for number, data in there:
        made.add(number, data)
    failed = [(number, data["program"]["error"]) for number, data in there if data["program"]["error"]]
    missing = [number for number, data in enumerate(reports) if data is None]
    notes = [f"{len(reports)} workers: w0, w1 ... The critical path is that of the worker that finished last."]
    notes += [f"Worker {number} left no report: it was killed before it could write one." for number in missing]
    program = {
        **first["program"],
        **{key: sum(data["program"][key] for _, data in there) for key in _ADDED},
        "started": begin,
        "duration": end - begin,
        "error": None,
    }
    if failed:
        number, error = failed[0]
        program["error"] = {**error, "message": f"worker {number}: {error['message']}"}
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "title": title,
        "program": program,
        "versions": first["versions"],
        "notes": notes + made.notes,
        **made.parts(),
    }


class _Together:
    """The parts of a report, to which those of one worker after the other are added."""

    def __init__(self, workers: int, begin: int) -> None:
        self._begin = begin
        self._head, self._tail = max(HEAD // workers, 1), max(TAIL // workers, 1)
        self._strings = Strings()
        self._nodes = 0
        self._ended = (-1, 0)  # the end of the worker that ended last, and its number
        self._rows: list[tuple[int, int, dict[str, int]]] = []  # (start, number among all, columns) of each event
        self._waits: list[tuple[int, int]] = []
        self._critical: list[int] = []
        self._kinds: list[str] = []
        self._lists: Data = {
            key: []
            for key in ("devices", "lanes", "idle", "memory", "graphs", "totals", "placements", "traces", "compiled")
        }
        self._sources: dict[str, str] = {}
        self._left_out = dict.fromkeys(("events", "graphs", "traces"), 0)
        self.notes: list[str] = []

    def add(self, worker: int, data: Data) -> None:
        """Adds the parts of a worker's report."""
        whose, lists = f"worker {worker}", self._lists
        later = data["program"]["started"] - self._begin
        devices, lanes = len(lists["devices"]), len(lists["lanes"])
        self._kinds = self._kinds or data["kinds"]
        text = [self._strings(each) for each in data["strings"]]
        device = _moved(devices)
        lists["devices"] += [{**each, "name": f"{whose} {each['name']}"} for each in data["devices"]]
        lists["lanes"] += [
            {"name": each["name"] and f"w{worker} {each['name']}", "device": device(each["device"])}
            for each in data["lanes"]
        ]
        graph = self._add_graphs(whose, data, text, device)
        event = self._add_events(data, text, device, lanes, graph, later)
        self._waits += [
            (event[taker], event[maker])
            for taker, maker in zip(data["waits"]["event"], data["waits"]["for"], strict=True)
            if taker in event and maker in event
        ]
        end = later + data["program"]["duration"]
        if end > self._ended[0]:
            self._ended = (end, worker)
            self._critical = [event[each] for each in data["critical"] if each in event]
        lists["idle"] += [
            {
                **each,
                "device": device(each["device"]),
                "start": each["start"] + later,
                "cause": event.get(each["cause"], -1),
                "next": event[each["next"]],
            }
            for each in data["idle"]
            if each["next"] in event
        ]
        for each in data["memory"]:
            peak, time = each["peak"], each["peak"]["time"]
            moved = {"device": device(each["device"]), "times": [time + later for time in each["times"]]}
            lists["memory"].append({**each, **moved, "peak": {**peak, "time": None if time is None else time + later}})
        lists["totals"] += [
            {**each, "device": device(each["device"]), "source": device(each["source"])} for each in data["totals"]
        ]
        lists["placements"] += [{**each, "device": device(each["device"])} for each in data["placements"]]
        lists["traces"] += [
            {**each, "function": f"{each['function']} ({whose})", "start": each["start"] + later}
            for each in data["traces"]
        ]
        lists["compiled"] += [
            {**each, "graph": graph[each["graph"]]} for each in data["compiled"] if each["graph"] in graph
        ]
        self._sources.update(data["sources"])
        self._left_out["traces"] += data["left_out"]["traces"]
        self.notes += [note for note in data["notes"] if note not in self.notes]

    def _add_graphs(self, whose: str, data: Data, text: Sequence[int], device: Callable[[int], int]) -> dict[int, int]:
        """Adds graphs as long as there is room; returns their new numbers by the old ones."""
        new: dict[int, int] = {}
        self._left_out["graphs"] += data["left_out"]["graphs"]
        for number, graph in enumerate(data["graphs"]):
            nodes = graph["nodes"]
            if self._nodes + len(nodes["name"]) > NODES:
                self._left_out["graphs"] += 1
                continue
            self._nodes += len(nodes["name"])
            new[number] = len(self._lists["graphs"])
            moved = {key: [text[each] for each in nodes[key]] for key in _OF_NODES}
            moved["device"] = [device(each) for each in nodes["device"]]
            self._lists["graphs"].append({**graph, "title": f"{graph['title']} ({whose})", "nodes": {**nodes, **moved}})
        return new

    def _add_events(
        self,
        data: Data,
        text: Sequence[int],
        device: Callable[[int], int],
        lanes: int,
        graph: dict[int, int],
        later: int,
    ) -> dict[int, int]:
        """Adds the first and the last events; returns their numbers among all by the old ones."""
        events = data["events"]
        count = len(events["start"])
        last = max(count - self._tail, self._head)
        kept = [*range(min(self._head, count)), *range(last, count)]
        self._left_out["events"] += data["left_out"]["events"] + count - len(kept)
        new: dict[int, int] = {}
        for old in kept:
            row = {key: column[old] for key, column in events.items()}
            for key in _TEXTS:
                row[key] = text[row[key]]
            row["start"] += later
            row["device"], row["source"], row["lane"] = (
                device(row["device"]),
                device(row["source"]),
                row["lane"] + lanes,
            )
            if row["graph"] not in graph:
                row["node"] = -1
            row["graph"] = graph.get(row["graph"], -1)
            new[old] = len(self._rows)
            self._rows.append((row["start"], len(self._rows), row))
        return new

    def parts(self) -> Data:
        """All parts, with the events in the order of their starts."""
        order = sorted(self._rows, key=lambda each: (each[0], -each[2]["duration"]))
        place = {number: new for new, (_, number, _) in enumerate(order)}
        columns = {key: [row[key] for _, _, row in order] for key in (order[0][2] if order else _NO_EVENTS)}
        for idle in self._lists["idle"]:
            idle["cause"], idle["next"] = place.get(idle["cause"], -1), place[idle["next"]]
        return {
            **self._lists,
            "kinds": self._kinds,
            "events": columns,
            "waits": {
                "event": [place[taker] for taker, _ in self._waits],
                "for": [place[maker] for _, maker in self._waits],
            },
            "critical": [place[each] for each in self._critical],
            "sources": self._sources,
            "left_out": self._left_out,
            "strings": list(self._strings.known),
        }


_NO_EVENTS = ("kind", "start", "duration", *_TEXTS, "device", "source", "lane", "bytes", "graph", "node")


def _moved(first: int) -> Callable[[int], int]:
    """Where a device of a worker is among all, if its first one is there; -1 stays."""
    return lambda place: place if place < 0 else place + first
