"""Variables of graphs: their operations, their state in sessions, and how they are changed."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import situs as eager_tf
import situs.compat.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def names(graph):
    return [op.name for op in graph.get_operations()]


# What a variable is made of.


def test_a_variable_is_four_operations(graph):
    a = tf.Variable(3.0, name="a")
    assert [(op.name, op.type) for op in graph.get_operations()] == [
        ("a/initial_value", "Const"),
        ("a", "Variable"),
        ("a/Assign", "Assign"),
        ("a/read", "Identity"),
    ]
    located = {op.name: op.colocation_groups() for op in graph.get_operations()}
    assert located["a/Assign"] == located["a/read"] == [b"loc:@a"]
    assert (a.name, a.op.name, a.initializer.name, a.initial_value.name) == (
        "a:0",
        "a",
        "a/Assign",
        "a/initial_value:0",
    )
    assert repr(a) == "<tf.Variable 'a:0' shape=() dtype=float32_ref>"


def test_variables_without_names_are_numbered(graph):
    assert [tf.Variable(1.0).name for _ in range(3)] == ["Variable:0", "Variable_1:0", "Variable_2:0"]
    with tf.name_scope("x"):
        assert tf.Variable(1.0, name="a").name == "x/a:0"
        assert tf.Variable(1.0, name="a").name == "x/a_1:0"


def test_a_list_is_an_initial_value_of_the_variable_too(graph):
    with tf.name_scope("x"):
        tf.Variable([1.0, 2.0], name="a")
    assert names(graph) == ["x/a/initial_value", "x/a", "x/a/Assign", "x/a/read"]


def test_device_functions_are_asked_about_the_state_and_its_initial_value_only(graph):
    seen = []

    def where(op):
        seen.append(op.name)
        return "/cpu:0"

    with tf.device(where):
        a = tf.Variable(3.0, name="a")
        tf.Variable(lambda: tf.zeros([2]), name="b")
        a.assign_add(1.0)
    assert seen == ["a/initial_value", "a", "b", "AssignAdd/value"]
    assert {op.device for op in graph.get_operations() if op.name.startswith("a")} == {"/cpu:0"}


def test_what_a_function_computes_is_colocated_with_the_variable_and_asks_for_no_device(graph):
    with tf.device("/gpu:1"):
        tf.Variable(lambda: tf.zeros([2]) + 1.0, name="v")
    inside = [op for op in graph.get_operations() if op.name.startswith("v/Initializer/")]
    assert len(inside) >= 2
    assert {(op.device, *op.colocation_groups()) for op in inside} == {("", b"loc:@v")}
    assert graph.get_operation_by_name("v").device == "/device:GPU:1"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        placed = sess.placement()
        assert {placed[op].device.name[-5:] for op in inside} == {"GPU:1"}


def test_only_the_read_goes_to_the_caching_device(graph):
    with tf.device("/gpu:0"):
        tf.Variable(1.0, name="v", caching_device="/cpu:0")
    assert graph.get_operation_by_name("v/read").device == "/device:CPU:0"
    assert graph.get_operation_by_name("v/Assign").device == "/device:GPU:0"


def test_a_variable_waits_for_nothing_but_what_reads_or_changes_it_does(graph):
    with tf.control_dependencies([tf.no_op(name="n")]):
        v = tf.Variable(1.0, name="v")
        v.read_value()
        v.assign(2.0)
    waiting = [op.name for op in graph.get_operations() if op.control_inputs]
    assert waiting == ["read", "Assign/value"]


def test_collections_hold_the_variable(graph):
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b", trainable=False)
    c = tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    d = tf.Variable(1.0, collections=[])
    assert tf.global_variables() == [a, b]
    assert tf.trainable_variables() == [a, d]
    assert tf.local_variables() == [c]
    assert tf.global_variables(scope="b") == [b]


# Values.


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (3, tf.int32),
        (3, tf.uint32),
        ([1, 2], tf.int64),
        ("text", tf.string),
        (True, tf.bool),
        (1 + 2j, tf.complex64),
        ([0.5, 1.5], tf.float16),
        (np.zeros((0, 3)), tf.float64),
    ],
)
def test_variables_of_all_kinds_hold_what_they_are_given(graph, value, dtype):
    v = tf.Variable(value, dtype=dtype)
    with tf.Session() as sess:
        sess.run(v.initializer)
        expected = np.asarray([b"text"], object)[0] if dtype == tf.string else np.asarray(value, dtype.as_numpy_dtype)
        np.testing.assert_array_equal(sess.run(v), expected)


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint16, tf.uint32, tf.int32, tf.uint64, tf.float64, tf.complex128])
def test_numbers_of_every_kind_are_added_and_subtracted(graph, dtype):
    v = tf.Variable([5, 7], dtype=dtype)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(v.assign_add([2, 3])).tolist() == [7, 10]
        assert sess.run(v.assign_sub([1, 1])).tolist() == [6, 9]


def test_every_session_has_values_of_its_own(graph):
    v = tf.Variable(1.0)
    bump = v.assign_add(1.0)
    with tf.Session() as one, tf.Session() as two:
        one.run(v.initializer)
        two.run(v.initializer)
        one.run(bump)
        assert (one.run(v), two.run(v)) == (2.0, 1.0)


def test_a_variable_without_a_value_is_refused_by_name(graph):
    v = tf.Variable(1.0, name="vr")
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value vr") as info:
            sess.run(v + 1.0)
        assert "vr/read" in str(info.value)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value vr"):
            sess.run(v.assign_add(1.0))
        assert not sess.run(tf.is_variable_initialized(v))
        sess.run(v.assign(4.0))
        assert sess.run(tf.is_variable_initialized(v))
        assert sess.run(v) == 4.0


def test_assignments_give_the_state_afterwards_or_their_operation(graph):
    v = tf.Variable(1.0)
    tensor = v.assign(5.0, name="put")
    operation = v.assign_sub(1.0, read_value=False)
    assert (tensor.name, tensor.op.type, operation.type) == ("put:0", "Assign", "AssignSub")
    with tf.Session() as sess:
        assert sess.run(tensor) == 5.0
        assert sess.run(operation) is None
        assert sess.run(v) == 4.0


def test_control_dependencies_order_changes_and_reads(graph):
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign(10.0)]):
        added = v.assign_add(1.0)
        with tf.control_dependencies([added]):
            last = v.read_value() * 2.0
    with tf.Session() as sess:
        assert sess.run(last) == 22.0


def test_a_variable_can_be_changed_in_a_branch(graph):
    v = tf.Variable(1.0)
    choose = tf.placeholder(tf.bool, [])
    chosen = tf.cond(choose, lambda: v.assign_add(1.0), lambda: v.assign(5.0))
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(chosen, {choose: True}) == 2.0
        assert sess.run(chosen, {choose: False}) == 5.0
        assert sess.run(v) == 5.0


def test_what_is_assigned_stays_where_the_scope_puts_it(graph):
    with tf.device("/gpu:1"):
        v = tf.Variable(1.0, name="v")
    with tf.device("/cpu:0"):
        added = v.assign_add(1.0)
    assert added.op.inputs[1].op.device == "/device:CPU:0"
    assert (added.op.device, added.op.colocation_groups()) == ("/device:GPU:1", [b"loc:@v"])


def test_eight_threads_add_and_nothing_is_lost(graph):
    v = tf.Variable(np.zeros(4), dtype=tf.float64)
    bump = v.assign_add(np.ones(4))
    with tf.Session() as sess:
        sess.run(v.initializer)

        def work():
            for _ in range(100):
                sess.run(bump.op)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sess.run(v).tolist() == [800.0] * 4


def test_load_puts_a_value_in_place(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    with tf.Session() as sess:
        v.load([3.0, 4.0], sess)
        assert v.eval().tolist() == [3.0, 4.0]
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor v/initial_value:0"):
            v.load([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="No default session"):
        v.load([3.0, 4.0])


def test_count_up_to_stops_at_its_limit(graph):
    v = tf.Variable(0, name="c")
    count = v.count_up_to(3)
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert [sess.run(count) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 3"):
            sess.run(count)
        assert sess.run(v) == 3
    with pytest.raises(TypeError):
        tf.Variable(0.0).count_up_to(3)
    with pytest.raises(TypeError, match="'limit'"):
        tf.Variable(0).count_up_to("a")


def test_variables_without_values_are_reported(graph):
    a = tf.Variable(1.0, name="a")
    tf.Variable(1.0, name="b", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    report = tf.report_uninitialized_variables()
    none = tf.report_uninitialized_variables([])
    with tf.Session() as sess:
        assert sess.run(report).tolist() == [b"a", b"b"]
        sess.run(a.initializer)
        assert sess.run(report).tolist() == [b"b"]
        assert sess.run(none).tolist() == []


def test_eager_variables_have_values_in_graphs_too():
    v = eager_tf.Variable(1.0)
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.is_variable_initialized(v))
        assert sess.run(tf.report_uninitialized_variables([v])).tolist() == []


# Initial values that depend on variables.


def test_the_initialized_value_is_the_value_or_the_initial_one(graph):
    v = tf.Variable(1.0)
    known = v.initialized_value()
    with tf.Session() as sess:
        assert sess.run(known) == 1.0
        sess.run(v.assign(7.0))
        assert sess.run(known) == 7.0


def test_variables_may_begin_with_what_others_begin_with(graph):
    a = tf.Variable(3.0, name="a")
    doubled = a * 2.0
    b = tf.Variable(doubled, name="b")
    c = tf.Variable(tf.add_n(tf.unstack(tf.stack([a, b]))), name="c")
    d = tf.Variable(c, name="d")
    with tf.Session() as sess:
        sess.run(d.initializer)  # needs none of the others
        sess.run(c.initializer)
        sess.run(b.initializer)
        assert [sess.run(v) for v in (b, c, d)] == [6.0, 9.0, 9.0]
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value a"):
            sess.run(doubled)
        sess.run(a.assign(10.0))
        sess.run(b.initializer)
        assert sess.run(b) == 20.0


def test_copies_of_initial_values_get_names_that_nothing_has(graph):
    a = tf.Variable(3.0, name="a")
    tf.constant(1.0, name="twice_b")
    tf.Variable(tf.multiply(a, 2.0, name="twice"), name="b")
    tf.constant(1.0, name="twice_b")
    assert len(set(names(graph))) == len(names(graph))


# Shapes.


def test_a_variable_keeps_its_shape(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    with pytest.raises(ValueError, match=r"Dimension 0 in both shapes must be equal, but are 2 and 3"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="Shapes must be equal rank, but are 1 and 0"):
        v.assign_add(1.0)
    fed = tf.placeholder(tf.float32)
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"lhs shape= \[2\] rhs shape= \[3\]"):
            sess.run(v.assign(fed), {fed: [1.0, 2.0, 3.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be the same size"):
            sess.run(v.assign_add(fed), {fed: 3.0})
        assert sess.run(v).tolist() == [1.0, 2.0]


def test_a_variable_without_a_fixed_shape_takes_others(graph):
    first = tf.placeholder_with_default([1.0, 2.0], None)
    with pytest.raises(ValueError, match="initial_value must have a shape specified"):
        tf.Variable(first)
    v = tf.Variable(first, validate_shape=False)
    assert v.shape.rank is None
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([v + 1.0, tf.shape(v)])[1].tolist() == [2]
        sess.run(v.assign(tf.placeholder_with_default([1.0, 2.0, 3.0], None)))
        assert sess.run(v).tolist() == [1.0, 2.0, 3.0]


# Mistakes.


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.Variable(), ValueError, "initial_value must be specified"),
        (lambda: tf.Variable([[1, 2], [3]]), ValueError, "non-rectangular"),
        (lambda: tf.Variable(tf.constant(1.0), dtype=tf.int32), (TypeError, ValueError), "int32"),
        (lambda: tf.Variable(1.0, collections="abc"), ValueError, "must be a list, tuple, or set"),
        (lambda: tf.Variable(1.0, name="a b"), ValueError, "a b"),
        (lambda: tf.Variable([1, 2]).assign([1.5, 2]), TypeError, "int32"),
        (lambda: tf.Variable(1.0).assign(tf.constant(1)), TypeError, "int32"),
        (lambda: tf.Variable("a").assign_add("b"), TypeError, "string"),
        (lambda: tf.Variable(True).assign_add(False), TypeError, "bool"),
        (lambda: iter(tf.Variable([1.0])), TypeError, "not iterable"),
        (lambda: len(tf.Variable([1.0])), TypeError, "len"),
    ],
)
def test_mistakes_are_refused_when_the_graph_is_built(graph, make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_variable_is_itself_and_its_sum_is_a_tensor(graph):
    v = tf.Variable([1.0, 2.0])
    assert v == v
    assert v != tf.Variable([1.0, 2.0])
    assert len({v, v}) == 1
    w = v
    w += 1.0
    assert isinstance(w, tf.Tensor)
    assert v[0].shape.rank == 0


# Eager variables in graphs.


def test_graphs_and_eager_code_share_eager_variables():
    v = eager_tf.Variable([1.0, 2.0], name="shared")
    with tf.Graph().as_default(), tf.Session() as sess:
        doubled = v * 2.0
        change = tf.convert_to_tensor(v) + 1.0
        assert sess.run(doubled).tolist() == [2.0, 4.0]
        v.assign
        assert sess.run(change).tolist() == [2.0, 3.0]
        assert sess.run(v.assign_add([1.0, 1.0])).tolist() == [2.0, 3.0]
    assert v.numpy().tolist() == [2.0, 3.0]
    v.assign([5.0, 6.0])
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        again = v + v
        assert sess.run(again).tolist() == [10.0, 12.0]
        assert sum(op.type == "Variable" for op in graph.get_operations()) == 1


def test_graphs_are_freed_with_the_eager_variables_they_used():
    v = eager_tf.Variable(1.0)
    with tf.Graph().as_default() as graph:
        v + 1.0
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_a_cached_copy_is_read_before_the_variable_changes(graph):
    v = tf.Variable(0.0, caching_device="/cpu:0", use_resource=True)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for change in range(3):
            value, _ = sess.run([v, v.assign_add(1.0)])
            assert value == change


def test_whether_it_is_trainable_is_whatever_is_true_of_it():
    """Early programs give the dtype there: ``tf.Variable([0.3], tf.float32)``, which TensorFlow takes."""
    with tf.Graph().as_default():
        assert tf.Variable([0.3], tf.float32).trainable is True
        assert tf.Variable([0.3], 0).trainable is False
        assert len(tf.trainable_variables()) == 1
