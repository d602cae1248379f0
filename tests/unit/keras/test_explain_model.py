"""``tf.explain`` of a Keras model: where the operations of its training, evaluation and prediction run."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

keras = tf.keras


@pytest.fixture(scope="module")
def model():
    made = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, name="first"), keras.layers.Dense(1, name="last")]
    )
    made.compile("sgd", "mse")
    x = np.ones((8, 3), np.float32)
    made.fit(x, x[:, :1], batch_size=4, verbose=0)
    made.predict(x, verbose=0)
    return made


def test_the_train_function_is_explained_with_the_names_of_layers(model):
    found = tf.explain(model.train_function)
    products = [each for each in found if each.op == "MatMul"]
    assert any("first" in each.node for each in products)
    assert any("gradients" in each.node for each in found)
    assert "/device:CPU:0" in str(found)


def test_a_model_is_explained_by_what_it_has_run(model):
    trained, whole = tf.explain(model.train_function), tf.explain(model)
    predicted = tf.explain(model.predict_function)
    assert len(whole) == len(trained) + len(predicted)
    assert whole.to_dicts()[: len(trained)] == trained.to_dicts()


def test_a_python_function_around_a_tf_function():
    inner = tf.function(lambda x: x * 2.0)
    inner(tf.constant(1.0))

    def outer(x):
        return inner(x)

    assert [each.op for each in tf.explain(outer)] == [each.op for each in tf.explain(inner)]


def test_what_has_no_function_is_refused():
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    for nothing in (made, lambda x: x):
        with pytest.raises(ValueError, match="to explain yet"):
            tf.explain(nothing)
