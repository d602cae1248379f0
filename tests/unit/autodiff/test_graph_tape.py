"""`tf.GradientTape` while a graph is built: it knows what it watches and when it recorded, as in eager code.

Each case runs eagerly, in a ``tf.function`` and in a session; TensorFlow 2.21 gives the same in all three.
"""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1


def eagerly(case):
    return case(tf.constant(3.0), tf.Variable(3.0))


def in_function(case):
    v = tf.Variable(3.0)
    found: list = []

    @tf.function
    def traced(x):
        found[:] = case(x, v)
        return [made for made in found if made is not None]

    values = iter(traced(tf.constant(3.0)))
    return [None if made is None else next(values) for made in found]


def in_session(case):
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("v", initializer=3.0, use_resource=True)
        made = case(tf1.placeholder_with_default(3.0, []), v)
        session.run(v.initializer)
        return [None if tensor is None else session.run(tensor) for tensor in made]


def unwatched(x, v):
    with tf.GradientTape() as tape:
        y = x * x
    return [tape.gradient(y, x)]


def watched(x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return [tape.gradient(y, x)]


def watched_late(x, v):
    with tf.GradientTape() as tape:
        y = x * x
        tape.watch(x)
        z = y * x
    return [tape.gradient(z, x)]


def made_after_the_tape(x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return [tape.gradient(y * x, x)]


def stopped(x, v):
    with tf.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            z = v * v * v
        total = y + z
    return [tape.gradient(total, v)]


def variables_unseen(x, v):
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        y = v * x
    return [tape.gradient(y, v)]


def variable_watched(x, v):
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(v)
        y = v * v
    return [tape.gradient(y, v)]


def watched_variables(x, v):
    with tf.GradientTape() as tape:
        y = v * v
    first = tape.gradient(y, tape.watched_variables())
    assert [variable is v for variable in tape.watched_variables()] == [True]  # still known
    return first


def of_itself(x, v):
    with tf.GradientTape() as tape:
        pass
    return [tape.gradient(v, v)]


def two_tapes(x, v):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    return [first, outer.gradient(first, x)]


def two_tapes_one_watching(x, v):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = x * x * x
        first = inner.gradient(y, x)
    return [first, outer.gradient(first, x)]


def persistent_through_its_own_gradients(x, v):
    with tf.GradientTape(persistent=True) as tape:
        y = v * v * v
        first = tape.gradient(y, v)
        second = tape.gradient(first, v)
    return [first, second, tape.gradient(second, v)]


def through_stop_gradient(x, v):
    @tf.custom_gradient
    def must_not_go_back(a):
        def gradient(grad):
            raise AssertionError("what lies behind stop_gradient is not connected")

        return a * 2.0, gradient

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = must_not_go_back(tf.stop_gradient(x)) + x
    return [tape.gradient(y, x)]


def in_a_branch(x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.cond(x > 1.0, lambda: x * x, lambda: x)
    return [tf.cond(x > 0.0, lambda: tape.gradient(y, x), lambda: x)]


def variable_in_a_loop(x, v):
    found = []

    def body(i, y):
        with tf.GradientTape() as tape:
            z = v * v * y
        found.append(tape.watched_variables())
        return i + 1, y + tape.gradient(z, v)

    made = tf.while_loop(lambda i, y: i < 2, body, (tf.constant(0), x))[1]
    assert all(len(variables) == 1 for variables in found)
    return [made]


CASES = [
    (unwatched, [None]),
    (watched, [6.0]),
    (watched_late, [9.0]),
    (made_after_the_tape, [None]),
    (stopped, [6.0]),
    (variables_unseen, [None]),
    (variable_watched, [6.0]),
    (watched_variables, [6.0]),
    (of_itself, [1.0]),
    (two_tapes, [27.0, 18.0]),
    (two_tapes_one_watching, [27.0, None]),
    (persistent_through_its_own_gradients, [27.0, 18.0, 6.0]),
    (through_stop_gradient, [1.0]),
    (in_a_branch, [6.0]),
    (variable_in_a_loop, [147.0]),
]


@pytest.mark.parametrize("run", [eagerly, in_function, in_session])
@pytest.mark.parametrize(("case", "expected"), CASES, ids=[case.__name__ for case, _ in CASES])
def test_a_tape_records_what_it_watches(run, case, expected):
    assert [None if made is None else float(made) for made in run(case)] == expected


def test_an_eager_tensor_that_a_function_uses():
    c = tf.constant(2.0)

    @tf.function
    def squared():
        with tf.GradientTape() as tape:
            tape.watch(c)
            y = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, y * c), (0, c))[1]
        return tape.gradient(y, c), tf.gradients(y, c)[0]

    assert [float(grad) for grad in squared()] == [4.0, 4.0]


def test_a_persistent_tape_records_the_gradients_of_functions():
    x, v = tf.constant(1.0), tf.Variable(1.0)
    f = tf.function(lambda x: tf.cos(x) * v)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
        third = tape.gradient(second, x)
    np.testing.assert_allclose([first, second, third], [-np.sin(1.0), -np.cos(1.0), np.sin(1.0)], rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(first, v), -np.sin(1.0), rtol=1e-6)


def test_gradients_of_what_functions_inside_one_another_capture():
    with tf1.Graph().as_default(), tf1.Session() as session:
        a, b = tf1.constant(2.0), tf1.constant(4.0)
        product = a * b

        @tf.function
        def outer():
            once = a * 1.0

            @tf.function
            def inner():
                return tf.gradients([tf.identity(once), tf.identity(b), tf.identity(product), a], [a, b])

            return inner()

        assert session.run(outer()) == [6.0, 3.0]


def test_a_function_called_twice_has_a_gradient_for_each_call():
    f = tf.function(lambda x: tf.exp(tf.sin(x)) * tf.sin(x))

    @tf.function
    def both(x, y):
        one, other = f(x), f(y)
        return tf.gradients(one, x)[0], tf.gradients(other, y)[0]

    def derivative(x):
        return np.exp(np.sin(x)) * np.cos(x) * (np.sin(x) + 1)

    np.testing.assert_allclose(both(tf.constant(1.0), tf.constant(2.0)), [derivative(1.0), derivative(2.0)], rtol=1e-6)


def test_integers_have_no_gradient():
    with tf1.Graph().as_default():
        x = tf1.constant(1.5)
        loop = tf1.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y), (0, x))
        with tf1.Session() as session:
            assert session.run(tf1.gradients(loop, x)) == [136.6875]
        assert tf1.gradients(tf1.cast(x, tf.int32), x) == [None]


def test_recomputing_a_function_of_the_same_tensor_twice():
    x = tf.ones([2])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.recompute_grad(lambda a, b: a * b)(x, x)
    assert tape.gradient(y, x).numpy().tolist() == [2.0, 2.0]


def test_a_custom_gradient_sees_the_variables_of_a_graph():
    with tf1.Graph().as_default(), tf1.Session() as session:

        @tf.custom_gradient
        def scaled(x):
            w = tf1.get_variable("w", initializer=3.0, use_resource=True)

            def gradient(grad, variables=None):
                assert variables == [w]
                return grad * w, [grad * x]

            return x * w, gradient

        x = tf1.constant(2.0)
        made = tf1.gradients(scaled(x), [x, *tf1.trainable_variables()])
        session.run(tf1.global_variables_initializer())
        assert session.run(made) == [3.0, 2.0]


def test_an_optimizer_minimizes_a_function_in_a_graph():
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.get_variable("v", initializer=[[1.0, 1.0]], use_resource=True)
        step = tf1.train.MomentumOptimizer(1.0, 0.0).minimize(lambda: tf.reduce_sum(v * 4.0))
        session.run(tf1.global_variables_initializer())
        session.run(step)
        assert session.run(v).tolist() == [[-3.0, -3.0]]


def test_jacobians_of_shapes_that_are_known_when_the_graph_runs():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def jacobians(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = (x * x * x)[:, :2]
        return tape.jacobian(y, x), tape.batch_jacobian(y, x)

    x = tf.constant(np.arange(12.0).reshape(3, 4))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = (x * x * x)[:, :2]
    whole, batch = jacobians(tf.cast(x, tf.float32))
    np.testing.assert_allclose(whole, tape.jacobian(y, x))
    np.testing.assert_allclose(batch, tape.batch_jacobian(y, x))


def test_jacobians_of_nothing_have_their_shapes():
    x = tf.zeros([1, 0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
    assert tape.batch_jacobian(y, x).shape == [1, 0, 0]
    assert tape.jacobian(y, x).shape == [1, 0, 1, 0]


class Wrapped:
    """A variable of a program's own, as libraries have them: it stands for one, and is none."""

    def __init__(self, variable):
        self.value = variable

    @property
    def handle(self):
        return self.value.handle


@pytest.mark.parametrize("in_graph", [False, True])
def test_what_stands_for_a_variable_counts_as_one(in_graph):
    v = tf.Variable(3.0)
    wrapped = Wrapped(v)

    def slopes():
        with tf.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
            tape.watch(wrapped)
            y = v * v
        made = [tape.gradient(y, wrapped), tape.gradient(y, {"w": wrapped})["w"], tape.gradient(wrapped, wrapped)]
        return [*made, *tf.gradients(v * v, wrapped)] if in_graph else made

    made = (tf.function(slopes) if in_graph else slopes)()
    assert [float(slope) for slope in made] == [6.0, 6.0, 1.0, 6.0][: len(made)]


def test_a_batch_needs_rows():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tape.batch_jacobian(y, x)
