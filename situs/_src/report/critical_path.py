"""The critical path of the recorded events, and why devices were idle.

The critical path is the chain of events with the largest total time in which each waits for the one before: for
its result, or because both are in the same lane, which runs one event at a time. Speeding up anything else does not
speed up the whole.

    GPU:0   [a-----][b--]        [d---]
    copies               [c----]              a, b, c, d: the path
    GPU:1   [x--]                             x could take three times as long

A device is idle between two of its events. The later one waited for the last producer of its inputs to finish, which
had waited for its own: a chain of events, with times between them. The cause is the longest stretch of this chain. If
that is an event, it is the cause; a copy of a few bytes is not to blame for the second before it. If it is a time
before an event, the cause is what the thread of that event did for at least half of that time; otherwise the program's
own Python code.
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
        by_data: Whether the next event needs what the cause makes.
        next: The span that ended the wait.
        late: The span that the cause held back: the next one, or one that it waited for.
    """

    device: str
    start: int
    end: int
    cause: int
    by_data: bool
    next: int
    late: int


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
        stretch = _longest_stretch(spans, start, end, number)
        cause = stretch.event
        if cause < 0:
            thread = spans[stretch.before].thread
            cause = _occupation(spans, by_thread[thread], starts[thread], stretch)
        found.append(Idle(device, start, end, cause, stretch.event >= 0, number, stretch.before))
    return sorted(found, key=lambda idle: (idle.start, idle.device))


class _Stretch(NamedTuple):
    """A part of the chain that led to an event: one of its events, or, where that is -1, the time before one."""

    start: int
    end: int
    event: int
    before: int


def _longest_stretch(spans: Sequence[Span], start: int, end: int, number: int) -> _Stretch:
    """What took most of the time from `start` to `end`, at which a span began."""
    longest, before, until = _Stretch(end, end, -1, number), number, end
    while until > start:
        made = [each for each in spans[before].waits if start < spans[each].end <= until]
        last = max(made, key=lambda each: spans[each].end, default=-1)
        done = spans[last].end if made else start
        begun = max(spans[last].start, start) if made else start
        for stretch in (_Stretch(done, until, -1, before), _Stretch(begun, done, last, before)):
            if stretch.end - stretch.start > longest.end - longest.start:
                longest = stretch
        if not made or begun >= until:
            break
        before, until = last, begun
    return longest


def _occupation(spans: Sequence[Span], of_thread: Sequence[int], starts: Sequence[int], gap: _Stretch) -> int:
    """What a thread did for at least half of a time before one of its spans; -1 for nothing that is known."""
    most, cause = (gap.end - gap.start) // 2, -1
    begin = bisect_left(starts, gap.start - (gap.end - gap.start))
    for each in of_thread[begin : bisect_right(starts, gap.end)]:
        shared = min(spans[each].end, gap.end) - max(spans[each].start, gap.start)
        if each != gap.before and shared >= most and shared > 0 and spans[each].end <= gap.end:  # not around it all
            most, cause = shared, each
    return cause
