"""The GRU as one op: the figures and gradients of PyTorch's, and of the same steps written with ops and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.ops.nn.gated_recurrent import gru, gru_in_steps
from situs.errors import InvalidArgumentError

STEPS, BATCH, UNITS = 5, 3, 4


def values(dtype=np.float64, steps=STEPS, batch=BATCH):
    draw = np.random.default_rng(3).normal
    shapes = [(steps, batch, 3 * UNITS), (UNITS, 3 * UNITS), (3 * UNITS,), (batch, UNITS)]
    return [draw(size=shape).astype(dtype) for shape in shapes]


def flows():
    draw = np.random.default_rng(4).normal
    return [draw(size=shape) for shape in [(STEPS, BATCH, UNITS), (BATCH, UNITS)]]


def of_torch(z, recurrent, bias, h):
    """PyTorch's, whose first two gates stand the other way round."""

    def turned(x):
        update, reset, candidate = x.split(UNITS, -1)
        return torch.cat([reset, update, candidate], -1)

    weights = [torch.eye(3 * UNITS, dtype=z.dtype), turned(recurrent).t(), torch.zeros(3 * UNITS, dtype=z.dtype)]
    weights.append(turned(bias))
    y, last = torch._VF.gru(turned(z), h[None], weights, True, 1, 0.0, z.requires_grad, False, False)
    return y, last[0]


def in_numpy(z, recurrent, bias, h, reset_after):
    found = []
    for row in z:
        two = 1 / (1 + np.exp(-(row + h @ recurrent + bias)[:, : 2 * UNITS]))
        update, reset = two[:, :UNITS], two[:, UNITS:]
        weights, added = recurrent[:, 2 * UNITS :], bias[2 * UNITS :]
        seen = reset * (h @ weights + added) if reset_after else (reset * h) @ weights + added
        h = update * h + (1 - update) * np.tanh(row[:, 2 * UNITS :] + seen)
        found.append(h)
    return np.stack(found), h


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("reset_after", [True, False])
def test_its_figures_are_those_of_the_equations(on_device, dtype, reset_after):
    given = values(dtype)
    wanted = in_numpy(*[x.astype(np.float64) for x in given], reset_after)
    found = gru(*[tf.constant(x) for x in given], reset_after)
    tolerance = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-12}[dtype]
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype.as_numpy_dtype is dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_its_figures_and_gradients_are_those_of_pytorch(on_device, used):
    given = [torch.tensor(x, requires_grad=True) for x in values()]
    results = of_torch(*given)
    sum((results[n] * torch.tensor(flows()[n])).sum() for n in used).backward()

    def gradients(*inputs):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            found = gru(*inputs)
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


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("reset_after", [True, False])
def test_gradients_of_every_order_are_those_of_the_steps(on_device, order, reset_after):
    inputs = [tf.constant(x[:2] if n == 0 else x) for n, x in enumerate(values())]
    wanted = of_order(order, lambda *given: gru_in_steps(*given, reset_after), inputs)
    for run in (of_order, tf.function(of_order)):
        found = run(order, lambda *given: gru(*given, reset_after), inputs)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("reset_after", [True, False])
@pytest.mark.parametrize(("steps", "batch"), [(0, 3), (2, 0), (1, 1)])
def test_there_may_be_no_steps_and_no_examples(on_device, steps, batch, reset_after):
    inputs = [tf.constant(x) for x in values(steps=steps, batch=batch)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y, h = gru(*inputs, reset_after)
        total = tf.reduce_sum(y) + tf.reduce_sum(h * 2.0)
    assert [*y.shape] == [steps, batch, UNITS]
    found = tape.gradient(total, inputs)
    assert [x.shape for x in found] == [x.shape for x in inputs]
    if steps == 0:
        np.testing.assert_array_equal(h.numpy(), inputs[3].numpy())
        np.testing.assert_array_equal(found[3].numpy(), np.full((batch, UNITS), 2.0))


@pytest.mark.parametrize("reset_after", [True, False])
def test_an_infinite_update_keeps_the_state_and_lets_its_gradient_through(on_device, reset_after):
    z, recurrent, bias, h = values(np.float32)
    z[:, :, :UNITS] = np.inf
    inputs = [tf.constant(x) for x in (z, recurrent, bias, h)]
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        y, last = gru(*inputs, reset_after)
        total = tf.reduce_sum(last * 3.0)
    np.testing.assert_array_equal(y.numpy(), np.broadcast_to(h, y.shape))
    found = tape.gradient(total, inputs)
    np.testing.assert_array_equal(found[3].numpy(), np.full(h.shape, 3.0))
    for each in found[:3]:
        np.testing.assert_array_equal(each.numpy(), np.zeros(each.shape))


def test_sizes_that_do_not_fit_are_refused():
    z, recurrent, bias, h = [tf.constant(x) for x in values()]
    for bad in (
        [z[0], recurrent, bias, h],
        [z, recurrent[:2], bias, h],
        [z, recurrent, bias[:3], h],
        [z, recurrent, bias, h[:1]],
        [z[..., :8], recurrent, bias, h],
    ):
        with pytest.raises((InvalidArgumentError, ValueError)):
            gru(*bad)
        with pytest.raises((InvalidArgumentError, ValueError)):
            tf.function(gru)(*bad)
    with pytest.raises((TypeError, InvalidArgumentError)):
        gru(tf.cast(z, tf.int32), recurrent, bias, h)
