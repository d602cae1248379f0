"""Activation functions against figures recorded from TensorFlow 2.21, NumPy, and their own definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import activation as act
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

X = (np.sin(np.arange(7) * 1.3 + 0.2) * 2).astype(np.float32)
TOLERANCE = {dt.float16: 2e-3, dt.bfloat16: 2e-2, dt.float32: 2e-6, dt.float64: 2e-6}

# Recorded from TensorFlow 2.21.
RECORDED = {
    "elu": [0.39733866, 1.99498999, 0.66997629, -0.80535042, -0.78680092, 0.80969983, 1.97871649],
    "selu": [0.41748413, 2.096138, 0.7039448, -1.41588604, -1.3832742, 0.85075241, 2.07903934],
    "gelu": [0.26003477, 1.94906139, 0.5015198, -0.08323813, -0.094446, 0.64042693, 1.93137765],
    "silu": [0.23762763, 1.7561301, 0.44318786, -0.26665112, -0.2716004, 0.56034917, 1.73839009],
    "softplus": [0.91142279, 2.12251663, 1.08322477, 0.17785293, 0.19326073, 1.1778034, 2.10820556],
    "softsign": [0.28435388, 0.66610909, 0.40118912, -0.62071705, -0.60715437, 0.44742218, 0.66428494],
    "log_sigmoid": [-0.51408416, -0.12752654, -0.41324854, -1.81440711, -1.73878968, -0.3681035, -0.12948897],
    "softmax": [0.07193734, 0.35547215, 0.09448426, 0.00941122, 0.01030808, 0.10865273, 0.34973419],
    "log_softmax": [-2.63195992, -1.03430843, -2.35932207, -4.66585255, -4.57482719, -2.21959853, -1.05058193],
}


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("name", RECORDED)
def test_figures_are_tensorflows(on_device, name, dtype):
    y = getattr(act, name)(to_tensor(X, dtype))
    assert y.dtype is dtype
    assert y.device == on_device
    np.testing.assert_allclose(
        np.asarray(y, np.float64), RECORDED[name], rtol=10 * TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


def test_gelu_and_silu_take_their_attribute(on_device):
    # Recorded from TensorFlow 2.21.
    tanh = [0.26002741, 1.94915497, 0.50147194, -0.08340554, -0.09465076, 0.64033991, 1.93145716]
    two = [0.27370065, 1.95875287, 0.53094423, -0.05974296, -0.06719592, 0.67586643, 1.94160819]
    np.testing.assert_allclose(act.gelu(X, approximate=True).numpy(), tanh, rtol=1e-5)
    np.testing.assert_allclose(act.silu(X, beta=2.0).numpy(), two, rtol=1e-5)
    np.testing.assert_allclose(act.swish(to_tensor(X), beta=to_tensor(2.0)).numpy(), two, rtol=1e-5)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float64"])
def test_rectifiers_keep_dtypes(on_device, name):
    dtype = dt.as_dtype(name)
    x = to_tensor(np.array([0, 3, 9]) - (0 if dtype.is_unsigned else 2), dtype)
    for function, high in ((act.relu, 100), (act.relu6, 6)):
        y = function(x)
        assert y.dtype is dtype
        np.testing.assert_array_equal(np.asarray(y, np.float64), np.clip(np.asarray(x, np.float64), 0, high))


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_rectifiers_take_wide_unsigned_integers_on_the_cpu(name):
    x = to_tensor(np.array([0, 3, 9]), dt.as_dtype(name))
    np.testing.assert_array_equal(act.relu(x).numpy(), [0, 3, 9])
    np.testing.assert_array_equal(act.relu6(x).numpy(), [0, 3, 6])
    assert act.relu6(x).dtype.name == name


def test_nan_stays_nan(on_device):
    for function in (act.relu, act.relu6, act.elu, act.selu, act.gelu, act.leaky_relu, act.softplus, act.softmax):
        assert np.isnan(function([np.nan, 1.0]).numpy()[0]), function.__name__


def test_leaky_relu(on_device):
    np.testing.assert_allclose(act.leaky_relu([-5.0, 3.0]).numpy(), [-1, 3])
    np.testing.assert_allclose(act.leaky_relu([-5.0, 3.0], alpha=0.5).numpy(), [-2.5, 3])
    np.testing.assert_allclose(act.leaky_relu([-5.0, 3.0], alpha=2).numpy(), [-10, 3])
    of_integers = act.leaky_relu(np.array([-5, 3]))
    assert of_integers.dtype is dt.float32
    with pytest.raises(DTypeError, match="Expected float for argument 'alpha'"):
        act.leaky_relu([1.0], alpha=to_tensor(0.3))


def test_crelu_doubles_an_axis(on_device):
    np.testing.assert_array_equal(act.crelu([[-3.0, 1.0]]).numpy(), [[0, 1, 3, 0]])
    np.testing.assert_array_equal(act.crelu([[-3.0, 1.0]], axis=0).numpy(), [[0, 1], [3, 0]])
    np.testing.assert_array_equal(act.crelu_v1(np.array([-3, 1]), "name", 0).numpy(), [0, 1, 3, 0])
    assert act.crelu(np.zeros((3, 0), np.float32)).shape == (3, 0)
    with pytest.raises(InvalidArgumentError, match="axis 4 is out of range"):
        act.crelu([[1.0]], axis=4)
    with pytest.raises(InvalidArgumentError, match="out of range"):
        act.crelu(1.0)


def test_softplus_is_exact_for_large_and_small_inputs(on_device):
    x = np.array([-700.0, -30.0, 25.0, 39.0, 41.0, 800.0])
    expected = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    np.testing.assert_allclose(act.softplus(x).numpy(), expected, rtol=1e-15)
    np.testing.assert_allclose(act.log_sigmoid(-x).numpy(), -expected, rtol=1e-15)


@given(st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=8), st.floats(-100, 100, width=32))
def test_softmax_sums_to_one_and_ignores_a_shift(values, shift):
    x = np.array(values)
    y = act.softmax(x).numpy()
    assert y.sum() == pytest.approx(1)
    np.testing.assert_allclose(act.softmax(x + shift).numpy(), y, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.exp(act.log_softmax(x).numpy()), y, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, -2, None, np.int64(1)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_runs_along_an_axis(on_device, name, axis):
    x = np.arange(6.0).reshape(2, 3) ** 1.5
    along = -1 if axis is None else axis
    y = np.exp(x) / np.exp(x).sum(along, keepdims=True)
    found = getattr(act, name)(x, axis).numpy()
    np.testing.assert_allclose(found, y if name == "softmax" else np.log(y))
    np.testing.assert_array_equal(getattr(act, name + "_v1")(x, dim=axis).numpy(), found)


def test_softmax_axis_may_be_a_tensor(on_device):
    np.testing.assert_allclose(act.softmax([[1.0], [1.0]], axis=to_tensor(0)).numpy(), [[0.5], [0.5]])


@pytest.mark.parametrize("name", [*RECORDED, "relu", "relu6", "leaky_relu"])
def test_empty_tensors_and_views(on_device, name):
    function = getattr(act, name)
    for shape in ((0, 3), (3, 0)):
        assert function(np.zeros(shape, np.float32)).shape == shape
    transposed = X[:6].reshape(2, 3).T
    np.testing.assert_allclose(function(transposed).numpy(), function(np.ascontiguousarray(transposed)).numpy())


@pytest.mark.parametrize("name", [*set(RECORDED) - {"softmax", "log_softmax"}, "relu", "relu6", "leaky_relu"])
def test_scalars(on_device, name):
    function = getattr(act, name)
    np.testing.assert_allclose(function(1.5).numpy(), function([1.5]).numpy()[0], rtol=1e-6)


def test_complex_silu(on_device):
    x = np.array([1 + 2j, -1j], np.complex64)
    for beta in (1.0, 0.5):
        np.testing.assert_allclose(act.silu(x, beta).numpy(), x / (1 + np.exp(-beta * x)), rtol=1e-5)


@pytest.mark.parametrize("name", ["elu", "selu", "softplus", "softsign", "softmax", "log_softmax", "log_sigmoid"])
@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([True]), np.array([1j]), "text"], ids=str)
def test_wrong_dtypes_are_refused(on_device, name, value):
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        getattr(act, name)(value)


@pytest.mark.parametrize("value", [np.array([1, 2]), np.array([True]), np.array([1j]), "text"], ids=str)
def test_gelu_refuses_wrong_dtypes_as_tensorflow_does(on_device, value):
    with pytest.raises(ValueError, match="must be a floating point tensor"):
        act.gelu(value)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_refuses_scalars_and_wrong_axes(on_device, name):
    function = getattr(act, name)
    with pytest.raises(InvalidArgumentError, match="logits must have >= 1 dimension"):
        function(1.0)
    with pytest.raises(InvalidArgumentError, match=r"must be in the range \[-2, 2\).*axis=2"):
        function([[1.0]], axis=2)
    with pytest.raises(DTypeError, match="Expected int for argument 'axis'"):
        function([1.0], axis="last")
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'dim' and 'axis'"):
        getattr(act, name + "_v1")([1.0], axis=0, dim=0)


def test_shape_rules_know_partial_shapes():
    unknown = TensorShape(None)
    assert find_op("Softmax").shape_rule(unknown, axis=5).rank is None
    assert find_op("CRelu").shape_rule(TensorShape([None, 3]), axis=-1).as_list() == [None, 6]
    assert find_op("CRelu").shape_rule(TensorShape([None, 3]), axis=0).as_list() == [None, 3]


def test_the_fast_path_gives_the_same(fast):
    x = to_tensor(X)
    for name in ("relu", "gelu", "leaky_relu", "softmax", "log_softmax"):
        function = getattr(act, name)
        first, second = function(x).numpy(), function(x).numpy()
        np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(act.leaky_relu(x, alpha=0.5).numpy(), np.where(X > 0, X, X / 2))
    np.testing.assert_allclose(act.leaky_relu(x).numpy(), np.where(X > 0, X, X * np.float32(0.2)))
