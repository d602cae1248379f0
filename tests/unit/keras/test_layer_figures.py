"""Layers give what Keras gives: outputs, gradients and moving moments, recorded from Keras 3 on TensorFlow 2.21."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs.keras import activations, constraints, layers, regularizers

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "layers_figures.json").read_text())
CASES = [case for case in FIGURES["keras"] if "inputs" in case]
WAYS = ["eager", "function", "second GPU"]


def values(shape: Any, seed: int) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.sin(np.arange(count) * 0.7 + seed) * 0.8).reshape(shape).astype("float32")


def fill(layer: layers.Layer) -> None:
    """Gives a layer the weights that the figures were recorded with."""
    found = [(variable, values(variable.shape, 10 + number)) for number, variable in enumerate(layer.weights)]
    layer.set_weights([np.abs(value) + 0.5 if "variance" in variable.name else value for variable, value in found])


def made(case: dict[str, Any]) -> tuple[layers.Layer, Any, list[Any]]:
    layer = getattr(layers, case["layer"])(**case["arguments"])
    inputs = [tf.constant(values(shape, seed)) for seed, shape in enumerate(case["inputs"])]
    options = {name: np.array(value) if isinstance(value, list) else value for name, value in case["call"].items()}

    def call(inputs: list[Any]) -> list[Any]:
        given = inputs if case.get("positional") else [inputs if len(inputs) > 1 else inputs[0]]
        found = layer(*given, **options)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    call(inputs)
    fill(layer)
    return layer, call, inputs


def differentiated(layer: layers.Layer, call: Any, inputs: list[Any]) -> tuple[list[Any], list[Any]]:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = call(inputs)
        loss = sum(tf.reduce_sum(each * values(each.shape, 3 + number)) for number, each in enumerate(outputs))
    gradients = tape.gradient(loss, [*inputs, *layer.trainable_weights])
    return outputs, [tf.convert_to_tensor(gradient) for gradient in gradients]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_outputs_and_gradients_are_those_of_keras(case: dict[str, Any], way: str) -> None:
    with tf.device("/GPU:1" if way == "second GPU" else None):
        layer, call, inputs = made(case)
        run = lambda inputs: differentiated(layer, call, inputs)  # noqa: E731
        outputs, gradients = (tf.function(run) if way == "function" else run)(inputs)
    assert [list(variable.shape) for variable in layer.weights] == case["weights"]
    assert [list(output.shape) for output in outputs] == case["shapes"]
    for output, wanted in zip(outputs, case["outputs"], strict=True):
        np.testing.assert_allclose(output.numpy().ravel(), wanted, rtol=2e-4, atol=2e-5)
    for gradient, wanted in zip(gradients, case["gradients"], strict=True):
        np.testing.assert_allclose(gradient.numpy().ravel(), wanted, rtol=5e-4, atol=5e-5)
    if way == "second GPU":
        assert all(variable.value.device.endswith("GPU:1") for variable in layer.weights)


@pytest.mark.parametrize("case", [case for case in CASES if case["after"]], ids=lambda case: case["name"])
def test_moving_moments_move_as_in_keras(case: dict[str, Any]) -> None:
    layer, call, inputs = made(case)
    call(inputs)
    for variable, wanted in zip(layer.non_trainable_weights, case["after"], strict=True):
        np.testing.assert_allclose(variable.numpy(), wanted, rtol=1e-5, atol=1e-6)


def case_of(name: str) -> dict[str, Any]:
    return next(case for case in FIGURES["keras"] if case["name"] == name)


def test_embedding_rows_and_their_gradient() -> None:
    case = case_of("embedding")
    layer = layers.Embedding(**case["arguments"])
    layer(np.array([[0]]))
    fill(layer)
    with tf.GradientTape() as tape:
        rows = layer(np.array(case["ids"]))
        loss = tf.reduce_sum(rows * values(rows.shape, 3))
    np.testing.assert_allclose(rows.numpy().ravel(), case["outputs"][0], rtol=1e-5)
    gradient = tf.convert_to_tensor(tape.gradient(loss, layer.embeddings))
    np.testing.assert_allclose(gradient.numpy().ravel(), case["gradients"][0], rtol=1e-5, atol=1e-6)


def test_bidirectional_goes_both_ways() -> None:
    case = case_of("bidirectional")
    layer = layers.Bidirectional(layers.LSTM(2, return_sequences=True))
    x = values([2, 3, 2], 0)
    layer(x)
    fill(layer)
    assert [list(variable.shape) for variable in layer.weights] == case["weights"]
    np.testing.assert_allclose(layer(x).numpy().ravel(), case["outputs"][0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", FIGURES["activations"])
def test_activations_by_name(name: str) -> None:
    found = activations.get(name)(tf.constant(values([3, 4], 0) * 4))
    np.testing.assert_allclose(np.ravel(found), FIGURES["activations"][name], rtol=2e-5, atol=1e-6)
    assert activations.get(activations.serialize(activations.get(name))) is activations.get(name)


MADE = {
    "l1": regularizers.L1(0.1),
    "l2": regularizers.L2(0.1),
    "l1_l2": regularizers.L1L2(0.1, 0.2),
    "orthogonal": regularizers.OrthogonalRegularizer(0.1),
}


@pytest.mark.parametrize("name", FIGURES["regularizers"])
def test_regularizers(name: str) -> None:
    for made in (MADE[name], regularizers.get(regularizers.serialize(MADE[name]))):
        assert float(made(values([3, 4], 0))) == pytest.approx(FIGURES["regularizers"][name], rel=1e-5)


CONSTRAINTS = {
    "max_norm": constraints.MaxNorm(0.5),
    "non_neg": constraints.NonNeg(),
    "unit_norm": constraints.UnitNorm(),
    "min_max_norm": constraints.MinMaxNorm(0.2, 0.6, 0.5),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name: str) -> None:
    for made in (CONSTRAINTS[name], constraints.get(constraints.serialize(CONSTRAINTS[name]))):
        np.testing.assert_allclose(np.ravel(made(values([3, 4], 0))), FIGURES["constraints"][name], rtol=1e-5)


class OwnDense(layers.Layer):
    """A layer that makes its variables without ``add_weight``."""

    def build(self, shape: Any) -> None:
        self.w = tf.Variable(tf.random.normal([shape[-1], 3]))
        self.b = tf.Variable(tf.zeros([3]))

    def call(self, inputs: Any) -> Any:
        return inputs @ self.w + self.b


def test_variables_of_a_model_whose_shapes_are_found_out_first_begin_with_the_same_random_numbers() -> None:
    class Model(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = OwnDense(), OwnDense()

        def call(self, inputs: Any) -> Any:
            return self.second(self.first(inputs))

    tf.random.set_seed(5)
    found = Model()(tf.ones((1, 3)))
    np.testing.assert_allclose(found, [[0.04471745, 2.5609562, -1.4761847]], rtol=1e-5)  # recorded from TensorFlow
    assert float(tf.random.normal([])) == pytest.approx(1.4665462970733643)
