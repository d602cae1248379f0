"""Boxes drawn into images: refusals, graphs and TensorFlow 1's arguments; `test_seeded` compares the pixels."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

IMAGES = np.zeros((1, 5, 5, 1), np.float32)
BOXES = [[[0.25, 0.25, 0.75, 0.75]]]
DRAWN = [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_a_box_in_functions_and_sessions():
    np.testing.assert_array_equal(tf.image.draw_bounding_boxes(IMAGES, BOXES, None)[0, :, :, 0], DRAWN)
    draw = tf.function(tf.image.draw_bounding_boxes)
    np.testing.assert_array_equal(draw(IMAGES, tf.constant(BOXES), None)[0, :, :, 0], DRAWN)
    with v1.Graph().as_default(), v1.Session() as session:
        made = v1.image.draw_bounding_boxes(v1.constant(IMAGES), v1.constant(BOXES), colors=[[2.0]])
        assert made.shape.as_list() == [1, 5, 5, 1]
        np.testing.assert_array_equal(session.run(made)[0, :, :, 0], np.multiply(DRAWN, 2))


def test_the_images_stay_as_they_were():
    images = tf.zeros([1, 5, 5, 3])
    tf.image.draw_bounding_boxes(images, BOXES, None)
    assert not images.numpy().any()


@pytest.mark.parametrize(
    ("images", "boxes", "colors", "message"),
    [
        (IMAGES[0], BOXES, None, "rank of the images"),
        (np.zeros((1, 5, 5, 2), np.float32), BOXES, None, "Channel depth"),
        (IMAGES, BOXES[0], None, "boxes"),
        (IMAGES, [BOXES[0] * 2, BOXES[0] * 2], None, "batch sizes"),
        (IMAGES, BOXES, [1.0], "2-D matrix"),
        (np.zeros((1, 5, 5, 3), np.float32), BOXES, [[1.0]], "channels"),
    ],
)
def test_refusals_of_boxes(images, boxes, colors, message):
    with pytest.raises(ValueError, match=message):
        tf.image.draw_bounding_boxes(images, boxes, colors)
