"""Biases, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn.bias import bias_add, relu_layer, xw_plus_b
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
B = np.array([1, 2, 3, 4], np.float32)


@pytest.mark.parametrize("data_format", [None, "NHWC", "N...C", "NWC", "NDHWC"])
def test_bias_is_added_to_the_last_dimension(on_device, data_format):
    result = bias_add(X, B, data_format=data_format)
    np.testing.assert_array_equal(result.numpy(), X + B)
    assert result.device == on_device


@pytest.mark.parametrize("data_format", ["NC...", "NCHW", "NCW"])
@pytest.mark.parametrize("shape", [(2, 4), (2, 4, 3), (2, 4, 1, 3), (1, 4, 2, 2, 2)])
def test_bias_is_added_to_the_second_dimension(on_device, data_format, shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    expected = x + B.reshape(1, 4, *[1] * (len(shape) - 2))
    np.testing.assert_array_equal(bias_add(x, B, data_format).numpy(), expected)


@pytest.mark.parametrize(
    "name", ["int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float64", "complex64", "complex128"]
)
def test_dtypes(on_device, name):
    dtype = dt.as_dtype(name)
    result = bias_add(to_tensor([[1, 2]], dtype), to_tensor([3, 4], dtype))
    assert result.dtype is dtype
    np.testing.assert_array_equal(np.asarray(result, np.complex128), [[4, 6]])


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_wide_unsigned_integers_on_the_cpu(name):
    dtype = dt.as_dtype(name)
    result = bias_add(to_tensor([[1], [2]], dtype), to_tensor([3], dtype), "NCHW")
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), [[4], [5]])


def test_empty_tensors(on_device):
    assert bias_add(np.zeros((0, 4), np.float32), B).shape == (0, 4)
    assert bias_add(np.zeros((2, 0), np.float32), np.zeros(0, np.float32)).shape == (2, 0)


@pytest.mark.parametrize(
    ("value", "bias", "data_format", "text"),
    [
        (X, B[:3], None, r"as many biases as the last dimension of the input tensor: \[3\] vs. \[2,3,4\]"),
        (X, B[:1], None, "as many biases as the last dimension"),
        (X, B, "NCHW", "as many biases as the second dimension"),
        (X, B[None], None, r"Biases must be 1D: \[1,4\]"),
        (B, B, None, r"Input tensor must be at least 2D: \[4\]"),
        (X, B, "XYZ", "must be of the form `N...C` or `NC...`"),
    ],
)
def test_what_does_not_fit_is_refused(on_device, value, bias, data_format, text):
    with pytest.raises(InvalidArgumentError, match=text):
        bias_add(value, bias, data_format)


def test_wrong_dtypes_are_refused(on_device):
    with pytest.raises(DTypeError, match="cast input 'bias'"):
        bias_add(to_tensor(X), to_tensor(B, dt.float64))
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        bias_add([[True]], [True])


def test_layers_of_the_first_generation(on_device):
    x, w, b = (np.array(v, np.float32) for v in ([[1, 2]], [[1, -2], [3, -4]], [1, 2]))
    np.testing.assert_array_equal(xw_plus_b(x, w, b).numpy(), [[8, -8]])
    np.testing.assert_array_equal(relu_layer(x, w, b).numpy(), [[8, 0]])


def test_shape_rule_knows_partial_shapes():
    rule = find_op("BiasAdd").shape_rule
    assert rule(TensorShape([None, 4]), TensorShape(None), data_format="NHWC").as_list() == [None, 4]
    assert rule(TensorShape(None), TensorShape([4]), data_format="NHWC").rank is None
    with pytest.raises(InvalidArgumentError, match="as many biases"):
        rule(TensorShape([None, 4]), TensorShape([3]), data_format="NHWC")
