"""Calls side by side: order, failure, freeing."""

from __future__ import annotations

import threading
import time
import weakref

import numpy as np
import pytest
import torch

import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
from situs._src.runtime.eager.torch_private import kernel_threads
from situs._src.runtime.run import threads
from situs._src.runtime.run.state import Run, State
from situs._src.runtime.run.threads import Pool, schedule
from tests.conftest import STUCK


@pytest.fixture
def sess():
    config = tf.ConfigProto(inter_op_parallelism_threads=4, use_per_session_threads=True)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        yield session


def function(call, *inputs, name=None, dtype=tf.float64):
    return py_func(call, list(inputs), dtype, name=name)


def program_of(sess, fetches):
    return sess._prepare(fetches, {}).program


def test_independent_functions_meet(sess):
    """Each waits until all have begun: in one thread this would never end."""
    barrier = threading.Barrier(4, timeout=STUCK)

    def meet(x):
        barrier.wait()
        return x

    made = [function(meet, tf.constant(float(i), tf.float64)) for i in range(4)]
    assert sess.run(made) == [0.0, 1.0, 2.0, 3.0]
    assert program_of(sess, made).schedule is not None


def test_a_chain_is_not_scheduled(sess):
    x = tf.constant(1.0, tf.float64)
    for _ in range(5):
        x = function(lambda v: v + 1.0, x)
    assert program_of(sess, x).schedule is None
    assert sess.run(x) == 6.0


def test_small_arithmetic_is_not_scheduled(sess):
    c = tf.constant(np.ones((8, 8), np.float32))
    assert program_of(sess, tf.add_n([tf.matmul(c, c) for _ in range(4)])).schedule is None


def test_without_a_pool_nothing_is_scheduled():
    with tf.Graph().as_default():
        made = [function(lambda: 1.0) for _ in range(3)]
        sess = tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=-1))
        assert program_of(sess, made).schedule is None
        assert sess.run(made) == [1.0] * 3


def test_inputs_and_control_inputs_come_first(sess):
    order, lock, others = [], threading.Lock(), threading.Event()

    def note(name, after=None):
        def call(*values):
            assert after is None or after.wait(STUCK)
            with lock:
                order.append(name)
            return 1.0

        return call

    slow = function(note("slow", others))
    other = function(lambda: (note("other")(), others.set())[0])
    data = function(note("data"), slow)
    with tf.control_dependencies([slow]):
        waits = function(note("waits"))
        behind = tf.constant(1.0, tf.float64)
    by_constant = function(note("by constant"), behind)
    sess.run([data, waits, by_constant, other])
    assert order[0] == "other"
    assert order[1] == "slow"
    assert sorted(order[2:]) == ["by constant", "data", "waits"]


def test_assignments_wait_for_what_their_constants_wait_for(sess):
    """`5.0` is made under the dependency, the assignment takes it: that is how it waits."""
    v = tf.Variable(0.0)
    sess.run(v.initializer)
    read = threading.Event()
    slow, other = function(lambda: float(read.wait(STUCK))), function(lambda: 2.0)
    with tf.control_dependencies([slow]):
        late = v.assign(5.0)
    seen = []
    early = function(lambda x: seen.append(float(sess.run(v))) or read.set() or x, other)
    sess.run([late, early])
    assert seen == [0.0]
    assert sess.run(v) == 5.0


def test_the_first_failure_ends_the_run(sess):
    began = []

    def fail(x):
        raise ValueError("first")

    def note(x):
        began.append(x)
        return x

    bad = function(fail, tf.constant(1.0, tf.float64), name="bad")
    slow = function(lambda x: time.sleep(0.2) or x, tf.constant(1.0, tf.float64))
    never = function(note, slow + bad)
    with pytest.raises(tf.errors.InvalidArgumentError, match="first") as caught:
        sess.run([never, slow])
    assert caught.value.op.name == "bad"
    assert began == []
    assert sess.run(slow) == 1.0


def test_no_call_is_made_with_values_that_a_failed_run_has_let_go_of(sess, monkeypatch):
    seen, x = [], tf.placeholder(tf.float64, [])
    made = [function(lambda v: v, x * 2.0) for _ in range(2)]
    running = threads._Running(sess._prepare(made, {x: 1.0}).program.schedule, Run(State()), [None], None)
    number, call = next((n, c) for n, c in enumerate(running.schedule.plan.calls) if c.node is made[0].op)
    call.function = lambda *values: seen.append(values)

    def fails_meanwhile(source, values):
        running._fail(ValueError("another call"))
        return [None]  # what is left of its value

    monkeypatch.setattr(threads, "value_of", fails_meanwhile)
    assert running._call(number) == []
    assert seen == []
    assert str(running.error) == "another call"


def test_many_runs_share_one_pool(sess):
    made = [function(lambda x: x + 1.0, tf.constant(float(i), tf.float64)) for i in range(4)]
    results = []

    def run():
        for _ in range(20):
            results.append(sess.run(made))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[1.0, 2.0, 3.0, 4.0]] * 160


def test_values_are_freed_when_nobody_needs_them(sess):
    alive, counts, lock = [], [], threading.Lock()

    def grow(*values):
        made = np.ones(1000)
        with lock:
            alive.append(weakref.ref(made))
            counts.append(sum(ref() is not None for ref in alive))
        return made

    ends = []
    for _ in range(2):
        x = function(grow)
        for _ in range(20):
            x = function(grow, x)
        ends.append(tf.reduce_sum(x))
    assert sess.run(ends) == [1000.0, 1000.0]
    assert program_of(sess, ends).schedule is not None
    assert max(counts) <= 8


def test_large_products_may_overlap():
    with tf.Graph().as_default(), tf.Session() as sess:
        c = tf.constant(np.ones((300, 300), np.float32))
        with tf.device("/cpu:0"):
            products = [tf.matmul(c, c) for _ in range(2)]
        plan = program_of(sess, products).plan
        assert schedule(plan, Pool(2)) is not None
        assert all(np.all(made == 300.0) for made in sess.run(products))


@pytest.fixture
def four_cores():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("four_cores")
def test_calls_that_overlap_share_the_cores():
    with tf.Graph().as_default(), tf.Session() as sess, tf.device("/cpu:0"):
        c = tf.constant(np.ones((300, 300), np.float32))
        two = [tf.matmul(c, c) for _ in range(2)]
        last = tf.matmul(tf.add(*two), c)
        plan = program_of(sess, last).plan
        shares = schedule(plan, Pool()).shares
    named = {plan.calls[number].node.name: share for number, share in shares.items()}
    assert named == {two[0].op.name: 2, two[1].op.name: 2, last.op.name: 4}


@pytest.mark.usefixtures("four_cores")
def test_kernels_of_one_thread_alone_use_fewer_threads():
    found = []

    def look(*counts):
        for count in counts:
            threads._use_threads(count)
            found.append(torch.get_num_threads())

    for counts in [(1, 3, 8), ()]:  # never more than there are
        thread = threading.Thread(target=look, args=counts)
        thread.start()
        thread.join()
    assert found == [1, 3, 4]
    assert torch.get_num_threads() == 4
    later = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert later == [4]


def test_another_openmp_is_left_alone(monkeypatch):
    monkeypatch.setattr("situs._src.runtime.eager.torch_private._openmp_threads", lambda: None)
    before = torch.get_num_threads()
    kernel_threads(1)
    assert torch.get_num_threads() == before
