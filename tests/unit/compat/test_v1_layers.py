"""``tf.layers``: TensorFlow 1's names, scopes, collections and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors
from situs.compat.v1 import layers
from situs.keras import regularizers

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "layers_figures.json").read_text())["v1"]


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def values(shape: Any, seed: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.sin(np.arange(count) * 0.7 + seed) * 0.8).reshape(shape).astype("float32")


def network(x: Any, training: Any) -> Any:
    h = layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    h = layers.batch_normalization(h, training=training, momentum=0.9)
    h = layers.max_pooling2d(h, 2, 2)
    h = layers.conv2d_transpose(h, 2, 3, strides=2)
    h = layers.separable_conv2d(h, 2, 3, depth_multiplier=2)
    h = layers.average_pooling2d(h, 2, 2)
    h = layers.flatten(h)
    with tf.variable_scope("head"):
        h = layers.dense(h, 5, kernel_regularizer=regularizers.l2(0.1), activation=tf.nn.tanh)
        h = layers.batch_normalization(h, training=training, name="bn")
    return layers.dense(h, 3, name="logits")


def filled(session: tf.Session) -> None:
    for number, variable in enumerate(tf.global_variables()):
        value = values(variable.shape, 10 + number)
        variable.load(np.abs(value) + 0.5 if "variance" in variable.name else value, session)


def moving(session: tf.Session) -> list[Any]:
    return [session.run(variable) for variable in tf.global_variables() if "moving" in variable.name]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:1"])
def test_a_network_gives_the_numbers_and_names_of_tensorflow(device: str) -> None:
    with tf.device(device):
        x, training = tf.placeholder(tf.float32, [None, 8, 8, 3]), tf.placeholder(tf.bool, [])
        y = network(x, training)
        gradients = tf.gradients(tf.reduce_sum(y * values([2, 3], 3)), tf.trainable_variables())
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert [variable.name for variable in tf.global_variables()] == FIGURES["variables"]
    assert [variable.name for variable in tf.trainable_variables()] == FIGURES["trainable"]
    with tf.Session() as session:
        filled(session)
        given = values([2, 8, 8, 3], 0)
        np.testing.assert_allclose(session.run(y, {x: given, training: False}).ravel(), FIGURES["inference"], rtol=1e-4)
        session.run(updates, {x: given, training: False})
        for found, wanted in zip(moving(session), FIGURES["unmoved"], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        outputs, found = session.run([y, gradients], {x: given, training: True})
        np.testing.assert_allclose(outputs.ravel(), FIGURES["training"], rtol=1e-3, atol=1e-5)
        for gradient, wanted in zip(found, FIGURES["gradients"], strict=True):
            np.testing.assert_allclose(gradient.ravel(), wanted, rtol=5e-3, atol=1e-3)
        session.run(updates, {x: given, training: True})
        for found, wanted in zip(moving(session), FIGURES["moved"], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4)
        loss = session.run(tf.losses.get_regularization_loss())
        assert loss == pytest.approx(FIGURES["regularization"], rel=1e-5)


def test_sequences() -> None:
    found = layers.max_pooling1d(layers.conv1d(tf.constant(values([2, 8, 3], 4)), 2, 3, padding="same"), 2, 2)
    with tf.Session() as session:
        for number, variable in enumerate(tf.global_variables()):
            variable.load(values(variable.shape, 29 + number), session)
        np.testing.assert_allclose(session.run(found).ravel(), FIGURES["sequence"], rtol=1e-5)
    assert found.shape.as_list() == [2, 4, 2]


def test_operations_have_the_names_of_tensorflow() -> None:
    x = tf.placeholder(tf.float32, [None, 8, 8, 3])
    h = layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    h = layers.flatten(layers.average_pooling2d(layers.max_pooling2d(h, 2, 2), 2, 1))
    layers.dense(h, 5, name="fc", activation=tf.nn.softmax)
    layers.dense(h, 5, name="fc", reuse=True)
    layers.batch_normalization(layers.dense(h, 3), training=True)
    names = {operation.name for operation in tf.get_default_graph().get_operations()}
    assert names >= {
        "conv2d/Conv2D", "conv2d/BiasAdd", "conv2d/Relu", "max_pooling2d/MaxPool", "average_pooling2d/AvgPool",
        "flatten/Reshape", "fc/MatMul", "fc/BiasAdd", "fc/Softmax", "fc_1/MatMul", "fc_1/BiasAdd", "dense/MatMul",
        "conv2d/kernel/read", "batch_normalization/AssignMovingAvg", "batch_normalization/AssignMovingAvg_1",
    }  # fmt: skip
    assert [operation.name for operation in tf.get_collection(tf.GraphKeys.UPDATE_OPS)] == [
        "batch_normalization/AssignMovingAvg",
        "batch_normalization/AssignMovingAvg_1",
    ]


def names() -> list[str]:
    return [variable.name for variable in tf.global_variables()]


def test_default_names_are_numbered_in_each_scope() -> None:
    x = tf.ones([2, 3])
    layers.dense(x, 4)
    layers.dense(x, 4)
    with tf.variable_scope("part"):
        layers.dense(x, 4)
    assert names()[::2] == ["dense/kernel:0", "dense_1/kernel:0", "part/dense/kernel:0"]


def test_reuse_finds_the_variables_of_a_name() -> None:
    x = tf.ones([2, 3])
    layers.dense(x, 4, name="fc")
    with pytest.raises(ValueError, match="fc/kernel already exists"):
        layers.dense(x, 4, name="fc")
    layers.dense(x, 4, name="fc", reuse=True)
    layers.dense(x, 4, name="fc", reuse=tf.AUTO_REUSE)
    with pytest.raises(ValueError, match="other/kernel does not exist"):
        layers.dense(x, 4, name="other", reuse=True)
    assert names() == ["fc/kernel:0", "fc/bias:0"]


def test_a_scope_that_reuses_shares_a_whole_network() -> None:
    x = tf.ones([2, 3])

    def net() -> Any:
        return layers.dense(layers.dense(x, 4, name="a"), 5, name="b")

    with tf.variable_scope("net"):
        first = net()
    with tf.variable_scope("net", reuse=True):
        second = net()
    assert names() == ["net/a/kernel:0", "net/a/bias:0", "net/b/kernel:0", "net/b/bias:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([first, second]))


def test_a_class_makes_its_variables_once() -> None:
    layer = layers.Dense(4, name="shared")
    first, second = layer(tf.ones([2, 3])), layer.apply(tf.zeros([5, 3]))
    assert names() == ["shared/kernel:0", "shared/bias:0"]
    assert layer.trainable_weights == layer.weights
    assert layer.kernel.name == "shared/kernel:0"
    assert (first.op.name, second.op.name) == ("shared/BiasAdd", "shared/BiasAdd_1")
    assert layer.scope_name == "shared"
    assert layer.dtype is tf.float32


def test_the_scope_decides_about_initializers_and_regularizers() -> None:
    with tf.variable_scope("s", initializer=tf.ones_initializer(), regularizer=lambda w: tf.reduce_sum(w)):
        y = layers.dense(tf.ones([1, 3]), 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y).tolist() == [[3.0, 3.0]]
        assert session.run(tf.losses.get_regularization_loss()) == 6.0
    assert len(tf.losses.get_regularization_losses()) == 2


def test_regularizers_add_one_loss_for_each_variable() -> None:
    for reuse in (None, True):
        layers.dense(tf.ones([1, 3]), 2, kernel_regularizer=regularizers.l2(), name="fc", reuse=reuse)
    assert len(tf.losses.get_regularization_losses()) == 1


def test_a_layer_adds_its_own_regularizer_to_that_of_the_scope() -> None:
    with tf.variable_scope("r", regularizer=tf.reduce_sum):
        layers.dense(tf.ones([1, 3]), 2, name="b", kernel_regularizer=tf.reduce_mean)
    assert [loss.name for loss in tf.losses.get_regularization_losses()] == [
        "r/b/kernel/Regularizer/Sum:0",
        "r/b/kernel/Regularizer/Mean:0",
        "r/b/bias/Regularizer/Sum:0",
    ]


def test_a_program_may_build_a_layer_itself() -> None:
    layer = layers.Dense(4, name="q")
    layer.build([None, 3])
    assert layer(tf.ones([1, 3])).op.name == "q/BiasAdd"
    assert names() == ["q/kernel:0", "q/bias:0"]


def test_scopes_entered_again_number_default_names_anew() -> None:
    x = tf.ones([2, 3])
    with tf.variable_scope("net"):
        first, second = layers.dense(x, 4), layers.dense(x, 4)
    with tf.variable_scope("net", reuse=True):
        again = layers.dense(x, 4)
    assert [y.op.name for y in (first, second, again)] == [
        "net/dense/BiasAdd",
        "net/dense_1/BiasAdd",
        "net_1/dense/BiasAdd",
    ]
    assert len(tf.global_variables()) == 4


def test_templates_share_layers() -> None:
    net = tf.make_template("t", lambda x: layers.dense(layers.dense(x, 4), 2))
    net(tf.ones([1, 3]))
    net(tf.ones([2, 3]))
    assert names() == ["t/dense/kernel:0", "t/dense/bias:0", "t/dense_1/kernel:0", "t/dense_1/bias:0"]


def test_what_is_not_trainable_is_in_no_collection_of_optimizers() -> None:
    layers.dense(tf.ones([1, 3]), 2, trainable=False)
    layers.batch_normalization(tf.ones([2, 3]), trainable=False)
    assert tf.trainable_variables() == []
    assert len(tf.global_variables()) == 6


def test_variables_have_the_dtype_of_the_input_and_the_device_of_the_scope() -> None:
    with tf.device("/gpu:1"):
        layers.dense(tf.ones([1, 3], tf.float64), 2)
    assert [variable.dtype for variable in tf.global_variables()] == [tf.float64] * 2
    assert all(variable.device.endswith("GPU:1") for variable in tf.global_variables())


def test_dropout_follows_a_placeholder() -> None:
    training = tf.placeholder_with_default(False, [])
    y = layers.dropout(tf.ones([1000]), 0.25, training=training)
    with tf.Session() as session:
        assert session.run(y).tolist() == [1.0] * 1000
        kept = session.run(y, {training: True})
    np.testing.assert_allclose(np.unique(kept), [0.0, 4 / 3], rtol=1e-6)
    assert 0.65 < (kept > 0).mean() < 0.85


@pytest.mark.parametrize("fused", [None, False])
def test_images_keep_the_variance_that_tensorflow_keeps(fused: bool | None) -> None:
    x = values([2, 3, 3, 2], 0)
    layers.batch_normalization(tf.constant(x), training=True, momentum=0.0, fused=fused)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        variance = session.run(tf.global_variables()[-1])
    np.testing.assert_allclose(variance, x.var((0, 1, 2), ddof=0 if fused is False else 1), rtol=1e-5)


@pytest.mark.parametrize("option", ["renorm", "virtual_batch_size", "adjustment"])
def test_rare_ways_of_batch_normalization_are_refused(option: str) -> None:
    with pytest.raises(errors.UnimplementedError, match=option):
        layers.batch_normalization(tf.ones([2, 3]), **{option: 1})


def test_fused_refuses_what_is_no_image() -> None:
    with pytest.raises(ValueError, match="4D input"):
        layers.batch_normalization(tf.ones([2, 3]), fused=True, training=True)


def test_layers_of_ones_own() -> None:
    class Scale(layers.Layer):
        def build(self, input_shape: Any) -> None:
            self.factor = self.add_variable("factor", [int(input_shape[-1])], initializer=tf.ones_initializer())

        def call(self, inputs: Any) -> Any:
            return inputs * self.factor

    y = Scale(name="mine")(tf.ones([2, 3]))
    assert names() == ["mine/factor:0"]
    assert y.op.name == "mine/mul"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: layers.dense(x, 0), "units"),
        (lambda x: layers.conv2d(x, 3, 3), "expected ndim=4|dimension"),
        (lambda x: layers.conv2d(tf.ones([1, 4, 4, 1]), 3, (3, 3, 3)), "kernel_size"),
        (lambda x: layers.conv2d(tf.ones([1, 4, 4, 1]), 3, 3, padding="full"), "padding"),
        (lambda x: layers.max_pooling2d(x, 2, 2), "ndim=4"),
        (lambda x: layers.dropout(x, 1.5, training=True), "rate"),
        (lambda x: layers.dense(tf.placeholder(tf.float32, [None, None]), 3), "dimension -1"),
    ],
)
def test_bad_arguments_are_told(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(tf.ones([2, 3]))
