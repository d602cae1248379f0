"""Sources in memory. What is refused, and how, is TensorFlow 2.21's."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from itertools import islice

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import INFINITE_CARDINALITY, Dataset

Pair = namedtuple("Pair", "first second")


def test_tensors_are_one_element(values):
    ds = Dataset.from_tensors(([1, 2], {"a": 3.0, "b": "word"}))
    assert values(ds) == [([1, 2], {"a": 3.0, "b": b"word"})]
    assert ds.element_spec == (
        tf.TensorSpec([2], tf.int32),
        {"a": tf.TensorSpec([], tf.float32), "b": tf.TensorSpec([], tf.string)},
    )
    assert len(ds) == 1


def test_slices_are_an_element_for_each_row(values):
    ds = Dataset.from_tensor_slices({"x": [[1, 2], [3, 4]], "name": ["a", "b"]})
    assert values(ds) == [{"x": [1, 2], "name": b"a"}, {"x": [3, 4], "name": b"b"}]
    assert len(ds) == 2


@pytest.mark.parametrize(
    "structure",
    [
        ([1, 2], [3, 4]),
        Pair([1, 2], [3, 4]),
        {"b": [1, 2], "a": ([3, 4], [5, 6])},
        OrderedDict([("z", [1, 2]), ("a", [3, 4])]),
        ([1, 2], None),
    ],
)
def test_structures_come_out_as_they_went_in(structure):
    element = next(iter(Dataset.from_tensor_slices(structure)))
    assert type(element) is type(structure)
    if isinstance(structure, dict):
        assert list(element) == list(structure)


@pytest.mark.parametrize("dtype", [np.uint16, np.float16, np.complex64, np.bool_, np.int8])
def test_every_dtype_can_be_shuffled_and_batched(dtype):
    rows = np.arange(6).reshape(3, 2).astype(dtype)
    (batch,) = Dataset.from_tensor_slices(rows).shuffle(3, seed=2).batch(3).as_numpy_iterator()
    assert batch.dtype == dtype
    assert sorted(batch.tolist(), key=str) == sorted(rows.tolist(), key=str)


def test_bfloat16_rows():
    rows = tf.constant([[1.5, 2.5], [3.5, 4.5], [5.5, 6.5]], tf.bfloat16)
    (batch,) = Dataset.from_tensor_slices(rows).shard(2, 0).batch(2)
    assert batch.dtype is tf.bfloat16
    assert tf.cast(batch, tf.float32).numpy().tolist() == [[1.5, 2.5], [5.5, 6.5]]


def test_an_array_that_changes_later_does_not_change_the_dataset(values):
    rows = np.array([1, 2, 3])
    ds = Dataset.from_tensor_slices(rows).batch(3)
    rows[:] = 0
    assert values(ds) == [[1, 2, 3]]


def test_a_batch_that_is_changed_does_not_change_the_dataset(values):
    ds = Dataset.from_tensor_slices([1, 2, 3]).batch(2)
    for batch in ds.as_numpy_iterator():
        batch += 10
    assert values(ds) == [[1, 2], [3]]


def test_a_variable_gives_what_it_holds_when_the_dataset_is_made(values):
    variable = tf.Variable([1, 2])
    ds = Dataset.from_tensor_slices(variable)
    variable.assign([5, 6])
    assert values(ds) == [1, 2]


def test_tensors_of_a_gpu_come_to_the_host():
    with tf.device("/gpu:0"):
        x = tf.constant([1.0, 2.0]) * 2.0
    (element,) = Dataset.from_tensors(x)
    assert element.device.endswith("CPU:0")


@pytest.mark.parametrize("bounds", [(5,), (2, 5), (5, 0, -2), (0,), (3, 3), (0, 10, 3), (-3,)])
def test_range_is_pythons(bounds, values):
    ds = Dataset.range(*bounds)
    assert values(ds) == list(range(*bounds))
    assert len(ds) == len(range(*bounds))


def test_range_of_another_dtype_and_of_tensors(values):
    assert values(Dataset.range(3, output_type=tf.float32)) == [0.0, 1.0, 2.0]
    assert values(Dataset.range(tf.constant(3))) == [0, 1, 2]
    assert Dataset.range(3, output_type="int32").element_spec == tf.TensorSpec([], tf.int32)


def test_counting_and_random_numbers_do_not_end():
    assert [int(x) for x in islice(Dataset.counter(3, 2), 3)] == [3, 5, 7]
    assert int(Dataset.counter().cardinality()) == INFINITE_CARDINALITY
    ds = Dataset.random(seed=4)
    first = [int(x) for x in islice(ds, 300)]
    assert first == [int(x) for x in islice(Dataset.random(seed=4), 300)]
    assert first == [int(x) for x in islice(ds, 300)]
    assert 0 <= min(first) < 2**28
    assert 2**31 < max(first) < 2**32
    anew = Dataset.random(seed=4, rerandomize_each_iteration=True)
    assert [int(x) for x in islice(anew, 3)] != [int(x) for x in islice(anew, 3)]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Dataset.from_tensor_slices(([1, 2], [1, 2, 3])), ValueError, "Dimensions 2 and 3 are not compatible"),
        (lambda: Dataset.from_tensor_slices(3), ValueError, "rank >= 1"),
        (lambda: Dataset.from_tensor_slices({}), ValueError, "should not be empty"),
        (lambda: Dataset.from_tensors(()), ValueError, "should not be empty"),
        (lambda: Dataset.from_tensors(None), ValueError, "should not be empty"),
        (lambda: Dataset.from_tensor_slices([[1], [2, 3]]), ValueError, "non-rectangular"),
        (lambda: Dataset.from_tensors(object()), ValueError, "unsupported type"),
        (lambda: Dataset.range(), ValueError, "between 1 and 3 but was 0"),
        (lambda: Dataset.range(1, 2, 3, 4), ValueError, "between 1 and 3 but was 4"),
        (lambda: Dataset.range(2.5), TypeError, "stop"),
        (lambda: Dataset.range("a"), TypeError, "stop"),
        (lambda: Dataset.range(0, 5, 0), ValueError, "non-zero"),
        (lambda: Dataset.range(5, dtype=tf.int32), TypeError, "unexpected keyword"),
        (lambda: Dataset.range(5, output_type=tf.string), TypeError, "integers or floats"),
    ],
)
def test_what_cannot_be_a_source_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_errors_are_the_librarys_own():
    with pytest.raises(errors.InvalidArgumentError):
        Dataset.from_tensor_slices(([1, 2], [1, 2, 3]))


def test_a_list_that_contains_itself_is_refused():
    endless: dict = {}
    endless["a"] = endless
    with pytest.raises(ValueError, match="contains itself"):
        Dataset.from_tensors(endless)


def test_a_huge_range_costs_nothing():
    ds = Dataset.range(10**15).skip(2).batch(2)
    assert next(iter(ds)).numpy().tolist() == [2, 3]
    assert len(Dataset.range(10**15)) == 10**15


def test_an_empty_dataset_is_a_dataset(values):
    ds = Dataset.from_tensor_slices(np.zeros((0, 3), np.float32))
    for made in (ds, ds.batch(2), ds.shuffle(3), ds.repeat(), ds.map(lambda x: x + 1), ds.prefetch(2), ds.cache()):
        assert values(made) == []
    assert bool(ds)
    assert len(ds) == 0


def test_printing():
    assert repr(Dataset.range(3).batch(2)) == (
        "<_BatchDataset element_spec=TensorSpec(shape=(None,), dtype=tf.int64, name=None)>"
    )
    assert repr(Dataset.range(3)).startswith("<_RangeDataset")


def test_numbers_too_large_for_their_dtype_wrap_around(values):
    ds = Dataset.range(254, 258, output_type=tf.uint8)
    assert values(ds) == [254, 255, 0, 1]
    assert values(ds.batch(3)) == [[254, 255, 0], [1]]


def test_a_range_may_be_longer_than_can_be_counted():
    ds = Dataset.range(-(2**63), 2**63 - 1)
    assert int(next(iter(ds))) == -(2**63)
    assert int(ds.cardinality()) == 2**63 - 1


@pytest.mark.parametrize(("bounds", "length"), [((0, 5, 2), 3), ((5, 0, -2), 3), ((0, 6, 3), 2), ((3, 0, 1), 0)])
def test_the_length_of_a_range_is_pythons(bounds, length, values):
    assert len(Dataset.range(*bounds)) == len(values(Dataset.range(*bounds))) == len(range(*bounds)) == length


def test_what_counts_is_a_number():
    with pytest.raises(errors.DTypeError, match="gives integers or floats, not string"):
        Dataset.counter(dtype=tf.string)


@pytest.mark.parametrize(
    "make",
    [
        lambda value: tf.data.Dataset.from_tensors(value),
        lambda value: tf.data.Dataset.from_tensors((1, {"a": value})),
        lambda value: tf.data.Dataset.from_tensor_slices(value),
        lambda value: tf.data.Dataset.range(3).map(lambda x: value),
        lambda value: tf.data.Dataset.range(3).reduce(value, lambda state, x: state),
    ],
)
def test_a_sparse_tensor_is_not_taken_for_a_tuple(make):
    with pytest.raises(tf.errors.UnimplementedError, match=r"SparseTensor\.from_value"):
        make(tf.compat.v1.SparseTensorValue([[0]], [1], [2]))
