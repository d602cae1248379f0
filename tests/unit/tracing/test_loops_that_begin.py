"""Loops of a graph that make variables, or return: TensorFlow wants them to run at least once."""

from __future__ import annotations

import pytest

import situs as tf


def first(values):
    total = 0
    for value in values:
        total += value
        return total
    return total


def signed(values):
    total = 0
    for value in values:
        total += value
        if value % 2 > 0:
            return total
        return -total
    return total


def counted_down(n):
    while n > 0:
        n -= 1
        return n
    return n


def made_inside(n):
    for i in tf.range(n):
        pair = (i * 2, {"row": tf.ones([2]) * tf.cast(i, tf.float32)})
    return pair[0], pair[1]["row"]


def grown(n):
    for i in tf.range(n):
        row = tf.range(i)
    return row


def test_returns_from_loops():
    assert int(tf.function(first)(tf.constant([5, 6]))) == 5
    assert [int(tf.function(signed)(tf.constant(v))) for v in ([3, 4], [4, 3])] == [3, -4]
    assert int(tf.function(counted_down)(tf.constant(3))) == 2


def test_variables_first_made_in_a_loop():
    double, row = tf.function(made_inside)(tf.constant(4))
    assert int(double) == 6
    assert row.numpy().tolist() == [3.0, 3.0]
    assert tf.function(grown)(tf.constant(4)).numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("function", "argument", "title"),
    [
        (first, tf.constant([], tf.int32), "the return value"),
        (counted_down, 0, "the return value"),
        (made_inside, 0, "pair"),
    ],
)
def test_loops_that_do_not_run_are_found_out(function, argument, title):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"loop must iterate at least once to initialize {title}"):
        tf.function(function)(tf.constant(argument))


def tenfold(x):
    if x > 1:
        return x * 10
    return x


def larger(state, x):
    if x > 1:
        state = state + x
    return state


def test_functions_given_to_others_are_converted():
    @tf.function
    def run(xs):
        return (
            tf.map_fn(tenfold, xs),
            tf.scan(larger, xs, initializer=0),
            tf.foldl(fn=larger, elems=xs),
            tf.switch_case(xs[0], [lambda: tenfold(xs[1]), lambda: xs[0]]),
        )

    made = run(tf.constant([0, 2, 3]))
    assert [value.numpy().tolist() for value in made] == [[0, 20, 30], [0, 2, 5], 5, 20]
