"""Ranges and evenly spaced values whose ends are variables, or not known before the graph runs."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs.errors import InvalidArgumentError


def test_variables_bound_ranges_in_functions_too():
    n, step = tf.Variable(5, dtype=tf.int64), tf.Variable(2, dtype=tf.int64)
    for call in (lambda: tf.range(n, delta=step), tf.function(lambda: tf.range(n, delta=step))):
        assert call().dtype is tf.int64
        assert call().numpy().tolist() == [0, 2, 4]


def test_variables_bound_evenly_spaced_values():
    end = tf.Variable(3.0, dtype=tf.float64)
    for call in (lambda: tf.linspace(0, end, 4), tf.function(lambda: tf.linspace(0, end, 4))):
        assert call().dtype is tf.float64
        assert call().numpy().tolist() == [0, 1, 2, 3]


def test_evenly_spaced_values_may_be_told_later():
    with v1.Graph().as_default(), v1.Session() as session:
        start, num = v1.placeholder(tf.float32, []), v1.placeholder(tf.int32, [])
        made = tf.linspace(start, 1.0, num)
        assert made.shape.as_list() == [None]
        assert tf.linspace(start, 1.0, 3).shape.as_list() == [3]
        np.testing.assert_allclose(session.run(made, {start: 0.0, num: 3}), [0, 0.5, 1])
        assert session.run(made, {start: 0.0, num: 0}).tolist() == []


@pytest.mark.parametrize("way", [lambda f: f(), lambda f: tf.function(f)()], ids=["eager", "in a function"])
@pytest.mark.parametrize(("start", "shape"), [(0.0, [0]), ([0.0, 1.0], [0, 2])])
def test_linspace_of_nothing(way, start, shape):
    made = way(lambda: tf.linspace(start, 5.0, 0))
    assert (made.shape, made.dtype) == (shape, tf.float32)


@pytest.mark.parametrize(
    ("start", "num", "text"),
    [(0.0, -1, "Requires num >= 0"), (0.0, 2.5, "num"), ([0.0], -1, "Requires num >= 0")],
)
def test_linspace_refuses(start, num, text):
    with pytest.raises(InvalidArgumentError, match=text):
        tf.linspace(start, 1.0, num)


def test_a_sequence_of_the_programs_own_is_iterated():
    class Series:
        """Has items by label, not by number, as those of pandas have."""

        def __len__(self):
            return 2

        def __getitem__(self, label):
            return {"a": 1, "b": 3}[label]

        def __iter__(self):
            return iter([1, 3])

    assert tf.constant(Series()).numpy().tolist() == [1, 3]


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize(
    ("items", "dtype", "expected"),
    [
        (lambda: [[0.0, 0.0], tf.constant([0.5, 1.0], tf.float64)], tf.float32, [[0.0, 0.0], [0.5, 1.0]]),
        (lambda: [tf.constant([0.5, 1.0], tf.float64)], tf.int32, [[0, 1]]),
        (lambda: [tf.constant(1), 2.5], tf.float32, [1.0, 2.5]),
        (lambda: (tf.Variable(1), [2][0]), tf.float64, [1.0, 2.0]),
    ],
)
def test_tensors_in_a_list_are_cast_to_the_dtype_that_is_asked_for(items, dtype, expected, in_function):
    given = items()
    convert = lambda: tf.convert_to_tensor(given, dtype)  # noqa: E731
    found = tf.function(convert)() if in_function else convert()
    assert (found.dtype, found.numpy().tolist()) == (dtype, expected)


def test_a_list_that_has_no_tensor_is_refused_in_the_same_words_as_before():
    with pytest.raises(TypeError):
        tf.convert_to_tensor([1.5, 2.5], tf.int32)
    with pytest.raises(ValueError, match="float64"):
        tf.convert_to_tensor([tf.constant(1.0, tf.float64), tf.constant(1.0)])


@pytest.mark.parametrize(("limit", "steps"), [(3.0, 800), (1.0, 49), (0.7, 7), (2.5, 461), (1.1, 109)])
def test_a_range_of_float32_ends_where_its_own_arithmetic_says(limit, steps):
    # As TensorFlow counts: with the rounded step, in float32. In float64 the rounded step is often one more.
    delta = np.float32(limit) / np.float32(steps)
    for made in (tf.range(0.0, limit, delta), tf.function(lambda: tf.range(0.0, limit, tf.constant(delta)))()):
        length = int(np.ceil(np.float32(limit) / delta))
        assert made.shape == [length]
        np.testing.assert_array_equal(made.numpy(), np.arange(length, dtype=np.float32) * delta)
    assert len(tf.range(-2.0, 1.0, 3.0 / tf.reduce_prod(tf.constant([4.0, 10.0, 10.0, 2.0])))) == 800
