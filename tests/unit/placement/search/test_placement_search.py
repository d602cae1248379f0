"""The search: good, honest, the same each time, and interrupted without loss."""

from __future__ import annotations

import itertools
import signal
import sys
import threading
from dataclasses import replace

import pytest

from situs._src.placement.search import every, exact
from situs._src.placement.search import search as module
from situs._src.placement.search.conflict import InfeasibleError, pack, smallest_conflict, wishes_of, without
from situs._src.placement.search.flat import flatten
from situs._src.placement.search.problem import OBJECTIVES, Device, Node, Problem, Tensor
from situs._src.placement.search.schedule import Found
from situs._src.placement.search.search import bound_of, search
from situs._src.placement.search.simulate import simulate
from situs.errors import InvalidArgumentError
from tests.placement_graphs import chain, layered, random_problem, two_gpus


def brute(problem, objective):
    """The best of all placements that keep to the wishes; None if there is none."""
    names = [device.name for device in problem.devices]
    choices = [problem.candidates(v) for v in range(len(problem.nodes))]
    found = []
    for devices in itertools.product(*choices):
        placement = {node.name: names[d] for node, d in zip(problem.nodes, devices, strict=True)}
        result = simulate(problem, placement, objective)
        if not result.violations:
            found.append(result.value)
    return min(found, default=None)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(15))
def test_small_problems_are_solved(objective, seed):
    problem = random_problem(seed, most=5)
    best = brute(problem, objective)
    if best is None:
        with pytest.raises(InfeasibleError):
            search(problem, objective, moves=500)
        return
    plan = search(problem, objective, moves=3000)
    assert plan.forecast.value == pytest.approx(best)
    assert not simulate(problem, plan.placement, objective).violations
    assert plan.bound <= best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_answer_is_never_worse_than_a_starting_point(objective):
    problem = layered(120, gpus=3, memory=3e7)
    given = {node.name: "CPU:0" for node in problem.nodes}
    plan = search(problem, objective, moves=200, previous=given, seeds={"by hand": given})
    fitting = {name: value for name, value in plan.tried.items() if value is not None}
    assert {"previous", "by hand", "heft", "etf", "packed"} <= plan.tried.keys()
    assert plan.forecast.value <= min(fitting.values())
    assert plan.single == ("CPU:0", plan.tried["one device, CPU:0"])


def test_with_no_moves_it_is_the_best_starting_point():
    problem = layered(50, gpus=2)
    plan = search(problem, moves=0)
    assert plan.forecast.value == pytest.approx(min(v for v in plan.tried.values() if v is not None), rel=0.05)


def test_the_same_seed_gives_the_same_placement():
    problem = layered(150, gpus=3)
    first, second, other = (search(problem, seed=seed, moves=3000) for seed in (4, 4, 5))
    assert first == second
    assert first.placement != other.placement


def test_a_budget_in_seconds_gives_the_same_placement_unless_the_clock_says_so():
    problem = layered(60, gpus=2)
    plans = [search(problem, budget=0.2, seed=1) for _ in range(2)]
    if not any(plan.notes for plan in plans):  # a machine that is not too busy
        assert plans[0].placement == plans[1].placement
    for plan in plans:
        assert set(plan.placement) == {node.name for node in problem.nodes}


def test_when_the_clock_ends_it_the_plan_says_so(monkeypatch):
    monkeypatch.setattr(module.Clock, "left", property(lambda clock: 0.0))
    plan = search(layered(40, gpus=2), budget=1.0)
    assert plan.notes == ("The clock ended the search: with the same seed, another run may end elsewhere.",)


def test_one_device_is_chosen_when_it_is_best():
    """Hops take longer than anything that could be gained."""
    plan = search(chain("0.1 0.1 0.1"), moves=500)
    assert len(set(plan.placement.values())) == 1
    assert plan.single[1] == plan.forecast.value


def test_one_device_alone_leaves_to_the_host_what_only_the_host_can_do():
    problem = chain("1 1 1 1 1")
    first = replace(problem.nodes[0], times=(None, None, 0.5))
    last = replace(problem.nodes[-1], allowed=(2,))
    plan = search(replace(problem, nodes=(first, *problem.nodes[1:-1], last)), moves=500)
    assert plan.single == ("GPU:0", plan.tried["one device, GPU:0"])
    assert plan.single[1] == 0.5 + 1 + 3 + 1 + 10  # a, a hop, three on the GPU, a hop, the last on the host


def test_nothing_is_alone_where_two_gpus_are_asked_for():
    problem = chain("1 1 1")
    pins = tuple(replace(node, allowed=(d,)) for node, d in zip(problem.nodes, (0, 1, 2), strict=True))
    assert search(replace(problem, nodes=pins), moves=10).single is None


def test_what_does_not_fit_one_device_is_spread():
    plan = search(chain("1 1 1 1", memory=2.0), moves=2000)
    assert plan.single == ("CPU:0", 40.0)
    assert sorted(plan.placement.values()) == ["GPU:0"] * 2 + ["GPU:1"] * 2
    assert plan.forecast.value == 6.0  # two hops of 1 s


def test_pins_and_groups_are_kept():
    base = layered(60, gpus=2)
    nodes = tuple(
        Node(n.name, n.times, n.weights, group="g" if i % 9 == 0 else None, allowed=(2,) if i % 10 == 1 else None)
        for i, n in enumerate(base.nodes)
    )
    plan = search(Problem(nodes, base.tensors, base.devices, base.links), moves=1000)
    assert all(plan.placement[f"n{i}"] == "CPU:0" for i in range(1, 60, 10))
    assert len({plan.placement[f"n{i}"] for i in range(0, 60, 9)}) == 1


def test_progress_tells_of_each_better_value():
    told = []
    plan = search(layered(80, gpus=3), moves=2000, progress=lambda value, what: told.append(value))
    assert told == sorted(told, reverse=True)
    assert told[-1] == plan.forecast.value


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also if the tests were started by a shell that has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_returns_the_best_so_far():
    problem = layered(200, gpus=3)
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    told = []

    def progress(value, what):
        if not told:
            timer.start()
        told.append(value)

    plan = search(problem, moves=10**9, progress=progress)
    assert "The search was interrupted." in plan.notes
    assert plan.forecast.value <= told[0]


def test_a_large_graph_is_placed_through_smaller_ones():
    plan = search(layered(5000, gpus=2), moves=60)
    assert len(plan.placement) == 5000
    assert plan.forecast.value <= min(v for v in plan.tried.values() if v is not None)


def test_an_empty_graph_has_an_empty_plan():
    devices, links = two_gpus()
    plan = search(Problem((), (), devices, links))
    assert plan.placement == {}
    assert plan.forecast.value == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"objective": "speed"}, "must be one of step, latency, max_load"), ({"budget": -1.0}, "seconds from 0")],
)
def test_arguments_that_are_wrong_are_refused(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        search(chain("1"), **arguments)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_below_the_best(seed):
    problem = random_problem(seed, most=4)
    for objective in OBJECTIVES:
        best = brute(problem, objective)
        assert best is None or bound_of(problem, objective) <= best


# Conflicts.


def pinned(problem, **devices):
    nodes = tuple(
        Node(n.name, n.times, n.weights, n.workspace, n.group, (devices[n.name],) if n.name in devices else n.allowed)
        for n in problem.nodes
    )
    return Problem(nodes, problem.tensors, problem.devices, problem.links)


def wishes(error):
    return {(wish.kind, wish.subject) for wish in error.value.wishes}


def test_pins_against_memory_are_refused_with_both():
    problem = pinned(chain("1 1 1 1", memory=2.0), a=0, b=0, c=0, d=1)
    with pytest.raises(InfeasibleError, match="at most 2 bytes on GPU:0") as error:
        search(problem, moves=10)
    assert wishes(error) == {("allowed", "a"), ("allowed", "b"), ("allowed", "c"), ("memory", "GPU:0")}


def test_a_pin_without_a_kernel_is_refused():
    devices, links = two_gpus()
    problem = Problem((Node("a", (None, 1.0, 1.0), allowed=(0,)), Node("b", (1.0,) * 3)), (), devices, links)
    with pytest.raises(InfeasibleError, match="has kernels for GPU:1, CPU:0") as error:
        search(problem, moves=10)
    assert wishes(error) == {("allowed", "a")}


def test_a_node_without_any_kernel_is_refused():
    devices, links = two_gpus()
    with pytest.raises(InfeasibleError, match="no kernel for any of the devices") as error:
        search(Problem((Node("a", (None,) * 3),), (), devices, links), moves=10)
    assert wishes(error) == set()


def test_a_group_without_a_common_device_is_refused():
    devices, links = two_gpus()
    nodes = [Node("a", (1.0, None, None), group="g"), Node("b", (None, 1.0, 1.0), group="g"), Node("c", (1.0,) * 3)]
    with pytest.raises(InfeasibleError, match="group 'g' on one device: a, b") as error:
        search(Problem(tuple(nodes), (), devices, links), moves=10)
    assert wishes(error) == {("group", "g")}


def test_more_than_all_memory_is_refused_with_the_limits():
    devices = (Device("GPU:0", "GPU", 3.0), Device("CPU:0", "CPU", 4.0))
    links = two_gpus()[1]
    links = tuple(type(links[0])(a, b) for a, b in ((0, 1), (1, 0)))
    problem = Problem(tuple(Node(str(i), (1.0, 1.0), weights=1.0) for i in range(8)), (), devices, links)
    with pytest.raises(InfeasibleError, match="weights of 8 bytes") as error:
        search(problem, moves=10)
    assert wishes(error) == {("memory", "GPU:0"), ("memory", "CPU:0")}


def test_a_tight_packing_is_found():
    """Sizes 6 5 4 4 3 2 into two devices of 12: only some of the ways fit."""
    devices = (Device("GPU:0", "GPU", 12.0), Device("GPU:1", "GPU", 12.0))
    link = type(two_gpus()[1][0])
    sizes = [6.0, 5.0, 4.0, 4.0, 3.0, 2.0]
    nodes = tuple(Node(str(i), (1.0, 1.0), weights=size) for i, size in enumerate(sizes))
    problem = Problem(nodes, tuple(Tensor(i, 0.0, (i + 1,)) for i in range(5)), devices, (link(0, 1), link(1, 0)))
    plan = search(problem, moves=100)
    assert set(plan.forecast.peak.values()) == {12.0}


def test_memory_that_only_the_moment_exceeds_is_not_called_proven():
    """Every node fits by itself, but two results of 6 bytes are alive at once on a device of 10."""
    devices = (Device("GPU:0", "GPU", 10.0),)
    nodes = tuple(Node(name, (1.0,)) for name in "abc")
    problem = Problem(nodes, (Tensor(0, 6.0, (2,)), Tensor(1, 4.0, (2,)), Tensor(2, 1.0, ())), devices)
    with pytest.raises(InfeasibleError, match=r"holds 11 bytes|on GPU:0") as error:
        search(problem, moves=10)
    assert error.value.message


@pytest.mark.parametrize("seed", range(40))
def test_of_a_conflict_nothing_can_be_left_out(seed):
    problem = random_problem(seed, most=6)
    nodes = tuple(
        Node(n.name, n.times, 30.0, 0.0, n.group, (i % len(problem.devices),) if i % 2 else n.allowed)
        for i, n in enumerate(problem.nodes)
    )
    problem = Problem(nodes, problem.tensors, problem.devices, problem.links)
    if pack(problem, "step").devices is not None:
        return
    found = smallest_conflict(problem, "step")
    rest = [wish for wish in wishes_of(problem) if wish not in found]
    assert pack(without(problem, rest), "step").devices is None
    for wish in found:
        assert pack(without(problem, [*rest, wish]), "step").devices is not None


# The exact finish.


@pytest.mark.skipif(not exact.is_there(), reason="OR-Tools is not installed")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_proven_is_true(seed, monkeypatch):
    monkeypatch.setattr(every, "applies", lambda problem: False)  # by OR-Tools, and not by looking at all
    problem = layered(7, gpus=2, seed=seed, memory=4e6)
    plan = search(problem, "max_load", budget=3.0)
    best = brute(problem, "max_load")
    assert plan.forecast.value == pytest.approx(best)
    assert plan.bound <= best * (1 + 1e-9)
    assert any(note.startswith("exact: bound") for note in plan.notes)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_or_tools_there_is_no_proof(monkeypatch):
    monkeypatch.setattr(exact, "is_there", lambda: False)
    plan = search(layered(7, gpus=2), "max_load", budget=0.1)
    assert not any(note.startswith("exact") for note in plan.notes)


def test_or_tools_that_cannot_be_loaded_is_a_note(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    proof = exact.finish(flatten(layered(3, gpus=2), [[0], [1], [2]]), [0, 1, 0], Found(1.0, 0.0), 1.0, 1.0)
    assert proof.place == (0, 1, 0)
    assert proof.note.startswith("exact: OR-Tools cannot be loaded")
