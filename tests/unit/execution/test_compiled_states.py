"""Variables in compiled regions: read and changed there, in their own memory, and never seen half done.

The stand-in for the compiler runs the graph that was traced, which writes into memory as compiled code does. One test
compiles.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as tf1
from situs._src.runtime.run import compiled, compiled_region, inductor
from situs._src.runtime.run.compiled_region import moved_apart

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _on_cpu(fast, monkeypatch):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.delenv("SITUS_COMPILE", raising=False)
    with tf.device("/cpu:0"):
        yield


class StandIn:
    """Runs traced graphs, and fails when it is told to."""

    def __init__(self):
        self.graphs = []
        self.calls = 0
        self.fails = False

    def compile(self, traced, exact=False):
        self.graphs.append(traced)

        def run(values):
            self.calls += 1
            made = traced.graph(*values)
            if self.fails:
                raise RuntimeError("broken")
            return made

        return run


@pytest.fixture
def stand_in(monkeypatch):
    found = StandIn()
    monkeypatch.setattr(inductor, "compiled", found.compile)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    return found


def ways(function):
    return {each.op: each.runs_as for each in tf.explain(function)}


def both_ways(make, runs=7):
    """What a function of no arguments makes, uncompiled and compiled; `make` gives it, and the variables to look at."""
    found = []
    for jit_compile in (None, True):
        step, variables = make(jit_compile)
        made = [[np.array(each) for each in tf.nest.flatten(step())] for _ in range(runs)]
        found.append((made, [variable.numpy() for variable in variables]))
    (usual, before), (new, after) = found
    for one, other in zip([*usual, before], [*new, after], strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=2e-5, atol=1e-6)


# What is inside.

OPTIMIZERS = {
    "sgd": lambda: tf.keras.optimizers.SGD(0.1),
    "momentum": lambda: tf.keras.optimizers.SGD(0.1, 0.9, nesterov=True),
    "adam": lambda: tf.keras.optimizers.Adam(0.01),
    "amsgrad": lambda: tf.keras.optimizers.Adam(0.01, amsgrad=True),
    "adamw": lambda: tf.keras.optimizers.AdamW(0.01, weight_decay=0.1),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(0.01, momentum=0.9, centered=True),
    "ftrl": lambda: tf.keras.optimizers.Ftrl(0.1),
    "v1 adam": lambda: tf1.train.AdamOptimizer(0.01),
}


def training(optimizer, jit_compile):
    v, w = tf.Variable(X.T @ X), tf.Variable(np.ones(4, np.float32))
    chosen = OPTIMIZERS[optimizer]()

    @tf.function(jit_compile=jit_compile)
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(tf.constant(X) @ v) * w - X) ** 2)
        chosen.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w], strict=True))
        return loss

    return step, [v, w]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_of_training_is_one_region(stand_in, optimizer):
    both_ways(lambda jit_compile: training(optimizer, jit_compile))
    step, _ = training(optimizer, True)
    for _ in range(3):
        step()
    found = ways(step)
    updates = [way for op, way in found.items() if op.startswith("Apply")]
    assert updates
    assert all(way.startswith("compiled region 1 ") for way in updates)


def test_a_change_is_written_into_the_memory_of_the_variable(stand_in):
    v = tf.Variable(np.ones([4], np.float32))

    @tf.function(jit_compile=True)
    def step():
        v.assign_add(tf.tanh(v) * 0.5)

    for _ in range(4):
        step()
    memory = v._cell.value.data_ptr()
    for _ in range(3):
        step()
    assert v._cell.value.data_ptr() == memory
    assert stand_in.graphs[0].changed


def test_a_value_that_somebody_holds_stays_as_it_was(stand_in):
    v = tf.Variable(np.ones([4], np.float32))

    @tf.function(jit_compile=True)
    def step():
        v.assign_add(tf.tanh(v) * 0.5)

    for _ in range(4):
        step()
    held, view = v.read_value(), v._cell.value[1:]
    before = held.numpy().copy()
    step()
    np.testing.assert_array_equal(held, before)
    np.testing.assert_array_equal(view.numpy(), before[1:])
    assert v.numpy()[0] > before[0]


# In which order.


def variables():
    return tf.Variable([0.5, -1.0, 2.0]), tf.Variable([1.0, 0.25, -0.5])


def old_value_after_a_change(a, b):
    old = a.read_value()
    a.assign_add(tf.tanh(b) * 0.5)
    return old * 2.0, a * 3.0, old


def two_changes(a, b):
    a.assign_add(b * 0.5)
    between = a * 2.0
    a.assign_sub(b * 0.25)
    return between, a + 0.0


def what_is_returned_is_the_variable(a, b):
    return a.assign_add(tf.tanh(b) * 0.5), b * 1.0


def an_exchange(a, b):
    one, other = a.read_value(), b.read_value()
    a.assign(other)
    b.assign(one)
    return a + b, a - b


def a_change_of_one_by_the_other(a, b):
    b.assign_add(a * 0.5)
    a.assign(tf.tanh(b))
    return a * 1.0


def something_that_looks_at_values_between(a, b):
    a.assign_add(tf.tanh(b) * 0.1)
    found = tf.unique(a + 1.0)[0]
    b.assign_sub(tf.reshape(found, [3]) * 0.1 + a)
    return a * b


def an_old_value_that_looks_at_values(a, b):
    found = tf.unique(a)[0]
    a.assign_add(tf.exp(-b) * 0.1)
    return tf.reduce_sum(found) + a


def a_branch_that_reads_it(a, b):
    a.assign_add(tf.tanh(b) * 0.1)
    c = tf.cond(tf.reduce_sum(a) > 0.0, lambda: a * 2.0, lambda: b * 3.0)
    a.assign_sub(tf.tanh(c) * 0.1)
    return c, a + 0.0


PROGRAMS = [
    old_value_after_a_change,
    two_changes,
    what_is_returned_is_the_variable,
    an_exchange,
    a_change_of_one_by_the_other,
    something_that_looks_at_values_between,
    an_old_value_that_looks_at_values,
    a_branch_that_reads_it,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_order_of_reading_and_changing_holds(stand_in, program):
    def make(jit_compile):
        found = variables()
        return tf.function(lambda: program(*found), jit_compile=jit_compile), found

    both_ways(make)


def test_sessions_change_variables_in_regions(stand_in):
    tf.config.optimizer.set_jit(True)
    with tf1.Graph().as_default(), tf1.device("/cpu:0"), tf1.Session() as session:
        v = tf1.Variable([1.0, 2.0])
        step = tf1.assign_sub(v, tf1.tanh(v) * 0.5)
        session.run(v.initializer)
        expected = np.array([1.0, 2.0])
        for _ in range(compiled.COMPILED_AFTER + 4):
            expected = expected - np.tanh(expected) * 0.5
            np.testing.assert_allclose(session.run(step), expected, rtol=1e-5)
        assert stand_in.calls
        session.run(v.initializer)
        np.testing.assert_allclose(session.run(step), np.array([1, 2]) - np.tanh([1, 2]) * 0.5, rtol=1e-5)


def test_a_variable_without_a_value_is_refused_as_before(stand_in):
    v = tf.Variable([1.0, 2.0])
    step = tf.function(lambda: v.assign_sub(tf.tanh(v) * 0.5), jit_compile=True)
    for _ in range(4):
        step()
    v._cell.value = None
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        step()


# What fails.


def test_a_step_with_a_wrong_label_changes_what_it_would_have_changed(stand_in):
    def make(jit_compile):
        v, count = tf.Variable(np.ones([4, 3], np.float32)), tf.Variable(0)

        @tf.function(jit_compile=jit_compile)
        def step(labels):
            count.assign_add(1)
            with tf.GradientTape() as tape:
                scores = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.constant(X) @ v)
            v.assign_sub(0.1 * tape.gradient(scores, v))
            return scores

        return step, v, count

    (usual, v, _), (new, w, _) = make(None), make(True)
    good, bad = np.array([0, 1, 2]), np.array([0, 7, 2])
    for _ in range(5):
        usual(good), new(good)
    assert "compiled region" in ways(new)["SparseSoftmaxCrossEntropyWithLogits"]
    assert stand_in.graphs[0].refuses
    before = w.numpy().copy()
    for step in (usual, new):
        with pytest.raises(tf.errors.InvalidArgumentError, match="label value of 7"):
            step(bad)
    np.testing.assert_array_equal(w, before)
    np.testing.assert_allclose(new(good), usual(good), rtol=1e-5)
    np.testing.assert_allclose(w, v, rtol=1e-5)


def test_compiled_code_that_fails_after_it_may_have_changed_something_is_an_error(stand_in, caplog):
    v = tf.Variable(np.ones([4], np.float32))

    @tf.function(jit_compile=True)
    def step():
        v.assign_add(tf.tanh(v) * 0.5)

    for _ in range(4):
        step()
    stand_in.fails = True
    with pytest.raises(Exception, match="broken"):
        step()
    assert "compiled, it failed: RuntimeError: broken" in caplog.text
    stand_in.fails = False
    calls = stand_in.calls
    step()  # by its kernels from then on
    assert stand_in.calls == calls


def test_a_change_that_differs_is_dropped(stand_in, monkeypatch, caplog):
    """The gradient is 10 % off: a thousandth of the variable, which would pass if only the variable were looked at."""
    usual = stand_in.compile

    def compile_wrong(traced, exact=False):
        run = usual(traced, exact)

        def wrong(values):
            before = [values[place].clone() for place in traced.changed]
            made = run(list(values))
            for place, old in zip(traced.changed, before, strict=True):
                values[place].copy_(old + (values[place] - old) * 1.1)
            return made

        return wrong

    monkeypatch.setattr(inductor, "compiled", compile_wrong)
    v = tf.Variable(np.full([4], 100.0, np.float32))

    @tf.function(jit_compile=True)
    def step():
        v.assign_sub(tf.tanh(v) * 0.001 + 0.0001)

    for _ in range(4):
        step()
    assert "gave other results" in caplog.text
    np.testing.assert_allclose(v, 100.0 - 4 * 0.0011, rtol=1e-6)


def test_threads_may_train_at_once(stand_in):
    v = tf.Variable(np.zeros([4], np.float32))

    @tf.function(jit_compile=True)
    def step():
        v.assign_add(tf.ones([4]) * 2.0 / 2.0)

    step()

    def work():
        with tf.device("/cpu:0"):
            for _ in range(50):
                step()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(v, np.full(4, 201.0))


def test_how_far_variables_are_apart():
    old, usual, new = torch.tensor([100.0, 1.0]), torch.tensor([100.5, 1.0]), torch.tensor([100.25, 1.0])
    assert moved_apart(None, usual, new) == pytest.approx(0.25 / 100.5)
    assert moved_apart(old, usual, new) == pytest.approx(0.5, rel=1e-3)
    assert moved_apart(old, usual, usual + 1e-5) == 0.0  # less than float32 keeps beside 100
    assert moved_apart(old, old, new) == float("inf")
    assert moved_apart(torch.tensor([1]), torch.tensor([2]), torch.tensor([3])) == float("inf")


# With the compiler.


def test_a_step_of_training_with_fused_kernels_that_write_into_variables():
    lacking = inductor.missing(on_card=False)
    if lacking is not None:
        pytest.skip(f"nothing can be compiled here: this machine lacks {lacking}")
    from torch._inductor import config

    plain = {"cpp.simdlen": 1, "compile_threads": 1, "cpp_cache_precompile_headers": False}
    with config.patch(plain):
        both_ways(lambda jit_compile: training("adam", jit_compile), runs=6)
        step, (v, _) = training("adam", True)
        for _ in range(4):
            step()
        memory = v._cell.value.data_ptr()
        step()
        assert v._cell.value.data_ptr() == memory
        assert any(way.startswith("compiled region 1 ") for op, way in ways(step).items() if op.startswith("Apply"))
