"""Graphs written as messages: what stands in them, and what cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.proto.formats import parse
from situs._src.base.proto.graph import AttrValue, GraphDef, NodeDef
from situs._src.base.proto.tensor import TensorProto
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.array_proto import array_from_proto, array_to_proto
from situs._src.ir.graph.attributes import PLAIN, read_attr, read_plain, written_attr
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.plain import NotPlainError, dumps, inputs_in, loads
from situs._src.ir.graph.serialize import to_graph_def, to_node_def
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.ops import array, control, linalg, math
from situs._src.ops.constant import constant, zeros
from situs._src.ops.join import concat, split
from situs._src.ops.loop import while_loop
from situs._src.ops.placeholder import no_op, placeholder
from situs.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError

# What TensorFlow 2.21 writes for these nodes, less attributes that Situs has not (grad_a, grad_b).
CONST = """
name: "s/a" op: "Const" device: "/device:GPU:1"
attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } dim { size: 2 } }
  tensor_content: "\\000\\000\\200?\\000\\000\\000@" } } }
attr { key: "dtype" value { type: DT_FLOAT } }
attr { key: "_output_shapes" value { list { shape { dim { size: 1 } dim { size: 2 } } } } }
"""
PLACEHOLDER = """
name: "s/Placeholder" op: "Placeholder" device: "/device:GPU:1"
attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } }
attr { key: "dtype" value { type: DT_FLOAT } }
attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 2 } } } } }
"""
IDENTITY = """
name: "s/Identity" op: "Identity" input: "s/MatMul" input: "^s/a" device: "/device:GPU:1"
attr { key: "T" value { type: DT_FLOAT } }
attr { key: "_output_shapes" value { list { shape { dim { size: 1 } dim { size: -1 } } } } }
"""


def test_nodes_are_written_as_tensorflow_writes_them():
    with Graph().as_default() as graph, graph.device("/gpu:1"), graph.name_scope("s"):
        a = constant([[1.0, 2.0]], name="a")
        x = placeholder(dt.float32, [None, 2], name="Placeholder")
        c = linalg.matmul(a, x, transpose_b=True, name="MatMul")
        with graph.control_dependencies([a]):
            array.identity(c, name="Identity")
    made = to_graph_def(graph, add_shapes=True)
    for node, text in zip([made.node[0], made.node[1], made.node[3]], [CONST, PLACEHOLDER, IDENTITY], strict=True):
        assert node == parse(text, NodeDef())
    matmul = made.node[2]
    assert list(matmul.input) == ["s/a", "s/Placeholder"]
    assert (matmul.attr["transpose_a"].b, matmul.attr["transpose_b"].b) == (False, True)
    assert matmul.attr["transpose_a"].WhichOneof("value") == "b"


def test_a_graph_that_is_all_of_it_or_what_came_after():
    with Graph().as_default() as graph:
        no_op("a")
        version = graph.version
        no_op("b")
    assert [node.name for node in graph.as_graph_def().node] == ["a", "b"]
    assert [node.name for node in graph.as_graph_def(from_version=version).node] == ["b"]
    assert list(graph.as_graph_def(from_version=99).node) == []
    assert to_graph_def(Graph()).node == []


@pytest.mark.parametrize("version", [-1, 1.5, "1", True])
def test_a_version_is_a_number(version):
    with pytest.raises(DTypeError, match="from_version"):
        to_graph_def(Graph(), version)


def test_later_results_have_their_number():
    with Graph().as_default() as graph:
        first, second = split(constant([[1, 2]]), 2, axis=1, name="split")
        math.add(first, second)
    assert list(to_graph_def(graph).node[-1].input) == ["split", "split:1"]


def test_lists_say_how_long_they_are():
    with Graph().as_default():
        one = constant([1])
        node = to_node_def(concat([one, one, one], 0).op)
        loop = while_loop(lambda i, x: i < 3, lambda i, x: (i + one[0], x), [0, one])
    assert node.attr["N"].i == 3
    looped = to_node_def(loop[0].op)
    assert (looped.attr["_length:input"].i, looped.attr["_length:captured"].i) == (2, 1)


def test_host_inputs_are_attributes_unless_they_are_just_a_tensor():
    with Graph().as_default():
        x = constant([[1.0, 2.0]], name="x")
        n = placeholder(dt.int32, [], name="n")
        shape = placeholder(dt.int32, [2], name="shape")
        plain = to_node_def(array.reshape(x, [2, -1]).op)
        mixed = to_node_def(array.reshape(x, [n, 1, n]).op)
        whole = to_node_def(array.reshape(x, shape).op)
    assert (list(plain.input), plain.attr["_host:shape"].s) == (["x"], b"[2, -1]")
    assert list(mixed.input) == ["x", "n", "n"]
    assert json.loads(mixed.attr["_host:shape"].s) == [{"input": 1}, 1, {"input": 2}]
    assert (list(whole.input), "_host:shape" in whole.attr) == (["x", "shape"], False)


def test_colocations_are_the_attribute_class():
    with Graph().as_default() as graph:
        a = constant(1.0, name="a")
        with graph.colocate_with(a):
            b = constant(2.0, name="b")
    assert list(to_node_def(b.op).attr["_class"].list.s) == [b"loc:@a"]
    assert "_class" not in to_node_def(a.op).attr


def test_branches_and_loops_are_functions_of_the_library():
    with Graph().as_default() as graph:
        p = placeholder(dt.bool, [], name="p")
        x = constant(2.0, name="x")
        inner = lambda: control.cond(p, lambda: x, lambda: -x, name="inner")  # noqa: E731
        control.cond(p, lambda: math.multiply(x, 2.0, name="double"), inner, name="branch")
    made = to_graph_def(graph)
    branch = made.node[-1]
    assert list(branch.input) == ["p", "x", "p"]
    assert branch.attr["then_branch"].func.name == "branch:then_branch"
    assert [function.signature.name for function in made.library.function] == [
        "branch:then_branch",
        "branch:else_branch/inner:then_branch",
        "branch:else_branch/inner:else_branch",
        "branch:else_branch",
    ]
    then = made.library.function[0]
    assert [node.op for node in then.node_def] == ["Captured", "Const", "Mul"]
    assert [arg.name for arg in then.signature.input_arg] == ["x"]
    assert then.arg_attr[0].attr["_capture"].i == 1
    assert dict(then.ret) == {"result_0": "double"}


def called(value, default=None):
    declared = Op("Called", parse_signature("-> float32"), {}, {"what": default}, stateful=True)
    with Graph().as_default() as graph:
        graph.add(declared, (), {"what": value}, {}, [(declared.outputs[0], dt.float32, TensorShape([]))], "called")
    return graph


@pytest.mark.parametrize("value", [print, object(), (1, print), {"a": 1}, {1, 2}])
def test_python_objects_cannot_be_exported(value):
    graph = called(value)
    with pytest.raises(InvalidArgumentError, match=r"'called' \(Called\) cannot be written down: its attribute 'what'"):
        graph.as_graph_def()
    assert to_node_def(graph.operations[0]).attr["what"].placeholder == repr(value)


def test_a_symbolic_tensor_is_no_attribute():
    with Graph().as_default():
        tensor = constant(1.0)
    with pytest.raises(InvalidArgumentError, match="type SymbolicTensor"):
        called(tensor).as_graph_def()


# Attributes.


def written(value, default=None):
    entry = written_attr("what", value, default)
    return {} if entry is None else dict([entry])


def read_back(attrs, default=None):
    if PLAIN + "what" in attrs:
        return read_plain(attrs[PLAIN + "what"])
    return read_attr(attrs["what"], default)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "b: true"),
        (False, "b: false"),
        (0, "i: 0"),
        (-(2**63), f"i: {-(2**63)}"),
        (0.001, "f: 0.001"),
        (float("inf"), "f: inf"),
        (-0.0, "f: -0.0"),
        ("SAME", 's: "SAME"'),
        ("", 's: ""'),
        (dt.bfloat16, "type: DT_BFLOAT16"),
        (dt.string, "type: DT_STRING"),
        (TensorShape([2, None]), "shape { dim { size: 2 } dim { size: -1 } }"),
        (TensorShape(None), "shape { unknown_rank: true }"),
        (TensorShape([]), "shape { }"),
        ((), "list { }"),
        ((1, 2, 2, 1), "list { i: 1 i: 2 i: 2 i: 1 }"),
        ((1.5, 2.0), "list { f: 1.5 f: 2 }"),
        ((True, False), "list { b: true b: false }"),
        (("a", "b"), 'list { s: "a" s: "b" }'),
        ((dt.int32, dt.bool), "list { type: DT_INT32 type: DT_BOOL }"),
        ((TensorShape([1]), TensorShape(None)), "list { shape { dim { size: 1 } } shape { unknown_rank: true } }"),
    ],
    ids=repr,
)
def test_attributes_have_the_field_of_their_kind(value, text):
    attrs = written(value)
    assert attrs == {"what": parse(text, AttrValue())}
    found = read_back(attrs)
    assert type(found) is type(value)
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    "value",
    [1 / 3, 2**63, 1e300, (1, 2.5), ((1, 2), (3, 4)), (None, 1), b"\xff\x00", (b"a",), slice(1, None, 2), 1 + 2j]
    + ["\ud800", (0.1, 1 / 3), ((),)],
    ids=repr,
)
def test_what_no_field_holds_exactly_is_json(value):
    attrs = written(value)
    assert list(attrs) == ["_value:what"]
    assert read_back(attrs) == value


def test_none_is_left_out_only_where_it_is_the_default():
    assert written(None) == {}
    assert read_back(written(None, default=3)) is None


def test_the_default_tells_bytes_from_text_and_lists_from_tuples():
    attrs = written(b"\xff", default=b"")
    assert attrs["what"].s == b"\xff"
    assert read_back(attrs, default=b"") == b"\xff"
    assert read_back(written([1, 2]), default=[]) == [1, 2]
    assert read_back(written([1, 2])) == (1, 2)


def test_numpy_numbers_are_numbers():
    assert read_back(written(np.int64(3))) == 3
    assert read_back(written(np.float32(0.1))) == float(np.float32(0.1))
    assert read_back(written(np.bool_(True))) is True


@given(st.floats(allow_nan=False, width=64) | st.integers() | st.text() | st.tuples(st.integers(), st.floats(0, 1)))
def test_any_number_or_text_survives(value):
    assert read_back(written(value)) == value


@pytest.mark.parametrize("message", [AttrValue(), AttrValue(placeholder="<function f>"), AttrValue(func={"name": "f"})])
def test_attributes_without_a_value_are_refused(message):
    with pytest.raises(InvalidArgumentError, match="cannot be read back"):
        read_attr(message)


# Arrays.

DTYPES = sorted(dt.FIXED, key=lambda dtype: dtype.name)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 0, 3)], ids=str)
def test_arrays_of_all_dtypes_and_shapes_survive(dtype, shape):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.as_numpy_dtype)
    found, kind = array_from_proto(parse(str(array_to_proto(value, dtype)), TensorProto()))
    assert kind is dtype
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [  # as TensorFlow 2.21 writes them
        (1.5, dt.float32, "dtype: DT_FLOAT tensor_shape { } float_val: 1.5"),
        (2, dt.float16, "dtype: DT_HALF tensor_shape { } half_val: 16384"),
        (1.5, dt.bfloat16, "dtype: DT_BFLOAT16 tensor_shape { } half_val: 16320"),
        (1 + 2j, dt.complex128, "dtype: DT_COMPLEX128 tensor_shape { } dcomplex_val: 1 dcomplex_val: 2"),
        ([True, False], dt.bool, "dtype: DT_BOOL tensor_shape { dim { size: 2 } } bool_val: true bool_val: false"),
        ([1, 2], dt.int8, 'dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: "\\001\\002"'),
        ([-1], dt.int32, "dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: -1"),
        ([b"x", b"y"], dt.string, 'dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "x" string_val: "y"'),
        (np.zeros([2, 2]), dt.float32, "dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 2 } } float_val: 0"),
    ],
    ids=str,
)
def test_values_are_written_as_tensorflow_writes_them(value, dtype, text):
    array = np.array(value, dtype=object if dtype is dt.string else dtype.as_numpy_dtype)
    assert array_to_proto(array, dtype) == parse(text, TensorProto())


@pytest.mark.parametrize("value", [b"a\x00", [b"", b"\x00\x00"], [[b"\xff"]], np.zeros([0], object)], ids=str)
def test_strings_keep_their_zero_bytes(value):
    array = np.array(value, dtype=object)
    found, _ = array_from_proto(array_to_proto(array, dt.string))
    assert (found.tolist(), found.shape) == (array.tolist(), array.shape)


def test_special_numbers_and_memory_orders_survive():
    value = np.array([[np.nan, -0.0, np.inf], [1, 2, 3]], ">f4").T
    found, _ = array_from_proto(array_to_proto(value, dt.float32))
    np.testing.assert_array_equal(found, value)
    assert np.signbit(found[1, 0])
    assert found.flags.writeable


def test_eager_tensors_are_values():
    found, kind = array_from_proto(array_to_proto(constant([1, 2]), dt.int32))
    assert (found.tolist(), kind) == ([1, 2], dt.int32)
    assert array_from_proto(array_to_proto(constant(b"a\x00"), dt.string))[0].item() == b"a\x00"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1 float_val: 2", [1, 2, 2]),
        ("dtype: DT_INT32 tensor_shape { dim { size: 2 } }", [0, 0]),
        ("dtype: DT_STRING tensor_shape { dim { size: 2 } }", [b"", b""]),
        ("dtype: DT_FLOAT_REF tensor_shape { } float_val: 4", 4),
    ],
)
def test_short_lists_repeat_their_last_value(text, values):
    assert array_from_proto(parse(text, TensorProto()))[0].tolist() == values


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dtype: DT_FLOAT tensor_shape { } float_val: 1 float_val: 2", "has 1 values, got 2"),
        ('dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "abc"', "8 bytes long, got 3"),
        ('dtype: DT_STRING tensor_shape { dim { size: 1 } } tensor_content: "abc"', "bytes long"),
        ("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", "no values to read"),
        ("dtype: DT_FLOAT tensor_shape { unknown_rank: true }", "no values to read"),
        ("dtype: DT_RESOURCE tensor_shape { }", "no values to read"),
        ("dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: 1", "no tensor of complex64"),
        ("dtype: DT_INT8 tensor_shape { } int_val: 1000", "no tensor of int8"),
        ("dtype: DT_HALF tensor_shape { } half_val: -1", "no tensor of float16"),
        ("tensor_shape { }", "Cannot convert"),
        ("dtype: DT_QINT8 tensor_shape { }", "Cannot convert"),
    ],
)
def test_malformed_tensors_are_refused(text, error):
    with pytest.raises(InvalidArgumentError, match=error):
        array_from_proto(parse(text, TensorProto()))


@pytest.mark.parametrize("size", [2**40, 2**62])
def test_a_tensor_larger_than_memory_is_refused(size):
    text = f"dtype: DT_DOUBLE tensor_shape {{ dim {{ size: {size} }} dim {{ size: {size} }} }} double_val: 1"
    with pytest.raises(ResourceExhaustedError, match="OOM"):
        array_from_proto(parse(text, TensorProto()))


# Plain values.


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, float("inf"), "", "é\x00", b"", b"\xff", (), (1, (2, ())), dt.float32, slice(1, None), 2**100]
    + [1j, (dt.int32, None, b"x")],
    ids=repr,
)
def test_plain_values_survive(value):
    assert loads(dumps(value)) == value


def test_shapes_survive():
    assert loads(dumps(TensorShape([2, None]))).as_list() == [2, None]
    assert loads(dumps(TensorShape(None))).dims is None


def test_inputs_stand_in_their_places():
    tensors = iter([3, 1])
    text = dumps((object, 2, (object,)), lambda value: next(tensors) if value is object else None)
    assert inputs_in(text) == {1, 3}
    assert loads(text, "abcd") == ("d", 2, ("b",))


@pytest.mark.parametrize(
    "text",
    ["", "[", "{}", '{"input": 9}', '{"input": "a"}', '{"a": 1, "b": 2}', '{"nothing": 1}', '{"dtype": "no"}', b"\xff"]
    + ['{"bytes": 3}', '{"slice": [1, 2, 3, 4]}', "[" * 10000, "[" * 100 + "]" * 100, '{"bytes": "%"}'],
)
def test_malformed_values_are_refused(text):
    with pytest.raises(InvalidArgumentError, match="Cannot read the value"):
        loads(text, ["x"])


def test_other_objects_are_not_plain():
    with pytest.raises(NotPlainError, match="type object"):
        dumps((1, object()))


def test_the_bytes_of_a_graph_are_read_back():
    with Graph().as_default() as graph:
        zeros([2, 3])
    made = to_graph_def(graph)
    assert GraphDef.FromString(made.SerializeToString()) == made


# Nodes that are alike.


def alike(count=3):
    graph = Graph()
    with graph.as_default():
        x = placeholder(dt.float32, [2, 2], name="x")
        for _ in range(count):
            x = linalg.matmul(x, x)
    return graph


def test_nodes_that_are_alike_have_attributes_of_their_own():
    first, second, _ = to_graph_def(alike()).node[1:]
    assert first.attr == second.attr
    assert first.attr["T"] is not second.attr["T"]


def test_a_change_to_one_node_is_no_change_to_those_like_it():
    graph = alike()
    expected = str(to_graph_def(graph))
    content = to_graph_def(graph)
    changed = content.node[1]
    changed.attr["T"].type = 2
    changed.attr["new"].list.i.append(1)
    changed.input.append("^x")
    del changed.attr["transpose_a"]
    assert str(to_graph_def(graph)) == expected
    untouched = to_graph_def(graph)
    assert content != untouched
    assert list(content.node)[2:] == list(untouched.node)[2:]
    assert parse(expected, GraphDef()) == untouched


def test_a_message_is_what_the_graph_was_when_it_was_made():
    graph = alike()
    content = to_graph_def(graph)
    node = graph.operations[1]
    node._set_device("/device:CPU:0")
    with graph.as_default():
        graph.add_controls(node, [no_op()])
    assert content.node[1].device == ""
    assert list(content.node[1].input) == ["x", "x"]


@pytest.mark.parametrize(
    "values",
    [[1, True, 1.0], [0.0, -0.0], [(1, 0), (True, False), (1.0, 0.0)], ["1", b"1", 1], [float("nan"), float("inf")]],
)
def test_attributes_that_only_look_alike_are_told_apart(values):
    declared = Op("Alike", parse_signature("-> "), {}, {"what": None}, False)
    graph = Graph()
    for value in values:
        graph.add(declared, (), {"what": value}, {}, [])
    written = to_graph_def(graph).node
    for node, value in zip(written, values, strict=True):
        found = read_back({name: node.attr[name] for name in node.attr})
        assert repr(found) == repr(value)
        assert type(found) is type(value)


def test_writing_and_importing_a_graph_reads_attributes_once_for_nodes_that_are_alike(monkeypatch):
    from situs._src.ir.graph import attributes, serialize
    from situs._src.runtime.symbolic import importer
    from situs._src.tracing.importing import import_graph_def

    calls = {"write": 0, "read": 0, "apply": 0}

    def counting(name, function):
        def counted(*args, **kwargs):
            calls[name] += 1
            return function(*args, **kwargs)

        return counted

    monkeypatch.setattr(serialize, "written_attr", counting("write", attributes.written_attr))
    monkeypatch.setattr(importer, "read_attr", counting("read", attributes.read_attr))
    monkeypatch.setattr(importer, "apply", counting("apply", importer.apply))
    seen = []
    for count in (5, 50):
        calls.update(dict.fromkeys(calls, 0))
        content = to_graph_def(alike(count))
        with Graph().as_default() as graph:
            import_graph_def(content, name="")
        assert to_graph_def(graph) == content
        seen.append(dict(calls))
    assert seen[0] == seen[1]
