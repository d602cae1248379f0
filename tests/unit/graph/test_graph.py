"""Finding elements, default graphs, finalizing, collections. Texts and outcomes were recorded from TensorFlow 2.21."""

from __future__ import annotations

import copy
import pickle
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import situs.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


# Elements.


@pytest.fixture
def a(graph):
    tf.split(tf.constant([1.0, 2.0]), 2, name="s")
    tf.no_op(name="n")
    return tf.constant(1.0, name="a")


def test_elements_are_found_by_what_stands_for_them(graph, a):
    v = tf.Variable(1.0, name="v")
    for key in ("a:0", b"a:0", a):
        assert graph.as_graph_element(key) is a
        assert graph.as_graph_element(key, allow_operation=False) is a
    for key in ("a", b"a", a.op):
        assert graph.as_graph_element(key) is a.op
        assert graph.as_graph_element(key, allow_tensor=False) is a.op
    assert graph.as_graph_element(v).name == "v:0"
    assert graph.get_tensor_by_name("s:1").value_index == 1
    assert graph.get_operation_by_name("n").type == "NoOp"


@pytest.mark.parametrize(
    ("key", "allowed", "error", "text"),
    [
        ("zz", {}, KeyError, "The name 'zz' refers to an Operation not in the graph."),
        (
            "zz:0",
            {},
            KeyError,
            "The name 'zz:0' refers to a Tensor which does not exist. The operation, 'zz', does not",
        ),
        ("a:1", {}, KeyError, "The operation, 'a', exists but only has 1 outputs."),
        ("n:0", {}, KeyError, "The operation, 'n', exists but only has 0 outputs."),
        ("a:x", {}, ValueError, "The name 'a:x' looks a like a Tensor name, but is not a valid one."),
        ("a", {"allow_operation": False}, ValueError, "The name 'a' refers to an Operation, not a Tensor."),
        ("zz", {"allow_operation": False}, ValueError, "looks like an (invalid) Operation name, not a Tensor."),
        ("a:0", {"allow_tensor": False}, ValueError, "The name 'a:0' appears to refer to a Tensor, not a Operation."),
        (3, {}, TypeError, "Can not convert a int into a Tensor or Operation."),
        (None, {"allow_operation": False}, TypeError, "Can not convert a NoneType into a Tensor."),
    ],
)
def test_what_is_no_element_is_explained(graph, a, key, allowed, error, text):
    with pytest.raises(error) as caught:
        graph.as_graph_element(key, **allowed)
    assert text in str(caught.value)


def test_names_of_the_wrong_kind_are_refused(graph, a):
    with pytest.raises(TypeError, match=r"Operation names are strings \(or similar\), not int"):
        graph.get_operation_by_name(3)
    with pytest.raises(TypeError, match=r"Tensor names are strings \(or similar\), not SymbolicTensor"):
        graph.get_tensor_by_name(a)
    with pytest.raises(ValueError, match="appears to refer to a Tensor"):
        graph.get_operation_by_name("a:0")


def test_elements_belong_to_one_graph(a):
    with tf.Graph().as_default() as other:
        b = tf.constant(1.0)
        with pytest.raises(ValueError, match="is not an element of this graph"):
            other.as_graph_element(a)
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.add(a, b)
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.stack([b, a])


# Tensors and operations.


def test_a_tensor_knows_where_it_comes_from_and_goes(graph, a):
    b = tf.add(a, a, name="b")
    assert b.graph is b.op.graph is graph
    assert b.op.inputs[0] is a
    assert b.op.outputs == [b]
    assert b.op.values() == (b,)
    assert b.op.type == "AddV2"
    assert [operation.name for operation in a.consumers()] == ["b"]
    assert b.consumers() == []
    assert b.op.get_attr("T") is tf.float32
    assert b.op.node_def.op == "AddV2"
    assert list(b.op.node_def.input) == ["a", "a"]
    assert "test_graph.py" in b.op.traceback.format()[-1]


def test_tensors_print_as_tensorflow_prints_them(a):
    p, q = tf.placeholder(tf.float32, [None, 3], name="p"), tf.placeholder(tf.int32, name="q")
    with tf.device("/cpu:0"):
        w = tf.constant([1.0], name="w")
    assert repr(a) == "<tf.Tensor 'a:0' shape=() dtype=float32>"
    assert str(a) == 'Tensor("a:0", shape=(), dtype=float32)'
    assert repr(p) == "<tf.Tensor 'p:0' shape=(None, 3) dtype=float32>"
    assert str(q) == 'Tensor("q:0", dtype=int32)'
    assert repr(q) == "<tf.Tensor 'q:0' shape=<unknown> dtype=int32>"
    assert str(w) == 'Tensor("w:0", shape=(1,), dtype=float32, device=/device:CPU:0)'
    assert repr(a.op) == "<tf.Operation 'a' type=Const>"


def test_shapes_are_learnt():
    p = tf.placeholder(tf.float32, [None, 3])
    p.set_shape([2, None])
    assert p.shape.as_list() == [2, 3]
    p.set_shape(None)
    assert p.get_shape().as_list() == [2, 3]
    with pytest.raises(ValueError, match="incompatible"):
        p.set_shape([4, 3])
    with pytest.raises(ValueError, match="as_list"):
        tf.placeholder(tf.float32).shape.as_list()


@pytest.mark.parametrize(
    "use",
    [
        bool,
        lambda t: 1 if t else 2,
        lambda t: t and t,
        lambda t: not t,
        len,
        list,
        float,
        int,
        range,
        np.array,
        lambda t: np.add(t, 1),
        lambda t: [1, 2][t],
        pickle.dumps,
    ],
)
def test_a_tensor_has_no_value_before_the_graph_runs(a, use):
    with pytest.raises(TypeError):
        use(a)


def test_programs_can_tell_tensors_without_values_apart(a):
    assert not hasattr(a, "numpy")
    with pytest.raises(AttributeError, match=r"Fetch it with session\.run"):
        a.numpy()


def test_tensors_are_compared_by_identity(a):
    b = tf.constant(1.0)
    assert a == a
    assert a != b
    assert a in [b, a]
    assert {a: 1, b: 2}[a] == 1
    assert copy.copy(a) is copy.deepcopy([a])[0] is a


# Default graphs.


def test_default_graphs_nest(graph):
    other = tf.Graph()
    with other.as_default() as entered:
        assert entered is tf.get_default_graph() is other
        with graph.as_default():
            assert tf.constant(1.0).graph is graph
        assert tf.constant(1.0).graph is other
        with pytest.raises(AssertionError, match="to clear nested graphs"):
            tf.reset_default_graph()
    assert tf.get_default_graph() is graph


def test_a_new_thread_builds_into_the_graph_of_the_process(graph):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
    thread.start()
    thread.join()
    assert seen[0] is not graph


def test_threads_may_build_different_graphs_at_once():
    graphs, barrier = [tf.Graph() for _ in range(4)], threading.Barrier(4)

    def build(graph, count):
        with graph.as_default():
            barrier.wait()
            for _ in range(count):
                tf.constant(1.0)

    threads = [threading.Thread(target=build, args=(g, 10 * (i + 1))) for i, g in enumerate(graphs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(g) for g in graphs] == [10, 20, 30, 40]


def test_resetting_gives_a_new_graph(run_python):
    printed = run_python(
        """
import situs.compat.v1 as tf
a, first = tf.constant(1.0), tf.get_default_graph()
tf.reset_default_graph()
b = tf.constant(2.0)
print(b.name, b.graph is first, len(tf.get_default_graph()), tf.Session().run(b))
"""
    )
    assert printed.strip() == "Const:0 False 1 2.0"


# The end of building.


def test_a_finalized_graph_does_not_change(graph):
    c, v = tf.constant(1.0), tf.Variable(1.0)
    graph.add_to_collection("k", 1)
    graph.finalize()
    graph.finalize()
    assert graph.finalized
    size = len(graph)
    for change in (
        lambda: tf.constant(1.0),
        lambda: c + 1.0,
        tf.no_op,
        lambda: tf.Variable(1.0),
        lambda: graph.add_to_collection("k", 2),
        lambda: graph.clear_collection("k"),
        lambda: v.assign(2.0),
    ):
        with pytest.raises(RuntimeError) as caught:
            change()
        assert str(caught.value) == "Graph is finalized and cannot be modified."
    assert len(graph) == size
    assert graph.get_collection("k") == [1]
    assert tf.Session().run(c) == 1.0


# Collections.


def named(items):
    return [getattr(item, "name", item) for item in items]


def test_collections_keep_what_they_are_given(graph):
    for item in (1, 2, 1):
        tf.add_to_collection("k", item)
    tf.get_collection("k").append(9)  # a copy
    assert tf.get_collection("k") == [1, 2, 1]
    tf.get_collection_ref("k").append(5)
    assert tf.get_collection("k") == [1, 2, 1, 5]
    assert tf.get_collection("none") == []
    tf.get_collection_ref("new").append(1)
    assert {"k", "new"} <= set(graph.get_all_collection_keys())
    graph.clear_collection("k")
    graph.clear_collection("never")
    assert tf.get_collection("k") == []


def test_several_collections_at_once(graph):
    graph.add_to_collections(["p", "q", "p"], 7)
    graph.add_to_collections("pq", 8)
    graph.add_to_collections({"s"}, 9)
    assert [tf.get_collection(name) for name in ("p", "q", "pq", "s")] == [[7], [7], [8], [9]]
    with pytest.raises(TypeError):
        graph.add_to_collections(3, 1)
    with pytest.raises(TypeError):
        graph.add_to_collection([1], 1)


def test_a_scope_filters_by_name():
    with tf.name_scope("s"):
        v, c = tf.Variable(1.0, name="v"), tf.constant(1.0, name="c")
    for item in (c, v, 3):
        tf.add_to_collection("m", item)
    assert named(tf.get_collection("m")) == ["s/c:0", "s/v:0", 3]
    assert named(tf.get_collection("m", "s")) == ["s/c:0", "s/v:0"]
    assert named(tf.get_collection("m", "s/v")) == ["s/v:0"]
    assert named(tf.get_collection("m", scope=".*v")) == ["s/v:0"]
    tf.add_to_collection("m", SimpleNamespace(name=None))
    assert named(tf.get_collection("m", "s/v")) == ["s/v:0"]


def test_variables_join_their_collections():
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(1.0, name="w", trainable=False)
    x = tf.Variable(1.0, name="x", collections=["mine"])
    assert tf.global_variables() == [v, w]
    assert tf.trainable_variables() == [v, x]
    assert tf.get_collection("mine") == [x]
    assert tf.GraphKeys.GLOBAL_VARIABLES == "variables"
