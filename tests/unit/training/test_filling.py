"""The summaries of input queues: under TensorFlow 2.21's names, with what the queue holds."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf


def x():
    return tf.constant([1.0, 2.0])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: tf.train.batch([x()], 4), "batch/fraction_of_32_full"),
        (
            lambda: tf.train.shuffle_batch([x()], 4, capacity=20, min_after_dequeue=5),
            "shuffle_batch/fraction_over_5_of_15_full",
        ),
        (lambda: tf.train.string_input_producer(["a", "b"]), "input_producer/fraction_of_32_full"),
        (lambda: tf.train.range_input_producer(3, capacity=7), "input_producer/fraction_of_7_full"),
        (lambda: tf.train.slice_input_producer([x()]), "input_producer/input_producer/fraction_of_32_full"),
        (lambda: tf.train.input_producer(x(), summary_name="mine"), "input_producer/mine"),
        (lambda: tf.train.batch_join([[x()], [x()]], 4), "batch_join/fraction_of_32_full"),
        (lambda: tf.train.maybe_batch([x()], True, 4, name="mb"), "mb/fraction_of_32_full"),
        (
            lambda: tf.train.maybe_shuffle_batch_join([[x()]], 4, 9, 2, True),
            "shuffle_batch_join/fraction_over_2_of_7_full",
        ),
    ],
)
def test_an_input_queue_has_a_summary_of_how_full_it_is(make, name):
    with tf.Graph().as_default(), tf.Session() as session:
        make()
        assert [tensor.name for tensor in tf.get_collection(tf.GraphKeys.SUMMARIES)] == [f"{name}:0"]
        (value,) = tf.Summary.FromString(session.run(tf.summary.merge_all())).value
        assert (value.tag, value.simple_value) == (name, 0.0)


@pytest.mark.parametrize(("least", "expected"), [(0, [0.25, 0.5]), (2, [0.0, 0.0]), (1, [0.0, 1 / 3])])
def test_it_is_the_part_that_is_filled(least, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        if least:
            tf.train.shuffle_batch([x()], 1, capacity=4, min_after_dequeue=least)
        else:
            tf.train.batch([x()], 1, capacity=4)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        found = []
        for _ in expected:
            session.run(runner.enqueue_ops[0])
            found.append(tf.Summary.FromString(session.run(tf.summary.merge_all())).value[0].simple_value)
        assert found == pytest.approx(expected)


def test_a_queue_without_a_name_for_it_has_no_summary():
    with tf.Graph().as_default():
        tf.train.input_producer(x())
        assert tf.get_collection(tf.GraphKeys.SUMMARIES) == []
