"""``tf.keras.utils``, ``tf.AggregationMethod`` and ``tf.train.summary_iterator``."""

from __future__ import annotations

import random

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1


@pytest.mark.parametrize(
    ("x", "count", "expected"),
    [
        ([0, 2], 3, [[1, 0, 0], [0, 0, 1]]),
        ([[1], [0]], None, [[0, 1], [1, 0]]),
        ([[0, 1], [1, 1]], 2, [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]),
        ([], 2, np.zeros((0, 2))),
        (1, None, [0, 1]),
    ],
)
def test_classes_as_rows(x, count, expected):
    np.testing.assert_array_equal(tf.keras.utils.to_categorical(x, count), expected)


@pytest.mark.parametrize(("x", "count"), [([3], 3), ([-1], None), ([0], -1), ([0], "many")])
def test_numbers_that_are_no_classes(x, count):
    with pytest.raises((ValueError, TypeError)):
        tf.keras.utils.to_categorical(x, count)


def test_one_seed_for_everything():
    made = []
    for _ in range(2):
        tf.keras.utils.set_random_seed(7)
        made.append((random.random(), np.random.rand(), float(tf.random.uniform([]))))
    assert made[0] == made[1]
    with pytest.raises(ValueError, match="A seed is a number"):
        tf.keras.utils.set_random_seed(-1)


def test_ways_of_adding_have_names():
    with tf1.Graph().as_default():
        x = tf1.constant(3.0)
        for method in (tf1.AggregationMethod.DEFAULT, tf1.AggregationMethod.EXPERIMENTAL_TREE):
            (grad,) = tf1.gradients(x * x + x, x, aggregation_method=method)
            with tf1.Session() as session:
                assert session.run(grad) == 7.0


def test_events_are_read_back(tmp_path):
    with tf1.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(3):
            value = tf1.Summary.Value(tag="loss", simple_value=step / 2)
            writer.add_summary(tf1.Summary(value=[value]), step)
    (file,) = tmp_path.iterdir()
    found = [(e.step, v.tag, v.simple_value) for e in tf1.train.summary_iterator(str(file)) for v in e.summary.value]
    assert found == [(0, "loss", 0.0), (1, "loss", 0.5), (2, "loss", 1.0)]
    with pytest.raises(tf.errors.NotFoundError):
        tf1.train.summary_iterator(str(tmp_path / "none"))
