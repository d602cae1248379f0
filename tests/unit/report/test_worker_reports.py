"""Reports of several workers as one: devices, rows, times and places in lists, and what is left out."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest

from situs import errors
from situs._src.cli.main import main
from situs._src.report import schema, workers
from situs._src.report.workers import together
from tests.conftest import ROOT
from tests.unit.report.made import large, small

PROGRAM = """
import sys
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()

@tf.function
def step():
    return strategy.reduce("SUM", tf.reduce_sum(tf.ones([8, 8])), axis=None)

print(float(step()))
if strategy.cluster_resolver.task_id == 1 and sys.argv[1:] == ["fails"]:
    raise ValueError("worker one has had enough")
"""


def _of(started: int, **changes: str) -> schema.Data:
    data = copy.deepcopy(small(**changes))
    data["program"].update(started=started, error=None)
    return schema.read(json.loads(json.dumps(data)), "made")


def _texts(data: schema.Data, column: str) -> list[str]:
    return [data["strings"][place] for place in data["events"][column]]


def test_each_worker_keeps_its_events_on_its_own_devices_and_rows():
    first, second = _of(1000), _of(5000, name="Other", device="GPU:0")
    data = together([first, second], "both")
    assert schema.read(json.loads(json.dumps(data)), "both") == data
    assert [each["name"] for each in data["devices"]] == [
        *(f"worker 0 {each['name']}" for each in first["devices"]),
        *(f"worker 1 {each['name']}" for each in second["devices"]),
    ]
    columns = data["events"]["device"], data["events"]["start"]
    found = [
        (name, data["devices"][device]["name"] if device >= 0 else "", start)
        for name, device, start in zip(_texts(data, "name"), *columns, strict=True)
    ]
    for rank, (report, later) in enumerate(((first, 0), (second, 4000))):
        for name, device, start in zip(
            _texts(report, "name"), report["events"]["device"], report["events"]["start"], strict=True
        ):
            where = f"worker {rank} {report['devices'][device]['name']}" if device >= 0 else ""
            assert (name, where, start + later) in found
    assert data["events"]["start"] == sorted(data["events"]["start"])
    rows = {data["lanes"][lane]["device"] for lane in data["events"]["lane"]}
    assert {data["devices"][row]["name"].partition(" GPU")[0] for row in rows if row >= 0} == {"worker 0", "worker 1"}
    assert (data["program"]["started"], data["program"]["duration"]) == (1000, 104_000)


def test_what_waited_for_what_is_the_same_in_each_worker():
    first, second = _of(0), _of(7, name="Other")
    data = together([first, second], "both")

    def pairs(report: schema.Data) -> list[tuple[str, str]]:
        names = _texts(report, "name")
        waits = zip(report["waits"]["event"], report["waits"]["for"], strict=True)
        return [(names[taker], names[maker]) for taker, maker in waits]

    assert sorted(pairs(data)) == sorted(pairs(first) + pairs(second))
    path = [_texts(data, "name")[place] for place in data["critical"]]
    assert path == [_texts(second, "name")[place] for place in second["critical"]]  # the second ends last
    idle = {(each["text"], each["start"]) for each in data["idle"]}
    assert idle == {(each["text"], each["start"]) for each in first["idle"]} | {
        (each["text"], each["start"] + 7) for each in second["idle"]
    }


def test_a_worker_that_left_none_is_said_and_an_error_names_its_worker():
    failed = _of(0)
    failed["program"]["error"] = {"type": "ValueError", "message": "no", "traceback": ""}
    data = together([None, failed], "both")
    assert "Worker 0 left no report: it was killed before it could write one." in data["notes"]
    assert data["program"]["error"]["message"] == "worker 1: no"
    assert data["devices"][0]["name"].startswith("worker 1 ")
    with pytest.raises(errors.InvalidArgumentError, match="No worker left a report"):
        together([None, None], "none")


def test_many_events_and_nodes_of_many_workers_stay_bounded(monkeypatch):
    monkeypatch.setattr(workers, "HEAD", 40)
    monkeypatch.setattr(workers, "TAIL", 20)
    monkeypatch.setattr(workers, "NODES", 250)
    report = large(100)
    data = together([report] * 4, "four")
    assert len(data["events"]["start"]) == 4 * (10 + 5)
    assert data["left_out"] == {"events": 4 * 85, "graphs": 2, "traces": 0}
    assert sum(each["count"] for each in data["totals"]) == 400
    assert schema.read(json.loads(json.dumps(data)), "four")["graphs"] == data["graphs"]


def test_reports_of_workers_become_a_page_and_a_trace_by_the_command(tmp_path, capsys):
    paths = []
    for rank in range(3):
        paths.append(str(tmp_path / f"{rank}.json"))
        (tmp_path / f"{rank}.json").write_text(json.dumps(_of(rank * 10)))
    for out in ("all.html", "all.trace.json"):
        assert main(["report", "--workers", *paths, "--out", str(tmp_path / out)]) == 0
        assert "worker 2 GPU:0" in (tmp_path / out).read_text()
    assert main(["report", *paths, "--out", str(tmp_path / "all.html")]) == 1
    assert "Two reports are compared, got 3" in capsys.readouterr().err


@pytest.mark.parametrize("fails", [False, True])
def test_two_workers_that_are_launched_are_on_one_page(tmp_path, fails):
    (tmp_path / "program.py").write_text(PROGRAM)
    out = tmp_path / "out.json"
    done = subprocess.run(
        [sys.executable, "-m", "situs", "launch", "-n", "2", "--report", str(out), str(tmp_path / "program.py")]
        + ["fails"] * fails,
        env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == int(fails), done.stderr
    assert done.stderr.count("the report is in file://") == 1
    data = schema.read(json.loads(out.read_text()), "out")
    assert {each["name"].rpartition(" ")[0] for each in data["devices"]} == {"worker 0", "worker 1"}
    ops = {(data["strings"][op], data["devices"][device]["name"]) for op, device in
           zip(data["events"]["op"], data["events"]["device"], strict=True) if device >= 0}  # fmt: skip
    assert {("Sum", "worker 0 CPU:0"), ("Sum", "worker 1 CPU:0")} <= ops
    assert (data["program"]["error"] or {}).get("message") == ("worker 1: worker one has had enough" if fails else None)
