"""Gradients of slices, which are added where they are made, are what they are when they are added up at the end."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs._src.runtime.passes import sum_parts
from situs._src.runtime.run import program

ROWS, COLUMNS = 4, 6
X = np.random.RandomState(0).randn(ROWS, COLUMNS).astype(np.float32)
slices = st.lists(st.tuples(st.integers(0, COLUMNS - 1), st.integers(1, 6), st.sampled_from([1, 2, -1])), min_size=1)
kinds = st.lists(st.sampled_from(["tanh", "square", "product", "whole"]), min_size=6, max_size=6)


def loss_of(m, x, w, parts, kinds):
    """A sum over slices of `x`, each used in one of several ways."""
    total = 0.0
    for (start, size, step), kind in zip(parts, kinds * 3, strict=False):
        part = m.flipped(x[:, start : start + size]) if step < 0 else x[:, start : start + size : step]
        if kind == "tanh":
            total = total + m.sum(m.tanh(part))
        elif kind == "square":
            total = total + m.sum(part * part)
        elif kind == "product":
            total = total + m.sum(m.tanh(x @ w))
        else:
            total = total + m.sum(x * part[:, :1])
    return total


class Torch:
    sum, tanh = torch.sum, torch.tanh
    flipped = staticmethod(lambda x: x.flip(1))


class Situs:
    sum, tanh = staticmethod(tf.reduce_sum), staticmethod(tf.tanh)
    flipped = staticmethod(lambda x: x[:, ::-1])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=slices, kinds=kinds)
def test_gradients_of_slices_are_those_of_torch(fast, parts, kinds):
    w = np.eye(COLUMNS, 3, dtype=np.float32)

    def step(x):
        with tf.device("/cpu:0"):
            return tf.gradients(loss_of(Situs, x, tf.constant(w), parts, kinds), x)[0]

    with tf.device("/cpu:0"):
        f = tf.function(step)
        found = [f(tf.constant(X)).numpy() for _ in range(program.SCRIPTED_AFTER + 2)]
    x = torch.tensor(X, requires_grad=True)
    loss_of(Torch, x, torch.tensor(w), parts, kinds).backward()
    for made in found:
        np.testing.assert_allclose(made, x.grad.numpy(), rtol=1e-4, atol=1e-5)


def plan_of(*fetches):
    session = tf1.Session()
    from situs._src.runtime.session.fetches import Fetches

    return session._program(Fetches(session.graph, list(fetches)), []).plan


def test_slices_are_added_where_they_are_made(fast):
    with tf1.Graph().as_default(), tf1.device("/cpu:0"):
        x = tf1.Variable(X) * 2.0
        loss = tf1.add_n([tf1.reduce_sum(tf1.tanh(x[:, n : n + 2])) for n in (0, 2, 4)])
        plan = plan_of(tf1.gradients(loss, x)[0])
    calls = sum_parts.with_sums(plan.calls, [], plan.assignments)
    (last,) = [call for call in calls if call.function is sum_parts._sum]
    assert len(last.inputs[0]) == 1
    adding = [call for call in calls if call.overwrites is not None and call.node.type == "StridedSliceGrad"]
    assert len(adding) == 2
    assert len(calls) == len(plan.calls)


def test_terms_that_others_take_stay_as_they_are(fast):
    with tf1.Graph().as_default(), tf1.device("/cpu:0"):
        x = tf1.Variable(X) * 2.0
        loss = tf1.add_n([tf1.reduce_sum(tf1.tanh(x[:, n : n + 2])) for n in (0, 2)])
        gradient = tf1.gradients(loss, x)[0]
        terms = list(gradient.op.inputs)
        plan = plan_of(gradient, *terms)
    kept = [source.number for source in plan.outputs]
    assert sum_parts.with_sums(plan.calls, kept, plan.assignments) is plan.calls
