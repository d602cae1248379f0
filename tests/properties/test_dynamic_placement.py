"""Random graphs with pins: the dynamic placer computes what the simple one computes, and keeps to what is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf2
import situs.compat.v1 as tf
from situs._src.placement import dynamic, options
from situs._src.placement.placer_setting import as_placer

DEVICES = ["", "", "", "/cpu:0", "/gpu:0", "/gpu:1", "/gpu:3", "/device:GPU:*"]
OPS = ["matmul", "add", "tanh", "sum", "variable", "reshape", "shape"]
steps = st.lists(
    st.tuples(st.sampled_from(OPS), st.sampled_from(DEVICES), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=14,
)


def build(drawn):
    """A graph of square matrices; returns what to fetch, and what each pinned operation asks for."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    made, pins = [tf.tanh(x)], {}
    for number, (op, device, i, j) in enumerate(drawn):
        a, b = made[i % len(made)], made[j % len(made)]
        with tf.device(device):
            if op == "matmul":
                result = tf.tanh(tf.matmul(a, b))
            elif op == "add":
                result = a + b
            elif op == "tanh":
                result = tf.tanh(a)
            elif op == "sum":
                result = b * tf.reduce_mean(a)
            elif op == "variable":
                variable = tf.Variable(np.full((4, 4), 0.1 * number, "f"), name=f"v{number}")
                result = tf.assign_add(variable, a)
                result = tf.tanh(result)
            elif op == "reshape":
                result = tf.reshape(tf.reshape(a, [-1]), [4, 4])
            else:
                result = a * tf.cast(tf.shape(b)[0], tf.float32)
        made.append(result)
        if device and op != "variable":
            pins[result.op.name] = device.removeprefix("/device:").strip("/").upper()
    return x, made[-1], pins


def values(drawn, placer):
    before = options.current.placer
    options.set_placer(as_placer(placer))
    try:
        with tf.Graph().as_default():
            x, last, pins = build(drawn)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                feed = np.random.RandomState(0).randn(4, 4).astype("f")
                found = [session.run(last, {x: feed}) for _ in range(5)]
                placed = session.placement()
                where = {name: placed[name].device.short_name for name in pins}
                assert all(each.detail for each in tf2.explain(session))
                return found, where, pins
    finally:
        options.set_placer(before)


@pytest.fixture(autouse=True)
def _few_moves(monkeypatch):
    monkeypatch.setattr(dynamic, "moves_for", lambda problem: 50)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_random_graphs_give_the_same_and_pins_hold(drawn):
    expected, _, _ = values(drawn, "simple")
    found, where, pins = values(drawn, "dynamic")
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    for name, device in pins.items():
        assert where[name] == device or (device == "GPU:*" and where[name].startswith("GPU")), name
