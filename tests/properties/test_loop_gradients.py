"""Gradients of any order through loops, branches, arrays and calls of graphs, against the same programs run eagerly.

A program is drawn as a small tree. In eager code its loops are Python's and a tape records each op, so nothing of what
graphs do is needed there: that is the truth for a ``tf.function`` that takes the gradients inside, for tapes around a
``tf.function``, and for ``tf.gradients`` of ``tf.gradients``.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1

# A program is a function of x (a scalar that everything may use) and y (what the last step made).
LEAVES = {
    "product": lambda x, y: x * y,
    "square": lambda x, y: y * y * 0.5,
    "sine": lambda x, y: tf.sin(y) + x,
    "tanh": lambda x, y: tf.tanh(x + y),
    "constant": lambda x, y: y * 0.75 + 0.1,
    "stopped": lambda x, y: y * tf.stop_gradient(x),
}


def sequence(first, second):
    return lambda x, y: second(x, first(x, y))


def loop(count, body):
    def run(x, y):
        return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, body(x, y)), (tf.constant(0), y))[1]

    return run


def branch(bound, one, other):
    return lambda x, y: tf.cond(y > bound, lambda: one(x, y), lambda: other(x, y))


def call(body):
    return lambda x, y: tf.function(body)(x, y)


def array(count, body):
    """Rows written, read back and summed."""

    def run(x, y):
        def step(i, y, rows):
            rows = rows.write(i, body(x, y))
            return i + 1, rows.read(i) * 0.5 + y, rows

        rows = tf.TensorArray(tf.float64, count, element_shape=[], clear_after_read=False)
        _, y, rows = tf.while_loop(lambda i, *_: i < count, step, (tf.constant(0), y, rows))
        return y + tf.reduce_sum(rows.stack())

    return run


def mapped(body):
    return lambda x, y: tf.reduce_sum(tf.map_fn(lambda row: body(x, row), tf.stack([x, y, x * y])))


def scanned(body, reverse):
    def run(x, y):
        return tf.reduce_sum(tf.scan(lambda a, row: body(row, a), tf.stack([x, y]), initializer=y, reverse=reverse))

    return run


def folded(body):
    return lambda x, y: tf.foldl(lambda a, row: body(row, a), tf.stack([y, x, x]))


counts = st.integers(0, 3)
programs = st.recursive(
    st.sampled_from(sorted(LEAVES)).map(LEAVES.get),
    lambda inner: st.one_of(
        st.builds(sequence, inner, inner),
        st.builds(loop, counts, inner),
        st.builds(branch, st.sampled_from([-10.0, 0.3, 10.0]), inner, inner),
        st.builds(call, inner),
        st.builds(array, counts, inner),
        st.builds(mapped, inner),
        st.builds(scanned, inner, st.booleans()),
        st.builds(folded, inner),
    ),
    max_leaves=3,
)


def derivatives(program, x, order):
    """The value of a program and its derivatives, by tapes inside of one another."""
    if order == 0:
        return [program(x, x)]
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = derivatives(program, x, order - 1)
    return [*made, tape.gradient(made[-1], x, unconnected_gradients="zero")]


def symbolic_derivatives(program, x, order):
    made = [program(x, x)]
    for _ in range(order):
        made += tf.gradients(made[-1], x, unconnected_gradients="zero")
    return made


def numbers(tensors):
    return [float(tensor) for tensor in tensors]


quick = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(programs, st.floats(-1.0, 1.0), st.integers(1, 3))
def test_tapes_inside_a_function_agree_with_eager_code(program, at, order):
    x = tf.constant(at, tf.float64)
    made = tf.function(lambda x: derivatives(program, x, order))(x)
    np.testing.assert_allclose(numbers(made), numbers(derivatives(program, x, order)), rtol=1e-9, atol=1e-9)


@quick
@given(programs, st.floats(-1.0, 1.0), st.integers(1, 3))
def test_tapes_around_a_function_agree_with_eager_code(program, at, order):
    x = tf.constant(at, tf.float64)
    made = derivatives(tf.function(program), x, order)
    np.testing.assert_allclose(numbers(made), numbers(derivatives(program, x, order)), rtol=1e-9, atol=1e-9)


@quick
@given(programs, st.floats(-1.0, 1.0), st.integers(1, 3))
def test_gradients_of_gradients_agree_with_eager_code(program, at, order):
    x = tf.constant(at, tf.float64)
    made = tf.function(lambda x: symbolic_derivatives(program, x, order))(x)
    np.testing.assert_allclose(numbers(made), numbers(derivatives(program, x, order)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_power_by_a_loop_in_a_session(order):
    """x ** 4, whose derivatives everybody knows."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [])
        made = [tf1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]]
        for _ in range(order):
            made += tf1.gradients(made[-1], x)
        assert session.run(made[-1], {x: 3.0}) == [108.0, 108.0, 72.0, 24.0][order - 1]


def test_rows_of_many_sizes_have_second_gradients():
    """A loop whose variable grows: residuals of each iteration have a shape of their own."""

    def grown(x):
        state = (tf.constant(0), tf.reshape(x, [1]))
        shapes = (tf.TensorShape([]), tf.TensorShape([None]))
        body = lambda i, rows: (i + 1, tf.concat([rows, rows[-1:] * x], 0))  # noqa: E731
        return tf.reduce_sum(tf.while_loop(lambda i, rows: i < 3, body, state, shape_invariants=shapes)[1])

    x = tf.constant(1.5, tf.float64)
    made = tf.function(lambda x: derivatives(lambda x, _: grown(x), x, 3))(x)
    expected = [np.polyval(np.polyder([1.0, 1.0, 1.0, 1.0, 0.0], order), 1.5) for order in range(4)]
    np.testing.assert_allclose(numbers(made), expected)
