"""Devices that share a processor: they compute one after the other, and copies may keep it busy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor, from_json
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate


def problem(processor, resources=(), lanes=1, count=4):
    """Nodes of a second each that do not depend on each other, and one that takes what all of them make."""
    names = ["a", "b"]
    devices = tuple(Device(name, "GPU", None, lanes, processor) for name in names)
    nodes = (*(Node(f"n{i}", (1.0, 1.0)) for i in range(count)), Node("last", (1.0, 1.0)))
    tensors = tuple(Tensor(i, 10.0, (count,)) for i in range(count))
    links = (Link(0, 1, 0.0, 0.1, resources), Link(1, 0, 0.0, 0.1, resources))
    return Problem(nodes, tensors, devices, links)


def halves(count=4):
    return {**{f"n{i}": "ab"[i % 2] for i in range(count)}, "last": "a"}


def test_devices_of_one_processor_compute_one_after_the_other():
    assert simulate(problem(None), halves()).value == pytest.approx(2 + 2 * 1.0 + 1 - 1)  # two copies, one of them late
    assert simulate(problem("card"), halves()).value > 5.0


def test_lanes_are_the_processors():
    alone = simulate(problem("card", lanes=2), dict.fromkeys([f"n{i}" for i in range(4)] + ["last"], "a")).value
    assert alone == pytest.approx(3.0)


def test_a_copy_that_the_processor_makes_keeps_it_busy():
    beside = simulate(problem("host", ("bus",)), halves()).value
    busy = simulate(problem("host", ("host",)), halves()).value
    assert busy == pytest.approx(4 + 2 + 1)
    assert beside <= busy


def test_nothing_is_gained_by_splitting_one_processor():
    found = search(problem("host", ("host",)), moves=200)
    assert len(set(found.placement.values())) == 1
    assert found.forecast.value == pytest.approx(5.0)


def test_processors_are_kept_in_files():
    made = problem("host", ("host",))
    assert from_json(made.to_json()) == made
    assert "processor" not in problem(None).to_json()["devices"][0]


@given(st.lists(st.sampled_from("ab"), min_size=5, max_size=5), st.sampled_from([None, "p"]), st.integers(1, 2))
def test_sharing_is_never_quicker_and_compiled_code_agrees(places, processor, lanes):
    placement = dict(zip([*(f"n{i}" for i in range(4)), "last"], places, strict=True))
    own = simulate(problem(None, lanes=lanes), placement).value
    shared = simulate(problem(processor, lanes=lanes), placement).value
    assert shared >= own - 1e-12
    plan = search(problem(processor, lanes=lanes), moves=50, seeds={"given": placement})
    assert plan.tried["given"] == pytest.approx(shared, rel=1e-12)  # by the compiled code, where there is a compiler
