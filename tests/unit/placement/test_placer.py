"""The simple placer. Each test draws a graph and says which placement is right."""

from __future__ import annotations

import logging

import pytest

from situs._src.base.devices.scope import device
from situs._src.ir.graph.graph import Graph
from situs._src.placement.placer import place
from situs.errors import (
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    UnknownDeviceError,
)
from tests.sketch import DECLARED, LOCAL, add, draw, machine, placed, placement, why

# Requests: what the scopes around an operation leave in its `device`.


def requested(*scopes, colocated=None):
    """The request of an operation made under nested scopes, in a graph where `a` is on CPU:1."""
    with Graph().as_default() as graph:
        add(graph, "a: Const @/device:CPU:1")
        entered = [device(scope) for scope in scopes]
        for scope in entered:
            scope.__enter__()
        try:
            if colocated is None:
                return add(graph, "c: Const").device
            with graph.colocate_with(graph.get_operation_by_name(colocated)):
                return add(graph, "c: Const").device
        finally:
            for scope in reversed(entered):
                scope.__exit__(None, None, None)


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["/cpu:2", "/job:w"], "/job:w/device:CPU:2"),
        (["/cpu:2", None], ""),
        (["/cpu:2", None, "/job:w"], "/job:w"),
        (["/cpu:2", ""], "/device:CPU:2"),
        (["/cpu:2", "/gpu"], "/device:GPU:2"),
        ([lambda op: "/cpu:1", "/cpu:2"], "/cpu:1"),  # the outer function wins, as written
        (["/cpu:2", lambda op: "/job:x"], "/job:x/device:CPU:2"),
        ([lambda op: "bogus"], "bogus"),  # found out when it is placed
    ],
)
def test_scopes_make_the_request(scopes, expected):
    assert requested(*scopes) == expected


def test_a_function_that_returns_none_is_refused():
    with pytest.raises(TypeError, match="returned None"):
        requested(lambda op: None)


def test_colocation_takes_the_device_of_the_other_whatever_the_scopes_say():
    assert requested("/cpu:2", colocated="a") == "/device:CPU:1"


def test_a_request_that_is_no_device_name_fails_when_placed():
    with pytest.raises(InvalidArgumentError, match=r"Malformed device specification 'bogus' in node: \{\{node k\}\}"):
        placed("k: Const @bogus")


# Requests met and not met.


def test_without_a_request_the_best_device_and_not_that_of_an_input():
    picture = """
        a: Const @/cpu:1
        b: Const @/cpu:2
        c: Add(a, b)
    """
    assert placed(picture) == {"a": "CPU:1", "b": "CPU:2", "c": "CPU:0"}


def test_a_float_op_goes_to_the_first_gpu_and_a_cpu_op_to_the_cpu():
    picture = """
        a: Const
        b: Exp(a)
        s: CpuOnly(a)
    """
    assert why(picture, 1, 2) == {
        "a": "GPU:0 (default: first GPU with a float32 kernel)",  # its consumers do not agree
        "b": "GPU:0 (default: first GPU with a float32 kernel)",
        "s": "CPU:0 (default: no float32 kernel for CpuOnly on GPU)",
    }


def test_a_product_does_not_follow_its_pinned_inputs():
    picture = """
        a: Const @/device:CPU:0
        b: Const @/device:CPU:0
        MatMul: MatMul(a, b)
    """
    assert why(picture, 1, 1) == {
        "a": "CPU:0 (requested: /device:CPU:0)",
        "b": "CPU:0 (requested: /device:CPU:0)",
        "MatMul": "GPU:0 (default: first GPU with a float32 kernel)",
    }


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("/device:CPU:*", "CPU:0"),
        ("/cpu:3", "CPU:3"),
        ("/gpu", "GPU:0"),
        (f"{LOCAL}/device:GPU:1", "GPU:1"),
        ("/job:localhost", "GPU:0"),
        ("/task:0/device:CPU:1", "CPU:1"),
    ],
)
def test_a_request_may_be_partial(request_, expected):
    assert placed(f"a: NoOp @{request_}", 4, 2)["a"] == expected


def test_a_missing_device_is_an_error_with_the_words_of_old():
    with pytest.raises(UnknownDeviceError) as raised:
        placed("b: Const @/gpu:2", 2, 0)
    text = str(raised.value)
    assert text.startswith(
        "Cannot assign a device to node 'b': Could not satisfy explicit device specification '/device:GPU:2'\n"
    )
    names = f"{LOCAL}/device:CPU:0, {LOCAL}/device:CPU:1"
    assert f"{{{{node b}}}} was explicitly assigned to /device:GPU:2 but available devices are [ {names} ]." in text
    assert "allow_soft_placement=True" in text
    assert '[[{{node b}} = Const[dtype=DT_FLOAT, _device="/gpu:2"]()]]' in text
    assert "sketch.py" in text  # where it was made
    assert isinstance(raised.value, InvalidArgumentError)
    assert raised.value.op.name == "b"
    assert raised.value.error_code == 3


def test_the_first_node_that_fails_is_no_generator():  # TensorFlow names MatMul as well
    with pytest.raises(UnknownDeviceError, match="Cannot assign a device to node 'MatMul'"):
        placed("a: Const @/gpu:2\nMatMul: MatMul(a, a) @/gpu:2", 1, 1)


@pytest.mark.parametrize("request_", ["/cpu:7", "/gpu:2", "/device:FOO:0"])
def test_softly_a_missing_device_gives_way(request_):
    with pytest.raises(UnknownDeviceError):
        placed(f"a: NoOp @{request_}")
    assert placed(f"a: NoOp @{request_}", soft=True) == {"a": "CPU:0"}


def test_softly_the_reason_says_what_is_missing():
    assert why("a: NoOp @/gpu:2", 1, 1, soft=True)["a"] == "GPU:0 (soft: no GPU:2 on this machine)"
    assert why("a: NoOp @/gpu", 1, 0, soft=True)["a"] == "CPU:0 (soft: no GPU on this machine)"


@pytest.mark.parametrize("soft", [False, True])
def test_job_replica_and_task_are_never_given_up(soft):
    with pytest.raises(UnknownDeviceError, match="was explicitly assigned to /job:worker/task:1") as raised:
        placed("a: NoOp @/job:worker/task:1", soft=soft)
    assert "allow_soft_placement=True" not in str(raised.value)  # it would not help


def test_a_bad_node_fails_the_graph_but_not_a_part_without_it():
    graph = draw("good: Const\nbad: Exp(good) @/gpu:9\nalso: Exp(good) @/cpu:1")
    with pytest.raises(UnknownDeviceError):
        place(graph.operations, machine())
    pruned = [node for node in graph.operations if node.name != "bad"]
    assert place(pruned, machine())["good"].device.short_name == "CPU:1"  # the bad consumer does not count


# Kernels.


@pytest.mark.parametrize("soft", [False, True])
def test_no_kernel_for_the_dtype_anywhere_is_an_error(soft):
    with pytest.raises(InvalidArgumentError) as raised:
        placed("x: Const uint8\nmm: MatMul(x, x) uint8", soft=soft)
    text = str(raised.value)
    assert text.startswith(
        "No OpKernel was registered to support Op 'MatMul' used by {{node mm}} with these attrs: [T=DT_UINT8]"
    )
    assert "Registered devices: [CPU]\nRegistered kernels:\n  device='CPU'; T in [float, double, " in text
    assert raised.value.op.name == "mm"


def test_an_op_with_no_kernels_at_all_says_so():
    with pytest.raises(InvalidArgumentError, match="<no registered kernels>"):
        placed("x: Const\ny: Nowhere(x)")


def test_a_device_without_the_kernel_is_an_error_that_lists_the_kernels():
    with pytest.raises(InvalidArgumentError) as raised:
        placed("x: Const\ns: StringLength(x) @/gpu:0", 1, 1)
    text = str(raised.value)
    assert "Could not satisfy explicit device specification '/device:GPU:0' because no supported kernel for" in text
    assert "GPU devices is available.\nOp: StringLength\n" in text
    assert "Registered kernels:\n  device='CPU'" in text
    assert "allow_soft_placement=True" in text
    assert not isinstance(raised.value, UnknownDeviceError)


def test_softly_a_missing_kernel_gives_way():
    found = why("x: Const\ns: StringLength(x) @/gpu:0", 1, 1, soft=True)
    assert found["s"] == "CPU:0 (soft: no float32 kernel for StringLength on GPU)"
    assert found["x"] == "CPU:0 (generator: follows its only consumer 's')"


def test_a_string_constant_stays_off_the_gpu():
    assert placed("x: Const string", 1, 1) == {"x": "CPU:0"}


# Generators follow their consumers.


def test_a_constant_is_made_where_it_is_used():
    found = why("c: Const\nd: Exp(c) @/cpu:2")
    assert found["c"] == "CPU:2 (generator: follows its only consumer 'd')"


def test_a_constant_used_in_two_places_is_not():
    picture = """
        c: Const
        d: Exp(c) @/cpu:1
        e: Exp(c) @/cpu:2
    """
    assert placed(picture)["c"] == "CPU:0"


def test_several_consumers_on_one_device_agree():
    found = why("c: Const\nd: Exp(c) @/cpu:2\ne: Exp(c) @/cpu:2")
    assert found["c"] == "CPU:2 (generator: follows its 2 consumers)"


def test_who_waits_counts_as_a_consumer():
    picture = """
        c: Const
        d: NoOp @/cpu:2 ^c
        e: Const
        f: Const ^e
    """  # f is a generator itself and not placed yet when e is
    assert placed(picture) == {"c": "CPU:2", "d": "CPU:2", "e": "CPU:0", "f": "CPU:0"}


def test_a_pinned_constant_stays():
    assert placed("c: Const @/cpu:1\nd: Exp(c) @/cpu:2") == {"c": "CPU:1", "d": "CPU:2"}


def test_a_constant_with_a_partial_request_follows_within_it():
    assert placed("c: Const @/cpu\nd: Exp(c) @/cpu:3")["c"] == "CPU:3"
    assert placed("c: Const @/cpu\nd: Exp(c) @/gpu:1", 1, 2)["c"] == "CPU:0"


def test_softly_a_constant_pinned_to_a_missing_gpu_follows_its_consumer():
    found = why("c: Const @/gpu:0\nd: Exp(c) @/cpu:2", soft=True)
    assert found["c"] == "CPU:2 (soft: no GPU:0 on this machine; follows its only consumer 'd')"


def test_a_constant_without_a_kernel_at_its_consumer_stays_at_home():
    assert placed("c: Const string\nd: Identity(c) @/gpu:0", 1, 1, soft=True) == {"c": "CPU:0", "d": "GPU:0"}


# Metadata is read where the data is.


@pytest.mark.parametrize("op", ["Shape", "Size", "Rank"])
def test_metadata_goes_next_to_its_input(op):
    picture = f"""
        a: Const
        x: Exp(a) @/cpu:2
        m: {op}(x)
        y: Exp(x)
    """
    found = why(picture)
    assert found["m"] == "CPU:2 (metadata: next to its input 'x')"
    assert found["y"].startswith("CPU:0")


def test_metadata_of_several_goes_next_to_them_if_they_are_together():
    picture = """
        a: Const
        x: Exp(a) @/cpu:2
        y: Exp(a) @/cpu:{}
        m: ShapeN(x, y)
    """
    assert placed(picture.format(2))["m"] == "CPU:2"
    assert placed(picture.format(1))["m"] == "CPU:0"


def test_metadata_of_a_constant_does_not_wait_for_it():
    assert placed("x: Const @/cpu:2\nm: Shape(x)")["m"] == "CPU:0"


def test_pinned_metadata_stays():
    found = why("a: Const\nx: Exp(a) @/cpu:2\nm: Shape(x) @/cpu:1")
    assert found["m"] == "CPU:1 (requested: /device:CPU:1)"


# State is changed where it is.

VARIABLE = """
    v/initial_value: Const {dtype} @{device}
    v: Variable {dtype} @{device}
    v/Assign: Assign(v, v/initial_value) {dtype} @{device} loc:v
    v/read: Identity(v) {dtype} @{device} loc:v
"""


def test_what_is_made_of_a_pinned_variable_does_not_follow_it():
    picture = VARIABLE.format(dtype="float32", device="/device:CPU:0") + "m: Add(v/read, v/read)"
    assert why(picture, 1, 1) == {
        "v/initial_value": "CPU:0 (requested: /device:CPU:0)",
        "v": "CPU:0 (requested: /device:CPU:0)",
        "v/Assign": "CPU:0 (state: follows variable 'v')",
        "v/read": "CPU:0 (colocated: with 'v')",
        "m": "GPU:0 (default: first GPU with a float32 kernel)",
    }


def test_an_int32_variable_pinned_to_a_gpu_is_an_error():
    with pytest.raises(InvalidArgumentError) as raised:
        placed(VARIABLE.format(dtype="int32", device="/device:GPU:0"), 1, 1)
    text = str(raised.value)
    assert text.startswith("Cannot assign a device to node 'v': Could not satisfy explicit device specification")
    assert "no supported kernel for GPU devices" in text
    assert "Op: Variable" in text
    assert "  v/Assign (Assign) /device:GPU:0\n" in text  # its group


def test_softly_an_int32_variable_falls_back_to_the_cpu(caplog):
    with caplog.at_level(logging.WARNING, "situs"):
        found = why(VARIABLE.format(dtype="int32", device="/device:GPU:0"), 1, 1, soft=True)
    assert found["v"] == "CPU:0 (soft: no int32 kernel for Variable on GPU)"
    assert found["v/Assign"] == "CPU:0 (state: follows variable 'v')"
    assert found["v/initial_value"] == "GPU:0 (requested: /device:GPU:0)"  # it can be where it was asked for
    assert "Failed to place the graph without changing the devices of some resources" in caplog.text
    assert "  v (Variable) /device:GPU:0" in caplog.text


def test_softly_a_variable_goes_where_its_assignment_has_a_kernel(caplog):
    picture = """
        i: Const @/gpu:0
        v: Variable @/gpu:0
        s: AssignOnCpu(v, i) @/gpu:0
    """
    with caplog.at_level(logging.WARNING, "situs"):
        found = why(picture, 1, 1, soft=True)
    assert found["v"] == "CPU:0 (soft: no float32 kernel for AssignOnCpu on GPU)"
    assert found["i"].startswith("GPU:0")
    assert len(caplog.records) == 1


def test_an_assignment_goes_to_the_variable_whatever_is_asked_for_it(capsys):
    picture = """
        v: Handle @/cpu:1
        x: Const
        as: AssignHandle(v, x) @/cpu:2
    """
    found = why(picture, log=True)
    assert found["as"] == "CPU:1 (state: follows variable 'v', not /device:CPU:2)"
    assert found["x"] == "CPU:1 (generator: follows its only consumer 'as')"
    assert capsys.readouterr().out.startswith(
        "Ignoring device specification /device:CPU:2 for node 'as' because the input edge from 'v' is a reference "
        "connection and already has a device field set to /device:CPU:1\n"
    )


def test_a_variable_follows_an_assignment_if_only_that_is_pinned():
    picture = """
        v: Handle
        x: Const
        as: AssignHandle(v, x) @/cpu:2
    """
    assert why(picture) == {
        "v": "CPU:2 (colocated: with 'as', which asks for /device:CPU:2)",
        "x": "CPU:2 (generator: follows its only consumer 'as')",
        "as": "CPU:2 (requested: /device:CPU:2)",
    }


def test_a_variable_placed_by_an_earlier_run_stays(capsys):
    graph = draw("v: Handle\nr: ReadHandle(v)")
    devices = machine()
    first = place(graph.operations, devices)
    draw("x: Const\nas: AssignHandle(v, x) @/cpu:2", graph)
    v = graph.get_operation_by_name("v")
    again = place(graph.operations, devices, fixed={v: first[v].device}, log=True)
    assert str(again).splitlines() == [
        "v -> CPU:0 (fixed: placed by an earlier run)",
        "r -> CPU:0 (state: follows variable 'v')",
        "x -> CPU:0 (generator: follows its only consumer 'as')",
        "as -> CPU:0 (state: follows variable 'v', not /device:CPU:2)",
    ]
    order = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert order == ["v", "r", "as", "x"]  # what was restored is logged in the first pass


def test_a_reader_by_value_is_not_tied_to_the_variable():
    picture = """
        v: Variable @/cpu:1
        r: Identity(v) @/cpu:2
    """
    assert placed(picture) == {"v": "CPU:1", "r": "CPU:2"}


def test_control_flow_takes_variables_from_anywhere():
    picture = """
        v: Handle @/cpu:1
        w: Handle @/cpu:2
        if: If(v, w) @/cpu:3
    """
    assert placed(picture) == {"v": "CPU:1", "w": "CPU:2", "if": "CPU:3"}


@pytest.mark.parametrize("soft", [False, True])
def test_two_variables_on_different_devices_cannot_meet(soft):
    picture = """
        v: Handle @/cpu:2
        w: Handle @/cpu:1
        ap: Apply(v, w)
    """
    with pytest.raises(InvalidArgumentError) as raised:
        placed(picture, soft=soft)
    text = str(raised.value)
    assert "incompatible resource devices: /device:CPU:1 vs /device:CPU:2." in text
    assert "The edge src node is name='w' (op='Handle'), and the dst node is name='ap' (op='Apply')." in text


def test_two_variables_that_ask_for_the_same_device_are_both_there_because_they_asked():
    assert why("v: Handle @/device:CPU:1\nw: Handle @/device:CPU:1\nap: Apply(v, w)") == {
        "v": "CPU:1 (requested: /device:CPU:1)",
        "w": "CPU:1 (requested: /device:CPU:1)",
        "ap": "CPU:1 (state: follows variable 'v')",
    }


def test_an_operation_is_with_all_variables_of_a_list():
    assert placed("v: Handle\nw: Handle @/cpu:2\nap: ApplyAll(v, w)") == {"v": "CPU:2", "w": "CPU:2", "ap": "CPU:2"}


def test_two_variables_that_earlier_runs_put_apart_cannot_meet():
    graph = draw("v: Handle\nw: Handle\nap: Apply(v, w)")
    devices = machine()
    fixed = dict(zip(graph.operations, devices, strict=False))
    del fixed[graph.get_operation_by_name("ap")]
    with pytest.raises(InvalidArgumentError, match="incompatible assigned devices"):
        place(graph.operations, devices, fixed=fixed)


def test_a_chain_of_assignments_stays_with_the_variable():
    picture = """
        x: Const
        v: Variable @/gpu:1
        a: Assign(v, x)
        b: Assign(a, x)
    """
    found = why(picture, 1, 2)
    assert found["b"] == "GPU:1 (state: follows variable 'v')"


@pytest.mark.parametrize("soft", [False, True])
def test_a_variable_and_an_assignment_without_a_common_device_type(soft):
    picture = "x: Const\nv: Variable int32\na: AssignOnGpu(v, x) int32"
    with pytest.raises(InvalidArgumentError, match="Nodes were connected by a reference") as raised:
        placed(picture, 1, 1, soft=soft)
    assert "no device type supports both of those nodes" in str(raised.value)


# The device of the caller of a function.


def test_the_callers_device_comes_first():
    devices = machine()
    graph = draw("a: Const\nx: Exp(a)\ny: Exp(x) @/cpu:1\nz: Exp(y) @/cpu")
    found = place(graph.operations, devices, default=devices[2])
    assert {n.name: a.device.short_name for n, a in found.items()} == {
        "a": "CPU:2",
        "x": "CPU:2",
        "y": "CPU:1",
        "z": "CPU:2",
    }
    assert found["x"].reason == "default: the device of the caller"


def test_the_callers_device_is_only_for_ops_that_can_run_there():
    devices = machine(1, 1)
    graph = draw("a: Const\nx: CpuOnly(a)\ny: Exp(a)")
    found = place(graph.operations, devices, default=devices[1])
    assert [a.device.short_name for a in found.values()] == ["GPU:0", "CPU:0", "GPU:0"]
    on_cpu = place(graph.operations, devices, default=devices[0])
    assert {a.device.short_name for a in on_cpu.values()} == {"CPU:0"}


# The result.


def test_a_placement_is_a_mapping_that_explains_itself():
    found = placement("a: Const\nMatMul: MatMul(a, a)", 1, 2)
    node = found["MatMul"]
    assert str(node) == "MatMul -> GPU:0 (default: first GPU with a float32 kernel)"
    assert node.kernel.device_type == "GPU"
    assert [operation.name for operation in found] == ["a", "MatMul"]
    assert found[next(iter(found))].node == "a"
    assert "b" not in found
    assert found.device_of(next(iter(found))) is node.device
    assert {device.short_name: len(nodes) for device, nodes in found.devices().items()} == {"GPU:0": 2}
    assert found.to_dicts()[1] == {
        "node": "MatMul",
        "op": "MatMul",
        "device": f"{LOCAL}/device:GPU:0",
        "kind": "default",
        "reason": "default: first GPU with a float32 kernel",
        "requested": "",
    }
    assert repr(found) == "<Placement of 2 operations: 2 on GPU:0>"
    table = str(found.explain())
    assert table.splitlines()[0].split() == ["node", "op", "device", "why"]
    assert "follows its only consumer 'MatMul'" in table


def test_a_name_that_was_not_placed_is_a_key_error():
    with pytest.raises(KeyError, match="'nobody' is not among the 1 operations"):
        placement("a: Const")["nobody"]
    a, b = draw("a: Const\nb: Const").operations
    with pytest.raises(KeyError, match="is not among the 1 operations"):
        place([a], machine())[b]


def test_an_empty_graph_has_an_empty_placement():
    assert len(place([], machine())) == 0
    assert str(place([], machine())) == ""


def test_without_devices_nothing_can_be_placed():
    with pytest.raises(FailedPreconditionError, match="No devices are registered"):
        place(draw("a: Const").operations, [])


def test_what_must_stay_where_it_cannot_be_is_a_bug_of_the_caller():
    graph = draw("v: Variable int32")
    (v,) = graph.operations
    with pytest.raises(InternalError, match="does not match any device"):
        place([v], machine(1, 0), fixed={v: machine(1, 0)[0]})
    devices = machine(1, 1)
    with pytest.raises(InternalError, match="does not have registered OpKernel support for Variable"):
        place([v], devices, fixed={v: devices[1]})


def test_a_kernel_registered_later_is_seen():
    op = DECLARED["Nowhere"]
    graph = draw("x: Const\ny: Nowhere(x)")
    with pytest.raises((InvalidArgumentError, NotFoundError)):
        place(graph.operations, machine())
    op.kernel("CPU")(lambda x: x)
    try:
        assert place(graph.operations, machine())["y"].device.short_name == "CPU:0"
    finally:
        op.kernels.clear()
