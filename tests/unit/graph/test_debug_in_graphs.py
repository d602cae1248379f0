"""Assertions and printing in graphs: operations whose effect comes when they run."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.ir.graph.node import Operation
from situs.errors import InvalidArgumentError

FAILING = [  # an assertion about x, and what its failure says
    (lambda x: tf.Assert(tf.reduce_all(x > 0), ["x is", x], name="check"), r"assertion failed: \[x is\] \[1 -2 3\]"),
    (lambda x: tf.assert_equal(x, [1.0, 2.0, 3.0], name="check"), r"x == y did not hold .* \[1 -2 3\]"),
    (lambda x: tf.assert_less(x, 2.0, message="too much", name="check"), r"\[too much\] \[Condition x < y"),
    (lambda x: tf.assert_positive(x, name="check"), r"Condition x > 0 did not hold"),
    (lambda x: tf.assert_near(x, x + 1.0, name="check"), r"not equal to tolerance"),
    (lambda x: tf.assert_none_equal(x, [9.0, -2.0, 9.0], name="check"), r"x != y did not hold"),
    (lambda x: tf.assert_greater_equal(x, 0.0, data=["own data", x], name="check"), r"\[own data\] \[1 -2 3\]"),
    (lambda x: tf.check_numerics(x / (x - 1.0), "bad", name="check"), r"bad : Tensor had Inf values"),
]


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
@pytest.mark.parametrize(("make", "message"), FAILING)
def test_a_failing_assertion_names_its_node(make, message, device):
    for shape in ([3], None):
        with tf.Graph().as_default(), tf.device(f"/{device}"), tf.Session() as sess:
            x = tf.placeholder(tf.float32, shape)
            check = make(x)
            with pytest.raises(InvalidArgumentError, match=f"(?s){message}.*node check") as caught:
                sess.run(check, {x: [1, -2, 3]})
            assert caught.value.op.name == "check"


def test_control_dependencies_make_a_result_wait_for_an_assertion():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32)
        with tf.control_dependencies([tf.Assert(x > 0, [x])]):
            y = x * 2
        assert sess.run(y, {x: 2}) == 4
        with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[-1\]"):
            sess.run(y, {x: -1})


def test_an_assertion_is_an_operation_even_of_a_python_value():
    with tf.Graph().as_default(), tf.Session() as sess:
        good, bad = tf.Assert(True, ["x"]), tf.Assert(False, ["x"])
        assert isinstance(good, Operation)
        assert sess.run(good) is None
        with pytest.raises(InvalidArgumentError, match="assertion failed"):
            sess.run(bad)


AT_ONCE = [  # what can be told before the graph runs
    (lambda: tf.assert_equal(tf.constant([1, 2]), [1, 3]), InvalidArgumentError, r"x == y did not hold"),
    (lambda: tf.assert_less(3, 2), InvalidArgumentError, r"x < y did not hold"),
    (lambda: tf.assert_positive(tf.constant(-1.0)), InvalidArgumentError, r"x > 0 did not hold"),
    (lambda: tf.assert_rank(tf.placeholder(tf.float32, [2, None]), 1), ValueError, r"must have rank 1.*rank 2"),
    (lambda: tf.assert_rank_at_least(tf.placeholder(tf.float32, [2]), 2), ValueError, r"must have rank at least 2"),
    (lambda: tf.assert_rank_in(tf.placeholder(tf.float32, [2]), [0, 2]), ValueError, r"must have rank in \(0, 2\)"),
    (lambda: tf.assert_scalar(tf.placeholder(tf.float32, [1])), ValueError, r"Expected scalar shape"),
    (lambda: tf.assert_type(tf.placeholder(tf.float32), tf.int32), TypeError, r"must be of type"),
    (lambda: tf.assert_integer(tf.placeholder(tf.float32)), TypeError, r"integer type"),
    (
        lambda: tf.debugging.assert_shapes([(tf.placeholder(tf.float32, [2, 3]), ("N", "N"))]),
        ValueError,
        r"must have size 2.*Received size 3",
    ),
    (lambda: tf.Assert(True, 3), TypeError, r"data of an assertion is a list"),
    (lambda: tf.Assert(tf.placeholder(tf.bool, [2]), ["x"]), ValueError, r"condition of an assertion is a scalar"),
]


@pytest.mark.parametrize(("make", "kind", "message"), AT_ONCE)
def test_what_is_known_to_be_wrong_is_refused_at_once(make, kind, message):
    with tf.Graph().as_default(), pytest.raises(kind, match=f"(?s){message}"):
        make()


LATER = [  # an assertion about a tensor of unknown shape, and a value that breaks it
    (lambda x: tf.assert_rank(x, 1), [[1.0]], r"must have rank 1"),
    (lambda x: tf.assert_rank(x, tf.size(x)), [1.0, 2.0], r"must have rank"),
    (lambda x: tf.assert_rank_at_least(x, 2), [1.0], r"rank at least 2"),
    (lambda x: tf.assert_rank_in(x, [0, 2]), [1.0], r"rank in \(0, 2\)"),
    (lambda x: tf.debugging.assert_shapes([(x, ("N", "N"))]), [[1.0, 2.0]], r"must have size"),
    (lambda x: tf.debugging.assert_shapes([(x, (..., 3))]), [[1.0, 2.0]], r"must have size"),
]


@pytest.mark.parametrize(("make", "value", "message"), LATER)
def test_shapes_that_are_not_known_are_checked_when_the_graph_runs(make, value, message):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32)
        with pytest.raises(InvalidArgumentError, match=message):
            sess.run(make(x), {x: value})


def test_checks_that_were_made_are_operations_to_depend_on():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.int32, [2])
        checks = [tf.assert_rank(x, 1), tf.assert_type(x, tf.int32), tf.assert_integer(x)]
        checks.append(tf.debugging.assert_shapes([(x, ("N",))]))
        assert all(isinstance(check, Operation) for check in checks)
        with tf.control_dependencies(checks):
            assert sess.run(x + 1, {x: [1, 2]}).tolist() == [2, 3]


# Printing.


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
def test_print_is_an_operation_that_prints_when_it_runs(capfd, device):
    with tf.Graph().as_default(), tf.device(f"/{device}"), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None])
        shown = tf.print("x =", x, {"n": tf.size(x)}, output_stream=sys.stdout)
        assert isinstance(shown, Operation)
        assert capfd.readouterr().out == ""
        for _ in range(2):
            sess.run(shown, {x: [1, 2.5]})
        assert capfd.readouterr().out == "x = [1 2.5] {'n': 2}\n" * 2


def test_print_of_constants_and_of_no_tensor(capfd):
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run([tf.print("hello", 3), tf.print(tf.constant("as it is"))])
        assert sorted(capfd.readouterr().err.splitlines()) == ["as it is", "hello 3"]


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
def test_print_of_tensorflow_1_passes_its_input_through(capfd, device):
    with tf.Graph().as_default(), tf.device(f"/{device}"), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        y = tf.Print(x, [x, tf.shape(x)], message="x: ", first_n=2, summarize=1, name="shown")
        assert y.op.name == "shown"
        assert y.shape == [2]
        for turn in range(3):
            np.testing.assert_array_equal(sess.run(y * 2, {x: [turn, 5]}), [2 * turn, 10])
        assert capfd.readouterr().err == "x: [0...][2]\nx: [1...][2]\n"


def test_text_of_tensors_is_formatted_when_the_graph_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.int32)
        text = tf.strings.format("x is {}, twice {}", (x, x * 2), name="text")
        assert text.op.name == "text"
        assert sess.run(text, {x: [[1, 2], [3, 4]]}) == b"x is [[1 2]\n [3 4]], twice [[2 4]\n [6 8]]"
