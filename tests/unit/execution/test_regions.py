"""Which calls of a plan can be compiled together, in which order they then run, and why the others cannot."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.runtime.passes import regions
from situs._src.runtime.passes.regions import Region, Seen, divide, size_slots
from situs._src.runtime.run.emit import as_host_value, emit
from situs._src.runtime.run.state import Run, State


@pytest.fixture(autouse=True)
def _on_cpu(fast):
    with tf.device("/cpu:0"):
        yield


def plan_of(function, *args):
    """The plan of a function, and what a run of it shows."""
    tensors = [tf.constant(arg) for arg in args]
    concrete = tf.function(function).get_concrete_function(*tensors)
    plan = concrete.ready(tensors)._program.plan
    seen = Seen(plan, as_host_value)
    values = [tensor._value for tensor in tensors]
    seen.note(plan.inputs, values)
    emit(plan, seen.around).function(Run(State()), *values)
    return plan, seen


def types(step):
    if isinstance(step, Region):
        return [each for each in map(types, step.calls) if each != "Identity"]
    return "read" if step.node is None else step.node.type


def steps_of(function, *args):
    plan, seen = plan_of(function, *args)
    return [types(step) for step in divide(plan, seen).steps]


def reasons_of(function, *args):
    plan, seen = plan_of(function, *args)
    return {call.node.type: reason for call, reason in divide(plan, seen).reasons.items() if call.node is not None}


X = np.array([1.0, 2.0, 3.0], np.float32)


def test_pure_calls_are_one_region():
    assert steps_of(lambda x: tf.exp(x * 2.0) + x, X) == [["Mul", "Exp", "AddV2"]]


def test_a_region_says_what_it_takes_and_what_others_use_of_it():
    plan, seen = plan_of(lambda x: (tf.exp(x * 2.0), x * 2.0 + np.arange(30.0, dtype=np.float32)[:, None]), X)
    (region,) = divide(plan, seen).regions
    assert [type(source).__name__ for source in region.sources] == ["Slot", "Literal"]  # the 2.0 is part of the code
    assert region.sources[0].number == plan.inputs[0]
    assert region.kept == [plan.outputs[0].number, plan.outputs[1].number]


def test_what_draws_random_numbers_is_outside_and_parts_nothing():
    def f(x):
        return tf.exp(x) * tf.random.uniform([3]) + 1.0

    assert steps_of(f, X) == ["RandomUniform", ["Exp", "Mul", "AddV2"]]
    assert reasons_of(f, X) == {"RandomUniform": "draws random numbers"}
    assert reasons_of(lambda x: x + tf.random.stateless_uniform([3], [1, 2]), X)["StatelessRandomUniform"] == (
        "draws random numbers"
    )


def test_variables_are_read_and_changed_in_a_region_in_the_order_of_the_plan():
    v = tf.Variable(X)

    def f(x):
        old = v * x
        v.assign_add(old)
        return tf.exp(old) + x, v * 2.0

    plan, seen = plan_of(f, X)
    (region,) = divide(plan, seen).regions
    assert types(region) == ["read", "Mul", "AssignAdd", "Exp", "AddV2", "read", "Mul"]
    (state,) = region.changed
    assert [region.key(source) for source in region.sources].count(state) == 1
    assert len(region.kept) == 2


def test_a_change_stays_outside_where_somebody_else_takes_the_old_value():
    v = tf.Variable(X)

    def f(x):
        old = tf.strings.as_string(v)
        v.assign_add(tf.exp(x) * 2.0)
        return old, tf.tanh(x) + 1.0

    order = steps_of(f, X)
    assert reasons_of(f, X)["AssignAdd"] == "changes a variable whose old value is used elsewhere"
    assert order.index("read") < order.index("AsString") < order.index("AssignAdd")
    assert any(isinstance(step, list) and "Exp" in step for step in order[: order.index("AssignAdd")])


def test_a_value_that_is_used_after_the_change_keeps_the_change_outside():
    v = tf.Variable(X)

    def f(x):
        old = v.read_value()
        v.assign_add(tf.exp(x) * 2.0)
        return old * 2.0 + 1.0

    assert reasons_of(f, X)["AssignAdd"] == "changes a variable whose old value is used elsewhere"


def test_what_is_read_is_read_again_in_each_region_that_takes_it(monkeypatch):
    v = tf.Variable(X)

    def f(x):
        for _ in range(4):
            x = tf.tanh(x) * v
        v.assign_sub(x)
        return x

    monkeypatch.setattr(regions, "LONGEST", 3)
    plan, seen = plan_of(f, X)
    found = divide(plan, seen).regions
    assert len(found) == 3
    assert [types(region).count("read") for region in found] == [1, 1, 1]
    assert [len(region.changed) for region in found] == [0, 0, 1]
    reading = next(call for call in plan.calls if call.reads is not None)
    assert not any(set(reading.outputs) & set(region.kept) for region in found)


def test_readings_of_variables_that_nobody_changes_are_outside():
    v = tf.Variable(X)
    assert steps_of(lambda x: tf.exp(x * v) + 1.0, X)[-2:] == ["read", ["Mul", "Exp", "AddV2"]]


def test_calls_that_are_refused_part_a_region():
    plan, seen = plan_of(lambda x: tf.tanh(tf.exp(x) + 1.0) * 2.0 + 1.0, X)
    refused = next(call for call in plan.calls if call.node.type == "Tanh")
    division = divide(plan, seen, {refused: "a reason"})
    assert [types(step) for step in division.steps] == [["Exp", "AddV2"], "Tanh", ["Mul", "AddV2"]]
    assert division.reasons == {refused: "a reason"}


def test_a_call_alone_is_no_region():
    assert steps_of(lambda x: x + 1.0, X) == ["AddV2"]
    assert reasons_of(lambda x: x + 1.0, X) == {"AddV2": "nothing beside it to be compiled with"}


def test_long_regions_are_cut(monkeypatch):
    def f(x):
        for _ in range(7):
            x = tf.tanh(x)
        return x

    monkeypatch.setattr(regions, "LONGEST", 3)
    assert [len(step) for step in steps_of(f, X) if isinstance(step, list)] == [3, 3]


def test_strings_are_outside():
    def f(x):
        return tf.strings.as_string(x * 2.0 + 1.0)

    assert steps_of(f, X) == [["Mul", "AddV2"], "AsString"]
    assert reasons_of(f, X) == {"AsString": "takes or makes what is not a dense tensor"}


def test_branches_and_loops_are_outside():
    def f(x):
        y = tf.exp(x) + 1.0
        return tf.cond(tf.reduce_sum(y) > 0, lambda: y * 2.0, lambda: y) + y

    assert "a branch, a loop or a function that is called" in reasons_of(f, X).values()


def test_values_on_the_host_are_not_guessed():
    def f(x, n):
        return tf.reshape(x * 2.0, [n, 1]) + 1.0

    assert reasons_of(f, X, np.int32(3))["Reshape"] == "needs a value on the host"


def test_sizes_are_known_from_shapes():
    """Where a size lies on the host, the calls that take it are compiled for what it was."""

    def f(x, n):
        return tf.reshape(tf.exp(x), n) + 1.0

    tensors = [tf.constant(X), tf.constant(3)]
    plan, seen = plan_of(f, X, np.int32(3))
    assert size_slots(plan) == set()
    slot = next(call.inputs[1].number for call in plan.calls if call.node.type == "Reshape")
    seen.sizes[slot] = 3
    (region,) = divide(plan, seen).regions
    assert [call.node.type for call in region.calls] == ["Exp", "Reshape", "AddV2"]
    assert region.sizes == [slot]
    assert len(region.sources) == len(tensors) - 1


def test_sizes_on_the_host_are_constants_of_a_region():
    """What is computed from the shape of an argument parts no region: that is compiled for what it was."""
    function = tf.function(
        lambda x: tf.reshape(tf.tanh(x) * 2.0, [tf.shape(x)[0] * 2, -1]) + 1.0,
        input_signature=[tf.TensorSpec([None, 4], tf.float32)],
    )
    tensors = [tf.ones([3, 4])]
    plan = function.get_concrete_function().ready(tensors)._program.plan
    seen = Seen(plan, as_host_value)
    seen.note(plan.inputs, [tensor._value for tensor in tensors])
    emit(plan, seen.around).function(Run(State()), *[tensor._value for tensor in tensors])
    division = divide(plan, seen)
    (region,) = division.regions
    assert types(region) == ["Tanh", "Mul", "Reshape", "AddV2"]
    assert [seen.sizes[slot] for slot in region.sizes] == [6]
    assert {division.reasons[call] for call in division.reasons} == {"computes sizes on the host"}


def test_sizes_that_nobody_needs_as_numbers_are_in_the_region():
    def f(x):
        loss = tf.tanh(x) * 2.0
        return tf.reduce_sum(loss) / tf.cast(tf.size(loss), tf.float32)

    function = tf.function(f, input_signature=[tf.TensorSpec([None], tf.float32)])
    tensors = [tf.constant(X)]
    plan = function.get_concrete_function().ready(tensors)._program.plan
    assert size_slots(plan) == set()
    seen = Seen(plan, as_host_value)
    seen.note(plan.inputs, [tensor._value for tensor in tensors])
    emit(plan, seen.around).function(Run(State()), *[tensor._value for tensor in tensors])
    (region,) = divide(plan, seen).steps
    assert types(region) == ["Tanh", "Mul", "Sum", "Size", "Cast", "RealDiv"]


def test_counters_alone_are_no_region():
    """To compile them takes seconds and wins nothing."""
    count = np.array([1, 2], np.int32)
    assert steps_of(lambda n: (n + 1) * 2 - n, count) == ["AddV2", "Mul", "Sub"]
    assert steps_of(lambda n: tf.cast((n + 1) * 2, tf.float32), count) == [["AddV2", "Mul", "Cast"]]
    many = np.arange(100, dtype=np.int32)
    assert steps_of(lambda n: (n + 1) * 2 - n, many) == [["AddV2", "Mul", "Sub"]]


def test_tests_for_nan_and_infinity_are_in_regions():
    steps = steps_of(lambda x: [tf.cast(f(x * 2.0), tf.int32) for f in (tf.math.is_nan, tf.math.is_inf)], X)
    assert [sorted(step) for step in steps] == [["Cast", "Cast", "IsInf", "IsNan", "Mul", "Mul"]]


def test_virtual_gpus_are_never_compiled():
    def f(x):
        with tf.device("/gpu:0"):
            y = tf.exp(x) + 1.0
        with tf.device("/cpu:0"):
            return tf.tanh(y) * 2.0

    plan, seen = plan_of(f, X)
    division = divide(plan, seen)
    assert [types(step) for step in division.steps][-1] == ["Tanh", "Mul"]
    by_type = {call.node.type: reason for call, reason in division.reasons.items() if call.node is not None}
    assert by_type == dict.fromkeys(["Exp", "AddV2"], "on a virtual GPU, whose ledger counts every result")


def test_functions_that_are_not_to_be_compiled_stay_outside():
    inner = tf.function(lambda x: tf.exp(x) * 2.0, jit_compile=False)
    reasons = reasons_of(lambda x: inner(x) + x + x, X)
    assert reasons == dict.fromkeys(["Exp", "Mul"], "in a function with jit_compile=False")
