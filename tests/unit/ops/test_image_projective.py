"""Projective transforms of images: figures of TensorFlow 2.21, in ``projective_figures.json``, and bad arguments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "projective_figures.json").read_text())
IMAGES = (np.sin(np.arange(2 * 5 * 6 * 2) * 0.7) * 10).reshape(2, 5, 6, 2).astype("float32")
TRANSFORMS = np.array([[1.1, 0.2, -0.5, -0.1, 0.9, 0.3, 0.01, -0.02], [0.7, -0.6, 2, 0.5, 0.8, -3, 0, 0]], "float32")
AWAY = np.array([[1, 0, -40.3, 0, 1, 55.7, 0, 0]], "float32")
GIVEN = {"images": IMAGES, "transforms": TRANSFORMS, "output_shape": [4, 7], "fill_value": 1.5}
transform = tf.raw_ops.ImageProjectiveTransformV3


def compare(made, wanted):
    made = made.numpy()
    assert (list(made.shape), str(made.dtype)) == (wanted["shape"], wanted["dtype"])
    flat = made.astype("float64").ravel()
    np.testing.assert_allclose(flat[::9], wanted["some"], rtol=1e-3, atol=1e-3)
    atol = 0.05 if wanted["dtype"] == "float16" else 5e-3
    np.testing.assert_allclose(np.sum(flat * np.cos(np.arange(flat.size))), wanted["sum"], rtol=1e-3, atol=atol)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_tensorflow(name, on_device):
    words = name.split()
    if words[0] == "far":
        given = {**GIVEN, "transforms": AWAY, "output_shape": [5, 6], "fill_value": 0.0}
        made = transform(**given, interpolation="BILINEAR", fill_mode=words[1])
    elif words[0] == "gradient":
        x = tf.constant(IMAGES)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = transform(**{**GIVEN, "images": x}, interpolation=words[1], fill_mode=words[2])
            total = tf.reduce_sum(y * np.cos(np.arange(y.numpy().size, dtype="float32")).reshape(y.shape))
        made = tape.gradient(total, x)
    else:
        pixels = (np.abs(IMAGES) if words[2] == "uint8" else IMAGES).astype(words[2])
        made = transform(**{**GIVEN, "images": pixels}, interpolation=words[0], fill_mode=words[1])
    compare(made, FIGURES[name])


def test_nothing_changes():
    still = np.array([[1, 0, 0, 0, 1, 0, 0, 0]], "float32")
    for way in ("NEAREST", "BILINEAR"):
        made = transform(images=IMAGES, transforms=still, output_shape=[5, 6], fill_value=0.0, interpolation=way)
        np.testing.assert_array_equal(made.numpy(), IMAGES)
        older = tf.raw_ops.ImageProjectiveTransformV2(
            images=IMAGES, transforms=still, output_shape=[5, 6], interpolation=way
        )
        np.testing.assert_array_equal(older.numpy(), IMAGES)


def test_in_functions():
    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 2]), tf.TensorSpec([None, 8])])
    def turned(images, transforms):
        size = tf.shape(images)[1:3]
        return transform(images=images, transforms=transforms, output_shape=size, fill_value=0.0)

    given = {"images": IMAGES, "transforms": TRANSFORMS}
    np.testing.assert_allclose(
        turned(**given).numpy(), transform(**given, output_shape=[5, 6], fill_value=0.0).numpy(), rtol=1e-5
    )


def test_a_pixel_from_nowhere_has_the_color_that_fills():
    edge = np.array([[1, 0, 0, 0, 1, 0, -1, 0]], "float32")
    made = transform(images=IMAGES, transforms=edge, output_shape=[2, 2], fill_value=7.0, fill_mode="WRAP")
    assert made.numpy()[:, :, 1].tolist() == [[[7.0, 7.0]] * 2] * 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"transforms": TRANSFORMS[:, :7]}, "num_images x 8 or 1 x 8"),
        ({"transforms": np.ones([3, 8], "float32")}, "num_images x 8 or 1 x 8"),
        ({"images": IMAGES[0]}, "Input images must have rank 4"),
        ({"output_shape": [4]}, "output shape must have two elements"),
        ({"output_shape": [0, 4]}, "output dimensions must be positive"),
        ({"interpolation": "CUBIC"}, "interpolation must be NEAREST or BILINEAR, got 'CUBIC'"),
        ({"fill_mode": "MIRROR"}, "fill_mode must be CONSTANT"),
        ({"fill_value": [1.0, 2.0]}, "fill_value must be a scalar"),
    ],
)
def test_bad_arguments(given, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        transform(**GIVEN | given)
