"""The search's inner loops in C: the same as in Python, and built only where that works."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import compile_c
from situs._src.placement.search import compiled, lists, pure
from situs._src.placement.search.flat import flatten
from situs._src.placement.search.orders import orders_of
from situs._src.placement.search.problem import OBJECTIVES
from situs._src.placement.search.reduce import blocks_of
from situs._src.placement.search.schedule import Schedule
from situs._src.placement.search.search import search
from tests.placement_graphs import layered, random_problem

needs_compiler = pytest.mark.skipif(compile_c._compiler() is None, reason="there is no C compiler")


def arrays(problem):
    blocks = blocks_of(problem)
    return flatten(problem, blocks, list(orders_of(problem, blocks).values()))


@needs_compiler
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(12))
def test_annealing_is_the_same_in_both(objective, seed):
    flat = arrays(random_problem(seed, most=30, devices=4))
    rows = zip(flat.candidate_start[:-1], flat.candidate_start[1:], strict=True)
    if any(first == last for first, last in rows):
        pytest.skip("a group has no common device")
    start = np.array([flat.candidate[i] for i in flat.candidate_start[:-1]], np.int32)
    one, other, stop = start.copy(), start.copy(), np.zeros(1, np.int32)
    schedule = Schedule(objective, moves=400, seed=seed, warm=0.1)
    found = compiled.library().anneal(flat, schedule, one, stop)
    assert found == pure.anneal(flat, schedule, other, stop)
    assert one.tolist() == other.tolist()
    assert compiled.library().evaluate(flat, objective, one) == pure.evaluate(flat, objective, other)


@needs_compiler
@pytest.mark.parametrize("width", [1, 5])
@pytest.mark.parametrize("seed", range(12))
def test_list_schedules_are_the_same_in_both(width, seed):
    flat = arrays(random_problem(seed, most=40, devices=4))
    if (np.diff(flat.candidate_start) == 0).any():
        pytest.skip("a group has no common device")
    for rank in (lists.ranks(flat), lists.in_order(flat)):
        assert compiled.library().list_schedule(flat, rank, width) == lists.list_schedule(flat, rank, width)


@needs_compiler
@pytest.mark.parametrize("memory", [None, 2e7])
def test_what_a_trial_leaves_behind_is_what_a_whole_evaluation_finds(memory):
    """A trial begins at the first node that a move concerns; taken or refused, the next one must not notice."""
    flat = arrays(layered(200, gpus=3, memory=memory))
    place, stop = np.zeros(flat.blocks, np.int32), np.zeros(1, np.int32)
    for seed in range(20):
        found = compiled.library().anneal(flat, Schedule("step", 300, seed, warm=0.3), place, stop)
        whole = pure.evaluate(flat, "step", place)
        assert (found.value, found.excess) == (whole.value, whole.excess)


@needs_compiler
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_whole_search_is_the_same_in_both(objective, monkeypatch):
    problem = layered(60, gpus=2, memory=2e7)
    fast = search(problem, objective, seed=3, moves=1500)
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    assert compiled.library() is None
    slow = search(problem, objective, seed=3, moves=1500)
    assert slow.placement == fast.placement
    assert slow.forecast == fast.forecast


@needs_compiler
def test_a_run_that_is_stopped_tries_nothing():
    flat = arrays(layered(40))
    place, stop = np.zeros(flat.blocks, np.int32), np.ones(1, np.int32)
    assert compiled.library().anneal(flat, Schedule("step", 1000, 0), place, stop).tried == 0
    assert pure.anneal(flat, Schedule("step", 1000, 0), place, stop).tried == 0
