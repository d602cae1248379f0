"""Functions of several families: figures of TensorFlow 2.21 for the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests import recorded

FIGURES = Path(__file__).parents[2] / "data" / "small_name_figures.json"
random = np.random.RandomState(3)
ROWS = random.randn(6, 3).astype("float32")
CHOSEN, SEGMENTS = [0, 2, 5, 5, 1], [0, 0, 2, 2, 3]
IMAGES, FILTERS = random.randn(2, 5, 4, 3).astype("float32"), random.randn(3, 2, 3, 2).astype("float32")
BACK = random.randn(2, 5, 4, 6).astype("float32")
A, B, X = random.rand(40) * 10 + 0.1, random.rand(40) * 10 + 0.1, random.rand(40)


def slopes(function: Any, *given: Any) -> Any:
    """The result of a function, and the gradients of a weighed sum of it."""
    tensors = [tf.constant(each) for each in given]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        made = function(*tensors)
        weights = np.cos(np.arange(np.prod(made.shape))).reshape(made.shape)
        total = tf.reduce_sum(made * tf.constant(weights.astype(made.dtype.as_numpy_dtype)))
    return [made, *[tf.convert_to_tensor(each) for each in tape.gradient(total, tensors)]]


def segments(function: Any) -> Any:
    return [
        *slopes(lambda rows: function(rows, CHOSEN, SEGMENTS), ROWS),
        function(ROWS, CHOSEN, SEGMENTS, num_segments=6),
    ]


CASES: dict[str, Any] = {
    "segment_sum": lambda: segments(tf.sparse.segment_sum),
    "segment_mean": lambda: segments(tf.sparse.segment_mean),
    "segment_sqrt_n": lambda: segments(tf.sparse.segment_sqrt_n),
    "depthwise_conv2d_backprop_input": lambda: tf.nn.depthwise_conv2d_backprop_input(
        IMAGES.shape, FILTERS, BACK, [1, 1, 1, 1], "SAME"
    ),
    "depthwise_conv2d_backprop_filter": lambda: tf.nn.depthwise_conv2d_backprop_filter(
        IMAGES, FILTERS.shape, BACK, [1, 1, 1, 1], "SAME"
    ),
    "betainc": lambda: slopes(lambda x: tf.math.betainc(A, B, x), X),
    "betainc, wide": lambda: tf.math.betainc(
        np.array([1e3, 1e4, 2.0]), np.array([2e3, 1e4, 1e5]), np.array([0.34, 0.5, 1e-5])
    ),
    "betainc, ends": lambda: tf.math.betainc(np.array([1.0, 1.0, 2.0, -1.0]), 2.0, np.array([0.0, 1.0, 1.5, 0.5])),
    "fingerprint": lambda: [tf.fingerprint(ROWS), tf.fingerprint(tf.constant([[1, 2], [3, 4]], tf.int64))],
    "fingerprint of strings": lambda: [tf.fingerprint(["a", "hello"]), tf.fingerprint([["a", "b"], ["c", ""]])],
    "stack_dynamic_partitions": lambda: [
        tf.ragged.stack_dynamic_partitions(ROWS[:, 0], [3, 0, 3, 1, 0, 3], 5),
        tf.ragged.stack_dynamic_partitions(ROWS, [[2, 0, 1]] * 6, 3),
    ],
    "dilation2d": lambda: slopes(
        lambda x, f: tf.nn.dilation2d(x, f, [1, 2, 1, 1], "SAME", "NHWC", [1, 1, 2, 1]), IMAGES, FILTERS[..., 0]
    ),
    "erosion2d": lambda: slopes(
        lambda x, f: tf.nn.erosion2d(x, f, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]), IMAGES, FILTERS[..., 0]
    ),
    "collapse_repeated": lambda: list(tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [1, 2, 3, 3, 3]], [5, 3])),
    "ctc_unique_labels": lambda: list(tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 2, 3, 0]])),
    "all_candidate_sampler": lambda: list(tf.nn.all_candidate_sampler([[1], [2]], 1, 4, True)),
}


@pytest.mark.parametrize("case", CASES)
def test_figures(case):
    recorded.check(CASES[case](), FIGURES, case, 2e-5, 1e-5)


def test_functions_of_unknown_shapes():
    mean = tf.function(
        tf.sparse.segment_mean, input_signature=[tf.TensorSpec([None, None])] + [tf.TensorSpec([None], tf.int32)] * 2
    )
    np.testing.assert_allclose(mean(ROWS, CHOSEN, SEGMENTS), tf.sparse.segment_mean(ROWS, CHOSEN, SEGMENTS))
    beta = tf.function(tf.math.betainc, input_signature=[tf.TensorSpec(None, tf.float64)] * 3)
    np.testing.assert_allclose(beta(A, B, X), tf.math.betainc(A, B, X))


@pytest.mark.parametrize(("function", "sign"), [("approx_max_k", -1), ("approx_min_k", 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_and_the_smallest_along_a_dimension(function, sign, axis):
    order = np.argsort(sign * ROWS, axis).take([0, 1], axis)
    for space in (tf.math, tf.nn):
        values, indices = getattr(space, function)(tf.constant(ROWS), 2, reduction_dimension=axis)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, np.take_along_axis(ROWS, order, axis))


def test_the_order_of_arguments_in_graphs():
    wanted = tf.sparse.segment_sum(ROWS, CHOSEN, SEGMENTS)
    with v1.Graph().as_default(), v1.Session() as session:
        made = v1.sparse_segment_sum(ROWS, CHOSEN, SEGMENTS, "total")
        np.testing.assert_allclose(session.run(made), wanted)


def test_tensors_that_wait_for_each_other():
    first, none, second = tf.tuple([tf.constant(1), None, tf.constant(2)])
    assert (int(first), none, int(second)) == (1, None, 2)
    assert tf.function(lambda x: tf.tuple([x, x + 1])[1])(tf.constant(1)).numpy() == 2


def test_a_graph_is_imported():
    with tf.Graph().as_default() as graph:
        tf.add(1.0, 2.0, name="total")
    with tf.Graph().as_default():
        (made,) = tf.import_graph_def(graph.as_graph_def(), return_elements=["total:0"], name="inner")
    assert made.name == "inner/total:0"
    assert tf.graph_util.import_graph_def is tf.import_graph_def
