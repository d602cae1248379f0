"""Gradients through loops that hold arrays: what a turn keeps, and what belongs to the loop itself."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def powers(x, count=3):
    """Powers of a tensor from the second on, as an array that a loop writes, and the last of them."""
    array = tf.TensorArray(tf.float32, count)
    _, last, array = tf.while_loop(
        lambda i, power, array: i < count,
        lambda i, power, array: (i + 1, power * x, array.write(i, power * x)),
        [0, x, array],
    )
    return array.stack(), last


def test_one_loop_has_several_gradients(graph):
    x = tf.placeholder(tf.float32, [])
    rows, last = powers(x)
    of_rows, of_last = tf.gradients(tf.reduce_sum(rows), x), tf.gradients(last, x)
    found = run([of_rows[0], of_last[0]], {x: 2.0})
    np.testing.assert_allclose(found, [2 * 2 + 3 * 4 + 4 * 8, 4 * 8])


def test_rows_that_are_weighed_pass_their_weights_on(graph):
    x = tf.placeholder(tf.float32, [2])
    rows, _ = powers(x)
    weighed = tf.reduce_sum(rows * [[1.0, 0.0], [0.0, 10.0], [0.0, 0.0]])
    np.testing.assert_allclose(run(tf.gradients(weighed, x)[0], {x: [3.0, 2.0]}), [6.0, 120.0])


def test_a_loop_that_makes_no_turn_passes_its_start_on(graph):
    x = tf.placeholder(tf.float32, [])
    limit = tf.placeholder(tf.int32, [])
    _, power = tf.while_loop(lambda i, p: i < limit, lambda i, p: (i + 1, p * x), [0, x * 3.0])
    gradient = tf.gradients(power, x)[0]
    for turns, expected in [(0, 3.0), (2, 3 * 3 * 4.0)]:
        np.testing.assert_allclose(run(gradient, {x: 2.0, limit: turns}), expected)


def test_an_array_that_a_loop_reads_gets_a_gradient_for_each_row(graph):
    x = tf.placeholder(tf.float32, [4])
    array = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
    _, total = tf.while_loop(
        lambda i, total: i < 3,  # the last row is not read
        lambda i, total: (i + 1, total * 0.5 + tf.square(array.read(i))),
        [0, 0.0],
    )
    gradient = tf.gradients(total, x)[0]
    np.testing.assert_allclose(run(gradient, {x: [1.0, 2.0, 3.0, 4.0]}), [0.5, 2.0, 6.0, 0.0])


def test_whole_numbers_in_a_loop_have_no_gradient(graph):
    x = tf.placeholder(tf.float32, [])
    count, power = tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p * x), [tf.constant(0), x])
    assert tf.gradients(tf.cast(count, tf.float32), x) == [None]
    assert tf.gradients(power, x) != [None]


def test_a_tape_goes_back_through_a_function_with_such_a_loop():
    @tf2.function
    def total(x):
        array = tf2.TensorArray(tf2.float32, 3)
        power = x
        for i in tf2.range(3):
            power = power * x
            array = array.write(i, power)
        return tf2.reduce_sum(array.stack())

    x = tf2.Variable(2.0)
    with tf2.GradientTape(persistent=True) as tape:
        result = total(x)
        twice = result * result
    slope = 2 * 2 + 3 * 4 + 4 * 8
    assert float(result) == 4 + 8 + 16
    assert float(tape.gradient(result, x)) == slope
    assert float(tape.gradient(twice, x)) == 2 * 28 * slope
