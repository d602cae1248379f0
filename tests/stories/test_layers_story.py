"""A small convolutional network made of layers, trained in both dialects: horizontal or vertical stripes?"""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs.compat.v1 import layers as layers1
from situs.keras import layers, models


@pytest.fixture(scope="module")
def stripes():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 96)
    rows = np.sign(np.sin(np.arange(8)[None, :, None] * 2.0 + random.uniform(0, 6, (96, 1, 1)))) * np.ones((96, 8, 8))
    images = np.where(labels[:, None, None], rows, rows.transpose(0, 2, 1)) + random.normal(0, 0.5, (96, 8, 8))
    return images[..., None].astype(np.float32), labels


def test_an_eager_program_trains_a_sequential_model_and_carries_on_from_a_checkpoint(stripes, tmp_path):
    images, labels = stripes
    tf.random.set_seed(0)

    def make():
        return models.Sequential(
            [
                layers.Input((8, 8, 1)),
                layers.Conv2D(8, 3, padding="same", use_bias=False, kernel_regularizer="l2"),
                layers.BatchNormalization(momentum=0.8),
                layers.ReLU(),
                layers.MaxPooling2D(),
                layers.Flatten(),
                layers.Dropout(0.2),
                layers.Dense(2),
            ]
        )

    model, optimizer = make(), tf.keras.optimizers.Adam(0.01)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True)) + tf.add_n(model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [float(step(images[start : start + 32], labels[start : start + 32])) for start in [0, 32, 64] * 12]
    accuracy.update_state(labels, model(images))
    assert losses[-1] < losses[0] / 2
    assert float(accuracy.result()) > 0.95
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(tmp_path / "ckpt")
    again = make()
    tf.train.Checkpoint(model=again).restore(path).expect_partial()
    np.testing.assert_array_equal(again(images), model(images))


class Residual(models.Model):
    """A model of one's own, with a block that it uses twice."""

    def __init__(self, width):
        super().__init__()
        self.first = layers.Conv2D(width, 3, padding="same")
        self.blocks = [models.Sequential([layers.ReLU(), layers.Conv2D(width, 3, padding="same")]) for _ in range(2)]
        self.pool = layers.GlobalAveragePooling2D()
        self.out = layers.Dense(2)

    def call(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = layers.add([x, block(x)])
        return self.out(self.pool(x))


@pytest.mark.parametrize("device", ["/CPU:0", "/GPU:1"])
def test_a_model_of_ones_own_lives_on_the_device_it_is_built_on(stripes, device):
    images, labels = stripes
    tf.random.set_seed(1)
    with tf.device(device):
        model = Residual(6)
        model(images[:1])
    assert all(variable.value.device.endswith(device[1:]) for variable in model.weights)
    optimizer = tf.keras.optimizers.Adam(0.02)
    losses = []
    for _ in range(30):
        with tf.device(device), tf.GradientTape() as tape:
            logits = model(images)
            losses.append(tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)))
        gradients = tape.gradient(losses[-1], model.trainable_variables)
        assert all(gradient.device.endswith(device[1:]) for gradient in gradients)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    assert float(losses[-1]) < float(losses[0]) / 2


def network(images, training):
    h = layers1.conv2d(images, 8, 3, padding="same", activation=tf1.nn.relu, name="conv")
    h = layers1.batch_normalization(h, training=training, momentum=0.8, name="bn")
    h = layers1.max_pooling2d(h, 2, 2)
    h = layers1.dropout(layers1.flatten(h), 0.2, training=training)
    return layers1.dense(h, 2, name="logits")


def test_a_graph_program_trains_two_towers_with_shared_layers(stripes, tmp_path):
    images, labels = stripes
    with tf1.Graph().as_default():
        tf1.set_random_seed(0)
        x, y = tf1.placeholder(tf1.float32, [None, 8, 8, 1]), tf1.placeholder(tf1.int64, [None])
        training = tf1.placeholder_with_default(False, [])
        losses, outputs = [], []
        for number, (part, wanted) in enumerate(zip(tf1.split(x, 2), tf1.split(y, 2), strict=True)):
            with tf1.device(f"/gpu:{number}"), tf1.variable_scope("net", reuse=tf1.AUTO_REUSE):
                outputs.append(network(part, training))
                losses.append(tf1.losses.sparse_softmax_cross_entropy(wanted, outputs[-1]))
        assert len(tf1.trainable_variables()) == 6
        optimizer = tf1.train.MomentumOptimizer(0.05, 0.9)
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS)):
            train = optimizer.minimize(tf1.add_n(losses) / 2.0, colocate_gradients_with_ops=True)
        found = tf1.argmax(tf1.concat(outputs, 0), 1)
        saver = tf1.train.Saver()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            for start in [0, 32, 64] * 12:
                batch = slice(start, start + 32)
                session.run(train, {x: images[batch], y: labels[batch], training: True})
            assert (session.run(found, {x: images}) == labels).mean() > 0.95
            moved = session.run("net/bn/moving_mean:0")
            assert np.abs(moved).max() > 0.01
            path = saver.save(session, str(tmp_path / "model"))
            wanted = session.run(outputs, {x: images})
    with tf1.Graph().as_default(), tf1.Session() as session:  # an evaluation program: one tower, on the CPU
        x = tf1.placeholder(tf1.float32, [None, 8, 8, 1])
        with tf1.variable_scope("net"):
            logits = network(x, False)
        tf1.train.Saver().restore(session, path)
        np.testing.assert_allclose(session.run(logits, {x: images}), np.concatenate(wanted), rtol=1e-4, atol=1e-5)
