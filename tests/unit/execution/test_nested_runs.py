"""Runs inside runs, and what plans of one session share."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import situs.compat.v1 as tf
from tests.conftest import STUCK


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("threads", [1, 2])
def test_python_functions_may_run_the_session(threads):
    config = tf.ConfigProto(inter_op_parallelism_threads=threads, use_per_session_threads=True)
    sess = tf.Session(config=config)
    inner = [tf.py_func(lambda x: x, [float(i)], tf.float32) for i in range(4)]
    outer = [tf.py_func(lambda x: np.float32(sum(sess.run(inner))), [float(i)], tf.float32) for i in range(8)]
    made = []
    worker = threading.Thread(target=lambda: made.append(sess.run(outer)), daemon=True)
    worker.start()
    worker.join(STUCK)
    assert made == [[6.0] * 8]


def test_leaving_the_interpreter_from_a_function_is_an_error_of_the_run():
    def leave():
        raise SystemExit(3)

    sess = tf.Session()
    calls = [tf.py_func(leave, [], tf.float32, name="leaving"), tf.py_func(lambda: np.float32(1), [], tf.float32)]
    with pytest.raises(tf.errors.UnknownError, match=r"SystemExit: 3[\s\S]*leaving"):
        sess.run(calls)


def test_plans_share_their_constants():
    c = tf.constant(np.zeros(1000, np.float32))
    sess = tf.Session()
    for _ in range(3):
        sess.run(c + 1.0)
    held = [literal.value.data_ptr() for (node, _), literal in sess._engine._planner.constants.items() if node is c.op]
    assert len(set(held)) == len(held) <= len(sess.list_devices())


def test_a_closed_session_gives_its_threads_back():
    before = threading.active_count()
    for _ in range(5):
        config = tf.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
        with tf.Session(config=config) as sess:
            sess.run([tf.py_func(lambda: np.float32(1), [], tf.float32) for _ in range(2)])
    end = time.monotonic() + STUCK
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_device_scopes_belong_to_their_graph():
    first, second = tf.Graph(), tf.Graph()
    with first.device("/cpu:1"), first.as_default():
        assert tf.constant(1).device == "/device:CPU:1"
        with second.as_default():
            assert tf.constant(1).device == ""
            with first.as_default():
                assert tf.constant(1).device == "/device:CPU:1"
