"""When a ``tf.function`` makes a graph, and when one it has serves."""

from __future__ import annotations

import collections
import gc
import weakref

import numpy as np
import pytest
import torch

import situs as tf
from situs.errors import DTypeError

Pair = collections.namedtuple("Pair", "first second")


class Thing:
    pass


class EqualToAll:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Unhashable:
    __hash__ = None

    def __eq__(self, other):
        return True


THING, EQUAL, UNHASHABLE = Thing(), EqualToAll(), Unhashable()


def traced(calls, **options):
    """How many graphs some calls make."""
    made = []

    @tf.function(**options)
    def f(*args, **kwargs):
        made.append(1)
        return 0

    for call in calls:
        f(*call)
    assert f.experimental_get_tracing_count() == len(made)
    return len(made)


SAME = {
    "values of tensors": (lambda: tf.constant(1.0), lambda: tf.constant(2.0)),
    "a tensor and an array": (lambda: tf.constant([1.0, 2.0]), lambda: np.array([3, 4], np.float32)),
    "a tensor and one of PyTorch's": (lambda: tf.constant([1.0, 2.0]), lambda: torch.tensor([3.0, 4.0])),
    "a tensor and a NumPy scalar": (lambda: tf.constant(1.0), lambda: np.float32(3)),
    "numbers": (lambda: 3, lambda: 3),
    "NaNs": (lambda: float("nan"), lambda: float("nan")),
    "words": (lambda: "ab", lambda: "a" + "b"),
    "nothing": (lambda: None, lambda: None),
    "one object": (lambda: THING, lambda: THING),
    "one object that is not hashable": (lambda: UNHASHABLE, lambda: UNHASHABLE),
    "one function": (lambda: len, lambda: len),
    "one bound method": (lambda: THING.__str__, lambda: THING.__str__),
    "dtypes": (lambda: tf.float32, lambda: tf.float32),
    "ranges": (lambda: range(3), lambda: range(3)),
    "shapes of one kind": (lambda: tf.zeros([2, 3]), lambda: tf.ones([2, 3])),
    "lists": (lambda: [tf.constant(1), 2], lambda: [tf.constant(5), 2]),
    "dictionaries in another order": (
        lambda: {"a": tf.constant(1), "b": 2},
        lambda: {"b": 2, "a": tf.constant(3)},
    ),
}

OTHER = {
    "dtypes of tensors": (lambda: tf.constant(1), lambda: tf.constant(1.0)),
    "shapes": (lambda: tf.zeros([2]), lambda: tf.zeros([3])),
    "ranks": (lambda: tf.zeros([1]), lambda: tf.zeros([])),
    "numbers": (lambda: 1, lambda: 2),
    "an integer and a float": (lambda: 1, lambda: 1.0),
    "an integer and a truth": (lambda: 1, lambda: True),
    "zeros of both signs": (lambda: 0.0, lambda: -0.0),
    "a number and a tensor": (lambda: 1, lambda: tf.constant(1)),
    "words": (lambda: "a", lambda: "b"),
    "text and bytes": (lambda: "a", lambda: b"a"),
    "a list and a tuple": (lambda: [tf.constant(1)], lambda: (tf.constant(1),)),
    "a tuple and a named tuple": (lambda: (tf.constant(1), 2), lambda: Pair(tf.constant(1), 2)),
    "keys": (lambda: {"a": tf.constant(1)}, lambda: {"b": tf.constant(1)}),
    "lengths": (lambda: [tf.constant(1)], lambda: [tf.constant(1)] * 2),
    "nothing in them": (list, lambda: ()),
    "objects": (lambda: THING, lambda: EQUAL),
    "objects that say they are equal": (EqualToAll, EqualToAll),
    "float64 and float32 arrays": (lambda: np.zeros(2), lambda: np.zeros(2, np.float32)),
}


@pytest.mark.parametrize("name", SAME)
def test_one_graph_serves(name):
    kept = [make() for make in SAME[name]]
    assert traced([(value,) for value in (*kept, *kept)]) == 1


@pytest.mark.parametrize("name", OTHER)
def test_another_graph_is_made_for_other(name):
    kept = [make() for make in OTHER[name]]
    assert traced([(value,) for value in (*kept, *kept)]) == 2


def test_each_kind_gives_its_own_answer():
    @tf.function
    def f(x):
        return x

    assert f(1).dtype is tf.int32
    assert f(1.0).dtype is tf.float32
    assert f(True).dtype is tf.bool
    assert f(1).dtype is tf.int32
    assert isinstance(f([tf.constant(1)]), list)
    assert isinstance(f((tf.constant(1),)), tuple)


@pytest.mark.parametrize("value", [{1, 2}, bytearray(b"x")], ids=lambda value: type(value).__name__)
def test_what_may_change_without_notice_is_refused(value):
    with pytest.raises(DTypeError, match="could change after the graph is made"):
        tf.function(lambda x: 0)(value)


def test_a_graph_does_not_keep_an_argument_alive():
    f = tf.function(lambda thing, x: x)
    thing = Thing()
    f(thing, tf.constant(1.0))
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
    f(Thing(), tf.constant(1.0))
    assert f.experimental_get_tracing_count() == 2


def test_calls_use_the_narrowest_graph_that_serves():
    shapes = []

    @tf.function
    def f(x):
        shapes.append(tuple(x.shape) if x.shape.rank is not None else None)
        return x

    f.get_concrete_function(tf.TensorSpec([None], tf.float32))
    f.get_concrete_function(tf.TensorSpec(None, tf.float32))
    f(tf.constant([1.0]))
    f(tf.constant([[1.0]]))
    assert shapes == [(None,), None]
    assert f.get_concrete_function(tf.constant([1.0])) is f.get_concrete_function(tf.TensorSpec([None], tf.float32))


def test_fewer_graphs_on_request():
    """The second shape leads to a graph for all; recorded from TensorFlow 2.21."""
    shapes = []

    @tf.function(reduce_retracing=True)
    def f(x):
        shapes.append(None if x.shape.rank is None else tuple(x.shape))
        return x + x

    for shape in ([1, 2], [2, 2], [3, 2], [4, 2], [3, 3], [4, 4], [2], [1, 2, 3], [5]):
        assert f(tf.zeros(shape)).shape == shape
    assert shapes == [(1, 2), (None, 2), (None, None), None]


def test_fewer_graphs_only_where_nothing_but_shapes_differs():
    assert traced([(tf.zeros([n]), n) for n in (1, 2, 3)], reduce_retracing=True) == 3
    assert traced([(tf.zeros([n]),) for n in (1, 2, 3)], reduce_retracing=True) == 2
    assert traced([(tf.zeros([n]),) for n in (1, 2, 3)], experimental_relax_shapes=True) == 2


def test_exotic_dictionaries_are_taken():
    @tf.function
    def f(d):
        return d

    found = f(collections.defaultdict(list, a=tf.constant(1)))
    assert int(found["a"]) == 1
    assert type(f(collections.OrderedDict(b=tf.constant(1), a=tf.constant(2)))) is collections.OrderedDict
