"""Functions that call functions, under the dynamic placer: what is called is placed operation by operation."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.placement import assembly, options
from situs._src.placement.costs import model as cost_model
from situs._src.placement.costs.kinds import Speed
from situs._src.placement.placer_setting import as_placer
from situs._src.tracing.inlined import inlined


@pytest.fixture
def dynamic(monkeypatch, tmp_path):
    """GPUs of their own, between which a copy costs more than any of these operations."""
    monkeypatch.setenv("SITUS_COSTS", str(tmp_path / "costs.json"))
    monkeypatch.setattr(assembly, "processor_of", lambda device: device.short_name)
    speeds = {"CPU": Speed(1e8, 1e8, 1e-4), "GPU": Speed(1e10, 1e10, 1e-6)}
    monkeypatch.setattr(cost_model, "speed_of", lambda device: speeds[device.type])
    monkeypatch.setattr(cost_model, "kind_of", lambda device: device.type)
    monkeypatch.setattr(assembly, "kind_of", lambda device: device.type)
    monkeypatch.setattr("situs._src.placement.dynamic.kind_of", lambda device: device.type)
    before = options.current.placer
    options.set_placer(as_placer("dynamic"))
    yield
    options.set_placer(before)


def layers(count=4, size=256):
    """Weights on two GPUs, the first half on one."""
    found = []
    for i in range(count):
        with tf.device(f"/gpu:{2 * i // count}"):
            found.append(tf.Variable(np.random.RandomState(i).randn(size, size).astype("f") * 0.05))
    return found


def test_what_is_called_is_placed_by_layers(dynamic):
    weights = layers()

    @tf.function
    def forward(x):
        for w in weights:
            x = tf.nn.relu(tf.matmul(x, w))
        return tf.reduce_mean(x)

    @tf.function
    def step(x):
        return forward(x) + 1.0

    x = tf.ones([4, 256])
    found = float(step(x))
    concrete = step.get_concrete_function(x)
    ready = concrete.ready([x])
    where = [each.device.short_name for each in ready.assignments() if each.op == "MatMul"]
    assert where == ["GPU:0", "GPU:0", "GPU:1", "GPU:1"]
    options.set_placer(as_placer("simple"))
    assert found == pytest.approx(float(step(x)), rel=1e-6)


def test_effects_results_and_gradients_are_those_of_the_calls(dynamic):
    weights = layers(2, 8)
    count = tf.Variable(0)

    @tf.function
    def add(x):
        count.assign_add(2)
        return x + tf.cast(count, tf.float32)

    @tf.function
    def update(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.matmul(add(x), weights[0]) @ weights[1]))
        for w, g in zip(weights, tape.gradient(loss, weights), strict=True):
            w.assign_sub(0.01 * g)
        return loss, add(x)

    @tf.function
    def outer(x):
        first = update(x)
        count.assign(10)
        return first, update(x), x

    def run():
        for i, w in enumerate(weights):
            w.assign(np.random.RandomState(i).randn(8, 8).astype("f") * 0.1)
        count.assign(0)
        found = tf.nest.flatten(outer(tf.ones([2, 8])))
        return [np.asarray(each) for each in (*found, *weights, count)]

    found = run()
    options.set_placer(as_placer("simple"))
    for one, other in zip(found, run(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def operations(function, *arguments):
    graph = function.get_concrete_function(*arguments).graph
    return [node.name for node in graph.operations], [node.name for node in inlined(graph).operations]


def test_operations_are_named_after_the_call():
    @tf.function
    def double(x):
        return tf.tanh(x, name="t") * 2.0

    @tf.function
    def twice(x):
        return double(double(x))

    before, after = operations(twice, tf.ones([2]))
    assert len(set(after)) == len(after)
    assert sum(name.endswith("/t") for name in after) == 2
    assert not any(name.endswith("/t") for name in before)


def test_draws_by_a_seed_that_is_given_are_placed_one_by_one(dynamic):
    weights = layers(2, 64)

    @tf.function
    def dropped(x, seed):
        for w in weights:
            x = tf.nn.experimental.stateless_dropout(tf.matmul(x, w), 0.5, seed)
        return x

    @tf.function
    def outer(x, seed):
        return dropped(x, seed) + 1.0

    given = tf.ones([4, 64]), tf.constant([3, 4])
    _, names = operations(outer, *given)
    assert sum("MatMul" in name for name in names) == 2
    found = outer(*given).numpy()
    options.set_placer(as_placer("simple"))
    np.testing.assert_allclose(found, outer(*given).numpy(), rtol=1e-5)


def test_what_says_something_of_its_own_stays_a_call():
    @tf.function
    def double(x):
        return x * 2.0

    @tf.function
    def noisy(x):
        return x + tf.random.normal([2])

    @tf.function
    def asks(x):
        with tf.device("/gpu:1"):
            return double(x)

    @tf.function
    def draws(x):
        return noisy(x)

    @tf.function
    def plain(x):
        return tf.tanh(x)

    for function in (asks, draws, plain):
        graph = function.get_concrete_function(tf.ones([2])).graph
        assert inlined(graph) is graph
