"""`runtime.plan.effects`: which calls of a plan have to wait for the effects of others."""

from __future__ import annotations

from typing import Any

import situs as tf
from situs._src.runtime.plan.effects import in_order
from situs._src.runtime.plan.plan import Plan, makers, waits_for


def plan_of(function: Any, *args: Any) -> Plan:
    """The plan of a function that has been called."""
    function(*args)
    (ready,) = function.get_concrete_function(*args)._programs.values()
    plan: Plan = ready._program.plan
    return plan


def comes_after(plan: Plan, later: int, earlier: int) -> bool:
    """Whether a call waits for another one, directly or not."""
    maker = makers(plan.calls)
    before = [waits_for(call, maker) | more for call, more in zip(plan.calls, in_order(plan), strict=True)]
    queue = [later]
    for number in queue:
        queue += before[number] - set(queue)
    return earlier in queue


def numbers(plan: Plan, kind: str, device: str = "") -> list[int]:
    """The calls of operations of a type."""
    return [
        number
        for number, call in enumerate(plan.calls)
        if call.node is not None and call.node.type == kind and call.device.short_name.startswith(device)
    ]


def reads(plan: Plan) -> list[int]:
    return [number for number, call in enumerate(plan.calls) if call.reads is not None]


def test_reads_and_changes_of_a_variable_stay_in_order() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def function() -> Any:
        first = v * 2.0
        v.assign_add([1.0, 1.0])
        second = v * 3.0
        v.assign_sub([5.0, 5.0])
        return first, second

    plan = plan_of(function)
    (add,), (sub,) = numbers(plan, "AssignAdd"), numbers(plan, "AssignSub")
    first, second = reads(plan)
    assert comes_after(plan, add, first)
    assert comes_after(plan, second, add)
    assert comes_after(plan, sub, second)


def test_variables_of_two_devices_have_nothing_to_do_with_each_other() -> None:
    variables = []
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            variables.append(tf.Variable([1.0]))

    @tf.function
    def function() -> None:
        for number, variable in enumerate(variables):
            with tf.device(f"/gpu:{number}"):
                variable.assign_add(variable * 2.0)

    plan = plan_of(function)
    first, second = numbers(plan, "AssignAdd")
    assert not comes_after(plan, second, first)


def test_what_may_do_anything_comes_between() -> None:
    v, w = tf.Variable([1.0]), tf.Variable([1.0])

    @tf.function
    def function() -> Any:
        v.assign_add([1.0])
        seen = tf.py_function(lambda: w, [], tf.float32)
        w.assign_add([1.0])
        return seen

    plan = plan_of(function)
    first, second = numbers(plan, "AssignAdd")
    (call,) = numbers(plan, "EagerPyFunc")
    assert comes_after(plan, call, first)
    assert comes_after(plan, second, call)


def test_draws_of_a_device_follow_each_other() -> None:
    @tf.function
    def function() -> Any:
        found = []
        for number in range(2):
            with tf.device(f"/gpu:{number}"):
                found += [tf.random.uniform([2]), tf.random.uniform([2])]
        return found

    plan = plan_of(function)
    on_first, on_second = numbers(plan, "RandomUniform", "GPU:0"), numbers(plan, "RandomUniform", "GPU:1")
    assert comes_after(plan, on_first[1], on_first[0])
    assert comes_after(plan, on_second[1], on_second[0])
    assert not comes_after(plan, on_second[0], on_first[1])
