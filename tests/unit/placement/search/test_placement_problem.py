"""What a placement problem may be, and its form as JSON."""

from __future__ import annotations

import json

import pytest

from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor, from_json, loads
from situs.errors import InvalidArgumentError
from tests.placement_graphs import chain, random_problem, two_gpus

CPU = (Device("CPU:0", "CPU"),)


def as_json(**changes):
    table = chain("1 2").to_json()
    return {**table, **changes}


@pytest.mark.parametrize("seed", range(20))
def test_a_problem_comes_back_from_json(seed):
    problem = random_problem(seed)
    assert loads(json.dumps(problem.to_json())) == problem


def test_nodes_of_a_file_may_stand_in_any_order():
    table = chain("1 2 3").to_json()
    table["nodes"].reverse()
    assert [node.name for node in from_json(table).nodes] == ["a", "b", "c"]


def test_a_pair_without_a_link_goes_through_the_host():
    problem = chain("1 2")
    assert [(link.source, link.target) for link in problem.routes[0, 1]] == [(0, 2), (2, 1)]
    assert [(link.source, link.target) for link in problem.routes[0, 2]] == [(0, 2)]


def test_the_faster_of_two_relays_is_taken():
    devices = tuple(Device(f"GPU:{i}", "GPU") for i in range(3)) + CPU
    links = [Link(a, b, 1.0) for a in range(4) for b in range(4) if a != b and {a, b} != {0, 1}]
    links = [Link(x.source, x.target, 0.1) if 2 in (x.source, x.target) else x for x in links]
    problem = Problem((), (), devices, tuple(links))
    assert problem.routes[0, 1][0].target == 2


def test_candidates_have_a_kernel_and_are_allowed():
    devices, links = two_gpus()
    problem = Problem((Node("a", (1.0, None, 1.0), allowed=(0, 1)),), (), devices, links)
    assert problem.candidates(0) == (0,)


def test_some_devices_of_a_problem():
    found = chain("1 2").only(["GPU:1", "CPU:0"])
    assert [device.name for device in found.devices] == ["GPU:1", "CPU:0"]
    assert found.nodes[1].times == (2.0, 20.0)
    assert {(link.source, link.target) for link in found.links} == {(0, 1), (1, 0)}
    with pytest.raises(InvalidArgumentError, match="no device 'TPU:0'"):
        chain("1").only(["TPU:0"])
    with pytest.raises(InvalidArgumentError, match="Nothing can get from GPU:0 to GPU:1"):
        chain("1").only(["GPU:0", "GPU:1"])


@pytest.mark.parametrize(
    ("nodes", "tensors", "message"),
    [
        ([Node("a", (1.0,)), Node("a", (1.0,))], [], "Two nodes are named 'a'"),
        ([Node("a", (1.0, 2.0))], [], "has 2 times, and there are 1 devices"),
        ([Node("a", (-1.0,))], [], "time of 'a' must be a number from 0"),
        ([Node("a", (float("nan"),))], [], "time of 'a' must be a number from 0"),
        ([Node("a", (1.0,), weights=float("inf"))], [], "weights of 'a'"),
        ([Node("a", (1.0,), allowed=(3,))], [], "allowed on device"),
        ([Node("a", (1.0,))], [Tensor(0, 1.0, (0,))], "dispatched before"),
        ([Node("a", (1.0,))], [Tensor(2, 1.0, ())], "from node 2"),
    ],
)
def test_what_cannot_be_is_refused(nodes, tensors, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Problem(tuple(nodes), tuple(tensors), CPU)


@pytest.mark.parametrize(
    ("devices", "links", "message"),
    [
        ((), (), "no device"),
        ((*CPU, *CPU), (), "Two devices are named"),
        ((Device("x", "CPU", lanes=0),), (), "at least one lane"),
        ((Device("x", "CPU", memory=-1.0),), (), "memory limit"),
        ((*CPU, Device("GPU:0", "GPU")), (Link(0, 1),), "Nothing can get from GPU:0 to CPU:0"),
        (CPU, (Link(0, 0),), "A link goes from device 0 to 0"),
        ((*CPU, Device("GPU:0", "GPU")), (Link(0, 1), Link(0, 1), Link(1, 0)), "Two links"),
    ],
)
def test_devices_that_cannot_be_are_refused(devices, links, message):
    with pytest.raises(InvalidArgumentError, match=message):
        Problem((), (), devices, links)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "must be a table"),
        ({}, "format is None"),
        (as_json(version=99), "version 99"),
        (as_json(nodes=7), "'nodes' must be a list"),
        (as_json(nodes=[7]), r"nodes\[0\] must be a table"),
        (as_json(nodes=[{"name": "a", "times": {"TPU:0": 1}}]), "no device 'TPU:0'"),
        (as_json(nodes=[{"name": "a", "times": {"CPU:0": "fast"}}]), "must be a number"),
        (as_json(nodes=[{"name": "a", "times": {"CPU:0": 10**400}}]), "must be a number from 0"),
        (as_json(nodes=[{"name": "a", "times": {"CPU:0": True}}]), "must be a number"),
        (as_json(tensors=[{"from": "a", "to": ["z"]}]), "no node 'z'"),
        (as_json(tensors=[{"from": "a", "to": ["b"]}, {"from": "b", "to": ["a"]}]), "in a circle"),
        (as_json(devices=[{"name": "x", "kind": "CPU", "lanes": 1.5}]), "whole number"),
    ],
)
def test_files_that_are_none_are_refused(table, message):
    with pytest.raises(InvalidArgumentError, match=message):
        from_json(table)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\xff", '{"format": NaN'])
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(InvalidArgumentError):
        loads(text)
