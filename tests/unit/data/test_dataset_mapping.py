"""Functions on elements: how they are called and traced, what they may return, where their errors arrive."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch

import situs as tf
from situs import errors
from situs.data import AUTOTUNE, UNKNOWN_CARDINALITY, Dataset


def test_a_function_is_traced_once(values):
    calls = []
    ds = Dataset.range(5).map(lambda x: calls.append(x) or x * x)
    assert values(ds) == values(ds) == [0, 1, 4, 9, 16]
    assert len(calls) == 1


def test_tuples_are_passed_in_parts_and_dictionaries_whole(values):
    pairs = Dataset.from_tensor_slices(([1, 2], [10, 20]))
    assert values(pairs.map(lambda x, y: x + y)) == [11, 22]
    named = Dataset.from_tensor_slices({"x": [1, 2], "y": [10, 20]})
    assert values(named.map(lambda e: {"sum": e["x"] + e["y"]})) == [{"sum": 11}, {"sum": 22}]
    nested = Dataset.zip((pairs, Dataset.range(2)))
    assert values(nested.map(lambda pair, n: (pair[1], n))) == [(10, 0), (20, 1)]


@pytest.mark.parametrize(
    ("returned", "spec", "first"),
    [
        (lambda x: [x, x + 1], (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.int64)), (0, 1)),
        (lambda x: (x, [x, x]), (tf.TensorSpec([], tf.int64), tf.TensorSpec([2], tf.int64)), (0, [0, 0])),
        (lambda x: 2.5, tf.TensorSpec([], tf.float32), 2.5),
        (lambda x: "word", tf.TensorSpec([], tf.string), b"word"),
        (lambda x: np.arange(3), tf.TensorSpec([3], tf.int64), [0, 1, 2]),
        (lambda x: (x, None), (tf.TensorSpec([], tf.int64), None), (0, None)),
        (lambda x: {"a": x}, {"a": tf.TensorSpec([], tf.int64)}, {"a": 0}),
    ],
)
def test_what_a_function_may_return(returned, spec, first, values):
    ds = Dataset.range(2).map(returned)
    assert ds.element_spec == spec
    assert values(ds)[0] == first


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: None, ValueError, "returned None"),
        (lambda x: object(), TypeError, r"Unsupported return value from function passed to Dataset\.map\(\)"),
        (lambda x: (), ValueError, "should not be empty"),
        (lambda x, y: x, TypeError, "missing 1 required positional argument"),
        (3, ValueError, "Argument `func` must be a callable. Received func=3"),
        (None, ValueError, "must be a callable"),
        (lambda x: tf.Variable(1), ValueError, r"tf\.Variable"),
        (lambda x: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_what_a_function_may_not_be(function, error, text):
    with pytest.raises(error, match=text):
        Dataset.range(2).map(function)


def test_python_control_flow_on_tensors_is_converted(values):
    def collatz(x):
        steps = tf.constant(0, tf.int64)
        while x > 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        return steps

    assert values(Dataset.range(1, 8).map(collatz)) == [0, 1, 7, 2, 5, 8, 16]


def test_methods_partials_functions_and_tf_functions(values):
    class Scale:
        def __init__(self, by):
            self.by = by

        def times(self, x):
            return x * self.by

        def __call__(self, x):
            return x - self.by

    add = functools.partial(lambda y, x: x + y, 100)
    for function, expected in [
        (Scale(3).times, [0, 3]),
        (Scale(3), [-3, -2]),
        (add, [100, 101]),
        (tf.function(lambda x: x + 7), [7, 8]),
        (tf.negative, [0, -1]),
    ]:
        assert values(Dataset.range(2).map(function)) == expected


def test_python_functions_inside(values):
    ds = Dataset.range(3).map(lambda x: tf.numpy_function(lambda v: v * 10, [x], tf.int64))
    assert values(ds) == [0, 10, 20]
    ds = Dataset.range(3).map(lambda x: tf.py_function(lambda v: [v, v + 1], [x], [tf.int64, tf.int64]))
    assert values(ds) == [(0, 1), (1, 2), (2, 3)]


def test_variables_are_read_when_elements_are_made(values):
    scale = tf.Variable(2, dtype=tf.int64)
    ds = Dataset.range(3).map(lambda x: x * scale)
    assert values(ds) == [0, 2, 4]
    scale.assign(5)
    assert values(ds) == [0, 5, 10]


def test_effects_happen_once_for_each_element(values):
    seen = tf.Variable(0)
    ds = Dataset.range(4).map(lambda x: [seen.assign_add(1), x][1])
    values(ds)
    assert int(seen) == 4


def test_random_numbers_differ_from_element_to_element(values):
    drawn = values(Dataset.range(50).map(lambda x: tf.random.uniform([])))
    assert len(set(drawn)) == 50


def test_captured_tensors_on_a_gpu(values):
    with tf.device("/gpu:0"):
        table = tf.constant([10, 20, 30], tf.int64) + 0
    assert values(Dataset.range(3).map(lambda x: tf.gather(table, x))) == [10, 20, 30]


def test_a_function_may_ask_for_a_device(values):
    def on_gpu(x):
        with tf.device("/gpu:1"):
            return tf.cast(x, tf.float32) * 2.0

    ds = Dataset.range(3).map(on_gpu)
    assert values(ds) == [0.0, 2.0, 4.0]
    assert next(iter(ds)).device.endswith("CPU:0")


# Errors.


def check(x):
    return tf.debugging.check_numerics(1.0 / x, "a bad element")  # the line that errors name


LINE = next(
    n for n, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "the line that errors name" in line
)


@pytest.mark.parametrize("calls", [None, 2, AUTOTUNE])
def test_an_error_arrives_at_its_element_with_the_users_line_and_the_next_ones_follow(calls):
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0, 4.0]).map(check, num_parallel_calls=calls)
    elements = iter(ds.prefetch(2))
    assert float(next(elements)) == 1.0
    with pytest.raises(errors.InvalidArgumentError, match="a bad element : Tensor had Inf values") as caught:
        next(elements)
    assert f"{Path(__file__).name}:{LINE}" in str(caught.value)
    assert [float(x) for x in elements] == [0.5, 0.25]


def test_an_end_of_sequence_inside_is_no_end_of_the_dataset():
    def end(x):
        raise StopIteration

    ds = Dataset.range(3).map(lambda x: tf.numpy_function(end, [x], tf.int64))
    with pytest.raises(errors.InvalidArgumentError, match="Function invocation produced OutOfRangeError"):
        list(ds)


def test_the_traceback_of_a_python_function_is_kept():
    def fail(x):
        raise KeyError("no such word")

    with pytest.raises(errors.UnknownError, match=r"KeyError: 'no such word'(.|\n)*in fail"):
        list(Dataset.range(1).map(lambda x: tf.py_function(fail, [x], tf.int64)))


# The others.


def test_filter_and_take_while(values):
    ds = Dataset.range(10)
    assert values(ds.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert values(ds.take_while(lambda x: x < 4)) == [0, 1, 2, 3]
    assert values(Dataset.zip((ds, ds)).filter(lambda x, y: x + y > 14)) == [(8, 8), (9, 9)]
    assert int(ds.filter(lambda x: True).cardinality()) == UNKNOWN_CARDINALITY


@pytest.mark.parametrize("returned", [lambda x: x, lambda x: tf.stack([x > 0, x > 1]), lambda x: (True, False)])
def test_a_predicate_returns_a_bool(returned):
    with pytest.raises(ValueError, match=r"`predicate` must return a `tf.bool` scalar tensor"):
        Dataset.range(3).filter(returned)


def test_a_predicate_that_fails_fails_one_element():
    ds = Dataset.from_tensor_slices([1.0, 0.0, 2.0]).filter(lambda x: check(x) > 0.0)
    elements = iter(ds)
    assert float(next(elements)) == 1.0
    with pytest.raises(errors.InvalidArgumentError):
        next(elements)
    assert [float(x) for x in elements] == [2.0]


def test_enumerate(values):
    ds = Dataset.from_tensor_slices(["a", "b"]).enumerate(start=5)
    assert values(ds) == [(5, b"a"), (6, b"b")]
    assert values(Dataset.range(2).map(lambda x: x).enumerate()) == [(0, 0), (1, 1)]


def test_scan(values):
    fibonacci = Dataset.range(7).scan((np.int64(0), np.int64(1)), lambda s, x: ((s[1], s[0] + s[1]), s[0]))
    assert values(fibonacci) == [0, 1, 1, 2, 3, 5, 8]
    growing = Dataset.range(3).scan(np.zeros(0, np.int64), lambda s, x: (tf.concat([s, [x]], 0), s))
    assert growing.element_spec == tf.TensorSpec([None], tf.int64)
    assert values(growing) == [[], [0], [0, 1]]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda s, x: s, "pair comprising the new state and the output"),
        (lambda s, x: (tf.cast(s, tf.float32), x), "must match the initial state"),
    ],
)
def test_scan_refuses_functions_that_break_its_state(function, text):
    with pytest.raises(TypeError, match=text):
        Dataset.range(3).scan(np.int64(0), function)


@pytest.mark.parametrize("calls", [0, -2, "two", 1.5])
def test_a_number_of_calls_is_a_positive_integer(calls):
    with pytest.raises((ValueError, TypeError), match="num_parallel_calls"):
        Dataset.range(3).map(lambda x: x, num_parallel_calls=calls)


@pytest.mark.parametrize("width", [4, 30000])  # of which the thread copies the rows itself
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool", "bfloat16", "uint16", "string"])
def test_rows_that_a_function_gathers_are_those_of_gather(dtype, width, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    rows = tf.cast(tf.reshape(tf.range(10 * width), [10, width]) % 2, tf.int32)
    table = tf.strings.as_string(rows) if dtype == "string" else tf.cast(rows, dtype)
    chosen = [[3, 0, 9], [1, 1, 2]]
    made = tf.data.Dataset.from_tensor_slices(chosen).map(lambda numbers: tf.gather(table, numbers))
    for found, numbers in zip(made, chosen, strict=True):
        np.testing.assert_array_equal(found.numpy(), tf.gather(table, numbers).numpy())
        assert found.dtype == table.dtype


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("bad", [[0, 10], [-1, 2]])
def test_rows_that_are_not_there_are_errors_in_a_function_too(bad, index, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    table = tf.zeros([10, 30000])
    made = tf.data.Dataset.from_tensors(tf.constant(bad, index)).map(lambda numbers: tf.gather(table, numbers))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"is not in \[0, 10\)"):
        list(made)
