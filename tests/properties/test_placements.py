"""Any graph is placed legally, or refused for a conflict that is real: small graphs are tried by brute force."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from situs._src.base.devices.spec import EMPTY, parse_spec
from situs._src.placement.placer import place
from situs.errors import InvalidArgumentError
from tests.sketch import DECLARED, draw, machine

REQUESTS = ["", "", "", "", "/cpu:0", "/cpu:1", "/gpu:0", "/gpu:1", "/gpu", "/job:localhost", "/job:w", "/device:FOO:0"]
SOURCES = ["Const", "Variable", "Handle", "Seeded"]
VALUES = {"Const", "Seeded", "Exp", "Add", "CpuOnly", "GpuOnly", "Identity", "ReadHandle"}
KINDS = {"default", "requested", "soft", "colocated", "state", "generator", "metadata", "fixed"}


@st.composite
def pictures(draw_: st.DrawFn, most: int = 6) -> str:
    lines: list[str] = []
    types: dict[str, str] = {}
    for number in range(draw_(st.integers(1, most))):
        name = f"n{number}"
        kind, inputs = draw_(st.sampled_from(_possible(types)))
        words = [f"{name}: {kind}{f'({inputs})' if inputs else ''}", draw_(st.sampled_from(["float32", "int32"]))]
        request = draw_(st.sampled_from(REQUESTS))
        words += [f"@{request}"] if request else []
        others = st.lists(st.sampled_from([*types, "ghost"]), max_size=2, unique=True)
        words += [f"loc:{other}" for other in draw_(others)] if draw_(st.integers(0, 2)) == 0 else []
        lines.append(" ".join(words))
        types[name] = kind
    return "\n".join(lines)


def _possible(types: dict[str, str]) -> list[tuple[str, str]]:
    """Every operation that can be added: its type and its inputs."""
    values = [name for name, kind in types.items() if kind in VALUES]
    refs = [name for name, kind in types.items() if kind in ("Variable", "Assign", "AssignOnCpu")]
    handles = [name for name, kind in types.items() if kind == "Handle"]
    found = [(kind, "") for kind in SOURCES]
    found += [(kind, x) for x in values + refs for kind in ("Exp", "CpuOnly", "GpuOnly", "Shape", "Identity")]
    found += [("Add", f"{x}, {y}") for x in values for y in values]
    found += [(kind, f"{v}, {x}") for v in refs for x in values for kind in ("Assign", "AssignOnCpu")]
    found += [("AssignMany", f"{v}, {w}, {x}") for v in refs for w in refs for x in values]
    found += [("AssignHandle", f"{h}, {x}") for h in handles for x in values]
    found += [("ReadHandle", h) for h in handles] + [("Apply", f"{h}, {k}") for h in handles for k in handles]
    return found


def state_edges(node):
    """The operations whose state a node takes."""
    pairs = zip(node.op_def.inputs, node.args, strict=True) if node.type != "AddN" else ()
    return [tensor.op for arg, tensor in pairs if arg.is_ref or str(arg).endswith("resource")]


def groups(nodes):
    """The names of groups, with their members; a node is in the group of its own name."""
    found = {}
    for node in nodes:
        for name in {*node.colocated_with, node.name}:
            found.setdefault(name, []).append(node)
    return [members for members in found.values() if len(members) > 1]


def can_run(node, device):
    return node.op_def.kernel_for(device.type, node.types) is not None


def request_of(node):
    return parse_spec(node.device) if node.device else EMPTY


def holds(node):
    """Whether a node makes state, and so its request is kept under soft placement where that is possible."""
    return node.type in ("Variable", "Handle")


def a_solution_exists(nodes, devices, soft):
    """Tries all placements. Softly, only kernels, state, jobs and the requests of variables bind."""

    def allowed(node):
        request = request_of(node)
        if soft and not holds(node):
            request = request.replace(device_type=None, device_index=None)
        return [device for device in devices if can_run(node, device) and request.matches(device.spec)]

    for chosen in product(*map(allowed, nodes)):
        where = dict(zip(nodes, chosen, strict=True))
        together = [(node, other) for node in nodes for other in state_edges(node)]
        together += [] if soft else [(members[0], other) for members in groups(nodes) for other in members[1:]]
        if all(where[one] is where[other] for one, other in together):
            return True
    return False


def placed_or_refused(nodes, devices, soft):
    try:
        return place(nodes, devices, soft=soft)
    except InvalidArgumentError as error:
        return error


def check_legal(nodes, where, soft):
    for node in nodes:
        device = where[node]
        assert can_run(node, device)
        assert all(where[other] is device for other in state_edges(node))
        request = request_of(node)
        if soft:
            request = request.replace(device_type=None, device_index=None)
        assert request.matches(device.spec) or state_edges(node)  # state wins over a request
    if not soft:
        for members in groups(nodes):
            assert len({where[node] for node in members}) == 1


@settings(max_examples=400)
@given(pictures(), st.integers(1, 2), st.integers(0, 2), st.booleans())
def test_a_placement_is_legal_or_the_conflict_is_real(picture, cpus, gpus, soft):
    nodes, devices = draw(picture).operations, machine(cpus, gpus)
    found = placed_or_refused(nodes, devices, soft)
    if isinstance(found, InvalidArgumentError):
        assert found.op in nodes
        assert not a_solution_exists(nodes, devices, soft)
        return
    check_legal(nodes, {node: found[node].device for node in nodes}, soft)
    for assignment in found.values():
        assert assignment.kind in KINDS
        assert assignment.detail
        assert assignment.kernel.device_type == assignment.device.type


@settings(max_examples=100)
@given(pictures(), st.booleans())
def test_placing_again_changes_nothing(picture, soft):
    nodes, devices = draw(picture).operations, machine(2, 2)
    first = placed_or_refused(nodes, devices, soft)
    if isinstance(first, InvalidArgumentError):
        return
    where = {node: first[node].device for node in nodes}
    assert {node: a.device for node, a in place(nodes, devices, soft=soft).items()} == where
    kept = place(nodes, devices, soft=soft, fixed={node: where[node] for node in nodes if holds(node)})
    assert {node: kept[node].device for node in nodes if holds(node)} == {n: where[n] for n in nodes if holds(n)}
    assert {node: a.device for node, a in place(nodes, devices, soft=soft, fixed=where).items()} == where


@pytest.mark.parametrize("name", sorted(VALUES))
def test_the_strategy_draws_ops_that_exist(name):
    assert name in DECLARED
