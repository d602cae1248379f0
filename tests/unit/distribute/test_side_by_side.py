"""Replicas of a function run at the same time, and its effects happen as if they ran one after another."""

from __future__ import annotations

from tests.conftest import RunPython

BEGIN = """
import threading
import numpy as np
import situs as tf
from situs.extend import op

tf.config.threading.set_inter_op_parallelism_threads(2)
strategy = tf.distribute.MirroredStrategy()
meeting = threading.Barrier(2, timeout=60)
meet = op("Meet", "x: T -> y: T", T=frozenset({tf.float32}))
meet.shape(lambda x: x)
meet.work(lambda node: 10**9)


@meet.kernel("CPU", "GPU")
def wait_for_the_other(x):
    meeting.wait()  # which ends only if the other replica comes, too
    return x + 1
"""

TRAINING = (
    BEGIN
    + """
with strategy.scope():
    v = tf.Variable(1.0)
    w = tf.Variable(0.0)


def step(x):
    before = v * 1.0
    v.assign_add(meet(x))
    after = v * 1.0
    total = tf.distribute.get_replica_context().all_reduce("SUM", after)
    w.assign(meet(total))
    v.assign(w + before)
    return before, after, v + 0.0


def whole(x):
    return strategy.run(step, (x,))


outer = tf.function(lambda x: tf.function(whole)(x))  # as Keras' fit has it
for function in (tf.function(whole), outer):
    v.assign(1.0)
    for _ in range(20):
        v0 = float(v)
        before, after, last = function(tf.constant(1.0))
        for number in range(2):
            assert float(before.values[number]) == v0
            assert float(after.values[number]) == v0 + 2
            assert float(last.values[number]) == 2 * (v0 + 2) + 1 + v0, (last, v0)
        v.assign(1.0)
print("done")
"""
)


def test_steps_that_change_variables_run_side_by_side(run_python: RunPython) -> None:
    assert run_python(TRAINING, SITUS_VIRTUAL_GPUS="2").strip() == "done"


def test_a_step_that_fails_names_its_replica_and_can_be_run_again(run_python: RunPython) -> None:
    program = (
        BEGIN
        + """
with strategy.scope():
    v = tf.Variable(0.0)


@tf.function
def function(x):
    def step(x):
        y = meet(x)
        tf.debugging.assert_positive(y)
        v.assign_add(y)
        return y

    return strategy.run(step, (x,))


good = strategy.experimental_distribute_values_from_function(lambda each: tf.constant(1.0))
bad = strategy.experimental_distribute_values_from_function(
    lambda each: tf.constant([1.0, -9.0][each.replica_id_in_sync_group])
)
for given in (good, bad, good):
    meeting.reset()
    try:
        print([float(each) for each in function(given).values])
    except tf.errors.InvalidArgumentError as error:
        print("replica_1" in str(error), threading.active_count() < 10)
"""
    )
    printed = run_python(program, SITUS_VIRTUAL_GPUS="2").splitlines()
    assert printed[0] == "[2.0, 2.0]"
    assert printed[1] == "True True"
