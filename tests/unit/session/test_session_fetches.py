"""What ``run`` returns for each form of fetch. The expected forms and texts are TensorFlow's, recorded from 2.21."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from types import MappingProxyType

import numpy as np
import pytest

import situs.compat.v1 as tf

Pair = namedtuple("Pair", "left right")
Twin = namedtuple("Twin", "left right")  # equal to a `Pair` of the same items


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.constant([1.0, 2.0], name="a")
        tf.constant(3, name="b")
        tf.no_op(name="n")
        session.run(tf.Variable([5.0, 6.0], name="v").initializer)
        yield session


def element(sess, name):
    return sess.graph.as_graph_element(name)


# One thing.


@pytest.mark.parametrize("name", ["a:0", "v:0", "v/read:0"])
def test_a_tensor_comes_as_an_array(sess, name):
    expected = [1.0, 2.0] if name[0] == "a" else [5.0, 6.0]
    for fetch in (name, name.encode(), element(sess, name)):
        made = sess.run(fetch)
        assert type(made) is np.ndarray
        assert made.dtype == np.float32
        assert made.tolist() == expected


@pytest.mark.parametrize("fetch", ["a", "b", "n", "v", "v/Assign"])
def test_an_operation_gives_none(sess, fetch):
    assert sess.run(fetch) is None
    assert sess.run(element(sess, fetch)) is None


def test_a_variable_gives_what_it_holds(sess):
    assert sess.run(tf.global_variables()[0]).tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    ("value", "dtype", "kind"),
    [
        (3, None, np.int32),
        (3.5, None, np.float32),
        (3.5, tf.float16, np.float16),
        (True, None, np.bool_),
        (1 + 2j, None, np.complex128),
        (200, tf.uint8, np.uint8),
        (2**40, tf.int64, np.int64),
    ],
)
def test_a_scalar_comes_as_a_scalar_of_numpy(sess, value, dtype, kind):
    made = sess.run(tf.constant(value, dtype))
    assert type(made) is kind
    assert made == value


def test_bfloat16_comes_as_its_numpy_type(sess):
    made = sess.run(tf.constant([1.5, 2.5], tf.bfloat16))
    assert made.dtype == tf.bfloat16.as_numpy_dtype
    assert made.astype(np.float32).tolist() == [1.5, 2.5]


def test_strings_come_as_bytes(sess):
    assert sess.run(tf.constant("hey")) == b"hey"
    made = sess.run(tf.constant([["x", "yz"]]))
    assert made.dtype == object
    assert made.tolist() == [[b"x", b"yz"]]


def test_an_empty_tensor_keeps_its_shape(sess):
    made = sess.run(tf.zeros([0, 3]))
    assert made.shape == (0, 3)


# Structures.


def test_structures_keep_their_form(sess):
    a, b, n = element(sess, "a:0"), element(sess, "b:0"), element(sess, "n")
    made = sess.run([a, (b, {"k": [n, "b:0"]})])
    assert type(made) is list
    assert made[0].tolist() == [1.0, 2.0]
    assert made[1] == (3, {"k": [None, 3]})


@pytest.mark.parametrize("empty", [[], (), {}])
def test_nothing_gives_nothing(sess, empty):
    made = sess.run(empty)
    assert made == empty
    assert type(made) is type(empty)


def test_what_is_fetched_twice_is_computed_once(sess):
    v = tf.global_variables()[0]
    more = v.assign_add([1.0, 1.0])
    first, second, third = sess.run([more, more, more.name])
    assert first.tolist() == second.tolist() == third.tolist() == [6.0, 7.0]


def test_dictionaries_keep_their_type_and_order(sess):
    made = sess.run(OrderedDict([("z", "b:0"), ("y", "n")]))
    assert made == OrderedDict([("z", 3), ("y", None)])
    assert type(made) is OrderedDict
    made = sess.run(defaultdict(list, u="b:0"))
    assert made["u"] == 3
    assert made["missing"] == []
    assert sess.run(MappingProxyType({"u": "b:0"})) == {"u": 3}


@pytest.mark.parametrize("again", range(2))
def test_structures_that_are_equal_but_of_different_types_are_told_apart(sess, again):
    for _ in range(2):  # the second time, every one of them has been seen before
        for structure in (("b:0", "n"), ["b:0", "n"], Pair("b:0", "n"), Twin("b:0", "n"), (Pair("b:0", "n"),)):
            made = sess.run(structure)
            assert type(made) is type(structure)
            if type(structure) is tuple and len(structure) == 1:
                assert type(made[0]) is Pair


def test_the_class_is_kept_where_a_list_and_a_name_look_alike(sess):
    tf.constant(7, name="list")
    assert sess.run(("list:0",)) == (7,)
    assert sess.run(["list:0"]) == [7]
    assert sess.run("list:0") == 7


# What cannot be fetched.

NOT_FETCHABLE = [
    (None, TypeError, 'Argument `fetch` = None has invalid type "NoneType". Cannot be None'),
    ([None], TypeError, 'Argument `fetch` = None has invalid type "NoneType". Cannot be None'),
    (
        3,
        TypeError,
        'Argument `fetch` = 3 has invalid type "int" must be a string or Tensor. (Can not convert a int into a Tensor '
        "or Operation.)",
    ),
    (3.5, TypeError, 'Argument `fetch` = 3.5 has invalid type "float" must be a string or Tensor.'),
    (object(), TypeError, 'has invalid type "object" must be a string or Tensor. (Can not convert a object into'),
    (np.array([1]), TypeError, 'has invalid type "ndarray"'),
    ({1}, TypeError, 'has invalid type "set"'),
    (
        "zzz:0",
        ValueError,
        "Argument `fetch` = zzz:0 cannot be interpreted as a Tensor. (\"The name 'zzz:0' refers to a Tensor which does "
        "not exist. The operation, 'zzz', does not exist in the graph.\")",
    ),
    (
        "zz",
        ValueError,
        "Argument `fetch` = zz cannot be interpreted as a Tensor. (\"The name 'zz' refers to an Operation not in the "
        'graph.")',
    ),
    ("a:1", ValueError, "The operation, 'a', exists but only has 1 outputs."),
    ("a:x", ValueError, "(The name 'a:x' looks a like a Tensor name, but is not a valid one."),
    ("a:0:0", ValueError, "(The name 'a:0:0' looks a like a Tensor name, but is not a valid one."),
    ("^a", ValueError, "\"The name '^a' refers to an Operation not in the graph.\""),
    ("", ValueError, "Argument `fetch` =  cannot be interpreted as a Tensor."),
]


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize(("fetch", "kind", "text"), NOT_FETCHABLE, ids=lambda x: str(x)[:20])
def test_what_is_no_element_of_the_graph_is_refused(sess, fetch, kind, text, seen):
    if seen:
        sess.run({}), sess.run([]), sess.run(())
    with pytest.raises(kind) as caught:
        sess.run(fetch)
    assert text in str(caught.value)


def test_elements_of_another_graph_are_refused(sess):
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError, match="is not an element of this graph") as caught:
        sess.run(other)
    assert str(caught.value) == (
        'Argument `fetch` = Tensor("Const:0", shape=(), dtype=float32) cannot be interpreted as a Tensor. '
        '(Tensor Tensor("Const:0", shape=(), dtype=float32) is not an element of this graph.)'
    )
    with pytest.raises(ValueError, match="is not an element of this graph"):
        sess.run(["a:0", other.op])


@pytest.mark.parametrize("fetch", ["a:0", "a"])
def test_what_was_marked_is_not_fetched_any_more(sess, fetch):
    sess.run(fetch)
    sess.graph.prevent_fetching(element(sess, "a"))
    assert not sess.graph.is_fetchable(element(sess, fetch))
    with pytest.raises(ValueError, match="Operation a has been marked as not fetchable"):
        sess.run(fetch)
    assert sess.run("b:0") == 3


# Whose arrays they are.


def test_fetched_arrays_are_the_callers_own(sess):
    given = np.array([1.0, 2.0], np.float32)
    c, v, p = tf.constant(given), tf.global_variables()[0], tf.placeholder(tf.float32, [2])
    words = tf.constant(["x", "y"])
    shaped = tf.reshape(c, [2, 1])
    given[0] = 99.0
    for fetch, feed in ((c, None), (v, None), (p, {p: given}), (tf.identity(p), {p: given}), (shaped, None)):
        before = sess.run(fetch, feed)
        made = sess.run(fetch, feed)
        made[...] = -1.0
        assert np.array_equal(sess.run(fetch, feed), before)
    sess.run(words)[0] = b"changed"
    assert sess.run(words).tolist() == [b"x", b"y"]
    assert sess.run(c).tolist() == [1.0, 2.0]
    assert given.tolist() == [99.0, 2.0]


def test_two_fetches_of_one_value_do_not_share_memory(sess):
    c = tf.constant([1.0, 2.0])
    first, second = sess.run([c, tf.identity(c)])
    first[0] = 77.0
    assert second.tolist() == [1.0, 2.0]


def test_fetched_arrays_can_be_written_and_are_contiguous(sess):
    made = sess.run(tf.transpose(tf.constant([[1.0, 2.0], [3.0, 4.0]])))
    assert made.flags.writeable
    assert made.flags.c_contiguous
    assert made.tolist() == [[1.0, 3.0], [2.0, 4.0]]
