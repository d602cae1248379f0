"""Learning rates that depend on the step: classes, functions of TensorFlow 1, as data, and what is wrong."""

from __future__ import annotations

import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers import decay
from situs._src.v1.optimizers.base import Optimizer
from situs._src.v1.optimizers.optimizers import GradientDescentOptimizer
from situs.optimizers import schedules
from situs.optimizers.schedules import (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    LearningRateSchedule,
    PiecewiseConstantDecay,
    PolynomialDecay,
)

ALL = [
    ExponentialDecay(0.1, 10, 0.5, staircase=True),
    InverseTimeDecay(0.1, 10, 0.5),
    PiecewiseConstantDecay([1, 2], [1.0, 0.5, 0.25]),
    PolynomialDecay(0.1, 10, power=2.0, cycle=True),
    CosineDecay(0.0, 10, warmup_target=1.0, warmup_steps=5),
    CosineDecayRestarts(0.1, 10, t_mul=3.0),
]


@pytest.mark.parametrize("schedule", ALL, ids=lambda schedule: type(schedule).__name__)
def test_a_schedule_is_made_again_from_its_config(schedule):
    again = type(schedule).from_config(schedule.get_config())
    data = schedules.serialize(schedule)
    assert data["module"] == "keras.optimizers.schedules"
    third = schedules.deserialize(data)
    for step in (0, 3, 17):
        assert schedule.at(step) == again.at(step) == third.at(step)
    assert again.get_config() == schedule.get_config()


@pytest.mark.parametrize("schedule", ALL, ids=lambda schedule: type(schedule).__name__)
def test_a_variable_is_a_step(schedule):
    step = tf.Variable(7, dtype=tf.int64)
    assert float(schedule(step)) == pytest.approx(schedule.at(7), rel=1e-6)
    assert float(schedule(7)) == pytest.approx(schedule.at(7), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ExponentialDecay(0.1, 0, 0.5), r"`decay_steps` must be > 0\. Received: decay_steps=0"),
        (lambda: CosineDecay(0.1, -1), "`decay_steps` must be > 0"),
        (lambda: CosineDecayRestarts(0.1, 0), "`first_decay_steps` must be > 0"),
        (lambda: PiecewiseConstantDecay([1], [1.0]), "length of boundaries should be 1 less than"),
        (lambda: schedules.deserialize({"class_name": "Nonsense", "config": {}}), "Unknown learning rate schedule"),
        (lambda: schedules.deserialize(7), "Improper config format"),
        (lambda: decay.piecewise_constant(1, [1], [1.0]), "length of boundaries should be 1 less than"),
        (lambda: decay.piecewise_constant(tf.constant(1), [0.5], [1.0, 2.0]), "must have the same dtype as x"),
        (lambda: schedules.ExponentialDecay(0.1, "a", 0.5), "`decay_steps` must be a number"),
        (lambda: schedules.PiecewiseConstantDecay(1, [0.1]), "boundaries of a piecewise constant are a list"),
        (lambda: decay.exponential_decay(0.1, None, 10, 0.5), "global_step is required for exponential_decay"),
        (lambda: decay.cosine_decay(0.1, None, 10), "global_step is required for cosine_decay"),
    ],
)
def test_mistakes_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_a_class_of_ones_own_must_say_what_it_does():
    with pytest.raises(NotImplementedError, match="must override `__call__"):
        LearningRateSchedule()(1)
    with pytest.raises(NotImplementedError, match="must override `get_config"):
        LearningRateSchedule().get_config()


# TensorFlow 1.


def test_a_rate_of_a_graph_is_computed_in_every_run():
    with tf1.Graph().as_default(), tf1.Session() as session:
        step = tf1.Variable(0, trainable=False, dtype=tf.int64)
        rate = decay.exponential_decay(1.0, step, 1, 0.5)
        assert rate.name == "ExponentialDecay:0"
        w = tf1.Variable(0.0)
        train = GradientDescentOptimizer(rate).minimize(w * 1.0, global_step=step)
        session.run(tf1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        assert session.run([w, rate, step]) == [-1.75, 0.125, 3]


def test_in_eager_code_a_rate_is_a_function():
    step, w = tf.Variable(0, dtype=tf.int64), tf.Variable(0.0)
    optimizer: Optimizer = GradientDescentOptimizer(decay.exponential_decay(1.0, step, 1, 0.5))
    for _ in range(3):
        optimizer.minimize(lambda: w * 1.0, global_step=step)
    assert float(w) == -1.75


def test_a_noisy_rate_is_about_the_rate_without_noise():
    rates = decay.noisy_linear_cosine_decay(1.0, tf.constant(3), 10, initial_variance=1e-8)
    plain = decay.linear_cosine_decay(1.0, tf.constant(3), 10)
    assert float(rates()) == pytest.approx(float(plain()), abs=1e-3)
