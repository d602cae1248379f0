"""The data of a report as a trace that Perfetto and chrome://tracing read: the JSON of trace events.

{"ph": "M"}               names: a "process" for each device and for the host, a "thread" for each row
{"ph": "X"}               an event, from its start for its duration, in microseconds
{"ph": "s"}, {"ph": "f"}  an arrow from the producer of a value to its consumer, between rows
{"ph": "C"}               memory in use on a GPU, from here on
"""

from __future__ import annotations

import json
from typing import Any

from situs._src.report.schema import Data


def trace_text(data: Data) -> str:
    """The trace, as text."""
    events, strings, lanes = data["events"], data["strings"], data["lanes"]
    names = ["host", *(device["name"] for device in data["devices"])]
    critical = set(data["critical"])
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": number, "args": {"name": name}} for number, name in enumerate(names)
    ]
    found += [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": lane["device"] + 1,
            "tid": number,
            "args": {"name": lane["name"] or names[lane["device"] + 1]},
        }
        for number, lane in enumerate(lanes)
    ]
    at = [(lanes[lane]["device"] + 1, lane) for lane in events["lane"]]
    for number, (pid, tid) in enumerate(at):
        arguments = {
            "op": strings[events["op"][number]],
            "result": strings[events["result"][number]],
            "bytes": events["bytes"][number],
            "line": strings[events["line"][number]],
            "why": strings[events["why"][number]],
            "critical": number in critical,
        }
        found.append(
            {
                "ph": "X",
                "cat": data["kinds"][events["kind"][number]],
                "name": strings[events["name"][number]],
                "pid": pid,
                "tid": tid,
                "ts": events["start"][number] / 1000,
                "dur": events["duration"][number] / 1000,
                "args": arguments,
            }
        )
    for arrow, (event, first) in enumerate(zip(data["waits"]["event"], data["waits"]["for"], strict=True)):
        if at[event] == at[first]:
            continue
        ended = events["start"][first] + events["duration"][first]
        for phase, who, time in (("s", first, ended), ("f", event, max(events["start"][event], ended))):
            pid, tid = at[who]
            bound = {"bp": "e"} if phase == "f" else {}
            found.append(
                {
                    "ph": phase,
                    "cat": "data",
                    "name": "takes",
                    "id": arrow,
                    "pid": pid,
                    "tid": tid,
                    "ts": time / 1000,
                    **bound,
                }
            )
    for memory in data["memory"]:
        pid = memory["device"] + 1
        for time, held in zip(memory["times"], memory["held"], strict=True):
            found.append({"ph": "C", "name": "memory", "pid": pid, "ts": time / 1000, "args": {"held": held}})
    return json.dumps({"traceEvents": found, "displayTimeUnit": "ns"})
