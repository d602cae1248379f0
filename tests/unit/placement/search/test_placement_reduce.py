"""Blocks lose nothing that a search could gain, and smaller graphs stand for large ones."""

from __future__ import annotations

import itertools

import pytest

from situs._src.placement.search.orders import orders_of
from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor
from situs._src.placement.search.reduce import Union, blocks_of, coarsen, groups_of
from situs._src.placement.search.simulate import simulate
from tests.placement_graphs import chain, layered


def line(times, prices, **more):
    """A chain over two accelerators and a host that all take the same time; a hop of node i has the price i."""
    devices = (Device("A", "GPU"), Device("B", "GPU"), Device("C", "CPU"))
    links = tuple(Link(a, b) for a, b in itertools.permutations(range(3), 2))
    nodes = tuple(Node(str(i), (t, t, t), **more) for i, t in enumerate(times))
    tensors = tuple(Tensor(i, 0.0, (i + 1,), price) for i, price in enumerate(prices))
    return Problem(nodes, tensors, devices, links)


def test_union():
    union = Union(5)
    union.join(3, 1)
    union.join(4, 3)
    assert union.sets() == [[0], [1, 3, 4], [2]]


def test_groups_stay_together():
    devices = (Device("C", "CPU"),)
    nodes = tuple(Node(name, (1.0,), group=group) for name, group in zip("abcd", ["x", None, "x", "y"], strict=True))
    assert groups_of(Problem(nodes, (), devices)) == [[0, 2], [1], [3]]


def test_a_node_without_work_joins_the_one_it_talks_to():
    assert blocks_of(line([0.0, 5.0, 5.0], [0.1, 0.1])) == [[0, 1], [2]]


def test_an_expensive_cut_is_closed_and_cheap_ones_stay():
    """Cutting after 1 costs 9; before it 1, and 2 for its work; after 2 it is 1, and 5 for its work."""
    assert blocks_of(line([5.0, 2.0, 5.0, 5.0], [1.0, 9.0, 1.0])) == [[0], [1, 2], [3]]


@pytest.mark.parametrize("prices", [*itertools.product([0.1, 1.0, 6.0], repeat=3)])
def test_blocks_keep_the_best_largest_load(prices):
    problem = line([1.0, 0.5, 2.0, 1.0], prices)
    names = [device.name for device in problem.devices]

    def best(blocks):
        values = []
        for places in itertools.product(names, repeat=len(blocks)):
            of_node = {str(v): d for block, d in zip(blocks, places, strict=True) for v in block}
            values.append(simulate(problem, of_node, "max_load").value)
        return min(values)

    assert best(blocks_of(problem)) == pytest.approx(best([[v] for v in range(4)]))


def test_blocks_that_may_be_elsewhere_are_not_joined():
    problem = chain("0 1")
    pinned = Problem(
        (problem.nodes[0], Node("b", (1.0, 1.0, 1.0), allowed=(0,))), problem.tensors, problem.devices, problem.links
    )
    assert blocks_of(pinned) == [[0], [1]]


def test_a_smaller_graph_stands_for_a_large_one():
    problem = layered(3000, gpus=2)
    steps = coarsen(problem, goal=200)
    assert len(steps[-1].problem.nodes) < 400
    coarse = steps[0]
    for d in range(3):
        whole = sum(node.times[d] for node in problem.nodes)
        assert sum(node.times[d] for node in coarse.problem.nodes) == pytest.approx(whole)
    weights = sum(node.weights for node in problem.nodes)
    assert sum(node.weights for node in steps[-1].problem.nodes) == pytest.approx(weights)
    assert len(coarse.cluster_of) == 3000
    assert set(coarse.cluster_of) == set(range(len(coarse.problem.nodes)))


def test_a_smaller_graph_keeps_pins_and_groups():
    base = layered(600, gpus=2)
    nodes = tuple(
        Node(n.name, n.times, n.weights, group="g" if i % 50 == 0 else None, allowed=(1,) if i % 50 == 7 else None)
        for i, n in enumerate(base.nodes)
    )
    problem = Problem(nodes, base.tensors, base.devices, base.links)
    coarse = coarsen(problem, goal=50)[0]
    for v, c in enumerate(coarse.cluster_of):
        assert coarse.problem.nodes[c].allowed == nodes[v].allowed
    whole = {c for v, c in enumerate(coarse.cluster_of) if nodes[v].group == "g"}
    assert len(whole) == 1 or len({coarse.problem.nodes[c].group for c in whole}) == 1
    assert len(whole) == 1 or coarse.problem.nodes[min(whole)].group is not None


def test_small_groups_do_not_keep_a_graph_large():
    base = layered(900, gpus=2)
    nodes = tuple(Node(n.name, n.times, n.weights, group=str(i // 3)) for i, n in enumerate(base.nodes))
    steps = coarsen(Problem(nodes, base.tensors, base.devices, base.links), goal=60)
    assert len(steps[-1].problem.nodes) < 200


def test_a_small_graph_is_left_alone():
    assert coarsen(chain("1 2 3")) == []


def test_orders_hold_each_block_once_and_fold_training():
    """Forward a b c, backward C B A, one block each: the folded order brings a and A, b and B, together."""
    problem = line([1.0] * 6, [1.0] * 5)
    orders = orders_of(problem, [[v] for v in range(6)])
    assert all(sorted(order) == list(range(6)) for order in orders.values())
    assert orders["folded"] == [0, 5, 1, 4, 2, 3]
