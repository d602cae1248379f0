"""Sums that a loop adds to in place: the numbers are those of the loop that makes every sum anew."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.runtime.eager import execute
from situs._src.runtime.passes import accumulate
from situs._src.runtime.run.control_flow import Loop


@pytest.fixture(autouse=True)
def on_the_host():
    """Virtual GPUs count every tensor that a kernel makes, so there all are made anew."""
    with tf.device("CPU:0"):
        yield


@pytest.fixture(params=[False, True], ids=["as it runs", "verified"])
def verified(request, monkeypatch):
    monkeypatch.setattr(execute, "_verify", request.param)
    return request.param


@pytest.fixture
def loops(monkeypatch):
    """The loops that are made, each with what it adds to in place."""
    made = []
    begin = Loop.__init__

    def noted(self, *args):
        begin(self, *args)
        made.append(self)

    monkeypatch.setattr(Loop, "__init__", noted)
    return made


READS = {
    "index": lambda xs, t: xs[t],
    "slice": lambda xs, t: tf.reduce_sum(xs[t : t + 1], 0),
    "backwards": lambda xs, t: tf.reduce_sum(xs[t::-1], 0),
    "strided": lambda xs, t: tf.reduce_sum(xs[::2], 0) + xs[t, ::-1],
    "new axis": lambda xs, t: xs[t, tf.newaxis][0],
}


def steps(read, xs, w, h, array=None):
    for t in range(5):
        x = xs[t] if array is not None else READS[read](xs, t)
        h = tf.tanh(x * w + h)
    return tf.reduce_sum(h * h)


@pytest.mark.parametrize("read", [*READS, "array"])
def test_gradients_of_loops_over_rows_are_those_of_the_same_steps(verified, loops, read):
    xs = tf.constant(np.random.default_rng(1).normal(size=(5, 3)), tf.float32)
    w = tf.constant([0.5, -1.0, 2.0])
    h = tf.constant([0.1, 0.2, 0.3])

    def looped(xs, w, h):
        rows = tf.TensorArray(tf.float32, 5).unstack(xs) if read == "array" else None
        take = READS["index"] if rows is not None else READS[read]

        def body(t, h):
            return t + 1, tf.tanh((take(xs, t) if rows is None else rows.read(t)) * w + h)

        return tf.reduce_sum(tf.while_loop(lambda t, h: t < 5, body, (tf.constant(0), h))[1] ** 2)

    @tf.function
    def gradients(xs, w, h):
        with tf.GradientTape() as tape:
            tape.watch([xs, w, h])
            y = looped(xs, w, h)
        return tape.gradient(y, [xs, w, h])

    with tf.GradientTape() as tape:
        tape.watch([xs, w, h])
        y = steps("index" if read == "array" else read, xs, w, h)
    expected = tape.gradient(y, [xs, w, h])
    for _ in range(3):
        for found, wanted in zip(gradients(xs, w, h), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    assert any(loop.sums for loop in loops)


PRODUCTS = {
    "plain": ({}, (4, 3), (3, 3)),
    "left turned": ({"transpose_a": True}, (3, 4), (3, 3)),
    "right turned": ({"transpose_b": True}, (4, 3), (3, 3)),
    "adjoint": ({"adjoint_b": True}, (4, 3), (3, 3)),
    "batches": ({}, (2, 4, 3), (2, 3, 3)),
}


@pytest.mark.parametrize("dtype", [tf.float64, tf.complex128])
@pytest.mark.parametrize("case", PRODUCTS)
def test_products_are_added_to_the_gradient_of_a_matrix(verified, loops, case, dtype):
    flags, left, right = PRODUCTS[case]
    values = np.random.default_rng(2)
    w = tf.constant(values.normal(size=right) + (0.3j if dtype.is_complex else 0), dtype)
    x = tf.constant(values.normal(size=left) + (0.1j if dtype.is_complex else 0), dtype)

    def turn(h):
        made = tf.matmul(h, w, **flags)
        return h + 0.1 * (tf.linalg.matrix_transpose(made) if "transpose_a" in flags else made)

    def looped(h):
        return tf.while_loop(lambda t, h: t < 4, lambda t, h: (t + 1, turn(h)), (tf.constant(0), h))[1]

    def steps_of(h):
        for _ in range(4):
            h = turn(h)
        return h

    def gradient(run):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.math.real(tf.reduce_sum(run(x) ** 2))
        return tape.gradient(y, w)

    found = tf.function(lambda: gradient(looped))()
    np.testing.assert_allclose(found.numpy(), gradient(steps_of).numpy(), rtol=1e-9)
    assert any(loop.sums for loop in loops) or dtype.is_complex


def test_no_tensor_as_large_as_the_sum_is_made_in_a_turn(monkeypatch):
    monkeypatch.setattr(execute, "_verify", False)
    asked = []
    new_zeros = torch.Tensor.new_zeros
    monkeypatch.setattr(
        torch.Tensor, "new_zeros", lambda *args, **kwargs: asked.append(1) or new_zeros(*args, **kwargs)
    )

    @tf.function
    def gradient(xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            _, y = tf.while_loop(lambda t, y: t < 20, lambda t, y: (t + 1, y * xs[t]), (tf.constant(0), tf.ones([4])))
        return tape.gradient(y, xs)

    np.testing.assert_allclose(gradient(tf.ones([20, 4])).numpy(), np.ones([20, 4]))
    assert not asked


def test_what_comes_into_a_loop_stays_as_it_was(verified, loops):
    first = tf.constant([1.0, 2.0])

    @tf.function
    def summed(start, x):
        return tf.while_loop(lambda t, s: t < 3, lambda t, s: (t + 1, s + x), (tf.constant(0), start))[1], start

    for _ in range(3):
        total, start = summed(first, tf.constant([10.0, 20.0]))
        assert total.numpy().tolist() == [31.0, 62.0]
        assert start.numpy().tolist() == first.numpy().tolist() == [1.0, 2.0]
    assert [loop.sums for loop in loops] == [[1]]


def test_a_sum_that_somebody_else_uses_is_made_anew(verified, loops):
    @tf.function
    def both(x):
        return tf.while_loop(
            lambda t, s, p: t < 4, lambda t, s, p: (t + 1, s + x, p * s), (tf.constant(0), x, tf.ones_like(x))
        )

    _, total, product = both(tf.constant([2.0]))
    assert (total.numpy().tolist(), product.numpy().tolist()) == ([10.0], [2.0 * 4 * 6 * 8])
    assert [list(loop.sums) for loop in loops] == [[]]


def test_a_sum_that_grows_by_broadcasting_is_made_anew(verified):
    grown = tf.function(
        lambda x, y: tf.while_loop(
            lambda t, s: t < 2, lambda t, s: (t + 1, s + y), (0, x), [tf.TensorShape([]), tf.TensorShape(None)]
        )[1]
    )
    assert grown(tf.constant(1.0), tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 5.0]


def test_plans_without_sums_stay_as_they_are():
    from situs._src.runtime.plan.plan import Plan

    plan = Plan([], [0], [], 1, {})
    assert accumulate.accumulating(plan, 0) == (plan, [])
