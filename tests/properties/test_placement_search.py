"""The models of placement agree: with the published evaluator, with a count by definition, in C and in Python."""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from situs._src.placement.search import compiled, published, pure
from situs._src.placement.search.conflict import InfeasibleError, wishes_of, without
from situs._src.placement.search.flat import flatten
from situs._src.placement.search.problem import OBJECTIVES, Device, Link, Node, Objective, Problem, Tensor
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate
from tests.placement_graphs import PUBLISHED, planted_problem, random_problem, tight_problem

FILES = sorted(PUBLISHED.glob("*/*.json"))
needs_workloads = pytest.mark.skipif(not FILES, reason="the published workloads are not beside this checkout")


def evaluator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("eval_split", PUBLISHED / "eval_split.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def some_split(problem: Problem, seed: int) -> dict[str, str]:
    """A placement at random, or in stretches, that keeps groups together."""
    chance = random.Random(seed)
    names = [device.name for device in problem.devices]
    used = chance.sample(names, chance.randrange(1, len(names) + 1))
    groups: dict[str, str] = {}
    placement, now = {}, chance.choice(used)
    sticky = chance.choice([0.0, 0.8, 0.98])
    for node in problem.nodes:
        if chance.random() > sticky:
            now = chance.choice(used)
        placement[node.name] = groups.setdefault(node.group or node.name, now)
    return placement


@needs_workloads
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_published_models_agree_with_the_published_evaluator(path):
    module = evaluator()
    data = json.loads(path.read_text())
    graph = module.Graph(data)
    problem = published.read(data)
    for seed in range(6):
        placement = some_split(problem, seed)
        split = published.split_of(problem, placement)
        assert simulate(problem, placement, "max_load").value == pytest.approx(graph.max_load(split), rel=1e-9)
        found = simulate(problem, placement, "latency")
        try:
            assert found.value == pytest.approx(graph.latency(split), rel=1e-9)
        except module.Infeasible:
            assert found.value == float("inf")
        over = [text for text in graph.check(split) if "bytes" in text]
        assert len([text for text in found.violations if "bytes" in text]) == len(over)


@given(st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_all_three_ways_to_evaluate_agree(seed):
    problem = random_problem(seed)
    chance = random.Random(seed)
    devices = [chance.choice(problem.candidates(v)) for v in range(len(problem.nodes))]
    placement = {node.name: problem.devices[d].name for node, d in zip(problem.nodes, devices, strict=True)}
    flat = flatten(problem, [[v] for v in range(len(problem.nodes))])
    place = np.array(devices, np.int32)
    library = compiled.library()
    for objective in OBJECTIVES:
        slow = pure.evaluate(flat, objective, place)
        assert slow.value == simulate(problem, placement, objective).value
        if library is not None:
            assert library.evaluate(flat, objective, place) == slow


@given(st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_memory_is_what_a_count_by_definition_says(seed):
    """At each call: weights, and every tensor that is there by then and is used by this call or a later one."""
    problem = random_problem(seed)
    chance = random.Random(seed + 1)
    devices = [chance.choice(problem.candidates(v)) for v in range(len(problem.nodes))]
    placement = {node.name: problem.devices[d].name for node, d in zip(problem.nodes, devices, strict=True)}
    width = len(problem.devices)
    peak = [sum(n.weights for n, e in zip(problem.nodes, devices, strict=True) if e == d) for d in range(width)]
    base = list(peak)
    for now, d in enumerate(devices):
        # When the call has been dispatched, all copies that it needs are there, and nothing has been given back yet.
        for e in range(width):
            held = base[e] + sum(t.bytes for t in problem.tensors if holds(problem, devices, t, e, now))
            peak[e] = max(peak[e], held + (problem.nodes[now].workspace if e == d else 0.0))
    found = simulate(problem, placement)
    for device, most in zip(problem.devices, peak, strict=True):
        assert found.peak[device.name] == pytest.approx(most)


def holds(problem, devices, tensor, e, now):
    """Whether a tensor is on device e while call `now` runs."""
    home, takers = devices[tensor.producer], sorted(set(tensor.consumers))
    if tensor.producer > now:
        return False
    first = {}  # when a device gets its copy, a relay with the first one behind it
    sends = [-1]
    for c in takers:
        d = devices[c]
        if d != home and d not in first:
            route = problem.routes[home, d]
            for link in route:
                if link.target not in first:
                    first[link.target] = c
                    sends.append(c)
    if e != home and (e not in first or first[e] > now):
        return False
    own = max((c for c in takers if devices[c] == e), default=-1)
    is_relay = any(len(route) > 1 and route[0].target == e for route in problem.routes.values())
    last = max(own, *sends) if e == home or is_relay else own
    return last >= now or (not takers and e == home)


def best_by_definition(problem: Problem, objective: Objective) -> float:
    """The least value of all placements that keep to every wish, each simulated; infinite if there is none."""
    best = float("inf")
    for devices in itertools.product(*(problem.candidates(v) for v in range(len(problem.nodes)))):
        placement = {node.name: problem.devices[d].name for node, d in zip(problem.nodes, devices, strict=True)}
        if len({(node.group, placement[node.name]) for node in problem.nodes if node.group}) > len(
            {node.group for node in problem.nodes if node.group}
        ):
            continue
        found = simulate(problem, placement, objective)
        if not found.violations:
            best = min(best, found.value)
    return best


@given(st.integers(0, 10**9), st.sampled_from(OBJECTIVES))
@settings(max_examples=25, deadline=None)
def test_tight_problems_are_solved_as_well_as_can_be_or_refused_with_a_smallest_conflict(seed, objective):
    problem = tight_problem(seed, most=5)
    best = best_by_definition(problem, objective)
    if best < float("inf"):
        plan = search(problem, objective, seed=seed, moves=500)
        assert plan.forecast.value == pytest.approx(best)
        assert plan.bound == plan.forecast.value
        return
    with pytest.raises(InfeasibleError) as caught:
        search(problem, objective, seed=seed, moves=500)
    found = caught.value.wishes
    assert found
    subjects = {(wish.kind, wish.subject) for wish in found}
    only = without(problem, [wish for wish in wishes_of(problem) if (wish.kind, wish.subject) not in subjects])
    assert best_by_definition(only, objective) == float("inf")
    for wish in found:
        assert best_by_definition(without(only, [wish]), objective) < float("inf")


@given(st.integers(0, 10**9), st.sampled_from(OBJECTIVES))
@settings(max_examples=40, deadline=None)
def test_a_search_is_never_worse_than_where_it_starts(seed, objective):
    problem = random_problem(seed, most=40, devices=4)
    try:
        plan = search(problem, objective, seed=seed, moves=200)
    except InfeasibleError:
        return
    assert not simulate(problem, plan.placement, objective).violations
    assert all(value is None or plan.forecast.value <= value for value in plan.tried.values())
    assert plan.bound <= plan.forecast.value
    assert search(problem, objective, seed=seed, moves=200).placement == plan.placement


@given(st.integers(0, 10**9), st.sampled_from(("step", "max_load")))
@settings(max_examples=25, deadline=None)
def test_what_fits_by_construction_is_found(seed, objective):
    """Each device has exactly the memory that one placement needs, which nothing tells the search."""
    problem, planted = planted_problem(seed, objective)
    assert not simulate(problem, planted, objective).violations
    plan = search(problem, objective, seed=seed, moves=400)
    assert not simulate(problem, plan.placement, objective).violations


@given(st.integers(0, 10**9))
@settings(max_examples=15, deadline=None)
def test_what_fits_only_when_many_chains_are_cut_is_found(seed):
    """Without memory every other tensor would never be sent: what makes it and what takes it would be one block."""
    chance = random.Random(seed)
    nodes = tuple(Node(f"n{i}", (chance.random(),) * 3, float(chance.randint(1, 30_000))) for i in range(30))
    tensors = tuple(Tensor(i, 0.0, (i + 1,), 1.0 if i % 2 else 100.0) for i in range(29))
    held = [0.0] * 3
    for node in nodes:
        held[chance.randrange(3)] += node.weights
    devices = tuple(Device(f"GPU:{d}", "GPU", size) for d, size in enumerate(held))
    links = tuple(Link(a, b) for a, b in itertools.permutations(range(3), 2))
    problem = Problem(nodes, tensors, devices, links)
    plan = search(problem, "max_load", seed=seed, moves=2)
    assert not simulate(problem, plan.placement, "max_load").violations
