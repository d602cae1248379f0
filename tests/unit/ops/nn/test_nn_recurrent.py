"""The LSTM as one op: the figures and gradients of PyTorch's, and of the same steps written with ops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops.nn.recurrent import lstm, lstm_in_steps
from situs.errors import InvalidArgumentError

STEPS, BATCH, UNITS = 5, 3, 4


def values(dtype=np.float64, steps=STEPS, batch=BATCH):
    draw = np.random.default_rng(3).normal
    shapes = [(steps, batch, 4 * UNITS), (UNITS, 4 * UNITS), (batch, UNITS), (batch, UNITS)]
    return [draw(size=shape).astype(dtype) for shape in shapes]


def flows(steps=STEPS):
    draw = np.random.default_rng(4).normal
    return [draw(size=shape) for shape in [(steps, BATCH, UNITS), (BATCH, UNITS), (BATCH, UNITS)]]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_its_figures_are_those_of_pytorch(on_device, dtype):
    given = values(dtype)
    z, recurrent, h, c = [torch.tensor(x, dtype=torch.float64) for x in given]
    weights = [torch.eye(4 * UNITS, dtype=torch.float64), recurrent.t()]
    wanted = torch._VF.lstm(z, (h[None], c[None]), weights, False, 1, 0.0, False, False, False)
    found = lstm(*[tf.constant(x) for x in given])
    tolerance = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}[dtype]
    for one, other in zip(found, (wanted[0], wanted[1][0], wanted[2][0]), strict=True):
        assert one.dtype.as_numpy_dtype is dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("used", [(0,), (1,), (2,), (0, 1, 2)])
def test_its_gradients_are_those_of_pytorch(on_device, used):
    given = [torch.tensor(x, requires_grad=True) for x in values()]
    z, recurrent, h, c = given
    weights = [torch.eye(4 * UNITS, dtype=torch.float64), recurrent.t()]
    made = torch._VF.lstm(z, (h[None], c[None]), weights, False, 1, 0.0, True, False, False)
    results = [made[0], made[1][0], made[2][0]]
    sum((results[n] * torch.tensor(flows()[n])).sum() for n in used).backward()

    def gradients(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            found = lstm(*inputs)
            y = tf.add_n([tf.reduce_sum(found[n] * flows()[n]) for n in used])
        return tape.gradient(y, inputs)

    for run in (gradients, tf.function(gradients)):
        for found, wanted in zip(run(*[tf.constant(x) for x in values()]), given, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.grad, rtol=1e-10, atol=1e-12)


def of_order(order, function, inputs):
    """The gradients of a number that all gradients of one order less make; nothing is left out."""
    if order == 0:
        return list(function(*inputs))
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        made = of_order(order - 1, function, inputs)
        y = tf.add_n([tf.reduce_sum(tf.sin(x) * (n + 1.0)) for n, x in enumerate(made)])
    return tape.gradient(y, inputs)


@pytest.mark.parametrize("order", [2, 3])
def test_gradients_of_gradients_are_those_of_the_steps(on_device, order):
    inputs = [tf.constant(x[:2] if n == 0 else x) for n, x in enumerate(values())]
    wanted = of_order(order, lstm_in_steps, inputs)
    for run in (of_order, tf.function(of_order)):
        found = run(order, lstm, inputs)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)


def test_second_order_in_a_graph_and_in_a_loop():
    inputs = [tf.constant(x) for x in values()]

    def turned(function, z, recurrent, h, c):
        for _ in range(2):
            _, h, c = function(z, recurrent, h, c)
        return [h, c]

    wanted = of_order(2, lambda *given: turned(lstm_in_steps, *given), inputs)

    def looped(z, recurrent, h, c):
        def body(t, h, c):
            return t + 1, *lstm(z, recurrent, h, c)[1:]

        return tf.while_loop(lambda t, *_: t < 2, body, (tf.constant(0), h, c))[1:]

    for one, other in zip(tf.function(of_order)(2, looped, inputs), wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)
    with v1.Graph().as_default():
        given = [v1.placeholder(tf.float64, x.shape) for x in values()]
        made = turned(lstm, *given)
        for _ in range(2):
            y = v1.add_n([v1.reduce_sum(v1.sin(x) * (n + 1.0)) for n, x in enumerate(made)])
            made = v1.gradients(y, given)
        with v1.Session() as session:
            found = session.run(made, dict(zip(given, values(), strict=True)))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("steps", "batch"), [(0, 3), (2, 0), (0, 0), (1, 1)])
def test_there_may_be_no_steps_and_no_examples(on_device, steps, batch):
    inputs = [tf.constant(x) for x in values(steps=steps, batch=batch)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y, h, c = lstm(*inputs)
        total = tf.reduce_sum(y) + tf.reduce_sum(h * 2.0) + tf.reduce_sum(c * 3.0)
    assert [*y.shape] == [steps, batch, UNITS]
    found = tape.gradient(total, inputs)
    assert [x.shape for x in found] == [x.shape for x in inputs]
    if steps == 0:
        np.testing.assert_array_equal(h.numpy(), inputs[2].numpy())
        np.testing.assert_array_equal(found[2].numpy(), np.full((batch, UNITS), 2.0))
        np.testing.assert_array_equal(found[3].numpy(), np.full((batch, UNITS), 3.0))


def test_nan_and_infinity_go_where_the_steps_take_them(on_device):
    inputs = values()
    inputs[0][1, 0, :] = np.nan
    inputs[0][2, 1, :] = np.inf
    inputs[0][2, 2, :] = -np.inf
    given = [tf.constant(x) for x in inputs]
    for one, other in zip(lstm(*given), lstm_in_steps(*given), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def test_sizes_that_do_not_fit_are_refused():
    z, recurrent, h, c = [tf.constant(x) for x in values()]
    for bad in (
        [z[0], recurrent, h, c],
        [z, recurrent[:2], h, c],
        [z, recurrent, h[:1], c],
        [z[..., :8], recurrent, h, c],
    ):
        with pytest.raises((InvalidArgumentError, ValueError)):
            lstm(*bad)
        with pytest.raises((InvalidArgumentError, ValueError)):
            tf.function(lstm)(*bad)
    with pytest.raises((TypeError, InvalidArgumentError)):
        lstm(tf.cast(z, tf.int32), recurrent, h, c)
