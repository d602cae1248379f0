"""``tf.autodiff.ForwardAccumulator``: the truth is PyTorch's own products, and calculus."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf

Along = tf.autodiff.ForwardAccumulator
X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
V = np.array([[1.0, 0.0, -2.0], [0.5, 0.25, 1.0]], np.float32)
FUNCTIONS = {
    "tanh of a product": (
        lambda x: tf.tanh(tf.matmul(x, x, transpose_b=True)),
        lambda x: torch.tanh(x @ x.T),
    ),
    "softmax": (tf.nn.softmax, lambda x: torch.softmax(x, -1)),
    "relu and a sum": (lambda x: tf.reduce_sum(tf.nn.relu(x) ** 3, 1), lambda x: (torch.relu(x) ** 3).sum(1)),
    "largest": (lambda x: tf.reduce_max(x, 1), lambda x: x.amax(1)),
    "rows by number": (lambda x: tf.gather(x, [1, 1, 0]) * 2.0, lambda x: x[[1, 1, 0]] * 2.0),
    "parts": (
        lambda x: tf.concat([x[:, 1:], x[:, :1] * x[:, 2:]], 1),
        lambda x: torch.cat([x[:, 1:], x[:, :1] * x[:, 2:]], 1),
    ),
    "logsumexp": (lambda x: tf.reduce_logsumexp(x, 0), lambda x: torch.logsumexp(x, 0)),
    "running logsumexp": (
        lambda x: tf.math.cumulative_logsumexp(x, 1),
        lambda x: torch.stack([torch.logsumexp(x[:, : n + 1], 1) for n in range(3)], 1),
    ),
    "running product": (lambda x: tf.math.cumprod(x, 1), lambda x: torch.cumprod(x, 1)),
}


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_are_those_of_pytorch(name, in_function):
    ours, theirs = FUNCTIONS[name]

    def product(x, v):
        with Along(x, v) as along:
            y = ours(x)
        return y, along.jvp(y)

    run = tf.function(product) if in_function else product
    y, jvp = run(tf.constant(X), tf.constant(V))
    wanted_y, wanted = torch.autograd.functional.jvp(theirs, torch.from_numpy(X), torch.from_numpy(V))
    np.testing.assert_allclose(y.numpy(), wanted_y.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jvp.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_a_loop_and_a_function_inside():
    @tf.function
    def steps(x):
        for _ in tf.range(3):
            x = x * tf.sin(x)
        return x

    with Along(tf.constant(X), tf.constant(V)) as along:
        x = tf.constant(X)  # not the tensor that is watched
        nothing = steps(x)
    assert along.jvp(nothing) is None
    x = tf.constant(X)
    with Along(x, tf.constant(V)) as along:
        y = steps(x)

    def theirs(x):
        for _ in range(3):
            x = x * torch.sin(x)
        return x

    wanted = torch.autograd.functional.jvp(theirs, torch.from_numpy(X), torch.from_numpy(V))[1]
    np.testing.assert_allclose(along.jvp(y).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_products_with_a_hessian_over_a_tape():
    w = tf.Variable([1.0, 2.0, 3.0])
    with Along(w, tf.constant([1.0, 0.0, 2.0])) as along:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**3)
        gradient = tape.gradient(loss, w)
    np.testing.assert_allclose(along.jvp(gradient).numpy(), [6.0, 0.0, 36.0])
    assert float(along.jvp(loss)) == 3.0 + 2 * 27.0


def test_accumulators_in_each_other_give_second_derivatives():
    x = tf.constant(1.5)
    with Along(x, tf.constant(1.0)) as outer:
        with Along(x, tf.constant(1.0)) as inner:
            y = x**4
        first = inner.jvp(y)
    assert float(first) == pytest.approx(4 * 1.5**3)
    assert float(outer.jvp(first)) == pytest.approx(12 * 1.5**2)


def test_a_tape_around_an_accumulator():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        with Along(x, tf.constant([1.0, 3.0])) as along:
            y = tf.reduce_sum(x**3)
        product = along.jvp(y)
    np.testing.assert_allclose(tape.gradient(product, x).numpy(), [6.0, 36.0])


def test_structures_of_primals_and_results_and_what_is_not_connected():
    a, w = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    with Along([a, w], [tf.ones([2]), tf.constant([10.0, 0.0])]) as along:
        product, other, count = a * w, tf.constant(7.0), tf.constant(3)
        inside = along.jvp(product)
    found = along.jvp({"p": product, "o": other, "n": count, "a": a, "w": w})
    np.testing.assert_allclose(found["p"].numpy(), [13.0, 4.0])
    np.testing.assert_allclose(inside.numpy(), [13.0, 4.0])
    assert found["o"] is None
    assert found["n"] is None
    np.testing.assert_allclose(found["a"].numpy(), [1.0, 1.0])
    np.testing.assert_allclose(found["w"].numpy(), [10.0, 0.0])
    assert float(along.jvp(other, unconnected_gradients="zero")) == 0.0


def test_a_layer_of_keras_is_a_primal():
    layer = tf.keras.layers.Dense(1, use_bias=False)
    layer.build((None, 2))
    layer.set_weights([np.array([[2.0], [3.0]], np.float32)])
    with Along(layer.kernel, tf.constant([[1.0], [0.5]])) as along:
        y = layer(tf.constant([[4.0, 6.0]]))
    np.testing.assert_allclose(along.jvp(y).numpy(), [[7.0]])


def test_nonsense_is_refused():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="a tangent for each primal"):
        Along([x, x], [x])
    with pytest.raises(ValueError, match="shape"):
        Along(x, tf.ones([3]))
    with pytest.raises(ValueError, match="tensors or variables"):
        Along(3.0, 1.0)
    with pytest.raises(ValueError, match="without first tracing"):
        Along(x, x).jvp(x)
    with Along(x, x) as along:
        y = x * 2.0
        with pytest.raises(ValueError, match="recording"):
            along.__enter__()
    with pytest.raises(TypeError, match="computed"):
        along.jvp("y")
    with pytest.raises(ValueError, match="unconnected_gradients"):
        along.jvp(y, "some")


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function])
def test_products_of_products_when_all_accumulators_have_ended(wrap):
    x, one = tf.constant(1.1), tf.constant(1.0)
    function = wrap(lambda x: x**3.5)
    accumulator = tf.autodiff.ForwardAccumulator
    with accumulator(x, one) as outermost, accumulator(x, one) as outer, accumulator(x, one) as inner:
        y = function(x)
    first = inner.jvp(y)
    second = outer.jvp(first)
    third = outermost.jvp(second)
    np.testing.assert_allclose([float(first), float(second)], [3.5 * 1.1**2.5, 8.75 * 1.1**1.5], rtol=1e-5)
    np.testing.assert_allclose(float(third), 3.5 * 2.5 * 1.5 * 1.1**0.5, rtol=1e-5)
    assert inner.jvp(outer.jvp(y)) is None
    assert not outer._tape._recording
