"""Only the ancestors of what is wanted run, and each at most once."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
from situs._src.runtime.plan.prune import prune


@pytest.fixture
def ran():
    """The names of the functions that ran; ``counted(name, *inputs)`` makes one."""
    return []


def counted(ran, name, *inputs):
    return py_func(lambda *values: ran.append(name) or sum(values, 1.0), list(inputs), tf.float64, name=name)


@pytest.fixture
def program(ran):
    """``q = B(A)``; ``k`` waits for C, which takes A's result; nobody needs D."""
    with tf.Graph().as_default(), tf.Session() as sess:
        a = counted(ran, "A")
        q = counted(ran, "B", a)
        c = counted(ran, "C", a)
        counted(ran, "D", a)
        with tf.control_dependencies([c]):
            k = tf.constant(5.0, name="k")
        yield sess, a, q, k


def test_only_ancestors_run(program, ran):
    sess, a, q, k = program
    assert sess.run(q) == 2.0
    assert ran == ["A", "B"]
    ran.clear()
    assert sess.run(k) == 5.0
    assert sorted(ran) == ["A", "C"]
    ran.clear()
    assert sess.run(q, {a: 10.0}) == 11.0
    assert ran == ["B"]


def test_every_operation_runs_at_most_once(program, ran):
    sess, a, q, k = program
    sess.run([q, a, q.op, {"again": q}, k, a.op])
    assert sorted(ran) == ["A", "B", "C"]


def test_what_is_fed_cuts_control_inputs_of_its_producer_as_well(ran):
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.control_dependencies([counted(ran, "first")]):
            middle = tf.identity(counted(ran, "second"))
        assert sess.run(middle + 1.0, {middle: 1.0}) == 2.0
        assert ran == []


def test_results_come_in_the_order_of_making():
    with tf.Graph().as_default():
        a = tf.constant(1.0)
        chain = [a]
        for _ in range(2000):  # deeper than Python's stack
            chain.append(tf.exp(chain[-1]))
        found = prune([chain[-1].op], ())
        assert found == [tensor.op for tensor in chain]
        assert prune([chain[-1].op], {chain[-2]}) == [chain[-1].op]
