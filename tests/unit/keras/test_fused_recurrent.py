"""Keras' LSTM as one op for all steps: Keras' own steps are the truth."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

keras = tf.keras
STEPS, ROWS, FEATURES, UNITS = 7, 4, 5, 6


def layers(**options):
    """The same layer twice: as one op, and step by step."""
    fused, steps = (keras.layers.LSTM(UNITS, use_cudnn=use, **options) for use in ("auto", False))
    for layer in (fused, steps):
        layer.build((ROWS if options.get("stateful") else None, None, FEATURES))
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=w.shape).astype(w.dtype) * 0.5 for w in steps.get_weights()]
    fused.set_weights(weights)
    steps.set_weights(weights)
    return fused, steps


def batch():
    return tf.constant(np.random.default_rng(1).normal(size=(ROWS, STEPS, FEATURES)), "float32")


def ops_of(layer, spec):
    graph = tf.function(lambda x: layer(x)).get_concrete_function(spec).graph
    return {node.type for node in graph.get_operations()}


OPTIONS = [
    {},
    {"return_sequences": True},
    {"return_state": True},
    {"return_sequences": True, "return_state": True, "go_backwards": True},
    {"go_backwards": True},
    {"stateful": True},
    {"dropout": 0.0, "unit_forget_bias": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("in_function", [False, True])
def test_the_op_gives_what_the_steps_give_with_gradients(options, in_function):
    fused, steps = layers(**options)
    x = batch()

    def both(layer):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made = tf.nest.flatten(layer(x))
            loss = tf.add_n([tf.reduce_sum(each**2) for each in made])
        return made, tape.gradient(loss, [x, *layer.trainable_variables])

    run = tf.function(both) if in_function else both
    for ours, theirs in zip(tf.nest.flatten(run(fused)), tf.nest.flatten(run(steps)), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-6)


def test_an_unmasked_lstm_is_one_op_and_a_masked_one_keras_steps():
    fused, steps = layers()
    spec = tf.TensorSpec([None, STEPS, FEATURES])
    assert "LSTM" in ops_of(fused, spec)
    assert "LSTM" not in ops_of(steps, spec)
    x, mask = batch(), tf.constant([[True] * n + [False] * (STEPS - n) for n in (7, 3, 1, 5)])
    np.testing.assert_allclose(fused(x, mask=mask).numpy(), steps(x, mask=mask).numpy(), atol=1e-6)


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"use_bias": False}, {"recurrent_dropout": 0.1}], ids=str)
def test_other_layers_go_through_keras_steps(options):
    fused, steps = layers(**options)
    assert "LSTM" not in ops_of(fused, tf.TensorSpec([2, STEPS, FEATURES]))
    np.testing.assert_allclose(fused(batch()).numpy(), steps(batch()).numpy(), atol=1e-6)


def test_sequences_of_any_length_and_half_precision():
    fused, steps = layers(return_sequences=True, dtype="mixed_float16")
    x = batch()
    run = tf.function(fused, input_signature=[tf.TensorSpec([None, None, FEATURES])])
    made = run(x)
    assert made.dtype == tf.float16
    np.testing.assert_allclose(made.numpy(), steps(x).numpy(), atol=5e-3)
    assert run(x[:2, :3]).shape == [2, 3, UNITS]


def test_training_follows_keras_steps():
    def losses(use):
        keras.utils.set_random_seed(3)
        model = keras.Sequential(
            [keras.Input((STEPS, FEATURES)), keras.layers.LSTM(UNITS, use_cudnn=use), keras.layers.Dense(1)]
        )
        model.compile("adam", "mse")
        x = np.random.default_rng(2).normal(size=(32, STEPS, FEATURES)).astype("float32")
        return model.fit(x, x.sum((1, 2)), epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]

    np.testing.assert_allclose(losses("auto"), losses(False), rtol=1e-5)
