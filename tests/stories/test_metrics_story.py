"""Programs that train a classifier and watch it: with streaming metrics in a session, and with those of Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs import losses, metrics
from situs.compat.v1 import losses as losses_v1
from situs.compat.v1 import metrics as metrics_v1

RNG = np.random.default_rng(3)
CENTRES = RNG.normal(size=(3, 8)) * 2
CLASSES = RNG.integers(0, 3, 600)
POINTS = (CENTRES[CLASSES] + RNG.normal(size=(600, 8))).astype(np.float32)
BATCHES = [(POINTS[start : start + 100], CLASSES[start : start + 100]) for start in range(0, 600, 100)]


@pytest.mark.parametrize("device", ["/CPU:0", "/GPU:1"])
def test_a_session_trains_and_evaluates(device: str) -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        with tf1.device(device):
            x, y = tf1.placeholder(tf1.float32, [None, 8]), tf1.placeholder(tf1.int64, [None])
            w = tf1.get_variable("w", [8, 3], initializer=tf1.zeros_initializer())
            logits = tf1.matmul(x, w)
            loss = losses_v1.sparse_softmax_cross_entropy(y, logits)
            train = tf1.train.GradientDescentOptimizer(0.1).minimize(losses_v1.get_total_loss())
            predicted = tf1.argmax(logits, 1)
            watched = {
                "accuracy": metrics_v1.accuracy(y, predicted, updates_collections=["updates"]),
                "loss": metrics_v1.mean(loss, updates_collections=["updates"]),
                "each": metrics_v1.mean_per_class_accuracy(y, predicted, 3, updates_collections=["updates"]),
                "top": metrics_v1.recall_at_k(y, logits, 2, updates_collections=["updates"]),
                "area": metrics_v1.auc(tf1.equal(y, 0), tf1.nn.softmax(logits)[:, 0], updates_collections=["updates"]),
            }
        update = tf1.group(*tf1.get_collection("updates"))
        session.run(tf1.global_variables_initializer())
        history = []
        for _ in range(3):
            session.run(tf1.local_variables_initializer())
            for points, classes in BATCHES:
                session.run([train, update], {x: points, y: classes})
            history.append(session.run({name: value for name, (value, _) in watched.items()}))
        session.run(tf1.local_variables_initializer())
        for points, classes in BATCHES:
            session.run(update, {x: points, y: classes})
        found = session.run({name: value for name, (value, _) in watched.items()})
        answers = session.run(predicted, {x: POINTS})
    assert history[0]["loss"] > history[1]["loss"] > history[2]["loss"]
    assert found["accuracy"] == pytest.approx(np.mean(answers == CLASSES), rel=1e-6)
    of_classes = [np.mean(answers[number == CLASSES] == number) for number in range(3)]
    assert found["each"] == pytest.approx(np.mean(of_classes), rel=1e-6)
    assert found["accuracy"] > 0.9
    assert found["top"] >= found["accuracy"]
    assert 0.9 < found["area"] <= 1.0 + 1e-6


def test_a_loop_trains_and_evaluates() -> None:
    w = tf.Variable(tf.zeros([8, 3]))
    optimizer = tf.optimizers.SGD(0.1)
    cost = losses.SparseCategoricalCrossentropy(from_logits=True)
    loss, accuracy = metrics.Mean(name="loss"), metrics.SparseCategoricalAccuracy(name="accuracy")

    @tf.function
    def step(points: Any, classes: Any) -> None:
        with tf.GradientTape() as tape:
            logits = tf.matmul(points, w)
            value = cost(classes, logits)
        optimizer.apply_gradients([(tape.gradient(value, w), w)])
        loss.update_state(value)
        accuracy.update_state(classes, logits)

    history = []
    for _ in range(3):
        loss.reset_state()
        accuracy.reset_state()
        for points, classes in BATCHES:
            step(tf.constant(points), tf.constant(classes))
        history.append((float(loss.result()), float(accuracy.result())))
    assert history[0][0] > history[1][0] > history[2][0]
    assert history[-1][1] > 0.9
    answers = (POINTS @ w.numpy()).argmax(1)
    final = metrics.SparseCategoricalAccuracy()
    for points, classes in BATCHES:
        final.update_state(classes, tf.matmul(points, w))
    assert float(final.result()) == pytest.approx(np.mean(answers == CLASSES), rel=1e-6)
