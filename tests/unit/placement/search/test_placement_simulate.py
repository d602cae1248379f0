"""What placements take, in small cases that are worked out by hand."""

from __future__ import annotations

import pytest

from situs._src.placement.search.problem import Device, Link, Node, Problem, Tensor
from situs._src.placement.search.simulate import simulate
from situs.errors import InvalidArgumentError
from tests.placement_graphs import chain, two_gpus


def problem_of(nodes, tensors, memory=None, lanes=1):
    devices, links = two_gpus(memory, lanes)
    return Problem(tuple(nodes), tuple(tensors), devices, links)


def node(name, seconds, **more):
    return Node(name, (seconds, seconds, seconds), **more)


def on(problem, *devices):
    return {each.name: device for each, device in zip(problem.nodes, devices, strict=True)}


def test_a_chain_on_one_device_takes_the_sum():
    problem = chain("2 3 4")
    found = simulate(problem, on(problem, *["GPU:0"] * 3))
    assert found.value == 9.0
    assert found.busy == {"GPU:0": 9.0, "GPU:1": 0.0, "CPU:0": 0.0}
    assert found.traffic == {}
    assert not found.violations


def test_from_gpu_to_gpu_it_is_two_hops():
    """a on GPU:0 until 2; a hop of 1 s to the host, another to GPU:1; b from 4 to 7."""
    problem = chain("2 3")
    found = simulate(problem, on(problem, "GPU:0", "GPU:1"))
    assert found.value == 7.0
    sends = [(span.row, span.start, span.end) for span in found.timeline if span.kind == "send"]
    assert sends == [("GPU:0 -> CPU:0", 2.0, 3.0), ("CPU:0 -> GPU:1", 3.0, 4.0)]


def test_computation_goes_on_during_a_transfer():
    """GPU:0 computes a, b; a's result is sent while b runs."""
    problem = problem_of([node("a", 2.0), node("b", 5.0), node("c", 1.0)], [Tensor(0, 1.0, (2,))])
    found = simulate(problem, on(problem, "GPU:0", "GPU:0", "CPU:0"))
    assert [(span.name, span.start, span.end) for span in found.timeline] == [
        ("a", 0.0, 2.0),
        ("b", 2.0, 7.0),
        ("c", 4.0, 5.0),
        ("a", 2.0, 4.0),
    ]
    assert found.value == 7.0


def test_a_tensor_is_sent_once_to_each_device():
    problem = problem_of([node("a", 1.0), node("b", 1.0), node("c", 1.0)], [Tensor(0, 5.0, (1, 2))])
    found = simulate(problem, on(problem, "GPU:0", "CPU:0", "CPU:0"))
    assert found.traffic == {("GPU:0", "CPU:0"): 5.0}


def test_a_relay_is_used_once_for_the_host_and_for_what_lies_behind_it():
    problem = problem_of([node("a", 1.0), node("b", 1.0), node("c", 1.0)], [Tensor(0, 5.0, (1, 2))])
    found = simulate(problem, on(problem, "GPU:0", "CPU:0", "GPU:1"))
    assert found.traffic == {("GPU:0", "CPU:0"): 5.0, ("CPU:0", "GPU:1"): 5.0}


def test_transfers_wait_for_the_same_engine():
    """Both results leave GPU:0 by its one copy engine, 1 s each."""
    nodes = [node("a", 1.0), node("b", 0.0), node("c", 1.0), node("d", 1.0)]
    problem = problem_of(nodes, [Tensor(0, 0.0, (2,)), Tensor(1, 0.0, (3,))], lanes=2)
    found = simulate(problem, on(problem, "GPU:0", "GPU:0", "CPU:0", "CPU:0"))
    assert [(span.start, span.end) for span in found.timeline if span.kind == "send"] == [(1.0, 2.0), (2.0, 3.0)]
    assert found.value == 4.0


def test_lanes_run_side_by_side():
    nodes = [node(name, 2.0) for name in "abcd"]
    assert simulate(problem_of(nodes, [], lanes=2), dict.fromkeys("abcd", "CPU:0")).value == 4.0
    assert simulate(problem_of(nodes, [], lanes=4), dict.fromkeys("abcd", "CPU:0")).value == 2.0


def test_a_hop_of_a_known_price_costs_that():
    problem = problem_of([node("a", 1.0), node("b", 1.0)], [Tensor(0, 100.0, (1,), hop_seconds=0.5)])
    assert simulate(problem, on(problem, "GPU:0", "CPU:0")).value == 2.5


def test_results_live_until_their_last_use():
    """a (10) is there while b (20) is made, and is gone when c (5) is made; b is there then, and workspace of 7."""
    nodes = [node("a", 1.0, weights=3.0), node("b", 1.0), node("c", 1.0, workspace=7.0)]
    problem = problem_of(nodes, [Tensor(0, 10.0, (1,)), Tensor(1, 20.0, (2,)), Tensor(2, 5.0, ())], memory=1000.0)
    problem = Problem(
        problem.nodes, problem.tensors, (Device("GPU:0", "GPU", 36.0), *problem.devices[1:]), problem.links
    )
    found = simulate(problem, on(problem, *["GPU:0"] * 3))
    assert found.peak["GPU:0"] == 3 + 20 + 5 + 7
    assert not found.violations


def test_a_copy_is_held_on_both_sides_of_a_link():
    problem = problem_of([node("a", 1.0), node("b", 1.0), node("c", 1.0)], [Tensor(0, 8.0, (1, 2))], memory=10.0)
    found = simulate(problem, on(problem, "GPU:0", "GPU:1", "GPU:1"))
    assert found.peak == {"GPU:0": 8.0, "GPU:1": 8.0, "CPU:0": 8.0}


def test_memory_over_a_limit_is_a_violation():
    problem = chain("1 1", memory=1.5)
    found = simulate(problem, on(problem, "GPU:0", "GPU:0"))
    assert found.violations == ("GPU:0 holds 2 bytes and has 1.5.",)


def test_broken_wishes_are_violations():
    nodes = [node("a", 1.0, group="g", allowed=(1,)), node("b", 1.0, group="g")]
    found = simulate(problem_of(nodes, []), {"a": "GPU:0", "b": "CPU:0"})
    assert found.violations == ("Node 'a' is not allowed on GPU:0.", "Group 'g' is on more than one device.")


@pytest.mark.parametrize(
    ("placement", "message"),
    [({"a": "GPU:0"}, "'b' is not in"), ({"a": "TPU:0", "b": "GPU:0"}, "'TPU:0'; there are GPU:0, GPU:1, CPU:0")],
)
def test_placements_of_something_else_are_refused(placement, message):
    with pytest.raises(InvalidArgumentError, match=message):
        simulate(chain("1 1"), placement)


def test_a_device_without_a_kernel_is_refused():
    devices, links = two_gpus()
    problem = Problem((Node("a", (None, 1.0, 1.0)),), (), devices, links)
    with pytest.raises(InvalidArgumentError, match="no kernel for GPU:0"):
        simulate(problem, {"a": "GPU:0"})


def published(edges, placement, times=None, count=3):
    """A graph of nodes 0 to count - 1 that take 1 s on accelerators and 10 s on the host; a hop takes 1 s."""
    devices = (Device("A", "GPU"), Device("B", "GPU"), Device("C", "CPU"))
    links = tuple(Link(i, j, 1.0) for i, j in ((0, 2), (2, 0), (1, 2), (2, 1)))
    nodes = tuple(Node(str(i), (1.0, 1.0, 10.0)) for i in range(count))
    takers = {}
    for a, b in edges:
        takers.setdefault(a, []).append(b)
    tensors = tuple(Tensor(a, 0.0, tuple(found)) for a, found in takers.items())
    return Problem(nodes, tensors, devices, links), {str(i): device for i, device in enumerate(placement)}


def test_max_load_adds_what_goes_in_and_out():
    """A: 0 and 1, and 1's result out: 3. B: 2, and 1's result in: 2."""
    problem, placement = published([(0, 1), (1, 2)], "AAB")
    assert simulate(problem, placement, "max_load").value == 3.0
    assert simulate(problem, {"0": "A", "1": "A", "2": "C"}, "max_load").value == 10.0


def test_a_tensor_counts_once_however_many_take_it():
    problem, placement = published([(0, 1), (0, 2)], "ABB")
    assert simulate(problem, placement, "max_load").value == 3.0  # B: 1 + 1 + 1 in


def test_latency_runs_a_device_in_calls():
    """A computes 0 and 2 in two calls, because 1 lies between: 1 + 1 out, 1 in + 1 + 1 out, 1 in + 1."""
    problem, placement = published([(0, 1), (1, 2)], "ABA")
    assert simulate(problem, placement, "latency").value == 7.0


def test_latency_of_one_call_is_atomic():
    """0 and 1 are one call of A that ends at 3 with 0's result out; 2 begins then on the host."""
    problem, placement = published([(0, 2)], "AAC")
    assert simulate(problem, placement, "latency").value == 13.0


def test_calls_in_a_circle_have_no_latency():
    """0 -> 1 and 2 -> 3, A has 0 and 3, B has 1 and 2: each call waits for the other."""
    problem, placement = published([(0, 1), (2, 3)], "ABBA", count=4)
    found = simulate(problem, placement, "latency")
    assert found.value == float("inf")
    assert "circle" in found.violations[0]
