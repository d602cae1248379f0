"""Random parts of images that show enough of an object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

SIZE = [40, 60, 3]
BOX = [[[0.25, 0.25, 0.75, 0.5]]]


@pytest.mark.parametrize("covered", [0.1, 0.5, 1.0])
def test_parts_show_enough_of_the_object(covered: float) -> None:
    seen = set()
    for seed in range(1, 40):
        begin, size, boxes = tf.image.sample_distorted_bounding_box(
            SIZE, BOX, seed=seed, min_object_covered=covered, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.9]
        )
        (top, left, _), (rows, columns, channels) = begin.numpy(), size.numpy()
        assert channels == -1
        np.testing.assert_allclose(
            boxes.numpy()[0, 0], [top / 40, left / 60, (top + rows) / 40, (left + columns) / 60], rtol=1e-6
        )
        whole = (rows, columns) == (40, 60)
        if not whole:
            assert 0.1 <= rows * columns / 2400 <= 0.9
            assert 0.5 - 0.05 <= columns / rows <= 2.0 + 0.1
            shown = max(min(top + rows, 30) - max(top, 10), 0) * max(min(left + columns, 30) - max(left, 15), 0)
            assert shown / (20 * 15) >= covered - 1e-9
        seen.add((int(top), int(left), int(rows), int(columns)))
        assert tf.slice(tf.zeros(SIZE), begin, size).shape.as_list() == [rows, columns, 3]
    assert len(seen) > 5


def test_a_seed_gives_the_same_part_again() -> None:
    def drawn() -> list[Any]:
        tf.random.set_seed(7)
        found = tf.image.sample_distorted_bounding_box(SIZE, BOX, seed=3)
        return [each.numpy().tolist() for each in found]

    assert drawn() == drawn()


def test_without_objects() -> None:
    none = np.zeros((1, 0, 4), np.float32)
    found = tf.image.sample_distorted_bounding_box(SIZE, none, use_image_if_no_bounding_boxes=True)
    assert found.size.numpy()[2] == -1
    with pytest.raises(tf.errors.InvalidArgumentError, match="No bounding boxes"):
        tf.image.sample_distorted_bounding_box(SIZE, none)


def test_in_a_session() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        begin, size, _ = v1.image.sample_distorted_bounding_box(v1.constant(SIZE), v1.constant(BOX), seed=1)
        part = v1.slice(v1.zeros(SIZE), begin, size)
        assert session.run(part).shape[2] == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"area_range": [0.5, 2.0]}, "at most 1"),
        ({"aspect_ratio_range": [2.0, 1.0]}, "in order"),
        ({"aspect_ratio_range": [1.0]}, "2 dimensions"),
        ({"max_attempts": 0}, "positive"),
        ({"image_size": [1, 2]}, "3 elements"),
        ({"bounding_boxes": [[[0.5, 0.5, 1.2, 0.9]]]}, "y_min"),
        ({"bounding_boxes": [[0.5, 0.5, 0.2, 0.9]]}, "number, 4"),
        ({"min_object_covered": -0.5}, "non-negative"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.image.sample_distorted_bounding_box(**{"image_size": SIZE, "bounding_boxes": BOX, **changes})
