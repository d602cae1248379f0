"""Branches, loops and calls whose plans are run in another way."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.ir.graph.function import graphs_of
from situs._src.runtime.plan import planner
from situs._src.runtime.run.emit import emit
from situs._src.runtime.run.state import Run, State


def branch(x):
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: x - 1.0), 1


def loop(x):
    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, h * 2.0), [tf.constant(0), x])[1], 7


def call(x):
    return tf.function(lambda value: value * 3.0)(x), 1


@pytest.mark.parametrize("make", [branch, loop, call])
def test_every_plan_inside_is_run_as_asked(make, monkeypatch):
    monkeypatch.setattr(planner, "inline_calls", lambda plan, side_by_side: plan)  # calls stay calls
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2])
        result, times = make(x)
        expected = sess.run(result, {x: np.ones(2)})
        plan = sess._prepare(result, {x: None}).program.plan
        [held] = [c for c in plan.calls if c.node is not None and graphs_of(c.node)]
        played = []

        def noting(inner):
            emitted = emit(inner).function
            return lambda run, *values: (played.append(inner), emitted(run, *values))[1]

        held.function = held.function.again(noting, lambda move: move)
        values = sess._prepare(result, {x: None}).values([np.ones(2)])
        made = emit(plan).function(Run(State()), *values)
        np.testing.assert_array_equal(made[0], expected)
        assert len(played) == times
