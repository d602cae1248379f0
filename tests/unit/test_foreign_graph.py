"""Graphs with ops that Situs does not have, for ``situs place``: by bytes alone."""

from __future__ import annotations

import json

import pytest

from situs._src.base.devices.inventory import process
from situs._src.cli.graph_file import problem_of
from situs._src.cli.main import main
from situs._src.placement.costs.kinds import speed_of
from situs.errors import InvalidArgumentError

HEAD = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "shape" value { shape { dim { size: 256 } dim { size: 300 } } } } }
node { name: "ready" op: "NoOp" }
"""
GRAPH = (
    HEAD
    + """
node { name: "y" op: "Theirs" input: "x" input: "^ready" device: "/gpu:1"
       attr { key: "_output_shapes" value { list { shape { dim { size: 256 } } shape { dim { size: 44 } } } } } }
node { name: "z" op: "TheirsToo" input: "y:1" attr { key: "_class" value { list { s: "loc:@y" } } } }
node { name: "w" op: "Relu" input: "x" device: "/job:elsewhere/device:TPU:0" }
"""
)
LOOP = (
    HEAD
    + """
node { name: "enter" op: "Enter" input: "x" }
node { name: "merge" op: "Merge" input: "enter" input: "next" }
node { name: "body" op: "Tanh" input: "merge" }
node { name: "next" op: "NextIteration" input: "body" }
"""
)
QUEUE = """
node { name: "queue" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_FLOAT } } } }
node { name: "taken" op: "QueueDequeueV2" input: "queue" attr { key: "timeout_ms" value { i: -1 } }
       attr { key: "component_types" value { list { type: DT_FLOAT } } } }
node { name: "count" op: "QueueSizeV2" input: "queue" }
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "graph.pbtxt"
        path.write_text(text)
        return path

    return write


def test_sizes_stand_in_the_message_or_are_those_of_the_inputs(written):
    problem = problem_of(written(GRAPH))
    bytes_of = {problem.nodes[t.producer].name: t.bytes for t in problem.tensors if t.hop_seconds is None}
    assert bytes_of == {"x": 4 * 256 * 300, "y": 4 * (256 + 44)}
    assert any("2 of 5 results stand in the file" in line for line in problem.rests_on)


def test_times_are_a_call_and_bytes(written):
    problem = problem_of(written(GRAPH))
    for device, seconds in zip(process.devices(), problem.nodes[problem.index["y"]].times, strict=True):
        speed = speed_of(device)
        assert seconds == pytest.approx(speed.call + 4 * (256 * 300 + 300) / speed.bandwidth)
    assert set(problem.nodes[problem.index["x"]].times) == {0.0}


def test_requests_for_devices_that_there_are_and_colocation_are_wishes(written):
    problem = problem_of(written(GRAPH))
    nodes = {node.name: node for node in problem.nodes}
    second = [d for d, device in enumerate(process.devices()) if device.short_name == "GPU:1"]
    assert nodes["y"].allowed == (tuple(second) or None)
    assert nodes["w"].allowed is None
    assert nodes["z"].group == nodes["y"].group is not None


def test_what_only_waits_moves_nothing(written):
    problem = problem_of(written(GRAPH))
    (order,) = [t for t in problem.tensors if problem.nodes[t.producer].name == "ready"]
    assert (order.bytes, order.hop_seconds) == (0.0, 0.0)


def test_a_loop_of_an_old_graph_is_opened_where_it_closes(written):
    problem = problem_of(written(LOOP))
    order = [node.name for node in problem.nodes]
    assert sorted(order) == ["body", "enter", "merge", "next", "ready", "x"]
    assert order.index("enter") < order.index("merge") < order.index("body") < order.index("next")


def test_the_command_places_it_and_says_what_that_rests_on(written, tmp_path, capsys):
    out = tmp_path / "plan.json"
    assert main(["place", str(written(GRAPH)), "--budget", "0.1", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "ops that are not known here" in printed
    assert "it cannot be imported: Op type not registered" in printed
    assert json.loads(out.read_text())["placement"].keys() == {"x", "ready", "y", "z", "w"}


def test_an_op_that_is_written_in_another_way_is_placed_by_bytes(written):
    """TensorFlow's queues say what they give back by other attributes."""
    problem = problem_of(written(QUEUE))
    assert problem.index.keys() == {"queue", "taken", "count"}
    assert "not in this form" in problem.rests_on[0]


def test_a_malformed_message_is_refused(written):
    with pytest.raises(InvalidArgumentError, match="takes 'nowhere', and there is no node"):
        problem_of(written(HEAD + 'node { name: "y" op: "Theirs" input: "nowhere" }'))
