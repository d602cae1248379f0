"""What is known of values before a graph runs, and what becomes of it when other values are fed."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.runtime.symbolic.fold import constant_value, partial_value


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def test_constants_and_what_small_ops_make_of_them_are_known():
    n = tf.constant([2, 3])
    assert constant_value(tf.concat([n, [4]], 0)) == (2, 3, 4)
    assert constant_value(n[1] * 5 + 1) == 16


def test_the_shape_of_a_known_shape_is_known():
    x = tf.placeholder(tf.float32, [2, 3])
    assert constant_value(tf.shape(x)) == (2, 3)
    assert constant_value(tf.size(x)) == 6
    assert constant_value(tf.rank(tf.placeholder(tf.float32, [None, None]))) == 2


def test_a_shape_may_be_known_in_part():
    x = tf.placeholder(tf.float32, [None, 3])
    assert constant_value(tf.shape(x)) is None
    assert partial_value(tf.shape(x)) == (None, 3)
    assert tf.zeros([tf.shape(x)[0], 7]).shape.as_list() == [None, 7]


def test_what_is_fed_or_too_large_is_not_known():
    assert constant_value(tf.placeholder(tf.int32, [])) is None
    assert constant_value(tf.constant(np.zeros(5000))) is None


def test_a_value_used_many_times_is_found_out_once():
    n = tf.constant(1)
    for _ in range(40):
        n = n + n - 0 - n + 1  # each doubles the paths, not the work
    assert tf.zeros([n]).shape == [41]


def test_long_chains_do_not_exhaust_the_stack():
    n = tf.constant(1)
    for _ in range(3000):
        n = n + 1
    assert tf.zeros([n]).shape == [3001]


def test_feeding_a_constant_that_steers_an_op_is_heard():
    x, axis = tf.placeholder(tf.float32, [2, 2]), tf.constant(0)
    total, count = tf.reduce_sum(x, axis), tf.constant(3)
    with tf.Session() as sess:
        fed = [[1.0, 2.0], [3.0, 4.0]]
        assert sess.run(total, {x: fed}).tolist() == [4.0, 6.0]
        assert sess.run(total, {x: fed, axis: 1}).tolist() == [3.0, 7.0]
        assert sess.run(tf.range(count), {count: 5}).tolist() == [0, 1, 2, 3, 4]


def test_what_is_known_costs_no_call():
    x = tf.placeholder(tf.float32, [2, 3])
    y = tf.reshape(x, tf.stack([tf.constant(3), tf.constant(1) + 1]))
    sess = tf.Session()
    sess.run(y, {x: np.zeros((2, 3))})
    program = next(iter(sess._programs.values()))
    assert [call.node.type for call in program.plan.calls if call.node] == ["Reshape"]


def test_comparisons_of_sizes_are_known():
    x = tf.placeholder(tf.float32, [None, 4])
    assert constant_value(tf.shape(x)[-1] > 1) is True
    assert constant_value(tf.equal(tf.shape(x)[1], 3)) is False
    assert constant_value(tf.shape(x)[0] >= 0) is None
