"""Calls of functions inside of functions: the shapes that are known of what they give, as in TensorFlow 2.21."""

from __future__ import annotations

import pytest

import situs as tf

ANY = tf.TensorSpec(None, tf.float32)
NUMBER = tf.TensorSpec([], tf.int32)


def seen(call):
    """The shapes of what a call gives inside of a function, and once it has run."""
    shapes = []

    @tf.function
    def outer():
        made = call()
        shapes.extend(tensor.shape.as_list() if tensor.shape.rank is not None else None for tensor in made)
        return made

    return shapes, [tensor.shape.as_list() for tensor in outer()]


@tf.function
def in_groups(w, x, y):
    count = tf.shape(tf.transpose(x, [1, 0, 2]))[0]
    return tf.reshape(y * w, [tf.shape(y)[0] // count, count, -1])


@tf.function(input_signature=[NUMBER] * 3)
def ones(a, b, c):
    return tf.ones(tf.concat([[a], [b], [c]], -1))


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32), NUMBER])
def as_long(x, n):
    return tf.ones(tf.stack([tf.shape(x)[0], n]))


CALLS = {
    "a graph for any shape": (
        lambda: in_groups.get_concrete_function(ANY, ANY, ANY)(tf.ones([2]), tf.ones([5, 4, 2]), tf.ones([20, 2])),
        [5, 4, 2],
    ),
    "numbers": (lambda: ones(1, 2, 3), [1, 2, 3]),
    "a function in a function": (lambda: tf.function(ones)(1, 2, 3), [1, 2, 3]),
    "a shape and a number": (lambda: as_long(tf.zeros([3, 6], tf.int32), n=5), [3, 5]),
    "one that is known already": (lambda: tf.function(lambda x: x + 1.0)(tf.ones([4])), [4]),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_shape_follows_from_what_a_call_is_given(case):
    call, expected = CALLS[case]
    assert seen(lambda: [call()]) == ([expected], [expected])


def test_what_a_loop_or_a_branch_gives_stays_unknown():
    @tf.function(input_signature=[ANY])
    def both(x):
        y = x + 1.0 if tf.size(x) > 3 else x
        for _ in tf.range(3):
            y = y * 2.0
        return y, tf.reshape(x, [-1, 3])

    assert seen(lambda: both(tf.zeros([10, 10, 3]))) == ([None, [100, 3]], [[10, 10, 3], [100, 3]])


def test_a_call_that_cannot_work_is_refused_when_it_runs():
    @tf.function(input_signature=[ANY])
    def rows(x):
        return tf.reshape(x, [-1, 3])

    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda: rows(tf.zeros([10])))()
