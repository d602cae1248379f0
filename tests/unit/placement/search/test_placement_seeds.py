"""The rules that a search starts from."""

from __future__ import annotations

import itertools

import pytest

from situs._src.placement.search.flat import flatten
from situs._src.placement.search.lists import list_schedule
from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor
from situs._src.placement.search.seeds import Rules
from situs._src.placement.search.simulate import simulate
from tests.placement_graphs import chain, layered, random_problem

EFFORT = 1e7


def rules_of(problem):
    blocks = [[v] for v in range(len(problem.nodes))]
    order = list(range(len(blocks)))
    return Rules(problem, blocks, flatten(problem, blocks, [order]), {"first": order})


def names(problem, place):
    return {node.name: problem.devices[d].name for node, d in zip(problem.nodes, place, strict=True)}


def test_one_device_takes_all_that_may_be_there():
    problem = chain("1 2 3")
    assert rules_of(problem).single(1) == [1, 1, 1]


def test_fill_goes_on_when_a_device_is_full():
    problem = chain("1 1 1 1 1", memory=2.0)
    assert rules_of(problem).fill(range(5)) == [0, 0, 1, 1, 2]


def test_balanced_gives_each_device_its_share():
    place = rules_of(chain("1 1 1 1 1 1")).fill(range(6), balanced=True)
    assert place == [0, 0, 0, 0, 1, 1]  # a share is half, and room for the largest


def test_previous_keeps_what_fits_and_asks_neighbours_for_the_rest():
    problem = chain("1 1 1")
    assert rules_of(problem).previous({"a": "GPU:1", "b": "TPU:7"}) == [1, 1, 1]


def test_every_rule_places_every_block_where_it_may_be():
    for seed in range(30):
        problem = random_problem(seed)
        if any(node.group for node in problem.nodes):
            continue
        rules = rules_of(problem)
        for name, place in [*rules.quick(), *rules.thorough("step", EFFORT)]:
            assert all(d in problem.candidates(v) for v, d in enumerate(place)), name


def test_list_schedules_use_both_devices_for_work_side_by_side():
    devices = (Device("A", "CPU"), Device("B", "CPU"))
    nodes = tuple(Node(str(i), (1.0, 1.0)) for i in range(4))
    problem = Problem(nodes, (), devices, (Link(0, 1), Link(1, 0)))
    found = dict(rules_of(problem).quick())
    for name in ("greedy", "heft", "etf"):
        assert simulate(problem, names(problem, found[name])).value == 2.0


def test_a_variable_goes_where_it_is_used():
    """By itself it takes no time anywhere, so that every one would go to the first device, with all that is with it."""
    devices = (Device("A", "GPU"), Device("B", "GPU"))
    nodes = tuple(
        node
        for i in range(4)
        for node in (Node(f"w{i}", (0.0, 0.0), 1.0, group=str(i)), Node(f"product{i}", (1.0, 1.0), group=str(i)))
    )
    tensors = tuple(Tensor(2 * i, 1.0, (2 * i + 1,)) for i in range(4))
    problem = Problem(nodes, tensors, devices, (Link(0, 1), Link(1, 0)))
    blocks = [[2 * i, 2 * i + 1] for i in range(4)]
    order = list(range(4))
    found = dict(Rules(problem, blocks, flatten(problem, blocks, [order]), {"first": order}).quick())
    for name in ("greedy", "heft", "etf"):
        assert sorted(found[name]) == [0, 0, 1, 1], name


def test_a_variable_of_its_own_follows_what_uses_it_first():
    devices = (Device("A", "GPU"), Device("B", "GPU"))
    nodes = (Node("w", (0.0, 0.0), 1.0), Node("x", (1.0, None)), Node("product", (None, 1.0)))
    tensors = (Tensor(0, 1.0, (2,)), Tensor(1, 1.0, (2,)))
    problem = Problem(nodes, tensors, devices, (Link(0, 1, 1.0), Link(1, 0, 1.0)))
    assert list_schedule(flatten(problem, [[0], [1], [2]]), [3.0, 2.0, 1.0], 1) == [1, 0, 1]


def test_greedy_waits_for_links_that_others_use():
    """Two tensors of a second each over one engine: with the second one it is quicker to stay and compute twice."""
    devices = (Device("A", "GPU"), Device("B", "GPU"))
    nodes = tuple(Node(name, (1.0, 1.0)) for name in "ab") + tuple(Node(name, (1.0, 1.0)) for name in "cdef")
    tensors = (Tensor(0, 1.0, (2, 4)), Tensor(1, 1.0, (3, 5)))
    one_way = (Link(0, 1, 0.0, 3.0, ("bus",)), Link(1, 0, 0.0, 3.0, ("bus",)))
    problem = Problem(nodes, tensors, devices, one_way)
    place = dict(rules_of(problem).quick())["greedy"]
    assert [place[2], place[4]] == [place[0]] * 2
    assert [place[3], place[5]] == [place[1]] * 2
    assert simulate(problem, names(problem, place)).value == 3.0


def best_slices(problem, objective):
    """All ways to cut the order into stretches, tried one by one."""
    count, width = len(problem.nodes), len(problem.devices)
    best = float("inf")
    for parts in range(1, width + 1):
        for cuts in itertools.combinations(range(1, count), parts - 1):
            edges = [0, *cuts, count]
            for devices in itertools.permutations(range(width), parts):
                place = [d for d, (a, b) in zip(devices, itertools.pairwise(edges), strict=True) for _ in range(a, b)]
                found = simulate(problem, names(problem, place), objective)
                if not found.violations:
                    best = min(best, found.value)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_slices_are_the_best_of_all(seed):
    base = layered(7, gpus=2, seed=seed)
    tensors = tuple(Tensor(t.producer, t.bytes, t.consumers, 1e-5 * (seed % 3)) for t in base.tensors)
    problem = Problem(base.nodes, tensors, base.devices, base.links)
    rules = rules_of(problem)
    place = rules.slices(range(7), "max_load", rules.devices, EFFORT)
    assert simulate(problem, names(problem, place), "max_load").value == pytest.approx(best_slices(problem, "max_load"))


def test_slices_keep_to_memory():
    problem = chain("1 1 1 1", memory=2.0)
    rules = rules_of(problem)
    place = rules.slices(range(4), "max_load", [0, 1], EFFORT)
    assert sorted(place.count(d) for d in (0, 1)) == [2, 2]
    assert rules_of(chain("1 1 1 1 1", memory=2.0)).slices(range(5), "max_load", [0, 1], EFFORT) is None
