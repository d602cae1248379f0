"""Errors while a graph is made, and while it runs."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.base.devices.scope import ROOT, here
from situs.errors import InvalidArgumentError, OperatorNotAllowedInGraphError


@pytest.fixture(autouse=True)
def outside_of_everything():
    before = here.scope, list(here.entered)
    yield
    assert here.graph is None
    assert (here.scope, list(here.entered)) == before
    assert float(tf.constant(1.0) + 1.0) == 2.0


def test_an_error_in_python_comes_out_as_it_is():
    @tf.function
    def f(x, bad):
        with tf.device("/gpu:1"), tf.name_scope("inside"):
            if bad:
                raise KeyError("boom")
        return x + 1

    for _ in range(2):
        with pytest.raises(KeyError, match="boom"):
            f(tf.constant(1), True)
    assert int(f(tf.constant(1), False)) == 2
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("inside", ["cond", "while", "function"])
def test_an_error_deep_inside_leaves_nothing_behind(inside):
    def fails(*args):
        with tf.device("/gpu:1"):
            raise KeyError("boom")

    @tf.function
    def f(x):
        if inside == "cond":
            return tf.cond(x > 0, fails, lambda: x)
        if inside == "while":
            return tf.while_loop(lambda y: y > 0, fails, [x])
        return tf.function(fails)(x)

    with tf.device("/gpu:2"), pytest.raises(KeyError, match="boom"):
        f(tf.constant(1))


def test_shapes_that_do_not_fit_are_found_while_the_graph_is_made():
    with pytest.raises(ValueError, match=r"\[2,3\]"):
        tf.function(tf.matmul)(tf.zeros([2, 3]), tf.zeros([2, 3]))


def test_an_error_in_a_run_names_the_operation_and_the_line():
    @tf.function
    def f(x, y):
        return tf.reshape(x, y)  # this line

    f(tf.constant([1, 2]), tf.constant([2, 1]))
    with pytest.raises(InvalidArgumentError) as caught:
        f(tf.constant([1, 2]), tf.constant([3, 1]))
    text = str(caught.value)
    assert "Input to reshape is a tensor with 2 values, but the requested shape has 3" in text
    assert "{{node Reshape}}" in text
    assert "test_function_errors.py" in text
    assert "return tf.reshape(x, y)  # this line" in text
    assert f(tf.constant([1, 2]), tf.constant([1, 2])).numpy().tolist() == [[1, 2]]


def test_an_error_in_a_branch_in_a_loop_in_a_function_names_its_line():
    @tf.function
    def inner(x, y):
        return x + tf.reduce_sum(tf.reshape(x, y))  # innermost line

    @tf.function
    def f(x, y):
        for i in tf.range(2):
            if i > 0:
                x = inner(x, y)
        return x

    with pytest.raises(InvalidArgumentError, match="innermost line"):
        f(tf.zeros([4]), tf.constant([3]))


def test_assertions_hold_in_every_call():
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x)
        return x

    assert int(f(tf.constant(1))) == 1
    with pytest.raises(InvalidArgumentError, match="assertion failed"):
        f(tf.constant(-1))
    assert int(f(tf.constant(2))) == 2


def test_python_assertions_on_tensors():
    @tf.function
    def f(x):
        assert x > 0, "must be positive"
        return x

    assert int(f(tf.constant(1))) == 1
    with pytest.raises(InvalidArgumentError, match="must be positive"):
        f(tf.constant(-1))


@pytest.mark.parametrize("use", [lambda x: bool(x), lambda x: 1 if x else 2, lambda x: [i for i in range(3) if x]])
def test_python_cannot_look_into_a_tensor(use):
    f = tf.function(use, autograph=False)
    with pytest.raises(OperatorNotAllowedInGraphError, match="symbolic"):
        f(tf.constant(True))


def test_a_tensor_of_a_graph_has_no_value_for_numpy():
    with pytest.raises(AttributeError, match="numpy"):
        tf.function(lambda x: x.numpy())(tf.constant(1))


def test_scopes_are_back_after_an_error_in_a_thread_of_calls():
    @tf.function
    def f(x):
        with tf.device("/gpu:3"):
            return tf.reshape(x, [7])

    with tf.device("/gpu:1"):
        with pytest.raises(ValueError, match="7"):
            f(tf.zeros([2]))
        assert here.scope is not ROOT
        assert tf.constant(1.0).device.endswith("GPU:1")
