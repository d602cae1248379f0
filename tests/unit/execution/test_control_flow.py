"""Branches and loops in plans: what they wait for, and which of their side effects happen."""

from __future__ import annotations

import pytest

import situs as eager
import situs.compat.v1 as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def v(sess):
    variable = tf.Variable(1.0)
    sess.run(variable.initializer)
    return variable


def test_a_branch_may_wait_for_an_operation_outside(sess, v):
    added = v.assign_add(1.0)

    def read():
        with tf.control_dependencies([added]):
            return v.read_value()

    assert sess.run(tf.cond(tf.constant(True), read, lambda: tf.constant(0.0))) == 2.0


def test_a_loop_body_may_wait_for_an_operation_outside(sess, v):
    added = v.assign_add(1.0)

    def body(i):
        with tf.control_dependencies([added]):
            return i + 1

    sess.run(tf.while_loop(lambda i: i < 3, body, [tf.constant(0)]))
    assert sess.run(v) == 2.0


def test_in_a_graph_a_side_effect_that_no_result_needs_does_not_happen(sess, v):
    def then():
        v.assign_add(1.0)
        return tf.constant(5.0)

    sess.run(tf.cond(tf.constant(True), then, lambda: tf.constant(0.0)))
    assert sess.run(v) == 1.0


def test_in_a_graph_a_returned_operation_runs(sess, v):
    sess.run(tf.cond(tf.constant(True), lambda: v.assign_add(1.0).op, lambda: tf.no_op()))
    assert sess.run(v) == 2.0


def test_in_a_function_every_side_effect_of_the_branch_happens():
    v = eager.Variable(1.0)

    @eager.function
    def f(flag):
        if flag:
            v.assign_add(1.0)
        return 0

    f(eager.constant(True))
    f(eager.constant(False))
    assert v.numpy() == 2.0


def test_a_function_reads_variables_when_it_runs():
    v = eager.Variable(1.0)
    by_method, by_value = eager.function(lambda: v.read_value()), eager.function(lambda: v.value())
    assert by_method() == by_value() == 1.0
    v.assign(7.0)
    assert by_method() == by_value() == 7.0


def test_a_variable_has_no_number_to_give_while_a_graph_is_built():
    v = eager.Variable(1.0)
    for use in (float, bool, lambda v: v.numpy()):
        with pytest.raises(TypeError, match="has no value while a graph is being built"):
            eager.function(lambda use=use: use(v))()
