"""Resizing images. ``resize_figures.json`` has what TensorFlow 2.21 gives: sizes, ways, values, gradients."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import image_resize

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "resize_figures.json").read_text())
IMAGE = np.array([[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]], np.float32)[None, :, :, None]
RESIZE = {"bilinear": v1.image.resize_bilinear, "nearest": v1.image.resize_nearest_neighbor}
CASES = [(method, *row) for method, rows in FIGURES.items() for row in rows]


@pytest.mark.parametrize(("method", "size", "corners", "centers", "values", "gradients"), CASES)
def test_values_and_gradients_are_tensorflows(method, size, corners, centers, values, gradients):
    x = tf.constant(IMAGE)
    weights = tf.reshape(tf.range(1.0, size[0] * size[1] + 1), [1, *size, 1])
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = eagerly(method, x, size, corners, centers)
        loss = tf.reduce_sum(weights * made)
    assert made.dtype == tf.float32
    np.testing.assert_allclose(made.numpy()[0, :, :, 0], values, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(tape.gradient(loss, x).numpy()[0, :, :, 0], gradients, rtol=1e-5, atol=1e-4)


def eagerly(method, x, size, corners, centers):
    """The ops of TensorFlow 1's names, on eager tensors."""
    function = image_resize.resize_bilinear if method == "bilinear" else image_resize.resize_nearest_neighbor
    return function(x, size, align_corners=corners, half_pixel_centers=centers)


@pytest.mark.parametrize(("method", "size", "corners", "centers", "values", "gradients"), CASES[::4])
def test_in_a_session_with_sizes_that_are_fed(method, size, corners, centers, values, gradients):
    with v1.Graph().as_default(), v1.Session() as session:
        image, wanted = v1.placeholder(tf.float32, [None, None, None, 1]), v1.placeholder(tf.int32, [2])
        made = RESIZE[method](image, wanted, align_corners=corners, half_pixel_centers=centers)
        weights = np.arange(1, size[0] * size[1] + 1, dtype=np.float32).reshape(1, *size, 1)
        (grad,) = v1.gradients(v1.reduce_sum(made * weights), image)
        found = session.run([made, grad], {image: IMAGE, wanted: size})
    np.testing.assert_allclose(found[0][0, :, :, 0], values, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[1][0, :, :, 0], gradients, rtol=1e-5, atol=1e-4)


def test_images_of_a_batch_and_channels_are_resized_each_for_itself():
    images = np.random.default_rng(0).random((2, 5, 4, 3), np.float32)
    made = tf.image.resize(images, [7, 3]).numpy()
    for number in range(2):
        for channel in range(3):
            one = tf.image.resize(images[number, :, :, channel, None], [7, 3]).numpy()
            np.testing.assert_allclose(made[number, :, :, channel], one[:, :, 0])


def test_the_two_dialects():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
    made = tf.image.resize(image, [1, 2])
    assert (made.dtype, made.numpy().ravel().tolist()) == (tf.float32, [75, 85, 95, 135, 145, 155])
    near = tf.image.resize(image, [1, 2], method="nearest")
    assert (near.dtype, near.numpy().ravel().tolist()) == (tf.uint8, [150, 160, 170, 210, 220, 230])
    assert tf.image.resize(image, [2, 4]).dtype == tf.float32
    old = image_resize.resize_images
    assert old(image, [1, 2]).numpy().ravel().tolist() == [0, 10, 20, 60, 70, 80]
    assert (old(image, [2, 4]).dtype, old(image, [2, 4]).numpy().tolist()) == (tf.uint8, image.tolist())
    method = v1.image.ResizeMethod.NEAREST_NEIGHBOR
    assert old(image, [4, 4], method).dtype == tf.uint8
    assert tf.image.resize(image, [4, 4], tf.image.ResizeMethod.NEAREST_NEIGHBOR).dtype == tf.uint8


def test_proportions_are_kept():
    assert tf.image.resize(tf.zeros([5, 7, 1]), [4, 4], preserve_aspect_ratio=True).shape == [3, 4, 1]
    assert tf.image.resize(tf.zeros([2, 4, 1]), [4, 4], preserve_aspect_ratio=True).shape == [2, 4, 1]

    @tf.function(input_signature=[tf.TensorSpec([None, None, 1])])
    def resized(image):
        return tf.image.resize(image, [4, 4], preserve_aspect_ratio=True)

    assert resized(tf.zeros([5, 7, 1])).shape == [3, 4, 1]


@pytest.mark.parametrize("keeps", [False, True])
def test_the_old_function_takes_sizes_that_are_told_later(keeps):
    @tf.function(input_signature=[tf.TensorSpec([None, None, 1]), tf.TensorSpec([2], tf.int32)])
    def resized(image, size):
        return v1.image.resize_images(image, size, preserve_aspect_ratio=keeps)

    assert resized(tf.zeros([5, 7, 1]), [4, 4]).shape == [3 if keeps else 4, 4, 1]


def test_what_is_known_of_the_shape():
    with v1.Graph().as_default():
        image = v1.placeholder(tf.float32, [None, None, None, 3])
        assert v1.image.resize_images(image, [4, 5]).shape.as_list() == [None, 4, 5, 3]
        assert v1.image.resize_images(image[0], [4, 5]).shape.as_list() == [4, 5, 3]
        wanted = v1.placeholder(tf.int32, [2])
        assert v1.image.resize_images(image, wanted).shape.as_list() == [None, None, None, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tf.image.resize(tf.zeros([5, 7]), [4, 4]), "'images' must have either 3 or 4 dimensions"),
        (lambda: tf.image.resize(tf.zeros([5, 7, 1]), [4, 4, 4]), "'size' must be a 1-D Tensor of 2 elements"),
        (lambda: tf.image.resize(tf.zeros([5, 7, 1]), [0, 4]), "output dimensions must be positive"),
        (lambda: tf.image.resize(tf.zeros([5, 7, 1]), [-1, 4]), "output dimensions must be positive"),
        (lambda: tf.image.resize(tf.zeros([5, 0, 1]), [1, 4]), "must be of non-zero size"),
        (lambda: tf.image.resize(tf.zeros([5, 0, 1]), [1, 4], preserve_aspect_ratio=True), "must be of non-zero size"),
        (lambda: tf.image.resize(tf.zeros([5, 7, 1]), [4, 4], method="foo"), "Resize method is not implemented"),
        (lambda: tf.image.resize(tf.zeros([5, 7, 1]), [4, 4], method=9), "Resize method is not implemented"),
        (lambda: eagerly("nearest", tf.zeros([1, 2, 2, 1]), [2, 2], True, True), "align_corners must be False"),
        (lambda: eagerly("bilinear", tf.zeros([2, 2, 1]), [2, 2], True, False), "4-dimensional"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sizes_are_integers():
    with pytest.raises(TypeError, match="integers"):
        tf.image.resize(tf.zeros([5, 7, 1]), [4.0, 4.0])


def test_the_gradient_of_the_gradient():
    x = tf.constant(IMAGE)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.image.resize(x, [5, 6]) ** 3)
        slope = tf.reduce_sum(inner.gradient(y, x) ** 2)
    found = outer.gradient(slope, x).numpy()
    step = np.zeros_like(IMAGE)
    step[0, 1, 2, 0] = 0.5

    def slope_at(image):
        t = tf.constant(image, tf.float64)
        weights = tf.cast(tf.image.resize(tf.reshape(tf.eye(12), [12, 3, 4, 1]), [5, 6]), tf.float64)
        matrix = tf.transpose(tf.reshape(weights, [12, 30])).numpy()
        values = matrix @ t.numpy().ravel()
        return ((matrix.T @ (3 * values**2)) ** 2).sum()

    expected = (slope_at(IMAGE + 1e-4 * step) - slope_at(IMAGE - 1e-4 * step)) / 1e-4
    np.testing.assert_allclose(found[0, 1, 2, 0], expected, rtol=1e-3)
