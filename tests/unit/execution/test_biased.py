"""Products and the addition of a bias as one call: which ones, and that the results are the same."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.runtime.passes.fuse_bias import with_biases
from situs._src.runtime.plan.plan import slots_in
from situs._src.runtime.run.emit import emit
from situs._src.runtime.run.state import Run

X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
B = np.array([1.0, 2.0, 3.0, 4.0], np.float32)


@pytest.fixture(autouse=True)
def _graph(fast):
    with tf.Graph().as_default():
        yield


def joined(*fetches):
    """How many calls a plan has, with and without joining, and what the joined calls return."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = session.run(list(fetches))
        prepared = session._prepare(list(fetches), {})
        plan = prepared.program.plan
        before = len(plan.calls)
        plan.calls[:] = with_biases(plan.calls, slots_in(plan.outputs))
        made = emit(plan).function(Run(session._state))
        for ours, theirs in zip(made, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        return before - len(plan.calls)


@pytest.mark.parametrize(
    "build",
    [
        lambda x, w, b: tf.nn.bias_add(tf.matmul(x, w), b),
        lambda x, w, b: tf.matmul(x, w) + b,
        lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b) * 2.0,
        lambda x, w, b: tf.matmul(x, tf.transpose(w) + 0.0, transpose_b=True) + b,
        lambda x, w, b: tf.matmul(tf.reshape(x, [1, 2, 3]) + 0.0, w) + b,
    ],
    ids=["bias_add", "a sum", "a layer", "turned", "of rank 3"],
)
def test_a_bias_is_added_by_the_product(build):
    assert joined(build(tf.Variable(X), tf.Variable(W), tf.Variable(B))) == 1


def test_layers_one_after_the_other():
    h, w, b = tf.Variable(X), tf.Variable(np.eye(3, dtype=np.float32)), tf.Variable(np.ones(3, np.float32))
    for _ in range(3):
        h = tf.nn.relu(tf.matmul(h, w) + b)
    assert joined(h) == 3


def test_what_stays_as_it_is():
    x, w, b = tf.Variable(X), tf.Variable(W), tf.Variable(B)
    product = tf.matmul(x, w)
    assert joined(product + b, product) == 0, "the product is seen"
    assert joined(tf.matmul(x, w) + tf.reshape(b, [1, 4])) == 0, "no bias"
    assert joined(b + tf.matmul(x, w)) == 0, "the other way round"
    assert joined(tf.matmul(x, x, transpose_a=True) + tf.Variable(np.ones(3, np.float32))) == 0, "a turned left side"
    assert joined(tf.matmul(tf.ones([2, 2, 3]), tf.ones([2, 3, 4])) + b) == 0, "products of stacks"
    between = tf.matmul(x, w)
    with tf.control_dependencies([between]):
        late = tf.nn.relu(tf.Variable(B) * 2.0)
    assert joined(between + late) == 0, "work in between"
