"""Branches, steps of loops and called functions are compiled as programs of their own, and change no result.

The compiler is a stand-in that runs the graph that was traced.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest

import situs as tf
from situs._src.runtime.run import compiled, compiled_region, inductor
from situs._src.runtime.run.compiled import MANY

X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(2, 5, 4)


@pytest.fixture(autouse=True)
def stand_in(fast, monkeypatch):
    class StandIn:
        regions = 0
        calls = 0

        def compile(self, traced, exact=False):
            self.regions += 1

            def run(values):
                self.calls += 1
                return traced.graph(*values)

            return run

    found = StandIn()
    monkeypatch.setattr(inductor, "compiled", found.compile)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.delenv("SITUS_COMPILE", raising=False)
    with tf.device("/cpu:0"):
        yield found


def weights():
    rng = np.random.RandomState(0)
    return [tf.Variable(rng.randn(8, 16).astype(np.float32) * 0.3), tf.Variable(tf.zeros([16]))]


def a_recurrent_network(w, b):
    def step(x):
        with tf.GradientTape() as tape:
            h, c = tf.zeros([2, 4]), tf.zeros([2, 4])
            outputs = tf.TensorArray(tf.float32, 5)
            for t in tf.range(5):
                i, f, g, o = tf.split(tf.concat([x[:, t], h], -1) @ w + b, 4, -1)
                c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
                h = tf.sigmoid(o) * tf.tanh(c)
                outputs = outputs.write(t, h)
            loss = tf.reduce_mean(outputs.stack() ** 2)
        for v, gradient in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(gradient)
        return loss

    return step


def branches(w, b):
    def step(x):
        y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.tanh(x) * 2.0 + 1.0, lambda: tf.exp(-x) - 1.0)
        w.assign(w * 0.9 + tf.reduce_mean(y))
        return y

    return step


def a_variable_that_a_loop_changes(w, b):
    def step(x):
        for _ in tf.range(3):
            b.assign_add(tf.reduce_mean(tf.tanh(w @ tf.ones([16, 16]) + tf.reduce_sum(x)), 0) * 0.1)
        return b * 2.0 + 1.0

    return step


def a_loop_in_a_branch(w, b):
    def summed(x):
        total = tf.zeros([2, 4])
        n = tf.constant(0)
        while n < 4 and tf.reduce_sum(total) < 100.0:
            total += tf.sin(x[:, n]) * 2.0
            n += 1
        return total

    return lambda x: tf.cond(tf.reduce_max(x) > 0.0, lambda: summed(x) + 1.0, lambda: x[:, 0])


def called_functions(w, b):
    inner = tf.function(lambda x: tf.tanh(x) * tf.reduce_mean(w) + 1.0)

    def step(x):
        total = x[:, 0]
        for _ in tf.range(3):
            total = inner(total)
        b.assign_add(tf.fill([16], tf.reduce_sum(total)))
        return total

    return step


PROGRAMS = [a_recurrent_network, branches, a_variable_that_a_loop_changes, a_loop_in_a_branch, called_functions]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_and_variables_are_the_same(stand_in, caplog, program):
    usual_variables, new_variables = weights(), weights()
    usual = tf.function(program(*usual_variables))
    new = tf.function(program(*new_variables), jit_compile=True)
    for number in range(6):
        x = X * (1 if number % 3 else -1) + 0.1
        np.testing.assert_allclose(new(x), usual(x), rtol=1e-5, atol=1e-6)
        for v, w in zip(usual_variables, new_variables, strict=True):
            np.testing.assert_allclose(v, w, rtol=1e-5, atol=1e-6)
    assert stand_in.calls
    assert "gave other results" not in caplog.text


def test_the_step_of_a_loop_is_a_region():
    @tf.function(jit_compile=True)
    def f(x):
        for _ in tf.range(4):
            x = tf.tanh(x) * 2.0 + tf.sin(x)
        return x

    for _ in range(4):
        f(X)
    ways = {each.op: each.runs_as for each in tf.explain(f)}
    assert ways["Tanh"] == ways["Sin"]
    assert ways["Tanh"].startswith("compiled region 1 (with ")
    assert ways["While"] == "kernel: a branch, a loop or a function that is called"


def test_a_branch_that_is_not_taken_is_not_compiled(stand_in):
    f = tf.function(
        lambda x: tf.cond(x[0] > 0.0, lambda: tf.tanh(x) * 2.0 + 1.0, lambda: tf.sin(x) * 3.0 - 1.0), jit_compile=True
    )
    for _ in range(5):
        f(np.ones(4, np.float32))
    ways = {each.op: each.runs_as for each in tf.explain(f)}
    assert ways["Tanh"].startswith("compiled region")
    assert ways["Sin"] == "kernel: compiled after 1 run, which have not been"


def test_wrong_values_in_a_loop_raise_the_same_error():
    v = tf.Variable(np.ones([4], np.float32))

    @tf.function(jit_compile=True)
    def f(indices):
        for n in tf.range(3):
            v.assign_add(tf.gather(tf.tanh(v) * 2.0, indices) + tf.cast(n, tf.float32))
        return v + 0.0

    good = np.array([0, 1, 2, 3])
    for _ in range(4):
        f(good)
    before = v.numpy().copy()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[3\] = 9 is not in \[0, 4\)"):
        f(np.array([0, 1, 2, 9]))
    np.testing.assert_array_equal(v, before)


def test_a_loop_alone_needs_a_compiler(monkeypatch):
    monkeypatch.setattr(inductor, "missing", lambda on_card: "a C++ compiler")

    @tf.function(jit_compile=True)
    def f(x):
        for _ in tf.range(4):
            x = tf.tanh(x) * 2.0 + tf.sin(x)
        return x

    with pytest.raises(tf.errors.NotFoundError, match=r"lacks a C\+\+ compiler"):
        f(X)


# What else a program may do.


def test_variables_that_change_by_a_constant_are_in_the_region(stand_in):
    count, total = tf.Variable(0), tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x):
        count.assign_add(1)
        total.assign(2.0)
        total.assign_add(tf.reduce_sum(tf.tanh(x)))
        return tf.cast(count % 3, tf.float32) * total

    for number in range(1, 7):
        np.testing.assert_allclose(f(X), number % 3 * (2 + np.tanh(X).sum()), rtol=1e-5, atol=1e-5)
    changes = [each.runs_as for each in tf.explain(f) if each.op.startswith("Assign")]
    assert len(changes) == 3
    assert all(way.startswith("compiled region 1 (with ") for way in changes)


def test_what_another_thread_changes_meanwhile_is_no_difference(monkeypatch, caplog):
    """A thread that trains the same variables may write into them while a region is compared."""
    usual = compiled._alone
    v = tf.Variable(np.ones([4], np.float32))
    disturbed = []

    def disturbing(region, plan):
        run = usual(region, plan)

        def alone(*values):
            made = run(*values)
            if any(value is v._cell for value in values):
                disturbed.append(1)
                v._cell.value = v._cell.value + 1.0
            return made

        return alone

    monkeypatch.setattr(compiled, "_alone", disturbing)

    @tf.function(jit_compile=True)
    def f():
        v.assign_sub(tf.tanh(v) * 0.1)

    for _ in range(4):
        f()
    assert disturbed == [1]
    assert "gave other results" not in caplog.text


def test_shapes_that_change_for_ever_are_compiled_less_and_less_often(stand_in, caplog):
    caplog.set_level(logging.ERROR, "situs")
    f = tf.function(lambda x: tf.tanh(x) * 2.0 + 1.0, jit_compile=True, reduce_retracing=False)
    for _ in range(5):
        for size in range(1, 2 * MANY + 1):
            f(np.ones(size, np.float32))
    assert stand_in.regions == MANY + 2  # after one run each; then after 2 and 4
