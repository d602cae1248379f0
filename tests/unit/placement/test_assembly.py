"""Graphs as problems: what becomes a node, who takes which tensor, what stays together, what is counted as memory."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.placement import assembly
from situs._src.placement.assembly import Running, assemble, basis_of
from situs._src.placement.costs.model import Cost, CostModel
from situs._src.placement.costs.store import CostStore
from situs._src.placement.placer import place
from situs._src.placement.search.simulate import simulate


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def assembled(graph, **options):
    found = []

    def choose(wishes):
        found.append(assemble(wishes, process.devices(), CostModel(CostStore()), **options))
        return {}

    place(graph.get_operations(), process.devices(), choose=choose)
    return found[0]


def edges(problem):
    """(maker, user) of all tensors that are more than a mere order."""
    return {
        (problem.nodes[t.producer].name, problem.nodes[c].name)
        for t in problem.tensors
        if t.hop_seconds is None
        for c in t.consumers
    }


def everything_on(problem, device):
    return {node.name: device for node in problem.nodes}


def test_operations_are_nodes_and_constants_are_where_they_are_used(graph):
    x = tf.placeholder(tf.float32, [4, 8], name="x")
    y = tf.matmul(x, tf.constant(np.ones((8, 2), "f"), name="c"), name="y")
    tf.tanh(y, name="z")
    made = assembled(graph)
    assert set(made.problem.index) == {"x", "y", "z"}
    assert edges(made.problem) == {("x", "y"), ("y", "z")}
    assert made.problem.nodes[made.problem.index["y"]].weights == 8 * 2 * 4
    assert {node.name: leader.name for node, leader in made.follows.items()} == {"c": "y"}


def test_views_are_seen_through(graph):
    x = tf.tanh(tf.placeholder(tf.float32, [4, 8]), name="x")
    tf.tanh(tf.reshape(tf.identity(x), [32]), name="y")
    made = assembled(graph)
    assert ("x", "y") in edges(made.problem)
    assert "Reshape" not in made.problem.index


def test_a_view_that_asks_for_another_device_is_a_node(graph):
    x = tf.tanh(tf.placeholder(tf.float32, [4, 8]), name="x")
    with tf.device("/cpu:0"):
        there = tf.identity(x, name="there")
    tf.tanh(there, name="y")
    made = assembled(graph)
    assert {("x", "there"), ("there", "y")} <= edges(made.problem)


def test_sizes_take_no_part(graph):
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.reshape(tf.tanh(x, name="t"), [tf.shape(x)[0] * 8])
    tf.tanh(y, name="y")
    made = assembled(graph)
    assert not any("Shape" in name or "strided_slice" in name or "mul" in name for name in made.problem.index)


def test_a_variable_stays_with_its_updates_and_is_there_once_during_the_whole_step(graph):
    v = tf.Variable(np.zeros((16, 16), "f"), name="v")
    x = tf.tanh(v, name="x")
    tf.assign_add(v, x, name="more")
    made = assembled(graph)
    nodes = {node.name: node for node in made.problem.nodes}
    assert nodes["v"].group == nodes["more"].group == nodes["(kept) v"].group is not None
    size = 16 * 16 * 4
    peak = simulate(made.problem, everything_on(made.problem, "GPU:0")).peak["GPU:0"]
    assert size <= peak <= 4 * size  # the variable, what is added, its new value beside it


def test_control_inputs_are_order_and_take_no_time(graph):
    first = tf.tanh(tf.placeholder(tf.float32, [2]), name="first")
    with tf.control_dependencies([first]):
        tf.tanh(tf.placeholder(tf.float32, [2]), name="second")
    problem = assembled(graph).problem
    waits = [t for t in problem.tensors if t.hop_seconds == 0.0]
    assert [(problem.nodes[t.producer].name, t.bytes) for t in waits] == [("first", 0.0)]


def test_pins_groups_and_kernels_are_hard(graph):
    with tf.device("/gpu:1"):
        tf.tanh(tf.placeholder(tf.float32, [2]), name="pinned")
    tf.strings.join([tf.placeholder(tf.string, name="s"), "!"], name="joined")
    tf.tanh(tf.placeholder(tf.float32, [2]), name="free")
    problem = assembled(graph).problem
    names = [device.name for device in problem.devices]

    def left(name):
        return [names[d] for d in problem.candidates(problem.index[name])]

    assert left("pinned") == ["GPU:1"]
    assert left("joined") == ["CPU:0"]
    assert sorted(left("free")) == sorted(names)


def test_what_is_fed_and_fetched_comes_from_the_host_and_goes_there(graph):
    x = tf.placeholder(tf.float32, [None, 8], name="x")
    y = tf.tanh(x, name="y")
    host = process.devices()[-1]
    made = assembled(graph, feeds=[(x, host)], fetches=[(y, host)], shapes={x: tf.TensorShape([5, 8])})
    assert {("(fed) x:0", "y"), ("y", "(fetched) y:0")} <= edges(made.problem)
    found = simulate(
        made.problem, {**everything_on(made.problem, "GPU:0"), "(fed) x:0": "CPU:0", "(fetched) y:0": "CPU:0"}
    )
    assert found.traffic["CPU:0", "GPU:0"] == 5 * 8 * 4


def test_a_view_that_was_measured_to_copy_is_a_node(graph, monkeypatch):
    x = tf.tanh(tf.placeholder(tf.float32, [4, 8]), name="x")
    tf.tanh(tf.reshape(x, [32], name="copy"), name="y")
    monkeypatch.setattr(CostModel, "time", lambda self, node, device: Cost(1e-3, "measured", 1.0))
    assert "copy" in assembled(graph).problem.index


def test_virtual_gpus_share_the_host_and_copies_keep_it_busy(graph):
    a = tf.matmul(tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [64, 64]), name="a")
    b = tf.matmul(tf.placeholder(tf.float32, [64, 64]), tf.placeholder(tf.float32, [64, 64]), name="b")
    tf.add(a, b, name="c")
    problem = assembled(graph).problem
    alone = simulate(problem, everything_on(problem, "GPU:0")).value
    apart = simulate(problem, {**everything_on(problem, "GPU:0"), "b": "GPU:1"}).value
    assert apart > alone  # nothing is gained, and a copy is to be made


def test_devices_of_their_own_compute_side_by_side(graph, monkeypatch):
    monkeypatch.setattr(assembly, "processor_of", lambda device: device.short_name)
    a = tf.matmul(tf.placeholder(tf.float32, [512, 512]), tf.placeholder(tf.float32, [512, 512]), name="a")
    b = tf.matmul(tf.placeholder(tf.float32, [512, 512]), tf.placeholder(tf.float32, [512, 512]), name="b")
    tf.add(a, b, name="c")
    problem = assembled(graph).problem
    alone = simulate(problem, everything_on(problem, "GPU:0")).value
    assert simulate(problem, {**everything_on(problem, "GPU:0"), "b": "GPU:1"}).value < 0.8 * alone


def test_what_costs_rest_on_is_said():
    day = 86400.0
    costs = [Cost(1.0, "measured", day), Cost(1.0, "measured", 3 * day), Cost(1.0, "estimated", 0.0, guessed=True)]
    assert basis_of([*costs, Cost(0.0, "free")]) == [
        "2 of 3 times measured",
        "1 of 3 times estimated",
        "1 times with unknown sizes guessed",
        "oldest measurement 1970-01-02 00:00 UTC, newest 1970-01-04 00:00 UTC",
    ]
    assert basis_of([]) == ["nothing in it takes time"]


@pytest.fixture
def cards(monkeypatch):
    """Virtual GPUs that are taken for logical devices of one card: a call takes 1 ms there, and the host 2 to order."""
    monkeypatch.setattr(Device, "is_card", property(lambda self: self.type == "GPU"))
    monkeypatch.setattr(assembly, "processor_of", lambda device: "card" if device.is_card else "host")
    monkeypatch.setattr(assembly, "kind_of", lambda device: device.type)
    monkeypatch.setattr(
        CostModel,
        "time",
        lambda self, node, device: Cost(1e-3, "measured", 1.0, ordering=2e-3 if device.is_card else 0.0),
    )


def product_and_sum():
    tf.add(tf.matmul(tf.placeholder(tf.float32, [8, 8]), tf.ones([8, 8]), name="a"), 1.0, name="b")


def test_a_card_is_told_what_to_do_call_by_call_unless_it_is_recorded(graph, cards):
    product_and_sum()
    problem = assembled(graph).problem
    assert problem.orderer == "host"
    on_card = simulate(problem, everything_on(problem, "GPU:0"))
    assert on_card.ordering == pytest.approx(2e-3 * sum(node.ordering != () for node in problem.nodes))
    assert simulate(problem, everything_on(problem, "CPU:0")).ordering == 0.0
    recordings = {device: device.name for device in process.devices() if device.is_card}
    recorded = assembled(graph, running=Running(recordings=recordings)).problem
    assert simulate(recorded, everything_on(recorded, "GPU:0")).ordering == 0.0
    assert simulate(recorded, {**everything_on(recorded, "GPU:0"), "b": "GPU:1"}).ordering > 0.0
    never = assembled(graph, running=Running(orders=False)).problem
    assert simulate(never, {**everything_on(never, "GPU:0"), "b": "GPU:1"}).ordering == 0.0


def test_copies_of_a_card_go_in_the_order_of_its_work_and_the_host_waits_for_its_own(graph, cards):
    product_and_sum()
    problem = assembled(graph).problem
    number = problem.device_index
    assert problem.link[number["CPU:0"], number["GPU:0"]].resources == ("card", "host")
    assert problem.link[number["GPU:0"], number["CPU:0"]].resources == ("card", "host")
    assert problem.link[number["GPU:0"], number["GPU:1"]].resources == ("card",)
    beside = assembled(graph, running=Running(side_by_side=True)).problem
    assert beside.orderer == assembly.ORDERING  # a thread of its own, while others compute
    assert beside.link[number["CPU:0"], number["GPU:0"]].resources == ("card", assembly.ORDERING)


def test_arrays_that_are_fed_are_copied_on_the_host(graph):
    x = tf.placeholder(tf.float32, [1024, 1024], name="x")
    tf.tanh(x, name="y")
    host = process.devices()[-1]
    time_of = {}
    for converts in (False, True):
        problem = assembled(graph, feeds=[(x, host)], running=Running(converts=converts)).problem
        time_of[converts] = problem.nodes[problem.index["(fed) x:0"]].times[problem.device_index["CPU:0"]]
    feeding = CostModel(CostStore()).feeding(host)
    assert time_of == {False: 0.0, True: pytest.approx(feeding.seconds(4 * 1024 * 1024))}
