"""Iterators of eager code, and what becomes of a whole dataset. Messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import data, errors
from situs.data import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, experimental


def test_python_iterates_a_dataset():
    assert [int(x) for x in Dataset.range(3)] == [0, 1, 2]
    elements = iter(Dataset.range(2))
    assert isinstance(elements, data.Iterator)
    assert iter(elements) is elements
    assert elements.element_spec == tf.TensorSpec([], tf.int64)
    assert [int(next(elements)), int(next(elements))] == [0, 1]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(elements)


def test_elements_as_arrays_one_by_one():
    elements = Dataset.range(3).batch(2).as_numpy_iterator()
    assert iter(elements) is elements
    assert elements.next().tolist() == [0, 1]
    assert next(elements).tolist() == [2]
    with pytest.raises(StopIteration):
        elements.next()


def test_get_next_says_that_the_end_is_reached():
    elements = iter(Dataset.range(1))
    assert int(elements.get_next()) == 0
    for _ in range(2):
        with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
            elements.get_next()


def test_iterators_of_one_dataset_do_not_disturb_each_other():
    ds = Dataset.range(3)
    one, other = iter(ds), iter(ds)
    assert [int(next(one)), int(next(one)), int(next(other)), int(next(one))] == [0, 1, 0, 2]


def test_optionals():
    elements = iter(Dataset.range(1))
    first, second = elements.get_next_as_optional(), experimental.get_next_as_optional(elements)
    assert bool(first.has_value())
    assert int(first.get_value()) == 0
    assert first.element_spec == tf.TensorSpec([], tf.int64)
    assert not bool(second.has_value())
    with pytest.raises(errors.InvalidArgumentError, match="does not have a value"):
        second.get_value()


def test_looking_whether_there_is_more_takes_nothing():
    elements = iter(Dataset.range(2))
    assert bool(elements.has_next())
    assert bool(elements.has_next())
    assert [int(x) for x in elements] == [0, 1]
    assert not bool(elements.has_next())


def test_elements_as_numpy(values):
    ds = Dataset.from_tensor_slices({"x": [[1.0], [2.0]], "s": ["a", "b"]})
    first = next(iter(ds.as_numpy_iterator()))
    assert isinstance(first["x"], np.ndarray)
    assert first["s"] == b"a"
    windows = Dataset.range(3).window(2).as_numpy_iterator()
    assert [[int(x) for x in window] for window in windows] == [[0, 1], [2]]


def test_tensors_are_on_the_host():
    with tf.device("/gpu:0"):
        element = next(iter(Dataset.range(3).map(lambda x: x * 2)))
    assert element.device.endswith("CPU:0")


# Whole datasets.


def test_reduce():
    ds = Dataset.range(5)
    assert int(ds.reduce(np.int64(0), lambda state, x: state + x)) == 10
    count, total = ds.reduce((0, np.int64(0)), lambda state, x: (state[0] + 1, state[1] + x))
    assert (int(count), int(total)) == (5, 10)
    assert int(Dataset.zip((ds, ds)).reduce(np.int64(0), lambda state, pair: state + pair[0] * pair[1])) == 30
    everything = ds.reduce(np.zeros(0, np.int64), lambda state, x: tf.concat([state, [x]], 0))
    assert everything.numpy().tolist() == [0, 1, 2, 3, 4]
    assert int(Dataset.range(0).reduce(7, lambda state, x: state + 1)) == 7


@pytest.mark.parametrize(
    ("function", "text"),
    [(lambda state, x: tf.cast(x, tf.float32), "must match the initial state"), (lambda state, x: (state, x), "must")],
)
def test_reduce_refuses_functions_that_break_its_state(function, text):
    with pytest.raises(TypeError, match=text):
        Dataset.range(3).reduce(np.int64(0), function)


def test_an_error_inside_is_the_error_of_reduce():
    with pytest.raises(errors.InvalidArgumentError, match="bad"):
        Dataset.from_tensor_slices([1.0, 0.0]).reduce(0.0, lambda s, x: tf.debugging.check_numerics(s + 1.0 / x, "bad"))


def test_the_only_element():
    assert int(Dataset.range(1).get_single_element()) == 0
    assert int(experimental.get_single_element(Dataset.range(1))) == 0
    for count, text in [(0, "Dataset was empty"), (2, "more than one element")]:
        with pytest.raises(errors.InvalidArgumentError, match=text):
            Dataset.range(count).get_single_element()


def test_how_many_elements_there_are():
    ds = Dataset.range(5)
    assert ds.cardinality().dtype is tf.int64
    assert int(experimental.cardinality(ds)) == len(ds) == 5
    assert int(ds.repeat().cardinality()) == INFINITE_CARDINALITY == -1
    assert int(ds.filter(lambda x: True).cardinality()) == UNKNOWN_CARDINALITY == -2
    with pytest.raises(TypeError, match="The dataset is infinite"):
        len(ds.repeat())
    with pytest.raises(TypeError, match="The dataset length is unknown"):
        len(ds.filter(lambda x: True))


def test_apply():
    assert [int(x) for x in Dataset.range(4).apply(lambda ds: ds.skip(2))] == [2, 3]
    with pytest.raises(TypeError, match=r"must return a `tf.data.Dataset` object. Got <class 'int'>"):
        Dataset.range(2).apply(lambda ds: 3)


# The older spellings.


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [
        (experimental.enumerate_dataset(3), [(3, 0), (4, 1), (5, 2), (6, 3)]),
        (experimental.map_and_batch(lambda x: x * 2, 3), [[0, 2, 4], [6]]),
        (experimental.map_and_batch(lambda x: x, 3, drop_remainder=True, num_parallel_batches=1), [[0, 1, 2]]),
        (experimental.scan(np.int64(0), lambda s, x: (s + x, s)), [0, 0, 1, 3]),
        (experimental.take_while(lambda x: x < 2), [0, 1]),
        (experimental.unique(), [0, 1, 2, 3]),
        (experimental.ignore_errors(), [0, 1, 2, 3]),
        (experimental.assert_cardinality(4), [0, 1, 2, 3]),
        (experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2), [[0, 2], [1, 3]]),
        (
            experimental.parallel_interleave(lambda x: Dataset.from_tensors(x).repeat(2), cycle_length=2),
            [0, 1, 0, 1, 2, 3, 2, 3],
        ),
        (lambda ds: ds.batch(2).apply(experimental.unbatch()), [0, 1, 2, 3]),
    ],
)
def test_transformations_for_apply(transformation, expected, values):
    assert values(Dataset.range(4).apply(transformation)) == expected


def test_shuffle_and_repeat(values):
    ds = Dataset.range(5).apply(experimental.shuffle_and_repeat(5, count=2, seed=1))
    assert values(ds) == values(Dataset.range(5).shuffle(5, seed=1).repeat(2))


@pytest.mark.parametrize(("expected", "text"), [(3, "contained at least 4"), (5, "contained 4"), (-1, "infinite")])
def test_a_cardinality_that_was_said_is_held_to(expected, text, values):
    ds = Dataset.range(4).filter(lambda x: True).apply(experimental.assert_cardinality(expected))
    assert int(ds.cardinality()) == expected
    with pytest.raises(errors.FailedPreconditionError, match=text):
        values(ds)


# Options.


def test_options_are_merged_and_hold_for_the_whole():
    first, second = data.Options(), data.Options()
    first.deterministic = False
    first.threading.private_threadpool_size = 3
    second.experimental_distribute.auto_shard_policy = experimental.AutoShardPolicy.OFF
    ds = Dataset.range(3).with_options(first).map(lambda x: x).with_options(second)
    found = ds.options()
    assert found.deterministic is False
    assert found.threading.private_threadpool_size == 3
    assert found.experimental_distribute.auto_shard_policy is experimental.AutoShardPolicy.OFF
    assert first.merge(second) == found
    assert data.Options() == Dataset.range(3).options()


def test_options_refuse_what_they_do_not_know():
    options = data.Options()
    options.experimental_deterministic = True
    assert options.deterministic is True
    with pytest.raises(AttributeError, match="Cannot set the property nonsense on Options"):
        options.nonsense = 1
    with pytest.raises(TypeError, match="does not take"):
        options.deterministic = "yes"
    with pytest.raises(TypeError, match=r"takes tf\.data\.Options"):
        Dataset.range(3).with_options({"deterministic": True})
    assert "deterministic=True" in repr(options)


def test_options_that_were_taken_away_change_nothing_when_they_are_merged():
    options = data.Options()
    options.threading = None
    merged = data.Options().merge(options)
    assert merged.threading == data.ThreadingOptions()
    assert Dataset.range(3).with_options(options).options() == data.Options()


def test_determinism_has_an_older_name():
    options = data.Options()
    assert options.experimental_deterministic is None
    options.experimental_deterministic = False
    assert options.deterministic is options.experimental_deterministic is False
