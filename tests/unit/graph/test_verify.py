"""Graphs that are broken on purpose, one invariant at a time."""

from __future__ import annotations

import re

import pytest

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import tensors_in
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.graph.verify import verify, verify_operation
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.ops import array, control, linalg, math
from situs._src.ops.constant import constant
from situs._src.ops.join import concat
from situs._src.ops.loop import while_loop
from situs._src.ops.placeholder import placeholder
from situs._src.variables import state_ops
from situs.errors import InternalError, InvalidArgumentError


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        a = constant([[1.0, 2.0]], name="a")
        b = math.add(a, 1.0, name="b")
        with graph.control_dependencies([b.op.inputs[1]]):
            c = linalg.matmul(a, b, transpose_b=True, name="c")
        n = placeholder(dt.int32, [], name="n")
        array.reshape(c, [n, 1], name="d")
        concat([a, b], 0, name="e")
        p = placeholder(dt.bool, [], name="p")
        control.cond(p, lambda: math.add(c, 1.0, name="sum"), lambda: c, name="branch")
        while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * c), [0, c], name="loop")
    return graph


def node(graph, name):
    return graph.get_operation_by_name(name)


def test_graphs_that_ops_built_are_sound(graph):
    graph.verify()
    for operation in graph.operations:
        verify_operation(operation)


def test_an_empty_graph_is_sound():
    verify(Graph())


def test_a_finalized_graph_is_verified_as_any_other(graph):
    graph.finalize()
    graph.verify()


def unknown_name(graph):
    graph._by_name["ghost"] = node(graph, "a")


def wrong_name(graph):
    graph._by_name["a"], graph._by_name["b"] = graph._by_name["b"], graph._by_name["a"]


def wrong_place(graph):
    node(graph, "b").index = 17


def wrong_graph(graph):
    node(graph, "b").graph = Graph()


def result_of_another(graph):
    node(graph, "a").outputs[0].op = node(graph, "b")


def result_misnumbered(graph):
    node(graph, "a").outputs[0].value_index = 1


def inputs_unlike_args(graph):
    node(graph, "c").inputs = node(graph, "c").inputs[:1]


def set_args(operation, *args):
    operation.args, operation.inputs = args, tuple(tensors_in(args))


def input_of_another_graph(graph):
    with Graph().as_default():
        set_args(node(graph, "b"), constant(1.0), node(graph, "a").outputs[0])


def input_of_a_later_one(graph):
    set_args(node(graph, "b"), node(graph, "a").outputs[0], node(graph, "c").outputs[0])


def input_that_is_no_result(graph):
    stray = SymbolicTensor(node(graph, "a"), 0, dt.float32, TensorShape([1, 2]), False)
    set_args(node(graph, "b"), stray, node(graph, "b/y").outputs[0])


def input_of_a_removed_one(graph):
    graph._operations[0] = node(graph, "n")


def consumer_missing(graph):
    node(graph, "a").consumers.remove(node(graph, "c"))


def consumer_twice(graph):
    node(graph, "a").consumers.append(node(graph, "c"))


def consumer_invented(graph):
    node(graph, "d").consumers.append(node(graph, "e"))


def follower_missing(graph):
    node(graph, "b/y").followers.clear()


def follower_invented(graph):
    node(graph, "b").followers.append(node(graph, "e"))


def control_input_later(graph):
    node(graph, "a").control_inputs = (node(graph, "c"),)


def control_input_twice(graph):
    node(graph, "c").control_inputs *= 2


def control_input_of_another_graph(graph):
    with Graph().as_default():
        node(graph, "c").control_inputs = (constant(1.0).op,)


def device_no_text(graph):
    node(graph, "c").device = 3


def colocations_no_names(graph):
    node(graph, "c").colocated_with = (node(graph, "a"),)


def too_few_inputs(graph):
    set_args(node(graph, "b"), node(graph, "a").outputs[0])


def no_list(graph):
    set_args(node(graph, "e"), node(graph, "a").outputs[0], 0)


def no_tensor(graph):
    set_args(node(graph, "b"), node(graph, "a").outputs[0], 1.0)


def dtype_unbound(graph):
    node(graph, "b").types = {}


def dtype_not_allowed(graph):
    node(graph, "c").types = {"T": dt.string}


def dtype_unlike_input(graph):
    node(graph, "b").types = {"T": dt.float64}


def dtype_unlike_result(graph):
    node(graph, "b").outputs[0]._dtype = dt.float64


def result_missing(graph):
    node(graph, "d").outputs.clear()


def result_is_state(graph):
    node(graph, "d").outputs[0].is_ref = True


def shape_unlike_rule(graph):
    node(graph, "b").outputs[0]._shape = TensorShape([7, 7])


def inner_of(graph, name, part):
    return node(graph, name).attrs[part]


def inner_elsewhere(graph):
    inner_of(graph, "branch", "then_branch").outer = Graph()


def inner_capture_no_input(graph):
    set_args(node(graph, "branch"), node(graph, "p").outputs[0], [])


def inner_broken(graph):
    inner_of(graph, "branch", "then_branch").get_operation_by_name("sum").index = 9


def inner_result_of_another_dtype(graph):
    inner = inner_of(graph, "branch", "else_branch")
    with inner.as_default():
        inner.results = [constant(1)]


def inner_argument_missing(graph):
    inner_of(graph, "loop", "cond").arguments.pop()


def inner_result_outside(graph):
    inner_of(graph, "branch", "else_branch").results = list(node(graph, "c").outputs)


def inner_capture_of_another_dtype(graph):
    inner = inner_of(graph, "branch", "else_branch")
    inside = next(iter(inner.captures.values()))
    inside._shape = TensorShape([5, 5])


def inner_stray_argument(graph):
    inner = inner_of(graph, "branch", "then_branch")
    inner.add_argument(dt.float32, TensorShape([]))
    inner.arguments.clear()


@pytest.mark.parametrize(
    ("break_it", "said", "culprit"),
    [
        (unknown_name, "operations and .* names; without operation: ..ghost", None),
        (wrong_name, "under its name the graph finds <tf.Operation 'b'", "a"),
        (wrong_place, "it is operation 2 of the graph and says it is 17", "b"),
        (wrong_graph, "says it belongs to <Graph of 0 operations>", "b"),
        (result_of_another, "result 0 says it belongs to <tf.Operation 'b'", "a"),
        (result_misnumbered, "result 0 says it is result 1", "a"),
        (inputs_unlike_args, "its inputs are not the tensors in its args", "c"),
        (input_of_another_graph, "its input Const:0 belongs to another graph", "b"),
        (input_of_a_later_one, "its input c:0 is operation 3, and not made before operation 2", "b"),
        (input_that_is_no_result, "input a:0 is no result of that operation", "b"),
        (input_of_a_removed_one, "operation 0 of the graph and says it is", "n"),
        (consumer_missing, "'c' stands 0 times among its consumers, not 1", "a"),
        (consumer_twice, "'c' stands 2 times among its consumers, not 1", "a"),
        (consumer_invented, "'e' stands 1 times among its consumers, not 0", "d"),
        (follower_missing, "'c' stands 0 times among its followers, not 1", "b/y"),
        (follower_invented, "'e' stands 1 times among its followers, not 0", "b"),
        (control_input_later, "control input .c is operation 3, and not made before operation 0", "a"),
        (control_input_twice, "it waits twice for the same operation", "c"),
        (control_input_of_another_graph, "control input .Const belongs to another graph", "c"),
        (device_no_text, "its device request is no text, but 3", "c"),
        (colocations_no_names, "its colocations are no names", "c"),
        (too_few_inputs, r"the op takes 2 inputs \(x: T, y: T -> .*\), it has 1", "b"),
        (no_list, "input 'values' is a list", "e"),
        (no_tensor, "input 'y' is no tensor of a graph, but 1.0", "b"),
        (dtype_unbound, "it has no dtype for 'T'", "b"),
        (dtype_not_allowed, "the op does not allow T = string", "c"),
        (dtype_unlike_input, "input 'x' is float32, not float64 as x: T", "b"),
        (dtype_unlike_result, "result 0 is float64, not float32", "b"),
        (result_missing, "the op has 1 results .*, it has 0", "d"),
        (result_is_state, "result 0 is state, unlike the op declares", "d"),
        (shape_unlike_rule, r"result 0 has the shape \(7, 7\), its shape rule says \(1, 2\)", "b"),
        (inner_elsewhere, "its then_branch lies in <Graph of 0 operations>", "branch"),
        (inner_capture_no_input, "its then_branch captures c:0, which is not among its inputs", "branch"),
        (inner_broken, "Inside then_branch of 'branch': Operation 'sum'.* says it is 9", "sum"),
        (inner_result_of_another_dtype, r"its else_branch gives \(int32\), the operation \(float32\)", "branch"),
        (inner_argument_missing, "is an argument or captured, and nothing else is", "loop_var_1"),
        (inner_result_outside, "c:0 comes into or out of <FunctionGraph of 1 operations>", None),
        (inner_capture_of_another_dtype, r"it stands for c:0, which is float32\[1, 1\]", "c"),
        (inner_stray_argument, "is an argument or captured, and nothing else is", "arg"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_invariant_is_named_and_shown(graph, break_it, said, culprit):
    break_it(graph)
    with pytest.raises(InternalError) as caught:
        graph.verify()
    assert re.search(said, str(caught.value)), caught.value
    if culprit is not None:
        assert re.search(rf"^-> %{culprit} ", str(caught.value), re.MULTILINE), caught.value


def test_the_neighbourhood_of_the_fault_is_shown(graph):
    wrong_place(graph)
    with pytest.raises(InternalError) as caught:
        graph.verify()
    lines = str(caught.value).splitlines()
    shown = lines[lines.index("") + 1 :]
    assert [line[3:].split(" ")[0] for line in shown] == ["%a", "%b/y", "%b", "%c", "%n", "%d", "%e", "%p"]
    assert sum(line.startswith("->") for line in shown) == 1


def test_state_is_told_from_values():
    with Graph().as_default() as graph:
        ref = state_ops.variable(shape=TensorShape([2]), shared_name="v", dtype=dt.float32)
        state_ops.assign(ref, constant([1.0, 2.0]))
        graph.verify()
        ref.is_ref = False
        with pytest.raises(InternalError, match="result 0 is not state"):
            graph.verify()


@pytest.mark.parametrize("sizes", [3, "n"])
def test_the_rule_decides_only_where_host_inputs_are_known(sizes):
    strict = Op("Strict", parse_signature("sizes: host -> float32"), {}, {}, stateful=False)

    @strict.shape
    def _(sizes):
        raise InvalidArgumentError("I take nothing")

    with Graph().as_default() as graph:
        value = placeholder(dt.int32, []) if sizes == "n" else sizes
        graph.add(strict, (value,), {}, {}, [(strict.outputs[0], dt.float32, TensorShape(None))])
    if sizes == "n":
        graph.verify()
    else:
        with pytest.raises(InternalError, match="its shape rule refuses the inputs: I take nothing"):
            graph.verify()
