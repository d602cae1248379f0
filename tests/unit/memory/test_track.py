"""Tracks and pictures: made-up events, small and huge, with the answers counted by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base.budget.ledger import Event
from situs._src.inspect.picture import timeline
from situs._src.inspect.track import OPS_SHOWN, layers, moments, track

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def at(line, file="train.py"):
    return ((compile("", file, "exec"), line),)


def made(*events, limit=10**6):
    """A track of (time, size, op) triples."""
    return track(GPU, limit, [Event(time, size, op, at(1)) for time, size, op in events])


def test_totals_and_the_first_of_equal_peaks():
    found = made((0, 4, "A"), (1, 8, "B"), (2, -4, "A"), (3, 4, "C"))
    assert found.totals.tolist() == [4, 12, 8, 12]
    assert found.peak_at == 1
    assert [(holder.op, holder.size) for holder in found.holders(1)] == [("B", 8), ("A", 4)]
    assert [(holder.op, holder.size) for holder in found.holders(3)] == [("B", 8), ("C", 4)]


def test_a_clock_that_is_set_back_does_not_turn_time_round():
    assert made((5, 1, "A"), (3, 1, "A"), (9, 1, "A")).times.tolist() == [5, 5, 9]


def test_unknown_places_and_equal_code_in_two_files():
    events = [
        Event(0, 1, "A", None),
        Event(1, 2, "A", ()),
        Event(2, 4, "A", at(7, "a.py")),
        Event(3, 8, "A", at(7, "b.py")),
    ]
    found = track(GPU, 100, events).holders(3)
    assert [(holder.line, holder.count, holder.size) for holder in found] == [
        ("b.py:7", 1, 8),
        ("a.py:7", 1, 4),
        ("", 2, 3),
    ]


def test_from_the_middle_on_what_was_held_comes_first():
    whole = made((0, 4, "A"), (1, 4, "A"), (2, 8, "B"), (3, -4, "A"), (4, 1, "C"), (5, -8, "B"))
    part = whole.since(4, 40)
    assert part.times.tolist() == [40, 40, 40, 40]
    assert part.sizes.tolist() == [4, 8, 1, -8]
    assert part.totals[-1] == whole.totals[-1]
    assert part.holders(3) == whole.holders(5)
    assert whole.since(0, 40) is whole


def test_a_layer_is_what_an_op_held():
    found = made((0, 4, "A"), (1, 8, "B"), (2, -4, "A"), (3, 2, "C"))
    shown = {layer.op: (layer.values.tolist(), layer.at_peak) for layer in layers(found, np.arange(4))}
    assert shown == {"B": ([0, 8, 8, 8], 8), "A": ([4, 4, 0, 0], 4), "C": ([0, 0, 0, 2], 0)}


def test_many_ops_are_ten_and_the_others():
    events = [(number, number + 1, f"Op{number}") for number in range(30)]
    found = layers(made(*events), np.array([29]))
    assert [layer.op for layer in found] == [f"Op{number}" for number in range(29, 19, -1)] + ["other"]
    assert found[-1].at_peak == found[-1].values[0] == sum(range(1, 21))
    assert len(found) == OPS_SHOWN + 1


def test_ops_that_a_part_of_a_track_has_nothing_of_are_not_shown():
    part = made((0, 4, "A"), (1, -4, "A"), (2, 8, "B")).since(2, 2)
    assert [layer.op for layer in layers(part, np.array([0]))] == ["B"]


changes = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 100), st.sampled_from("ABC")), min_size=1, max_size=60)


@given(changes, st.data())
def test_few_moments_keep_the_peak_and_the_end(drawn, data):
    """Blocks come at any time and may go later; a drawing with few points has the same top and the same end."""
    events = [(time, size, op) for time, size, op in drawn]
    for time_, size, op in drawn:
        if data.draw(st.booleans()):
            events.append((time_ + data.draw(st.integers(1, 30)), -size, op))
    found = made(*sorted(events, key=lambda event: (event[0], -event[1])))
    chosen = moments(found, data.draw(st.sampled_from([2, 6, 10, 1000])))
    assert found.totals[chosen].max() == found.peak
    assert chosen[-1] == len(events) - 1
    assert np.all(np.diff(chosen) > 0)
    assert sum(layer.values for layer in layers(found, chosen)).tolist() == found.totals[chosen].tolist()


@pytest.mark.parametrize("count", [1, 10, 999, 1000, 1001, 50_000])
def test_the_number_of_points_is_bounded(count):
    events = [(number, 1 if number % 2 else 3, "A") for number in range(count)]
    assert len(moments(made(*events), 1000)) <= min(count, 1000)


def test_no_events_have_no_moments():
    nothing = made()
    assert moments(nothing, 10).tolist() == []
    assert (nothing.peak, nothing.peak_at, nothing.holders(None)) == (0, None, ())


# Pictures.


def texts(picture):
    return [element.text for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")]


def test_a_picture_shows_devices_ops_sizes_and_times():
    found = made((0, 3 * 2**20, "MatMul"), (10**7, 2**20, "Relu"), limit=8 * 2**20)
    shown = texts(timeline([found], 0, 2 * 10**7, "nothing"))
    assert "GPU:0: at most 4.0 MiB of 8.0 MiB" in shown
    assert {"MatMul", "Relu", "3.0 MiB", "1.0 MiB", "0", "2 MiB", "8 MiB", "0 ms", "5 ms", "20 ms"} <= set(shown)


def test_the_limit_is_drawn_where_it_is_near():
    near, far = made((0, 30, "A"), limit=100), made((0, 20, "A"), limit=100)
    assert 'class="limit"' in timeline([near], 0, 1, "")
    assert 'class="limit"' not in timeline([far], 0, 1, "")


def test_an_op_has_one_colour_in_all_panels():
    first = made(*[(0, 100 - number, f"Op{number}") for number in range(6)])
    second = made(*[(0, 100 - number, f"Op{number}") for number in (5, 0, 7, 8, 9, 10, 11, 12)])
    root = ElementTree.fromstring(timeline([first, second], 0, 1, ""))
    colours = {}
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        colours.setdefault(path[0].text.partition(":")[0], []).append(path.get("class"))
    assert colours["Op0"] == [colours["Op0"][0]] * 2
    assert colours["Op5"] == [colours["Op5"][0]] * 2
    second_panel = [colours[f"Op{number}"][-1] for number in (5, 0, 7, 8, 9, 10, 11, 12)]
    assert len(set(second_panel)) == 8


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", 'a" onload="x', "a&b", "\0\x1b\ud800", "汉字", "x" * 500]
)
def test_what_programs_are_called_is_only_text(name):
    picture = timeline([made((0, 1, name))], 0, 1, "")
    root = ElementTree.fromstring(picture.encode())
    assert "<script" not in picture
    assert all("onload" not in element.attrib for element in root.iter())


def test_a_picture_needs_nothing_from_elsewhere():
    picture = timeline([made((0, 1, "A"))], 0, 1, "")
    assert "http" not in picture.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "url(" not in picture
    assert "prefers-color-scheme:dark" in picture


def test_all_at_one_moment():
    assert "GPU:0" in timeline([made((7, 1, "A"), (7, 2, "B"))], 7, 7, "")


def test_a_million_events_are_one_picture_of_their_own_size():
    here, there = at(1), at(2)
    events = []
    for number in range(500_000):
        events.append(Event(number * 10, 100 + number % 7, f"Op{number % 40}", here))
        events.append(Event(number * 10 + 5, -100 - number % 7, f"Op{number % 40}", here))
    events.insert(700_001, Event(3_500_007, 10**9, "Huge", there))
    events.insert(700_002, Event(3_500_008, -(10**9), "Huge", there))
    found = track(GPU, 10**10, events)
    picture = timeline([found], 0, found.times[-1], "")
    alive = found.holders(found.peak_at)
    assert (alive[0].op, alive[0].line) == ("Huge", "train.py:2")
    assert f"Huge: at most {10**9 / 2**20:.1f} MiB" in picture
    assert len(picture) < 500_000
    assert found.since(900_000, 9_000_000).totals[-1] == 0
