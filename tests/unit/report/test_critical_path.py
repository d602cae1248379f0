"""The critical path against all paths of small graphs; why devices waited."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from situs._src.report.critical_path import Idle, Span, critical_path, idle_times


def span(start, end, lane="GPU:0", waits=(), thread=0, device="GPU:0", busy=True):
    return Span(start, end, lane, thread, device, tuple(waits), busy)


@st.composite
def traces(draw):
    """Events of a few lanes, none of which does two things at a time; each may wait for any that were over."""
    spans: list[Span] = []
    free = [0, 0, 0]
    for _ in range(draw(st.integers(0, 9))):
        lane = draw(st.integers(0, 2))
        start = free[lane] + draw(st.integers(0, 6))
        end = start + draw(st.integers(0, 9))
        over = [number for number, other in enumerate(spans) if other.end <= start]
        waits = draw(st.lists(st.sampled_from(over), unique=True, max_size=3)) if over else []
        free[lane] = end
        spans.append(span(start, end, lane, waits, lane, f"GPU:{lane}"))
    return spans


def longest(spans):
    """The largest sum of times of any chain, by trying all of them."""
    order = sorted(range(len(spans)), key=lambda number: (spans[number].start, spans[number].end, number))

    def before(number):
        earlier = order[: order.index(number)]
        found = {each for each in spans[number].waits if each in earlier}
        in_lane = [each for each in earlier if spans[each].lane == spans[number].lane]
        return found | {each for each in in_lane[-1:] if spans[each].end <= spans[number].start}

    def best(number):
        return spans[number].end - spans[number].start + max(map(best, before(number)), default=0)

    return max(map(best, range(len(spans))), default=0)


@given(traces())
def test_no_chain_is_longer_than_the_critical_path(spans):
    path = critical_path(spans)
    assert sum(spans[number].end - spans[number].start for number in path) == longest(spans)


@given(traces())
def test_each_event_of_the_path_waits_for_the_one_before(spans):
    path = critical_path(spans)
    for first, then in pairwise(path):
        assert first in spans[then].waits or spans[first].lane == spans[then].lane
        assert spans[first].end <= spans[then].start


def test_the_path_of_the_drawing():
    a, b, c, d, x = span(0, 7), span(7, 11), span(11, 17, "copies", [1]), span(17, 22, waits=[2]), span(0, 4, "GPU:1")
    assert critical_path([a, b, c, d, x]) == [0, 1, 2, 3]


def test_nothing_has_no_path():
    assert critical_path([]) == []
    assert idle_times([], 0) == []


def test_a_device_that_waited_for_a_copy_says_which():
    spans = [
        span(0, 10),
        span(10, 60, "copies", [0], busy=False),
        span(60, 70, "GPU:1", [1], device="GPU:1"),
        span(65, 80, waits=[0]),
    ]
    assert idle_times(spans, 5) == [Idle("GPU:0", 10, 65, 1, False, 3, 3)]
    spans[3] = span(65, 80, waits=[1])
    assert idle_times(spans, 5) == [Idle("GPU:0", 10, 65, 1, True, 3, 3)]


def test_a_short_copy_is_not_the_cause_of_the_long_time_before_it():
    late_copy = span(95, 99, "copies", busy=False)
    assert idle_times([span(0, 10), late_copy, span(100, 110, waits=[1])], 5) == [
        Idle("GPU:0", 10, 100, -1, False, 2, 1)  # Python held the copy back
    ]
    slow = span(5, 90, "GPU:1", device="GPU:1")
    copy_of_slow = span(95, 99, "copies", [1], busy=False)
    assert idle_times([span(0, 10), slow, copy_of_slow, span(100, 110, waits=[2])], 5) == [
        Idle("GPU:0", 10, 100, 1, True, 3, 2)
    ]


def test_of_a_chain_of_events_the_longest_is_the_cause():
    chain = [span(0, 10), span(10, 30, "GPU:1", [0], device="GPU:1"), span(30, 80, "GPU:1", [1], device="GPU:1")]
    last = span(80, 95, "GPU:1", [2], device="GPU:1")
    assert idle_times([*chain, last, span(95, 99, waits=[3])], 5) == [Idle("GPU:0", 10, 95, 2, True, 4, 3)]


def test_a_wait_for_nothing_that_is_known_is_the_programs_own():
    assert idle_times([span(0, 10), span(100, 110)], 5) == [Idle("GPU:0", 10, 100, -1, False, 1, 1)]


def test_short_waits_and_what_goes_on_around_everything_are_not_told():
    around = span(0, 1000, "host", device="", busy=False)
    assert idle_times([around, span(0, 10), span(14, 20)], 5) == []
    assert idle_times([around, span(0, 10), span(100, 110)], 5)[0].cause == -1


@given(traces(), st.integers(1, 5))
def test_idle_times_are_times_in_which_nothing_ran(spans, least):
    for idle in idle_times(spans, least):
        assert idle.end - idle.start >= least
        assert spans[idle.next].start == idle.end
        for other in spans:
            if other.device == idle.device:
                assert other.end <= idle.start or other.start >= idle.end or other.end == other.start
