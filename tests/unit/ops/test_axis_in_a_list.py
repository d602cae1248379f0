"""An axis in a list of one, op by op: taken where TensorFlow 2.21 takes it eagerly, and refused where it does not."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

X = np.arange(24, dtype=np.float32).reshape(4, 6)
ROWS = np.arange(4, dtype=np.int32)
LISTS = {"list": [0], "tuple": (0,), "array": np.array([0]), "tensor": lambda: tf.constant([0])}

TAKEN = {
    "split into sizes": lambda axis: tf.split(X, [1, 3], axis=axis),
    "concat": lambda axis: [tf.concat([X, X], axis=axis)],
    "expand_dims": lambda axis: [tf.expand_dims(X, axis=axis)],
    "reverse": lambda axis: [tf.reverse(X, axis=axis)],
    "roll by a list": lambda axis: [tf.roll(X, [1], axis=axis)],
    "reduce_sum": lambda axis: [tf.reduce_sum(X, axis=axis)],
    "reduce_max": lambda axis: [tf.reduce_max(X, axis=axis)],
    "reduce_logsumexp": lambda axis: [tf.reduce_logsumexp(X, axis=axis)],
    "reduce_std": lambda axis: [tf.math.reduce_std(X, axis=axis)],
    "count_nonzero": lambda axis: [tf.math.count_nonzero(X, axis=axis)],
    "l2_normalize": lambda axis: [tf.nn.l2_normalize(X, axis=axis)],
    "crelu": lambda axis: [tf.nn.crelu(X, axis=axis)],
    "strings.reduce_join": lambda axis: [tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=axis)],
}
OPS, PYTHON, ATTRIBUTES = tf.errors.InvalidArgumentError, ValueError, TypeError
REFUSED = {
    "split": (OPS, lambda axis: tf.split(X, 2, axis=axis)),
    "v1.split": (OPS, lambda axis: v1.split(X, 2, axis=axis)),
    "unstack": (ATTRIBUTES, lambda axis: tf.unstack(X, axis=axis)),
    "concat of one": (PYTHON, lambda axis: tf.concat([X], axis=axis)),
    "gather": (OPS, lambda axis: tf.gather(X, [0, 1], axis=axis)),
    "batch_dims": (ATTRIBUTES, lambda axis: tf.gather(X, [[0]] * 4, axis=1, batch_dims=axis)),
    "argmin": (OPS, lambda axis: tf.argmin(X, axis=axis)),
    "cumsum": (OPS, lambda axis: tf.cumsum(X, axis=axis)),
    "roll by a number": (OPS, lambda axis: tf.roll(X, 1, axis=axis)),
    "repeat": (ATTRIBUTES, lambda axis: tf.repeat(X, 2, axis=axis)),
    "sort": (PYTHON, lambda axis: tf.sort(X, axis=axis)),
    "argsort": (PYTHON, lambda axis: tf.argsort(X, axis=axis)),
    "softmax": (ATTRIBUTES, lambda axis: tf.nn.softmax(X, axis=axis)),
    "one_hot": (ATTRIBUTES, lambda axis: tf.one_hot(ROWS, 4, axis=axis)),
    "boolean_mask": (ATTRIBUTES, lambda axis: tf.boolean_mask(X, [True, False, True, False], axis=axis)),
    "reverse_sequence": (ATTRIBUTES, lambda axis: tf.reverse_sequence(X, [1] * 4, seq_axis=1, batch_axis=axis)),
    "linspace": (ATTRIBUTES, lambda axis: tf.linspace(X[0], X[1], 3, axis=axis)),
}


def given(kind):
    return LISTS[kind]() if callable(LISTS[kind]) else LISTS[kind]


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", TAKEN)
def test_taken(name, kind):
    right = TAKEN[name]([0] if name in ("reverse", "roll by a list") else 0)
    found = TAKEN[name](given(kind))
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, kind):
    error, call = REFUSED[name]
    with pytest.raises(error):
        call(given(kind))
    call(0)


@pytest.mark.parametrize("kind", LISTS)
def test_a_graph_refuses_it_too(kind):
    for name in ("split", "unstack", "sort", "repeat", "one_hot", "boolean_mask"):
        axis = given(kind)
        with pytest.raises((ValueError, TypeError)):
            tf.function(lambda call=REFUSED[name][1], axis=axis: call(axis))()


def test_stack_takes_no_list():
    for axis in ([0], (0,)):
        with pytest.raises(TypeError, match="single integer"):
            tf.stack([X, X], axis=axis)


def test_squeeze_takes_lists_but_no_vectors():
    assert tf.squeeze(X[:1], axis=[0]).shape == tf.squeeze(X[:1], axis=(0,)).shape == (6,)
    for axis in (np.array([0]), tf.constant([0])):
        with pytest.raises(TypeError, match="Expected list for 'axis'"):
            tf.squeeze(X[:1], axis=axis)
    assert tf.squeeze(X[:1], axis=np.int64(0)).shape == (6,)


@pytest.mark.parametrize("name", [*TAKEN, *REFUSED])
def test_two_axes_for_one_are_refused(name):
    many = {"reverse", "reduce_sum", "reduce_max", "reduce_logsumexp", "reduce_std", "count_nonzero"}
    if name not in many | {"l2_normalize", "strings.reduce_join"}:
        call = TAKEN[name] if name in TAKEN else REFUSED[name][1]
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError, TypeError)):
            call([0, 1])


JOINING = {
    "concat": (lambda tf_, x, axis: [tf_.concat([x, x], axis)], True, False),
    "split": (lambda tf_, x, axis: tf_.split(x, 2, axis), False, False),
    "split into sizes": (lambda tf_, x, axis: tf_.split(x, [1, 3], axis), True, True),
}  # each with whether eager code takes a list of one, and whether a function takes one that it is given as argument


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("name", JOINING)
def test_concat_and_split_of_a_list_in_a_function_and_a_graph(name, kind):
    call, eagerly, as_argument = JOINING[name]
    right = [part.numpy() for part in call(tf, tf.constant(X), 0)]
    if eagerly:
        np.testing.assert_array_equal(call(tf, tf.constant(X), given(kind))[0], right[0])
    unknown = tf.TensorSpec([None, None])
    for signature in (None, [unknown]):
        with pytest.raises(ValueError, match="Shape must be rank 0"):
            tf.function(lambda x: call(tf, x, given(kind)), input_signature=signature)(tf.constant(X))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Shape must be rank 0"):
        call(v1, tf.constant(X), given(kind))
    traced = tf.function(lambda x, axis: call(tf, x, axis))
    if as_argument:
        for one, other in zip(traced(tf.constant(X), tf.constant([0])), right, strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            traced(tf.constant(X), tf.constant([0]))
    for one, other in zip(traced(tf.constant(X), tf.constant(0)), right, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_axis_in_lists_of_lists():
    assert tf.split(X, [1, 3], [[0]])[1].shape == (3, 6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.concat([X, X], [[0]])


def test_the_gradient_of_a_split_along_an_axis_given_in_a_vector():
    @tf.function
    def slope(x, axis):
        with tf.GradientTape() as tape:
            tape.watch(x)
            first, second = tf.split(x, [1, 3], axis)
            y = tf.reduce_sum(first) + 2 * tf.reduce_sum(second)
        return tape.gradient(y, x)

    right = np.repeat(np.float32([[1], [2], [2], [2]]), 6, 1)
    np.testing.assert_array_equal(slope(tf.constant(X), tf.constant([0])), right)
