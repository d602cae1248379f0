"""What graphs and operations look like in print."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.base.proto.formats import parse
from situs._src.base.proto.graph import NodeDef
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.printer import graph_text, line, neighbourhood, node_text
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.ops import array, control, linalg, math
from situs._src.ops.compare import less
from situs._src.ops.constant import constant
from situs._src.ops.join import concat, split
from situs._src.ops.loop import while_loop
from situs._src.ops.placeholder import no_op, placeholder
from situs._src.variables import state_ops


def without_comments(text):
    return [row.partition("  # ")[0] for row in text.splitlines()]


def test_one_line_an_operation():
    with Graph().as_default() as graph:
        init = no_op("init")
        a = constant([[1.0, 2.0]], name="a")
        x = placeholder(dt.float32, [None, 2], name="x")
        with graph.device("/gpu:0"), graph.control_dependencies([init]):
            y = linalg.matmul(a, x, transpose_b=True, name="y")
        with graph.colocate_with(a):
            array.reshape(y, [-1], name="z")
        split(constant([[1, 2]], name="c"), 2, axis=1, name="parts")
        concat([a, x], 0, name="all")
        placeholder(dt.string, name="any")
    assert without_comments(graph_text(graph)) == [
        "%init = NoOp()",
        "%a : float32[1,2] = Const [[1. 2.]]",
        "%x : float32[?,2] = Placeholder() {shape: (None, 2)}",
        "%y : float32[1,?] = MatMul(%a, %x) {transpose_b: true}  device=/device:GPU:0  after ^init",
        "%z : float32[?] = Reshape(%y, shape=[-1])  with a",
        "%c : int32[1,2] = Const [[1 2]]",
        "%parts : int32[1,1], int32[1,1] = Split(axis=1, %c) {num_split: 2}",
        "%all : float32[?,2] = ConcatV2([%a, %x], axis=0)",
        "%any : string[...] = Placeholder()",
    ]
    assert str(graph) == graph_text(graph)


def test_the_line_of_the_program_stands_at_the_end():
    with Graph().as_default() as graph:
        constant(1.0)
    assert graph_text(graph).endswith("  # test_printer.py:" + str(graph.operations[0].traceback[-1].lineno))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "Const 3"),
        (np.arange(100, dtype=np.int32), "Const [ 0 1 ... 98 99]"),
        (np.zeros([100, 100], np.float32), "Const [[0. 0. ... 0. 0.] [0. 0. ... 0. 0.] ... [0. 0. ... 0. 0 ..."),
        ("word", "Const b'word'"),
        (["a" * 500], "Const [b'" + "a" * 53 + " ..."),
        ([], "Const []"),
    ],
    ids=["scalar", "vector", "matrix", "word", "long word", "empty"],
)
def test_constants_are_elided(value, text):
    with Graph().as_default():
        assert without_comments(line(constant(value).op))[0].partition(" = ")[2] == text


def test_a_constant_that_is_an_eager_tensor_is_shown_if_it_is_small():
    small, large = constant([1.0, 2.0]), constant(np.zeros(5000, np.float32))
    with Graph().as_default() as graph:
        math.add(small, small, name="small")
        math.add(large, large, name="large")
    assert "%small/x : float32[2] = Const [1. 2.]" in graph_text(graph)
    assert "%large/x : float32[5000] = Const <5000 values>" in graph_text(graph)


def test_state_is_marked():
    with Graph().as_default():
        ref = state_ops.variable(shape=TensorShape([2]), shared_name="v", dtype=dt.float32, name="v")
        assert line(ref.op).startswith("%v : float32&[2] = Variable() {shape: (2,), shared_name: 'v'}")


def test_graphs_inside_are_indented():
    with Graph().as_default() as graph:
        p = placeholder(dt.bool, [], name="p")
        x = constant(2.0, name="x")
        control.cond(p, lambda: math.multiply(x, 2.0, name="double"), lambda: x, name="branch")
        while_loop(
            lambda i: less(i, 3, name="less"),
            lambda i: math.add(i, 1, name="next"),
            [constant(0, name="start")],
            name="loop",
        )
    assert without_comments(graph_text(graph))[2:] == [
        "%branch : float32[] = If(%p, [%x])",
        "    then_branch():",
        "        %x : float32[] = Captured()",
        "        %double/y : float32[] = Const 2.0",
        "        %double : float32[] = Mul(%x, %double/y)",
        "        return %double",
        "    else_branch():",
        "        %x : float32[] = Captured()",
        "        return %x",
        "%start : int32[] = Const 0",
        "%loop : int32[] = While([%start], [])",
        "    cond(%loop_var : int32[]):",
        "        %loop_var : int32[] = Captured()",
        "        %less/y : int32[] = Const 3",
        "        %less : bool[] = Less(%loop_var, %less/y)",
        "        return %less",
        "    body(%loop_var : int32[]):",
        "        %loop_var : int32[] = Captured()",
        "        %next/y : int32[] = Const 1",
        "        %next : int32[] = AddV2(%loop_var, %next/y)",
        "        return %next",
    ]


def test_an_empty_graph_prints_nothing():
    assert graph_text(Graph()) == ""


def test_an_operation_prints_as_the_text_of_its_node_def():
    with Graph().as_default():
        y = math.add(constant(1.0, name="a"), 2.0, name="y").op
    assert str(y) == node_text(y) == str(y.node_def)
    assert str(y).splitlines()[:4] == ['name: "y"', 'op: "AddV2"', 'input: "a"', 'input: "y/y"']
    assert parse(str(y), NodeDef()) == y.node_def


def test_an_operation_with_a_python_object_prints_too():
    called = Op("Called", parse_signature("-> float32"), {}, {"function": None}, stateful=True)
    with Graph().as_default() as graph:
        result = (called.outputs[0], dt.float32, TensorShape([]))
        node = graph.add(called, (), {"function": print}, {}, [result])
    assert 'placeholder: "<built-in function print>"' in str(node)
    assert "%Called : float32[] = Called() {function: <built-in function print>}" in str(graph)


def test_the_neighbourhood_is_the_lines_around():
    with Graph().as_default() as graph:
        for _ in range(20):
            no_op()
    rows = without_comments(neighbourhood(graph, graph.operations[10], radius=2))
    assert rows == ["   %NoOp_8 = NoOp()", "   %NoOp_9 = NoOp()", "-> %NoOp_10 = NoOp()", "   %NoOp_11 = NoOp()"] + [
        "   %NoOp_12 = NoOp()"
    ]
    assert len(neighbourhood(graph, graph.operations[0]).splitlines()) == 6
    assert neighbourhood(Graph(), graph.operations[0]).startswith("-> %NoOp = NoOp()")


def test_broken_operations_are_shown_as_far_as_they_can_be():
    with Graph().as_default() as graph:
        node = math.add(1.0, 2.0, name="sum").op
    node.args = ()
    assert "%sum = AddV2(...)  # cannot be shown: ValueError" in str(graph)
