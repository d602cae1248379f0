"""Datasets and iterators in ``tf.function``: taken from, looped over, made inside."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset


def test_a_function_takes_from_an_iterator_of_eager_code():
    elements = iter(Dataset.range(10))

    @tf.function
    def step(source):
        return next(source) * 2

    assert [int(step(elements)), int(next(elements)), int(step(elements)), int(elements.get_next())] == [0, 1, 4, 3]
    assert step.experimental_get_tracing_count() == 1


def test_taking_in_a_loop_of_the_graph():
    elements = iter(Dataset.range(10))

    @tf.function
    def total(count):
        made = tf.constant(0, tf.int64)
        for _ in tf.range(count):
            made += next(elements)
        return made

    assert int(total(tf.constant(3))) == 0 + 1 + 2
    assert int(total(tf.constant(4))) == 3 + 4 + 5 + 6


def test_an_iterator_ends_when_it_is_dropped_though_a_graph_knows_it(ended):
    step = tf.function(lambda source: next(source))
    elements = iter(Dataset.range(100).map(lambda x: x).prefetch(2))
    assert int(step(elements)) == 0
    del elements
    assert ended()


def test_the_end_is_an_error_of_the_run():
    elements = iter(Dataset.range(1))
    step = tf.function(lambda: elements.get_next())
    assert int(step()) == 0
    with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
        step()


def test_optionals_in_a_function():
    elements = iter(Dataset.from_tensor_slices((["a"], [1])))

    @tf.function
    def step():
        optional = elements.get_next_as_optional()
        if optional.has_value():
            return optional.get_value()[1]
        return tf.constant(-1)

    assert [int(step()), int(step())] == [1, -1]


def test_an_iterator_made_inside_begins_with_every_call():
    @tf.function
    def first_two(start):
        elements = iter(Dataset.range(start, 100).map(lambda x: x + start))
        return next(elements), next(elements)

    for start in (5, 7, 5):
        assert [int(x) for x in first_two(tf.constant(start, tf.int64))] == [2 * start, 2 * start + 1]


def test_whole_datasets_inside():
    @tf.function
    def summary(stop):
        ds = Dataset.range(stop).map(lambda x: x * 2)
        return ds.reduce(np.int64(0), lambda s, x: s + x), ds.cardinality(), Dataset.range(stop).batch(3).cardinality()

    assert [int(x) for x in summary(tf.constant(4, tf.int64))] == [12, 4, 2]
    assert [int(x) for x in summary(tf.constant(6, tf.int64))] == [30, 6, 2]


def test_variables_of_eager_code_in_datasets_made_inside():
    scale = tf.Variable(np.int64(2))

    @tf.function
    def total():
        return Dataset.range(4).map(lambda x: x * scale).reduce(np.int64(0), lambda s, x: s + x)

    assert int(total()) == 12
    scale.assign(5)
    assert int(total()) == 30


def test_a_python_loop_that_nobody_converted_does_not_go_on_for_ever():
    @tf.function(autograph=False)
    def endless():
        for x in Dataset.range(3):
            x + 1

    with pytest.raises(errors.FailedPreconditionError, match="let AutoGraph convert it"):
        endless()


def test_no_numpy_while_a_graph_is_made():
    with pytest.raises(RuntimeError, match="not supported while tracing"):
        tf.function(lambda: list(Dataset.range(3).as_numpy_iterator()))()


# Loops.


def test_a_loop_over_a_dataset_is_a_loop_of_the_graph():
    traced = []
    ds = Dataset.range(2000)

    @tf.function
    def total():
        made = tf.constant(0, tf.int64)
        for x in ds:
            traced.append(x)
            made += x
        return made

    assert int(total()) == int(total()) == sum(range(2000))
    assert len(traced) <= 2


def test_break_continue_and_structures():
    ds = Dataset.from_tensor_slices({"n": np.arange(100), "s": ["even", "odd"] * 50})

    @tf.function
    def odd_ones(limit):
        made = tf.constant(0, tf.int64)
        for element in ds.batch(1).unbatch():
            if element["n"] >= limit:
                break
            if element["s"] == "even":
                continue
            made += element["n"]
        return made

    assert int(odd_ones(tf.constant(10, tf.int64))) == 1 + 3 + 5 + 7 + 9


def test_effects_in_a_loop_without_results():
    seen = tf.Variable(0)

    @tf.function
    def run(stop):
        for batch in Dataset.range(stop).batch(4):
            seen.assign_add(tf.size(batch))

    run(tf.constant(10, tf.int64))
    assert int(seen) == 10


def test_a_loop_over_an_iterator_takes_what_is_left():
    elements = iter(Dataset.range(6))
    next(elements)

    @tf.function
    def until(limit):
        made = tf.constant(0, tf.int64)
        for x in elements:
            made += x
            if x >= limit:
                break
        return made

    assert int(until(tf.constant(2, tf.int64))) == 1 + 2
    assert int(until(tf.constant(100, tf.int64))) == 3 + 4 + 5
    assert int(until(tf.constant(100, tf.int64))) == 0


def test_loops_in_loops_and_empty_ones():
    @tf.function
    def pairs(stop):
        count = tf.constant(0)
        for x in Dataset.range(stop):
            for _ in Dataset.range(x):
                count += 1
        return count

    assert [int(pairs(tf.constant(n, tf.int64))) for n in (0, 1, 5)] == [0, 0, 10]


def test_a_loop_over_a_pipeline_with_threads_ends_them(ended):
    @tf.function
    def first():
        made = tf.constant(0, tf.int64)
        for x in Dataset.range(10**6).map(lambda v: v + 1).prefetch(2):
            made = x
            break
        return made

    assert int(first()) == 1
    assert ended()


def test_variables_are_made_when_a_function_is_first_called():
    class Scale:
        weight = None

        def __call__(self, x):
            if self.weight is None:
                self.weight = tf.Variable(3)
            return x * self.weight

    scale = Scale()
    scaled = tf.data.Dataset.range(3).map(lambda x: scale(tf.cast(x, tf.int32)))
    assert [x.numpy() for x in scaled] == [0, 3, 6]
    scale.weight.assign(2)
    assert [x.numpy() for x in scaled] == [0, 2, 4]
    with pytest.raises(ValueError, match="only supports singleton"):
        tf.data.Dataset.range(3).map(lambda x: x * tf.Variable(2, dtype=tf.int64))
