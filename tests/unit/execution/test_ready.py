"""Which calls are ready, and who makes them; the order of calls that run side by side."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.runtime.plan.plan import slots_in
from situs._src.runtime.plan.ready import BLOCKING, CHEAP, SLOW, Ready, rounds
from situs._src.runtime.run.threads import Pool, schedule


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
    found = schedule(plan, pool).rounds()
    pool.close()
    assert sorted(np.concatenate(found).tolist()) == list(range(len(plan.calls)))
    made = set(plan.inputs)
    for together in found:
        for number in together:
            assert made.issuperset(slots_in(plan.calls[number].inputs))
        for number in together:
            made.update(plan.calls[number].outputs)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_products_run_side_by_side_as_far_as_there_are_threads(plan, threads):
    pool = Pool(threads)
    found = schedule(plan, pool).rounds()
    pool.close()
    products = [sum(plan.calls[n].node.type == "MatMul" for n in together) for together in found]
    assert max(products) == threads


# The rules, with nothing behind them.


@st.composite
def graphs(draw):
    """Kinds of calls, and for each the earlier calls that it waits for."""
    kinds = draw(st.lists(st.sampled_from([CHEAP, SLOW, BLOCKING]), min_size=1, max_size=25))
    waits = [draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set() for number in range(len(kinds))]
    return kinds, waits


@given(graphs(), st.integers(1, 5))
def test_every_graph_is_worked_through_once_and_in_order(graph, threads):
    kinds, waits = graph
    made = rounds(Ready(kinds, waits), threads)
    over: set[int] = set()
    for together in made:
        assert all(waits[number] <= over for number in together)
        assert len(together) <= threads
        assert len(together) == 1 or all(kinds[number] != CHEAP for number in together)
        over.update(together)
    assert sorted(number for together in made for number in together) == list(range(len(kinds)))


@given(graphs(), st.randoms())
def test_any_threads_that_go_by_the_rules_make_every_call_once(graph, random):
    """Work is taken in any order, as threads do; a blocking call is a piece of its own."""
    kinds, waits = graph
    ready = Ready(kinds, waits)
    pieces, made = ready.first(), []
    while pieces:
        todo = deque(pieces.pop(random.randrange(len(pieces))))
        assert len(todo) == 1 or all(kinds[number] == CHEAP for number in todo)
        while todo:
            number = todo.popleft()
            assert waits[number] <= set(made)
            made.append(number)
            pieces += ready.go_on(todo, ready.end(number))
            assert all(kinds[other] != BLOCKING for other in todo)
    assert sorted(made) == list(range(len(kinds)))
    assert ready.left == 0


def test_a_run_leaves_the_next_one_as_it_was():
    first = Ready([SLOW, CHEAP], [set(), {0}])
    other = first.again()
    assert other.end(0) == [1]
    assert (first.waits, first.left) == ([0, 1], 2)
    assert first.first() == [[0]]
