"""Iterators as arguments of functions: one graph for all of a kind, and each run takes the next elements."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset, IteratorSpec


def floats(count, batch=2):
    return Dataset.from_tensor_slices(np.arange(count, dtype=np.float32)).batch(batch, drop_remainder=True)


def test_one_graph_serves_all_iterators_of_a_kind():
    @tf.function
    def total(elements):
        return tf.reduce_sum(next(elements))

    for _ in range(3):
        elements = iter(floats(6))
        assert [float(total(elements)) for _ in range(3)] == [1.0, 5.0, 9.0]
    assert total.experimental_get_tracing_count() == 1
    assert float(total(iter(floats(6, batch=3)))) == 3.0
    assert total.experimental_get_tracing_count() == 2


def test_an_iterator_in_a_structure_and_by_keyword():
    @tf.function
    def both(pair, *, scale):
        return pair["a"].get_next() * scale + next(pair["b"][0])

    one, other = iter(Dataset.range(3)), iter(Dataset.range(10, 13))
    made = [int(both({"a": one, "b": [other]}, scale=tf.constant(2, tf.int64))) for _ in range(3)]
    assert made == [10, 13, 16]
    assert both.experimental_get_tracing_count() == 1


def test_eager_code_and_functions_take_turns():
    @tf.function
    def take(elements):
        return elements.get_next()

    elements = iter(Dataset.range(6))
    found = [int(next(elements)), int(take(elements)), int(elements.get_next()), int(take(elements))]
    assert found == [0, 1, 2, 3]


def test_the_end_is_an_error_and_stays_one():
    @tf.function
    def take(elements):
        return elements.get_next()

    elements = iter(Dataset.range(1))
    assert int(take(elements)) == 0
    for _ in range(2):
        with pytest.raises(errors.OutOfRangeError, match="End of sequence"):
            take(elements)


def test_a_loop_over_an_argument_goes_on_where_the_last_one_stopped():
    @tf.function
    def sum_of(elements, most):
        total = tf.constant(0, tf.int64)
        for x in elements:
            total += x
            if total >= most:
                break
        return total

    elements = iter(Dataset.range(1, 6))
    assert int(sum_of(elements, 3)) == 3  # 1 + 2
    assert int(sum_of(elements, 100)) == 12  # 3 + 4 + 5
    assert int(sum_of(elements, 100)) == 0


def test_a_while_loop_takes_elements():
    @tf.function
    def three(elements):
        def step(i, total):
            return i + 1, total + elements.get_next()

        return tf.while_loop(lambda i, total: i < 3, step, (0, tf.constant(0, tf.int64)))[1]

    elements = iter(Dataset.range(7))
    assert [int(three(elements)), int(three(elements))] == [3, 12]


def test_a_function_hands_its_iterator_on():
    @tf.function
    def inner(elements):
        return next(elements)

    @tf.function
    def outer(elements):
        return inner(elements) * 10 + inner(elements)

    elements = iter(Dataset.range(4))
    assert [int(outer(elements)), int(outer(elements))] == [1, 23]


def test_under_a_tape():
    weight = tf.Variable(3.0)

    @tf.function
    def loss(elements):
        return weight * tf.reduce_sum(next(elements))

    elements = iter(floats(4))
    for expected in (1.0, 5.0):
        with tf.GradientTape() as tape:
            found = loss(elements)
        assert float(tape.gradient(found, weight)) == expected


def test_structures_and_strings_come_through():
    @tf.function
    def take(elements):
        element = next(elements)
        return element["a"], tf.strings.length(element["b"])

    elements = iter(Dataset.from_tensor_slices({"a": [1, 2], "b": ["x", "yyy"]}))
    assert [tuple(int(x) for x in take(elements)) for _ in range(2)] == [(1, 1), (2, 3)]


def test_elements_on_a_gpu(on_device):
    ds = floats(4).apply(tf.data.experimental.prefetch_to_device("/GPU:0"))

    @tf.function
    def doubled(elements):
        return next(elements) * 2

    for _ in range(2):
        elements = iter(ds)
        assert [doubled(elements).numpy().tolist() for _ in range(2)] == [[0.0, 2.0], [4.0, 6.0]]
    assert doubled.experimental_get_tracing_count() == 1


def test_a_function_keeps_no_iterator_alive():
    @tf.function
    def take(elements):
        return next(elements)

    elements = iter(Dataset.range(3))
    take(elements)
    gone = weakref.ref(elements)
    del elements
    gc.collect()
    assert gone() is None
    assert int(take(iter(Dataset.range(3)))) == 0


def test_specs():
    elements = iter(Dataset.range(3))
    spec = IteratorSpec(tf.TensorSpec([], tf.int64))
    assert tf.type_spec_from_value(elements) == spec
    assert spec.is_compatible_with(elements)
    assert not IteratorSpec(tf.TensorSpec([], tf.int32)).is_compatible_with(elements)

    @tf.function(input_signature=[spec])
    def take(elements):
        return next(elements)

    assert [int(take(elements)), int(take(elements))] == [0, 1]
    with pytest.raises(TypeError, match="IteratorSpec"):
        take(iter(floats(4)))
    made = take.get_concrete_function()
    assert made.structured_input_signature == ((spec,), {})
    assert int(made(elements)) == 2


def test_an_iterator_of_a_graph_is_no_argument():
    import situs.compat.v1 as v1

    @tf.function
    def take(elements):
        return elements

    with v1.Graph().as_default():
        elements = v1.data.make_one_shot_iterator(v1.data.Dataset.range(3))
        with pytest.raises(TypeError, match="get_next"):
            take(elements)
