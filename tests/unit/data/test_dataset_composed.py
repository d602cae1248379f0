"""Methods of datasets that are made of others, and datasets in files. Figures are TensorFlow 2.21's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import situs as tf

ROWS = [[1], [2, 3], [4, 5, 6], [7, 8], [9]]


def _rows() -> tf.data.Dataset:
    return tf.data.Dataset.from_generator(lambda: iter(ROWS), output_signature=tf.TensorSpec([None], tf.int32))


def _lists(dataset: tf.data.Dataset) -> list[object]:
    return [batch.tolist() for batch in dataset.as_numpy_iterator()]


def test_buckets_hold_elements_of_about_the_same_length() -> None:
    by_length = _rows().bucket_by_sequence_length(tf.size, [2, 4], [2, 2, 2])
    assert _lists(by_length) == [[[2, 3, 0], [4, 5, 6]], [[1], [9]], [[7, 8]]]


def test_buckets_pad_to_their_ends() -> None:
    padded = _rows().bucket_by_sequence_length(tf.size, [3, 5], [2, 2, 2], pad_to_bucket_boundary=True)
    assert _lists(padded) == [[[1, 0], [2, 3]], [[7, 8], [9, 0]], [[4, 5, 6, 0]]]
    too_long = _rows().bucket_by_sequence_length(tf.size, [3], [2, 1], pad_to_bucket_boundary=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="pad_to_bucket_boundary"):
        _lists(too_long)


def test_buckets_of_several_components_pad_each() -> None:
    pairs = _rows().map(lambda row: (row, tf.reduce_sum(row)))
    made = pairs.apply(
        tf.data.experimental.bucket_by_sequence_length(
            lambda row, total: tf.shape(row)[0],
            [2],
            [2, 2],
            padded_shapes=([4], []),
            padding_values=(tf.constant(-1), tf.constant(0)),
        )
    )
    first = next(made.as_numpy_iterator())
    np.testing.assert_array_equal(first[0], [[2, 3, -1, -1], [4, 5, 6, -1]])
    np.testing.assert_array_equal(first[1], [5, 15])


def test_buckets_need_a_size_for_each() -> None:
    with pytest.raises(ValueError, match="bucket_batch_sizes"):
        _rows().bucket_by_sequence_length(tf.size, [2, 4], [2, 2])


def _classes() -> tf.data.Dataset:
    numbers = np.arange(300)
    return tf.data.Dataset.from_tensor_slices((numbers, (numbers % 10 > 0).astype(np.int32)))


FROM_TEN_PERCENT = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0]
ESTIMATED = [0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("initial", "counts", "first"), [([0.1, 0.9], [34, 32], FROM_TEN_PERCENT), (None, [36, 48], ESTIMATED)]
)
def test_classes_come_as_often_as_asked(
    initial: list[float] | None, counts: list[int], first: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    tf.random.set_seed(3)
    made = _classes().rejection_resample(lambda number, label: label, [0.5, 0.5], initial, seed=5)
    found = [int(label) for label, (_, again) in made]
    assert np.bincount(found).tolist() == counts
    assert found[:20] == first
    assert capfd.readouterr().err.count("rejected by sampler is high") == 10


def test_saved_elements_are_read_by_name(tmp_path: Path) -> None:
    path = str(tmp_path / "kept")
    dataset = tf.data.Dataset.from_tensor_slices({"a": [[1, 2], [3, 4]], "b": ["x", "yz"]}).map(lambda e: (e, 0.5))
    dataset.save(path)
    found = tf.data.Dataset.load(path)
    assert found.element_spec == dataset.element_spec
    assert int(found.cardinality()) == 2
    for mine, theirs in zip(found.as_numpy_iterator(), dataset.as_numpy_iterator(), strict=True):
        np.testing.assert_array_equal(mine[0]["a"], theirs[0]["a"])
        assert mine[0]["b"] == theirs[0]["b"]
    assert len(list(tf.data.Dataset.load(path, reader_func=lambda files: files.flat_map(lambda file: file)))) == 2
    assert len(list(tf.data.experimental.load(path, dataset.element_spec))) == 2


def test_ragged_elements_are_loaded_with_their_spec(tmp_path: Path) -> None:
    path = str(tmp_path / "kept")
    dataset = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3]])).batch(2)
    dataset.save(path)
    (found,) = tf.data.Dataset.load(path, dataset.element_spec)
    assert found.to_list() == [[1], [2, 3]]


def test_what_is_not_there_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=r"dataset\.save"):
        tf.data.Dataset.load(str(tmp_path / "nothing"))


def test_a_snapshot_is_made_once(tmp_path: Path) -> None:
    made = []

    def count(number: np.ndarray) -> np.ndarray:
        made.append(int(number))
        return number

    dataset = tf.data.Dataset.range(3).map(lambda x: tf.numpy_function(count, [x], tf.int64)).snapshot(str(tmp_path))
    assert [int(x) for x in dataset] == [int(x) for x in dataset] == made == [0, 1, 2]


def test_older_names_of_methods() -> None:
    experimental = tf.data.experimental
    assert _lists(experimental.Counter(5, 2).take(2)) == [5, 7]
    assert len(set(_lists(experimental.RandomDataset(4).take(3)))) == 3
    ragged = tf.data.Dataset.from_tensor_slices([1, 2]).map(tf.range).apply(experimental.dense_to_ragged_batch(2))
    assert next(iter(ragged)).to_list() == [[0], [0, 1]]
    one, other = tf.data.Dataset.range(2), tf.data.Dataset.range(10, 12)
    choices = tf.data.Dataset.from_tensor_slices(tf.constant([1, 0, 1], tf.int64))
    assert _lists(experimental.choose_from_datasets([one, other], choices)) == [10, 0, 11]
    assert sorted(_lists(experimental.sample_from_datasets([one, other], seed=1))) == [0, 1, 10, 11]
    assert _lists(experimental.from_list([(1, 2), (3, 4)]).map(lambda a, b: a + b)) == [3, 7]
    assert experimental.get_structure(one) == tf.TensorSpec([], tf.int64)
    assert int(one.repeat().cardinality()) == experimental.INFINITE_CARDINALITY
