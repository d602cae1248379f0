"""Failures in a run: they name the operation, and the line of the program that made it."""

from __future__ import annotations

import gc
import inspect
import weakref

import numpy as np
import pytest
import torch

import situs as eager
import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
from situs._src.runtime.plan.plan import Plan
from situs._src.runtime.run import failure


@pytest.fixture(params=["/cpu:0", "/gpu:1"])
def sess(request):
    with tf.Graph().as_default(), tf.device(request.param), tf.Session() as session:
        yield session


def line():
    return inspect.currentframe().f_back.f_lineno


def failing(sess, fetch, feed=None, kind=tf.errors.InvalidArgumentError):
    with pytest.raises(kind) as caught:
        sess.run(fetch, feed)
    return caught.value


def test_the_operation_and_the_line_are_named(sess):
    p = tf.placeholder(tf.float32, name="p")
    bad, where = tf.add(p, [1.0, 2.0], name="bad"), line()
    error = failing(sess, tf.exp(bad), {p: [1.0, 2.0, 3.0]})
    assert error.op is bad.op
    assert error.node_def is bad.op
    assert "[[{{node bad}}]]" in str(error)
    assert f"test_failure.py:{where}" in str(error)
    assert 'name="bad"), line()' in str(error)
    assert str(error) == error.message


def test_a_variable_that_finds_no_room_on_a_card_is_named():
    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.Session() as session:
        v = tf.get_variable("v", [2, 3], initializer=tf.zeros_initializer())
        session.run(v.initializer)
        plan = session._prepare(v.read_value() + 1.0, {}).program.plan
        number = next(number for number, call in enumerate(plan.calls) if call.reads is not None)
        cell = session._state._cells["v"]
        error = failure.in_call(torch.OutOfMemoryError("Tried to allocate 2.00 MiB."), plan, number, [cell])
    assert isinstance(error, tf.errors.ResourceExhaustedError)
    assert "OOM when allocating on" in str(error)
    assert "[[{{node v}}]]" in str(error)


@pytest.mark.parametrize("runs", [1, 15])
def test_failures_are_told_alike_after_many_runs(sess, fast, runs):
    """Programs that have run a few times are partly TorchScript."""
    p = tf.placeholder(tf.float32, name="p")
    x = p
    for _ in range(5):
        x = tf.tanh(x)
    bad = tf.matmul(x, x, name="bad")
    for _ in range(3):
        bad = tf.tanh(bad)
    for _ in range(runs):
        sess.run(bad, {p: np.ones((2, 2))})
    error = failing(sess, bad, {p: np.ones((2, 3))})
    assert error.op.name == "bad"
    assert "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]" in str(error)
    assert sess.run(bad, {p: np.ones((2, 2))}).shape == (2, 2)


def test_the_first_failure_counts(sess):
    p = tf.placeholder(tf.float32)
    first = tf.check_numerics(p, "first", name="one")
    second = tf.check_numerics(first, "second", name="two")
    assert failing(sess, second, {p: float("nan")}).op.name == "one"


def test_failures_inside_branches_and_loops_name_the_inner_operation(sess):
    p = tf.placeholder(tf.float32, name="p")
    branch = tf.cond(tf.constant(True), lambda: tf.check_numerics(p, "msg", name="checked"), lambda: p)
    assert failing(sess, branch, {p: float("inf")}).op.name.endswith("checked")
    loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.check_numerics(x / 0.0, "m", name="turn")), (0, p))
    assert failing(sess, loop, {p: 1.0}).op.name.endswith("turn")


def test_what_a_python_function_raises_is_told(sess):
    def boom(x):
        raise ValueError("oops")

    with tf.device("/cpu:0"):
        bad = py_func(boom, [tf.constant(1.0)], tf.float32, name="boomer")
    error = failing(sess, bad)
    assert "ValueError: oops" in str(error)
    assert "in boom" in str(error)
    assert error.op.name == "boomer"


@pytest.mark.parametrize(
    ("make", "feed", "kind", "text"),
    [
        (lambda p: tf.matmul(p, [[1.0], [2.0]]), [[1.0]], tf.errors.InvalidArgumentError, "Matrix size-incompatible"),
        (lambda p: p + [1.0, 2.0], [1, 2, 3], tf.errors.InvalidArgumentError, "Incompatible shapes: [3] vs. [2]"),
        (
            lambda p: tf.reshape(p, [3]),
            [1, 2],
            tf.errors.InvalidArgumentError,
            "Input to reshape is a tensor with 2 values, but the requested shape has 3",
        ),
        (
            lambda p: tf.check_numerics(p, "msg"),
            [np.nan],
            tf.errors.InvalidArgumentError,
            "msg : Tensor had NaN values",
        ),
        (lambda p: tf.gather(p, [9]), [1.0], tf.errors.InvalidArgumentError, "indices[0] = 9 is not in [0, 1)"),
        (
            lambda p: tf.constant([1]) // tf.cast(p, tf.int32),
            0.0,
            tf.errors.InvalidArgumentError,
            "Integer division by zero",
        ),
        (
            lambda p: tf.Assert(tf.reduce_all(p > 0), [p]),
            [-1.0],
            tf.errors.InvalidArgumentError,
            "assertion failed: [-1]",
        ),
        (
            lambda p: tf.stack([p, [1.0]]),
            [1, 2],
            tf.errors.InvalidArgumentError,
            "Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [1]",
        ),
    ],
    ids=["matmul", "add", "reshape", "numerics", "gather", "division", "assert", "stack"],
)
def test_kernels_say_what_was_wrong(sess, make, feed, kind, text):
    p = tf.placeholder(tf.float32)
    with tf.device("/cpu:0"):  # a card checks no indices
        fetch = make(p)
    assert text in str(failing(sess, fetch, {p: feed}, kind))


def test_plans_are_forgotten_with_their_sessions():
    def use():
        with tf.Graph().as_default(), tf.Session() as sess:
            sess.run(tf.exp(tf.constant(1.0)))

    def plans():
        gc.collect()
        return sum(type(each) is Plan for each in gc.get_objects())

    use()
    before = plans()
    for _ in range(3):
        use()
    assert plans() <= before


def test_functions_are_forgotten_with_those_that_they_call():
    @eager.function
    def inner(x):
        return x * 2.0

    def use():
        variable = eager.Variable(1.0)
        outer = eager.function(lambda x: inner(x) + variable)
        outer(eager.constant(1.0))
        return weakref.ref(variable)

    gone = use()
    gc.collect()
    assert gone() is None
