"""Values that are known in part before a graph runs, and shapes that follow from them, as recorded from TensorFlow."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

FROM_A_SHAPE = {
    "an entry": (lambda s: [s[0]], [10]),
    "a copy of an entry": (lambda s: [tf.identity(s[0])], [10]),
    "arithmetic": (lambda s: [s[0] * 2 + 1, 3], [21, 3]),
    "joined": (lambda s: tf.concat([s[:1], [7], s[1:]], 0), [10, 7, None]),
    "taken apart": (lambda s: tf.unstack(s)[::-1], [None, 10]),
    "all entries": (lambda s: s * 2, [20, None]),
    "stacked": (lambda s: tf.stack([s[1], s[0]]), [None, 10]),
    "cast": (lambda s: tf.cast(s, tf.int64), [10, None]),
    "gathered": (lambda s: tf.gather(s, [0, 0]), [10, 10]),
    "the larger": (lambda s: [tf.minimum(s[1], 5), tf.maximum(s[0], 50)], [None, 50]),
    "entry by entry": (lambda s: tf.minimum(s, [3, 4]), [3, None]),
}


@pytest.mark.parametrize("case", FROM_A_SHAPE)
def test_what_is_made_of_a_shape_known_in_part(case):
    make, expected = FROM_A_SHAPE[case]
    zeros = tf.function(lambda x: tf.zeros(make(tf.shape(x))))
    assert zeros.get_concrete_function(tf.TensorSpec([10, None])).output_shapes.as_list() == expected
    known = zeros(tf.ones([10, 4])).shape.as_list()
    assert all(was in (None, now) for was, now in zip(expected, known, strict=True))


def test_a_product_of_what_is_not_known_is_not_known():
    zeros = tf.function(lambda x: tf.zeros(tf.reduce_prod(tf.shape(x))[None]))
    assert zeros.get_concrete_function(tf.TensorSpec([10, None])).output_shapes.as_list() == [None]
    nothing = tf.function(lambda x: tf.zeros(tf.shape(x)))
    assert nothing.get_concrete_function(tf.TensorSpec(None)).output_shapes.rank is None


def test_reshape_by_a_placeholder_and_numbers():
    with v1.Graph().as_default():
        some = v1.placeholder(tf.int32, [2])
        x = v1.placeholder(tf.float32)
        assert tf.reshape(x, tf.concat([some, [37, 42]], 0)).shape.as_list() == [None, None, 37, 42]


PADDINGS = {
    "of one dimension": (lambda x: [[1, 2], x], [7, None]),
    "before": (lambda x: [[x, 0], [1, 2]], [None, 7]),
    "after": (lambda x: [[1, 2], [0, x]], [7, None]),
    "beside a tensor": (lambda x: [tf.constant(1, shape=[2]), [0, x]], [6, None]),
}


@pytest.mark.parametrize("case", PADDINGS)
def test_paddings_known_in_part(case):
    make, expected = PADDINGS[case]
    with v1.Graph().as_default():
        x = v1.placeholder(tf.int32)
        assert tf.pad(tf.zeros([4, 4]), make(x)).shape.as_list() == expected
        assert tf.pad(v1.placeholder(tf.float32), make(x)).shape.as_list() == [None, None]


def test_paddings_known_in_part_are_used_as_they_are_fed():
    with v1.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.int32, [])
        padded = tf.pad(tf.ones([1, 2]), [[0, 1], [x, 0]])
        np.testing.assert_array_equal(sess.run(padded, {x: 1}), [[0, 1, 1], [0, 0, 0]])


def test_tile_knows_its_rank_from_the_multiples():
    with v1.Graph().as_default():
        assert tf.tile(v1.placeholder(tf.float32), tf.constant([1, 2, 3, 4])).shape.as_list() == [None] * 4


def test_the_rank_is_known_without_the_axis():
    with v1.Graph().as_default():
        axis = v1.placeholder(tf.int32)
        matrix = tf.constant([[0, 1, 2, 3]])
        assert tf.gather(matrix, [[0, 0], [0, 0]], axis=axis).shape.as_list() == [None] * 3
        assert tf.gather(matrix, v1.placeholder(tf.int32), axis=axis).shape.rank is None
        assert [part.shape.as_list() for part in tf.split(matrix, 4, axis=axis)] == [[None, None]] * 4
