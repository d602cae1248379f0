"""Corners of datasets, as TensorFlow 2.21 has them: its output is written down here."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset

v1 = tf.compat.v1


def rounds(sizes):
    """A dataset whose iterations have so many elements, one after the other; 5 when the sizes are used up."""
    left = iter(sizes)
    return Dataset.from_generator(lambda: iter(range(next(left, 5))), output_signature=tf.TensorSpec([], tf.int64))


def numbers(ds):
    return [int(x) for x in ds]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: rounds([1, 0, 2]).repeat().take(3), [0]),
        (lambda: rounds([1, 0, 2]).repeat(4).take(9), [0, 0, 1, 0, 1, 2, 3, 4]),
        (lambda: rounds([0, 0, 2]).repeat().take(3), []),
        (lambda: rounds([0, 0, 2, 0, 3]).repeat(5), [0, 1, 0, 1, 2]),
        (lambda: rounds([0]).repeat(3), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]),
        (lambda: Dataset.range(0).repeat(), []),
    ],
)
def test_rounds_without_elements(make, expected):
    assert numbers(make()) == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: rounds([1, 0, 2]).shuffle(10).repeat().take(3), [[0], [0, 1]]),
        (lambda: rounds([0, 0, 2]).shuffle(10).repeat().take(3), []),
        (lambda: rounds([0, 0, 2, 0, 3]).shuffle(10).repeat(5), [[0, 1], [0, 1, 2]]),
        (lambda: rounds([0, 0, 0, 0, 1, 0, 0, 2]).shuffle(10).repeat(12).take(3), [[0], [0, 1]]),
    ],
)
def test_rounds_without_elements_behind_shuffle(make, expected):
    found = numbers(make())
    for part in expected:
        assert sorted(found[: len(part)]) == part
        found = found[len(part) :]
    assert not found


def test_how_often_what_is_unknown_is_repeated():
    ds = Dataset.range(5).filter(lambda x: x > 2)
    assert int(ds.repeat().cardinality()) == tf.data.INFINITE_CARDINALITY
    assert int(ds.repeat(2).cardinality()) == tf.data.UNKNOWN_CARDINALITY


@pytest.mark.parametrize("seed", [11, None])
def test_random_operations_of_functions_begin_anew_with_each_iteration(seed):
    tf.random.set_seed(3)
    ds = Dataset.range(3).map(lambda _: tf.random.uniform((), seed=seed))
    first = [float(x) for x in ds]
    assert len(set(first)) == 3
    assert [float(x) for x in ds] == first


def test_places_of_a_cycle_are_no_more_than_threads():
    def repeated(x):
        return Dataset.from_tensors(x).repeat(x)

    ds = Dataset.from_tensor_slices(np.array([4, 5, 6])).interleave(
        repeated, cycle_length=None, block_length=3, num_parallel_calls=1
    )
    assert numbers(ds) == [4] * 4 + [5] * 5 + [6] * 6


@pytest.mark.parametrize("in_graph", [False, True])
def test_no_update_of_two_reductions_is_lost(in_graph):
    def build():
        v = v1.Variable(1) if in_graph else tf.Variable(1)

        @tf.function
        def double_twice():
            Dataset.range(1).reduce(0, lambda state, x: (v.assign(v * 2), state)[1])
            Dataset.range(1).reduce(0, lambda state, x: (v.assign(v * 2), state)[1])
            return v.read_value()

        return v, double_twice

    if not in_graph:
        v, double_twice = build()
        double_twice()
        assert int(v) == 4
        return
    with tf.Graph().as_default(), v1.Session() as sess:
        v, double_twice = build()
        made = double_twice()
        sess.run(v.initializer)
        sess.run(made)
        assert sess.run(v) == 4


def test_traced_functions_of_a_graph_read_variables_when_they_run():
    with tf.Graph().as_default(), v1.Session() as sess:
        v = v1.Variable(3.0)

        @tf.function
        def step():
            v.assign_add(1.0)
            return v * 1.0

        made, squared = step(), tf.function(lambda x: x * v * v)(2.0)
        gradient = tf.gradients(squared, v)[0]
        sess.run(v.initializer)
        assert [sess.run(made), sess.run(made)] == [4.0, 5.0]
        assert sess.run([squared, gradient]) == [50.0, 20.0]


def test_an_iterator_may_begin_before_the_variables_of_its_functions_have_values():
    with tf.Graph().as_default(), v1.Session() as sess:
        v = v1.Variable(3)
        iterator = v1.data.make_initializable_iterator(Dataset.range(9).map(lambda x: v))
        element = iterator.get_next()
        sess.run(iterator.initializer)
        with pytest.raises(errors.OpError, match="not been initialized"):
            sess.run(element)
        sess.run(v.initializer)
        assert sess.run(element) == 3
        sess.run(v.assign(8))
        assert sess.run(element) == 8


CHECKED = [1.0, np.nan, 2.0, np.nan, 3.0]


@pytest.mark.parametrize(
    ("values", "window", "expected"),
    [
        (CHECKED, {"shift": 1, "stride": 2}, [[1, 2], None, [2, 3]]),
        (CHECKED, {"shift": 2, "stride": 2}, [[1, 2], [2, 3]]),
        ([1.0, np.nan, 2.0, 4.0, 3.0], {"shift": 1}, [None, None, [2, 4], [4, 3]]),
    ],
)
def test_a_window_fails_where_it_has_an_element_that_failed(values, window, expected):
    checked = Dataset.from_tensor_slices(values).map(lambda x: tf.debugging.check_numerics(x, "bad"))
    iterator = iter(checked.window(2, drop_remainder=True, **window).flat_map(lambda inner: inner.batch(2)))
    for part in expected:
        if part is None:
            with pytest.raises(errors.InvalidArgumentError, match="bad"):
                next(iterator)
        else:
            assert next(iterator).numpy().tolist() == part
    with pytest.raises(StopIteration):
        next(iterator)


def test_no_files_have_no_records():
    assert list(tf.data.TextLineDataset([])) == []
    assert list(tf.data.TFRecordDataset([])) == []


def test_prefetching_of_none_is_tuned():
    assert numbers(Dataset.range(3).prefetch(None)) == [0, 1, 2]


def test_a_seed_may_be_a_tensor():
    ds = Dataset.range(9)
    assert numbers(ds.shuffle(9, seed=tf.constant(3, tf.int64))) == numbers(ds.shuffle(9, seed=3))
    with tf.Graph().as_default(), v1.Session() as sess:
        seed = v1.placeholder(tf.int64, [])
        iterator = v1.data.make_initializable_iterator(ds.shuffle(9, seed=seed))
        element, orders = iterator.get_next(), []
        for value in (1, 1, 2):
            sess.run(iterator.initializer, {seed: value})
            orders.append([int(sess.run(element)) for _ in range(9)])
        assert sorted(orders[0]) == list(range(9))
        assert orders[0] == orders[1] != orders[2]
        with pytest.raises(TypeError):
            ds.shuffle(9, seed=v1.placeholder(tf.float32, []))


def test_iterators_of_a_graph_shuffle_each_for_itself():
    with tf.Graph().as_default(), v1.Session() as sess:
        ds = Dataset.range(30).shuffle(30, reshuffle_each_iteration=False).repeat(2)
        orders = []
        for _ in range(2):
            iterator = v1.data.make_initializable_iterator(ds)
            sess.run(iterator.initializer)
            element = iterator.get_next()
            orders.append([int(sess.run(element)) for _ in range(60)])
    for order in orders:
        assert order[:30] == order[30:]
    assert orders[0] != orders[1]


def drawn(*_):
    return tf.random.uniform([], 0, 100, tf.int64, seed=2)


GOING_ON = {  # datasets of what a function draws, with the elements that TensorFlow has after tf.random.set_seed(3)
    "repeat": (lambda d: d.map(drawn).repeat(3), [55, 40, 14, 9, 52, 59]),
    "repeat twice": (lambda d: d.map(drawn).repeat(2).map(lambda x: x).repeat(2), [55, 40, 14, 9, 52, 59, 42, 58]),
    "in threads": (lambda d: d.map(drawn, num_parallel_calls=2).take(1).repeat(1), [55]),
    "batches": (lambda d: d.map(drawn).batch(2).repeat(2).unbatch(), [55, 40, 14, 9]),
    "prefetched": (lambda d: d.map(drawn).prefetch(2).repeat(2), [55, 40, 14, 9]),
    "taken": (lambda d: d.concatenate(d).map(drawn).take(2).repeat(2), [55, 40, 14, 9]),
    "cached": (lambda d: d.map(drawn).cache().repeat(2), [55, 40, 55, 40]),
    "flat_map": (lambda d: d.flat_map(lambda x: tf.data.Dataset.range(2).map(drawn)), [55, 40, 14, 9]),
    "function of flat_map": (lambda d: d.flat_map(lambda x: tf.data.Dataset.from_tensors(drawn())), [55, 40]),
    "interleave": (lambda d: d.interleave(lambda x: tf.data.Dataset.range(2).map(drawn), 2), [55, 40, 14, 9]),
    "scan": (lambda d: d.scan(tf.constant(0, tf.int64), lambda s, x: (s + 1, s + drawn())).repeat(2), [55, 41, 14, 10]),
    "filter": (lambda d: d.concatenate(d.take(1)).filter(lambda x: drawn() > 45).repeat(3), [0, 1, 0, 1]),
    "branch": (lambda d: d.map(lambda x: tf.cond(x > 0, drawn, lambda: x)).repeat(3), [0, 55, 0, 40, 0, 14]),
    "one dataset twice": (lambda d: (lambda m: m.concatenate(m))(d.map(drawn)), [55, 40, 55, 40]),
    "two functions": (lambda d: d.map(drawn).map(lambda x: x - drawn()).repeat(2), [0, 0, 0, 0]),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_random_numbers_go_on_within_an_iteration_and_begin_again_in_the_next(name):
    make, expected = GOING_ON[name]
    tf.random.set_seed(3)
    made = make(tf.data.Dataset.range(2))
    assert list(made.as_numpy_iterator()) == expected
    assert list(made.as_numpy_iterator()) == expected


def test_one_dataset_side_by_side_with_itself_draws_for_itself():
    tf.random.set_seed(3)
    made = tf.data.Dataset.range(3).map(drawn)
    pairs = list(tf.data.Dataset.zip((made, made)).as_numpy_iterator())
    assert pairs == [(55, 55), (40, 40), (14, 14)]


def test_the_size_of_a_dataset_that_a_function_takes():
    windows = tf.data.Dataset.range(5).window(2)
    assert numbers(windows.map(lambda w: w.cardinality())) == [2, 2, 1]
    assert numbers(windows.map(lambda w: w.batch(2).cardinality())) == [1, 1, 1]
    assert numbers(windows.map(lambda w: w.filter(lambda x: x > 1).cardinality())) == [-2, -2, -2]
    assert int(tf.function(lambda d: d.cardinality())(tf.data.Dataset.range(4))) == 4
    assert int(tf.function(lambda d: d.repeat().cardinality())(tf.data.Dataset.range(4))) == -1
