"""Several datasets as one, and datasets of datasets. The orders are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, DatasetSpec

# zip and concatenate.


@pytest.mark.parametrize("make", [lambda ds: ds, lambda ds: ds.map(lambda x: x)], ids=["tables", "elements"])
def test_zip_takes_every_structure(make, values):
    numbers, words = make(Dataset.range(3)), Dataset.from_tensor_slices(["a", "b", "c", "d"])
    assert values(Dataset.zip(numbers, words)) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert values(Dataset.zip((numbers, words))) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert values(Dataset.zip(datasets=(numbers, words))) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert values(Dataset.zip({"n": numbers, "x": (words, numbers)}))[1] == {"n": 1, "x": (b"b", 1)}
    assert values(Dataset.zip(numbers)) == [0, 1, 2]
    assert len(Dataset.zip(numbers, words)) == 3


def test_zipped_tables_are_shuffled_together(values):
    ds = Dataset.zip((Dataset.range(20), Dataset.range(100, 120))).shuffle(20, seed=1).batch(20)
    ((first, second),) = values(ds)
    assert [number + 100 for number in first] == second
    assert sorted(first) == list(range(20)) != first


def test_the_cardinality_of_zipped_datasets():
    three, endless = Dataset.range(3), Dataset.range(2).repeat()
    assert len(Dataset.zip(three, endless)) == 3
    assert int(Dataset.zip(endless, endless).cardinality()) == INFINITE_CARDINALITY
    assert int(Dataset.zip(three.filter(lambda x: True), three).cardinality()) == UNKNOWN_CARDINALITY


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Dataset.zip(), "Must pass at least one dataset"),
        (lambda: Dataset.zip((1, 2)), "encountered object of type <class 'int'>"),
        (lambda: Dataset.zip([Dataset.range(2), Dataset.range(2)]), "`list` is not supported"),
        (lambda: Dataset.zip(Dataset.range(2), datasets=Dataset.range(2)), "cannot be set"),
        (lambda: Dataset.range(2).concatenate(3), "takes a tf.data.Dataset"),
        (lambda: Dataset.range(2).concatenate(Dataset.from_tensors("a")), "Incompatible dataset elements"),
        (lambda: Dataset.range(2).concatenate(Dataset.zip((Dataset.range(1),) * 2)), "Incompatible dataset elements"),
    ],
)
def test_what_cannot_be_combined_is_refused(make, text):
    with pytest.raises(TypeError, match=text):
        make()


def test_concatenate(values):
    ds = Dataset.range(2).concatenate(Dataset.range(5, 7))
    assert values(ds) == [0, 1, 5, 6]
    assert len(ds) == 4
    shapes = Dataset.from_tensors([1, 2]).concatenate(Dataset.from_tensors([1, 2, 3]))
    assert shapes.element_spec == tf.TensorSpec([None], tf.int32)
    assert int(Dataset.range(2).repeat().concatenate(Dataset.range(1)).cardinality()) == INFINITE_CARDINALITY


def test_concatenated_composites_have_a_common_spec():
    """The specs are those of TensorFlow 2.21."""
    rows = Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [4]]))
    ragged = rows.batch(2).concatenate(rows.batch(2, drop_remainder=True))
    assert ragged.element_spec == tf.RaggedTensorSpec([None, None], tf.int32, 1, tf.int64)
    assert [each.to_list() for each in ragged] == [[[1], [2, 3]], [[4]], [[1], [2, 3]]]
    columns = Dataset.from_tensor_slices({"x": tf.sparse.from_dense(np.eye(3))})
    sparse = columns.batch(2).concatenate(columns.batch(1, drop_remainder=True))
    assert sparse.element_spec == {"x": tf.SparseTensorSpec([None, 3], tf.float64)}
    assert [tf.sparse.to_dense(each["x"]).shape for each in sparse] == [[2, 3], [1, 3], [1, 3], [1, 3], [1, 3]]
    with pytest.raises(TypeError, match="Incompatible dataset elements"):
        rows.concatenate(rows.batch(2))


# Choosing.


def test_choosing_by_numbers(values):
    parts = [Dataset.range(3), Dataset.range(10, 11)]
    choices = Dataset.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0, 0]))
    assert values(Dataset.choose_from_datasets(parts, choices)) == [0, 10]
    assert values(Dataset.choose_from_datasets(parts, choices, stop_on_empty_dataset=False)) == [0, 10, 1, 2]
    with pytest.raises(TypeError, match=r"scalar `tf\.int64`"):
        Dataset.choose_from_datasets(parts, Dataset.from_tensors(1))
    with pytest.raises(errors.InvalidArgumentError, match="Selector index out of range"):
        values(Dataset.choose_from_datasets(parts, Dataset.range(5, 6)))


def test_choosing_at_random(values):
    parts = [Dataset.from_tensors(0).repeat(), Dataset.from_tensors(1).repeat()]
    drawn = values(Dataset.sample_from_datasets(parts, [0.9, 0.1], seed=1).take(500))
    assert 20 < sum(drawn) < 90
    assert drawn == values(Dataset.sample_from_datasets(parts, [0.9, 0.1], seed=1).take(500))
    finite = Dataset.sample_from_datasets([Dataset.range(3), Dataset.range(10, 15)], seed=2)
    assert sorted(values(finite)) == [0, 1, 2, 10, 11, 12, 13, 14]
    with pytest.raises(ValueError, match="weight"):
        Dataset.sample_from_datasets(parts, [1.0])


# flat_map and interleave.


def test_flat_map(values):
    ds = Dataset.range(4).flat_map(lambda n: Dataset.range(n).map(lambda m: (n, m)))
    assert values(ds) == [(n, m) for n in range(4) for m in range(n)]
    inside = Dataset.range(3).flat_map(lambda n: Dataset.range(2).flat_map(lambda m: Dataset.from_tensors(n * 10 + m)))
    assert values(inside) == [0, 1, 10, 11, 20, 21]


def test_numbers_of_inner_datasets_may_be_tensors(values):
    made = Dataset.range(1, 4).flat_map(lambda n: Dataset.range(6).skip(n).batch(n).take(1))
    assert values(made) == [[1], [2, 3], [3, 4, 5]]


def test_a_dataset_from_outside_is_iterated_again_for_each_element(values):
    inner = Dataset.range(2).map(lambda x: x + 5)
    assert values(Dataset.range(3).flat_map(lambda n: inner)) == [5, 6] * 3


def test_a_cache_from_outside_is_filled_once(values):
    count = tf.Variable(0)
    inner = Dataset.range(2).map(lambda x: [count.assign_add(1), x][1]).cache()
    assert values(Dataset.range(3).flat_map(lambda n: inner)) == [0, 1] * 3
    assert int(count) == 2


# (how often each of 0, 1, 2, ... comes, cycle_length, block_length, the order)
INTERLEAVED = [
    ([4, 4], 2, 2, "00110011"),
    ([3, 5, 4, 0, 4], 1, 2, "0001111122224444"),
    ([4, 1, 1], 4, 3, "000120"),
    ([3, 3, 5, 1, 1], 2, 3, "0001112223224"),
    ([5, 0, 5, 0], 2, 3, "0000022222"),
    ([4, 5, 3, 5], 4, 2, "00112233001123313"),
    ([3, 1, 2, 0, 0], 2, 2, "001022"),
    ([2, 5], 4, 3, "0011111"),
    ([3, 4, 3], 3, 3, "0001112221"),
    ([3, 4, 1, 2, 5], 1, 2, "000111123344444"),
]


@pytest.mark.parametrize(("times", "cycle", "block", "expected"), INTERLEAVED)
@pytest.mark.parametrize("calls", [None, 2, -1])
def test_interleaving(times, cycle, block, expected, calls, values):
    numbers = Dataset.from_tensor_slices((np.arange(len(times)), np.array(times)))
    ds = numbers.interleave(
        lambda i, n: Dataset.from_tensors(i).repeat(n), cycle_length=cycle, block_length=block, num_parallel_calls=calls
    )
    assert "".join(map(str, values(ds))) == expected


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Dataset.range(2).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (lambda: Dataset.range(2).interleave(lambda x: (x, x)), TypeError, "must return a `Dataset`"),
        (
            lambda: Dataset.range(2).interleave(lambda x: Dataset.from_tensors(x), cycle_length=0),
            ValueError,
            "cycle_length must be greater than zero",
        ),
        (
            lambda: Dataset.range(2).interleave(lambda x: Dataset.from_tensors(x), block_length=-1),
            ValueError,
            "block_length must be greater than zero",
        ),
        (lambda: Dataset.range(2).flat_map(None), ValueError, "must be a callable"),
    ],
)
def test_what_cannot_be_flattened_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("calls", [None, 2])
def test_an_error_of_one_dataset_does_not_end_the_others(calls):
    def inner(x):
        return Dataset.from_tensors(tf.debugging.check_numerics(1.0 / x, "bad")).repeat(2)

    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).interleave(inner, cycle_length=2, num_parallel_calls=calls)
    elements, seen = iter(ds), []
    while True:
        try:
            seen.append(float(next(elements)))
        except errors.InvalidArgumentError:
            seen.append("failed")
        except StopIteration:
            break
    assert sorted(map(str, seen)) == ["0.5", "0.5", "1.0", "1.0", "failed"]


# Windows: (elements, size, shift, stride, drop_remainder, windows)
WINDOWS = [
    (7, 3, None, 1, False, [[0, 1, 2], [3, 4, 5], [6]]),
    (7, 3, None, 1, True, [[0, 1, 2], [3, 4, 5]]),
    (7, 3, 1, 1, True, [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6]]),
    (7, 3, 2, 2, False, [[0, 2, 4], [2, 4, 6], [4, 6], [6]]),
    (5, 2, 4, 1, False, [[0, 1], [4]]),
    (2, 3, 1, 1, True, []),
    (0, 2, 1, 1, False, []),
    (6, 2, 2, 3, True, [[0, 3], [2, 5]]),
]


@pytest.mark.parametrize(("count", "size", "shift", "stride", "drop", "expected"), WINDOWS)
def test_windows(count, size, shift, stride, drop, expected, values):
    ds = Dataset.range(count).window(size, shift, stride, drop)
    assert [values(window) for window in ds] == expected
    assert len(ds) == len(expected)
    assert values(ds.flat_map(lambda window: window.batch(10))) == expected


def test_windows_of_several_components_are_several_datasets(values):
    ds = Dataset.from_tensor_slices(([1, 2, 3, 4], ["a", "b", "c", "d"])).window(2)
    assert ds.element_spec == (
        DatasetSpec(tf.TensorSpec([], tf.int32)),
        DatasetSpec(tf.TensorSpec([], tf.string)),
    )
    zipped = ds.flat_map(lambda n, s: Dataset.zip((n.batch(2), s.batch(2))))
    assert values(zipped) == [([1, 2], [b"a", b"b"]), ([3, 4], [b"c", b"d"])]
    sums = ds.map(lambda n, s: n.reduce(0, lambda total, x: total + x))
    assert values(sums) == [3, 7]


def test_a_failed_element_takes_its_window_with_it(values):
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]).map(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
    windows = iter(ds.window(2))
    with pytest.raises(errors.InvalidArgumentError):
        next(windows)
    assert [values(window) for window in windows] == [[0.5, 0.25]]


def test_grouping_by_a_key(values):
    ds = Dataset.range(10)
    assert values(ds.group_by_window(lambda x: x % 3, lambda key, group: group.batch(4), window_size=4)) == [
        [0, 3, 6, 9],
        [1, 4, 7],
        [2, 5, 8],
    ]
    sized = ds.group_by_window(
        lambda x: x % 2, lambda key, group: group.batch(4).map(lambda b: (key, b)), window_size_func=lambda key: key + 1
    )
    assert values(sized)[:3] == [(0, [0]), (0, [2]), (1, [1, 3])]
    with pytest.raises(ValueError, match="must be specified"):
        ds.group_by_window(lambda x: x, lambda key, group: group)
    with pytest.raises(TypeError, match=r"scalar tf\.int64"):
        ds.group_by_window(lambda x: tf.cast(x, tf.int32), lambda key, group: group, window_size=2)
    with pytest.raises(TypeError, match="must return a `Dataset`"):
        ds.group_by_window(lambda x: x, lambda key, group: key, window_size=2)


@pytest.mark.parametrize("nothing", [(), {}, (None,)])
def test_zip_takes_at_least_one_dataset(nothing):
    with pytest.raises(errors.DTypeError, match="at least one dataset"):
        Dataset.zip(nothing)


@pytest.mark.parametrize("datasets", [5, None, Dataset.range(2)])
def test_datasets_to_take_from_are_a_list(datasets):
    with pytest.raises(errors.DTypeError, match="takes a list of datasets"):
        Dataset.choose_from_datasets(datasets, Dataset.range(2))
    with pytest.raises(errors.DTypeError, match="takes a list of datasets"):
        Dataset.sample_from_datasets(datasets)


@pytest.mark.parametrize("weights", [["a"], 5, [[1.0, 2.0]], [float("inf")], [float("nan")], [-1.0], [0.0]])
def test_weights_are_finite_numbers(weights):
    with pytest.raises((errors.DTypeError, errors.InvalidArgumentError), match="weight"):
        Dataset.sample_from_datasets([Dataset.range(2)], weights)


def test_an_element_whose_window_has_no_size_is_an_error_and_the_next_follow():
    ds = Dataset.range(4).group_by_window(
        lambda x: x % 2, lambda key, group: group.batch(2), window_size_func=lambda key: 2 * key
    )
    iterator = iter(ds)
    for _ in range(2):  # the even ones
        with pytest.raises(errors.InvalidArgumentError, match="Window size must be greater than zero"):
            next(iterator)
    assert next(iterator).numpy().tolist() == [1, 3]
    assert list(iterator) == []


@pytest.mark.parametrize("name", ["enumerate_dataset", "ignore_errors", "unbatch", "unique"])
def test_transformations_are_of_datasets(name):
    with pytest.raises(errors.DTypeError, match=r"takes a tf\.data\.Dataset, got 5"):
        getattr(tf.data.experimental, name)()(5)
    with pytest.raises(errors.DTypeError, match="must be a function, got 5"):
        Dataset.range(3).apply(5)
