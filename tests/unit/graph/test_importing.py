"""Graphs read from messages; the texts of errors and the names are TensorFlow's (2.21) where it has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.base.proto.formats import parse, to_json, to_text
from situs._src.base.proto.graph import GraphDef
from situs._src.base.shapes import TensorShape
from situs._src.files.graph_file import write_graph
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.serialize import to_graph_def
from situs._src.ops import array, control, linalg, math
from situs._src.ops.constant import constant, zeros
from situs._src.ops.join import concat, split
from situs._src.ops.loop import while_loop
from situs._src.ops.placeholder import no_op, placeholder
from situs._src.ops.regex import regex_replace
from situs._src.runtime.session.session import Session
from situs._src.tracing.importing import import_graph_def
from situs._src.variables import state_ops
from situs.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, NotFoundError

FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
BASE = """
node { name: "a" op: "Const" device: "/cpu:1" attr { key: "dtype" value { type: DT_FLOAT } }
       attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "b" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "c" op: "NoOp" input: "^b" }
"""


def imported(graph_def, device=None, **options):
    """The graph that importing gives, and what it returned."""
    with Graph().as_default() as graph, graph.device(device if device is not None else ""):
        return graph, import_graph_def(graph_def, **options)


def summary(graph):
    return [
        (n.name, n.device, [t.name for t in n.inputs], [c.name for c in n.control_inputs]) for n in graph.operations
    ]


# There and back.


def steered():
    x = placeholder(dt.float32, [None, 4], name="x")
    n = placeholder(dt.int32, [], name="n")
    array.reshape(x, [n, 2, n])
    array.reshape(x, placeholder(dt.int32, [2]))
    array.transpose(x, [1, 0])
    concat([x, x], n)
    split(x, 2, axis=1)
    x[:, 1:n]
    zeros([2, 3])
    regex_replace(constant(["a"]), "a(b)", r"\1")
    array.reshape(x, (-1,))


def typed():
    for dtype in ["float16", "bfloat16", "float64", "int8", "uint64", "bool", "complex64"]:
        constant(np.ones([2, 2]), dtype)
    constant(["word", b"\xff\x00"])
    constant(np.arange(10.0))
    math.add(constant(1 / 3, "float64"), 2.5)


def linked():
    graph = constant(1.0).graph
    with graph.device("/job:w/gpu:1"), graph.name_scope("s"):
        a = constant(1.0, name="a")
        with graph.control_dependencies([a]), graph.device("/cpu:*"):
            b = no_op("b")
        with graph.colocate_with(a):
            math.add(a, a)
        with graph.control_dependencies([a, b]):
            no_op()


def stateful():
    ref = state_ops.variable(shape=TensorShape([2]), shared_name="v", dtype=dt.float32, name="v")
    state_ops.assign(ref, constant([1.0, 2.0]), validate_shape=False)
    state_ops.assign_add(ref, constant([1.0, 2.0]))


def branching():
    p = placeholder(dt.bool, [], name="p")
    x = placeholder(dt.float32, [None, 2], name="x")
    n = placeholder(dt.int32, [], name="n")
    y = control.cond(p, lambda: x + 1.0, lambda: control.cond(p, lambda: x, lambda: -x), name="outer")
    while_loop(lambda i, z: i < n, lambda i, z: (i + 1, concat([z, y], 0)), [0, x])
    control.cond(p, lambda: no_op(), lambda: no_op())
    ref = state_ops.variable(shape=TensorShape([]), shared_name="v", dtype=dt.float32, name="v")
    control.cond(p, lambda: state_ops.assign(ref, 1.0), lambda: state_ops.assign_add(ref, 1.0))


def refined():
    x = placeholder(dt.float32, None, name="x")
    x.set_shape([3, None])
    math.add(x, 1.0)


def nothing():
    pass


@pytest.mark.parametrize("build", [steered, typed, linked, stateful, branching, refined, nothing])
@pytest.mark.parametrize("form", [lambda m: m, str, lambda m: str(m).encode(), to_json, GraphDef.SerializeToString])
def test_what_is_exported_and_imported_is_the_same(build, form):
    with Graph().as_default() as graph:
        build()
    content = to_graph_def(graph, add_shapes=True)
    again, returned = imported(form(content), name="")
    assert returned is None
    assert to_graph_def(again, add_shapes=True) == content
    assert [[repr(a) for a in node.args] for node in again.operations] == [
        [repr(a) for a in node.args] for node in graph.operations
    ]
    again.verify()


def test_a_graph_is_imported_under_a_name():
    with Graph().as_default() as graph:
        branching()
    again, _ = imported(graph.as_graph_def(), name="model")
    assert [node.name for node in again.operations] == [f"model/{node.name}" for node in graph.operations]
    inner = again.get_operation_by_name("model/outer").attrs["then_branch"]
    assert [tensor.name for tensor in inner.captures] == ["model/x:0"]
    assert inner.outer is again
    again.verify()


def test_functions_take_over_what_comes_from_the_input_map():
    with Graph().as_default() as graph:
        p = placeholder(dt.bool, [], name="p")
        x, y = placeholder(dt.float32, [], name="x"), placeholder(dt.float32, [], name="y")
        control.cond(p, lambda: math.add(x, y, name="sum"), lambda: x - y, name="branch")
    with Graph().as_default() as again:
        both = constant(3.0, name="both")
        import_graph_def(graph.as_graph_def(), input_map={"x": both, "y": both}, name="")
    again.verify()
    inner = again.get_operation_by_name("branch").attrs["then_branch"]
    assert [tensor.name for tensor in inner.captures] == ["both:0"]
    assert [tensor.name for tensor in inner.get_operation_by_name("sum").inputs] == ["x:0", "x:0"]


def test_the_graph_of_a_function_is_imported_with_placeholders():
    inner = FunctionGraph(None)
    with inner.as_default():
        math.add(inner.add_argument(dt.float32, TensorShape([2]), "x"), 1.0, name="y")
    again, _ = imported(inner.as_graph_def(), name="")
    assert [(node.name, node.type) for node in again.operations] == [
        ("x", "Placeholder"),
        ("y/y", "Const"),
        ("y", "AddV2"),
    ]
    assert again.get_tensor_by_name("y:0").shape == [2]


def test_an_imported_graph_runs():
    with Graph().as_default() as graph:
        p, n = placeholder(dt.bool, [], name="p"), placeholder(dt.int32, [], name="n")
        x = constant(5.0)
        control.cond(p, lambda: x + 1.0, lambda: -x, name="branch")
        while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, x], name="loop")
    wanted = ["branch:0", "loop:1", "p:0", "n:0"]
    again, (branch, loop, p, n) = imported(str(graph.as_graph_def()), return_elements=wanted)
    with Session(graph=again) as session:
        assert session.run([branch, loop], {p: True, n: 3}) == [6.0, 5.0**4]
        assert session.run([branch, loop], {p: False, n: 0}) == [-5.0, 5.0]


def test_python_objects_named_by_placeholders_cannot_be_imported():
    text = 'node { name: "p" op: "LeakyRelu" input: "a" attr { key: "alpha" value { placeholder: "<function f>" } } }'
    with pytest.raises(InvalidArgumentError, match=r"Node 'p'.*<function f>, which cannot be read back"):
        imported(BASE + text)


# Names, devices, groups.


def test_nodes_come_under_the_name_import():
    graph, _ = imported(BASE)
    assert summary(graph) == [
        ("import/a", "/device:CPU:1", [], []),
        ("import/b", "", ["import/a:0"], []),
        ("import/c", "", [], ["import/b"]),
    ]


def test_a_node_merges_its_device_with_the_scope():
    graph, _ = imported(BASE, device="/job:x/cpu:3")
    assert [node.device for node in graph.operations] == ["/job:x/device:CPU:1"] + ["/job:x/device:CPU:3"] * 2


def test_device_functions_see_imported_nodes():
    seen = []

    def choose(op):
        seen.append((op.type, op.device))
        return "/gpu:2"

    graph, _ = imported(BASE, device=choose)
    assert seen == [("Const", "/device:CPU:1"), ("Neg", ""), ("NoOp", "")]
    assert {node.device for node in graph.operations} == {"/gpu:2"}


def test_names_that_are_taken_get_numbers():
    with Graph().as_default() as graph:
        import_graph_def(BASE)
        import_graph_def(BASE)
        import_graph_def(BASE, name="import/")
        import_graph_def(BASE, name="")
        import_graph_def(BASE, name="")
        constant(1.0, name="A")
        constant(1.0, name="import/b")
    assert [node.name for node in graph.operations] == (
        ["import/a", "import/b", "import/c", "import_1/a", "import_1/b", "import_1/c", "import/a_1", "import/b_1"]
        + ["import/c_1", "a", "b", "c", "a_1", "b_1", "c_1", "A_2", "import/b_2"]
    )
    graph.verify()


def test_a_number_behind_a_name_avoids_the_other_names():
    with Graph().as_default() as graph:
        no_op("x")
        import_graph_def('node { name: "x" op: "NoOp" } node { name: "x_1" op: "NoOp" input: "^x" }', name="")
    assert [(n.name, [c.name for c in n.control_inputs]) for n in graph.operations][1:] == [
        ("x_2", []),
        ("x_1", ["x_2"]),
    ]


def test_a_name_scope_holds_the_name():
    with Graph().as_default() as graph, graph.name_scope("outer"):
        import_graph_def(BASE)
        import_graph_def(BASE, name="")
    assert [node.name for node in graph.operations][::3] == ["outer/import/a", "a"]


def test_nodes_may_come_in_any_order():
    graph, _ = imported(f'node {{ name: "x" op: "Neg" input: "y" {FLOAT} }}' + BASE.replace('"a"', '"y"'))
    assert [node.name for node in graph.operations] == ["import/y", "import/x", "import/b", "import/c"]


def test_nodes_wait_for_the_control_dependencies_of_the_scope():
    with Graph().as_default() as graph:
        first = no_op("first")
        with graph.control_dependencies([first]):
            import_graph_def(BASE, name="")
    waits = {node.name: {other.name for other in node.control_inputs} for node in graph.operations}
    assert waits == {"first": set(), "a": {"first"}, "b": set(), "c": {"b", "first"}}


GROUP = 'node { name: "b" op: "NoOp" device: "/cpu:2" attr { key: "_class" value { list { s: "loc:@a" } } } }'


@pytest.mark.parametrize(
    ("own", "scope", "device"),
    [
        ('device: "/cpu:1"', "/job:x", "/job:x/device:CPU:1"),
        ("", "/job:x/cpu:7", "/job:x/device:CPU:7"),
        ("", None, ""),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_colocated_node_has_the_device_of_its_group(own, scope, device, turned):
    nodes = [f'node {{ name: "a" op: "NoOp" {own} }}', GROUP]
    graph, _ = imported("".join(reversed(nodes) if turned else nodes), device=scope)
    b = graph.get_operation_by_name("import/b")
    assert b.colocation_groups() == [b"loc:@import/a"]
    assert b.device == device == graph.get_operation_by_name("import/a").device


def test_a_node_in_a_group_of_its_own_keeps_its_device():
    graph, _ = imported(GROUP.replace("loc:@a", "loc:@b"), device="/job:x")
    (b,) = graph.operations
    assert (b.colocated_with, b.device) == (("import/b",), "/job:x/device:CPU:2")


def test_colocations_around_do_not_hold_for_imported_nodes():
    with Graph().as_default() as graph, graph.colocate_with(no_op("x")):
        import_graph_def(BASE)
    assert [node.colocated_with for node in graph.operations] == [(), (), (), ()]


# Inputs and results.


def mapped(**options):
    with Graph().as_default() as graph:
        tensor = constant(2.0, name="mine")
        inputs = {key: tensor if value is ... else value for key, value in options.pop("input_map").items()}
        returned = import_graph_def(BASE, input_map=inputs, **options)
    return graph, returned


@pytest.mark.parametrize("key", ["a", "a:0"])
def test_results_are_replaced_by_tensors(key):
    graph, returned = mapped(input_map={key: ...}, return_elements=["a:0", "a", "b"])
    assert [node.name for node in graph.operations] == ["mine", "import/a", "import/b", "import/c"]
    assert [tensor.name for tensor in graph.get_operation_by_name("import/b").inputs] == ["mine:0"]
    assert [item.name for item in returned] == ["mine:0", "import/a", "import/b"]


def test_values_become_constants():
    graph, _ = mapped(input_map={"a": 2.0})
    assert summary(graph)[1][0] == "import/_inputs/Const"
    assert [tensor.name for tensor in graph.get_operation_by_name("import/b").inputs] == ["import/_inputs/Const:0"]
    with pytest.raises(ValueError, match="requires a non-empty `name` if `input_map` contains non-Tensor values"):
        mapped(input_map={"a": 2.0}, name="")


def test_control_inputs_are_replaced():
    graph, _ = mapped(input_map={"^b": ...})
    assert [op.name for op in graph.get_operation_by_name("import/c").control_inputs] == ["mine"]


def test_a_node_that_is_not_there_may_be_mapped():
    text = f'node {{ name: "b" op: "Neg" input: "gone:3" {FLOAT} }}'
    with Graph().as_default() as graph:
        import_graph_def(text, input_map={"gone:3": constant(1.0)})
    assert graph.get_operation_by_name("import/b").inputs[0].name == "Const:0"


def test_a_cycle_is_cut_by_the_input_map():
    text = f'node {{ name: "x" op: "Neg" input: "y" {FLOAT} }} node {{ name: "y" op: "Neg" input: "x" {FLOAT} }}'
    with Graph().as_default() as graph:
        import_graph_def(text, input_map={"y": constant(1.0)}, name="")
    assert [node.name for node in graph.operations] == ["Const", "x", "y"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"input_map": {"zz": ...}}, ValueError, r"inputs that were not found in graph_def: \[zz:0\]"),
        ({"input_map": {"^zz": ...}}, ValueError, r"not found in graph_def: \[\^zz\]"),
        ({"input_map": {"a:7": ...}}, ValueError, r"not found in graph_def: \[a:7\]"),
        ({"input_map": {"a:x": ...}}, ValueError, "Cannot convert 'a:x' to a tensor name"),
        (
            {"input_map": {3: ...}},
            TypeError,
            r"All keys for argument `input_map` must be strings. Obtained keys: \[3\]",
        ),
        (
            {"input_map": {"a": np.int32(2)}},
            ValueError,
            "Input 0 of node import/b was passed int32 from import/_inputs",
        ),
        ({"input_map": {"a": object()}}, ValueError, "object"),
        ({"input_map": {}, "return_elements": ["zz"]}, ValueError, "Requested return node 'zz' not found in graph def"),
        ({"input_map": {}, "return_elements": ["a:3"]}, ValueError, "Invalid return output 3 of node 'a', which has 1"),
        ({"input_map": {}, "return_elements": ["a:x"]}, ValueError, "following the `:` should be an int. Got x"),
        ({"input_map": {}, "return_elements": ["a:" + "9" * 5000]}, ValueError, "Cannot convert"),
        ({"input_map": {}, "return_elements": [3]}, TypeError, "`return_elements` must be a list of strings"),
        ({"input_map": {}, "return_elements": "ab"}, TypeError, "`return_elements` must be a list of strings"),
    ],
)
def test_maps_and_names_that_do_not_fit_are_refused(options, error, said):
    with pytest.raises(error, match=said):
        mapped(**options)


def test_a_map_of_another_kind_or_graph_is_refused():
    with pytest.raises(TypeError, match=r"`input_map` must be a dictionary. Obtained list"):
        imported(BASE, input_map=[1])
    with Graph().as_default():
        other = constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        imported(BASE, input_map={"a": other})
    with pytest.raises(TypeError, match="must be a tensor, got the operation"):
        imported(BASE, input_map={"a": other.op})


def test_nothing_asked_for_gives_an_empty_list():
    assert imported(BASE, return_elements=[])[1] == []
    assert imported(BASE)[1] is None


# Attributes.


def test_attributes_of_tensorflow_that_situs_has_not_are_passed_over():
    text = f'node {{ name: "d" op: "Neg" input: "a" {FLOAT} attr {{ key: "zz" value {{ i: 1 }} }} }}'
    graph, _ = imported(BASE + text)
    assert "zz" not in graph.get_operation_by_name("import/d").attrs


def test_missing_attributes_have_their_defaults():
    text = 'node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
    text += 'node { name: "y" op: "MatMul" input: "x" input: "x" }'
    graph, _ = imported(text, name="")
    assert graph.get_tensor_by_name("x:0").shape.rank is None
    assert graph.get_operation_by_name("y").attrs["transpose_a"] is False


def test_host_inputs_may_be_nodes_as_tensorflow_writes_them():
    text = """
    node { name: "shape" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1 } } } }
    node { name: "r" op: "Reshape" input: "a" input: "shape" attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "Tshape" value { type: DT_INT32 } } }
    node { name: "s" op: "Pack" input: "a" input: "b" attr { key: "N" value { i: 2 } } }
    """
    graph, _ = imported(BASE + text, name="")
    assert graph.get_operation_by_name("r").args[1] is graph.get_tensor_by_name("shape:0")
    assert graph.get_tensor_by_name("r:0").shape == [1]
    assert len(graph.get_operation_by_name("s").args[0]) == 2


def test_variables_that_share_no_name_are_two():
    state = 'op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { } } }'
    shared = 'attr { key: "shared_name" value { s: "" } }'
    two = "".join(
        f'node {{ name: "{name}" {state} {shared} }}'
        f'node {{ name: "set_{name}" op: "Assign" input: "{name}" input: "{value}" {FLOAT} }}'
        for name, value in [("v", "one"), ("w", "two")]
    )
    number = 'attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: %s } } }'
    kind = 'op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }'
    values = f'node {{ name: "one" {kind} {number % 1.0} }} node {{ name: "two" {kind} {number % 2.0} }}'
    graph, _ = imported(values + two)
    with Session(graph=graph) as session:
        session.run(["import/set_v", "import/set_w"])
        assert session.run(["import/v:0", "import/w:0"]) == [1, 2]


def test_operations_on_handles_of_variables():
    handle = (
        'node { name: "v" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } '
        'attr { key: "shape" value { shape { dim { size: 2 } } } } }'
    )
    value = (
        'node { name: "x" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "value" value { '
        "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1.5 } } } }"
    )
    dtype = 'attr { key: "dtype" value { type: DT_FLOAT } }'
    steps = "".join(
        f'node {{ name: "{name}" op: "{op}" input: "v" input: "x" {dtype} }}'
        for name, op in [("set", "AssignVariableOp"), ("more", "AssignAddVariableOp"), ("less", "AssignSubVariableOp")]
    )
    read = f'node {{ name: "r" op: "ReadVariableOp" input: "v" {dtype} }}'
    there = 'node { name: "there" op: "VarIsInitializedOp" input: "v" }'
    graph, _ = imported(handle + value + steps + read + there)
    with Session(graph=graph) as session:
        assert not session.run("import/there:0")
        for name, expected in [("set", 1.5), ("more", 3), ("more", 4.5), ("less", 3)]:
            session.run(f"import/{name}")
            assert session.run("import/r:0").tolist() == [expected] * 2
        assert session.run("import/there:0")


def test_shapes_that_the_message_knows_are_added():
    shaped = 'attr { key: "_output_shapes" value { list { shape { dim { size: 2 } } } } }'
    text = f'node {{ name: "y" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} {shaped} }}'
    graph, _ = imported(text)
    assert graph.get_tensor_by_name("import/y:0").shape == [2]
    with pytest.raises(ValueError, match="'import/b' has an _output_shapes attribute inconsistent with the GraphDef"):
        imported(BASE.replace(FLOAT, FLOAT + shaped))
    graph, _ = imported(text.replace("} } } } }", "} } shape { } } } }"))  # of a result that TensorFlow's op has
    assert graph.get_tensor_by_name("import/y:0").shape == [2]


# Malformed graphs.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BASE + 'node { name: "a" op: "NoOp" }', "Node 'a' is not unique"),
        (f'node {{ name: "b" op: "Neg" input: "a" {FLOAT} }}', "Node 'b': Unknown input node 'a'"),
        ('node { name: "b" op: "NoOp" input: "^a" }', "Node 'b': Unknown input node 'a'"),
        (
            BASE + f'node {{ name: "d" op: "Neg" input: "a:1" {FLOAT} }}',
            "'d': Connecting to invalid output 1 of source",
        ),
        (f'node {{ name: "b" op: "Neg" {FLOAT} }}', "'b': NodeDef expected inputs 'x: T' do not match 0 inputs"),
        (BASE + f'node {{ name: "d" op: "Neg" input: "a" input: "b" {FLOAT} }}', "do not match 2 inputs specified"),
        (BASE + 'node { name: "d" op: "MatMul" input: "a" }', "do not match 1 inputs specified"),
        (
            BASE + f'node {{ name: "d" op: "Neg" input: "a" {FLOAT.replace("FLOAT", "INT32")} }}',
            "Input 0 of node import/d was passed float from import/a:0 incompatible with expected int32",
        ),
        (
            BASE + 'node { name: "d" op: "Neg" input: "a" attr { key: "T" value { i: 1 } } }',
            "A dtype was expected, got 1",
        ),
        (
            BASE + f'node {{ name: "d" op: "Neg" input: "^b" input: "a" {FLOAT} }}',
            "Control dependencies must come after",
        ),
        (f'node {{ name: "x" op: "Neg" input: "x" {FLOAT} }}', "1 nodes in a cycle"),
        ('node { name: "x" op: "NoOp" input: "^y" } node { name: "y" op: "NoOp" input: "^x" }', "2 nodes in a cycle"),
        ('node { op: "NoOp" }', "Node '': Node name contains invalid characters"),
        ('node { name: "a b" op: "NoOp" }', "Node 'a b': Node name contains invalid characters"),
        ('node { name: "_b" op: "NoOp" }', "Node '_b': Node name contains invalid characters"),
        ('node { name: "b" op: "NoOp" device: "garbage" }', "Node 'b': .*garbage"),
        (GROUP, "Node 'b' expects to be colocated with unknown node 'a'"),
        ('node { name: "p" op: "Placeholder" }', "Node 'p': NodeDef missing attr 'dtype' from Op<name=Placeholder"),
        ('node { name: "k" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } }', "missing attr 'value'"),
        (
            BASE.replace("type: DT_FLOAT } }\n", "type: DT_INT32 } }\n", 1),
            "dtype int32 was expected, its value is float32",
        ),
        (BASE.replace("float_val: 1", "float_val: 1 float_val: 2"), "Node 'a': .* has 1 values, got 2"),
        (BASE + 'node { name: "s" op: "Sum" input: "a" attr { key: "_host:axis" value { s: "[" } } }', "Node 's'"),
        (BASE + 'node { name: "s" op: "Sum" input: "a" attr { key: "_host:axis" value { s: "7" } } }', "Node 's'"),
        (
            BASE + 'node { name: "s" op: "Sum" input: "a" attr { key: "_host:axis" value { s: "{\\"input\\": 7}" } } }',
            "Node 's': Cannot read the value",
        ),
        (BASE + 'node { name: "w" op: "While" input: "a" }', "missing attr '_length:input'"),
        (BASE + 'node { name: "d" op: "Neg" input: "a:b" }', "Cannot convert 'a:b' to a tensor name"),
        ("node {", ": 1:[67] : "),
        ("nod { }", ': 1:1 : .*no field named "nod"'),
        ('{"nod": 1}', 'no field named "nod"'),
        ('{"node": ', "no JSON of a GraphDef"),
        (b"\x0a\x10\xff\xfe", "These bytes are no GraphDef message"),
        ('node { name: "r" op: "Resh" }', None),
    ],
)
def test_malformed_graphs_are_refused_and_leave_nothing_behind(text, said):
    with Graph().as_default() as graph:
        x = constant(1.0, name="x0")
        with pytest.raises(
            ValueError if said else NotFoundError, match=said or "not registered 'Resh'.*node 'r'.*mean"
        ):
            import_graph_def(text)
        assert graph.operations == (x.op,)
        assert (x.op.consumers, x.op.followers) == ([], [])
        graph.verify()
        import_graph_def(BASE, input_map={"a": x})
    graph.verify()


@pytest.mark.parametrize("content", [3, None, [BASE], object(), Graph(), "", "a graph", b"a graph", "{1}"])
def test_what_is_no_graph_def_is_refused(content):
    with pytest.raises(DTypeError, match="Argument `graph_def` must be a GraphDef proto"):
        import_graph_def(content)


@pytest.fixture
def branch():
    """A graph with one branch; its functions can be spoiled."""
    with Graph().as_default() as graph:
        p, x = placeholder(dt.bool, [], name="p"), placeholder(dt.float32, [], name="x")
        control.cond(p, lambda: math.add(x, 1.0, name="add"), lambda: x, name="branch")
    return graph.as_graph_def()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'func {\n        name: "branch:then_branch"',
            'func {\n        name: "gone"',
            "function 'gone' is not in the library",
        ),
        ('value: "add"', 'value: "zz"', "Requested return node 'zz' not found"),
        ('value: "add"', 'value: "add:7"', "Invalid return output 7"),
        ('value: "add"', 'value: ""', "Requested return node '' not found"),
        (
            "i: 1\n          }\n        }\n      }\n    }\n  }\n  function",
            "i: 9 } } } } } function",
            "input 9 of a node with 2",
        ),
        (
            "i: 1\n          }\n        }\n      }\n    }\n  }\n  function",
            "i: 0 } } } } } function",
            "and says it is float32",
        ),
        ('key: "_output_types"', 'key: "_other"', "missing attr '_output_types'"),
        (
            'type: DT_FLOAT\n      }\n    }\n  }\n  attr {\n    key: "else',
            'type: DT_INT32 } } } attr { key: "else',
            "do not fit",
        ),
        ('input_arg {\n        name: "x"', 'input_arg {\n        name: "zz"', "has no argument of this name"),
    ],
)
def test_malformed_functions_are_refused(branch, old, new, said):
    text = to_text(branch)
    assert old in text, text
    with Graph().as_default() as graph:
        with pytest.raises(ValueError, match=said):
            import_graph_def(text.replace(old, new, 1))
        assert len(graph) == 0


def test_a_function_that_holds_itself_is_refused(branch):
    for function in branch.library.function:
        function.node_def.add().CopyFrom(branch.node[-1])
        del function.node_def[-1].input[:]
        function.node_def[-1].input.extend(["x", "x"])
        del function.node_def[-1].attr["_output_types"]
    with pytest.raises(ValueError, match=r"calls itself|incompatible with expected bool"):
        imported(branch)


def test_the_message_is_left_as_it_was(branch):
    before = str(branch)
    imported(branch)
    assert str(branch) == before


def test_a_deep_graph_is_imported_in_one_go():
    nodes = [f'node {{ name: "n{i}" op: "NoOp" input: "^n{i + 1}" }}' for i in range(3000)]
    graph, _ = imported("".join(nodes) + 'node { name: "n3000" op: "NoOp" }', name="")
    assert [node.name for node in graph.operations[:2]] == ["n3000", "n2999"]


# Files.


@pytest.mark.parametrize("as_text", [True, False])
def test_graphs_are_written_and_read(tmp_path, as_text):
    with Graph().as_default() as graph:
        linalg.matmul(constant([[1.0]]), [[2.0]])
    path = write_graph(graph, tmp_path / "new" / "folder", "graph.pbtxt", as_text)
    assert path == str(tmp_path / "new" / "folder" / "graph.pbtxt")
    content = Path(path).read_bytes()
    again, _ = imported(content, name="")
    assert again.as_graph_def() == graph.as_graph_def()
    if as_text:
        assert parse(content, GraphDef()) == graph.as_graph_def()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    write_graph(GraphDef(), str(tmp_path), "g.pbtxt")
    with pytest.raises(DTypeError, match="write_graph takes a Graph or a GraphDef, got 3"):
        write_graph(3, tmp_path, "g.pbtxt")
    write_graph(parse(BASE, GraphDef()), tmp_path, "g.pbtxt")
    assert [path.name for path in tmp_path.iterdir()] == ["g.pbtxt"]
    (tmp_path / "taken").mkdir()
    with pytest.raises(FailedPreconditionError, match=r"taken.*Is a directory"):
        write_graph(GraphDef(), tmp_path, "taken")
    for folder, name in ((3, "g"), (None, "g"), (tmp_path, 3)):
        with pytest.raises(DTypeError, match="Expected binary or unicode string"):
            write_graph(GraphDef(), folder, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.pbtxt", "taken"]


def test_a_file_has_the_rights_of_any_other(tmp_path):
    (tmp_path / "other").write_text("")
    path = write_graph(GraphDef(), tmp_path, "g.pbtxt")
    assert (tmp_path / "g.pbtxt").stat().st_mode == (tmp_path / "other").stat().st_mode, path


def test_elements_to_return_are_a_list():
    for elements in (5, "y", ["y", 5]):
        with pytest.raises(DTypeError, match="`return_elements` must be a list of strings"):
            import_graph_def(GraphDef(), return_elements=elements)
