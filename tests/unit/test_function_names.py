"""Functions that others make, such as `tf.sin`, have the names under which programs know them."""

from __future__ import annotations

import pickle

import pytest

import situs as tf

MADE = ["add", "exp", "logical_and", "math.erf", "maximum", "nn.sigmoid", "reduce_sum", "square", "tanh"]


def function_of(name):
    found = tf
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", MADE)
def test_a_function_has_its_public_name(name):
    assert function_of(name).__name__ == name.rpartition(".")[2]


@pytest.mark.parametrize("name", MADE)
def test_a_function_can_be_pickled(name):
    assert pickle.loads(pickle.dumps(function_of(name))) is function_of(name)


def test_a_wrong_argument_is_said_of_the_function_that_was_called():
    with pytest.raises(TypeError, match=r"^reduce_sum\(\) got an unexpected keyword argument 'axes'"):
        tf.reduce_sum([1.0], axes=0)
    with pytest.raises(TypeError, match=r"^add\(\) missing 1 required positional argument"):
        tf.add(1.0)


@pytest.mark.parametrize("name", ["nn.tanh", "nn.sigmoid", "nn.relu", "nn.softplus"])
def test_keras_saves_an_activation_by_a_name_that_it_finds_again(name):
    layer = tf.keras.layers.Dense(2, activation=function_of(name))
    again = tf.keras.layers.Dense.from_config(layer.get_config())
    given = tf.constant([-1.0, 0.5])
    assert again.activation(given).numpy() == pytest.approx(function_of(name)(given).numpy(), abs=1e-6)
