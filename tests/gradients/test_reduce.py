"""Gradients of reductions, running sums, segments and norms: differences, PyTorch, and TensorFlow 2.21's figures."""

from __future__ import annotations

import math as python_math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.base import dtype as dt
from situs._src.ops import clip, count, cumulative, norms, random, reduce, stateless
from situs._src.ops.constant import constant
from situs._src.ops.math import igamma
from situs._src.ops.slices import IndexedSlices
from tests.gradients.check import (
    INF,
    NAN,
    check,
    check_all,
    check_graph,
    check_second_order,
    check_torch,
    sample,
    sample_complex,
    tape_gradient,
)

CUBE = sample(0.5, 2, (2, 3, 2))
X = sample(-2, 2, (3, 4), seed=3)

# Reductions: name, what PyTorch calls it.


def _torch_prod(x, axes, keep):
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keep)
    return x


REDUCTIONS = {
    "reduce_sum": torch.sum,
    "reduce_mean": torch.mean,
    "reduce_prod": _torch_prod,
    "reduce_max": torch.amax,
    "reduce_min": torch.amin,
    "reduce_logsumexp": torch.logsumexp,
    "reduce_euclidean_norm": lambda x, axes, keep: torch.linalg.vector_norm(x, 2, axes, keep),
    "reduce_variance": lambda x, axes, keep: torch.var(x, axes, correction=0, keepdim=keep),
    "reduce_std": lambda x, axes, keep: torch.std(x, axes, correction=0, keepdim=keep),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    ("axis", "keep"), [(None, False), (1, False), (-1, True), ([0, 2], False), ([2, 0], True), ([], False)]
)
def test_reductions(name, axis, keep):
    function = getattr(reduce, name)
    axes = tuple(range(3)) if axis is None else tuple(axis) if isinstance(axis, list) else (axis,)
    axes = tuple(i % 3 for i in axes)
    if not axes and name in ("reduce_std", "reduce_variance"):
        return  # the deviation of one number is 0, and its root has no slope there
    theirs = (lambda x: REDUCTIONS[name](x, axes, keep)) if axes else None
    check_all(lambda x: function(x, axis, keep), CUBE, torch=theirs, second=axis in (None, 1))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_unknown_ranks_along_computed_axes(name):
    function = getattr(reduce, name)
    check_graph(lambda x, axis: function(x, axis), CUBE, np.array([0, -1], np.int32), rank_known=False)
    check_graph(lambda x, axis: function(x, axis, keepdims=True), CUBE, np.array(1, np.int32))
    check_graph(lambda x: function(x), CUBE, rank_known=False)


@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=5)
@given(data=st.data())
def test_reductions_of_any_shape(name, data):
    shape = data.draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    keep = data.draw(st.booleans())
    array = np.random.RandomState(len(shape)).permutation(np.prod(shape)).reshape(shape) / 7 + 0.5
    theirs = REDUCTIONS[name]
    check_torch(lambda x: getattr(reduce, name)(x, axes, keep), lambda x: theirs(x, tuple(axes), keep), array)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_mean", "reduce_prod", "reduce_euclidean_norm"])
def test_reductions_of_complex_numbers(name):
    check(getattr(reduce, name), sample_complex((2, 3)))
    check_graph(lambda x: getattr(reduce, name)(x, 1), sample_complex((2, 3)))


def test_deviations_of_complex_numbers():
    check(reduce.reduce_variance, sample_complex((2, 3)))
    check(reduce.reduce_std, sample_complex((2, 3)))


def test_reductions_of_nothing():
    for name in ("reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_logsumexp"):
        for axis in (None, 0, 1):
            function = getattr(reduce, name)
            assert tape_gradient(lambda x: function(x, axis), np.ones([0, 3]))[0].shape == (0, 3)  # noqa: B023


def test_the_gradient_of_a_sum_takes_no_memory():
    (found,) = [reduce.spread(constant(2.0), (1000, 1000), reduce.EVERY_AXIS)]
    assert found.shape == [1000, 1000]
    assert found._value.stride() == (0, 0)


def test_counts_have_no_gradient():
    assert tape_gradient(lambda x: reduce.count_nonzero(x, dtype=dt.float64), [1.0, 0.0]) == [None]


# Figures of TensorFlow where there is a choice: name, input, arguments, gradient.

EDGES = [
    ("reduce_max", [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], {}, [[0, 0.5, 0.5], [0, 0, 0]]),
    ("reduce_max", [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], {"axis": 1}, [[0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]]),
    ("reduce_min", [[1.0, 3.0, 1.0], [2.0, 2.0, 5.0]], {"axis": 1}, [[0.5, 0, 0.5], [0.5, 0.5, 0]]),
    ("reduce_max", [[1.0, NAN, 3.0], [2.0, 2.0, INF]], {"axis": 1}, [[NAN, NAN, NAN], [0, 0, 1]]),
    ("reduce_prod", [0.0, 2.0, 3.0], {}, [6, 0, 0]),
    ("reduce_prod", [0.0, 0.0, 3.0], {}, [0, 0, 0]),
    ("reduce_euclidean_norm", [0.0, 0.0], {}, [NAN, NAN]),
    ("reduce_euclidean_norm", [3.0, 4.0], {}, [0.6, 0.8]),
    ("reduce_std", [2.0, 2.0], {}, [NAN, NAN]),
    ("reduce_variance", [2.0, 3.0], {}, [-0.5, 0.5]),
    ("reduce_logsumexp", [-INF, -INF], {}, [NAN, NAN]),
    ("reduce_logsumexp", [INF, 1.0], {}, [NAN, 0]),
    ("reduce_logsumexp", [-INF, 1.0], {}, [0, 1]),
    ("reduce_logsumexp", [1000.0, 1000.0], {}, [0.5, 0.5]),
]


@pytest.mark.parametrize(("name", "x", "arguments", "expected"), EDGES)
def test_reductions_at_their_edges(name, x, arguments, expected):
    (found,) = tape_gradient(lambda t: getattr(reduce, name)(t, **arguments), x)
    np.testing.assert_allclose(found, expected)


# Running sums and products.


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cumulative_logsumexp"])
def test_running_sums(name, exclusive, reverse):
    function = getattr(cumulative, name)
    if name == "cumulative_logsumexp" and exclusive:
        return  # starts from the logarithm of 0: a difference with it is NaN
    check_all(lambda x: function(x, 1, exclusive, reverse), sample(0.5, 2, (2, 3)))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("cumsum", torch.cumsum), ("cumprod", torch.cumprod), ("cumulative_logsumexp", torch.logcumsumexp)],
)
def test_running_sums_as_pytorch_has_them(name, theirs):
    check_torch(lambda x: getattr(cumulative, name)(x, 1), lambda x: theirs(x, 1), X + 3)


def test_running_sums_along_computed_axes():
    for name in ("cumsum", "cumprod", "cumulative_logsumexp"):
        function = getattr(cumulative, name)
        check_graph(lambda x, axis: function(x, axis), CUBE, np.array(-1, np.int32), rank_known=False)  # noqa: B023


def test_running_products_of_complex_numbers():
    check(cumulative.cumprod, sample_complex((3,)))


def test_running_sums_at_their_edges():
    np.testing.assert_array_equal(tape_gradient(cumulative.cumprod, [2.0, 0.0, 3.0])[0], [1, 0, 0])
    np.testing.assert_array_equal(tape_gradient(cumulative.cumprod, [0.0, 0.0, 3.0])[0], [0, 0, 0])
    found = tape_gradient(cumulative.cumulative_logsumexp, [1.0, 2.0, -INF])[0]
    np.testing.assert_allclose(found, [1.5378828427399902, 1.4621171572600096, 0])
    found = tape_gradient(cumulative.cumulative_logsumexp, [1.0, 2.0], up=-1.0)[0]
    np.testing.assert_allclose(found, [-1.2689414213699951, -0.7310585786300049])


def test_sums_of_many_tensors():
    check_all(lambda x, y: cumulative.add_n([x, y, x]), X, X + 1)
    check(lambda x, y: cumulative.accumulate_n([x, y]), X, X + 1)


# Segments.

IDS = np.array([0, 0, 2, 3, 3], np.int32)
ANY_ORDER = np.array([2, -1, 0, 1, 2], np.int32)  # every segment has a slice: no maximum is the lowest number
ROWS = sample(0.5, 2, (5, 2), seed=9)
KINDS = ["sum", "mean", "prod", "max", "min"]


@pytest.mark.parametrize("kind", KINDS)
def test_segments(kind):
    function = getattr(cumulative, f"segment_{kind}")
    check_all(lambda x, ids: function(x, ids), ROWS, IDS)
    check(lambda x, ids: function(x, ids), ROWS[:, 0], IDS.astype(np.int64))
    check_graph(lambda x, ids: function(x, ids), ROWS, IDS, rank_known=False)


@pytest.mark.parametrize("kind", [*KINDS, "sqrt_n"])
def test_segments_in_any_order(kind):
    function = getattr(cumulative, f"unsorted_segment_{kind}")
    check_all(lambda x, ids: function(x, ids, 3), ROWS, ANY_ORDER)
    check(lambda x, ids: function(x, ids, 3), CUBE, np.array([[0, 2, 2], [-1, 1, 0]]))
    check_graph(lambda x, ids, n: function(x, ids, n), ROWS, ANY_ORDER, np.array(3, np.int32), rank_known=False)


TWO_IN_ONE, ONE_IN_NONE = [0, 0, 2], [2, -1, 2]
SEGMENT_EDGES = [
    ("segment_prod", [1.0, 1.0, 0.0], TWO_IN_ONE, [1, 1, 1]),
    ("segment_prod", [0.0, 0.0, 3.0], TWO_IN_ONE, [0, 0, 1]),
    ("segment_prod", [0.0, 4.0, 3.0], TWO_IN_ONE, [4, 0, 1]),
    ("segment_mean", [1.0, 1.0, 0.0], TWO_IN_ONE, [0.5, 0.5, 1]),
    ("segment_max", [1.0, 1.0, 0.0], TWO_IN_ONE, [0.5, 0.5, 1]),
    ("segment_min", [0.0, 0.0, 3.0], TWO_IN_ONE, [0.5, 0.5, 1]),
    ("unsorted_segment_sum", [1.0, 5.0, 1.0], ONE_IN_NONE, [1, 0, 1]),
    ("unsorted_segment_mean", [1.0, 5.0, 1.0], ONE_IN_NONE, [0.5, 0, 0.5]),
    ("unsorted_segment_prod", [0.0, 5.0, 4.0], ONE_IN_NONE, [4, 0, 0]),
    ("unsorted_segment_max", [1.0, 5.0, 1.0], ONE_IN_NONE, [0.5, 0, 0.5]),
    ("unsorted_segment_min", [0.0, 5.0, 4.0], ONE_IN_NONE, [1, 0, 0]),
    ("unsorted_segment_sqrt_n", [1.0, 5.0, 1.0], ONE_IN_NONE, [0.7071067811865475, 0, 0.7071067811865475]),
]


@pytest.mark.parametrize(("name", "x", "ids", "expected"), SEGMENT_EDGES)
def test_segments_at_their_edges(name, x, ids, expected):
    function = getattr(cumulative, name)
    extra = [3] if name.startswith("unsorted") else []
    (found,) = tape_gradient(lambda t: function(t, ids, *extra), x)
    np.testing.assert_allclose(found, expected)


def test_segments_of_complex_numbers():
    check(lambda x: cumulative.segment_prod(x, [0, 0, 1]), sample_complex((3,)))
    check(lambda x: cumulative.unsorted_segment_prod(x, [1, 0, 1], 2), sample_complex((3,)))
    check(lambda x: cumulative.unsorted_segment_sum(x, [1, -1, 1], 2), sample_complex((3,)))


# Norms.


@pytest.mark.parametrize("order", ["euclidean", 1, 2, 3, 2.5, python_math.inf])
@pytest.mark.parametrize("axis", [None, 1])
def test_norms_of_vectors(order, axis):
    number = 2 if order == "euclidean" else order
    dims = (0, 1) if axis is None else axis
    theirs = lambda x: torch.linalg.vector_norm(x, number, dims)  # noqa: E731
    check_all(lambda x: norms.norm(x, order, axis), X, torch=theirs, second=False)


@pytest.mark.parametrize("order", ["fro", 1, python_math.inf])
def test_norms_of_matrices(order):
    theirs = lambda x: torch.linalg.matrix_norm(x, order)  # noqa: E731
    check_all(lambda x: norms.norm(x, order, axis=(0, 1)), X, torch=theirs, second=False)


def test_norms_of_complex_vectors():
    for order in ("euclidean", 1, 3):
        check(lambda x: norms.norm(x, order), sample_complex())  # noqa: B023


def test_normalizing():
    check_all(lambda x: norms.normalize(x, axis=1)[0], X)
    check_second_order(lambda x: norms.norm(x, axis=1), X)


def test_norms_at_their_edges():
    np.testing.assert_array_equal(tape_gradient(norms.norm, [0.0, 0.0])[0], [NAN, NAN])
    np.testing.assert_array_equal(tape_gradient(lambda x: norms.norm(x, 1), [0.0, -2.0])[0], [0, -1])
    np.testing.assert_array_equal(tape_gradient(lambda x: norms.norm(x, INF), [2.0, -2.0])[0], [0.5, -0.5])
    np.testing.assert_allclose(tape_gradient(lambda x: norms.norm(x, 3), [0.0, -2.0])[0], [0, -1])


def test_the_norm_of_many_tensors():
    check_all(lambda x, y: norms.global_norm([x, None, y]), X, CUBE)


# Clipping by norms.


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clipping_by_norms(limit):
    check_all(lambda x: clip.clip_by_norm(x, limit), X)
    check_all(lambda x: clip.clip_by_norm(x, limit, axes=[1]), X, second=False)
    check_all(lambda x: clip.clip_by_average_norm(x, limit), X, second=False)
    check_all(lambda x, y: clip.clip_by_global_norm([x, None, y], limit)[0], X, CUBE, second=False)


def test_clipping_by_norms_at_their_edges():
    np.testing.assert_array_equal(tape_gradient(lambda x: clip.clip_by_norm(x, 1.0), [0.0, 0.0])[0], [1, 1])
    for limit, expected in [
        (1.0, [0.032, -0.024]),
        (5.0, [0.16, -0.12]),
        (6.0, [1, 1]),
    ]:
        found = tape_gradient(lambda x: clip.clip_by_norm(x, limit), [3.0, 4.0])[0]  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def slices(values=((3.0, 0.0), (0.0, 4.0))):
    return IndexedSlices(constant(values), constant([2, 0]), constant([5, 2]))


def test_slices_are_clipped_by_their_rows_and_stay_slices():
    for clipped, expected in [
        (clip.clip_by_norm(slices(), 1.0), [[0.6, 0], [0, 0.8]]),
        (clip.clip_by_norm(slices(), 10.0), [[3, 0], [0, 4]]),
        (clip.clip_by_norm(slices(), 1.0, axes=[1]), [[1, 0], [0, 1]]),
    ]:
        assert isinstance(clipped, IndexedSlices)
        np.testing.assert_allclose(clipped.values.numpy(), expected, rtol=1e-6)
        np.testing.assert_array_equal(clipped.indices.numpy(), [2, 0])
        np.testing.assert_array_equal(clipped.dense_shape.numpy(), [5, 2])


def test_a_list_with_slices_and_gaps_is_clipped_together():
    tensor = constant([12.0])
    assert float(norms.global_norm([slices(), None, tensor])) == 13.0
    clipped, norm = clip.clip_by_global_norm([slices(), None, tensor], 6.5)
    assert float(norm) == 13.0
    assert clipped[1] is None
    assert isinstance(clipped[0], IndexedSlices)
    np.testing.assert_array_equal(clipped[0].values.numpy(), [[1.5, 0], [0, 2]])
    np.testing.assert_array_equal(clipped[2].numpy(), [6])


def test_a_list_with_slices_is_clipped_in_a_graph():
    with tf1.Graph().as_default():
        clipped, norm = clip.clip_by_global_norm([slices(), None, constant([12.0])], 6.5)
        assert isinstance(clipped[0], IndexedSlices)
        with tf1.Session() as session:
            rows, length = session.run([clipped[0].values, norm])
    np.testing.assert_array_equal(rows, [[1.5, 0], [0, 2]])
    assert length == 13.0


# Counting and random numbers.


def test_the_weights_of_a_confusion_matrix():
    function = lambda w: count.confusion_matrix([0, 1, 1], [1, 1, 0], weights=w, dtype=dt.float64)  # noqa: E731
    check_all(function, np.array([0.5, 2.0, 3.0]))


def test_concentrations_of_gamma_variables():
    """A sample moves with its concentration as its quantile does."""
    alpha = np.array([0.7, 2.0, 9.0])
    drawn = stateless.stateless_gamma([2, 3], [1, 2], constant(alpha), dtype=dt.float64)
    (found,) = tape_gradient(lambda a: stateless.stateless_gamma([2, 3], [1, 2], a, dtype=dt.float64), alpha)
    slope = tape_gradient(lambda a, x: -igamma(a, x), np.tile(alpha, (2, 1)), drawn.numpy())
    np.testing.assert_allclose(found, (slope[0] / -slope[1]).sum(0), rtol=2e-3)


def test_what_random_numbers_pass_back():
    assert tape_gradient(random.shuffle, [1.0, 2.0]) == [None]
    assert tape_gradient(lambda lam: stateless.stateless_poisson([1], [1, 2], lam, dt.float64), [3.0]) == [None]
    mean, deviation = tape_gradient(lambda m, d: random.normal([4], m, d, dtype=dt.float64, seed=1), 1.0, 2.0)
    assert mean == 4.0
    assert np.isfinite(deviation)
    low, high = tape_gradient(lambda a, b: random.uniform([4], a, b, dtype=dt.float64, seed=1), 1.0, 2.0)
    np.testing.assert_allclose(low + high, 4.0)
    with pytest.raises(LookupError, match="RandomPoissonV2"):
        tape_gradient(lambda lam: random.poisson([2], lam, dt.float64), [3.0])


def test_gradients_in_a_graph_end_at_the_sum_of_what_was_drawn():
    with tf1.Graph().as_default():
        alpha = tf1.placeholder(dt.float32, [None])
        (grad,) = gradients(random.gamma([5], alpha), [alpha])
        with tf1.Session() as session:
            assert session.run(grad, {alpha: [1.0, 2.0]}).shape == (2,)
