"""The best boxes of many, similarity at several scales and glimpses: figures of TensorFlow 2.21 for the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests import recorded

FIGURES = Path(__file__).parents[2] / "data" / "image_suppression_figures.json"
image = tf.image
random = np.random.RandomState(0)
CORNERS = random.rand(2, 12, 2, 2).astype("float32")
SIZES = random.rand(2, 12, 2, 2).astype("float32")
BOXES = np.concatenate([CORNERS, CORNERS + SIZES * np.float32(0.6)], -1)
SCORES = random.rand(2, 12, 2).astype("float32")
ALIKE = random.rand(6, 6).astype("float32")
PICTURE = random.rand(2, 44, 37, 3).astype("float32")
OTHER = np.clip(PICTURE + random.rand(2, 44, 37, 3) * 0.1, 0, 1).astype("float32")
BYTES, OTHER_BYTES = (PICTURE * 255).astype("uint8"), (OTHER * 255).astype("uint8")
GRID = np.arange(50, dtype="float32").reshape(2, 5, 5, 1)


def best(**options: Any) -> Any:
    return tuple(image.combined_non_max_suppression(BOXES, SCORES, 4, 10, **options))


def scored(**options: Any) -> Any:
    return image.non_max_suppression_with_scores(BOXES[0, :, 0], SCORES[0, :, 0], 9, **options)


def padded(boxes: Any, scores: Any, count: int, **options: Any) -> Any:
    return image.non_max_suppression_padded(tf.constant(boxes), tf.constant(scores), count, **options)


def similarity(x: Any, y: Any, highest: Any = 1.0) -> Any:
    return image.ssim_multiscale(x, y, highest, (0.3, 0.4, 0.3), filter_size=7)


def slope_of_similarity() -> Any:
    x = tf.constant(PICTURE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(similarity(x, OTHER))
    return tape.gradient(total, x)


def similarity_of_any_size() -> Any:
    spec = tf.TensorSpec([None, None, None, 3], tf.float32)
    return tf.function(similarity, input_signature=[spec, spec])(PICTURE, OTHER)


def glimpse(centered: bool, normalized: bool, offsets: Any) -> Any:
    return image.extract_glimpse(GRID, [3, 4], offsets, centered, normalized, "zero")


CASES: dict[str, Any] = {
    "combined": best,
    "combined, padded by class": lambda: best(pad_per_class=True),
    "combined, not clipped": lambda: best(clip_boxes=False, score_threshold=0.4, iou_threshold=0.2),
    "combined, shared boxes": lambda: tuple(image.combined_non_max_suppression(BOXES[:, :, :1], SCORES, 4, 6)),
    "with scores": lambda: scored(iou_threshold=0.3),
    "soft": lambda: scored(soft_nms_sigma=0.5),
    "soft, with a least score": lambda: scored(soft_nms_sigma=0.3, score_threshold=0.3),
    "padded": lambda: padded(BOXES[0, :, 0], SCORES[0, :, 0], 8, iou_threshold=0.3, score_threshold=0.5),
    "padded batch": lambda: padded(BOXES[:, :, 0], SCORES[:, :, 0], 20, iou_threshold=0.3, pad_to_max_output_size=True),
    "by likeness": lambda: image.non_max_suppression_overlaps(ALIKE, SCORES[0, :6, 0], 6, 0.4),
    "similarity": lambda: similarity(PICTURE, OTHER),
    "similarity of bytes": lambda: similarity(BYTES, OTHER_BYTES, 255),
    "slope of similarity": slope_of_similarity,
    "similarity of any size": similarity_of_any_size,
    "glimpse": lambda: glimpse(False, False, [[-2, 1], [-0.5, 7]]),
    "glimpse, centered": lambda: glimpse(True, False, [[-1, 1], [0, 2.6]]),
    "glimpse, normalized": lambda: glimpse(False, True, [[0.3, 0.4], [-0.3, 0.8]]),
    "glimpse, both": lambda: glimpse(True, True, [[0.2, -0.3], [0.9, 0.9]]),
}


@pytest.mark.parametrize("case", CASES)
def test_figures(case):
    recorded.check(CASES[case](), FIGURES, case)


def test_functions_of_unknown_shapes():
    names = tf.function(
        lambda b, s: image.combined_non_max_suppression(b, s, 4, 10),
        input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec([None, None, None], tf.float32)],
    )
    for one, other in zip(names(BOXES, SCORES), best(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_graphs():
    with v1.Graph().as_default(), v1.Session() as session:
        boxes = v1.placeholder(tf.float32, [None, 4])
        numbers, values = v1.image.non_max_suppression_with_scores(boxes, SCORES[0, :, 0], 9, iou_threshold=0.3)
        made = session.run([numbers, values], {boxes: BOXES[0, :, 0]})
    np.testing.assert_array_equal(made[0], scored(iou_threshold=0.3)[0])


def test_noise_fills_a_glimpse():
    assert float(tf.reduce_max(image.extract_glimpse(GRID, [3, 3], [[50, 50]] * 2, False, False))) <= 1
    with v1.Graph().as_default(), v1.Session() as session:
        wild = v1.image.extract_glimpse(GRID, [30, 30], [[50, 50]] * 2, False, False, uniform_noise=False)
        assert session.run(wild).min() < 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="must be True for batched input"):
        padded(BOXES[:, :, 0], SCORES[:, :, 0], 3)
    with pytest.raises(ValueError, match="noise must be"):
        image.extract_glimpse(GRID, [3, 3], [[0, 0]] * 2, noise="pink")
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="smaller than filter_size"):
        image.ssim_multiscale(PICTURE, OTHER, 1.0)
