"""Max pooling in C: the same maxima, places and gradients as by PyTorch's ops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import situs as tf
from situs._src.base import compile_c
from situs._src.ops.nn import quick_pool

pytestmark = pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")

several = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
entries = st.sampled_from([0.0, -0.0, 1.0, -1.5, 2.0, 3.25, np.inf, -np.inf, np.nan])


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A library that is there from the first element on, and ops that run on the host."""
    made = quick_pool.deferred(0)
    monkeypatch.setattr(quick_pool, "_library", made)
    assert made.functions(1) is not None
    with tf.device("/CPU:0"):
        yield


def pooled(images, **window):
    """The maxima, and the gradient of their sum with weights, which tells where they were found."""
    x = tf.constant(images)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.pool(x, pooling_type="MAX", **window)
    weights = tf.reshape(tf.range(1.0, tf.size(y) + 1, dtype=tf.float32), tf.shape(y))
    return y.numpy(), tape.gradient(y, x, output_gradients=weights).numpy()


@given(st.data())
@several
def test_maxima_and_gradients_are_equal_both_ways(data):
    n = data.draw(st.integers(1, 2))
    sizes = [data.draw(st.integers(1, 6)) for _ in range(n)]
    shape = (data.draw(st.integers(1, 2)), *sizes, data.draw(st.sampled_from([1, 3, 17])))
    images = data.draw(arrays(np.float32, shape, elements=entries, fill=st.sampled_from([0.5, -np.inf])))
    window = {
        "window_shape": [data.draw(st.integers(1, size)) for size in sizes],
        "strides": [data.draw(st.integers(1, 3)) for _ in sizes],
        "padding": data.draw(st.sampled_from(["SAME", "VALID"])),
    }
    found = pooled(images, **window)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITUS_NO_COMPILER", "1")
        expected = pooled(images, **window)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_dilated_and_explicitly_padded_windows(monkeypatch):
    images = np.random.default_rng(0).normal(size=(2, 7, 6, 5)).astype(np.float32)
    x = tf.constant(images)
    explicit = [[0, 0], [1, 1], [0, 1], [0, 0]]

    def both():
        dilated = tf.nn.pool(x, [2, 2], "MAX", dilations=[2, 3], padding="VALID")
        return dilated.numpy(), tf.nn.max_pool2d(x, [3, 2], [2, 1], explicit).numpy()

    found = both()
    monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    for ours, theirs in zip(found, both(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
