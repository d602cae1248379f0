"""What streaming metrics do besides figures: names, collections, devices, splitting, and bad input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs
import situs.compat.v1 as tf
from situs import errors
from situs._src.v1.metrics import confusion, mean, thresholds
from situs.compat.v1 import metrics

LABELS, BOOLS, CHANCES = [0, 1, 1, 0], [0, 1, 0, 1], [0.1, 0.2, 0.8, 0.9]
ROWS, SCORES = [[0], [1]], [[0.1, 0.2, 0.7], [0.3, 0.4, 0.5]]

EACH: dict[str, Callable[[], Any]] = {
    "accuracy": lambda: metrics.accuracy(LABELS, BOOLS),
    "mean": lambda: metrics.mean(CHANCES),
    "mean_absolute_error": lambda: metrics.mean_absolute_error(CHANCES, CHANCES),
    "mean_squared_error": lambda: metrics.mean_squared_error(CHANCES, CHANCES),
    "root_mean_squared_error": lambda: metrics.root_mean_squared_error(CHANCES, CHANCES),
    "mean_relative_error": lambda: metrics.mean_relative_error(CHANCES, CHANCES, CHANCES),
    "mean_tensor": lambda: metrics.mean_tensor(CHANCES),
    "mean_cosine_distance": lambda: metrics.mean_cosine_distance(SCORES, SCORES, 1),
    "percentage_below": lambda: metrics.percentage_below(CHANCES, 0.5),
    "precision": lambda: metrics.precision(LABELS, BOOLS),
    "recall": lambda: metrics.recall(LABELS, BOOLS),
    "true_positives": lambda: metrics.true_positives(LABELS, BOOLS),
    "true_negatives": lambda: metrics.true_negatives(LABELS, BOOLS),
    "false_positives": lambda: metrics.false_positives(LABELS, BOOLS),
    "false_negatives": lambda: metrics.false_negatives(LABELS, BOOLS),
    "true_positives_at_thresholds": lambda: metrics.true_positives_at_thresholds(LABELS, CHANCES, [0.5]),
    "true_negatives_at_thresholds": lambda: metrics.true_negatives_at_thresholds(LABELS, CHANCES, [0.5]),
    "false_positives_at_thresholds": lambda: metrics.false_positives_at_thresholds(LABELS, CHANCES, [0.5]),
    "false_negatives_at_thresholds": lambda: metrics.false_negatives_at_thresholds(LABELS, CHANCES, [0.5]),
    "precision_at_thresholds": lambda: metrics.precision_at_thresholds(LABELS, CHANCES, [0.5]),
    "recall_at_thresholds": lambda: metrics.recall_at_thresholds(LABELS, CHANCES, [0.5]),
    "auc": lambda: metrics.auc(LABELS, CHANCES),
    "sensitivity_at_specificity": lambda: metrics.sensitivity_at_specificity(LABELS, CHANCES, 0.5),
    "specificity_at_sensitivity": lambda: metrics.specificity_at_sensitivity(LABELS, CHANCES, 0.5),
    "precision_at_k": lambda: metrics.precision_at_k(ROWS, SCORES, 2),
    "recall_at_k": lambda: metrics.recall_at_k(ROWS, SCORES, 2),
    "precision_at_top_k": lambda: metrics.precision_at_top_k(ROWS, [[0, 2], [1, 2]]),
    "recall_at_top_k": lambda: metrics.recall_at_top_k(ROWS, [[0, 2], [1, 2]]),
    "average_precision_at_k": lambda: metrics.average_precision_at_k(ROWS, SCORES, 2),
    "sparse_average_precision_at_k": lambda: metrics.sparse_average_precision_at_k(ROWS, SCORES, 2),
    "sparse_precision_at_k": lambda: metrics.sparse_precision_at_k(ROWS, SCORES, 2),
    "mean_iou": lambda: metrics.mean_iou(LABELS, BOOLS, 2),
    "mean_per_class_accuracy": lambda: metrics.mean_per_class_accuracy(LABELS, BOOLS, 2),
}


@pytest.fixture
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as made:
        yield made


def test_every_public_function_is_in_the_table() -> None:
    public = {name for name in vars(metrics) if not name.startswith("_")}
    assert public == set(EACH)


def test_a_number_is_put_behind_the_scope_of_a_second_metric(graph: Any) -> None:
    first, second = metrics.accuracy(LABELS, BOOLS), metrics.accuracy(LABELS, BOOLS)
    assert [part.name for part in (*first, *second)] == [
        "accuracy/value:0",
        "accuracy/update_op:0",
        "accuracy_1/value:0",
        "accuracy_1/update_op:0",
    ]
    named = metrics.accuracy(LABELS, BOOLS, name="mine")
    assert named[1].name == "mine/update_op:0"
    with tf.variable_scope("outer"):
        metrics.precision(LABELS, BOOLS)
    assert tf.local_variables()[-1].name == "outer/precision/false_positives/count:0"


@pytest.mark.parametrize("name", EACH)
def test_variables_are_local_and_not_trained(graph: Any, name: str) -> None:
    EACH[name]()
    assert tf.local_variables() == tf.get_collection(tf.GraphKeys.METRIC_VARIABLES) != []
    assert tf.global_variables() == tf.trainable_variables() == []


@pytest.mark.parametrize("name", EACH)
def test_variables_and_updates_are_on_the_device_of_the_scope(graph: Any, name: str) -> None:
    with tf.device("/GPU:2"):
        value, update = EACH[name]()
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update, options=options, run_metadata=metadata)
        assert np.all(np.isfinite(session.run(value)))
    assert all(variable.device == "/device:GPU:2" for variable in tf.local_variables())
    busy = {stats.device for stats in metadata.step_stats.dev_stats if stats.node_stats}
    assert any(device.endswith("GPU:2") for device in busy)
    assert not any(device.endswith(("GPU:0", "GPU:1", "GPU:3")) for device in busy)


@pytest.mark.parametrize("name", EACH)
def test_value_and_update_join_collections(graph: Any, name: str) -> None:
    function = getattr(metrics, name)
    one_more = {"metrics_collections": ["values"], "updates_collections": ["updates", tf.GraphKeys.UPDATE_OPS]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, name, lambda *args: function(*args, **one_more))
        value, update = EACH[name]()
    assert tf.get_collection("values") == [value]
    assert tf.get_collection("updates") == tf.get_collection(tf.GraphKeys.UPDATE_OPS) == [update]


def test_initializing_again_forgets(graph: Any) -> None:
    values = tf.placeholder(tf.float32, [None])
    value, update = metrics.mean(values)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(value) == 0.0
        assert session.run(update, {values: [1.0, 3.0]}) == 2.0
        session.run(tf.local_variables_initializer())
        assert session.run(update, {values: [5.0]}) == 5.0


def test_strings_can_be_right_or_wrong(graph: Any) -> None:
    _, update = metrics.accuracy(["a", "b"], ["a", "c"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update) == 0.5


# Splitting a stream.

samples = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 1000), st.sampled_from([0.25, 0.5, 1.0, 2.0])), min_size=1, max_size=24
)
STREAMED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "accuracy": lambda y, p, w: metrics.accuracy(y, tf.cast(p > 0.5, tf.float32), w),
    "mean_squared_error": lambda y, p, w: metrics.mean_squared_error(y, p, w),
    "precision": lambda y, p, w: metrics.precision(y, p > 0.5, w),
    "auc": lambda y, p, w: metrics.auc(y, p, w),
    "recall_at_thresholds": lambda y, p, w: metrics.recall_at_thresholds(y, p, [0.2, 0.7], w),
    "mean_iou": lambda y, p, w: metrics.mean_iou(y, tf.cast(p > 0.5, tf.int64), 2, w),
}


@pytest.mark.parametrize("name", STREAMED)
def test_a_stream_in_parts_has_the_metric_of_the_whole(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
        value, update = STREAMED[name](*inputs)
        initialize = tf.local_variables_initializer()

        def run(stream: list[Any], cuts: list[int]) -> Any:
            session.run(initialize)
            edges = [0, *sorted(cuts), len(stream)]
            for start, stop in pairwise(edges):
                columns = np.asarray(stream[start:stop], np.float32).reshape(-1, 3).T * [[1.0], [0.001], [1.0]]
                session.run(update, dict(zip(inputs, columns, strict=True)))
            return session.run(value)

        @given(samples, st.lists(st.integers(0, 24), max_size=4))
        def check(stream: list[Any], cuts: list[int]) -> None:
            cuts = [min(cut, len(stream)) for cut in cuts]
            np.testing.assert_allclose(run(stream, cuts), run(stream, []), rtol=1e-5)

        check()


@given(samples)
def test_auc_is_the_chance_of_right_order(stream: list[Any]) -> None:
    labels, places, weights = (np.asarray(column, np.float64) for column in zip(*stream, strict=True))
    scores = places.round(-2) / 1000  # multiples of a tenth, between the thresholds
    first, second = np.flatnonzero(labels), np.flatnonzero(labels == 0)
    if not len(first) or not len(second):
        return
    pairs = weights[first][:, None] * weights[second]
    order = np.sign(scores[first][:, None] - scores[second])
    with tf.Graph().as_default(), tf.Session() as session:
        _, update = metrics.auc(labels, tf.constant(scores, tf.float32), weights, thresholds=np.arange(0.05, 1, 0.1))
        session.run(tf.local_variables_initializer())
        found = session.run(update)
    np.testing.assert_allclose(found, np.sum(pairs * (order + 1) / 2) / pairs.sum(), rtol=1e-4, atol=1e-4)


# Where they do not work.


@pytest.mark.parametrize("name", EACH)
def test_eager_code_is_refused(name: str) -> None:
    function = getattr(metrics, name).__wrapped__
    arguments: dict[str, tuple[Any, ...]] = {"mean": (CHANCES,), "mean_tensor": (CHANCES,)}
    with pytest.raises(RuntimeError, match="is not supported when eager execution is enabled"):
        function(*arguments.get(name, (LABELS, CHANCES, 1))[: function.__code__.co_argcount])


def test_a_function_is_refused() -> None:
    @situs.function
    def traced() -> Any:
        return mean.accuracy(LABELS, BOOLS)

    with pytest.raises(errors.FailedPreconditionError, match=r"tf\.keras\.metrics"):
        traced()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: metrics.accuracy([1, 2, 3], [1, 2]), ValueError, "incompatible"),
        (lambda: metrics.mean([1.0, 2.0, 3.0], [1.0, 2.0]), ValueError, "can not be broadcast.*Mismatch at dim 0"),
        (lambda: metrics.mean([1.0], [[[1.0]]]), ValueError, r"values\.rank=1\. weights\.rank=3"),
        (lambda: metrics.mean(None), ValueError, "None"),
        (lambda: metrics.true_positives(LABELS, BOOLS, [1.0, 2.0]), ValueError, "ncompatible"),
        (lambda: metrics.mean_relative_error([1.0], [1.0], [1.0, 2.0]), ValueError, "incompatible"),
        (lambda: metrics.mean_tensor(tf.placeholder(tf.float32, [None])), ValueError, "not fully known"),
        (lambda: metrics.mean_cosine_distance(SCORES, SCORES, 7), ValueError, "dimension"),
        (lambda: metrics.auc(LABELS, CHANCES, curve="x"), ValueError, "ROC or PR"),
        (lambda: metrics.auc(LABELS, CHANCES, summation_method="x"), ValueError, "Invalid summation_method: x"),
        (lambda: metrics.auc(LABELS, CHANCES, num_thresholds=1), ValueError, "at least 2"),
        (lambda: metrics.auc(LABELS, CHANCES, thresholds=[None]), ValueError, "Thresholds are a list"),
        (lambda: metrics.precision_at_thresholds(LABELS, CHANCES, 0.5), ValueError, "Thresholds are a list"),
        (lambda: metrics.recall_at_thresholds(LABELS, CHANCES, []), ValueError, "at least one"),
        (lambda: metrics.sensitivity_at_specificity(LABELS, CHANCES, 2.0), ValueError, r"range \[0, 1\]"),
        (lambda: metrics.specificity_at_sensitivity(LABELS, CHANCES, -1), ValueError, r"range \[0, 1\]"),
        (lambda: metrics.specificity_at_sensitivity(LABELS, CHANCES, "a"), TypeError, "sensitivity"),
        (lambda: metrics.precision_at_k(ROWS, SCORES, 0), ValueError, "Invalid k=0"),
        (lambda: metrics.precision_at_k(ROWS, SCORES, 9), ValueError, "at least k columns"),
        (lambda: metrics.recall_at_k([[[[0]]]], SCORES, 1), ValueError, "Unexpected labels shape"),
        (lambda: metrics.mean(CHANCES, metrics_collections=5), TypeError, "list of collections"),
        (lambda: metrics.mean(CHANCES, name=5), TypeError, "string"),
    ],
)
def test_bad_input_is_an_error_when_the_graph_is_built(
    graph: Any, make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "labels", "scores", "message"),
    [
        (metrics.auc, [1.0], [2.0], r"predictions must be in \[0, 1\]"),
        (metrics.auc, [1.0], [float("nan")], r"predictions must be in \[0, 1\]"),
        (metrics.accuracy, [1.0, 2.0, 3.0], [2.0, 3.0], "ncompatible|shape"),
        (lambda y, p: metrics.mean(y, p), [1.0, 2.0, 3.0], [1.0, 2.0], "can not be broadcast"),
        (lambda y, p: metrics.mean_iou(y, p, 3), [0.0, 5.0], [1.0, 1.0], "out of bound"),
        (lambda y, p: metrics.mean_per_class_accuracy(y, p, 3), [0.0, 5.0], [1.0, 1.0], "5"),
    ],
)
def test_bad_values_fail_the_update_and_count_nothing(
    graph: Any, make: Callable[..., Any], labels: Any, scores: Any, message: str
) -> None:
    inputs = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
    with tf.device("/CPU:0"):
        value, update = make(*inputs)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(errors.InvalidArgumentError, match=message):
            session.run(update, {inputs[0]: labels, inputs[1]: scores})
        assert session.run(value) == 0.0


@pytest.mark.parametrize("known", [[None, None], None], ids=["shapes", "ranks"])
def test_weights_are_checked_in_the_run_where_shapes_are_unknown(graph: Any, known: Any) -> None:
    values, weights = tf.placeholder(tf.float32, known), tf.placeholder(tf.float32, known)
    value, update = metrics.mean(values, weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update, {values: [[1.0, 3.0]], weights: [[1.0, 3.0]]}) == 2.5
        assert session.run(update, {values: [[1.0], [3.0]], weights: [[2.0]]}) == 2.25
        with pytest.raises(errors.InvalidArgumentError, match="can not be broadcast"):
            session.run(update, {values: [[1.0], [3.0]], weights: [[2.0], [1.0], [1.0]]})
        assert session.run(value) == 2.25


def test_ranks_that_only_the_run_knows_are_fitted(graph: Any) -> None:
    labels, predictions, weights = (tf.placeholder(tf.float32, None) for _ in range(3))
    _, update = metrics.accuracy(labels, predictions, weights)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        first = {labels: [[1.0], [2.0]], predictions: [1.0, 3.0], weights: [[1.0], [3.0]]}
        assert session.run(update, first) == 0.25
        assert session.run(update, {labels: [[1.0, 2.0]], predictions: [[1.0, 2.0]], weights: [2.0]}) == 0.625
        assert session.run(update, {labels: [1.0], predictions: [1.0], weights: 2.0}) == 0.7


def test_empty_batches_count_nothing_and_nan_stays(graph: Any) -> None:
    values = tf.placeholder(tf.float32, [None])
    _, update = metrics.mean(values)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update, {values: []}) == 0.0
        assert session.run(update, {values: [4.0]}) == 4.0
        assert session.run(update, {values: []}) == 4.0
        assert np.isnan(session.run(update, {values: [float("nan")]}))


def test_many_thresholds_take_the_memory_of_the_predictions(graph: Any) -> None:
    chances = np.linspace(0, 1, 200_001, dtype=np.float32)  # two hundred thresholds times these would be 160 MB
    _, update = metrics.true_positives_at_thresholds(np.ones(200_001), chances, np.linspace(0, 0.999, 1000))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        found = session.run(update)
    wanted = [np.sum(chances > np.float32(threshold)) for threshold in np.linspace(0, 0.999, 1000)]
    np.testing.assert_array_equal(found, wanted)


def test_functions_made_from_a_table_are_documented() -> None:
    for function in (confusion.true_positives, thresholds.false_negatives_at_thresholds):
        assert function.__doc__ is not None
        assert function.__name__.replace("_at_thresholds", "").replace("_", " ") in function.__doc__
