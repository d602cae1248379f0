"""Groups of operations that share a device: how they merge, and what happens when they cannot."""

from __future__ import annotations

import pytest

from situs._src.base.devices.spec import EMPTY, parse_spec
from situs._src.ir.graph.graph import Graph
from situs._src.placement.colocation import IncompatibleError, compatible, merged, refined, relaxed
from situs.errors import InvalidArgumentError, UnknownDeviceError
from tests.sketch import add, placed, why

# Specs.


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/gpu", "/gpu:1", "/device:GPU:1"),
        ("/job:w", "/task:1/gpu", "/job:w/task:1/device:GPU:*"),
        ("", "/cpu:2", "/device:CPU:2"),
        ("/cpu:2", "", "/device:CPU:2"),
        ("", "", ""),
    ],
)
def test_specs_that_agree_merge(one, other, expected):
    assert merged(parse_spec(one), parse_spec(other)).to_string() == expected
    assert compatible(parse_spec(one), parse_spec(other))


@pytest.mark.parametrize(
    ("one", "other", "what", "softly"),
    [
        ("/job:a", "/job:b", "jobs", None),
        ("/replica:1", "/replica:2", "replicas", None),
        ("/task:1/gpu:0", "/task:2/cpu:0", "tasks", None),
        ("/gpu:1", "/cpu:1", "types", ""),
        ("/job:w/gpu:1", "/cpu:2", "types", "/job:w"),
        ("/gpu:1", "/gpu:2", "ids", "/device:GPU:*"),
    ],
)
def test_specs_that_differ_do_not_merge_unless_softly(one, other, what, softly):
    specs = parse_spec(one), parse_spec(other)
    assert not compatible(*specs)
    with pytest.raises(IncompatibleError, match=f"Cannot merge devices with incompatible {what}: '/.*' and '/.*'"):
        merged(*specs)
    if softly is None:
        with pytest.raises(IncompatibleError):
            merged(*specs, soft=True)
    else:
        assert merged(*specs, soft=True).to_string() == softly


def test_what_is_firm_is_not_relaxed():
    spec = parse_spec("/job:w/gpu:1")
    assert relaxed(spec).to_string() == "/job:w"
    assert relaxed(spec, EMPTY, parse_spec("/gpu")).to_string() == "/job:w/device:GPU:*"
    assert relaxed(spec, spec) == spec
    assert refined(parse_spec("/gpu:1"), parse_spec("/job:w/gpu:2")).to_string() == "/job:w/device:GPU:2"


# Explicit groups.


def test_an_unpinned_node_goes_where_its_group_is_pinned():
    picture = """
        x: Const
        a: Exp(x) @/cpu:1
        c: Exp(x) loc:a
    """
    assert why(picture)["c"] == "CPU:1 (colocated: with 'a')"


def test_the_group_goes_where_any_member_is_pinned():
    picture = """
        x: Const
        a: Exp(x)
        c: Exp(x) @/cpu:2 loc:a
    """
    found = why(picture)
    assert found["a"] == "CPU:2 (colocated: with 'c', which asks for /device:CPU:2)"
    assert found["c"] == "CPU:2 (requested: /device:CPU:2)"


def test_without_pins_the_group_goes_where_all_have_kernels():
    picture = """
        x: Const @/cpu:0
        a: Exp(x)
        c: CpuOnly(x) loc:a
        d: Exp(x)
    """
    found = why(picture, 1, 1)
    assert found["a"] == "CPU:0 (default: no float32 kernel for CpuOnly on GPU)"
    assert found["c"] == "CPU:0 (colocated: with 'a')"
    assert found["d"].startswith("GPU:0")


def test_partial_requests_of_a_group_add_up():
    picture = """
        x: Const
        a: Exp(x) @/gpu
        b: Exp(x) @/job:localhost loc:a
        c: Exp(x) @/gpu:1 loc:b
    """
    assert {placed(picture, 1, 2)[name] for name in "abc"} == {"GPU:1"}


def test_a_group_may_have_a_name_that_is_no_operation():
    picture = """
        x: Const
        a: Exp(x) loc:ghost
        b: Exp(x) @/cpu:3 loc:ghost
    """
    assert placed(picture) == {"x": "CPU:3", "a": "CPU:3", "b": "CPU:3"}


CONFLICT = """
    x: Const @/cpu:0
    a: Exp(x) @/device:CPU:1
    b: Exp(x) @/device:CPU:2
    c: Exp(x) {} loc:a loc:b
"""


def test_different_pins_in_a_group_are_an_error():
    with pytest.raises(InvalidArgumentError) as raised:
        placed(CONFLICT.format("@/device:CPU:2"))
    text = str(raised.value)
    assert text.startswith(
        "Cannot colocate nodes {{colocation_node c}} and {{colocation_node a}}: Cannot merge devices with "
        "incompatible ids: '/device:CPU:2' and '/device:CPU:1'"
    )
    assert "[[{{node c}} = Exp[" in text
    assert raised.value.op.name == "c"


def test_softly_the_pin_that_is_in_conflict_is_left_open():
    # c (CPU:2) with a (CPU:1) leaves the number open; b sets it again
    assert {placed(CONFLICT.format("@/device:CPU:2"), soft=True)[name] for name in "abc"} == {"CPU:2"}
    # c with a is CPU:1; b leaves the number open
    found = why(CONFLICT.format(""), soft=True)
    assert found["a"] == "CPU:0 (soft: operations that belong together ask for different devices)"
    assert found["b"] == found["a"]
    assert found["c"] == "CPU:0 (colocated: with 'a')"


def test_no_type_of_device_for_all_of_a_group_is_an_error_and_softly_no_group(capsys):
    picture = """
        x: Const
        a: CpuOnly(x)
        b: GpuOnly(x) loc:a
    """
    with pytest.raises(InvalidArgumentError, match="because no device type supports both of those nodes"):
        placed(picture, 1, 1)
    found = placed(picture, 1, 1, soft=True, log=True)
    assert (found["a"], found["b"]) == ("CPU:0", "GPU:0")
    assert "Ignoring request to colocate node 'b' with nodes in colocation group 'a'" in capsys.readouterr().out


def test_different_jobs_in_a_group_are_an_error_and_softly_no_group():
    picture = "x: Const\na: Exp(x) @/job:localhost\nb: Exp(x) @/job:w loc:a"
    with pytest.raises(InvalidArgumentError, match="incompatible jobs: '/job:w' and '/job:localhost'"):
        placed(picture)
    with pytest.raises(UnknownDeviceError, match="/job:w"):  # b alone still asks for another job
        placed(picture, soft=True)


def test_a_node_with_a_group_on_a_missing_device():
    picture = """
        a: Const @/gpu:0
        c: NoOp loc:a
    """
    with pytest.raises(UnknownDeviceError) as raised:
        placed(picture, 2)
    assert str(raised.value).startswith(
        "Cannot assign a device to node 'c': Could not satisfy explicit device specification '' because the node "
        "{{colocation_node c}} was colocated with a group of nodes that required incompatible device '/device:GPU:0'. "
        "All available devices [/job:localhost/replica:0/task:0/device:CPU:0, "
    )
    assert "Colocation members and user-requested devices, if any:\n  a (Const) /gpu:0\n  c (NoOp)\n" in str(
        raised.value
    )
    assert placed(picture, 2, soft=True) == {"a": "CPU:0", "c": "CPU:0"}


def test_two_pinned_variables_do_not_become_one_group_even_softly():
    picture = """
        x: Const
        v: Variable @/cpu:1
        w: Variable @/cpu:2
        s: Assign(v, x) loc:w
    """
    with pytest.raises(InvalidArgumentError, match="Cannot colocate nodes"):
        placed(picture)
    assert placed(picture, soft=True) == {"x": "CPU:1", "v": "CPU:1", "w": "CPU:2", "s": "CPU:1"}


def test_a_group_is_told_in_full_up_to_a_point():
    picture = "\n".join(["a: NoOp @/gpu:0", *(f"n{i}: NoOp loc:a" for i in range(50))])
    with pytest.raises(UnknownDeviceError, match=r"  n18 \(NoOp\)\n  \.\.\. and 31 more\n"):
        placed(picture)


def test_long_chains_of_groups_do_not_recurse():
    lines = ["n0: NoOp", *(f"n{i}: NoOp loc:n{i - 1}" for i in range(1, 3000)), "last: NoOp @/cpu:3 loc:n2999"]
    assert set(placed("\n".join(lines)).values()) == {"CPU:3"}


def test_colocate_with_puts_operations_of_a_graph_together():
    graph = Graph()
    a = add(graph, "a: NoOp @/device:CPU:1")
    with graph.colocate_with(a):
        b = add(graph, "b: NoOp")
        with graph.colocate_with(b):
            c = add(graph, "c: NoOp")
    assert (b.colocated_with, b.device) == (("a",), "/device:CPU:1")
    assert c.colocated_with == ("a",)
