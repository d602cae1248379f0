"""Calls of functions that become part of the plan of their caller."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.ir.graph.function import graphs_of
from situs._src.runtime.passes.inline_calls import inline_calls
from situs._src.runtime.plan.plan import Call, Plan, Slot
from situs._src.runtime.run.control_flow import FunctionCall, Part
from situs._src.runtime.run.emit import emit


def plan_of(function, *args):
    """The plan that a call of a function runs."""
    concrete = function.get_concrete_function(*args)
    concrete(*args)
    [ready] = concrete._programs.values()
    return ready._program.plan


def types(plan):
    return [call.node.type for call in plan.calls if call.node is not None]


@tf.function
def scaled(x, w):
    return tf.nn.relu(x * w)


def test_a_called_function_is_part_of_the_plan():
    f = tf.function(lambda x: scaled(x, x + 1.0) - 2.0)
    plan = plan_of(f, tf.constant([1.0, 2.0]))
    assert types(plan) == ["AddV2", "Mul", "Relu", "Sub"]
    assert inline_calls(plan) is plan  # there is nothing left to do


def test_functions_in_functions_are_part_of_it_too():
    double = tf.function(lambda x: x * 2.0)
    four_times = tf.function(lambda x: double(double(x)))
    f = tf.function(lambda x: four_times(x) + double(x))
    plan = plan_of(f, tf.constant([1.0]))
    assert types(plan) == ["Mul", "Mul", "Mul", "AddV2"]
    np.testing.assert_array_equal(f(tf.constant([1.5])), [9.0])


def test_functions_in_branches_and_loops_are_part_of_those():
    step = tf.function(lambda x: x * 2.0 + 1.0)

    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = step(x)
        return step(x) if x > 5.0 else x

    assert float(f(tf.constant(1.0))) == 31.0
    assert float(f(tf.constant(-2.0))) == -9.0
    held = [call.function for call in plan_of(f, tf.constant(1.0)).calls if call.node and graphs_of(call.node)]
    inside = [types(part.plan) for each in held for part in each.parts]
    assert len(held) == 2
    assert not any("PartitionedCall" in each for each in inside)


def test_arguments_that_come_back_and_constants_are_what_they_were():
    @tf.function
    def some(x, y):
        return x, y, tf.constant(3.0), x, tf.shape(y)

    @tf.function
    def f(x):
        a, b, c, d, size = some(x, tf.constant([1.0, 2.0]))
        return a, b, c, d, tf.fill(size, c) + x

    made = f(tf.constant(5.0))
    assert [np.asarray(each).tolist() for each in made] == [5.0, [1.0, 2.0], 3.0, 5.0, [8.0, 8.0]]


def test_a_function_without_work_leaves_nothing_but_order():
    v = tf.Variable(1.0)
    nothing = tf.function(lambda x: None)

    @tf.function
    def f(x):
        v.assign_add(x)
        nothing(x)
        return v + 0.0

    assert [float(f(tf.constant(1.0))) for _ in range(3)] == [2.0, 3.0, 4.0]


@given(st.lists(st.sampled_from(["add", "double", "read", "set"]), min_size=1, max_size=8))
def test_variables_change_in_the_order_of_the_program(steps):
    v = tf.Variable(1.0)
    functions = {
        "add": tf.function(lambda: v.assign_add(1.0)),
        "double": tf.function(lambda: v.assign(v * 2.0)),
        "read": tf.function(lambda: v + 0.5),
        "set": tf.function(lambda: v.assign(3.0)),
    }

    @tf.function
    def f():
        seen = []
        for step in steps:
            functions[step]()
            seen.append(v * 1.0)
            v.assign_add(0.25)
        return seen

    value, expected = 1.0, []
    for step in steps:
        value = {"add": value + 1.0, "double": value * 2.0, "read": value, "set": 3.0}[step]
        expected.append(value)
        value += 0.25
    assert [float(each) for each in f()] == expected
    assert float(v) == value


def test_the_same_operations_on_two_devices_stay_a_call():
    x = tf.constant([1.0, -2.0])
    inner = plan_of(scaled, x, x)
    device = tf.config.list_logical_devices("GPU")[1]
    elsewhere = replace(inner, assignments={n: replace(a, device=device) for n, a in inner.assignments.items()})
    node = Mock(args=([None, None], []), attrs={}, op_def=Mock(traits=frozenset()))
    calls = []
    for slot, each in ((1, inner), (2, elsewhere), (3, inner)):
        function = FunctionCall(node, [Part(each, emit(each).function, [])])
        calls.append(Call(function, [Slot(0), Slot(0)], [slot], device, node, takes_run=True, single=False))
    plan = Plan(calls, [0], [Slot(1), Slot(2), Slot(3)], 4, {node: None})
    made = inline_calls(plan)
    assert [isinstance(call.function, FunctionCall) for call in made.calls] == [False, False, True, False, False]
    results = emit(made).function(None, torch.tensor([1.0, -2.0]))
    assert [each.tolist() for each in results] == [[1.0, 4.0]] * 3


def test_a_value_is_copied_to_a_device_once():
    def both(x):
        with tf.device("/gpu:1"):
            return scaled(x, x) + scaled(x, x)

    with tf.device("/gpu:0"):
        x = tf.constant([1.0, -2.0])
    f = tf.function(both)
    assert sum(call.copies is not None for call in plan_of(f, x).calls) == 1
    np.testing.assert_array_equal(f(x), [2.0, 8.0])


def test_memory_is_reused_across_the_border_of_a_function():
    f = tf.function(lambda x, w: scaled(tf.matmul(x, w), 2.0) + 1.0)
    plan = plan_of(f, tf.ones([4, 4]), tf.ones([4, 4]))
    assert [call.overwrites is not None for call in plan.calls if call.node is not None] == [False, True, True, True]
    np.testing.assert_array_equal(f(tf.ones([4, 4]), tf.ones([4, 4])), np.full([4, 4], 9.0))


def test_what_a_caller_holds_is_not_overwritten_by_a_function():
    plus = tf.function(lambda x: x + 1.0)

    @tf.function
    def f(x):
        made = x * 2.0
        return made, plus(made), plus(x)

    x = tf.constant([1.0])
    assert [float(each[0]) for each in f(x)] == [2.0, 3.0, 2.0]
    assert float(x[0]) == 1.0


def test_gradients_go_through():
    w = tf.Variable([1.0, -2.0])
    inner = tf.function(lambda x: tf.reduce_sum(tf.nn.relu(x * w) ** 2))

    @tf.function
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = inner(x)
        return tape.gradient(value, [x, w])

    grads = f(tf.constant([3.0, 4.0]))
    assert [np.asarray(each).tolist() for each in grads] == [[6.0, 0.0], [18.0, 0.0]]


def test_an_error_names_the_operation_inside():
    inner = tf.function(lambda x: tf.debugging.check_numerics(x / 0.0, "found") + 1.0)
    f = tf.function(lambda x: inner(x) * 2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="CheckNumerics"):
        f(tf.constant(1.0))


def test_a_session_runs_them_side_by_side():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [300, 300])
        parts = []
        for number in range(3):
            with v1.device(f"/gpu:{number}"):
                parts.append(tf.function(lambda v, n=number: tf.matmul(v, v) * float(n + 1))(x))
        total = v1.add_n(parts)
        value = np.random.default_rng(0).normal(size=[300, 300]).astype(np.float32)
        np.testing.assert_allclose(session.run(total, {x: value}), 6.0 * (value @ value), rtol=1e-3, atol=1e-3)
        program = session._prepare(total, {x: None}).program
        assert "PartitionedCall" not in types(program.plan)
        assert program.schedule is not None


def test_what_a_function_does_in_a_session_happens_in_its_order():
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.get_variable("v", initializer=1.0, use_resource=True)
        slow = v1.ones([300, 300])
        seen = []

        @tf.function
        def change(x):
            v.assign(2.0)
            v1.py_func(lambda value: seen.append(float(value)), [v + 0.0 * tf.reduce_sum(tf.matmul(x, x))], [])
            v.assign(3.0)
            tf.numpy_function(lambda value: seen.append(float(value)), [v + 0.0], [])
            v.assign(4.0)
            return v + 0.0

        made = change(slow)
        session.run(v1.global_variables_initializer())
        assert [session.run(made) for _ in range(5)] == [4.0] * 5
        assert seen == [2.0, 3.0] * 5


def test_each_call_of_a_function_draws_its_own_numbers():
    draw = tf.function(lambda: tf.random.uniform([2], seed=3))
    f = tf.function(lambda: (draw(), draw()))
    tf.random.set_seed(1)
    first, again = f(), f()
    assert "PartitionedCall" not in types(plan_of(f))
    tf.random.set_seed(1)
    np.testing.assert_array_equal(np.stack(f()), np.stack(first))
    assert len({float(each[0]) for each in (*first, *again)}) in (2, 4)  # calls may draw alike, but none again
    assert float(first[0][0]) != float(again[0][0])
