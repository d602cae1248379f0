"""Objects that stand for a variable, as variables of Keras do, where gradients flow to or from."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.base.tensor import TensorLike


class Weight(TensorLike):
    def __init__(self, value):
        self.value = tf.Variable(value)

    @property
    def handle(self):
        return self.value.handle

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self.value, dtype, name=name)


@pytest.mark.parametrize("in_graph", [False, True])
def test_sources_targets_and_watched(in_graph):
    weight = Weight(3.0)
    assert tf.is_tensor(weight)

    def run():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.multiply(weight, weight)
        with tf.GradientTape(watch_accessed_variables=False) as watching:
            watching.watch(weight)
            z = tf.multiply(weight, 5.0)
        return (
            tape.gradient(y, weight),
            tape.gradient(y, {"w": [weight]})["w"][0],
            tape.jacobian(y, weight),
            watching.gradient(z, weight),
            tape.gradient(weight, weight),
        )

    found = (tf.function(run) if in_graph else run)()
    assert [float(each) for each in found] == [6.0, 6.0, 6.0, 5.0, 1.0]


def test_gradients_of_a_graph():
    weight = Weight(3.0)

    @tf.function
    def run():
        return tf.gradients(tf.multiply(weight, weight), [weight])[0]

    assert float(run()) == 6.0


def test_one_without_a_value_says_so():
    with pytest.raises(NotImplementedError, match="__tf_tensor__"):
        tf.add(TensorLike(), 1)


def test_what_stands_for_a_variable_is_an_argument_of_a_function_with_its_own_gradient():
    class Stand:
        def __init__(self, variable):
            self._held = variable

        def __tensor__(self):
            return self._held.__tensor__()

    weight = tf.Variable(2.0)

    @tf.custom_gradient
    def product(x, w):
        def grad(upstream, variables=None):
            assert variables is None
            return upstream * 5.0, None

        return x * w, grad

    def slope(x, w):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = product(x, w)
        return tape.gradient(y, x)

    for given in (Stand(weight), weight):
        assert slope(tf.constant(3.0), given).numpy() == 5.0
        assert tf.function(lambda x, given=given: slope(x, given))(tf.constant(3.0)).numpy() == 5.0
