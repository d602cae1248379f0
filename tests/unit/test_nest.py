"""``tf.nest``. The figures and the messages are TensorFlow 2.21's."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs import nest

P = namedtuple("P", "x y")
Q = namedtuple("Q", "x y")
structures = st.recursive(
    st.one_of(st.integers(), st.text(max_size=2), st.none()),
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.lists(inside, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inside, max_size=3),
        st.builds(P, inside, inside),
    ),
)


@pytest.mark.parametrize(
    ("structure", "leaves"),
    [
        ([1, (2, 3), {"b": 4, "a": [5]}, P(6, None)], [1, 2, 3, 5, 4, 6, None]),
        (None, [None]),
        ("ab", ["ab"]),
        ([], []),
        ({1}, [{1}]),
        ({"b": 1, "a": 2}.values(), [1, 2]),
        (OrderedDict([("b", 1), ("a", 2)]), [2, 1]),
        (range(3), [0, 1, 2]),
        (b"xy", [b"xy"]),
    ],
)
def test_flatten(structure, leaves):
    assert nest.flatten(structure) == leaves


def test_tensors_and_arrays_are_leaves():
    x, y = tf.ones([2]), np.ones(2)
    assert [a is b for a, b in zip(nest.flatten([x, {"a": y}]), [x, y], strict=True)] == [True, True]


@given(structures)
def test_packing_what_was_flattened_gives_the_same(structure):
    assert nest.pack_sequence_as(structure, nest.flatten(structure)) == structure
    assert nest.map_structure(lambda leaf: leaf, structure) == structure


def test_the_kinds_and_the_order_of_what_is_packed():
    made = nest.pack_sequence_as({"b": 1, "a": (2, 3)}, [10, 20, 30])
    assert (made, list(made)) == ({"b": 30, "a": (10, 20)}, ["b", "a"])
    assert nest.pack_sequence_as(P(1, (2,)), [10, 2]) == P(10, (2,))
    assert nest.pack_sequence_as(1, [10]) == 10
    assert nest.pack_sequence_as({"b": 1, "a": 1}.values(), [10, 2]) == [10, 2]
    kept = nest.pack_sequence_as(defaultdict(list, a=1), [5])
    assert (kept["a"], kept["new"]) == (5, [])
    assert type(nest.pack_sequence_as(OrderedDict(a=1), [5])) is OrderedDict
    assert nest.pack_sequence_as(Counter(b=1, a=2), [5, 6]) == Counter(a=5, b=6)
    assert nest.pack_sequence_as(MappingProxyType({"a": 1}), [5]) == {"a": 5}


def test_map_structure():
    assert nest.map_structure(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"b": (3,), "a": 4}) == {"a": 5, "b": (5,)}
    assert nest.map_structure(lambda x: x, None) is None
    assert nest.map_structure(lambda x, y: x + y, [1, 2], (1, 2), check_types=False) == [2, 4]


@pytest.mark.parametrize(
    "structure", [[], (), {}, P(1, 2), range(2), {"a": 1}.values()], ids=lambda value: type(value).__name__
)
def test_what_is_nested(structure):
    assert nest.is_nested(structure)


@pytest.mark.parametrize(
    "leaf", ["a", 1, None, {1}, np.ones(1), b"x", 2.5, object()], ids=lambda leaf: type(leaf).__name__
)
def test_what_is_not_nested(leaf):
    assert not nest.is_nested(leaf)
    assert not nest.is_nested(tf.constant(1))


WRONG = [
    ([1], [3, 4], ValueError, "same number of elements"),
    (
        1,
        [3, 4],
        ValueError,
        'Substructure "type=list str=\\[3, 4\\]" is a sequence, while substructure "type=int str=1"',
    ),
    ([1], (1,), TypeError, "same sequence type.*has type list, while.*has type tuple"),
    ({"a": 1}, {"b": 1}, ValueError, "same set of keys.*str=\\['a'\\], while second.*str=\\['b'\\]"),
    (
        P(1, 2),
        Q(1, 2),
        TypeError,
        "Entire first structure:\nP\\(x=., y=.\\)\nEntire second structure:\nQ\\(x=., y=.\\)",
    ),
    (P(1, 2), (1, 2), TypeError, "same sequence type"),
    (P(1, 2), P(1, [2]), ValueError, "is a sequence"),
    ([1, [2]], [1, 2], ValueError, "Entire first structure:\n\\[., \\[.\\]\\]\nEntire second structure:\n\\[., .\\]"),
]


@pytest.mark.parametrize(("first", "second", "error", "message"), WRONG)
def test_different_structures(first, second, error, message):
    with pytest.raises(error, match=f"(?s)The two structures don't have the same nested structure.*{message}"):
        nest.assert_same_structure(first, second)
    with pytest.raises(error):
        nest.map_structure(lambda x, y: x, first, second)


def test_same_structures():
    nest.assert_same_structure([1, (2,)], [3, (4,)])
    nest.assert_same_structure(OrderedDict(a=1), {"a": 1})
    nest.assert_same_structure("abc", "d")
    nest.assert_same_structure([1], (1,), check_types=False)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nest.pack_sequence_as([1, 2], [1]),
            ValueError,
            "Structure had 2 atoms, but flat_sequence had 1 items",
        ),
        (lambda: nest.pack_sequence_as([1, 2], [1, 2, 3]), ValueError, "had 3 items"),
        (lambda: nest.pack_sequence_as(1, [1, 2]), ValueError, "The target structure is of type `<class 'int'>`"),
        (lambda: nest.pack_sequence_as([1], 5), TypeError, "Attempted to pack value"),
        (lambda: nest.map_structure(3, 1), TypeError, "func must be callable, got: 3"),
        (lambda: nest.map_structure(abs), ValueError, "Must provide at least one structure"),
        (lambda: nest.map_structure(abs, [1], foo=3), ValueError, "not: `foo`"),
        (lambda: nest.flatten({1: 2, "a": 3}), TypeError, "'<' not supported"),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_list_that_contains_itself_is_an_error():
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        nest.flatten(endless)


# Slices, which are made of tensors.


@pytest.fixture
def slices():
    return tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))


def test_slices_are_leaves_unless_they_are_expanded(slices):
    structure = {"b": slices, "a": 1}
    assert nest.flatten(structure) == [1, slices]
    first, values, indices = nest.flatten(structure, expand_composites=True)
    assert (first, values, indices) == (1, slices.values, slices.indices)
    whole = tf.IndexedSlices(slices.values, slices.indices, tf.constant([3, 1]))
    assert len(nest.flatten([whole, 5], expand_composites=True)) == 4


def test_slices_are_put_together_again(slices):
    packed = nest.pack_sequence_as({"b": slices, "a": 1}, [7, 8, 9], expand_composites=True)
    assert packed["a"] == 7
    assert isinstance(packed["b"], tf.IndexedSlices)
    assert (packed["b"].values, packed["b"].indices, packed["b"].dense_shape) == (8, 9, None)
    doubled = nest.map_structure(lambda x: x + x, [slices], expand_composites=True)
    assert (doubled[0].values.numpy().tolist(), doubled[0].indices.numpy().tolist()) == ([[2.0]], [0])


def test_expanded_slices_are_compared_by_their_parts(slices):
    nest.assert_same_structure(slices, slices, expand_composites=True)
    whole = tf.IndexedSlices(slices.values, slices.indices, tf.constant([3, 1]))
    for other in (whole, slices.values):
        nest.assert_same_structure(slices, other)
        with pytest.raises(ValueError, match="don't have the same nested structure"):
            nest.assert_same_structure(slices, other, expand_composites=True)
