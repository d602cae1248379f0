"""Gradients of and in `tf.function`, and gradients that programs define themselves."""

from __future__ import annotations

import copy
import pickle

import pytest

import situs as tf


@tf.function
def cubed(x):
    return x * x * x


def test_a_tape_goes_back_through_a_function():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = cubed(x) * 2.0
    assert tape.gradient(y, x).numpy().tolist() == [6.0, 24.0]


def test_a_tape_inside_a_function():
    v = tf.Variable(3.0)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x * v
        return tape.gradient(y, [x, v])

    assert [float(g) for g in slope(tf.constant(2.0))] == [12.0, 4.0]


def test_a_function_that_calls_another_one():
    v = tf.Variable(2.0)

    @tf.function
    def outer(x):
        return cubed(x * v)

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = outer(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [3 * 9.0 * 8.0, 3 * 4.0 * 27.0]


def test_second_derivatives_through_a_function():
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = cubed(x)
        first = inner.gradient(y, x)
    assert float(outer.gradient(first, x)) == 12.0


def test_loops_and_branches_of_autograph():
    @tf.function
    def power(x, n):
        y = tf.constant(1.0)
        for i in tf.range(n):
            if i % 2 == 0:  # noqa: SIM108 -- a branch for AutoGraph to turn into an operation
                y = y * x
            else:
                y = y * x * 2.0
        return y

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = power(x, tf.constant(4))
    assert float(y) == 4.0 * 81.0
    assert float(tape.gradient(y, x)) == 4.0 * 4 * 27.0


def test_several_results_some_without_gradient():
    @tf.function
    def f(x):
        return x * 2.0, tf.cast(x, tf.int32), x * x

    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        a, b, c = f(x)
    assert float(tape.gradient(a, x)) == 2.0
    assert float(tape.gradient([a, c], x)) == 8.0
    assert b.numpy() == 3


def test_a_custom_gradient_takes_the_place_of_the_functions_own():
    @tf.custom_gradient
    def f(x):
        return x * 3.0, lambda grad: grad * 100.0

    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = f(x) * 2.0
    assert float(y) == 12.0
    assert float(tape.gradient(y, x)) == 200.0


def test_a_custom_gradient_with_variables():
    v = tf.Variable(2.0)

    @tf.custom_gradient
    def f(x):
        def grad(upstream, variables=None):
            assert [variable is v for variable in variables] == [True]
            return upstream * 10.0, [upstream * 7.0]

        return x * v, grad

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [float(g) for g in tape.gradient(y, [x, v])] == [10.0, 7.0]


def test_a_custom_gradient_that_ignores_its_variables_is_refused():
    v = tf.Variable(2.0)
    f = tf.custom_gradient(lambda x: (x * v, lambda grad: grad))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(TypeError, match="must accept a 'variables'"):
            f(x)


def test_a_custom_gradient_with_the_wrong_number_of_gradients_is_refused():
    f = tf.custom_gradient(lambda x, y: (x * y, lambda grad: grad))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, x)
    with pytest.raises(ValueError, match="expected to return 2 gradients"):
        tape.gradient(y, x)


@pytest.mark.parametrize("made", [3.0, (1.0, 2.0), None])
def test_a_function_that_gives_no_gradient_is_refused(made):
    with pytest.raises(TypeError, match="returns its results and a function"):
        tf.custom_gradient(lambda x: made)(tf.constant(1.0))


def test_gradients_of_variables_come_beside_those_of_arguments():
    v = tf.Variable([1.0, 2.0])
    f = tf.custom_gradient(lambda x: (x * v, lambda grad, variables: grad))
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = f(x)
    with pytest.raises(ValueError, match="returns two things"):
        tape.gradient(y, x)


@pytest.mark.parametrize("decorate", [tf.custom_gradient, tf.grad_pass_through, tf.recompute_grad])
def test_what_is_decorated_is_a_function(decorate):
    with pytest.raises(TypeError, match="decorates a function, got 3"):
        decorate(3)


def test_a_function_of_numbers_returns_a_gradient_too():
    with pytest.raises(TypeError, match="returns its results and a function for their gradients"):
        tf.custom_gradient(lambda x: x)(3.0)


def test_a_custom_gradient_of_numbers_takes_tensors_where_a_gradient_may_be_asked_for():
    f = tf.custom_gradient(lambda x: (x.shape.rank, lambda grad: grad))
    with tf.GradientTape():
        assert int(f(3.0)) == 0
    with tf.compat.v1.Graph().as_default() as graph:
        assert f(3.0).graph is graph


def test_a_custom_gradient_in_a_function():
    f = tf.custom_gradient(lambda x: (x * 3.0, lambda grad: grad * 100.0))

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(1.0))) == 100.0


def test_what_is_computed_again_has_the_same_gradient():
    v = tf.Variable(2.0)
    f = tf.recompute_grad(lambda x: tf.tanh(x) * v)
    x = tf.constant(0.5)
    found = []
    for function in (f, lambda x: tf.tanh(x) * v):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        found.append([float(g) for g in tape.gradient(y, [x, v])])
    assert found[0] == pytest.approx(found[1])


def test_a_gradient_may_pass_through():
    f = tf.grad_pass_through(tf.round)
    x = tf.Variable(2.6)
    with tf.GradientTape() as tape:
        y = f(x) * 5.0
    assert float(y) == 15.0
    assert float(tape.gradient(y, x)) == 5.0


@pytest.mark.parametrize("returned", [lambda g: (g, []), lambda g: [[g]], lambda g: {"x": g}, lambda g: g])
def test_the_gradients_of_a_custom_gradient_may_be_a_structure(returned):
    @tf.custom_gradient
    def tripled(x):
        def gradient(grad, variables=None):
            return returned(grad * 3.0)

        return x * 2.0, gradient

    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tripled(x)
        return tape.gradient(y, x)

    assert float(derivative(tf.constant(2.0))) == float(tf.function(derivative)(tf.constant(2.0))) == 3.0


@tf.custom_gradient
def waved(x):
    wave = tf.sin(x)
    return x * wave, lambda grad: grad * 3.0 * x * wave


def again(x):
    return tf.recompute_grad(lambda t: tf.sin(t) * t)(x)


INSIDE = {
    "call": lambda f: tf.function(f),
    "branch": lambda f: lambda x: tf.cond(x > 0, lambda: f(x * 1.0), lambda: x),
    "loop": lambda f: lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, f(y * x)), [0, x])[1],
    "branch in a loop": lambda f: lambda x: INSIDE["loop"](INSIDE["branch"](f))(x),
    "call in a branch": lambda f: lambda x: INSIDE["branch"](INSIDE["call"](f))(x),
}


@pytest.mark.parametrize("function", [waved, again])
@pytest.mark.parametrize("inside", INSIDE)
def test_custom_gradients_use_what_was_computed_inside(inside, function):
    def derivatives(x, f):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            first = tape.gradient(y, x)
        return first, outer.gradient(first, x)

    x, eager, held = tf.constant(1.3), function, INSIDE[inside](function)
    expected = derivatives(x, lambda x: eager(eager(x * x) * x)) if "loop" in inside else derivatives(x, eager)
    for found in (derivatives(x, tf.function(held)), tf.function(lambda x: derivatives(x, held))(x)):
        assert [float(g) for g in found] == pytest.approx([float(g) for g in expected], rel=1e-5)


def test_complex_targets_need_gradients_of_their_own():
    @tf.function
    def slopes(z, *seeds):
        return tf.gradients(z * z, z, *seeds)[0]

    z = tf.constant([1.0 + 2.0j])
    with pytest.raises(TypeError, match="must set grad_ys"):
        slopes(z)
    assert slopes(z, [tf.constant([1.0 + 0.0j], z.dtype)]).numpy().tolist() == [2.0 - 4.0j]


class Halves(tf.Module):
    """Methods with gradients of their own."""

    def __init__(self):
        super().__init__()
        self.factor = tf.Variable(3.0)
        self.slope = 0.5

    @tf.custom_gradient
    def __call__(self, x):
        return self.factor * x, lambda grad, variables=None: (grad * self.slope, [grad * 7.0 for _ in variables])

    @tf.custom_gradient
    def both(self, x, y):
        return (x + 1.0, y + 2.0), lambda first, second: (first * self.slope, second * 2.0)

    @tf.recompute_grad
    def again(self, x):
        return self.factor * x * x

    @tf.grad_pass_through
    def rounded(self, x):
        return tf.round(x)

    @staticmethod
    @tf.custom_gradient
    def alone(x):
        return x * 2.0, lambda grad: grad * 11.0


@pytest.mark.parametrize("in_function", [False, True])
def test_methods_have_gradients_of_their_own(in_function):
    module, x = Halves(), tf.constant(2.0)

    def slopes(call, *sources):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = (tf.function(call) if in_function else call)(x)
        return [float(grad) for grad in tape.gradient(made, sources)]

    assert slopes(module, x, module.factor) == [0.5, 7.0]
    assert slopes(lambda x: module.both(x, x), x) == [2.5]
    assert slopes(module.again, x, module.factor) == [12.0, 4.0]
    assert slopes(module.rounded, x) == [1.0]
    assert slopes(module.alone, x) == [11.0]
    assert slopes(Halves.alone, x) == [11.0]
    assert module.both.__name__ == "both"


@tf.custom_gradient
def flipped(x):
    """The identity, with its gradient turned round."""
    return tf.identity(x), lambda grad: -grad


def test_a_function_with_a_gradient_of_its_own_is_copied_and_pickled_like_a_function():
    assert copy.deepcopy(flipped) is flipped
    assert pickle.loads(pickle.dumps(flipped)) is flipped
    assert flipped.__doc__ == "The identity, with its gradient turned round."
    assert tf.function(flipped).__name__ == "flipped"
    assert float(tf.function(flipped)(tf.constant(2.0))) == 2.0
