"""The critical path of the recorded events, and why devices were idle.

The critical path is the chain of events with the largest total time in which each waits for the one before: for
its result, or because both are in the same lane, which runs one event at a time. Speeding up anything else does not
speed up the whole.

    GPU:0   [a-----][b--]        [d---]
    copies               [c----]              a, b, c, d: the path
    GPU:1   [x--]                             x could take three times as long

A device is idle between two of its events. The cause is what the later one waited for, in this order: the last
producer of one of its inputs to finish; what the same thread did elsewhere for at least half of the time; otherwise the
program's own Python code.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from typing import NamedTuple

MOST_GAPS = 600  # the longest are kept


class Span(NamedTuple):
    """An event as this module sees it."""

    start: int
    end: int
    lane: Hashable
    thread: Hashable
    device: str
    waits: tuple[int, ...]
    busy: bool = True  # whether its device computes; else it is a copy, a run or a trace


class Idle(NamedTuple):
    """A time in which a device did nothing.

    Attributes:
        device: The device.
        start: From when.
        end: Until when.
        cause: What it waited for: the number of a span; -1 for the program's own Python.
        by_data: Whether the next event takes what the cause makes.
        next: The span that ended the wait.
    """

    device: str
    start: int
    end: int
    cause: int
    by_data: bool
    next: int


def critical_path(spans: Sequence[Span]) -> list[int]:
    """The numbers of the spans on the critical path, first to last."""
    order = sorted(range(len(spans)), key=lambda number: (spans[number].start, spans[number].end, number))
    rank = {number: place for place, number in enumerate(order)}
    best = [0] * len(spans)
    before = [-1] * len(spans)
    last: dict[Hashable, list[int]] = {}  # the spans of a lane so far
    for number in order:
        span = spans[number]
        in_lane = last.setdefault(span.lane, [])
        first = [each for each in span.waits if rank[each] < rank[number]]
        first += [each for each in in_lane[-1:] if spans[each].end <= span.start]
        chosen = max(first, key=lambda each: best[each], default=-1)
        before[number] = chosen
        best[number] = span.end - span.start + (best[chosen] if chosen >= 0 else 0)
        in_lane.append(number)
    path = []
    at = max(order, key=lambda number: best[number], default=-1)
    while at >= 0:
        path.append(at)
        at = before[at]
    return path[::-1]


def idle_times(spans: Sequence[Span], least: int) -> list[Idle]:
    """Why devices waited, for at least `least` nanoseconds, in the order of time.

    Args:
        spans: The events.
        least: What is too short to be explained.
    """
    by_device: dict[str, list[int]] = {}
    by_thread: dict[Hashable, list[int]] = {}
    for number in sorted(range(len(spans)), key=lambda number: spans[number].start):
        span = spans[number]
        if span.busy:
            by_device.setdefault(span.device, []).append(number)
        by_thread.setdefault(span.thread, []).append(number)
    starts = {thread: [spans[number].start for number in numbers] for thread, numbers in by_thread.items()}
    gaps = []
    for device, numbers in by_device.items():
        until = spans[numbers[0]].start
        for number in numbers:
            span = spans[number]
            if span.start - until >= least:
                gaps.append((device, until, span.start, number))
            until = max(until, span.end)
    gaps.sort(key=lambda gap: gap[1] - gap[2])
    found = []
    for device, start, end, number in gaps[:MOST_GAPS]:
        made = [each for each in spans[number].waits if start < spans[each].end <= end]
        if made:
            found.append(Idle(device, start, end, max(made, key=lambda each: spans[each].end), True, number))
            continue
        thread = spans[number].thread
        begin = bisect_left(starts[thread], start - (end - start))
        most, cause = (end - start) // 2, -1
        for each in by_thread[thread][begin : bisect_right(starts[thread], end)]:
            shared = min(spans[each].end, end) - max(spans[each].start, start)
            if each != number and shared >= most and shared > 0 and spans[each].end <= end:  # not what is around it all
                most, cause = shared, each
        found.append(Idle(device, start, end, cause, False, number))
    return sorted(found, key=lambda idle: (idle.start, idle.device))
