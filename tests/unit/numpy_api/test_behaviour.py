"""Tensors that behave as in NumPy: their methods, operators and indexing, as TensorFlow 2.21 gives them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import situs as tf
from situs._src.numpy_api import behaviour
from situs.errors import ArgumentError
from tests.unit.numpy_api.calls import OF_TENSORS
from tests.unit.numpy_api.test_numpy_functions import TENSORS

tnp = tf.experimental.numpy


@pytest.fixture(autouse=True)
def as_in_numpy() -> Iterator[None]:
    tnp.experimental_enable_numpy_behavior()
    yield
    behaviour.undo()


def evaluate(expression: str, values: dict[str, object]) -> tf.Tensor:
    return eval(expression, {"np": np, "tnp": tnp, "tf": tf, **values})


def check(found: tf.Tensor, expression: str) -> None:
    dtype, shape, values = OF_TENSORS[expression]
    assert (found.dtype.name, found.shape.as_list()) == (dtype, shape)
    np.testing.assert_allclose(found.numpy().ravel(), np.array(values), rtol=2e-3 if dtype == "float16" else 2e-6)


@pytest.mark.parametrize("expression", OF_TENSORS)
def test_tensors(expression):
    check(evaluate(expression, TENSORS), expression)


@pytest.mark.parametrize("expression", [*OF_TENSORS][::3])
def test_in_functions_whose_sizes_are_not_known(expression):
    specs = [tf.TensorSpec([None] * value.shape.rank, value.dtype) for value in TENSORS.values()]
    traced = tf.function(
        lambda *given: evaluate(expression, dict(zip(TENSORS, given, strict=True))), input_signature=specs
    )
    check(traced(*TENSORS.values()), expression)


def test_variables():
    v = tf.Variable([1.0, 2.0])
    assert (v + tf.constant([1, 2])).dtype == tf.float64
    assert (tf.constant([1, 2]) * v).numpy().tolist() == [1, 4]
    assert (v > tf.constant([1, 1])).numpy().tolist() == [False, True]


def test_other_operands_are_as_before():
    x = tf.constant([1.0])
    assert (x == None) is False  # noqa: E711
    assert (tf.constant(["a"]) + "b").numpy().tolist() == [b"ab"]
    assert (tf.ragged.constant([[1.0], [2.0, 3.0]]) + x).to_list() == [[2], [3, 4]]


def test_gradients_through_indices():
    x = tf.constant([[1.0, 2], [3, 4]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = (x[[0, 1, 1], [1, 0, 0]] * tf.constant([1, 2, 3])).max() + x.T[0, 1]
    assert tape.gradient(y, x).numpy().tolist() == [[0, 0], [4, 0]]


def test_numpys_functions_call_the_methods():
    m = TENSORS["m"]
    assert np.transpose(m).shape == (3, 2)
    assert float(np.mean(m)) == 3.5
    assert m.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert m.size == 6


def test_python_floats_can_be_float32():
    tnp.experimental_enable_numpy_behavior(prefer_float32=True)
    assert tnp.asarray(1.0).dtype == tf.float32
    assert tnp.add(1.0, 2.0).dtype == tf.float32
    assert (TENSORS["f"] * np.float64(2)).dtype == tf.float32
    assert tnp.mean(TENSORS["i"]).dtype == tf.float64
    tnp.experimental_enable_numpy_behavior(prefer_float32=False)
    assert tnp.asarray(1.0).dtype == tf.float64


def test_too_many_indices_and_other_modes():
    with pytest.raises(IndexError, match="too many indices"):
        TENSORS["m"][[0], [1], [0]]
    with pytest.raises(IndexError, match="only integers"):
        TENSORS["m"][[0.5]]
    with pytest.raises(TypeError):
        TENSORS["m"][0] = 1
    with pytest.raises(ArgumentError, match="dtype_conversion_mode"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="other")
    tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
    assert TENSORS["m"].T.shape == (3, 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        TENSORS["i"] + TENSORS["f"]


def test_it_can_be_undone():
    behaviour.undo()
    assert not hasattr(TENSORS["m"], "T")
    assert type(TENSORS["m"].ndim) is int
