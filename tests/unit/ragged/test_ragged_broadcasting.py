"""Ragged tensors with others whose sizes are 1 somewhere, and their shapes. Results are TensorFlow 2.21's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import situs as tf

X = tf.ragged.constant([[10, 87, 12], [19, 53], [12, 32]])
MATRICES = tf.ragged.constant([[[1, 2], [3, 4], [5, 6]], [[7, 8]]], ragged_rank=1)
DEEP = tf.ragged.constant([[[[1], [2]], [], [[3]], [[4]]], [[[5], [6]], [[7]]]], ragged_rank=2)

CASES: list[tuple[Any, Any, Any]] = [
    (X, [[1000], [2000], [3000]], [[1010, 1087, 1012], [2019, 2053], [3012, 3032]]),
    (X, [[1]], [[11, 88, 13], [20, 54], [13, 33]]),
    (X, [1], [[11, 88, 13], [20, 54], [13, 33]]),
    (X, 1, [[11, 88, 13], [20, 54], [13, 33]]),
    (MATRICES, tf.constant([[10]]), [[[11, 12], [13, 14], [15, 16]], [[17, 18]]]),
    (MATRICES, tf.constant([10, 20]), [[[11, 22], [13, 24], [15, 26]], [[17, 28]]]),
    (MATRICES, tf.constant([[[10]], [[20]]]), [[[11, 12], [13, 14], [15, 16]], [[27, 28]]]),
    (
        DEEP,
        tf.constant([10, 20]),
        [[[[11, 21], [12, 22]], [], [[13, 23]], [[14, 24]]], [[[15, 25], [16, 26]], [[17, 27]]]],
    ),
    (DEEP, tf.constant([[[[1]]], [[[2]]]]), [[[[2], [3]], [], [[4]], [[5]]], [[[7], [8]], [[9]]]]),
    (tf.ragged.constant([[1, 2, 3]]), tf.constant([[10], [20]]), [[11, 12, 13], [21, 22, 23]]),
    (tf.ragged.constant([[1, 2, 3]]), tf.constant([[[10]], [[20]]]), [[[11, 12, 13]], [[21, 22, 23]]]),
    (
        tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]]),
        tf.ragged.constant([[[10], [20]], [[30]]], ragged_rank=1),
        [[[11, 12], [23]], [[34, 35, 36]]],
    ),
]


@pytest.mark.parametrize(("x", "y", "expected"), CASES)
def test_what_has_size_one_is_repeated(x: Any, y: Any, expected: Any) -> None:
    assert (x + y).to_list() == expected
    assert (y + x).to_list() == expected
    assert tf.add(x, y).to_list() == expected
    assert tf.function(lambda a, b: a + b)(x, tf.constant(y) if isinstance(y, list) else y).to_list() == expected


def test_sizes_that_differ_are_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shapes"):
        _ = X + tf.ones([3, 3], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible shapes"):
        _ = X + tf.ones([2, 1], tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(lambda x, y: x + y)(X, tf.ones([3, 3], tf.int32))


@pytest.mark.parametrize("sizes", list(itertools.product([1, 2], [1], [1, 3])))
def test_random_rows_like_a_loop(sizes: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    rows = [rng.integers(0, 9, [length, 3]) for length in (2, 4)]
    dense = rng.integers(0, 9, sizes)
    ragged = tf.RaggedTensor.from_row_splits(np.concatenate(rows), [0, 2, 6])
    expected = [(row + np.broadcast_to(dense, [2, 1, sizes[2]])[number]).tolist() for number, row in enumerate(rows)]
    assert (ragged * 1 + dense).to_list() == expected


def test_gradients_go_to_what_is_repeated() -> None:
    factor = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch(factor)
        total = tf.reduce_sum(tf.ragged.constant([[1.0, 2.0], [3.0]]) * factor)
    assert tape.gradient(total, factor).numpy().tolist() == [[3.0], [3.0]]


def test_comparisons_and_choices() -> None:
    assert (X == [[10], [19], [12]]).to_list() == [[True, False, False], [True, False], [True, False]]
    assert tf.where(X > [[15], [60], [0]], X, -X).to_list() == [[-10, 87, -12], [-19, -53], [12, 32]]


# Shapes.


def test_a_shape_says_the_lengths_of_rows() -> None:
    shape = tf.shape(X)
    assert repr(shape) == "<DynamicRaggedShape lengths=[3, (3, 2, 2)] num_row_partitions=1>"
    assert isinstance(shape, tf.experimental.DynamicRaggedShape)
    assert (shape.rank, shape.num_row_partitions, shape.inner_rank) == (2, 1, 1)
    assert int(shape[0]) == 3
    assert shape.is_uniform(0)
    assert not shape.is_uniform(1)
    assert repr(shape[:1]) == "<DynamicRaggedShape lengths=[3] num_row_partitions=0>"
    assert int(tf.shape(MATRICES)[2]) == int(tf.shape(MATRICES)[-1]) == 2
    with pytest.raises(ValueError, match="Index 1 is not uniform"):
        shape[1]


def test_shapes_are_made_of_lengths() -> None:
    made = tf.experimental.DynamicRaggedShape.from_lengths([4, (2, 1, 0, 8), 12])
    assert repr(made) == "<DynamicRaggedShape lengths=[4, (2, 1, 0, 8), 12] num_row_partitions=1>"
    uniform = tf.experimental.DynamicRaggedShape.from_lengths([2, 3, (1, 0, 2, 1, 1, 1)])
    assert repr(uniform) == "<DynamicRaggedShape lengths=[2, 3, (1, 0, 2, 1, 1, 1)] num_row_partitions=2>"
    assert int(uniform[1]) == 3
    parts = [tf.experimental.RowPartition.from_row_lengths([5, 3, 2])]
    made = tf.experimental.DynamicRaggedShape(row_partitions=parts, inner_shape=[10, 8])
    assert made.static_lengths() == [3, (5, 3, 2), 8]
    with pytest.raises(ValueError, match="2 rows, and 3 lengths"):
        tf.experimental.DynamicRaggedShape.from_lengths([2, (1, 1, 1)])


def test_shapes_are_taken_as_shapes() -> None:
    shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
    assert tf.zeros(shape).to_list() == [[0.0, 0.0], [0.0]]
    assert tf.ones(shape, tf.int32).to_list() == [[1, 1], [1]]
    assert tf.fill(shape, "x").to_list() == [[b"x", b"x"], [b"x"]]
    assert tf.reshape(tf.range(3), shape).to_list() == [[0, 1], [2]]
    assert tf.broadcast_to(5, shape).to_list() == [[5, 5], [5]]
    assert tf.broadcast_to(tf.constant([[1], [2]]), shape).to_list() == [[1, 1], [2]]


def test_rows_are_repeated_and_reversed() -> None:
    rows = tf.ragged.constant([[1, 2], [3]])
    assert tf.tile(rows, [2, 2]).to_list() == [[1, 2, 1, 2], [3, 3], [1, 2, 1, 2], [3, 3]]
    assert tf.reverse(rows, [0]).to_list() == [[3], [1, 2]]
    assert tf.reverse(rows, [1]).to_list() == [[2, 1], [3]]
    assert tf.reverse(rows, [0, -1]).to_list() == [[3], [2, 1]]
    assert tf.reverse(MATRICES, [2]).to_list() == [[[2, 1], [4, 3], [6, 5]], [[8, 7]]]
    assert tf.function(lambda x: tf.concat([x, tf.reverse(x, [1])], 1))(rows).to_list() == [[1, 2, 2, 1], [3, 3]]


def test_text_is_that_of_arrays() -> None:
    long = tf.ragged.constant(
        [["Let's", "build", "some", "ragged", "tensors", "!"], ["We", "can", "use", "constants."]]
    )
    assert str(long) == (
        "<tf.RaggedTensor [[b\"Let's\", b'build', b'some', b'ragged', b'tensors', b'!'],\n"
        " [b'We', b'can', b'use', b'constants.']]>"
    )
    assert repr(tf.ragged.constant([[1.5], []])) == "<tf.RaggedTensor [[1.5], []]>"
    assert repr(tf.ragged.constant([[], []])) == "<tf.RaggedTensor [[], []]>"


def test_functions_are_made_for_specs_of_ragged_tensors() -> None:
    double = tf.function(lambda x: x * 2.0)
    made = double.get_concrete_function(tf.RaggedTensorSpec([None, None], tf.float32))
    assert made(tf.ragged.constant([[1.0, 2.0], [3.0]])).to_list() == [[2.0, 4.0], [6.0]]
