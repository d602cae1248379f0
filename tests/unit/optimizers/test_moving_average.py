"""``tf.train.ExponentialMovingAverage``: averages beside variables, in graphs and in eager code."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers.moving_average import ExponentialMovingAverage, assign_moving_average
from situs._src.variables.eager import Variable
from situs.errors import DTypeError


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as made:
        yield made


def averaged(values, decay):
    found = values[0]
    for value in values:
        found -= (1 - decay) * (found - value)
    return found


def test_an_average_follows_its_variable(graph):
    w = tf1.Variable(1.0, name="w")
    ema = ExponentialMovingAverage(0.9)
    update = ema.apply([w])
    assert update.name == "ExponentialMovingAverage"
    assert ema.average(w).name == "w/ExponentialMovingAverage:0"
    assert ema.average(w).op.colocation_groups() == [b"loc:@w"]
    assert graph.get_collection(tf1.GraphKeys.MOVING_AVERAGE_VARIABLES) == [w]
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for value in (1.0, 5.0, 3.0):
            session.run(w.assign(value))
            session.run(update)
        assert session.run(ema.average(w)) == pytest.approx(averaged([1.0, 5.0, 3.0], 0.9))


def test_many_averages_are_changed_by_one_call(graph):
    values = [tf1.Variable(np.full(3, float(n), np.float32)) for n in range(4)]
    update = ExponentialMovingAverage(0.5).apply(values)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        metadata = tf1.RunMetadata()
        session.run(update, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata)
    names = [node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats]
    assert sum("ApplyMovingAverage" in name for name in names) == 1


def test_the_first_updates_count_for_more(graph):
    w = tf1.Variable(0.0)
    step = tf1.Variable(0, trainable=False)
    ema = ExponentialMovingAverage(0.99, num_updates=step)
    update = ema.apply([w])
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(w.assign(10.0))
        session.run(update)
        assert session.run(ema.average(w)) == pytest.approx(9.0)  # a decay of 1 / 10
        session.run(step.assign(10_000))
        session.run(w.assign(0.0))
        session.run(update)
        assert session.run(ema.average(w)) == pytest.approx(8.91)


def test_variables_are_restored_from_averages(graph):
    w, b = tf1.Variable(1.0, name="w"), tf1.Variable(1.0, name="b", trainable=False)
    ema = ExponentialMovingAverage(0.9)
    assert ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"
    assert ema.variables_to_restore() == {"w/ExponentialMovingAverage": w, "b": b}
    ema.apply([w])
    assert ema.variables_to_restore() == {"w/ExponentialMovingAverage": w, "b": b}
    assert ema.variables_to_restore([]) == {"w": w, "b": b, "w/ExponentialMovingAverage": ema.average(w)}


@pytest.mark.parametrize("debias", [False, True])
def test_an_average_of_a_tensor_begins_with_nothing(graph, debias):
    x = tf1.placeholder(tf.float32, [])
    y = x * 2.0
    ema = ExponentialMovingAverage(0.5, zero_debias=debias)
    update = ema.apply([y])
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(update, {x: 2.0})
        assert session.run(ema.average(y)) == pytest.approx(4.0 if debias else 2.0)
        session.run(update, {x: 2.0})
        assert session.run(ema.average(y)) == pytest.approx(4.0 if debias else 3.0)


def test_eager_averages_are_made_at_the_first_update(on_device):
    w = tf.Variable([1.0, 2.0])
    ema = ExponentialMovingAverage(0.5)
    assert ema.apply([w]) is None
    assert isinstance(ema.average(w), Variable)
    assert ema.average(w).device == on_device
    w.assign([3.0, 4.0])
    before = ema.average(w).numpy()
    ema.apply([w])
    assert before.tolist() == [1.0, 2.0]
    assert ema.average(w).numpy().tolist() == [2.0, 3.0]
    assert w.numpy().tolist() == [3.0, 4.0]


def test_averages_are_kept_in_functions():
    w = tf.Variable([1.0, 2.0])
    ema = ExponentialMovingAverage(0.5, num_updates=tf.Variable(1000))
    ema.apply([w])

    @tf.function
    def step():
        w.assign_add([2.0, 2.0])
        ema.apply([w])

    step()
    step()
    assert ema.average(w).numpy().tolist() == [3.5, 4.5]


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: [tf.Variable([1, 2])], "must be half, float, or double"),
        (lambda: [tf.constant(1.0)], "does not support non-Variable tensors"),
        (lambda: ["w"], "kept of variables"),
        (lambda: 3, "Expected a list of variables"),
    ],
)
def test_mistakes_are_named(build, text):
    with pytest.raises(DTypeError, match=text):
        ExponentialMovingAverage(0.9).apply(build())


def test_a_name_stands_in_the_scope_of_the_caller(graph):
    with tf1.variable_scope("scope1"):
        v = tf1.Variable(1.0, name="v0")
    with tf1.variable_scope("scope2"):
        ema = ExponentialMovingAverage(0.25, name="foo")
        assert ema.average_name(v) == "scope2/scope1/v0/foo"
        ema.apply([v])
        assert ema.average(v).op.name == ema.average_name(v) == "scope2/scope1/v0/foo"


def test_assign_moving_average():
    """What TensorFlow 2.21 gives, with and without the correction."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        plain, corrected = (tf1.get_variable(name, initializer=[1.0, 1.0]) for name in "vw")
        moved = assign_moving_average(plain, [3.0, 5.0], 0.9, zero_debias=False)
        unbiased = assign_moving_average(corrected, [3.0, 5.0], 0.9)
        session.run(tf1.global_variables_initializer())
        assert session.run(moved).tolist() == pytest.approx([1.2, 1.4])
        assert [session.run(unbiased).tolist() for _ in range(2)] == [pytest.approx([3, 5])] * 2
        assert [variable.op.name for variable in tf1.global_variables()] == ["v", "w", "w/biased", "w/local_step"]
