"""Programs put together at random: replicas that are copied compute what replicas that are traced one by one do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
from situs._src.distribute import strategy as strategies
from situs._src.ir.graph.function import graphs_of

X = np.random.default_rng(1).normal(size=(6, 3)).astype("float32")
ON_READ, KINDS = tf.VariableSynchronization.ON_READ, tf.VariableAggregation


class Held:
    """The variables of a program."""

    def __init__(self) -> None:
        self.weights = tf.Variable(tf.reshape(tf.range(9.0), [3, 3]) / 9.0)
        self.mean = tf.Variable(tf.ones([3]), aggregation=KINDS.MEAN)
        self.first = tf.Variable(1.0, aggregation=KINDS.ONLY_FIRST_REPLICA)
        self.own = tf.Variable(tf.zeros([3]), synchronization=ON_READ, aggregation=KINDS.SUM)

    def __iter__(self) -> Any:
        return iter((self.weights, self.mean, self.first, self.own))


def context() -> Any:
    return tf.distribute.get_replica_context()


def _trained(x: Any, held: Held) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.tanh(x @ held.weights)))
    gradient = context().all_reduce("MEAN", tape.gradient(loss, held.weights))
    held.weights.assign_sub(0.1 * gradient)
    return x + loss


def _counted(x: Any, held: Held) -> Any:
    held.own.assign_add(tf.reduce_sum(x, 0))
    return x + held.own


def _averaged(x: Any, held: Held) -> Any:
    held.mean.assign(tf.reduce_mean(x, 0))
    return x * held.mean


def _led(x: Any, held: Held) -> Any:
    held.first.assign_add(tf.reduce_max(x))
    return x / (1.0 + tf.abs(held.first))


def _looped(x: Any, held: Held) -> Any:
    return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.sin(y) + held.mean), [0, x])[1]


PIECES: dict[str, Callable[[Any, Held], Any]] = {
    "product": lambda x, held: tf.nn.relu(x @ held.weights),
    "dropout": lambda x, held: tf.nn.dropout(x, 0.4),
    "noise": lambda x, held: x + tf.random.normal([3], seed=2) + tf.random.uniform([]),
    "branch": lambda x, held: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x + held.mean, lambda: tf.nn.dropout(x, 0.5)),
    "loop": _looped,
    "sum": lambda x, held: x + context().all_reduce("SUM", tf.reduce_sum(x, 0)),
    "gather": lambda x, held: x + tf.reduce_max(context().all_gather(x, axis=0)),
    "merge": lambda x, held: x * context().merge_call(lambda s, each: s.reduce("MEAN", each, axis=None), args=(x[0],)),
    "trained": _trained,
    "counted": _counted,
    "averaged": _averaged,
    "led": _led,
    "host": lambda x, held: _on_host(x) - 1.0,
}


def _on_host(x: Any) -> Any:
    with tf.device("/cpu:0"):
        return x * 1.5


def outcome(names: list[str], replicas: int, traced_each: bool) -> tuple[Any, Any, Counter[Any]]:
    """What a program gives in two steps, its variables after that, and what its graph has on which device."""
    tf.random.set_seed(5)
    strategy = tf.distribute.MirroredStrategy([f"/gpu:{number}" for number in range(replicas)])
    with strategy.scope():
        held = Held()

    def step(x: Any) -> Any:
        for name in names:
            x = PIECES[name](x, held)
        return x

    function = tf.function(lambda x: strategy.run(step, (x,)), autograph=False)
    (batch,) = list(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(6)))
    with pytest.MonkeyPatch.context() as patch:
        if traced_each:
            patch.setattr(strategies, "alike", lambda *given: None)
        values = [[each.numpy() for each in function(batch).values] for _ in range(2)]
    graph = function.get_concrete_function(batch).graph
    graph.verify()
    state = [[component.numpy() for component in variable.values] for variable in held]
    return values, state, _operations(graph)


def _operations(graph: Any) -> Counter[Any]:
    found = Counter((node.type, node.device) for node in graph.operations if node.type != "Identity")
    for node in graph.operations:
        for _, inner in graphs_of(node):
            found += _operations(inner)
    return found


@given(st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=6), st.sampled_from([2, 3]))
@settings(max_examples=25, deadline=None)
def test_copies_compute_what_replicas_do_that_are_traced(names: list[str], replicas: int) -> None:
    replicas = min(replicas, len(tf.config.list_logical_devices("GPU")))
    once, each = outcome(names, replicas, False), outcome(names, replicas, True)
    for got, wanted in zip(once[0] + once[1], each[0] + each[1], strict=True):
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert once[2] == each[2]
