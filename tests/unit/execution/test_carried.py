"""Bodies of regions as bytes and as texts: what they become in another process, and what is not carried."""

from __future__ import annotations

import threading
from functools import partial
from operator import itemgetter

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.ir.registry.op import find_op
from situs._src.runtime.eager.allocations import PLAIN
from situs._src.runtime.run import compiled, inductor
from situs._src.runtime.run.carry import NotCarriedError, described, packed, unpacked
from situs._src.runtime.run.region_body import Body, trace_body


def scaled(factor):
    def function(x, offset=1.0):
        return x * factor + offset

    return function


def counting():
    def function(n):
        return n if n < 2 else function(n - 1) + function(n - 2)

    return function


def test_functions_that_enclose_values_come_again():
    again = unpacked(packed(partial(scaled(3.0), offset=2.0)))
    assert again(2.0) == 8.0


def test_a_function_that_encloses_itself_comes_again():
    assert unpacked(packed(counting()))(10) == 55


def test_what_modules_hold_is_carried_as_a_name():
    assert unpacked(packed(torch.mm)) is torch.mm
    assert unpacked(packed(trace_body)) is trace_body
    assert unpacked(packed(find_op("Relu"))) is find_op("Relu")
    assert unpacked(packed(torch.ops.aten.add.Tensor)) is torch.ops.aten.add.Tensor
    assert unpacked(packed(torch.ops.aten.add)) is torch.ops.aten.add


def test_tensors_come_again():
    tensor = torch.tensor([[1.5, -2.0]], dtype=torch.float16)
    again = unpacked(packed(tensor))
    assert again.dtype is tensor.dtype
    assert torch.equal(again, tensor)


def test_who_watches_a_function_stays_here():
    lock = threading.Lock()

    def watching(x):
        with lock:
            return plain(x)

    plain = trace_body
    with pytest.raises(NotCarriedError, match="lock"):
        packed(watching)
    setattr(watching, PLAIN, plain)
    assert unpacked(packed(watching)) is plain
    assert described(watching) == described(plain)


def test_what_belongs_to_this_process_is_refused():
    with pytest.raises(NotCarriedError, match="a constant of 5000 elements"):
        packed(torch.zeros(5000))
    with pytest.raises(NotCarriedError):
        packed(threading.Lock())
    with pytest.raises(NotCarriedError, match="_thread"):
        described(threading.Lock())


def test_texts_are_equal_for_equal_values_and_no_others():
    values = [
        (1, 2),
        [1, 2],
        {"a": 1},
        {"a": True},
        {1, 2},
        torch.tensor([1.0]),
        torch.tensor([1.0], dtype=torch.float64),
        np.float32(1.0),
        torch.float32,
        tf.float32,
        torch.device("cpu"),
        itemgetter(1),
        itemgetter(2),
        torch.add,
        torch.mul,
        torch.Tensor.add_,
        partial(torch.add, alpha=2.0),
        partial(torch.add, alpha=2),
        partial(trace_body, pause=None),
        find_op("Relu"),
    ]
    texts = list(map(described, values))
    assert texts == [described(unpacked(packed(value))) for value in values]
    assert len(set(texts)) == len(texts)


def test_functions_of_programs_have_no_text():
    with pytest.raises(NotCarriedError, match=r"of .*test_carried"):
        described(scaled(2.0))


@pytest.fixture
def bodies(monkeypatch, fast):
    """The bodies of what is compiled; nothing is."""
    found: list[Body] = []

    def spy(compiler, given):
        found.extend(given)
        return [compiled.Found(failure="nothing is compiled here") for _ in given]

    monkeypatch.setattr(compiled._Here, "found", spy)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    return found


def step_of(optimizer):
    rng = np.random.RandomState(0)
    weights = [tf.Variable(rng.randn(6, 6).astype("f")), tf.Variable(rng.randn(6, 3).astype("f"))]
    x, y = tf.constant(rng.randn(4, 6).astype("f")), tf.constant(rng.randint(0, 3, 4))

    @tf.function(jit_compile=True)
    def step(x, y):
        with tf.GradientTape() as tape:
            h = x @ weights[0]
            away = h - tf.reduce_mean(h, -1, keepdims=True)
            h = tf.nn.gelu(away * tf.math.rsqrt(tf.reduce_mean(away * away, -1, keepdims=True) + 1e-5))
            h = tf.reshape(h, [tf.shape(h)[0], -1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, h @ weights[1]))
        gradients = tape.gradient(loss, weights)
        if optimizer is None:
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.assign_sub(0.1 * gradient)
        else:
            optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return loss

    return lambda: step(x, y)


@pytest.mark.parametrize("optimizer", [None, "Adam", "SGD"])
def test_a_training_step_is_carried_whole_and_traced_alike(bodies, optimizer):
    with tf.device("/cpu:0"):
        step = step_of(optimizer and getattr(tf.keras.optimizers, optimizer)(0.01))
        for _ in range(3):
            step()
    (body,) = bodies
    again = unpacked(packed(body))
    assert described(again) == described(body)
    here, refused = trace_body(body)
    there, also_refused = trace_body(again)
    assert refused == also_refused == {}
    assert here is not None
    assert there is not None
    assert here.graph.code == there.graph.code


def test_the_same_step_has_the_same_text_and_another_one_has_not(bodies):
    with tf.device("/cpu:0"):
        for optimizer in (None, None, tf.keras.optimizers.Adam(0.01)):
            step = step_of(optimizer)
            for _ in range(3):
                step()
    one, other, third = map(described, bodies)
    assert one == other
    assert one != third
