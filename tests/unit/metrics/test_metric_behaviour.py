"""What metrics of Keras do besides figures: state, functions, devices, checkpoints, splitting, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs import errors, metrics
from situs.keras import metrics as keras_metrics

MAKERS: dict[str, Callable[[], Any]] = {
    "Mean": metrics.Mean,
    "Sum": metrics.Sum,
    "BinaryAccuracy": metrics.BinaryAccuracy,
    "MeanSquaredError": metrics.MeanSquaredError,
    "RootMeanSquaredError": metrics.RootMeanSquaredError,
    "BinaryCrossentropy": metrics.BinaryCrossentropy,
    "Precision": metrics.Precision,
    "Recall": lambda: metrics.Recall(thresholds=[0.2, 0.8]),
    "AUC": metrics.AUC,
    "TruePositives": metrics.TruePositives,
    "SensitivityAtSpecificity": lambda: metrics.SensitivityAtSpecificity(0.5),
    "BinaryIoU": metrics.BinaryIoU,
}


def added(metric: Any, labels: Any, scores: Any, weights: Any = None) -> Any:
    """Adds a batch; sums and means have no labels."""
    columns = np.reshape(labels, (-1, 1)), np.reshape(scores, (-1, 1))  # a row is a sample
    metric.update_state(*(columns[1:] if type(metric) in (metrics.Mean, metrics.Sum) else columns), weights)


# State.


def test_both_public_places_have_the_same_names() -> None:
    names = [name for name in dir(metrics) if not name.startswith("_")]
    assert len(names) > 30
    assert [getattr(keras_metrics, name) for name in names] == [getattr(metrics, name) for name in names]


@pytest.mark.parametrize("name", MAKERS)
def test_resetting_forgets(name: str) -> None:
    metric = MAKERS[name]()
    first = metric.result().numpy()
    added(metric, [0.0, 1.0, 1.0], [0.1, 0.6, 0.9])
    assert any(np.any(variable.numpy()) for variable in metric.variables)
    metric.reset_state()
    np.testing.assert_array_equal(metric.result().numpy(), first)
    assert not any(np.any(variable.numpy()) for variable in metric.variables)


def test_calling_adds_and_gives_the_result() -> None:
    mean = metrics.Mean(name="loss")
    assert float(mean(4.0)) == 4.0
    assert float(mean([1.0, 1.0])) == 2.0
    assert [variable.name for variable in mean.variables] == ["loss/total:0", "loss/count:0"]
    assert repr(mean) == "<Mean name=loss>"
    assert not any(variable.trainable for variable in mean.variables)


def test_names_are_numbered_where_the_class_gives_them() -> None:
    first, second = metrics.AUC(), metrics.AUC()
    assert first.name.startswith("auc")
    assert first.name != second.name
    assert metrics.Mean().name == metrics.Mean().name == "mean"


def test_the_dtype_is_that_of_the_result() -> None:
    mean = metrics.Mean(dtype="float64")
    assert mean.dtype == "float64"
    mean.update_state([1, 2, 2])
    assert mean.result().dtype is tf.float64
    np.testing.assert_allclose(float(mean.result()), 5 / 3, rtol=1e-15)


def test_a_metric_of_ones_own() -> None:
    class Largest(metrics.Metric):
        def __init__(self, name: str = "largest", **kwargs: Any) -> None:
            super().__init__(name=name, **kwargs)
            self.largest = self.add_weight("largest", initializer=-5.0)
            self.mean = metrics.Mean()
            self.seen = tf.Variable(0, trainable=False)

        def update_state(self, values: Any) -> None:
            self.largest.assign(tf.maximum(self.largest, tf.reduce_max(values)))
            self.mean.update_state(values)
            self.seen.assign_add(1)

        def result(self) -> Any:
            return {"largest": self.largest.value(), "mean": self.mean.result()}

    metric = Largest(dtype="float32")
    assert float(metric.result()["largest"]) == -5.0
    metric.update_state([1.0, 3.0])
    assert {name: float(value) for name, value in metric.result().items()} == {"largest": 3.0, "mean": 2.0}
    assert len(metric.variables) == 4
    metric.reset_state()
    assert [float(variable.numpy()) for variable in metric.variables] == [0.0] * 4


def test_a_name_may_come_first_as_in_keras_2() -> None:
    class Old(metrics.Metric):
        def __init__(self, name: str) -> None:
            super().__init__(name)

    assert Old("old").name == "old"


def test_weights_are_added_in_the_orders_of_keras_2_and_3() -> None:
    metric = metrics.Metric(name="m")
    made = [
        metric.add_weight("w", shape=(2,), initializer="ones"),
        metric.add_weight("w", (2,), initializer="ones", aggregation="sum"),
        metric.add_weight((2,), "ones", name="w"),
    ]
    assert [(variable.name, variable.numpy().tolist()) for variable in made] == [("m/w:0", [1.0, 1.0])] * 3


def test_iou_takes_an_array_of_classes() -> None:
    metric = metrics.IoU(3, np.array([0, 2]))
    assert metric.get_config()["target_class_ids"] == [0, 2]
    assert float(metric([0, 1, 2], [0, 1, 2])) == pytest.approx(1.0)


def test_the_rank_of_weights_is_known_in_a_function() -> None:
    mean = metrics.Mean()
    update = tf.function(mean.update_state, input_signature=[tf.TensorSpec([2, 3]), tf.TensorSpec(None)])
    with pytest.raises(ValueError, match="weights whose rank is known"):
        update(tf.ones([2, 3]), tf.ones([2]))


def test_the_mean_of_a_function_of_ones_own() -> None:
    metric = metrics.MeanMetricWrapper(lambda y, p, power: tf.abs(y - p) ** power, name="mine", power=3.0)
    assert float(metric(tf.constant([[1.0]]), tf.constant([[3.0]]))) == 8.0
    again = metrics.MeanMetricWrapper.from_config(metric.get_config())
    assert float(again(tf.constant([[1.0]]), tf.constant([[3.0]]))) == 8.0


def test_the_mean_of_tensors() -> None:
    metric = metrics.MeanTensor()
    with pytest.raises(RuntimeError, match="any value yet"):
        metric.result()
    metric.update_state([[1.0, 2.0]])
    metric.update_state([[3.0, 6.0]], sample_weight=[[3.0, 1.0]])
    np.testing.assert_allclose(metric.result().numpy(), [[2.5, 4.0]])
    with pytest.raises(ValueError, match="must always have the same shape"):
        metric.update_state([1.0])


# In functions.


def test_a_function_updates_and_reads_in_order() -> None:
    accuracy, loss = metrics.SparseCategoricalAccuracy(), metrics.Mean()

    @tf.function
    def step(labels: Any, scores: Any) -> Any:
        accuracy.update_state(labels, scores)
        loss.update_state(tf.reduce_sum(scores))
        return accuracy.result(), loss.result()

    scores = tf.constant([[0.1, 0.9], [0.8, 0.2]])
    assert [float(part) for part in step(tf.constant([1, 1]), scores)] == [0.5, 2.0]
    assert [float(part) for part in step(tf.constant([1, 0]), scores)] == [0.75, 2.0]
    accuracy.reset_state()
    assert float(step(tf.constant([1, 0]), scores)[0]) == 1.0


def test_a_function_takes_batches_of_any_size() -> None:
    auc, mean = metrics.AUC(), metrics.Mean()

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def step(labels: Any, scores: Any) -> Any:
        mean.update_state(scores)
        return auc(labels, scores)

    whole = metrics.AUC()
    labels, scores = np.float32([0, 1, 0, 1, 1]), np.float32([0.2, 0.7, 0.5, 0.4, 0.9])
    whole.update_state(labels, scores)
    step(tf.constant(labels[:2]), tf.constant(scores[:2]))
    np.testing.assert_allclose(step(labels[2:], scores[2:]).numpy(), whole.result().numpy(), rtol=1e-6)
    np.testing.assert_allclose(float(mean.result()), scores.mean(), rtol=1e-6)


def test_variables_made_by_the_first_update_of_a_function() -> None:
    auc = metrics.AUC(multi_label=True)
    assert float(auc.result()) == 0.0
    step = tf.function(auc.update_state)
    for _ in range(2):
        step(tf.constant([[1.0, 0.0], [0.0, 1.0]]), tf.constant([[0.9, 0.4], [0.2, 0.7]]))
    assert float(auc.result()) == 1.0
    assert auc.true_positives.shape == [200, 2]


# Where.


@pytest.mark.parametrize("name", MAKERS)
def test_variables_are_where_the_scope_says(name: str, on_device: str) -> None:
    metric = MAKERS[name]()
    added(metric, [0.0, 1.0, 1.0], [0.1, 0.6, 0.9])
    assert {variable.device for variable in metric.variables} == {on_device}
    assert np.all(np.isfinite(metric.result().numpy()))


def test_batches_come_from_other_devices() -> None:
    with tf.device("/GPU:1"):
        metric = metrics.SparseCategoricalAccuracy()
    with tf.device("/GPU:2"):
        scores = tf.constant([[0.1, 0.9], [0.8, 0.2]])
    with tf.device("/CPU:0"):
        labels = tf.constant([1, 1])
    metric.update_state(labels, scores)
    assert float(metric.result()) == 0.5
    assert metric.total.device.endswith("GPU:1")


# Saved.


def test_a_checkpoint_has_the_state(tmp_path: Path) -> None:
    metric, later = metrics.AUC(num_thresholds=5), metrics.AUC(multi_label=True, num_thresholds=3)
    metric.update_state([0, 1, 1], [0.2, 0.3, 0.8])
    later.update_state([[0, 1], [1, 1]], [[0.4, 0.3], [0.2, 0.8]])
    path = tf.train.Checkpoint(metric=metric, later=later).save(str(tmp_path / "state"))
    fresh, lazy = metrics.AUC(num_thresholds=5), metrics.AUC(multi_label=True, num_thresholds=3)
    tf.train.Checkpoint(metric=fresh, later=lazy).restore(path)
    np.testing.assert_array_equal(fresh.true_positives.numpy(), metric.true_positives.numpy())
    assert float(fresh.result()) == float(metric.result())
    lazy.update_state([[0, 1], [1, 1]], [[0.4, 0.3], [0.2, 0.8]])  # its variables are made, and restored, here
    np.testing.assert_array_equal(lazy.true_positives.numpy(), 2 * later.true_positives.numpy())


# Splitting a stream.

samples = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1000), st.sampled_from([0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=24
)


@pytest.mark.parametrize("name", MAKERS)
def test_a_stream_in_parts_has_the_metric_of_the_whole(name: str) -> None:
    parts, whole = MAKERS[name](), MAKERS[name]()

    @given(samples, st.lists(st.integers(0, 24), max_size=3))
    def check(stream: list[Any], cuts: list[int]) -> None:
        parts.reset_state()
        whole.reset_state()
        columns = np.asarray(stream, np.float32).reshape(-1, 3).T * np.float32([[1.0], [0.001], [1.0]])
        edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
        for start, stop in pairwise(edges):
            added(parts, *columns[:, start:stop])
        added(whole, *columns)
        np.testing.assert_allclose(parts.result().numpy(), whole.result().numpy(), rtol=1e-5, atol=1e-6)

    check()


# By name.


def test_metrics_are_found_by_name() -> None:
    assert isinstance(metrics.get("Mean"), metrics.Mean)
    assert isinstance(metrics.get("sparse_categorical_accuracy"), metrics.SparseCategoricalAccuracy)
    assert metrics.get("mse") is metrics.mean_squared_error
    assert metrics.get(None) is None
    assert metrics.get(metrics.mae) is metrics.mean_absolute_error
    assert isinstance(metrics.get(metrics.Mean), metrics.Mean)
    precision = metrics.get(metrics.serialize(metrics.Precision(thresholds=0.3)))
    assert precision.thresholds == [0.3]
    assert metrics.serialize(metrics.binary_accuracy) == "binary_accuracy"
    assert isinstance(metrics.deserialize("Mine", {"Mine": metrics.Sum}), metrics.Sum)


@pytest.mark.parametrize("identifier", ["nonsense", "Counting", 3, {"class_name": "os.system", "config": {}}, {}])
def test_what_is_no_metric_is_not_found(identifier: Any) -> None:
    with pytest.raises(ValueError, match=r"[Uu]nknown metric|[Cc]ould not interpret|[Ii]mproper"):
        metrics.get(identifier)


# Bad input.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: metrics.Mean()(None), ValueError, "None"),
        (lambda: metrics.Mean()("text"), NotImplementedError, "string"),
        (lambda: metrics.Mean()([1.0, 2.0, 3.0], [1.0, 2.0]), ValueError, "ncompatible"),
        (lambda: metrics.Mean(dtype="nonsense"), TypeError, "nonsense"),
        (lambda: metrics.Accuracy()([1, 2, 3], [1, 2]), ValueError, "ncompatible"),
        (lambda: metrics.Precision()([0, 1, 1], [0.1, 0.2]), ValueError, "incompatible"),
        (lambda: metrics.Precision(thresholds=[0.5, 2.0]), ValueError, r"in \[0, 1\]. Received: \[2.0\]"),
        (lambda: metrics.Recall(thresholds="a"), TypeError, "numbers in"),
        (lambda: metrics.Recall(thresholds=[]), ValueError, r"in \[0, 1\]"),
        (lambda: metrics.Precision(class_id=1)([0, 1], [0.1, 0.2]), ValueError, "2D"),
        (lambda: metrics.Precision(class_id=9)([[0, 1]], [[0.1, 0.2]]), ValueError, "out of bounds"),
        (lambda: metrics.Precision(top_k=9)([[0, 1]], [[0.1, 0.2]]), ValueError, "at least k"),
        (lambda: metrics.AUC(curve="x"), ValueError, "Invalid AUC curve"),
        (lambda: metrics.AUC(summation_method=3), ValueError, "Invalid AUC summation"),
        (lambda: metrics.AUC(num_thresholds=1), ValueError, "> 1"),
        (lambda: metrics.AUC(num_thresholds="a"), TypeError, "num_thresholds"),
        (lambda: metrics.AUC(thresholds=["a", 1]), TypeError, "numbers in"),
        (lambda: metrics.AUC(thresholds=[0.5, 2.0]), ValueError, r"in \[0, 1\]. Received: \[2.0\]"),
        (lambda: metrics.AUC(num_labels=2), ValueError, "multi_label"),
        (lambda: metrics.AUC(multi_label=True)([0, 1], [0.1, 0.2]), ValueError, "rank 2"),
        (lambda: metrics.AUC()([0, 1, 1], [0.1, 0.2]), ValueError, "incompatible"),
        (lambda: metrics.IoU(3, [5]), ValueError, "out of range"),
        (lambda: metrics.IoU(3, []), ValueError, "out of range"),
        (lambda: metrics.IoU(3, 1), TypeError, "classes"),
        (lambda: metrics.IoU(3, ["a"]), TypeError, "target_class_ids"),
        (lambda: metrics.IoU(3, [1.5]), TypeError, "target_class_ids"),
        (lambda: metrics.PrecisionAtRecall(1.5), ValueError, "range"),
        (lambda: metrics.PrecisionAtRecall("a"), TypeError, "recall"),
        (lambda: metrics.RecallAtPrecision(0.5, num_thresholds=0), ValueError, "> 0"),
        (lambda: metrics.F1Score(average="x"), ValueError, "average"),
        (lambda: metrics.FBetaScore(beta=-1.0), ValueError, "beta"),
        (lambda: metrics.F1Score(threshold=2), ValueError, "threshold"),
        (lambda: metrics.F1Score()([0, 1], [0.1, 0.2]), ValueError, "2D inputs"),
        (lambda: metrics.R2Score("x"), ValueError, "class_aggregation"),
        (lambda: metrics.R2Score(num_regressors=-1), ValueError, "num_regressors"),
        (lambda: metrics.R2Score(num_regressors="a"), TypeError, "num_regressors"),
        (lambda: metrics.R2Score()([[1.0, 2.0]], [[1.0]]), ValueError, "2D inputs"),
        (lambda: metrics.MeanMetricWrapper(3), TypeError, "function"),
        (lambda: metrics.Metric().update_state(1), NotImplementedError, "update_state"),
        (lambda: metrics.Metric().result(), NotImplementedError, "result"),
        (lambda: metrics.Metric().add_weight(initializer="nonsense"), ValueError, "initializer"),
        (lambda: metrics.Metric().add_weight(initializer=np.zeros(2)), ValueError, "initializer"),
        (lambda: metrics.Metric().add_weight(shape=(), initialiser="zeros"), TypeError, "initialiser"),
        (lambda: metrics.Metric().add_weight((2,), shape=(2,)), TypeError, "once"),
        (lambda: metrics.serialize(3), TypeError, "metric"),
    ],
)
def test_bad_input_is_an_error(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_class_that_forgets_its_base_is_told() -> None:
    class Forgetful(metrics.Metric):
        def __init__(self) -> None:
            self.x = self.add_weight(name="x")

    class Empty(metrics.Metric):
        def __init__(self) -> None:
            pass

    for use in (Forgetful, lambda: Empty().variables, lambda: repr(Empty()), lambda: Empty().get_config()):
        with pytest.raises(RuntimeError, match=r"super\(\).__init__"):
            use()


def test_a_graph_of_a_session_is_refused() -> None:
    with tf1.Graph().as_default(), pytest.raises(errors.UnimplementedError, match=r"tf\.compat\.v1\.metrics"):
        metrics.Mean()


def test_empty_batches_and_nan() -> None:
    mean, auc = metrics.Mean(), metrics.AUC()
    assert float(mean([])) == 0.0
    assert float(auc([], [])) == 0.0
    auc.update_state([1, 0], [float("nan"), 0.1])  # neither above nor below: as if below all
    assert float(auc.false_negatives[0]) == 1.0
    assert np.isnan(float(mean([float("nan")])))
    assert np.isnan(float(mean([1.0])))


def test_scores_outside_of_zero_and_one_are_taken_to_the_ends() -> None:
    auc = metrics.AUC(num_thresholds=3)
    auc.update_state([0, 1], [-3.0, 7.0])
    np.testing.assert_array_equal(auc.true_positives.numpy(), [1, 1, 0])
    np.testing.assert_array_equal(auc.true_negatives.numpy(), [0, 1, 1])


def test_labels_that_are_no_class_are_wrong() -> None:
    assert float(metrics.SparseCategoricalAccuracy()([7, -1, 1], [[0.1, 0.9]] * 3)) == pytest.approx(1 / 3)
    assert float(metrics.SparseTopKCategoricalAccuracy(k=2)([7, -1, 1], [[0.1, 0.9]] * 3)) == pytest.approx(1 / 3)
