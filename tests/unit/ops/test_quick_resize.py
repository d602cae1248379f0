"""Resizing in C and by PyTorch's ops: the same pixels to the bit, also of large images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import compile_c
from situs._src.ops import image_resize, quick_resize

needs_compiler = pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")
several = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WAYS = ["bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]


@pytest.fixture(params=[pytest.param("C", marks=needs_compiler), "PyTorch"])
def way(request, monkeypatch):
    """Both ways on the host, that of C from the first element on."""
    monkeypatch.setattr(quick_resize, "_library", quick_resize.deferred(0))
    if request.param == "PyTorch":
        monkeypatch.setenv("SITUS_NO_COMPILER", "1")
    with tf.device("/CPU:0"):
        yield request.param


def resized(images, size, kind, corners, antialias):
    """Images resized by one of the two dialects, and the gradient of a weighted sum of them."""
    x = tf.constant(images)
    with tf.GradientTape() as tape:
        tape.watch(x)
        if kind.startswith("v1."):
            y = image_resize.resize_images(x, size, getattr(v1.image.ResizeMethod, kind[3:]), align_corners=corners)
        else:
            y = tf.image.resize(x, size, kind, antialias=antialias)
    weights = tf.reshape(tf.range(1.0, tf.size(y) + 1, dtype=tf.float32), tf.shape(y))
    grad = tape.gradient(y, x, output_gradients=weights) if x.dtype.is_floating else None
    return y.numpy(), None if grad is None else grad.numpy()


@needs_compiler
@given(st.data())
@several
def test_pixels_and_gradients_are_equal_both_ways(data):
    dtype = data.draw(st.sampled_from([np.float32, np.uint8, np.int16, np.float64]))
    shape = [data.draw(st.integers(1, top)) for top in (2, 9, 9, 5)]
    images = np.random.default_rng(data.draw(st.integers(0, 9))).integers(0, 250, shape).astype(dtype)
    size = [data.draw(st.integers(1, 13)) for _ in range(2)]
    kind = data.draw(st.sampled_from([*WAYS, "v1.BILINEAR", "v1.BICUBIC", "v1.AREA"]))
    case = images, size, kind, data.draw(st.booleans()), data.draw(st.booleans())
    with pytest.MonkeyPatch.context() as patch, tf.device("/CPU:0"):
        patch.setattr(quick_resize, "_library", quick_resize.deferred(0))
        found = resized(*case)
        patch.setenv("SITUS_NO_COMPILER", "1")
        expected = resized(*case)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [*WAYS, "v1.BICUBIC", "v1.AREA"])
@pytest.mark.parametrize("antialias", [False, True])
def test_a_large_image_of_smooth_values_stays_one(way, kind, antialias):
    """A plane stays a plane: inside, each new pixel has the value at its center. It took gigabytes once."""
    rows, columns = np.arange(375.0)[:, None], np.arange(500.0)
    image = (2 * rows + columns + 1)[None, :, :, None].astype(np.float32) * np.ones(3, np.float32)
    y, grad = resized(image, [150, 625], kind, False, antialias)
    centers = [(np.arange(size) + 0.5) * step - 0.5 for size, step in ((150, 2.5), (625, 0.8))]
    if kind == "v1.BICUBIC":
        centers = [np.arange(size) * step for size, step in ((150, 2.5), (625, 0.8))]
    expected = 2 * centers[0][:, None] + centers[1] + 1
    slack = 2.0 if kind in ("area", "v1.AREA") or (kind == "gaussian" and not antialias) else 0.6
    np.testing.assert_allclose(y[0, 5:-5, 8:-8, 1], expected[5:-5, 8:-8], atol=slack)
    total = np.arange(1.0, y.size + 1).sum()
    np.testing.assert_allclose(grad.sum(dtype=np.float64), total, rtol=1e-3)  # the weights of a new pixel sum to 1


def test_images_that_are_views_are_resized_as_their_copies(way):
    images = np.random.default_rng(0).random((2, 6, 5, 3), np.float32)
    view = tf.transpose(tf.constant(images.transpose(0, 2, 1, 3).copy()), [0, 2, 1, 3])
    for kind in ("bilinear", "bicubic"):
        expected = tf.image.resize(images, [4, 9], kind).numpy()
        np.testing.assert_array_equal(tf.image.resize(view, [4, 9], kind).numpy(), expected)
        np.testing.assert_array_equal(
            tf.image.resize(images[:, ::-1], [4, 9], kind).numpy()[:, ::-1].shape, expected.shape
        )


def test_batches_and_channels_without_elements(way):
    for kind in ("bilinear", "bicubic"):
        assert tf.image.resize(tf.zeros([0, 5, 4, 3]), [7, 3], kind).shape == [0, 7, 3, 3]
        assert tf.image.resize(tf.zeros([2, 5, 4, 0]), [7, 3], kind).shape == [2, 7, 3, 0]
