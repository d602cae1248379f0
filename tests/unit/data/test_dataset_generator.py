"""Generators: what they yield is held to the signature, what they raise arrives. Messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import UNKNOWN_CARDINALITY, Dataset


def yielding(*elements):
    return lambda: iter(elements)


def test_types_and_shapes_or_a_signature(values):
    ds = Dataset.from_generator(yielding((1, "a"), (2, "b")), (tf.int32, tf.string), ([], []))
    assert values(ds) == [(1, b"a"), (2, b"b")]
    assert ds.element_spec == (tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.string))
    assert int(ds.cardinality()) == UNKNOWN_CARDINALITY
    signature = {"x": tf.TensorSpec([None], tf.float32), "y": tf.TensorSpec([], tf.bool)}
    ds = Dataset.from_generator(yielding({"x": [1, 2.5], "y": True}), output_signature=signature)
    assert values(ds) == [{"x": [1.0, 2.5], "y": True}]


def test_shapes_may_be_left_open(values):
    ds = Dataset.from_generator(yielding([1], [1, 2]), tf.int64)
    assert ds.element_spec.shape.rank is None
    assert values(ds) == [[1], [1, 2]]


def test_arrays_tensors_and_tuples_are_elements(values):
    made = yielding(np.arange(2, dtype=np.int64), tf.constant([2, 3], tf.int64), (4, 5))
    assert values(Dataset.from_generator(made, tf.int64, [2])) == [[0, 1], [2, 3], [4, 5]]


def test_each_iteration_calls_the_function(values):
    calls = []

    def generate():
        calls.append(1)
        yield from range(3)

    ds = Dataset.from_generator(generate, tf.int64)
    assert calls == []
    assert values(ds) == values(ds) == [0, 1, 2]
    assert values(ds.repeat(2)) == [0, 1, 2] * 2
    assert len(calls) == 4


def test_arguments_come_as_arrays(values):
    def generate(stop, names):
        assert isinstance(names, np.ndarray)
        for number in range(stop):
            yield names[number]

    ds = Dataset.from_generator(generate, tf.string, [], args=(2, ["a", "b", "c"]))
    assert values(ds) == [b"a", b"b"]


def test_anything_that_can_be_iterated_will_do(values):
    assert values(Dataset.from_generator(lambda: [1, 2], tf.int32)) == [1, 2]

    class Counting:
        def __iter__(self):
            return iter(range(2))

    assert values(Dataset.from_generator(Counting, tf.int32)) == [0, 1]


@pytest.mark.parametrize(
    ("elements", "types", "shapes", "text"),
    [
        (["foo"], tf.int64, None, "did not match the expected structure"),
        ([1.5], tf.int64, None, "did not match the expected structure"),
        ([1], tf.string, None, "did not match the expected structure"),
        ([None], tf.int64, None, "did not match the expected structure"),
        ([object()], tf.int64, None, "did not match the expected structure"),
        ([1], (tf.int64, tf.int64), None, r"The expected structure was \(tf.int64, tf.int64\), but the yielded .* 1\."),
        ([[1, 2]], (tf.int64, tf.int64), None, "did not match the expected structure"),
        ([{"b": 1}], {"a": tf.int64}, None, "did not match the expected structure"),
        ([[1, 2, 3]], tf.int64, [2], r"of shape \(3,\) where an element of shape \(2,\) was expected"),
        ([5], tf.int64, [None], r"of shape \(\) where an element of shape \(None,\) was expected"),
        ([300], tf.int8, None, "did not match the expected structure"),
        ([[[1], [2, 3]]], tf.int64, None, "did not match the expected structure"),
    ],
)
def test_elements_that_are_not_as_was_said_are_refused(elements, types, shapes, text):
    ds = Dataset.from_generator(yielding(*elements), types, shapes)
    with pytest.raises(errors.InvalidArgumentError, match=text):
        list(ds)


def test_an_element_that_is_refused_is_followed_by_the_next():
    elements = iter(Dataset.from_generator(yielding(1, "two", 3), tf.int64).prefetch(1))
    assert int(next(elements)) == 1
    with pytest.raises(errors.InvalidArgumentError, match="two"):
        next(elements)
    assert [int(x) for x in elements] == [3]


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("boom"), errors.InvalidArgumentError),
        (TypeError("boom"), errors.InvalidArgumentError),
        (ZeroDivisionError("boom"), errors.UnknownError),
        (NotImplementedError("boom"), errors.UnimplementedError),
        (MemoryError("boom"), errors.ResourceExhaustedError),
    ],
)
@pytest.mark.parametrize("ahead", [0, 2])
def test_an_error_arrives_where_the_element_would_have_been_and_ends_the_dataset(raised, kind, ahead):
    def generate():
        yield 1
        raise raised

    elements = iter(Dataset.from_generator(generate, tf.int64).prefetch(ahead))
    assert int(next(elements)) == 1
    with pytest.raises(kind, match=rf"{type(raised).__name__}: boom(.|\n)*in generate"):
        next(elements)
    assert list(elements) == []


def test_a_function_that_cannot_be_called_or_iterated():
    for made, text in [(lambda: None, "not iterable"), (lambda x: iter([x]), "missing 1 required")]:
        with pytest.raises(errors.InvalidArgumentError, match=text):
            list(Dataset.from_generator(made, tf.int64))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"generator": [1, 2], "output_types": tf.int64}, "must be a Python callable"),
        ({"generator": yielding()}, "either the `output_signature` argument or the `output_types`"),
        (
            {"generator": yielding(), "output_types": tf.int64, "output_signature": tf.TensorSpec([], tf.int64)},
            "The `output_types` argument can not be used together with the `output_signature` argument",
        ),
        ({"generator": yielding(), "output_signature": tf.int64}, "must contain objects that are subclass"),
        ({"generator": yielding(), "output_types": "nonsense"}, "nonsense"),
        ({"generator": yielding(), "output_types": (tf.int64, tf.int64), "output_shapes": [2]}, "output_shapes"),
    ],
)
def test_signatures_that_make_no_sense_are_refused(arguments, text):
    with pytest.raises(TypeError, match=text):
        Dataset.from_generator(**arguments)


def test_the_generator_runs_as_eager_code_also_in_a_session():
    import situs.compat.v1 as tf1
    from situs._src.v1 import datasets as v1

    def generate():
        for number in range(2):
            yield (tf.constant(number) + 1).numpy()

    with tf1.Graph().as_default(), tf1.Session() as sess:
        element = v1.make_one_shot_iterator(v1.DatasetV1.from_generator(generate, tf.int32, [])).get_next()
        assert [sess.run(element), sess.run(element)] == [1, 2]


def test_a_generator_that_is_left_is_closed():
    closed = []

    def generate():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    elements = iter(Dataset.from_generator(generate, tf.int64))
    next(elements)
    del elements
    assert closed == [True]


def test_arguments_are_given_one_by_one(values):
    def add(x, y):
        yield x + y

    for args in ((1, 2), [1, 2], np.array([1, 2]), tf.constant([1, 2])):
        assert values(Dataset.from_generator(add, tf.int32, args=args)) == [3]
    with pytest.raises(errors.DTypeError, match=r"`args` of from_generator\(\) is a tuple of tensors, got 5"):
        Dataset.from_generator(add, tf.int32, args=5)
