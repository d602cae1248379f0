"""When variables are read: an operation sees what was assigned before it, wherever it runs.

The expectations are those of TensorFlow 2.21; where its reference variables share memory in ways that depend
on timing, those of its resource variables.
"""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf


@pytest.fixture(params=["/cpu:0", "/gpu:1"])
def v(request):
    with tf.Graph().as_default(), tf.device(request.param):
        yield tf.Variable(1.0, name="v")


def after(operation, make):
    with tf.control_dependencies([operation]):
        return make()


def outcome(v, fetch):
    """The value of `fetch` with the variable at 1.0, and what the variable holds afterwards."""
    with tf.Session() as sess:
        sess.run(v.initializer)
        return sess.run(fetch), sess.run(v)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (lambda v: tf.identity(v), 2.0),
        (lambda v: v + 0.0, 2.0),
        (lambda v: v.read_value(), 2.0),
        (lambda v: tf.identity(v.value()), 2.0),
        (lambda v: 3.0 * v, 6.0),
        (lambda v: v.assign(v * 10.0), 20.0),
    ],
)
def test_what_waits_for_an_assignment_sees_it(v, use, expected):
    assert outcome(v, after(v.assign_add(1.0), lambda: use(v)))[0] == expected


def test_what_takes_the_result_of_an_assignment_sees_it(v):
    assert outcome(v, v.assign_add(1.0) * 1.0 + v) == (4.0, 2.0)


def test_another_device_sees_it_too(v):
    with tf.device("/gpu:2"):
        before = v * 1.0
    with tf.control_dependencies([before]), tf.control_dependencies([v.assign_add(1.0)]), tf.device("/gpu:2"):
        later = v * 1.0
    assert outcome(v, [before, later]) == ([1.0, 2.0], 2.0)


def test_what_was_read_before_stays_as_it_was(v):
    old = v.read_value()
    new = after(old, lambda: v.assign_add(1.0))
    assert outcome(v, after(new, lambda: old * 1.0)) == (1.0, 2.0)
    assert outcome(v, after(after(tf.identity(v), lambda: v.assign_add(1.0)), lambda: v + 0.0)) == (2.0, 2.0)
    assert outcome(v, after(after(v.value(), lambda: v.assign_add(1.0)), lambda: v + 0.0)) == (2.0, 2.0)


def test_assignments_in_a_row_see_each_other(v):
    first = v.assign(5.0)
    second = after(first, lambda: v.assign_add(2.0))
    third = after(second, lambda: v.assign_add(v.read_value()))
    assert outcome(v, third) == (14.0, 14.0)
    assert outcome(v, after(third, lambda: tf.group(v.assign_sub(4.0)))) == (None, 10.0)


def test_a_branch_sees_what_was_assigned_before_and_in_it(v):
    yes = tf.placeholder_with_default(True, [])
    inside = tf.cond(yes, lambda: after(v.assign(7.0), lambda: v + 0.0), lambda: v + 0.0)
    assert outcome(v, inside) == (7.0, 7.0)
    outside = after(v.assign(5.0), lambda: tf.cond(yes, lambda: v + 1.0, lambda: v - 1.0))
    assert outcome(v, outside) == (6.0, 5.0)
    assert outcome(v, after(inside, lambda: v * 2.0)) == (14.0, 7.0)


def test_only_one_branch_assigns(v):
    for yes, expected in ((True, (2.0, 2.0)), (False, (11.0, 11.0))):
        chosen = tf.cond(tf.constant(yes), lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
        assert outcome(v, chosen) == expected


def test_each_turn_of_a_loop_sees_the_last(v):
    def turn(i, total):
        return after(v.assign_add(1.0), lambda: (i + 1, total + v))

    assert outcome(v, tf.while_loop(lambda i, total: i < 3, turn, (0, 0.0))) == ((3, 2.0 + 3.0 + 4.0), 4.0)


def test_the_condition_of_a_loop_sees_what_its_turns_assign(v):
    turns = tf.while_loop(lambda i, x: v < 4.0, lambda i, x: after(v.assign_add(1.0), lambda: (i + 1, x)), (0, 0))
    assert outcome(v, turns) == ((3, 0), 4.0)


def test_nested_loops_and_branches_see_what_was_assigned(v):
    def inner(j, x):
        return tf.cond(v < 100.0, lambda: after(v.assign_add(1.0), lambda: (j + 1, x + v)), lambda: (j + 1, x))

    def turn(i, total):
        return i + 1, tf.while_loop(lambda j, x: j < 2, inner, (0, total))[1]

    # v runs through 2, 3, 4, 5
    assert outcome(v, tf.while_loop(lambda i, t: i < 2, turn, (0, 0.0))) == ((2, 14.0), 5.0)


def test_a_loop_may_begin_with_a_variable(v):
    assert outcome(v, tf.while_loop(lambda x, i: i < 3, lambda x, i: (x * 2.0, i + 1), (v, 0)))[0] == (8.0, 3)


def test_two_variables_are_told_apart(v):
    w = tf.Variable(10.0)
    with tf.Session() as sess:
        sess.run([v.initializer, w.initializer])
        swap = after(v.read_value(), lambda: v.assign(w))
        assert sess.run(after(swap, lambda: [v * 1.0, w * 1.0])) == [10.0, 10.0]
