"""Losses that are scaled so that gradients do not vanish in float16."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers.loss_scale import (
    DynamicLossScale,
    FixedLossScale,
    LossScale,
    MixedPrecisionLossScaleOptimizer,
)
from situs._src.v1.optimizers.optimizers import GradientDescentOptimizer, MomentumOptimizer
from situs.optimizers import SGD, Adam, LossScaleOptimizer, deserialize, serialize


def test_gradients_that_vanish_in_float16_are_kept():
    w = tf.Variable(1.0)
    optimizer = LossScaleOptimizer(SGD(1.0))

    def loss():
        return tf.cast(
            tf.cast(w, tf.float16) * tf.constant(1e-4, tf.float16) * tf.constant(1e-4, tf.float16), tf.float32
        )

    with tf.GradientTape() as tape:
        plain = loss()
    assert float(tape.gradient(plain, w)) == 0.0
    with tf.GradientTape() as tape:
        scaled = optimizer.scale_loss(loss())
    optimizer.build([w])
    optimizer.apply_gradients([(tape.gradient(scaled, w), w)])
    assert float(w) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("in_function", [False, True])
def test_the_scale_goes_down_at_once_and_up_after_a_while(in_function):
    v = tf.Variable([1.0, 2.0])
    optimizer = LossScaleOptimizer(Adam(0.5), initial_scale=8.0, dynamic_growth_steps=2)
    optimizer.build([v])
    step = lambda grad: optimizer.apply_gradients([(grad, v)])  # noqa: E731
    call = tf.function(step) if in_function else step
    scales = []
    for value in (float("nan"), 1.0, 1.0, 1.0, float("inf"), 1.0):
        call(tf.constant([1.0, value]))
        scales.append(float(optimizer.dynamic_scale))
    assert scales == [4.0, 4.0, 8.0, 8.0, 4.0, 4.0]
    assert int(optimizer.iterations) == 4
    assert np.all(np.isfinite(v.numpy()))


def test_rows_are_looked_at_too():
    table = tf.Variable(np.ones((3, 1), np.float32))
    optimizer = LossScaleOptimizer(SGD(1.0), initial_scale=2.0)
    rows = tf.IndexedSlices(tf.constant([[4.0]]), tf.constant([1]), tf.constant([3, 1]))
    optimizer.apply_gradients([(rows, table)])
    assert table.numpy().ravel().tolist() == [1.0, -1.0, 1.0]


def test_it_hands_on_what_belongs_to_the_optimizer_inside():
    inner = SGD(0.5, momentum=0.9)
    optimizer = LossScaleOptimizer(inner, initial_scale=2.0)
    optimizer.learning_rate = 0.25
    assert float(inner.learning_rate) == float(optimizer.learning_rate) == 0.25
    v = tf.Variable(1.0)
    optimizer.build([v])
    assert [w.name.rpartition("/")[2] for w in optimizer.variables][2:] == [
        "step_counter",
        "dynamic_scale",
        "iteration",
        "learning_rate",
        "Variable_0_momentum",
    ]
    again = deserialize(serialize(optimizer))
    assert again.get_config() == optimizer.get_config()
    assert again.inner_optimizer.momentum == 0.9


@pytest.mark.parametrize("arguments", [{"dynamic": False}, {"clipnorm": 1.0}])
def test_other_arguments_belong_inside(arguments):
    with pytest.raises(ValueError, match="inner_optimizer"):
        LossScaleOptimizer(SGD(), **arguments)


def test_a_checkpoint_brings_the_scale_back(tmp_path):
    v, optimizer = tf.Variable(1.0), LossScaleOptimizer(SGD(0.5, momentum=0.9), initial_scale=4.0)
    optimizer.apply_gradients([(tf.constant(float("inf")), v)])
    optimizer.apply_gradients([(tf.constant(1.0), v)])
    path = tf.train.Checkpoint(v=v, optimizer=optimizer).save(str(tmp_path / "at"))
    w, other = tf.Variable(0.0), LossScaleOptimizer(SGD(0.5, momentum=0.9))
    tf.train.Checkpoint(v=w, optimizer=other).restore(path)
    other.build([w])
    assert float(other.dynamic_scale) == 2.0
    assert int(other.iterations) == 1
    assert float(w) == float(v)


# TensorFlow 1.


@pytest.mark.parametrize("scale", [8.0, FixedLossScale(8), "dynamic"])
def test_a_scaled_loss_leads_to_the_same_place(scale):
    with tf1.Graph().as_default(), tf1.Session() as session:
        w = tf1.Variable([1.0, 2.0])
        optimizer = MixedPrecisionLossScaleOptimizer(MomentumOptimizer(0.25, 0.9), scale)
        train = optimizer.minimize(tf1.reduce_sum(w * w))
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == [0.5, 1.0]
        assert optimizer.get_slot_names() == ["momentum"]


def test_a_dynamic_scale_leaves_bad_steps_out():
    with tf1.Graph().as_default(), tf1.Session() as session:
        w, x = tf1.Variable(1.0), tf1.placeholder(tf.float32, [])
        scale = DynamicLossScale(4.0, increment_period=2)
        step = tf1.Variable(0, trainable=False, dtype=tf.int64)
        optimizer = MixedPrecisionLossScaleOptimizer(GradientDescentOptimizer(0.5), scale)
        train = optimizer.minimize(w * x, global_step=step)
        session.run(tf1.global_variables_initializer())
        seen = []
        for value in (float("inf"), 1.0, 1.0):
            session.run(train, {x: value})
            seen.append((float(session.run(w)), float(session.run(scale())), int(session.run(step))))
        assert seen == [(1.0, 2.0, 0), (0.5, 2.0, 1), (0.0, 4.0, 2)]


def test_a_fixed_scale_works_in_eager_code():
    w = tf.Variable(1.0)
    optimizer = MixedPrecisionLossScaleOptimizer(GradientDescentOptimizer(0.5), FixedLossScale(4.0))
    optimizer.minimize(lambda: w * 1.0, var_list=[w])
    assert float(w) == 0.5


@pytest.mark.parametrize("scale", [0.5, "large", None])
def test_a_scale_is_at_least_1(scale):
    with pytest.raises(ValueError, match=r"at least 1|is a LossScale"):
        MixedPrecisionLossScaleOptimizer(GradientDescentOptimizer(0.5), scale)


def test_no_gradients():
    v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        LossScaleOptimizer(SGD(0.5)).apply_gradients([(None, v)])


@pytest.mark.parametrize("ask", [LossScale.__call__, lambda scale: scale.update([]), LossScale.get_config])
def test_a_scale_of_ones_own_says_what_it_does(ask):
    with pytest.raises(NotImplementedError, match="LossScale has no method"):
        ask(LossScale())


def test_configs_make_the_same_again():
    fixed = FixedLossScale.from_config(FixedLossScale(4.0).get_config())
    assert float(fixed()) == 4.0
    with tf1.Graph().as_default():
        config = DynamicLossScale(4.0, 3, 1.5).get_config()
        assert DynamicLossScale.from_config(config).get_config() == config
