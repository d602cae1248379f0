"""``tf.experimental.dispatch_for_...``: functions of a program for its own types."""

from __future__ import annotations

import inspect
from typing import Union

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor


X = Masked([1, -2, -3], [True, False, True])
Y = Masked([[4], [5]], [[True], [False]])


@pytest.fixture
def registered():
    """Takes what a test registers back again."""
    functions = []
    yield lambda decorator: lambda function: functions.append(function) or decorator(function)
    for function in functions:
        tf.experimental.unregister_dispatch_for(function)


def test_one_function(registered):
    @registered(tf.experimental.dispatch_for_api(tf.stack))
    def stack(values: list[Masked], axis=0):
        return Masked(tf.stack([v.values for v in values], axis), tf.stack([v.mask for v in values], axis))

    made = tf.stack([X, X], axis=1)
    assert made.values.numpy().tolist() == [[1, 1], [-2, -2], [-3, -3]]
    assert tf.function(lambda a: tf.stack([a, a], name="both"))(X).mask.shape == [2, 3]
    assert tf.stack([1, 2]).numpy().tolist() == [1, 2]
    assert list(inspect.signature(tf.stack).parameters) == ["values", "axis", "name"]


def test_types_by_parameter_of_which_one_matches(registered):
    @registered(tf.experimental.dispatch_for_api(tf.math.add, {"x": Masked}, {1: Masked}))
    def add(x, y, name=None):
        return "mine"

    assert tf.math.add(X, 1) == tf.add(1, y=X) == tf.add(X, X) == "mine"
    assert int(tf.add(1, 2)) == 3
    with v1.Graph().as_default():
        assert v1.add(X, 1) == "mine"
        assert v1.add(1, 2).op.type == "AddV2"


def test_unregistered_it_is_as_before():
    @tf.experimental.dispatch_for_api(tf.concat)
    def concat(values: list[Union[Masked, tf.Tensor]], axis):  # noqa: UP007 - as older programs write it
        return "mine"

    assert tf.concat([X, tf.constant([1])], 0) == "mine"
    tf.experimental.unregister_dispatch_for(concat)
    with pytest.raises((TypeError, ValueError)):
        tf.concat([X, tf.constant([1])], 0)
    with pytest.raises(ValueError, match="was not registered"):
        tf.experimental.unregister_dispatch_for(concat)


def test_all_functions_of_one_argument(registered):
    @registered(tf.experimental.dispatch_for_unary_elementwise_apis(Masked))
    def handle(function, x):
        return Masked(function(x.values), x.mask)

    assert tf.abs(X).values.numpy().tolist() == [1, 2, 3]
    assert tf.cast(X, tf.float32).values.dtype is tf.float32
    assert tf.clip_by_value(X, -2, clip_value_max=0).values.numpy().tolist() == [0, -2, -2]
    assert tf.ones_like(X, dtype=tf.float64).values.dtype is tf.float64
    assert tf.abs(-3.0).numpy() == 3.0
    with pytest.raises(ValueError, match="already been registered"):
        tf.experimental.dispatch_for_unary_elementwise_apis(Masked)(handle)


def test_all_functions_of_two_arguments(registered):
    @registered(tf.experimental.dispatch_for_binary_elementwise_apis(Masked, Masked))
    def handle(function, x, y):
        return Masked(function(x.values, y.values), x.mask & y.mask)

    made = tf.function(tf.math.multiply)(X, Y)
    np.testing.assert_array_equal(made.values, [[4, -8, -12], [5, -10, -15]])
    np.testing.assert_array_equal(made.mask, [[True, False, True], [False] * 3])
    assert tf.maximum(X, Y).values.shape == [2, 3]


def test_all_assertions(registered):
    @registered(tf.experimental.dispatch_for_binary_elementwise_assert_apis(Masked, Masked))
    def handle(function, x, y):
        return function(x.values, y.values)

    tf.debugging.assert_equal(X, X)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.debugging.assert_less(X, X)


def test_parameters_that_a_program_does_not_know_may_lack(registered):
    @registered(tf.experimental.dispatch_for_api(tf.matmul))
    def matmul(a: Masked, b, transpose_a=False):
        return tf.matmul(a.values, b, transpose_a)

    matrix = Masked([[1, 2], [3, 4]], [[True, True]] * 2)
    assert tf.matmul(matrix, tf.eye(2, dtype=tf.int32), transpose_a=True).numpy().tolist() == [[1, 3], [2, 4]]
    with pytest.raises(TypeError, match="transpose_b"):
        tf.matmul(matrix, tf.eye(2, dtype=tf.int32), transpose_b=True)


def test_what_cannot_be_registered():
    with pytest.raises(ValueError, match="does not support dispatch"):
        tf.experimental.dispatch_for_api(len)
    with pytest.raises(ValueError, match="must name a class of composites"):
        tf.experimental.dispatch_for_api(tf.add, {"x": tf.Tensor})
    with pytest.raises(ValueError, match="has no parameter 'z'"):
        tf.experimental.dispatch_for_api(tf.add, {"z": Masked})
    with pytest.raises(ValueError, match="do not match"):
        tf.experimental.dispatch_for_api(tf.add, {"x": Masked})(lambda a, b: None)
    with pytest.raises(ValueError, match="do not match"):
        tf.experimental.dispatch_for_api(tf.add, {"x": Masked})(lambda x: None)


def test_two_that_match_are_an_error(registered):
    for _ in range(2):
        registered(tf.experimental.dispatch_for_api(tf.math.subtract, {"x": Masked}))(lambda x, y: None)
    with pytest.raises(ValueError, match="Multiple dispatch targets"):
        tf.math.subtract(X, X)


def test_fields_by_name():
    assert tf.experimental.extension_type.as_dict(X).keys() == {"values", "mask"}
    assert isinstance(X._type_spec, tf.experimental.ExtensionTypeSpec)
