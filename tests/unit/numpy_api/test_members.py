"""Tensors that behave as NumPy's arrays; the truth is NumPy, the dtypes are TensorFlow 2.21's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.numpy_api.behaviour import undo
from situs.experimental.numpy import experimental_enable_numpy_behavior as enable

X = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def _behavior() -> Iterator[None]:
    enable()
    yield
    undo()


METHODS = {
    "T": lambda x: x.T,
    "reshape to one": lambda x: x.reshape(-1),
    "reshape by arguments": lambda x: x.reshape(4, 6),
    "reshape by a tuple": lambda x: x.reshape((6, -1)),
    "reshape by columns": lambda x: x.reshape((4, 6), order="F"),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "transpose": lambda x: x.transpose(),
    "transpose by axes": lambda x: x.transpose([1, 0, 2]),
    "astype": lambda x: x.astype(np.float32),
    "astype by name": lambda x: x.astype("int64"),
    "clip": lambda x: x.clip(3, 7),
    "clip from below": lambda x: x.clip(3, None),
    "max": lambda x: x.max(axis=1),
    "min": lambda x: x.min(),
    "mean": lambda x: x.mean(axis=0, keepdims=True),
    "mean of floats": lambda x: x.astype("float32").mean(),
}
INDICES: dict[str, Any] = {
    "list": [1, 0],
    "rows and columns": ([0, 1], [2, 1]),
    "in the middle": (slice(None), [0, 2]),
    "booleans along an axis": (slice(None), (True, False, True)),
    "a mask": X > 20,
    "a mask of rows": (np.array([True, False]), slice(1, 3)),
    "apart": ([0, 1], slice(None), [3, 0]),
    "with a number": (1, (0, 0, 1), [0, 1, 1]),
    "at the end": (Ellipsis, [0, -1]),
    "two at the end": (slice(None), [[0], [2]], [1, 3]),
    "with a new dimension": (slice(None), None, [0, 2]),
    "plain": (1, slice(0, 2), None, -1),
}


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str, in_function: bool) -> None:
    method = METHODS[name]
    found = (tf.function(method) if in_function else method)(tf.constant(X))
    wanted = method(X)
    assert found.numpy().dtype == wanted.dtype
    np.testing.assert_allclose(found.numpy(), wanted)


def test_other_members() -> None:
    x = tf.constant(X)
    assert (x.size, x.tolist(), x.data is x) == (24, X.tolist(), True)
    assert round(x).numpy().tolist() == X.tolist()
    np.testing.assert_allclose(round(tf.constant([2.5, -1.27, 3.5]), 1), np.round([2.5, -1.27, 3.5], 1), rtol=1e-6)
    assert round(tf.constant([2.5, 3.5])).numpy().tolist() == [2.0, 4.0]


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("name", INDICES)
def test_indexing(name: str, in_function: bool) -> None:
    key = INDICES[name]
    pick = tf.function(lambda x: x[key]) if in_function else lambda x: x[key]
    np.testing.assert_array_equal(pick(tf.constant(X)), X[key])


def test_tensors_as_indices() -> None:
    ids = tf.constant([1, 0])
    np.testing.assert_array_equal(tf.constant(X)[ids, :, ids], X[[1, 0], :, [1, 0]])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (lambda: tf.constant(1) + tf.constant(2.0), tf.float64),
        (lambda: tf.constant(1.0) + 2, tf.float32),
        (lambda: 2.5 * tf.constant([1, 2]), tf.float64),
        (lambda: tf.constant(1.0) + np.float64(2), tf.float64),
        (lambda: tf.constant(1.0) + np.ones(2), tf.float64),
        (lambda: tf.constant(1, tf.int8) - tf.constant(1, tf.int32), tf.int32),
        (lambda: tf.constant([1, 2]) ** 2.5, tf.float64),
        (lambda: tf.constant(2) == tf.constant(2.0), tf.bool),
        (lambda: tf.constant(1) < 2.5, tf.bool),
        (lambda: tf.Variable(1.0) + tf.constant(1, tf.int64), tf.float64),
        (lambda: tf.function(lambda x: x + tf.constant(2.0))(tf.constant(1)), tf.float64),
        (lambda: tf.constant("a") + "b", tf.string),
    ],
)
def test_operators_promote(value: Any, dtype: tf.DType) -> None:
    assert value().dtype == dtype


def test_variables_of_keras() -> None:
    """Their dtype is a word."""
    v, x = tf.keras.Variable([1.0, 2.0]), tf.constant([2, 3])
    assert (v * x).numpy().tolist() == (x * v).numpy().tolist() == [2, 6]
    assert (x * v).dtype == tf.float64
    assert (tf.constant([1.0, 1.0]) + v).dtype == tf.float32


def test_float32_may_be_preferred() -> None:
    """A dtype of Python's floats: an int32 beside one is a float64 in NumPy whichever it is."""
    enable(prefer_float32=True)
    assert (tf.constant([1, 2]) + 2.5).dtype == tf.float64
    assert tf.experimental.numpy.array([1.5]).dtype == tf.float32


def test_operators_can_be_left_alone() -> None:
    enable(dtype_conversion_mode="off")
    assert tf.constant([1]).reshape(1, 1).shape == [1, 1]
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant(1) + tf.constant(2.0)


def test_without_it_the_methods_are_named() -> None:
    undo()
    with pytest.raises(AttributeError, match=r"'reshape'.*tf\.reshape.*experimental_enable_numpy_behavior"):
        tf.constant([1]).reshape(1, 1)
    assert not hasattr(tf.constant(1), "astype")
    assert not hasattr(tf.constant(1), "anything")


def test_modes() -> None:
    with pytest.raises(NotImplementedError, match="legacy"):
        enable(dtype_conversion_mode="all")
    with pytest.raises(ValueError, match="'off' or 'legacy'"):
        enable(dtype_conversion_mode="some")
