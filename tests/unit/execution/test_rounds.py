"""The order of calls that run side by side."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs.execution.parallel import Pool, schedule
from situs.execution.plan import slots_in
from situs.execution.rounds import rounds_of


@pytest.fixture
def plan():
    """Four products that have nothing to do with each other, each with a cheap call after it, and a sum."""
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [400, 400], name="x")
        parts = [tf.reduce_sum(tf.matmul(x, x * float(number))) for number in range(4)]
        return sess._prepare(tf.add_n(parts), {x: None}).program.plan


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_every_call_runs_once_after_what_it_needs(plan, threads):
    pool = Pool(threads)
    rounds = rounds_of(schedule(plan, pool))
    pool.close()
    assert sorted(np.concatenate(rounds).tolist()) == list(range(len(plan.calls)))
    made = set(plan.inputs)
    for together in rounds:
        for number in together:
            assert made.issuperset(slots_in(plan.calls[number].inputs))
        for number in together:
            made.update(plan.calls[number].outputs)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_products_run_side_by_side_as_far_as_there_are_threads(plan, threads):
    pool = Pool(threads)
    found = rounds_of(schedule(plan, pool))
    pool.close()
    products = [sum(plan.calls[n].node.type == "MatMul" for n in together) for together in found]
    assert max(products) == threads
