"""What losses do besides figures: gradients, collections, functions of one's own, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs import errors, losses
from situs._src.v1 import losses as classic
from situs.compat.v1 import losses as old
from situs.keras import losses as keras_losses

RNG = np.random.default_rng(5)
Y, P = RNG.random((4, 3)), RNG.random((4, 3))
ONES = np.eye(3)[[0, 2, 1, 1]]


def test_both_public_places_have_the_same_names() -> None:
    names = [name for name in dir(losses) if not name.startswith("_")]
    assert len(names) > 30
    assert [getattr(keras_losses, name) for name in names] == [getattr(losses, name) for name in names]


# Gradients.

FORMULAS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "mean_squared_error": (losses.mean_squared_error, Y, P),
    "mean_absolute_error": (losses.mean_absolute_error, Y, P),
    "mean_absolute_percentage_error": (losses.mean_absolute_percentage_error, Y, P),
    "mean_squared_logarithmic_error": (losses.mean_squared_logarithmic_error, Y, P),
    "huber": (losses.huber, Y, P * 4),
    "log_cosh": (losses.log_cosh, Y, P),
    "cosine_similarity": (losses.cosine_similarity, Y, P),
    "kl_divergence": (losses.kl_divergence, Y, P),
    "poisson": (losses.poisson, Y, P),
    "hinge": (losses.hinge, ONES, P),
    "squared_hinge": (losses.squared_hinge, ONES, P),
    "categorical_hinge": (losses.categorical_hinge, ONES, P),
    "dice": (losses.dice, ONES, P),
    "tversky": (losses.tversky, ONES, P),
    "binary_crossentropy": (losses.binary_crossentropy, ONES, P),
    "binary_focal_crossentropy": (losses.binary_focal_crossentropy, ONES, P),
    "categorical_crossentropy": (losses.categorical_crossentropy, ONES, P),
    "categorical_focal_crossentropy": (losses.categorical_focal_crossentropy, ONES, P),
    "sparse_categorical_crossentropy": (losses.sparse_categorical_crossentropy, ONES.argmax(1), P),
}


def total(formula: Callable[..., Any], labels: Any, predictions: Any) -> float:
    return float(tf.reduce_sum(formula(labels, tf.constant(predictions, tf.float64))))


@pytest.mark.parametrize("name", FORMULAS)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    formula, labels, predictions = FORMULAS[name]
    x = tf.constant(predictions, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(formula(labels, x))
    found = tape.gradient(y, x).numpy()
    for place in np.ndindex(predictions.shape):
        step = np.zeros_like(predictions)
        step[place] = 1e-6
        slope = (total(formula, labels, predictions + step) - total(formula, labels, predictions - step)) / 2e-6
        np.testing.assert_allclose(found[place], slope, rtol=1e-5, atol=1e-7)


@given(st.integers(1, 5), st.integers(2, 6), st.integers(0, 2**31))
def test_cross_entropy_of_logits_is_pytorchs(rows: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(rows, classes)).astype(np.float32) * 5, rng.integers(0, classes, rows)
    found = losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
    wanted = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(labels))
    np.testing.assert_allclose(float(found), float(wanted), rtol=1e-4, atol=1e-6)
    ones = np.eye(classes)[labels]
    found = losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)(ones, logits)
    wanted = torch.nn.functional.cross_entropy(torch.tensor(logits), torch.tensor(labels), label_smoothing=0.1)
    np.testing.assert_allclose(float(found), float(wanted), rtol=1e-4, atol=1e-6)


def test_a_softmax_in_a_function_loses_nothing() -> None:
    logits = tf.constant([[200.0, 0.0], [0.0, 300.0]])
    loss = losses.SparseCategoricalCrossentropy()

    @tf.function
    def cost(x: Any) -> Any:
        return loss([1, 0], tf.nn.softmax(x))

    assert float(cost(logits)) == 250.0
    assert float(loss([1, 0], tf.nn.softmax(logits))) == pytest.approx(-np.log(1e-7), rel=1e-5)


# Classes.


def test_a_loss_of_ones_own() -> None:
    class Cubed(losses.Loss):
        def call(self, y_true: Any, y_pred: Any) -> Any:
            return tf.reduce_mean(tf.abs(y_true - y_pred) ** 3, axis=-1)

    assert float(Cubed()([[0.0, 0.0]], [[2.0, 0.0]])) == 4.0
    assert float(Cubed(reduction="sum")([[0.0], [0.0]], [[2.0], [1.0]])) == 9.0
    assert Cubed(losses.Reduction.SUM).reduction == "sum"  # Keras 2 had the reduction first
    assert Cubed().name.startswith("cubed")
    wrapped = losses.LossFunctionWrapper(lambda y, p, by: (y - p) * by, by=2.0)
    assert float(wrapped([1.0], [3.0])) == -4.0


def test_auto_is_the_mean() -> None:
    loss = losses.MeanSquaredError(reduction=losses.Reduction.AUTO)
    assert loss.reduction == losses.Reduction.SUM_OVER_BATCH_SIZE
    assert float(loss([[1.0], [2.0]], [[1.0], [4.0]])) == 2.0


def test_the_dtype_is_float32_unless_asked_for() -> None:
    assert losses.MeanSquaredError()(Y, P).dtype is tf.float32
    found = losses.MeanSquaredError(dtype="float64")(Y, P)
    assert found.dtype is tf.float64
    np.testing.assert_allclose(float(found), np.mean((Y - P) ** 2), rtol=1e-12)


def test_whole_numbers_and_lists_are_taken() -> None:
    assert float(losses.MeanSquaredError()([[0, 1]], [[0, 3]])) == 2.0
    assert losses.mean_absolute_error([[0, 1]], [[0, 4]]).numpy().tolist() == [1.5]
    parts = [tf.constant([0.0, 1.0]), tf.constant([1.0, 1.0])]
    assert float(losses.MeanSquaredError()(parts, [[0.0, 3.0], [1.0, 1.0]])) == 1.0


def test_empty_batches_cost_nothing() -> None:
    assert float(losses.MeanSquaredError(reduction="sum")(np.zeros((0, 2, 3)), np.zeros((0, 2, 3)))) == 0.0
    assert float(losses.MeanSquaredError()(np.zeros((0, 2, 3)), np.zeros((0, 2, 3)))) == 0.0
    assert losses.MeanSquaredError()(np.zeros((0, 3)), np.zeros((0, 3))).shape == [0]


def test_losses_are_found_by_name() -> None:
    assert losses.get("mse") is losses.get("MSE") is losses.mean_squared_error
    assert isinstance(losses.get("MeanSquaredError"), losses.MeanSquaredError)
    assert losses.get(None) is None
    assert losses.serialize(losses.hinge) == "hinge"
    assert losses.deserialize("mine", {"mine": losses.huber}) is losses.huber
    huber = losses.get({"class_name": "Huber", "config": {"delta": 0.5}})
    assert huber.get_config() == {"name": "huber_loss", "reduction": "sum_over_batch_size", "delta": 0.5}


@pytest.mark.parametrize("on", ["/CPU:0", "/GPU:1"])
def test_losses_are_computed_where_the_scope_says(on: str) -> None:
    with tf.device(on):
        for name, (formula, labels, predictions) in FORMULAS.items():
            assert formula(labels, tf.constant(predictions)).device.endswith(on[1:]), name


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: losses.MeanSquaredError()([1.0, 2.0, 3.0], [1.0, 2.0]), ValueError, "ncompatible"),
        (lambda: losses.MeanSquaredError()(Y, P, [1.0, 2.0]), ValueError, "ncompatible"),
        (lambda: losses.MeanSquaredError()(None, [1.0]), ValueError, "None"),
        (lambda: losses.MeanSquaredError(reduction="x"), ValueError, "Invalid value for argument `reduction`"),
        (lambda: losses.BinaryCrossentropy()([[1.0]], [[0.1, 0.2]]), ValueError, "same shape"),
        (lambda: losses.CategoricalCrossentropy()([1.0], [0.1, 0.2]), ValueError, "same shape"),
        (lambda: losses.CategoricalCrossentropy(axis=True)(ONES, P), ValueError, "axis"),
        (lambda: losses.SparseCategoricalCrossentropy()([0, 1], [[0.1, 0.2]]), ValueError, "up until the last"),
        (lambda: losses.SparseCategoricalCrossentropy(axis=0)([0], [[0.1, 0.2]]), ValueError, "axis=-1"),
        (lambda: losses.Loss()([1.0], [1.0]), NotImplementedError, "call"),
        (lambda: losses.Huber(delta="a")([1.0], [2.0]), TypeError, "string"),
        (lambda: losses.get("nonsense"), ValueError, "Could not interpret"),
        (lambda: losses.get(3), ValueError, "Could not interpret"),
        (lambda: losses.serialize(3), TypeError, "loss"),
        (lambda: losses.LossFunctionWrapper(3), TypeError, "function"),
    ],
)
def test_bad_input_is_an_error(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_label_that_is_no_class_is_an_error_on_the_cpu() -> None:
    with tf.device("/CPU:0"), pytest.raises(errors.InvalidArgumentError, match="5"):
        losses.SparseCategoricalCrossentropy()([5], [[0.1, 0.2]])


# TensorFlow 1.


def test_losses_are_collected_and_added_up() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        with tf1.name_scope("first"):
            one = old.mean_squared_error([1.0, 2.0], [1.0, 4.0])
        two = old.absolute_difference([1.0], [4.0], weights=2.0)
        old.huber_loss([1.0], [4.0], loss_collection=None)
        old.add_loss(tf1.constant(10.0))
        tf1.add_to_collection(tf1.GraphKeys.REGULARIZATION_LOSSES, tf1.constant(100.0))
        assert old.get_losses()[:2] == [one, two]
        assert old.get_losses("first") == [one]
        assert one.name == "first/mean_squared_error/value:0"
        values = [old.get_total_loss(), old.get_total_loss(False), old.get_regularization_loss()]
        assert session.run(values) == [118.0, 18.0, 100.0]


def test_without_losses_there_is_no_total() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        assert session.run(old.get_regularization_loss()) == 0.0
        with pytest.raises(ValueError, match="no losses"):
            old.get_total_loss()


def test_eager_code_has_no_collection() -> None:
    found = classic.mean_squared_error([1.0], [3.0])
    assert float(found) == 4.0


def test_no_gradient_goes_to_the_labels_of_a_softmax() -> None:
    with tf1.Graph().as_default():
        labels, logits = tf1.placeholder(tf1.float32, [None, 2]), tf1.placeholder(tf1.float32, [None, 2])
        loss = old.softmax_cross_entropy(labels, logits)
        assert tf1.gradients(loss, labels) == [None]
        assert tf1.gradients(loss, logits) != [None]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: old.mean_squared_error(None, [1.0]), ValueError, "`labels` must not be None"),
        (lambda: old.sparse_softmax_cross_entropy([0], None), ValueError, "`logits` must not be None"),
        (lambda: old.mean_squared_error([1.0], [1.0, 2.0]), ValueError, "incompatible"),
        (lambda: old.mean_squared_error([1.0], [1.0], reduction="x"), ValueError, "Invalid Reduction Key"),
        (lambda: old.mean_squared_error([1.0] * 3, [1.0] * 3, [1.0, 2.0]), ValueError, "can not be broadcast"),
        (lambda: old.sparse_softmax_cross_entropy([1.0], [[1.0, 2.0]]), TypeError, "integers"),
        (lambda: old.softmax_cross_entropy([[1, 0]], [[1.0, 2.0, 3.0]]), ValueError, "incompatible"),
        (lambda: old.cosine_distance([1.0], [1.0]), ValueError, "`axis`"),
        (lambda: old.cosine_distance([1.0], [1.0], axis=0, dim=0), ValueError, "both"),
    ],
)
def test_bad_input_of_tensorflow_1_is_an_error(make: Callable[[], Any], error: type[Exception], message: str) -> None:
    with tf1.Graph().as_default(), pytest.raises(error, match=message):
        make()
