"""Lifetimes, against the names that emitted code lets go of."""

from __future__ import annotations

import situs.compat.v1 as tf
from situs._src.runtime.plan.lifetimes import Lifetimes


def test_values_end_with_their_last_use_and_unused_ones_at_once():
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        a = tf.exp(x, name="a")
        values, _ = tf.linalg.svd(a, compute_uv=False), None
        b = tf.sin(a, name="b") + a
        plan = sess._prepare([b, values], {x: None}).program.plan
        lifetimes = Lifetimes(plan)
        number = {call.node.name: at for at, call in enumerate(plan.calls) if call.node is not None}
        slot = {call.node.name: call.outputs[0] for call in plan.calls if call.node is not None}
        assert lifetimes.uses[plan.inputs[0]] == [number["a"]]
        assert plan.inputs[0] in lifetimes.ends[number["a"]]
        assert lifetimes.uses[slot["a"]][-1] == number["add"]
        assert slot["a"] in lifetimes.ends[number["add"]]
        assert lifetimes.uses[slot["add"]] == [len(plan.calls)]
        assert all(slot["add"] not in ends for ends in lifetimes.ends)


def test_a_result_that_nobody_takes_ends_with_its_call():
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
        values, _ = tf.nn.top_k(tf.placeholder(tf.float32, [5], name="x"), 2, name="top")
        plan = sess._prepare(values, {"x:0": None}).program.plan
        [call] = [call for call in plan.calls if call.node is not None]
        assert Lifetimes(plan).ends[plan.calls.index(call)] == [plan.inputs[0], call.outputs[1]]
