"""Counts in C: the same results and the same errors as by PyTorch's ops, and as NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import situs as tf
from situs._src.base import compile_c
from situs._src.ops import quick_counts

pytestmark = pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")

several = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
entries = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan]), st.floats(-3, 3, width=32, allow_subnormal=False)
)


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A library that is there from the first element on, and ops that run on the host."""
    made = quick_counts.deferred(0)
    monkeypatch.setattr(quick_counts, "_library", made)
    assert made.functions(1) is not None
    with tf.device("/CPU:0"):
        yield


def outcome(function, *arguments):
    """What a function makes of its arguments: values, or the error."""
    try:
        made = function(*arguments)
    except tf.errors.InvalidArgumentError as error:
        return str(error)
    return made.dtype, made.numpy().tolist()


def same_both_ways(function, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITUS_NO_COMPILER", "1")
        expected = outcome(function, *arguments)
    found = outcome(function, *arguments)
    assert found == expected
    return found


@given(st.data())
@several
def test_the_top_k_as_numpy_finds_them(data):
    rows, classes = data.draw(st.integers(0, 4)), data.draw(st.sampled_from([1, 2, 5, 63, 64, 65, 130]))
    predictions = data.draw(arrays(np.float32, (rows, classes), elements=entries, fill=st.sampled_from([0.5, 1.5])))
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    targets = data.draw(arrays(dtype, rows, elements=st.integers(-2, classes + 1)))
    k = data.draw(st.integers(-1, classes + 1))
    _, found = same_both_ways(tf.math.in_top_k, targets, predictions, k)
    for row, target, answer in zip(predictions, targets, found, strict=True):
        exists = 0 <= target < classes and np.isfinite(row).all()
        assert answer == (exists and int((row > row[target]).sum()) < k)


def test_a_row_that_is_not_finite_behind_the_first_k_has_no_top():
    predictions = np.zeros((1, 200), np.float32)
    predictions[0, 199] = np.nan
    assert same_both_ways(tf.math.in_top_k, [0], predictions, 1) == (tf.bool, [False])


def test_targets_and_predictions_that_are_views_are_read_by_their_strides():
    predictions = tf.transpose(tf.constant(np.arange(12, dtype=np.float32).reshape(3, 4)))
    targets = tf.constant([0, 2, 1, 2, 2, 0, 0, 2])[::2]
    assert same_both_ways(tf.math.in_top_k, targets, predictions, 1)[1] == [False, False, True, False]
    predictions = tf.constant([[0.0, 1.0], [1.0, 0.0]])
    conjugate = tf.math.imag(tf.math.conj(tf.complex(predictions, predictions)))
    assert same_both_ways(tf.math.in_top_k, [0, 0], conjugate, 1)[1] == [True, False]


@given(st.data())
@several
def test_histograms_are_equal_both_ways_and_count_every_value(data):
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    values = data.draw(arrays(dtype, st.integers(0, 600), elements=entries, fill=st.sampled_from([0.25, 2.5])))
    low = data.draw(st.sampled_from([-2.5, 0.0, 0.1]))
    high = low + data.draw(st.sampled_from([0.3, 1.0, 7.7]))
    bins = data.draw(st.sampled_from([1, 2, 10, 1000]))
    counted = data.draw(st.sampled_from([tf.int32, tf.int64]))
    limits = np.array([low, high], dtype)
    found = same_both_ways(tf.histogram_fixed_width, values, limits, bins, counted)
    if np.isnan(values).any():
        assert "must not contain NaN" in found
        return
    step = float(limits[1] - limits[0]) / bins
    places = np.minimum((np.maximum(values, limits[0]) - limits[0]).astype(np.float64) / step, bins - 1).astype(int)
    assert found == (counted, np.bincount(places, minlength=bins).tolist())


def test_few_counts_do_not_wait_for_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_c, "_loaded", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    waiting = quick_counts.deferred(1000)
    assert [waiting.functions(400) is not None for _ in range(4)] == [False, False, True, True]
