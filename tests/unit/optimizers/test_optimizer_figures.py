"""Optimizers against TensorFlow 2.21: variables after 1, 10 and 100 steps, and learning rates, as it computed them.

``tests/data/optimizer_figures.json`` was recorded with the same losses, noise and rows.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers import decay
from situs._src.v1.optimizers import optimizers as classic

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "optimizer_figures.json").read_text())
STEPS = 100
W = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
B = np.array([0.5, -0.25, 0.0], np.float32)
TABLE = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)


def noise(step, count):
    return np.sin(np.arange(count, dtype=np.float32) * 1.7 + step * 0.9).astype(np.float32)


def cases(kind):
    return [pytest.param(case, id=f"{case['class']}-{n}") for n, case in enumerate(FIGURES[kind])]


class Watch:
    """Compares variables with the figures of a case, whenever there are some."""

    def __init__(self, case):
        self.case = case

    def at(self, step, *values, tolerance=1e-6):
        if str(step) in self.case:
            found = np.concatenate([np.ravel(value) for value in values])
            np.testing.assert_allclose(found, self.case[str(step)], rtol=tolerance, atol=tolerance)


# TensorFlow 1.


@pytest.mark.parametrize("case", cases("v1"))
def test_optimizers_of_graphs_go_where_tensorflow_went(case, on_device):
    watch = Watch(case)
    with tf1.Graph().as_default(), tf1.Session() as session:
        w, b, n = tf1.Variable(W), tf1.Variable(B), tf1.placeholder(tf.float32, [9])
        pulls = tf1.reduce_sum(0.15 * w * w) + tf1.reduce_sum(0.15 * b * b)
        loss = pulls + tf1.reduce_sum(tf1.reshape(n[:6], [2, 3]) * w) + tf1.reduce_sum(n[6:] * b)
        optimizer = getattr(classic, case["class"])(**case["arguments"])
        train = optimizer.minimize(loss)
        session.run(tf1.global_variables_initializer())
        for step in range(1, STEPS + 1):
            session.run(train, {n: noise(step, 9)})
            watch.at(step, *session.run([w, b]))
        assert sorted(case["slots"]) == optimizer.get_slot_names()
        for name, figures in case["slots"].items():
            np.testing.assert_allclose(session.run(optimizer.get_slot(w, name)).ravel(), figures, rtol=3e-6, atol=1e-5)


@pytest.mark.parametrize("case", cases("v1"))
def test_the_same_optimizers_do_the_same_in_eager_code(case):
    watch = Watch(case)
    w, b = tf.Variable(W), tf.Variable(B)
    optimizer = getattr(classic, case["class"])(**case["arguments"])
    for step in range(1, STEPS + 1):
        n = noise(step, 9)
        optimizer.apply_gradients([(0.3 * w + n[:6].reshape(2, 3), w), (0.3 * b + n[6:], b)])
        watch.at(step, w.numpy(), b.numpy())


@pytest.mark.parametrize("case", cases("v1_rows"))
def test_gradients_of_rows_lead_where_tensorflow_went(case):
    """The first row is named twice in every step."""
    watch = Watch(case)
    with tf1.Graph().as_default(), tf1.Session() as session:
        w, n, i = tf1.Variable(TABLE), tf1.placeholder(tf.float32, [3, 2]), tf1.placeholder(tf.int64, [3])
        slices = tf1.IndexedSlices(n, i, tf1.constant([6, 2]))
        train = getattr(classic, case["class"])(**case["arguments"]).apply_gradients([(slices, w)])
        session.run(tf1.global_variables_initializer())
        for step in range(1, STEPS + 1):
            rows = [step % 6, (2 * step + 1) % 6, step % 6]
            session.run(train, {n: noise(step, 6).reshape(3, 2), i: rows})
            watch.at(step, session.run(w), tolerance=2e-6)


@pytest.mark.parametrize("case", cases("v1_rows"))
def test_gradients_of_rows_do_the_same_in_eager_code(case, on_device):
    watch = Watch(case)
    w = tf.Variable(TABLE)
    optimizer = getattr(classic, case["class"])(**case["arguments"])
    for step in range(1, STEPS + 1):
        rows = tf.constant([step % 6, (2 * step + 1) % 6, step % 6])
        optimizer.apply_gradients([(tf.IndexedSlices(tf.constant(noise(step, 6).reshape(3, 2)), rows, [6, 2]), w)])
        watch.at(step, w.numpy(), tolerance=2e-6)


# Keras.


def made(case):
    arguments = dict(case["arguments"])
    if isinstance(arguments["learning_rate"], list):
        name, given = arguments["learning_rate"]
        arguments["learning_rate"] = getattr(tf.optimizers.schedules, name)(**given)
    return getattr(tf.optimizers, case["class"])(**arguments)


@pytest.mark.parametrize("in_function", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("case", cases("keras"))
def test_optimizers_of_keras_go_where_tensorflow_went(case, in_function):
    watch, w, b, optimizer = Watch(case), tf.Variable(W), tf.Variable(B), made(case)

    def step(n):
        optimizer.apply_gradients([(0.3 * w + tf.reshape(n[:6], [2, 3]), w), (0.3 * b + n[6:], b)])

    call = tf.function(step) if in_function else step
    for number in range(1, STEPS + 1):
        call(tf.constant(noise(number, 9)))
        watch.at(number, w.numpy(), b.numpy(), tolerance=3e-6)
    assert int(optimizer._iterations.numpy()) == STEPS


@pytest.mark.parametrize("case", cases("keras_rows"))
def test_gradients_of_rows_lead_where_keras_went(case, on_device):
    watch, w, optimizer = Watch(case), tf.Variable(TABLE), made(case)
    for step in range(1, STEPS + 1):
        rows = tf.constant([step % 6, (step + 2) % 6, (step + 5) % 6])
        slices = tf.IndexedSlices(tf.constant(noise(step, 6).reshape(3, 2)), rows, tf.constant([6, 2]))
        optimizer.apply_gradients([(slices, w)])
        watch.at(step, w.numpy(), tolerance=4e-6)


# Learning rates.


@pytest.mark.parametrize("case", cases("schedules"))
def test_schedules_give_the_rates_of_tensorflow(case):
    schedule = getattr(tf.optimizers.schedules, case["class"])(**case["arguments"])
    as_tensors = [float(schedule(tf.constant(step, tf.int64))) for step in FIGURES["steps"]]
    np.testing.assert_allclose(as_tensors, case["rates"], rtol=1e-6, atol=1e-8)
    in_function = tf.function(lambda step: schedule(step))
    made_there = [float(in_function(tf.constant(step, tf.int64))) for step in FIGURES["steps"]]
    np.testing.assert_allclose(made_there, case["rates"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{case['function']}-{n}") for n, case in enumerate(FIGURES["decays"])]
)
def test_the_decays_of_tensorflow_1_give_its_rates(case):
    function = getattr(decay, case["function"])
    with tf1.Graph().as_default(), tf1.Session() as session:
        step = tf1.placeholder(tf.int64, [])
        rate = function(global_step=step, **case["arguments"])
        found = [session.run(rate, {step: number}) for number in FIGURES["steps"]]
    np.testing.assert_allclose(found, case["rates"], rtol=1e-6, atol=1e-8)
    eagerly = [float(function(global_step=tf.constant(n), **case["arguments"])()) for n in FIGURES["steps"]]
    np.testing.assert_allclose(eagerly, case["rates"], rtol=1e-6, atol=1e-8)
