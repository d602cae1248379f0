"""What runs for its effect in the branches and loops of a session's graph: as often as in TensorFlow 1, never twice."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf


@pytest.fixture
def calls():
    return []


def recorded(calls, tag, x):
    """An op that has an effect: it notes what it sees."""

    def note(value):
        calls.append((tag, int(value)))
        return np.int32(0)

    return tf.py_func(note, [x], tf.int32)


def counted(calls, steps):
    """A loop that waits for an effect in every step."""

    def body(i):
        with tf.control_dependencies([recorded(calls, "step", i)]):
            return tf.identity(i) + 1

    return tf.while_loop(lambda i: i < steps, body, [tf.constant(0)])


def run(build, choice=True, times=1):
    with tf.Graph().as_default():
        choose = tf.placeholder(tf.bool, [])
        fetches = build(choose)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return [session.run(fetches, {choose: choice}) for _ in range(times)][-1]


def test_effects_in_a_loop_in_a_branch_run_once_a_step(calls):
    def build(choose):
        return tf.cond(choose, lambda: counted(calls, 3), lambda: tf.constant(7))

    assert run(build) == 3
    assert calls == [("step", 0), ("step", 1), ("step", 2)]
    assert run(build, choice=False) == 7
    assert len(calls) == 3


def test_prints_in_a_loop_in_a_branch_are_printed(capfd):
    def old(i):
        return tf.Print(i, [i], "old ") + 1

    def new(i):
        with tf.control_dependencies([tf.print("new", i)]):
            return i + 1

    def loop(body):
        return tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])

    assert run(lambda choose: tf.cond(choose, lambda: loop(old), lambda: tf.constant(0))) == 3
    assert run(lambda choose: tf.cond(choose, lambda: loop(new), lambda: tf.constant(0))) == 3
    printed = capfd.readouterr().err
    assert [printed.count(word) for word in ("old [0]", "old [1]", "old [2]", "new 0", "new 1", "new 2")] == [1] * 6


def test_state_changes_in_a_loop_in_a_branch_happen_once_a_step():
    def build(choose):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())

        def body(i):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1

        steps = tf.cond(choose, lambda: tf.while_loop(lambda i: i < 3, body, [tf.constant(0)]), lambda: tf.constant(0))
        with tf.control_dependencies([steps]):
            return [steps, v.read_value()]

    assert run(build, times=2) == [3, 6.0]


def test_a_single_output_that_is_used_often_runs_its_branch_once(calls):
    def build(choose):
        result = tf.cond(choose, lambda: recorded(calls, "branch", tf.constant(5)), lambda: tf.constant(1))
        return [result, result + 1, tf.identity(result), result]

    assert run(build) == [0, 1, 0, 0]
    assert calls == [("branch", 5)]


@pytest.mark.parametrize("fetched", [0, 1, slice(None)])
def test_one_of_two_outputs_runs_the_branch_once(fetched):
    def build(choose):
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())

        def branch():
            with tf.control_dependencies([v.assign_add(1.0)]):
                return v.read_value(), tf.constant(2.0)

        outputs = tf.cond(choose, branch, lambda: (tf.constant(0.0), tf.constant(0.0)))
        with tf.control_dependencies([*outputs]):
            return [outputs[fetched], v.read_value()]

    assert run(build)[1] == 1.0


def test_what_no_result_waits_for_does_not_run(calls):
    def build(choose):
        def branch():
            recorded(calls, "alone", tf.constant(1))
            counted(calls, 2)
            return tf.constant(4)

        return tf.cond(choose, branch, lambda: tf.constant(0))

    assert run(build) == 4
    assert calls == []
