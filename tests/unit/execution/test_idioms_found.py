"""Which calls become one kernel, what stays as it is, and where that is said."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.runtime.passes import idioms
from situs._src.runtime.passes.idioms import with_idioms
from situs._src.runtime.plan.plan import slots_in
from situs._src.runtime.run import program

RNG = np.random.RandomState(0)
X = RNG.randn(6, 8).astype(np.float32)
IMAGES = RNG.randn(2, 3, 3, 4).astype(np.float32)
SCALE, OFFSET = RNG.randn(4).astype(np.float32), RNG.randn(4).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_cpu(fast):
    with tf.device("/cpu:0"):
        yield


def fused(function, *args):
    """The types of a function's operations, after what is written out is fused."""
    tensors = [tf.constant(arg) for arg in args]
    plan = tf.function(function).get_concrete_function(*tensors).ready(tensors)._program.plan
    made = with_idioms(plan.calls, slots_in(plan.outputs), plan.slots)
    return [call.node.type for call in made.calls if call.node is not None]


def normalized(x, axis=-1):
    away = x - tf.reduce_mean(x, axis, keepdims=True)
    return away * tf.math.rsqrt(tf.reduce_mean(away * away, axis, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def with_gradient(function):
    def step(x, *rest):
        with tf.GradientTape() as tape:
            tape.watch([x, *rest])
            loss = tf.reduce_sum(tf.sin(function(x, *rest)))
        return tape.gradient(loss, [x, *rest])

    return step


def test_a_layer_norm_is_one_kernel_forward():
    assert fused(normalized, X) == ["LayerNorm"]


def test_a_layer_norm_is_one_kernel_each_way():
    assert [name for name in fused(with_gradient(normalized), X) if "Norm" in name] == ["LayerNorm", "LayerNormGrad"]
    assert "Rsqrt" not in fused(with_gradient(normalized), X)


def test_layers_after_each_other_are_all_found():
    found = fused(with_gradient(lambda x: gelu(normalized(gelu(normalized(x))))), X)
    assert [found.count(name) for name in ("LayerNorm", "LayerNormGrad", "Gelu", "GeluGrad")] == [2, 2, 2, 2]
    assert not {"Tanh", "TanhGrad", "Rsqrt", "AddN"} & set(found)


def test_moments_and_batch_normalization_are_one_kernel_each_way():
    def f(x, scale, offset):
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)

    found = fused(with_gradient(f), IMAGES, SCALE, OFFSET)
    assert [name for name in found if "BatchNorm" in name] == ["FusedBatchNormV3", "FusedBatchNormGradV3"]
    assert not {"Mean", "Rsqrt", "SquaredDifference"} & set(found)


def test_moments_that_are_kept_come_from_the_kernel():
    def f(x, scale, offset):
        mean, variance = tf.nn.moments(x, [0, 1, 2])
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3), mean, variance

    assert "FusedBatchNormV3" in fused(f, IMAGES, SCALE, OFFSET)
    g = tf.function(f)
    runs = [g(*map(tf.constant, (IMAGES, SCALE, OFFSET))) for _ in range(program.SCRIPTED_AFTER + 1)]
    np.testing.assert_allclose(runs[-1][1].numpy(), IMAGES.mean((0, 1, 2)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(runs[-1][2].numpy(), IMAGES.var((0, 1, 2)), rtol=1e-5)


def test_a_sum_of_gradients_keeps_the_terms_of_others():
    found = fused(with_gradient(lambda x: normalized(x) + x), X)
    assert "LayerNormGrad" in found
    assert found[-1] == "AddN"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (normalized(x), x - tf.reduce_mean(x, -1, keepdims=True)),  # what lies between is returned
        lambda x: (
            (x - tf.reduce_mean(x, -1, keepdims=True)) * tf.math.rsqrt(tf.reduce_mean(x * x, -1, keepdims=True) + 1e-5)
        ),
        lambda x: 0.5 * x * (1.0 + tf.tanh(0.79 * (x + 0.044715 * x * x * x))),  # another number
        lambda x: (
            0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
            + tf.tanh(0.7978845608 * (x + 0.044715 * x * x * x))
        ),
        lambda x: normalized(tf.cast(x, tf.float16)),
        lambda x: tf.tanh(x) + 1.0,
    ],
)
def test_what_is_not_quite_it_stays_as_it_is(function):
    assert not {"LayerNorm", "Gelu", "FusedBatchNormV3"} & set(fused(function, X))


def test_shapes_that_are_not_known_stay_as_they_are():
    f = tf.function(normalized, input_signature=[tf.TensorSpec([None, 8], tf.float32)])
    plan = f.get_concrete_function().ready([tf.constant(X)])._program.plan
    assert with_idioms(plan.calls, slots_in(plan.outputs), plan.slots).calls is plan.calls


def test_a_scale_that_changes_before_the_gradient_is_used_stays_written_out():
    scale = tf.Variable(np.ones(8, np.float32))

    def step(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.sin(normalized(x) * scale + 1.0))
        scale.assign_sub(tape.gradient(loss, scale))
        return tape.gradient(loss, x)

    wanted = tf.function(step)(tf.constant(X)).numpy()
    f = tf.function(step)
    for _ in range(program.SCRIPTED_AFTER + 2):
        scale.assign(np.ones(8, np.float32))
        found = f(tf.constant(X)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_explain_says_what_became_one_kernel():
    f = tf.function(lambda x: gelu(x) * 2.0)
    for _ in range(program.SCRIPTED_AFTER + 1):
        f(tf.constant(X))
    ways = {each.op: each.runs_as for each in tf.explain(f)}
    assert ways["Tanh"] == "kernel: gelu, with 8 others"


def test_a_training_step_gives_the_same_losses():
    losses = []
    for fuses in (True, False):
        w = tf.Variable(np.eye(8, dtype=np.float32) * 0.5)

        def step(x, w=w):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(gelu(normalized(x @ w)) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        f = tf.function(step)
        with pytest.MonkeyPatch.context() as patch:
            if not fuses:
                patch.setattr(program, "with_idioms", lambda calls, kept, slots: idioms.Fused(calls, slots, {}, {}))
            losses.append([float(f(tf.constant(X))) for _ in range(25)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
