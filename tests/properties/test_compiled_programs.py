"""Programs of pure ops, changes of variables and reads, in any order, do compiled what they do uncompiled.

Regions gather pure ops from all over a program. What must not happen is that a use of a variable's old value moves
behind a change, or a reading before one.
"""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
from situs._src.base.budget.ledger import Account
from situs._src.runtime.run import capture_regions, compiled_region, cuda_graph, inductor
from tests.unit.execution.test_capture import Again

STEPS = ("tanh", "add", "mul", "assign", "assign_add", "read", "unique", "random", "cond", "shape")
steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=14)


def program(variables, steps, x):
    """Does the steps on a growing list of values, and returns the last of them with what the variables hold."""
    values = [x, variables[0] * 1.0, variables[1] + 0.5]
    for what, one, other in steps:
        a, b = values[one % len(values)], values[other % len(values)]
        variable = variables[other % 2]
        if what == "tanh":
            values.append(tf.tanh(a))
        elif what == "add":
            values.append(a + b * 0.5)
        elif what == "mul":
            values.append(a * b * 0.3)
        elif what == "assign":
            variable.assign(tf.tanh(a))
        elif what == "assign_add":
            variable.assign_add(a * 0.1)
        elif what == "read":
            values.append(variable.read_value())
        elif what == "unique":
            values.append(tf.reduce_sum(tf.unique(a)[0]) * 0.1 + b)
        elif what == "divide":  # which is checked, and in no region of what is captured
            values.append(tf.cast(tf.cast(a * 10.0, tf.int32) // tf.constant(3), tf.float32) * 0.1 + b)
        elif what == "random":
            values.append(a * tf.random.stateless_uniform([3], [one, other]))
        elif what == "cond":
            values.append(tf.cond(tf.reduce_sum(a) > 0.0, lambda a=a, b=b: a * b, lambda a=a, b=b: a - b))
        else:
            values.append(tf.reshape(a, [tf.size(b)]))
    return [*values[-3:], variables[0] * 2.0, variables[1] + 0.0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_programs_do_what_they_do_uncompiled(fast, monkeypatch, steps):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", lambda traced, exact=False: lambda values: traced.graph(*values))
    made = []
    with tf.device("/cpu:0"):
        for jit_compile in (None, True):
            variables = [tf.Variable([0.5, -1.0, 2.0]), tf.Variable([1.0, 0.25, -0.5])]

            def step(x, variables=variables):
                with tf.device("/cpu:0"):
                    return program(variables, steps, x)

            f = tf.function(step, jit_compile=jit_compile)
            runs = [f(tf.constant([0.1 * run, 0.7, -0.3])) for run in range(5)]
            made.append(np.array([[value.numpy() for value in [*run, *variables]] for run in runs]))
    np.testing.assert_allclose(made[1], made[0], rtol=1e-4, atol=1e-5)


STEPS_OF_WORK = ("tanh", "add", "mul", "assign", "assign_add", "read", "divide", "shape")
work = st.lists(
    st.tuples(st.sampled_from(STEPS_OF_WORK), st.integers(0, 5), st.integers(0, 5)), min_size=4, max_size=14
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=work)
def test_captured_programs_do_what_they_do_uncompiled(fast, monkeypatch, steps):
    """There the memory of variables itself is read and written into, and nobody counts who holds it.

    Virtual GPUs pass for cards, and launches are made again in every replay, as in the tests of captures.
    """
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, work: 1.0)
    monkeypatch.setattr(Account, "enters_all", property(lambda account: False))
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", lambda traced, exact=False: lambda values: traced.graph(*values))
    made = []
    for jit_compile in (False, True):
        with tf.device("/gpu:0"):
            variables = [tf.Variable([0.5, -1.0, 2.0]), tf.Variable([1.0, 0.25, -0.5])]

            def step(x, variables=variables):
                with tf.device("/gpu:0"):
                    for _ in range(capture_regions.SHORTEST):
                        x = tf.tanh(x) + 0.01
                    return program(variables, steps, x)

            f = tf.function(step, jit_compile=jit_compile)
            runs = [f(tf.constant([0.1 * run, 0.7, -0.3])) for run in range(6)]
            made.append(np.array([[value.numpy() for value in [*run, *variables]] for run in runs]))
    np.testing.assert_allclose(made[1], made[0], rtol=1e-4, atol=1e-5)
