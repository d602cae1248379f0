"""Recording what a run does."""

from __future__ import annotations

import time

import pytest

import situs.compat.v1 as tf
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Recorder


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def recorded(sess, fetch):
    recorder = Recorder()
    prepared = sess._prepare(fetch, {})
    prepared.program.run(Run(sess._state), [], recorder)
    return recorder.events


def test_each_call_is_noted_in_order(sess):
    with tf.device("/gpu:1"):
        a = tf.exp(tf.constant([1.0, 2.0]), name="a")
    with tf.device("/gpu:2"):
        b = tf.sin(a, name="b")
    before = time.time_ns()
    events = recorded(sess, b)
    assert [event.call.node.name for event in events if event.call.node] == ["a", "b"]
    assert sum(event.call.copies is not None for event in events) == 2  # to GPU:2, and to the host
    assert before <= events[0].start <= events[0].end <= events[1].start
    assert {event.results[0] for event in events} == {((2,), "torch.float32", 8)}


def test_reading_a_variable_is_noted(sess):
    v = tf.Variable([1.0])
    sess.run(v.initializer)
    assert [event.call.reads.name for event in recorded(sess, v + 1.0) if event.call.reads] == ["Variable/read"]


def test_recording_does_not_change_later_runs(sess):
    c = tf.exp(tf.constant(0.0))
    recorded(sess, c)
    assert sess.run(c) == 1.0
    assert len(recorded(sess, c)) == len(recorded(sess, c))
