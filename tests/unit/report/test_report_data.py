"""The data of a report: its schema, reading it again, what is damaged, and the trace for Perfetto."""

from __future__ import annotations

import json

import pytest

import situs as tf
from situs import errors
from situs._src.report.collect import Collector, Event
from situs._src.report.data import About, as_data, load
from situs._src.report.perfetto import trace_text
from situs._src.report.schema import SCHEMA, VERSION
from tests.unit.report.made import small

PARTS = {
    "schema", "version", "title", "program", "versions", "notes", "devices", "lanes", "events", "kinds", "waits",
    "critical", "idle", "memory", "graphs", "totals", "placements", "traces", "compiled", "left_out", "strings",
    "sources",
}  # fmt: skip


def test_the_parts_of_the_schema_are_there_and_fit_together():
    data = small()
    assert data.keys() == PARTS
    assert (data["schema"], data["version"]) == (SCHEMA, VERSION)
    count = len(data["events"]["start"])
    assert {len(column) for column in data["events"].values()} == {count}
    for name in ("name", "op", "line", "why", "result"):
        assert all(0 <= place < len(data["strings"]) for place in data["events"][name])
    for name in ("device", "source"):
        assert all(-1 <= place < len(data["devices"]) for place in data["events"][name])
    assert all(0 <= place < len(data["lanes"]) for place in data["events"]["lane"])
    assert all(0 <= place < count for place in (*data["critical"], *data["waits"]["event"], *data["waits"]["for"]))
    assert data["events"]["start"] == sorted(data["events"]["start"])


def test_the_critical_path_and_idle_times_of_a_known_program():
    data = small()
    names = [data["strings"][data["events"]["name"][place]] for place in data["critical"]]
    assert names == ["MatMul", "MatMul", "layer/Relu", "layer/Sum"]
    texts = [(data["devices"][each["device"]]["name"], each["text"]) for each in data["idle"]]
    assert ("GPU:1", "waiting for a copy of 4,096 bytes from GPU:0 to GPU:1") in texts
    assert ("GPU:1", "the program's own Python before train.py:12") in texts


def test_a_wait_for_a_run_is_told_by_where_it_was_asked_for():
    collector = Collector()
    op = Event(0, "op", "a", "A", "GPU:0", "", 1, 0, 1_000, 8, "model.py:1", "", "", ())
    run = Event(1, "run", "step", "run", "", "", 1, 90_000, 130_000, 0, "train.py:9", "", "", ())
    for event in (
        op,
        run,
        op._replace(number=2, start=95_000, end=96_000),
        op._replace(number=3, start=120_000, end=125_000),
    ):
        collector.add(event)
    data = as_data(About("runs", ended=130_000), collector, [])
    assert [each["text"] for each in data["idle"]] == [
        "the program's own Python before train.py:9",
        "the host was preparing calls of step",
    ]


def test_a_wait_for_the_report_itself_is_no_wait_for_the_program():
    collector = Collector()
    op = Event(0, "op", "a", "A", "GPU:0", "", 1, 0, 1_000, 8, "model.py:1", "", "", ())
    collector.add(op)
    collector.add(op._replace(number=1, start=100_000, end=101_000))
    collector.noting.append((2_000, 90_000))
    (idle,) = as_data(About("noting", ended=101_000), collector, [])["idle"]
    assert idle["text"] == "this report was noting the calls of a run"


def test_what_is_saved_is_read_again(tmp_path):
    with tf.report(tmp_path / "a.json") as report:
        tf.negative(tf.ones([2]))
    assert load(tmp_path / "a.json") == json.loads(json.dumps(report.to_json()))
    report.save(tmp_path / "b.html")
    assert (tmp_path / "b.html").read_text().startswith("<!doctype html>")
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        report.save(tmp_path / "c.pdf")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(schema="other"), "no 'schema'"),
        (lambda data: data.update(version=99), "version 99"),
        (lambda data: data["events"].pop("start"), r"events\.start is not there"),
        (lambda data: data["events"]["start"].append(1), "events should be columns of the same length"),
        (lambda data: data.update(graphs=3), "graphs should be a list"),
        (lambda data: data.pop("strings"), "strings is not there"),
        (lambda data: data.update(strings=[1]), r"strings\[0\] should be a text"),
        (lambda data: data["devices"].clear(), "should be a whole number from -1 to -1, and is"),
        (lambda data: data["devices"][0].update(busy=10**400), r"devices\[0\]\.busy should be a whole number"),
        (lambda data: data["devices"][0].update(virtual=1), r"devices\[0\]\.virtual should be true or false"),
        (lambda data: data["events"]["lane"].__setitem__(0, 99), r"events\.lane\[0\] should be a whole number from 0"),
        (lambda data: data["events"]["node"].__setitem__(0, 10**6), r"events\.node\[0\] should be a node of graph"),
        (lambda data: data["waits"]["for"].__setitem__(0, -1), r"waits\.for\[0\]"),
        (lambda data: data["program"].update(duration=float("nan")), r"program\.duration should be a whole number"),
        (lambda data: data["memory"][0]["layers"][0]["values"].append(1), r"values should be as long as times"),
        (lambda data: data["memory"][0]["layers"][0]["values"].__setitem__(0, float("inf")), "should be a number"),
        (lambda data: data["compiled"].append({"graph": 0, "ways": [["a"]]}), "an operation and how it runs"),
        (lambda data: data.update(sources=[]), "sources should be a dictionary"),
    ],
)
def test_damaged_data_are_refused_in_words(tmp_path, change, message):
    data = small()
    change(data)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(data))
    with pytest.raises(errors.InvalidArgumentError, match=message):
        load(path)


def test_what_is_no_report_is_refused_in_words(tmp_path):
    for text in ("", "[]", "[" * 100_000, "{}"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(errors.InvalidArgumentError, match=r"is not JSON|not the data of a report"):
            load(tmp_path / "x.json")
    with pytest.raises(errors.NotFoundError, match="Cannot read"):
        load(tmp_path / "none.json")


def test_the_trace_for_perfetto_has_every_event_arrow_and_counter(tmp_path):
    data = small()
    found = json.loads(trace_text(data))["traceEvents"]
    whole = [event for event in found if event["ph"] == "X"]
    assert len(whole) == len(data["events"]["start"])
    relu = next(event for event in whole if event["name"] == "layer/Relu")
    assert (relu["ts"], relu["dur"], relu["args"]["critical"]) == (30.5, 11.5, True)
    starts = [event for event in found if event["ph"] == "s"]
    ends = [event for event in found if event["ph"] == "f"]
    assert [event["id"] for event in starts] == [event["id"] for event in ends]
    assert len(starts) == 2  # into the copy and out of it
    assert [event["args"]["held"] for event in found if event["ph"] == "C"] == [4096, 8192]
    names = {event["args"]["name"] for event in found if event["name"] == "process_name"}
    assert names >= {"host", "GPU:0", "GPU:1"}
