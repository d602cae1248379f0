"""Problems so small that every placement is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import compile_c
from situs._src.placement.search import compiled, every, pure
from situs._src.placement.search.conflict import InfeasibleError
from situs._src.placement.search.flat import flatten
from situs._src.placement.search.problem import OBJECTIVES, Device, Link, Node, Problem, Tensor
from situs._src.placement.search.search import search
from tests.placement_graphs import chain, layered, tight_problem

needs_compiler = pytest.mark.skipif(compile_c._compiler() is None, reason="there is no C compiler")


@needs_compiler
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_best_of_all_is_the_same_in_both(objective, monkeypatch):
    for seed in range(12):
        problem = tight_problem(seed)
        fast = every.best_of_all(problem, objective)
        monkeypatch.setattr(every, "library", lambda: None)
        assert every.best_of_all(problem, objective) == fast
        monkeypatch.undo()


def test_the_first_among_equals_is_taken():
    problem = Problem((Node("a", (1.0, 1.0)),), (), (Device("A", "CPU"), Device("B", "CPU")), (Link(0, 1), Link(1, 0)))
    flat = flatten(problem, [[0]])
    assert pure.every(flat, "step")[0] == [0]
    assert compiled.library() is None or compiled.library().every(flat, "step")[0] == [0]


def test_a_small_problem_is_proven():
    plan = search(chain("1 2 3"), moves=10)
    assert plan.bound == plan.forecast.value == 6.0
    assert "Every placement was looked at: this is the best." in plan.notes
    assert plan.tried  # the rules are there to be compared with it


def test_a_large_one_is_not():
    assert every.applies(chain("1 2 3"))
    assert not every.applies(layered(40))
    assert not every.has_none(layered(40, memory=1.0), "step")


def test_memory_over_time_that_never_fits_is_refused_with_what_conflicts():
    """Weights alone fit; what is alive in the middle does not."""
    devices = (Device("GPU:0", "GPU", 10.0), Device("CPU:0", "CPU", 4.0))
    nodes = tuple(Node(name, (1.0, 1.0), allowed=(0,) if name == "c" else None) for name in "abc")
    tensors = (Tensor(0, 5.0, (2,)), Tensor(1, 4.0, (2,)), Tensor(2, 2.0, ()))
    problem = Problem(nodes, tensors, devices, (Link(0, 1), Link(1, 0)))
    with pytest.raises(InfeasibleError) as caught:
        search(problem, moves=10)
    assert {(wish.kind, wish.subject) for wish in caught.value.wishes} == {
        ("memory", "GPU:0"),
        ("memory", "CPU:0"),
    } or {wish.kind for wish in caught.value.wishes} == {"allowed", "memory"}


def test_what_fits_only_when_a_chain_is_cut_is_found():
    """Without memory the two nodes would be one block: what is sent between them costs more than either."""
    flat_memory = 6.0
    devices = (Device("GPU:0", "GPU", flat_memory), Device("GPU:1", "GPU", flat_memory))
    nodes = tuple(Node(f"n{i}", (1.0, 1.0), weights=3.0) for i in range(4))
    tensors = tuple(Tensor(i, 0.0, (i + 1,), 100.0) for i in range(3))
    problem = Problem(nodes, tensors, devices, (Link(0, 1), Link(1, 0)))
    plan = search(problem, moves=10)
    assert sorted(np.unique(list(plan.placement.values()), return_counts=True)[1].tolist()) == [2, 2]
