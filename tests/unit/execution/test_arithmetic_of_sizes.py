"""Sizes are computed on the host, wherever their operations are placed."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.runtime.session.fetches import Fetches

ROWS = {
    "a dimension": lambda x: tf.shape(x)[0],
    "half of it": lambda x: tf.shape(x)[0] // 2,
    "of a product": lambda x: tf.reduce_prod(tf.shape(x)) - 3,
    "of several": lambda x: tf.maximum(tf.size(x) % 5, tf.rank(x) * 2),
    "of a list": lambda x: tf.stack([tf.shape(x)[0], 2])[0] + 1,
    "of 64 bits": lambda x: tf.cast(tf.shape(x, out_type=tf.int64)[1], tf.int32),
    "through a name": lambda x: tf.identity(tf.shape(x)[0]),
}


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


def planned(fetch, feeds):
    session = tf.Session()
    return session, session._program(Fetches(session.graph, [fetch]), list(feeds)).plan


def copies(plan):
    return [call for call in plan.calls if call.copies is not None]


@pytest.mark.parametrize("size", ROWS.values(), ids=ROWS)
def test_a_size_goes_nowhere(size):
    x = tf.placeholder(tf.float32, [None, None])
    with tf.device("/gpu:0"):
        made = tf.fill([size(tf.tanh(x))], 7.0)
    session, plan = planned(made, [x])
    assert [copy.copies for copy in copies(plan)] == [x, made]
    assert {call.device.short_name for call in plan.calls if call.node and call.node.type == "Shape"} <= {"GPU:0"}
    fed = np.ones((6, 4), np.float32)
    on_host = np.full(len(session.run(made, {x: fed})), 7.0)
    np.testing.assert_array_equal(session.run(made, {x: fed}), on_host)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: tf.cast(tf.shape(x)[0], tf.float32) * 2.0, 6.0),
        (lambda x: tf.shape(x)[0] * tf.cast(tf.reduce_sum(x), tf.int32), 18),
        (lambda x: tf.reduce_sum(tf.range(tf.shape(x)[0])), 3),
    ],
    ids=["a fraction", "made of values too", "many numbers"],
)
def test_other_arithmetic_stays_where_it_was_placed(build, expected):
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/gpu:0"):
        made = build(x)
    session, plan = planned(made, [x])
    assert plan.calls[-2].device.short_name == "GPU:0"
    assert session.run(made, {x: np.ones((3, 2), np.float32)}) == expected


def test_placement_says_where_it_was_put():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/gpu:1"):
        rows = tf.multiply(tf.shape(x)[0], 2, name="rows")
    session, _ = planned(rows, [x])
    assert session.placement()["rows"].device.short_name == "GPU:1"
    assert session.run(rows, {x: np.ones((3, 2), np.float32)}) == 6


def test_what_waits_for_something_is_left_alone():
    x = tf.placeholder(tf.float32, [None])
    v = tf.Variable(0.0)
    with tf.device("/gpu:0"), tf.control_dependencies([v.assign_add(1.0)]):
        rows = tf.shape(x)[0] + 1
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(rows, {x: [1.0, 2.0]}) == 3
        assert session.run(v) == 1.0
