"""Batches, padded batches, rows. Messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset


def ragged(count: int) -> Dataset:
    """Elements [], [1], [2, 2], [3, 3, 3], ..."""
    return Dataset.range(count).map(lambda x: tf.fill([x], x))


def chunks(items, size, drop=False):
    made = [items[i : i + size] for i in range(0, len(items), size)]
    return [chunk for chunk in made if len(chunk) == size or not drop]


@pytest.mark.parametrize("count", [0, 1, 4, 7])
@pytest.mark.parametrize("size", [1, 2, 3, 10])
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("make", [lambda ds: ds, lambda ds: ds.map(lambda x: x)], ids=["rows of a table", "elements"])
def test_batches_are_chunks(make, count, size, drop, values):
    ds = make(Dataset.range(count)).batch(size, drop_remainder=drop)
    expected = chunks(list(range(count)), size, drop)
    assert values(ds) == expected
    assert len(ds) == len(expected)
    assert ds.element_spec.shape.as_list() == [size if drop else None]
    assert values(ds.unbatch()) == [number for chunk in expected for number in chunk]


def test_every_component_is_joined(values):
    ds = Dataset.from_tensor_slices(({"x": [[1], [2], [3]]}, ["a", "b", "c"])).map(lambda x, y: (x, y)).batch(2)
    assert values(ds) == [({"x": [[1], [2]]}, [b"a", b"b"]), ({"x": [[3]]}, [b"c"])]


def test_large_rows_are_joined_too(values):
    rows = np.random.default_rng(0).random((3, 2**15 + 1), np.float32)
    (batch,) = Dataset.from_tensor_slices(rows).map(lambda x: x).batch(3).as_numpy_iterator()
    np.testing.assert_array_equal(batch, rows)


def test_shapes_that_differ_cannot_be_joined(values):
    elements = iter(ragged(5).batch(2))
    for first, second in ((0, 1), (2, 3)):
        with pytest.raises(
            errors.InvalidArgumentError,
            match=rf"different shapes in component 0. First element had shape \[{first}\] and element 1 had shape "
            rf"\[{second}\]",
        ):
            next(elements)
    assert next(elements).numpy().tolist() == [[4, 4, 4, 4]]


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (0, ValueError, "Batch size must be greater than zero"),
        (-1, ValueError, "Batch size must be greater than zero"),
        (1.5, TypeError, "batch_size"),
        ("two", TypeError, "batch_size"),
        (None, TypeError, "batch_size"),
    ],
)
def test_a_size_is_a_positive_integer(size, error, text):
    for make in (Dataset.range(3).batch, Dataset.range(3).padded_batch):
        with pytest.raises(error, match=text):
            make(size)


def test_a_failed_element_takes_its_batch_with_it():
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0, 8.0])
    elements = iter(ds.map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad")).batch(2))
    with pytest.raises(errors.InvalidArgumentError, match="bad"):
        next(elements)
    assert [x.numpy().tolist() for x in elements] == [[0.5, 0.25], [0.125]]


def test_rebatch(values):
    assert values(Dataset.range(7).batch(3).rebatch(2)) == [[0, 1], [2, 3], [4, 5], [6]]


# Rows.


def test_unbatch_takes_every_component_apart(values):
    ds = Dataset.from_tensors(([[1, 2], [3, 4]], ["a", "b"])).unbatch()
    assert values(ds) == [([1, 2], b"a"), ([3, 4], b"b")]
    assert len(ds) == 2


def test_unbatch_of_what_has_no_rows():
    with pytest.raises(ValueError, match="Cannot unbatch an input with scalar components"):
        Dataset.range(3).unbatch()
    with pytest.raises(ValueError, match="Encountered both 2 and 3"):
        Dataset.from_tensors(([1, 2], [1, 2, 3])).unbatch()
    unknown = Dataset.from_generator(lambda: iter([([1, 2], [1])]), (tf.int32, tf.int32)).unbatch()
    with pytest.raises(errors.InvalidArgumentError, match="Encountered both 2 and 1"):
        list(unknown)


# Padding. The figures are TensorFlow's.


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [[[0], [1]], [[2, 2, 0], [3, 3, 3]], [[4, 4, 4, 4]]]),
        ({"padded_shapes": [3]}, None),
        ({"padded_shapes": [-1], "drop_remainder": True}, [[[0], [1]], [[2, 2, 0], [3, 3, 3]]]),
        (
            {"padded_shapes": [5], "padding_values": np.int64(-1)},
            [[[-1] * 5, [1] + [-1] * 4], [[2, 2] + [-1] * 3, [3, 3, 3, -1, -1]], [[4, 4, 4, 4, -1]]],
        ),
        ({"padding_values": 7}, [[[7], [1]], [[2, 2, 7], [3, 3, 3]], [[4, 4, 4, 4]]]),
    ],
)
def test_padded_batches(arguments, expected, values):
    ds = ragged(5).padded_batch(2, **arguments)
    if expected is None:
        with pytest.raises(errors.DataLossError, match="Attempted to pad to a smaller size than the input element"):
            values(ds)
    else:
        assert values(ds) == expected


def test_padding_of_several_components(values):
    ds = Dataset.range(3).map(lambda x: {"n": tf.fill([x], x), "s": tf.fill([2, x], "q"), "k": x})
    made = ds.padded_batch(3, {"n": [None], "s": [3, None], "k": []}, {"n": np.int64(9), "s": "-", "k": None})
    (batch,) = values(made)
    assert batch["n"] == [[9, 9], [1, 9], [2, 2]]
    assert batch["k"] == [0, 1, 2]
    assert batch["s"][1] == [[b"q", b"-"], [b"q", b"-"], [b"-", b"-"]]
    assert made.element_spec["s"].shape.as_list() == [None, 3, None]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Dataset.range(5).padded_batch(3, padded_shapes=[2]), ValueError, "is not compatible"),
        (lambda: Dataset.range(5).padded_batch(3, padded_shapes=([], [])), (TypeError, ValueError), "vector tensor"),
        (lambda: Dataset.from_tensors([1, 2]).padded_batch(1, padded_shapes=[1]), ValueError, "is not compatible"),
        (lambda: ragged(3).padded_batch(3, padding_values="a"), TypeError, "does not match type tf.int64"),
        (lambda: ragged(3).padded_batch(3, padding_values=np.int32(1)), TypeError, "does not match type tf.int64"),
        (lambda: ragged(3).padded_batch(3, padding_values=[1, 2]), (TypeError, ValueError), "padding_values"),
        (
            lambda: Dataset.from_generator(lambda: iter([1]), tf.int32).padded_batch(3),
            ValueError,
            "You must provide `padded_shapes` argument because component 0 has unknown rank",
        ),
        (lambda: Dataset.range(3).window(2).padded_batch(2), TypeError, "flat_map"),
    ],
)
def test_what_cannot_be_padded_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("batch", [lambda ds: ds.batch(2), lambda ds: ds.padded_batch(2)], ids=["batch", "padded"])
def test_any_number_of_elements_may_fail(batch):
    ds = batch(Dataset.range(2001).map(lambda x: [tf.debugging.assert_equal(x, np.int64(2000)), x][1]))
    iterator = iter(ds)
    for _ in range(2000):
        with pytest.raises(errors.InvalidArgumentError):
            next(iterator)
    assert next(iterator).numpy().tolist() == [2000]
    assert list(iterator) == []


def test_a_batch_has_at_most_as_many_elements_as_can_be_counted(values):
    assert values(Dataset.range(3).batch(2**63 - 1)) == [[0, 1, 2]]
    for make in (Dataset.range(3).batch, Dataset.range(3).take, Dataset.range(3).prefetch, Dataset.range):
        with pytest.raises(errors.InvalidArgumentError, match="must fit into an int64"):
            make(2**63)


@pytest.mark.parametrize("elements", [([1], [[1, 2]]), ([[1, 2]], [[1, 2]])], ids=["two ranks", "another rank"])
def test_elements_of_another_rank_are_not_padded(elements):
    ds = Dataset.from_generator(lambda: iter(elements), tf.int32).padded_batch(2, padded_shapes=[None])
    with pytest.raises(errors.InvalidArgumentError, match="expected rank 1 but got an element with rank 2"):
        next(iter(ds))


def test_a_padding_value_must_fit_the_dtype():
    ds = Dataset.from_tensors(np.zeros(2, np.uint8))
    with pytest.raises((errors.InvalidArgumentError, errors.DTypeError)):
        ds.padded_batch(2, padding_values=300)


# Ragged batches; the figures are those of TensorFlow 2.21.


def test_tensors_of_unknown_sizes_become_ragged_batches():
    made = tf.data.Dataset.range(4).map(lambda n: {"n": n, "rows": tf.range(n), "table": tf.ones([n, 2]) * 2.0})
    batches = list(made.ragged_batch(3))
    assert [batch["n"].numpy().tolist() for batch in batches] == [[0, 1, 2], [3]]
    assert [batch["rows"].to_list() for batch in batches] == [[[], [0], [0, 1]], [[0, 1, 2]]]
    assert batches[0]["table"].to_list() == [[], [[2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
    assert batches[0]["table"].ragged_rank == 1
    assert batches[0]["table"].flat_values.shape == [3, 2]


def test_ragged_batches_of_inner_sizes_that_differ():
    made = tf.data.Dataset.range(1, 4).map(lambda n: tf.reshape(tf.range(2 * n), [2, n]))
    made = made.map(lambda x: tf.ensure_shape(x, [2, None])).ragged_batch(2, row_splits_dtype=tf.int32)
    assert [batch.to_list() for batch in made] == [
        [[[0], [1]], [[0, 1], [2, 3]]],
        [[[0, 1, 2], [3, 4, 5]]],
    ]
    assert made.element_spec == tf.RaggedTensorSpec([None, 2, None], tf.int64, 2, tf.int32)


def test_ragged_batches_of_words_and_dropped_remainders():
    words = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"]).map(lambda s: tf.strings.split(s))
    found = list(words.ragged_batch(2, drop_remainder=True))
    assert [batch.to_list() for batch in found] == [[[b"a", b"b"], [b"c"]]]


def test_what_ragged_batches_refuse():
    numbers = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="int32 or int64"):
        numbers.ragged_batch(2, row_splits_dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="greater than zero"):
        numbers.ragged_batch(0)
    unknown = tf.data.Dataset.from_generator(lambda: [[1]], output_signature=tf.TensorSpec(None, tf.int32))
    with pytest.raises(ValueError, match="rank"):
        unknown.ragged_batch(2)
