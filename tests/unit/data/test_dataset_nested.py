"""Datasets whose elements are datasets, or arrays of datasets."""

from __future__ import annotations

import pytest

import situs as tf
from situs.data import Dataset, DatasetSpec


def flat(ds):
    return [int(x) for x in ds]


def test_a_dataset_is_an_element():
    ds = Dataset.from_tensors(Dataset.range(3))
    assert isinstance(ds.element_spec, DatasetSpec)
    assert [flat(inner) for inner in ds] == [[0, 1, 2]]
    assert flat(ds.flat_map(lambda inner: inner)) == [0, 1, 2]
    assert flat(ds.repeat(2).flat_map(lambda inner: inner.skip(1))) == [1, 2, 1, 2]


def test_a_dataset_beside_tensors():
    ds = Dataset.from_tensors({"x": 3, "inner": Dataset.range(2)})
    (element,) = list(ds)
    assert int(element["x"]) == 3
    assert flat(element["inner"]) == [0, 1]
    scaled = ds.flat_map(lambda e: e["inner"].map(lambda y: y + tf.cast(e["x"], tf.int64)))
    assert flat(scaled) == [3, 4]


def test_a_list_of_datasets_is_an_array_of_them():
    parts = [Dataset.range(number) for number in (1, 2, 3)]
    ds = Dataset.from_tensor_slices(parts)
    assert len(ds) == 3
    assert flat(ds.flat_map(lambda inner: inner)) == [0, 0, 1, 0, 1, 2]
    whole = Dataset.from_tensors(parts)
    assert whole.element_spec.shape.as_list() == [3]
    assert flat(whole.flat_map(Dataset.from_tensor_slices).flat_map(lambda inner: inner)) == [0, 0, 1, 0, 1, 2]


def test_datasets_are_batched_and_taken_apart():
    ds = Dataset.range(7).window(2).batch(3)
    assert ds.element_spec.shape.as_list() == [None]
    assert [flat(inner) for inner in ds.unbatch()] == [[0, 1], [2, 3], [4, 5], [6]]


def test_nested_datasets_may_depend_on_tensors_of_a_function():
    @tf.function
    def total(count):
        ds = Dataset.from_tensors(Dataset.range(count)).repeat(2)
        found = tf.constant(0, tf.int64)
        for inner in ds:
            found += inner.reduce(tf.constant(0, tf.int64), lambda state, x: state + x)
        return found

    assert int(total(tf.constant(4, tf.int64))) == 12
    assert int(total(tf.constant(5, tf.int64))) == 20


def test_nested_datasets_in_graphs():
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        iterator = tf.compat.v1.data.make_one_shot_iterator(Dataset.range(6).window(3))
        inner = iterator.get_next()
        total = inner.reduce(tf.constant(0, tf.int64), lambda state, x: state + x)
        assert [sess.run(total), sess.run(total)] == [3, 12]


def test_an_iteration_over_nested_datasets_is_saved_and_restored(tmp_path):
    def make():
        inner = Dataset.range(6).shuffle(6, seed=4)
        return Dataset.from_tensors(inner).repeat(2).flat_map(lambda x: x)

    expected = flat(make())
    iterator = iter(make())
    assert [int(next(iterator)) for _ in range(8)] == expected[:8]
    path = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "ckpt"))
    again = iter(make())
    tf.train.Checkpoint(iterator=again).restore(path)
    assert [int(x) for x in again] == expected[8:]


def test_datasets_of_one_array_are_alike():
    with pytest.raises(TypeError, match="alike"):
        Dataset.from_tensor_slices([Dataset.range(1), Dataset.from_tensors("a")])


@pytest.mark.parametrize(
    ("calls", "there", "expected"), [(None, 5, -2), (None, -1, -2), (1, 5, -2), (1, -1, -1), (tf.data.AUTOTUNE, -1, -1)]
)
def test_how_many_elements_datasets_in_turn_have(calls, there, expected):
    source = Dataset.range(5).repeat() if there == -1 else Dataset.range(there)
    taken = source.interleave(lambda _: Dataset.from_tensors(0), cycle_length=1, num_parallel_calls=calls)
    assert int(taken.cardinality()) == expected
