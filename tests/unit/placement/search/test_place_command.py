"""``situs place``."""

from __future__ import annotations

import json

import pytest

from situs._src.cli.main import main
from situs._src.placement.search.problem import Node, Problem
from tests.placement_graphs import PUBLISHED, chain

WORKLOAD = {
    "maxFPGAs": 2,
    "maxCPUs": 1,
    "maxSizePerFPGA": 2.0,
    "nodes": [
        {"id": i, "name": f"n{i}", "supportedOnFpga": 1, "fpgaLatency": 1.0, "cpuLatency": 10.0, "size": 1.0}
        for i in (4, 3, 2, 1)
    ],
    "edges": [{"sourceId": i, "destId": i + 1, "cost": 0.5} for i in (1, 2, 3)],
}


@pytest.fixture
def graph(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(chain("1 1 1 1", memory=2.0).to_json()))
    return str(path)


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(WORKLOAD))
    return str(path)


def test_a_graph_is_placed_and_explained(graph, tmp_path, capsys):
    out, picture = str(tmp_path / "plan.json"), str(tmp_path / "timeline.html")
    assert main(["place", graph, "--budget", "0.2", "--out", out, "--picture", picture]) == 0
    printed = capsys.readouterr().out
    assert "step: 6 s" in printed
    assert "one device alone (CPU:0): 40 s, 6.67x as long" in printed
    assert "GPU:1" in printed
    assert "no placement is below" in printed
    assert set(json.loads((tmp_path / "plan.json").read_text())["placement"]) == set("abcd")
    assert "<svg" in (tmp_path / "timeline.html").read_text()


def test_a_plan_is_kept_to_and_compared(graph, tmp_path, capsys):
    out = str(tmp_path / "plan.json")
    main(["place", graph, "--budget", "0.2", "--out", out])
    plan = json.loads((tmp_path / "plan.json").read_text())
    plan["placement"] = dict.fromkeys("abcd", "CPU:0")
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(plan))
    capsys.readouterr()
    assert main(["place", graph, "--from", str(edited), "--compare", out]) == 0
    printed = capsys.readouterr().out
    assert "step: 40 s" in printed
    assert "6 -> 40 (+566.7%), 4 nodes are elsewhere" in printed


def test_a_published_workload_is_written_as_a_split(workload, tmp_path, capsys):
    out = tmp_path / "split.json"
    assert main(["place", workload, "--objective", "max_load", "--budget", "0.2", "--out", str(out)]) == 0
    split = json.loads(out.read_text())
    assert sorted(len(device["nodes"]) for device in split["fpgas"]) == [2, 2]
    assert split["cpus"] == [{"nodes": []}]
    assert split["maxLoad"] == 2.5
    assert "max_load: 2.5 ms" in capsys.readouterr().out
    assert main(["place", workload, "--objective", "max_load", "--from", str(out), "--budget", "0.1"]) == 0


@pytest.mark.parametrize("objective", ["step", "latency"])
def test_a_published_workload_has_all_objectives(workload, objective, capsys):
    assert main(["place", workload, "--objective", objective, "--budget", "0.2"]) == 0
    assert f"{objective}: 5 ms" in capsys.readouterr().out


def test_some_devices_alone(graph, capsys):
    assert main(["place", graph, "--devices", "CPU:0, GPU:1", "--budget", "0.1"]) == 0
    assert "GPU:0" not in capsys.readouterr().out
    assert main(["place", graph, "--devices", "TPU:0"]) == 1
    assert "no device 'TPU:0'" in capsys.readouterr().err


def test_what_cannot_be_has_a_status_of_its_own(tmp_path, capsys):
    base = chain("1 1 1", memory=2.0)
    nodes = tuple(Node(n.name, n.times, n.weights, allowed=(0,)) for n in base.nodes)
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(Problem(nodes, base.tensors, base.devices, base.links).to_json()))
    assert main(["place", str(path)]) == 3
    error = capsys.readouterr().err
    assert "No placement satisfies all of these constraints" in error
    assert "node 'a' only on GPU:0" in error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is neither JSON nor"),
        ("[1]", "is JSON, but not that of a graph"),
        ("{}", "is JSON, but not that of a graph"),
        (json.dumps({**WORKLOAD, "maxFPGAs": 10**9}), "maxFPGAs must be a whole number"),
        (json.dumps({**WORKLOAD, "edges": [{"sourceId": 1, "destId": 9, "cost": 1}]}), "no node 9"),
        (json.dumps({**WORKLOAD, "nodes": [{"id": "x"}]}), "id must be a whole number"),
        (
            json.dumps({**WORKLOAD, "edges": [{"sourceId": 1, "destId": d, "cost": d} for d in (2, 3)]}),
            "edges of two prices",
        ),
        (json.dumps({**WORKLOAD, "maxFPGAs": 0, "maxCPUs": 0}), "allows no device"),
    ],
)
def test_bad_files_are_refused_in_a_line(tmp_path, capsys, content, message):
    path = tmp_path / "graph.json"
    path.write_text(content)
    assert main(["place", str(path)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("situs: ")
    assert len(error.splitlines()) == 1


def test_files_that_are_not_there(graph, tmp_path, capsys):
    assert main(["place", str(tmp_path / "none.json")]) == 1
    assert main(["place", graph, "--from", str(tmp_path / "none.json")]) == 1
    assert main(["place", graph, "--picture", "x.png"]) == 1
    assert main(["place", graph, "--budget", "0.1", "--out", str(tmp_path / "no" / "plan.json")]) == 1
    error = capsys.readouterr().err
    assert error.count("Cannot read") == 2
    assert "Cannot write" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("budget", ["soon", "-1", "inf", "nan"])
def test_a_budget_is_a_number_of_seconds(graph, budget, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["place", graph, "--budget", budget])
    assert ended.value.code == 2
    assert "number of seconds" in capsys.readouterr().err


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published workloads are not beside this checkout")
def test_a_real_workload_is_near_the_best_known(capsys):
    path = PUBLISHED / "max_load" / "op.bert_l-3_inference.json"
    assert main(["place", str(path), "--objective", "max_load", "--budget", "1"]) == 0
    value = float(capsys.readouterr().out.split("max_load: ")[1].split()[0])
    assert value <= 21.908 * 1.005


def test_of_many_pins_the_limit_that_they_exceed_is_shown(tmp_path, capsys):
    nodes = [
        {"name": f"n{i}", "times": {"GPU:0": 1, "CPU:0": 1}, "weights": 10, "allowed": ["GPU:0"]} for i in range(30)
    ]
    devices = [{"name": "GPU:0", "kind": "GPU", "memory": 295}, {"name": "CPU:0", "kind": "CPU"}]
    links = [{"from": "GPU:0", "to": "CPU:0"}, {"from": "CPU:0", "to": "GPU:0"}]
    head = {"format": "situs.placement.problem", "version": 1}
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({**head, "devices": devices, "links": links, "nodes": nodes, "tensors": []}))
    assert main(["place", str(path), "--budget", "0.1"]) == 3
    said = capsys.readouterr().err
    assert "at most 295 bytes on GPU:0" in said
    assert "and 23 more" in said


def test_a_published_workload_may_be_dispatched_in_another_order(tmp_path, capsys):
    """The file has the short branch first; a step is shorter if the long one begins."""
    nodes = [
        {"id": i, "supportedOnFpga": 0, "fpgaLatency": 0.0, "cpuLatency": time, "size": 0.0}
        for i, time in enumerate([1.0, 1.0, 2.0, 2.0])
    ]
    edges = [{"sourceId": 2, "destId": 3, "cost": 0.0}]
    data = {"maxFPGAs": 0, "maxCPUs": 2, "maxSizePerFPGA": 1.0, "nodes": nodes, "edges": edges}
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(data))
    picture = tmp_path / "timeline.svg"
    assert main(["place", str(path), "--budget", "0.2", "--picture", str(picture)]) == 0
    assert "step: 4 ms" in capsys.readouterr().out
    assert "step 4 ms" in picture.read_text()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("objective", ["step", "latency", "max_load"])
def test_the_largest_numbers_are_placed_without_warnings(objective, tmp_path, capsys):
    data = json.loads(json.dumps(WORKLOAD))
    for edge in data["edges"]:
        edge["cost"] = 1e308
    path = tmp_path / "workload.json"
    path.write_text(json.dumps(data))
    assert main(["place", str(path), "--objective", objective, "--budget", "0.1"]) == 0
    assert capsys.readouterr().err == ""
