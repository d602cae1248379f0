"""Functions of images, with their gradients: figures of TensorFlow 2.21 for the same images.

Of each result the figures have the shape, every n-th value, and a weighed sum of all.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.ops import image_filter, image_window

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "image_figures.json").read_text())
image = tf.image


def values(shape: Any, seed: int = 0) -> np.ndarray:
    return (np.sin(np.arange(np.prod(shape)) * 0.7 + seed) * 0.8).reshape(shape).astype("float32")


def unit(shape: Any, seed: int = 0) -> np.ndarray:
    return ((values(shape, seed) / 0.8 + 1) / 2).astype("float32")


BATCH, ONE, BYTES = unit([2, 5, 6, 3]), unit([5, 6, 3], 4), (unit([5, 6, 3], 1) * 255).astype("uint8")
LARGE, OTHER = unit([2, 16, 18, 3]), unit([2, 16, 18, 3], 3)
BOXES = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.5, 0.5, 1.2, 1.3]], "float32")
RIVALS = np.array(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]], "float32"
)
SCORES = np.array([0.9, 0.75, 0.6, 0.95, 0.5, 0.3], "float32")


def slopes(function: Any, *given: Any) -> list[Any]:
    """The result of a function, and the gradients of a weighed sum of it."""
    tensors = [tf.constant(each) for each in given]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        made = function(*tensors)
        total = tf.reduce_sum(made * values(made.shape, 2))
    return [made, *tape.gradient(total, tensors)]


def crops(x: Any, boxes: Any) -> Any:
    return image.crop_and_resize(x, boxes, [0, 1, 0], [3, 4], extrapolation_value=0.5)


CASES: dict[str, Any] = {
    "resize_bilinear_aa": lambda: [image.resize(BATCH, size, antialias=True) for size in ([8, 3], [3, 9], [2, 2])],
    "resize_aspect": lambda: [image.resize(BATCH, size, preserve_aspect_ratio=True) for size in ([10, 7], [3, 9])],
    "bicubic_grad": lambda: slopes(lambda x: image.resize(x, [8, 3], method="bicubic"), BATCH),
    "lanczos_grad": lambda: slopes(lambda x: image.resize(x, [3, 9], method="lanczos3", antialias=True), BATCH),
    "resize_with_pad": lambda: [
        image.resize_with_pad(BATCH, 8, 4),
        image.resize_with_pad(ONE, 4, 9),
        image.resize_with_pad(BYTES, 7, 7, method="nearest"),
        image_window.resize_image_with_pad(BATCH, 8, 4),
    ],
    "rgb_to_hsv": lambda: slopes(image.rgb_to_hsv, BATCH),
    "hsv_to_rgb": lambda: [image.hsv_to_rgb(BATCH)],
    "adjust_hue": lambda: [image.adjust_hue(BATCH, 0.3), image.adjust_hue(BYTES, -0.2)],
    "adjust_saturation": lambda: [image.adjust_saturation(BATCH, 0.5), image.adjust_saturation(BYTES, 2.0)],
    "adjust_gamma": lambda: [image.adjust_gamma(BATCH, 2.0, 1.5)],
    "yuv": lambda: [f(BATCH) for f in (image.rgb_to_yuv, image.yuv_to_rgb, image.rgb_to_yiq, image.yiq_to_rgb)],
    "sobel": lambda: slopes(image.sobel_edges, BATCH),
    "patches": lambda: slopes(
        lambda x: image.extract_patches(x, [1, 2, 3, 1], [1, 2, 1, 1], [1, 1, 2, 1], "VALID"), BATCH
    ),
    "patches_same": lambda: slopes(
        lambda x: image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), BATCH
    ),
    "psnr": lambda: [image.psnr(BATCH, unit([2, 5, 6, 3], 3), 1.0), image.psnr(BYTES, BYTES[::-1].copy(), 255)],
    "ssim": lambda: [
        image.ssim(LARGE, OTHER, 1.0),
        image.ssim(LARGE, LARGE, 1.0),
        image.ssim(LARGE, OTHER, 1.0, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.05),
    ],
    "tv": lambda: [image.total_variation(BATCH), image.total_variation(ONE)],
    "image_gradients": lambda: image.image_gradients(BATCH),
    "crop_and_resize": lambda: slopes(crops, BATCH, BOXES),
    "crop_and_resize_nearest": lambda: [image.crop_and_resize(BATCH, BOXES, [0, 1, 0], [3, 4], method="nearest")],
    "nms": lambda: [
        image.non_max_suppression(RIVALS, SCORES, 3),
        image.non_max_suppression(RIVALS, SCORES, 6, 0.5, 0.4),
        image.non_max_suppression(RIVALS, SCORES, 30, 0.95),
    ],
}


def resized(case: str) -> list[Any]:
    """``resize_kind_antialias_height`` or ``v1_kind_corners_height``."""
    door, kind, flag, height = case.split("_")
    size = [8, 3] if height == "8" else [3, 9]
    if door == "resize":
        return [image.resize(BATCH, size, method=kind, antialias=flag == "1")]
    return [getattr(image_filter, f"resize_{kind}")(BATCH, size, align_corners=flag == "1")]


@pytest.mark.parametrize("case", FIGURES)
def test_images_are_those_of_tensorflow(case: str) -> None:
    found = CASES[case]() if case in CASES else resized(case)
    for made, (shape, some, total) in zip(found, FIGURES[case], strict=True):
        flat = made.numpy().astype("float64").ravel()
        assert made.shape.as_list() == shape
        np.testing.assert_allclose(flat[:: max(1, len(flat) // 12)], some, rtol=3e-4, atol=3e-5)
        weighed = sum(value * math.sin(number * 0.7) for number, value in enumerate(flat))
        assert weighed == pytest.approx(total, rel=1e-3, abs=1e-3)


def test_images_of_sizes_that_are_not_known_yet() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def change(x: Any) -> Any:
        framed = image.resize_with_pad(x, 8, 4)
        assert framed.shape.as_list() == [8, 4, 3]
        patches = image.extract_patches(x[None], [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        crop = image.crop_and_resize(x[None], BOXES[:1], [0], [2, 2])
        return framed, image.resize(x, [3, 3], "lanczos3"), image.sobel_edges(x[None]), patches, crop

    wanted = change.python_function(tf.ensure_shape(ONE, [5, 6, 3]))
    for found, expected in zip(change(ONE), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_colors_at_random_stay_within_their_bounds() -> None:
    tf.random.set_seed(3)
    gray = np.full([2, 2, 3], 0.5, "float32")
    np.testing.assert_allclose(image.random_hue(gray, 0.5), gray, atol=1e-6)
    np.testing.assert_allclose(image.random_saturation(gray, 0.5, 2.0), gray, atol=1e-6)
    before = image.rgb_to_hsv(ONE).numpy()
    turned = (image.rgb_to_hsv(image.random_hue(ONE, 0.1)).numpy() - before)[..., 0]
    assert np.abs((turned + 0.5) % 1 - 0.5).max() <= 0.1 + 1e-5
    paler = image.rgb_to_hsv(image.random_saturation(ONE, 0.1, 0.9)).numpy()[..., 1]
    assert (paler <= before[..., 1] + 1e-6).all()


REFUSED: dict[str, tuple[Any, str]] = {
    "two colors": (lambda: image.rgb_to_hsv(ONE[..., :2]), "has 3 parts"),
    "whole colors": (lambda: image.rgb_to_hsv(BYTES), "tf.image.convert_image_dtype"),
    "turn": (lambda: image.adjust_hue(ONE, 2.0), r"in the interval \[-1, 1\]"),
    "bounds": (lambda: image.random_saturation(ONE, 2.0, 1.0), "upper must be > lower"),
    "most": (lambda: image.random_hue(ONE, 0.6), "max_delta must be <= 0.5"),
    "gamma": (lambda: image.adjust_gamma(ONE, -1), "non-negative"),
    "other size": (lambda: image.psnr(ONE, BATCH[0, :4], 1.0), "do not match"),
    "small": (lambda: image.ssim(BATCH, BATCH, 1.0), "smaller than filter_size=11"),
    "no batch": (lambda: image.sobel_edges(ONE), "a batch of images"),
    "patch": (lambda: image.extract_patches(BATCH, [2, 2], [1] * 4, [1] * 4, "SAME"), r"\[1, rows, columns, 1\]"),
    "padding": (lambda: image.extract_patches(BATCH, [1] * 4, [1] * 4, [1] * 4, "FULL"), "'SAME' or 'VALID'"),
    "boxes": (lambda: image.crop_and_resize(BATCH, BOXES[:, :3], [0, 1, 0], [3, 4]), "4 columns"),
    "method": (lambda: image.crop_and_resize(BATCH, BOXES, [0, 1, 0], [3, 4], "area"), "'bilinear' or 'nearest'"),
    "scores": (lambda: image.non_max_suppression(RIVALS, SCORES[:3], 3), "scores has incompatible shape"),
    "overlap": (lambda: image.non_max_suppression(RIVALS, SCORES, 3, 2.0), "iou_threshold must be in"),
    "frame": (lambda: image.resize_with_pad(ONE, 0, 4), "target_height must be > 0"),
    "size": (lambda: image.resize(ONE, [0, 4], "bicubic"), "must be positive"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_image_is_refused_in_words(case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=words):
        call()


@pytest.mark.parametrize("dtype", [tf.float16, tf.float64, tf.uint8, tf.float32])
def test_standardized_images_are_float32(dtype):
    image = tf.cast(tf.reshape(tf.range(12), [2, 2, 3]), dtype)
    made = tf.image.per_image_standardization(image)
    assert made.dtype is tf.float32
    numbers = np.arange(12).reshape(2, 2, 3)
    np.testing.assert_allclose(made, (numbers - numbers.mean()) / numbers.std(), rtol=1e-6)
