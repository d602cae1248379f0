"""Validation of report data against the schema, before a page or a trace is made from a file.

    {"schema": ..., "version": 1, "events": {"lane": [0, 7]}, ...}      "events.lane[1]" is 7, and there are 3 lanes

A file may come from anywhere. `read` returns data with every part of the schema (`data`), of the right types, with all
indices in range, finite numbers, and columns of equal length; unknown fields are dropped. Code after it, in Python or
in the page, need not check again. Any other file raises an error that says where it is damaged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, shown

SCHEMA = "situs.report"
VERSION = 1
LARGEST = 2**63  # nanoseconds, bytes, counts

Data = dict[str, Any]
Check = Callable[[object, str], Any]  # a value and where it stands; returns it, or raises


class _DamagedError(ValueError):
    """A part is not what it should be."""


def _damaged(at: str, wanted: str, found: object) -> _DamagedError:
    return _DamagedError(f"{at} should be {wanted}, and is {shown(found)}")


def read(found: object, name: str) -> Data:
    """The data of a report, if that is what they are.

    Args:
        found: What was read.
        name: Where, for the message.

    Raises:
        InvalidArgumentError: they are not.
    """
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise ArgumentError(f"{shown(name)} is not the data of a report: it has no 'schema' of {SCHEMA!r}.")
    if found.get("version") != VERSION:
        raise ArgumentError(
            f"{shown(name)} was written in version {shown(found.get('version'))} of the schema; "
            f"this Situs reads {VERSION}."
        )
    try:
        return _report(found)
    except _DamagedError as error:
        raise ArgumentError(f"{shown(name)} is damaged: {error}.") from None


def _report(found: dict[str, object]) -> Data:
    """The parts, those first in which others have places."""
    top = _Table(found, "")
    data: Data = {"schema": SCHEMA, "version": VERSION, "title": top("title", _text)}
    data["program"] = top("program", _table(_PROGRAM))
    data["versions"] = top("versions", _named(_text))
    data["notes"] = top("notes", _each(_text))
    strings = data["strings"] = top("strings", _each(_text))
    devices = data["devices"] = top("devices", _each(_table(_DEVICE)))
    kinds = data["kinds"] = top("kinds", _each(_text))
    device, string = _whole(-1, len(devices) - 1), _whole(0, len(strings) - 1)
    lanes = data["lanes"] = top("lanes", _each(_table({"name": _text, "device": device})))
    graphs = data["graphs"] = top("graphs", _each(_graph(device, string)))
    events = data["events"] = top(
        "events",
        _columns(
            {
                "kind": _whole(0, len(kinds) - 1),
                "start": _whole(-LARGEST, LARGEST),
                "duration": _whole(0, LARGEST),
                **dict.fromkeys(("name", "op", "line", "why", "result"), string),
                **dict.fromkeys(("device", "source"), device),
                "lane": _whole(0, len(lanes) - 1),
                "bytes": _whole(0, LARGEST),
                "graph": _whole(-1, len(graphs) - 1),
                "node": _whole(-1, LARGEST),
            }
        ),
    )
    _check_nodes(events, graphs)
    event = _whole(0, len(events["start"]) - 1)
    data["waits"] = top("waits", _columns({"event": event, "for": event}))
    data["critical"] = top("critical", _each(event))
    maybe_event = _whole(-1, len(events["start"]) - 1)
    data["idle"] = top("idle", _each(_table({**_IDLE, "device": device, "cause": maybe_event, "next": maybe_event})))
    data["memory"] = top("memory", _each(_memory(len(devices))))
    data["totals"] = top("totals", _each(_table({**_TOTAL, "device": device, "source": device})))
    data["placements"] = top("placements", _each(_table({**_PLACEMENT, "device": device})))
    data["traces"] = top("traces", _each(_table(_TRACE)))
    graph = _whole(0, len(graphs) - 1)
    data["compiled"] = top("compiled", _each(_table({"graph": graph, "ways": _each(_pair)})))
    data["sources"] = top("sources", _named(_text))
    data["left_out"] = top("left_out", _table(dict.fromkeys(("events", "graphs", "traces"), _count)))
    return data


# What a value may be.


def _text(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise _damaged(at, "a text", value)
    return value if value.isascii() else value.encode("utf-8", "replace").decode()  # halves of characters go


def _flag(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise _damaged(at, "true or false", value)
    return value


def _whole(least: int, most: int) -> Check:
    def check(value: object, at: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise _damaged(at, f"a whole number from {least} to {most}" if least <= most else "absent", value)
        return value

    return check


def _number(value: object, at: str) -> float:
    if type(value) is int and abs(value) <= LARGEST:
        return value
    if type(value) is not float or not math.isfinite(value):
        raise _damaged(at, "a number", value)
    return value


def _maybe(check: Check) -> Check:
    return lambda value, at: None if value is None else check(value, at)


def _each(check: Check) -> Check:
    def all_of(value: object, at: str) -> list[Any]:
        if not isinstance(value, list):
            raise _damaged(at, "a list", value)
        return [check(item, f"{at}[{number}]") for number, item in enumerate(value)]

    return all_of


def _named(check: Check) -> Check:
    def all_of(value: object, at: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _damaged(at, "a dictionary", value)
        return {_text(key, at): check(item, f"{at}[{shown(key)}]") for key, item in value.items()}

    return all_of


def _pair(value: object, at: str) -> list[str]:
    made: list[str] = _each(_text)(value, at)
    if len(made) != 2:
        raise _damaged(at, "an operation and how it runs", value)
    return made


class _Table:
    """A dictionary, of which parts are asked for by name."""

    def __init__(self, value: object, at: str) -> None:
        if not isinstance(value, dict):
            raise _damaged(at, "a dictionary", value)
        self._value, self._at = value, at

    def __call__(self, key: str, check: Check) -> Any:
        at = f"{self._at}.{key}" if self._at else key
        if key not in self._value:
            raise _DamagedError(f"{at} is not there")
        return check(self._value[key], at)


def _table(checks: Mapping[str, Check]) -> Check:
    def check(value: object, at: str) -> dict[str, Any]:
        table = _Table(value, at)
        return {key: table(key, each) for key, each in checks.items()}

    return check


def _columns(checks: Mapping[str, Check]) -> Check:
    of_columns = _table({key: _each(each) for key, each in checks.items()})

    def check(value: object, at: str) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = of_columns(value, at)
        lengths = {key: len(column) for key, column in found.items()}
        if len(set(lengths.values())) > 1:
            raise _damaged(at, "columns of the same length", lengths)
        return found

    return check


# The parts.

_count = _whole(0, LARGEST)
_ERROR = {"type": _text, "message": _text, "traceback": _text}
_PROGRAM: dict[str, Check] = {
    "name": _text,
    "arguments": _each(_text),
    "started": _count,
    "duration": _count,
    "runs": _count,
    "events": _count,
    "error": _maybe(_table(_ERROR)),
}
_DEVICE: dict[str, Check] = {
    "name": _text,
    "type": _text,
    "description": _text,
    "virtual": _flag,
    "limit": _maybe(_count),
    "busy": _count,
    "ops": _count,
}
_IDLE: dict[str, Check] = {"start": _whole(-LARGEST, LARGEST), "duration": _count, "by_data": _flag, "text": _text}
_TOTAL: dict[str, Check] = {
    **dict.fromkeys(("kind", "op", "line"), _text),
    **dict.fromkeys(("count", "time", "longest", "bytes"), _count),
}
_PLACEMENT: dict[str, Check] = {
    **dict.fromkeys(("kind", "what", "requested", "reason", "line"), _text),
    "count": _count,
}
_TRACE: dict[str, Check] = {
    **dict.fromkeys(("function", "reason", "line"), _text),
    "nodes": _count,
    "start": _whole(-LARGEST, LARGEST),
    "duration": _count,
}
_HOLDER: dict[str, Check] = {**dict.fromkeys(("op", "line", "caller"), _text), "count": _count, "size": _count}


def _graph(device: Check, string: Check) -> Check:
    nodes = _columns(
        {
            "name": _text,
            **dict.fromkeys(("op", "why", "requested", "line", "result"), string),
            "device": device,
            **dict.fromkeys(("time", "bytes", "count"), _count),
        }
    )

    def check(value: object, at: str) -> Data:
        table = _Table(value, at)
        made: Data = {"title": table("title", _text), "nodes": table("nodes", nodes)}
        node = _whole(0, len(made["nodes"]["name"]) - 1)
        made["edges"] = table("edges", _columns({"source": node, "target": node, "copied": _whole(0, 1)}))
        made["reductions"] = table("reductions", _each(_text))
        return made

    return check


def _check_nodes(events: Data, graphs: list[Data]) -> None:
    """Whether each event's node is one of its graph."""
    counts = [len(graph["nodes"]["name"]) for graph in graphs]
    for number, (graph, node) in enumerate(zip(events["graph"], events["node"], strict=True)):
        if node >= 0 and (graph < 0 or node >= counts[graph]):
            raise _damaged(f"events.node[{number}]", f"a node of graph {graph}", node)


def _memory(devices: int) -> Check:
    time = _whole(-LARGEST, LARGEST)
    peak = _table({"size": _count, "time": _maybe(time), "holders": _each(_table(_HOLDER))})

    def check(value: object, at: str) -> Data:
        table = _Table(value, at)
        made: Data = {"device": table("device", _whole(0, devices - 1)), "limit": table("limit", _maybe(_count))}
        made.update(_columns({"times": time, "held": _count})(value, at))
        made["layers"] = table("layers", _each(_table({"op": _text, "values": _each(_number)})))
        points = len(made["times"])
        for number, layer in enumerate(made["layers"]):
            if len(layer["values"]) != points:
                raise _damaged(f"{at}.layers[{number}].values", f"as long as times, {points}", layer["values"])
        made["peak"] = table("peak", peak)
        return made

    return check
