"""Keras' GRU as one op for all steps: Keras' own steps are the truth, and what TensorFlow printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf

keras = tf.keras
STEPS, ROWS, FEATURES, UNITS = 7, 4, 5, 6
DATA = Path(__file__).parent / "data" / "gru_of_tensorflow.json"  # made by make_gru_of_tensorflow.py beside it


def layers(**options):
    """The same layer twice: as one op, and step by step."""
    fused, steps = (keras.layers.GRU(UNITS, use_cudnn=use, **options) for use in ("auto", False))
    for layer in (fused, steps):
        layer.build((ROWS if options.get("stateful") else None, None, FEATURES))
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=w.shape).astype(w.dtype) * 0.5 for w in steps.get_weights()]
    fused.set_weights(weights)
    steps.set_weights(weights)
    return fused, steps


def batch():
    return tf.constant(np.random.default_rng(1).normal(size=(ROWS, STEPS, FEATURES)), "float32")


RIGHT = [[True] * n + [False] * (STEPS - n) for n in (7, 3, 1, 0)]
LEFT = [row[::-1] for row in RIGHT]
HOLES = (np.random.default_rng(5).random((ROWS, STEPS)) > 0.5).tolist()


def ops_of(layer, spec, **given):
    graph = tf.function(lambda x: layer(x, **given)).get_concrete_function(spec).graph
    return {node.type for node in graph.get_operations()}


OPTIONS = [
    {},
    {"return_sequences": True},
    {"return_state": True},
    {"return_sequences": True, "return_state": True, "go_backwards": True},
    {"go_backwards": True},
    {"stateful": True},
    {"use_bias": False, "return_sequences": True},
]


@pytest.mark.parametrize("mask", [None, RIGHT, LEFT, HOLES], ids=["all", "right", "left", "holes"])
@pytest.mark.parametrize("reset_after", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_op_gives_what_the_steps_give_with_gradients(options, reset_after, mask):
    fused, steps = layers(reset_after=reset_after, **options)
    x, first = batch(), tf.constant(np.random.default_rng(2).normal(size=(ROWS, UNITS)), "float32")
    given = {} if options.get("stateful") else {"initial_state": first}

    def both(layer):
        with tf.GradientTape() as tape:
            tape.watch([x, first])
            made = tf.nest.flatten(layer(x, mask=None if mask is None else tf.constant(mask), **given))
            loss = tf.add_n([tf.reduce_sum(each**2) for each in made])
        sources = [x, *layer.trainable_variables, *([first] if given else [])]
        return made, tape.gradient(loss, sources)

    for ours, theirs in zip(tf.nest.flatten(both(fused)), tf.nest.flatten(both(steps)), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=5e-6)


def test_a_gru_is_one_op_masked_or_not_but_not_with_zeros_for_what_is_masked():
    fused, steps = layers()
    spec, mask = tf.TensorSpec([None, STEPS, FEATURES]), tf.constant(RIGHT)
    assert "GRU" in ops_of(fused, spec)
    assert "GRU" in ops_of(fused, tf.TensorSpec([ROWS, STEPS, FEATURES]), mask=mask)
    assert "GRU" not in ops_of(steps, spec)
    fused, steps = layers(zero_output_for_mask=True, return_sequences=True)
    assert "GRU" in ops_of(fused, spec)
    found = fused(batch(), mask=mask)
    np.testing.assert_allclose(found.numpy(), steps(batch(), mask=mask).numpy(), atol=1e-6)
    assert not found.numpy()[3].any()


@pytest.mark.parametrize("options", [{"activation": "relu"}, {"unroll": True}, {"recurrent_dropout": 0.1}], ids=str)
def test_other_layers_go_through_keras_steps(options):
    fused, steps = layers(**options)
    assert "GRU" not in ops_of(fused, tf.TensorSpec([2, STEPS, FEATURES]))
    np.testing.assert_allclose(fused(batch()).numpy(), steps(batch()).numpy(), atol=1e-6)


def test_sequences_of_any_length_and_half_precision():
    fused, steps = layers(return_sequences=True, dtype="mixed_float16")
    x = batch()
    run = tf.function(fused, input_signature=[tf.TensorSpec([None, None, FEATURES])])
    made = run(x)
    assert made.dtype == tf.float16
    np.testing.assert_allclose(made.numpy(), steps(x).numpy(), atol=5e-3)
    assert run(x[:2, :3]).shape == [2, 3, UNITS]


def test_a_bidirectional_layer_behind_an_embedding_trains_as_in_tensorflow():
    recorded = json.loads(DATA.read_text())
    for case in recorded:
        model = keras.Sequential(
            [
                keras.Input((8,)),
                keras.layers.Embedding(12, 5, mask_zero=True),
                keras.layers.Bidirectional(keras.layers.GRU(4, reset_after=case["reset_after"])),
                keras.layers.Dense(1),
            ]
        )
        model.set_weights([np.array(each, np.float32) for each in case["weights"]])
        model.compile("adam", "mse")
        x, y = np.array(case["x"]), np.array(case["y"], np.float32)
        losses = model.fit(x, y, epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
        np.testing.assert_allclose(losses, case["losses"], rtol=1e-5)
