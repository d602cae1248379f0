"""Who tells cards what to do: calls are ordered one after the other, unless a step is recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor, from_json
from situs._src.placement.search.search import search
from situs._src.placement.search.simulate import simulate
from situs.errors import InvalidArgumentError

CARDS, HOST = ("GPU:0", "GPU:1"), "CPU:0"


def problem(count=4, ordering=2.0, recording=("a", "b"), orderer="host"):
    """A chain of nodes that take a second on a card and ten on the host, which takes `ordering` to order one."""
    devices = (
        *(Device(name, "GPU", None, 1, name, each) for name, each in zip(CARDS, recording, strict=True)),
        Device(HOST, "CPU", None, 1, "host"),
    )
    nodes = tuple(Node(f"n{i}", (1.0, 1.0, 10.0), ordering=(ordering, ordering, 0.0)) for i in range(count))
    tensors = tuple(Tensor(i, 0.0, (i + 1,)) for i in range(count - 1))
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    return Problem(nodes, tensors, devices, tuple(Link(a, b, 0.5) for a, b in pairs), orderer=orderer)


def on(*devices):
    return {f"n{i}": device for i, device in enumerate(devices)}


def test_a_step_on_one_recording_is_ordered_in_one_go():
    found = simulate(problem(), on(*["GPU:0"] * 4))
    assert found.value == 4.0
    assert found.ordering == 0.0


def test_over_two_recordings_the_host_is_what_a_step_waits_for():
    found = simulate(problem(), on("GPU:0", "GPU:0", "GPU:1", "GPU:1"))
    assert found.value == 4 * 2.0 + 1.0  # the last call begins when it has been ordered
    assert found.ordering == 8.0


def test_quick_ordering_hides_behind_the_cards_work():
    found = simulate(problem(ordering=0.1), on("GPU:0", "GPU:0", "GPU:1", "GPU:1"))
    assert found.value == pytest.approx(0.1 + 4.0 + 0.5)  # the first is waited for, and one copy


def test_two_devices_of_one_recording_go_together():
    assert simulate(problem(recording=("a", "a")), on("GPU:0", "GPU:0", "GPU:1", "GPU:1")).ordering == 0.0


def test_what_could_be_on_a_card_and_is_not_leaves_nothing_to_record():
    found = simulate(problem(), on("GPU:0", "GPU:0", "CPU:0", "GPU:0"))
    assert found.ordering == 6.0
    pinned = problem()
    nodes = [replace(node, allowed=(2,)) if node.name == "n2" else node for node in pinned.nodes]
    pinned = replace(pinned, nodes=tuple(nodes))  # what can be on the host alone comes before or after
    assert simulate(pinned, on("GPU:0", "GPU:0", "CPU:0", "GPU:0")).ordering == 0.0


def test_the_host_computes_nothing_while_it_orders_unless_a_thread_does():
    placement = on("GPU:0", "CPU:0")
    apart = replace(problem(count=2), tensors=())
    assert simulate(apart, placement).value == 2.0 + 10.0
    assert simulate(replace(apart, orderer="a thread"), placement).value == 10.0


def test_without_recordings_the_orderer_is_always_asked():
    assert simulate(problem(recording=(None, None)), on(*["GPU:0"] * 4)).ordering == 8.0


def test_a_search_prefers_what_can_be_recorded():
    wide = replace(problem(count=6), tensors=())
    plan = search(wide, moves=500)
    assert len(set(plan.placement.values())) == 1  # two cards would take less, but for the host
    quick = search(replace(wide, nodes=tuple(replace(n, ordering=(0.01, 0.01, 0.0)) for n in wide.nodes)), moves=500)
    assert {"GPU:0", "GPU:1"} == set(quick.placement.values())


def test_orderers_are_kept_in_files_and_by_parts():
    made = problem()
    assert from_json(made.to_json()) == made
    part = made.only(["GPU:1", "CPU:0"])
    assert part.orderer == "host"
    assert part.nodes[0].ordering == (2.0, 0.0)
    assert part.devices[0].recording == "b"


def test_ordering_without_an_orderer_or_of_another_width_is_refused():
    with pytest.raises(InvalidArgumentError, match="orderer"):
        replace(problem(), orderer=None)
    with pytest.raises(InvalidArgumentError, match="times of ordering"):
        replace(problem(), nodes=(Node("n", (1.0, 1.0, 1.0), ordering=(1.0,)),), tensors=())
    with pytest.raises(TypeError, match="tuple of times"):
        replace(problem(), nodes=(Node("n", (1.0, 1.0, 1.0), ordering=5),), tensors=())
    with pytest.raises(TypeError, match="orderer of a problem"):
        replace(problem(), orderer=5)
    with pytest.raises(InvalidArgumentError, match="time of ordering"):
        replace(problem(), nodes=(Node("n", (1.0, 1.0, 1.0), ordering=(1.0, -1.0, 0.0)),), tensors=())
