"""What a ``tf.function`` returns: the structure of the Python function, with tensors in it."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import situs as tf

Pair = collections.namedtuple("Pair", "first second")


def shown(value):
    """A structure with dtypes and values, as nested plain Python."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(shown, value)
    if isinstance(value, dict):
        return type(value).__name__, {key: shown(item) for key, item in value.items()}
    return None if value is None else (value.dtype.name, np.asarray(value.numpy()).tolist())


ONE = ("int32", 1)
RESULTS = {
    "a number": (lambda x: 1, ONE),
    "a fraction": (lambda x: 2.5, ("float32", 2.5)),
    "a large number": (lambda x: 2**40, ("int64", 2**40)),
    "a truth": (lambda x: True, ("bool", True)),
    "text": (lambda x: "hello", ("string", b"hello")),
    "an array": (lambda x: np.array([1, 2]), ("int64", [1, 2])),
    "nothing": (lambda x: None, None),
    "an argument": (lambda x: x, ONE),
    "a tuple": (lambda x: (x, 2), ("tuple", ONE, ("int32", 2))),
    "a list with nothing in it": (lambda x: [x, None], ("list", ONE, None)),
    "nested": (
        lambda x: {"b": [x], "a": ({"c": x},)},
        ("dict", {"b": ("list", ONE), "a": ("tuple", ("dict", {"c": ONE}))}),
    ),
    "a named tuple": (lambda x: Pair(x, [x]), ("Pair", ONE, ("list", ONE))),
    "an ordered dictionary": (
        lambda x: collections.OrderedDict([("z", x), ("a", x)]),
        ("OrderedDict", {"z": ONE, "a": ONE}),
    ),
    "a default dictionary": (lambda x: collections.defaultdict(list, a=x), ("dict", {"a": ONE})),
    "empty": (lambda x: ([], (), {}), ("tuple", ("list",), ("tuple",), ("dict", {}))),
    "a shape": (lambda x: tf.zeros([2, 3]).shape, ("int32", [2, 3])),
    "the same twice": (lambda x: (x, x), ("tuple", ONE, ONE)),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    function, expected = RESULTS[name]
    f = tf.function(function, autograph=False)
    for _ in range(2):
        assert shown(f(tf.constant(1))) == expected


def test_dictionaries_keep_their_order():
    f = tf.function(lambda x: {"z": x, "a": x, "m": x})
    assert list(f(tf.constant(1))) == ["z", "a", "m"]


def test_operations_stand_for_nothing():
    f = tf.function(lambda x: (x, tf.no_op(), tf.print("", end="")))
    assert shown(f(tf.constant(1))) == ("tuple", ONE, None, None)


class Thing:
    pass


@pytest.mark.parametrize(
    "value",
    [{1}, Thing(), tf.float32, 2**70, iter([1]), len],
    ids=["set", "object", "dtype", "huge", "iterator", "function"],
)
def test_what_cannot_become_a_tensor_is_refused(value):
    with pytest.raises(TypeError, match="Python functions must return zero or more Tensors"):
        tf.function(lambda x: value)(tf.constant(1))


def test_eager_tensors_and_variables_are_returned_as_tensors():
    outside, v = tf.constant([1.0, 2.0]), tf.Variable(3.0)
    f = tf.function(lambda: (outside, v))
    assert shown(f()) == ("tuple", ("float32", [1.0, 2.0]), ("float32", 3.0))
    v.assign(4.0)
    assert shown(f()[1]) == ("float32", 4.0)


def test_results_are_new_tensors():
    x = tf.constant([1.0])
    found = tf.function(lambda x: x)(x)
    assert found is not x
    assert found.numpy().tolist() == [1.0]
