"""`replica_device_setter`: variables round robin over parameter servers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from situs._src.base.devices.scope import device
from situs._src.ir.graph.graph import Graph
from situs._src.placement.replicas import replica_device_setter
from situs.errors import DTypeError, InvalidArgumentError
from tests.sketch import add


def requests(setter, *types):
    return [setter(SimpleNamespace(type=kind, device=asked)) for kind, _, asked in (t.partition(" ") for t in types)]


def test_variables_go_round_the_servers_and_the_rest_to_the_worker():
    with Graph().as_default() as graph, device(replica_device_setter(ps_tasks=3)):
        made = [add(graph, f"v{i}: Variable").device for i in range(5)]
        other = add(graph, "c: Const").device
    assert made == [f"/job:ps/task:{i}" for i in (0, 1, 2, 0, 1)]
    assert other == "/job:worker"


def test_what_is_asked_for_further_in_wins_field_by_field():
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:7")
    assert requests(setter, "Variable /cpu:1", "Const /task:3", "Variable /task:9", "Variable /job:x", "Variable") == [
        "/job:ps/task:0/device:CPU:1",
        "/job:worker/task:3",
        "/job:ps/task:9",  # a turn is taken all the same
        "/job:x",  # no turn is taken: it is no server of ours
        "/job:ps/task:0",
    ]


def test_without_merging_a_request_is_left_alone():
    setter = replica_device_setter(ps_tasks=2, merge_devices=False)
    assert requests(setter, "Variable /cpu:1", "Variable") == ["/cpu:1", "/job:ps/task:0"]


def test_a_server_without_a_job_has_no_tasks():
    assert requests(replica_device_setter(ps_tasks=2, ps_device="/cpu:0"), "Variable") == ["/device:CPU:0"]


@pytest.mark.parametrize("nothing", [None, ""])
def test_either_side_may_be_left_to_the_placer(nothing):
    assert requests(replica_device_setter(ps_tasks=1, ps_device=nothing), "Variable") == ["/job:worker"]
    assert requests(replica_device_setter(ps_tasks=1, worker_device=nothing), "Const") == [""]


def test_which_ops_hold_state_and_where_they_go_can_be_chosen():
    setter = replica_device_setter(ps_tasks=9, ps_ops=["Const"], ps_strategy=lambda op: 5)
    assert requests(setter, "Const", "Variable") == ["/job:ps/task:5", "/job:worker"]


@pytest.mark.parametrize(
    "cluster", [{"ps": ["a:1", "b:1"], "worker": ["c:1"]}, SimpleNamespace(as_dict=lambda: {"ps": ["a:1", "b:1"]})]
)
def test_a_cluster_says_how_many_servers_there_are(cluster):
    setter = replica_device_setter(cluster=cluster)
    assert requests(setter, *["Variable"] * 3) == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]


def test_without_servers_there_is_nothing_to_set():
    assert replica_device_setter() is None
    assert replica_device_setter(cluster={"worker": ["a:1"]}) is None
    assert replica_device_setter(cluster={"ps": None}) is None


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"ps_tasks": -1}, ValueError),
        ({"ps_tasks": "three"}, InvalidArgumentError),
        ({"ps_tasks": 1, "ps_strategy": 3}, TypeError),
        ({"ps_tasks": 1, "ps_device": "/what:0"}, ValueError),
        ({"ps_tasks": 1, "ps_device": ["/job:ps"]}, InvalidArgumentError),
        ({"ps_tasks": 1, "ps_ops": 3}, DTypeError),
        ({"ps_tasks": 1, "ps_ops": "Variable"}, DTypeError),
        ({"cluster": ["ps"]}, TypeError),
        ({"cluster": {"ps": 2}}, DTypeError),
        ({"cluster": {"ps": "a:1"}}, DTypeError),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error):
    with pytest.raises(error):
        replica_device_setter(**arguments)
