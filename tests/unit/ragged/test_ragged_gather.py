"""``tf.gather`` of ragged tensors along any axis: its definition, written with lists, is the truth."""

from __future__ import annotations

import pytest

import situs as tf
from situs.errors import InvalidArgumentError

ROWS = [[1, 2], [3, 4, 5], [6, 7]]
DEEP = [[[1, 2], [3, 4, 5]], [[6, 7]], [[8, 9], [10, 11], [12, 13]]]
WIDE = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
LISTS = [[1, 0], [2], [0, 1]]


def chosen(params, indices):
    """``params`` along their first axis."""
    return [chosen(params, each) for each in indices] if isinstance(indices, list) else params[indices]


def truth(params, indices, axis, batch):
    if batch:
        return [truth(p, i, axis - 1, batch - 1) for p, i in zip(params, indices, strict=True)]
    return chosen(params, indices) if axis == 0 else [truth(p, indices, axis - 1, 0) for p in params]


CASES = {
    "rows": (ROWS, [1, 0], 1, 0),
    "one": (ROWS, 1, 1, 0),
    "table": (ROWS, [[0, 1], [1, 1]], 1, 0),
    "ragged indices": (ROWS, [[0, 1], [1]], 1, 0),
    "deep, first": (DEEP, [2, 0], 0, 0),
    "deep, middle": (DEEP, [0, 0], 1, 0),
    "deep, last": (DEEP, [1, 0, 1], 2, 0),
    "deep, last by ragged": (DEEP, [[1], [0, 1]], 2, 0),
    "dense, ragged indices": (WIDE, [[0, 1], [1], []], 1, 0),
    "dense, ragged indices, last": (WIDE, [[0, 1], [1]], 2, 0),
    "batch": (ROWS, LISTS, 1, 1),
    "batch, one each": (ROWS, [1, 2, 0], 1, 1),
    "batch, deep": (DEEP, [[1, 0], [0], [2, 2]], 1, 1),
    "batch, deep, last": (DEEP, [[1, 0], [0], [1]], 2, 1),
    "two batches": (DEEP, [[[0], [2, 1]], [[1]], [[0, 0], [1], [1]]], 2, 2),
}


def as_tensor(value):
    ragged = isinstance(value, list) and any(isinstance(each, list) for each in value)
    return tf.ragged.constant(value, dtype=tf.int32) if ragged and value is not WIDE else tf.constant(value)


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_it_is_what_its_definition_says(name, in_function):
    params, indices, axis, batch = CASES[name]
    given = as_tensor(params), as_tensor(indices)

    def gather(params, indices):
        return tf.gather(params, indices, axis=axis, batch_dims=batch)

    made = (tf.function(gather) if in_function else gather)(*given)
    found = made.to_list() if isinstance(made, tf.RaggedTensor) else made.numpy().tolist()
    assert found == truth(params, indices, axis, batch)


def test_negative_axes_count_from_the_end():
    rows = tf.ragged.constant(DEEP)
    assert tf.gather(rows, [1, 0], axis=-1).to_list() == truth(DEEP, [1, 0], 2, 0)
    lists = tf.ragged.constant(LISTS)
    assert tf.gather(tf.ragged.constant(ROWS), lists, batch_dims=-1).to_list() == truth(ROWS, LISTS, 1, 1)


def test_gradients_flow_to_what_was_chosen():
    values = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(values)
        rows = tf.RaggedTensor.from_row_splits(values, [0, 2, 5])
        made = tf.gather(rows, [1, 1], axis=1)
    assert tf.convert_to_tensor(tape.gradient(made, values)).numpy().tolist() == [0.0, 2.0, 0.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("indices", "options"),
    [
        ([2], {"axis": 1}),
        ([-1], {"axis": 1}),
        ([0], {"axis": 2}),
        ([0], {"axis": 0, "batch_dims": 1}),
        ([0, 1], {"axis": 1, "batch_dims": 1}),
        ([0], {"batch_dims": 2}),
    ],
    ids=str,
)
def test_what_is_not_there_is_refused(indices, options):
    with pytest.raises((InvalidArgumentError, ValueError)):
        tf.gather(tf.ragged.constant(ROWS), indices, **options)
