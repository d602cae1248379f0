"""Tensors beside NumPy's numbers and arrays: the tensor's dtype decides, as in TensorFlow 2.21."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import situs as tf
from situs.errors import DTypeError

NUMBERS = {
    "int64": np.int64(2),
    "uint8": np.uint8(2),
    "float32": np.float32(2.5),
    "float64": np.float64(2.5),
    "bool": np.bool_(True),
    "array": np.array([2.9, 1.2]),
}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "==": operator.eq,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint16", "uint64", "int64", "float32", "float64"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("symbol", OPERATORS)
def test_numpy_values_take_the_dtype_of_the_tensor(symbol, number, dtype):
    x, value, operate = np.array([3, 1], dtype), NUMBERS[number], OPERATORS[symbol]
    converted = np.asarray(value).astype(dtype)
    for found, expected in (
        (operate(tf.constant(x), value), operate(x, converted)),
        (operate(value, tf.constant(x)), operate(converted, x)),
    ):
        assert found.dtype.name in (dtype, "bool")
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float32"])
@pytest.mark.parametrize("number", [*NUMBERS, "True"])
def test_quotients_as_well(number, dtype):
    x, value = np.array([3, 1], dtype), NUMBERS.get(number, True)
    converted, quotient = np.asarray(value).astype(dtype), "float64" if dtype in ("int32", "uint64") else "float32"
    for divide in (operator.truediv, lambda x, y: tf.function(lambda: x / y)()):
        for found, expected in (
            (divide(tf.constant(x), value), x / converted),
            (divide(value, tf.constant(x)), converted / x),
        ):
            assert found.dtype.name == quotient
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_in_graphs_as_well():
    double = tf.function(lambda x: x + np.float64(2.5))
    assert double(tf.constant([3])).numpy().tolist() == [5]
    assert double(tf.constant([3])).dtype == tf.int32


@pytest.mark.parametrize("value", [2.5, np.complex64(1j), "2"])
def test_what_would_lose_its_meaning_is_refused(value):
    with pytest.raises(DTypeError):
        tf.constant([3]) + value


def test_numpy_integers_of_any_width_are_indices():
    assert tf.math.in_top_k(np.array([0, 1], np.uint8), [[0.1, 0.9], [0.2, 0.8]], 1).numpy().tolist() == [False, True]
    with pytest.raises(DTypeError, match="uint8"):
        tf.math.in_top_k(tf.constant([0, 1], tf.uint8), [[0.1, 0.9], [0.2, 0.8]], 1)
