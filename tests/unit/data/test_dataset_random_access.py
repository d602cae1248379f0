"""``tf.data.experimental.at``: elements by number, which must be those of an iteration."""

from __future__ import annotations

import pytest

import situs as tf
from situs import errors
from situs.data import Dataset

at = tf.data.experimental.at

PIPELINES = {
    "range": lambda: Dataset.range(2, 20, 3),
    "counter": lambda: Dataset.counter(3, 2).take(4),
    "slices": lambda: Dataset.from_tensor_slices([[1, 2], [3, 4], [5, 6]]),
    "strings": lambda: Dataset.from_tensor_slices(["a", "b"]),
    "tensors": lambda: Dataset.from_tensors([1, 2]),
    "map": lambda: Dataset.range(5).map(lambda x: x * x),
    "parallel map": lambda: Dataset.range(5).map(lambda x: x * x, num_parallel_calls=2),
    "batch": lambda: Dataset.range(7).batch(3),
    "full batches": lambda: Dataset.range(7).batch(3, drop_remainder=True),
    "take": lambda: Dataset.range(7).take(3),
    "take all": lambda: Dataset.range(7).take(-1),
    "skip": lambda: Dataset.range(7).skip(3),
    "skip all": lambda: Dataset.range(7).skip(-1),
    "shard": lambda: Dataset.range(8).shard(3, 1),
    "repeat": lambda: Dataset.range(3).repeat(3),
    "zip": lambda: Dataset.zip((Dataset.range(3), Dataset.range(5).map(lambda x: -x))),
    "enumerate": lambda: Dataset.from_tensor_slices([7, 8]).enumerate(start=4),
    "concatenate": lambda: Dataset.range(3).concatenate(Dataset.range(10, 12)),
    "prefetch": lambda: Dataset.range(4).prefetch(2),
    "cache": lambda: Dataset.range(9).filter(lambda x: x % 2 == 0).cache(),
    "cache of rows": lambda: Dataset.range(4).cache(),
    "options": lambda: Dataset.range(4).with_options(tf.data.Options()),
    "shuffle": lambda: Dataset.range(9).shuffle(4, seed=3, reshuffle_each_iteration=False),
    "all": lambda: Dataset.range(20).map(lambda x: x + 1).repeat(2).batch(3).skip(1).prefetch(1),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_are_those_of_an_iteration(name, values):
    ds = PIPELINES[name]()
    expected = values(PIPELINES[name]())
    order = [*range(len(expected)), *reversed(range(len(expected)))]
    for number in order:
        assert values(Dataset.from_tensors(at(ds, number))) == [expected[number]]
    for number in (-1, len(expected), len(expected) + 5):
        with pytest.raises(errors.OutOfRangeError):
            at(ds, number)


def test_no_other_element_is_made():
    calls = []

    def note(x):
        calls.append(int(x))
        return x

    ds = Dataset.range(100).map(lambda x: tf.py_function(note, [x], tf.int64)).batch(2)
    at(ds, 20)
    assert calls == [40, 41]


def test_in_functions_and_graphs_the_index_may_be_a_tensor():
    @tf.function
    def pick(index, offset):
        return at(Dataset.range(10).map(lambda x: x + offset), index)

    assert int(pick(tf.constant(3), tf.constant(100, tf.int64))) == 103
    assert int(pick(tf.constant(9), tf.constant(7, tf.int64))) == 16
    with pytest.raises(errors.OutOfRangeError):
        pick(tf.constant(10), tf.constant(0, tf.int64))
    with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
        index = tf.compat.v1.placeholder(tf.int64, [])
        found = at(Dataset.range(10).batch(4), index)
        assert found.shape.as_list() == [None]
        assert sess.run(found, {index: 2}).tolist() == [8, 9]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(3).filter(lambda x: x > 0),
        lambda: Dataset.range(3).flat_map(Dataset.range),
        lambda: Dataset.range(4).batch(2).unbatch(),
    ],
)
def test_elements_without_numbers_are_refused(make):
    with pytest.raises(errors.UnimplementedError, match="cache"):
        at(make(), 0)


def test_what_is_no_index_is_refused():
    with pytest.raises(TypeError):
        at(Dataset.range(3), 1.5)
    with pytest.raises(TypeError):
        at([1, 2], 0)
    with tf.Graph().as_default(), pytest.raises(TypeError):
        at(Dataset.range(3), tf.constant(1.5))
