"""What hooks log; the lines are TensorFlow 2.21's."""

from __future__ import annotations

import re

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.v1.monitored.logging_hooks import (
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    StepCounterHook,
)
from situs._src.v1.monitored.session import MonitoredSession

pytestmark = pytest.mark.usefixtures("graph")


def lines(logged, beginning):
    """What was logged that begins so; times are left out."""
    return [re.sub(r"\d+\.\d{3} sec", "T sec", line) for line in logged() if line.startswith(beginning)]


# Values.

SHOWN = "[[1.2345679 0.       ]\n [3.        4.       ]]"


def run(hook, fetch, times):
    with MonitoredSession(hooks=[hook]) as sess:
        for _ in range(times):
            sess.run(fetch)


def test_values_are_logged_every_so_many_runs(logged):
    c = tf.constant([[1.23456789, 1e-9], [3, 4]])
    run(LoggingTensorHook({"b": c, "a": "Const:0"}, every_n_iter=2), c, 4)
    text = f"a = {SHOWN}, b = {SHOWN}"
    assert lines(logged, "a =") == [text, f"{text} (T sec)"]
    assert not np.get_printoptions()["suppress"]


def test_a_list_is_logged_under_its_own_names(logged):
    c, d = tf.constant(1.5, name="c"), tf.constant(2, name="d")
    run(LoggingTensorHook([d, "c:0"], every_n_iter=1), c, 1)
    assert lines(logged, "Tensor") == ['Tensor("d:0", shape=(), dtype=int32) = 2, c:0 = 1.5']


def test_one_name_is_no_list_of_letters(logged):
    c = tf.constant(1.5, name="c")
    run(LoggingTensorHook("c:0", every_n_iter=1), c, 1)
    assert lines(logged, "c:0") == ["c:0 = 1.5"]


def test_values_are_logged_at_the_end(logged):
    c = tf.constant(1.5)
    run(LoggingTensorHook({"c": c}, at_end=True), c, 3)
    assert lines(logged, "c =") == ["c = 1.5"]
    run(LoggingTensorHook({"d": c}, every_n_iter=2, at_end=True), c, 3)
    assert lines(logged, "d =") == ["d = 1.5", "d = 1.5 (T sec)", "d = 1.5 (T sec)"]


def test_values_are_logged_every_so_many_seconds(logged):
    c = tf.constant(1.5)
    run(LoggingTensorHook({"c": c}, every_n_secs=1000), c, 3)
    run(LoggingTensorHook({"d": c}, every_n_secs=1e-9), c, 3)
    assert len(lines(logged, "c =")) == 1
    assert len(lines(logged, "d =")) == 3


def test_a_formatter_makes_the_text(logged):
    c = tf.constant(100)
    run(
        LoggingTensorHook({"c": c}, every_n_iter=1, formatter=lambda values: f"{values['c']}% of {sorted(values)}"),
        c,
        1,
    )
    assert lines(logged, "100%") == ["100% of ['c']"]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."),
        ({"every_n_iter": 1, "every_n_secs": 1}, "exactly one of every_n_iter and every_n_secs"),
        ({"every_n_iter": 0}, "invalid every_n_iter=0."),
        ({"every_n_iter": "x"}, "every_n_iter"),
        ({"every_n_iter": 1, "tensors": 5}, "tensors to log"),
        ({"every_n_iter": 1, "tensors": [["c"]]}, "takes tensors of a graph or their names"),
    ],
)
def test_it_must_be_said_when_to_log_and_what(given, text):
    with pytest.raises(ValueError, match=text):
        LoggingTensorHook(**{"tensors": ["c:0"], **given})


def test_tensors_must_be_in_the_graph():
    with pytest.raises(KeyError, match="refers to a Tensor which does not exist"):
        MonitoredSession(hooks=[LoggingTensorHook(["nothing:0"], every_n_iter=1)])


# Losses.


def test_a_loss_that_is_no_number_ends_the_loop_with_an_error(logged):
    p = tf.placeholder(tf.float32, [])

    def loop():
        with MonitoredSession(hooks=[NanTensorHook(p)]) as sess:
            sess.run(p, {p: 1.0})
            sess.run(p, {p: float("nan")})

    with pytest.raises(NanLossDuringTrainingError, match=r"NaN loss during training.") as caught:
        loop()
    assert isinstance(caught.value, RuntimeError)
    assert "Model diverged with loss = NaN." in logged()


def test_or_well(logged):
    p = tf.placeholder(tf.float32, [])
    with MonitoredSession(hooks=[NanTensorHook(p, fail_on_nan_loss=False)]) as sess:
        sess.run(p, {p: float("inf")})
        assert not sess.should_stop()
        sess.run(p, {p: float("nan")})
        assert sess.should_stop()
    assert "Model diverged with loss = NaN." in logged()


def test_a_loss_without_a_value_is_told():
    c = tf.constant(1.0)
    with MonitoredSession(hooks=[NanTensorHook(tf.no_op())]) as sess, pytest.raises(TypeError, match="NanTensorHook"):
        sess.run(c)


# Steps per second.


class Writer:
    def __init__(self):
        self.added = []

    def add_summary(self, summary, step):
        self.added.append((step, summary.value[0].tag, summary.value[0].simple_value))


def test_steps_per_second_are_logged_and_written(model, logged):
    writer = Writer()
    run(StepCounterHook(every_n_steps=2, summary_writer=writer), model.train, 8)
    assert [(step, tag) for step, tag, _ in writer.added] == [(step, "global_step/sec") for step in (3, 5, 7)]
    found = [float(line.split()[1]) for line in lines(logged, "global_step/sec:")]
    np.testing.assert_allclose(found, [speed for *_, speed in writer.added], rtol=1e-5)
    assert min(found) > 0


def test_a_step_that_stands_still_is_told_five_times(model, logged):
    run(StepCounterHook(every_n_steps=1), model.loss, 8)
    said = lines(logged, "It seems that global step")
    assert len(said) == 5
    assert "Current value (could be stable): 0 vs previous value: 0." in said[0]


@pytest.mark.parametrize("given", [(1, 1), (None, None)])
def test_steps_are_counted_in_one_way(given):
    with pytest.raises(ValueError, match=r"exactly one of every_n_steps and every_n_secs should be provided."):
        StepCounterHook(*given)


def test_counting_needs_a_global_step():
    tf.constant(1)
    with pytest.raises(RuntimeError, match=r"Global step should be created to use StepCounterHook."):
        MonitoredSession(hooks=[StepCounterHook()])
