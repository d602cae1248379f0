"""Transcendental functions of many elements by NumPy, against NumPy's in a wider type."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import quick_numpy
from situs._src.ops.quick_numpy import MANY

FUNCTIONS = {
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
EDGES = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 2.0, -3.0, float("inf"), -float("inf"), float("nan")]
WIDER = {np.float32: np.float64, np.float64: np.longdouble}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def units(found, right):
    """How far results are from the right ones, in units of the last place; NaN and infinities stand where they do."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = right.astype(found.dtype)
    finite = np.isfinite(narrow)
    np.testing.assert_array_equal(found[~finite], narrow[~finite])
    np.testing.assert_array_equal(np.signbit(found[narrow == 0]), np.signbit(narrow[narrow == 0]))
    return np.max(np.abs(found[finite] - right[finite]) / np.spacing(np.abs(narrow[finite])))


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 5), (np.float64, 2)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_right_to_the_last_places(name, dtype, limit):
    x = np.concatenate([np.linspace(-3, 3, 5 * MANY), np.geomspace(1e-30, 1e30, MANY), EDGES]).astype(dtype)
    with np.errstate(all="ignore"):
        right = FUNCTIONS[name](x.astype(WIDER[dtype]))
    for found in (
        getattr(tf.math, name)(x),
        quick_numpy.kernel(getattr(torch, name), FUNCTIONS[name])(torch.tensor(x)),
    ):
        assert found.dtype in (tf.as_dtype(dtype), torch.tensor(x).dtype)
        assert units(found.numpy(), right) < limit


@pytest.mark.parametrize("size", [MANY - 1, MANY, 2 * MANY])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_right_on_either_side_of_the_limit(name, size):
    low, high = (1.1, 3.0) if name == "acosh" else (-0.9, 0.9)
    x = np.random.default_rng(0).uniform(low, high, size)
    source = tf.constant(x.astype(np.float32))
    function = getattr(tf.math, name)
    with tf.GradientTape() as tape:
        tape.watch(source)
        made = function(source)
    step = 1e-6
    slope = (FUNCTIONS[name](x + step) - FUNCTIONS[name](x - step)) / (2 * step)
    np.testing.assert_allclose(made.numpy(), FUNCTIONS[name](x), rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(tape.gradient(made, source).numpy(), slope, rtol=2e-5, atol=1e-6)
    traced = tf.function(lambda x: function(x + 0.0) * 1.0)
    np.testing.assert_allclose(traced(source).numpy(), FUNCTIONS[name](x), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("size", [MANY - 1, 2 * MANY])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_written_over_inputs_are_the_same(name, size):
    x = torch.linspace(-0.9, 0.9, size) + 2.0 * (name == "acosh")
    both = getattr(torch, name), FUNCTIONS[name]
    right = quick_numpy.kernel(*both)(x)
    spread = [torch.empty(2 * size)[::2].copy_(x)] if size >= MANY else []  # PyTorch's own differ by strides
    for given in (x.clone(), *spread):
        strides = given.stride()
        assert quick_numpy.overwriting(*both, 0)(given) is given
        assert given.stride() == strides
        np.testing.assert_array_equal(given.numpy(), right.numpy())


@pytest.mark.parametrize("place", [0, 1])
def test_either_input_can_be_written_over(place):
    y, x = torch.linspace(-3, 3, MANY), torch.linspace(2, -2, MANY)
    right = quick_numpy.kernel(torch.atan2, np.arctan2)(y, x)
    found = quick_numpy.overwriting(torch.atan2, np.arctan2, place)(y, x)
    assert found is (y, x)[place]
    np.testing.assert_array_equal(found.numpy(), right.numpy())


def test_angles_broadcast():
    random = np.random.default_rng(1)
    y, x = random.normal(size=(1, 200)).astype(np.float32), random.normal(size=(300, 1)).astype(np.float32)
    found = tf.atan2(y, x)
    assert found.shape == (300, 200)
    np.testing.assert_allclose(found.numpy(), np.arctan2(y.astype(np.float64), x.astype(np.float64)), rtol=5e-7)
    kernel = quick_numpy.kernel(torch.atan2, np.arctan2)
    np.testing.assert_allclose(kernel(torch.tensor(y), torch.tensor(x)).numpy(), found.numpy(), rtol=5e-7)
    signs = np.resize(np.array([0.0, -0.0, np.inf, -np.inf], np.float32), MANY)
    np.testing.assert_array_equal(tf.atan2(signs, signs[::-1].copy()).numpy(), np.arctan2(signs, signs[::-1]))


def test_layouts():
    kernel = quick_numpy.kernel(torch.asin, np.arcsin)
    x = torch.rand(70, 600)
    for each in (x.t(), x[::2, 1:], x.reshape(2, -1, 10).transpose(0, 2), torch.complex(x, -x).conj().imag):
        np.testing.assert_allclose(kernel(each).numpy(), np.arcsin(each.double().numpy()), rtol=5e-7)


def test_pytorch_serves_few_elements_and_many_threads(monkeypatch):
    called = []
    kernel = quick_numpy.kernel(lambda x: called.append(x.numel()) or torch.asin(x), np.arcsin)
    kernel(torch.zeros(MANY - 1))
    kernel(torch.zeros(MANY))
    assert called == [MANY - 1]
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    kernel(torch.zeros(2**15))  # one thread's part
    kernel(torch.zeros(2**18))
    assert called == [MANY - 1, 2**18]


def test_graphs_take_pytorchs_own_where_there_are_few_elements():
    def shaped(*sizes):
        with tf.Graph().as_default():
            return v1.placeholder(tf.float32, sizes)

    lower = quick_numpy.lowering(torch.atan2)
    assert lower(shaped(4, 4), shaped(4)) is torch.atan2
    assert lower(shaped(None, 4), shaped()) is torch.atan2
    assert lower(shaped(MANY, 4), shaped()) is None
