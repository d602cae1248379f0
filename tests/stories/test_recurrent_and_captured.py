"""What recurrent networks, mixed precision and functions with captured tensors met: each compared with TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt
from situs._src.runtime.eager.bridge import host, place


def test_a_gradient_flows_through_an_array_that_a_loop_reads():
    x = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))

    @tf.function
    def grads():
        with tf.GradientTape() as tape:
            rows = tf.TensorArray(tf.float32, size=3).unstack(x * 2.0)
            total = tf.zeros([2])
            for i in tf.range(3):
                total += rows.read(i) * tf.cast(i, tf.float32)
            loss = tf.reduce_sum(total)
        return tape.gradient(loss, x)

    np.testing.assert_array_equal(grads(), [[0.0, 0.0], [2.0, 2.0], [4.0, 4.0]])


@pytest.mark.parametrize("nested", [False, True], ids=["a function", "in another"])
def test_a_tape_outside_sees_what_a_function_does_with_a_captured_tensor(nested):
    x = tf.constant([1.0, 2.0])
    function = tf.function(lambda: x * x)
    called = tf.function(lambda: function() * 1.0) if nested else function
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = called()
        first = inner.gradient(y, x)
    np.testing.assert_array_equal(first, [2.0, 4.0])
    np.testing.assert_array_equal(outer.gradient(first, x), [2.0, 2.0])


@pytest.mark.parametrize(
    "build", [lambda b, x: b + x, lambda b, x: b * x, lambda b, x: b - x, lambda b, x: 2.0 * x + b]
)
def test_a_gradient_of_a_tensor_whose_rows_are_not_known(build):
    b = tf.Variable([1.0, 2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def grads(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(build(b, x) ** 2)
        return tape.gradient(loss, b)

    x = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(build(b, x) ** 2)
    np.testing.assert_allclose(grads(x), tape.gradient(loss, b))


def test_strings_and_resources_are_told_apart():
    assert place(host(), dt.resource).dtype is dt.resource
    assert place(host(), dt.string).dtype is dt.string


def test_a_loop_of_tensorflow_1_carries_an_array():
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [3, 2])
        source = tf1.TensorArray(tf.float32, size=3).unstack(x)
        made = tf1.TensorArray(tf.float32, size=3)

        def body(i, state, made):
            state = tf1.tanh(state + source.read(i))
            return i + 1, state, made.write(i, state)

        _, _, made = tf1.while_loop(lambda i, *_: i < 3, body, [0, tf1.zeros([2]), made])
        stacked = made.stack()
        grad = tf1.gradients(tf1.reduce_sum(stacked), x)[0]
        fed = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
        states, found = session.run([stacked, grad], {x: fed})
    with tf.GradientTape() as tape:
        eager = tf.constant(fed)
        tape.watch(eager)
        state, rows = tf.zeros([2]), []
        for i in range(3):
            state = tf.tanh(state + eager[i])
            rows.append(state)
        total = tf.reduce_sum(tf.stack(rows))
    np.testing.assert_allclose(states, tf.stack(rows), rtol=1e-5)
    np.testing.assert_allclose(found, tape.gradient(total, eager), rtol=1e-5)


def test_the_getter_of_mixed_precision_programs():
    def in_float32(getter, name, shape=None, dtype=None, initializer=None, trainable=True, **rest):
        made = getter(name, shape, dtype=tf.float32 if trainable else dtype, initializer=initializer, **rest)
        return tf1.cast(made, dtype) if trainable and dtype != tf.float32 else made

    with tf1.Graph().as_default():
        with tf1.variable_scope("net", custom_getter=in_float32):
            weight = tf1.get_variable("w", [2, 2], tf.float16, tf1.ones_initializer())
        assert weight.dtype is tf.float16
        assert [v.dtype.base_dtype for v in tf1.trainable_variables()] == [tf.float32]


def test_one_hot_takes_python_numbers_for_its_values():
    made = tf.one_hot(0, 4, on_value=2.0, off_value=0.5, dtype=tf.float64)
    np.testing.assert_array_equal(made, [2.0, 0.5, 0.5, 0.5])
    assert made.dtype is tf.float64
