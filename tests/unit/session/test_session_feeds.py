"""What may be fed, and how values are converted. The expected outcomes are TensorFlow's, recorded from 2.21."""

from __future__ import annotations

import numpy as np
import pytest

import situs
import situs.compat.v1 as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def fed(sess, dtype, value, shape=None):
    p = tf.placeholder(dtype, shape, name="p")
    return sess.run(tf.identity(p), {p: value})


# Values.


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (tf.float32, [1, 2], [1.0, 2.0]),
        (tf.float32, (1.5, 2), [1.5, 2.0]),
        (tf.float32, range(2), [0.0, 1.0]),
        (tf.float32, np.array([1.0, 2.0]), [1.0, 2.0]),
        (tf.float32, np.array([1, 2]), [1.0, 2.0]),
        (tf.float32, np.array([True, False]), [1.0, 0.0]),
        (tf.float32, np.array([1, 2.5], object), [1.0, 2.5]),
        (tf.float32, np.array(["1", "2.5"]), [1.0, 2.5]),
        (tf.float32, [1e300, -1e300], [np.inf, -np.inf]),
        (tf.float32, tf.TensorShape([1, 2]), [1.0, 2.0]),
        (tf.float16, 1e6, np.inf),
        (tf.bfloat16, [1.5], [1.5]),
        (tf.int32, 3, 3),
        (tf.int32, 3.5, 3),
        (tf.int32, [1, 2.5], [1, 2]),
        (tf.int32, np.float32(2.7), 2),
        (tf.int32, np.array([1.5, -2.5]), [1, -2]),
        (tf.int32, np.array([2**40]), [0]),
        (tf.int32, True, 1),
        (tf.int64, 2**40, 2**40),
        (tf.uint8, np.array([300, -1]), [44, 255]),
        (tf.bool, [1, 0], [True, False]),
        (tf.bool, 1, True),
        (tf.bool, np.array([0.0, 0.5]), [False, True]),
        (tf.complex64, 1.5, 1.5 + 0j),
        (tf.complex64, [1 + 2j], [1 + 2j]),
        (tf.string, "ä", "ä".encode()),
        (tf.string, ["a", b"b"], [b"a", b"b"]),
        (tf.string, np.array(["a", "é"]), [b"a", "é".encode()]),
        (tf.string, np.array([b"a", b"bc"]), [b"a", b"bc"]),
        (tf.string, np.array(["a", b"b"], object), [b"a", b"b"]),
        (tf.string, "", b""),
    ],
    ids=str,
)
def test_values_become_what_numpy_makes_of_them(sess, dtype, value, expected):
    made = fed(sess, dtype, value)
    assert (
        np.asarray(made).tolist() == expected if dtype is not tf.bfloat16 else made.astype(float).tolist() == expected
    )
    if dtype is not tf.string:
        assert np.asarray(made).dtype == dtype.as_numpy_dtype


@pytest.mark.parametrize(
    "array",
    [
        np.array([1.0, 9.0, 2.0], np.float32)[::2],
        np.array([1.0, 2.0], ">f4"),
        np.array([[1.0, 2.0]]).T[:, 0],
        np.ma.array([1.0, 2.0]),
        np.frombuffer(np.array([1.0, 2.0], np.float32).tobytes(), np.float32),  # cannot be written to
        np.array([1.0, 2.0], np.float32),
    ],
    ids=["strided", "other byte order", "a column", "masked", "read-only", "as it is"],
)
def test_arrays_of_every_layout_are_taken(sess, array):
    assert fed(sess, tf.float32, array, [2]).tolist() == [1.0, 2.0]


def test_eager_tensors_and_variables_are_fed_by_value():
    with situs.device("/gpu:1"):
        tensor, variable = situs.constant([1.0, 2.0]), situs.Variable([3.0, 4.0])
    first, integers = tensor[0], situs.constant([1, 2])
    with tf.Graph().as_default(), tf.Session() as sess:
        p = tf.placeholder(tf.float32, [2])
        assert sess.run(p * 2.0, {p: tensor}).tolist() == [2.0, 4.0]
        assert sess.run(p * 2.0, {p: variable}).tolist() == [6.0, 8.0]
        assert sess.run(p * 2.0, {p: [first, 5.0]}).tolist() == [2.0, 10.0]
        assert sess.run(p * 2.0, {p: integers}).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("share", [True, False])
def test_fed_arrays_may_be_changed_after_the_run(sess, share):
    p = tf.placeholder(tf.float32, [2])
    v, given = tf.Variable([0.0, 0.0]), np.array([3.0, 4.0], np.float32)
    if share:
        assert sess.run(p * 2.0, {p: given}).tolist() == [6.0, 8.0]
    sess.run(v.assign(p), {p: given})
    given[0] = 8.0
    assert sess.run(v).tolist() == [3.0, 4.0]
    sess.run(v.initializer, {v.initial_value: given})
    given[1] = 9.0
    assert sess.run(v).tolist() == [8.0, 4.0]
    sess.run(tf.cond(tf.constant(True), lambda: v.assign(p), lambda: v.assign(p)), {p: given})
    given[:] = 0.0
    assert sess.run(v).tolist() == [8.0, 9.0]


def test_runs_leave_fed_arrays_as_they_are(sess):
    p = tf.placeholder(tf.float32, [3])
    given = np.array([3.0, -4.0, 0.5], np.float32)
    sess.run([tf.abs(p), tf.nn.relu(p), tf.cumsum(p), tf.sort(p), p + 1.0, tf.nn.softmax(p)], {p: given})
    assert given.tolist() == [3.0, -4.0, 0.5]


REFUSED = [
    (tf.float32, "ab", "could not convert string to float"),
    (tf.float32, None, "Cannot feed None for Tensor p:0"),
    (tf.float32, object(), "Cannot feed <object object"),
    (tf.float32, {1: 2}, "Cannot feed {1: 2} for Tensor p:0 of float32"),
    (tf.float32, iter([1]), "Cannot feed"),
    (tf.float32, [[1], [1, 2]], "inhomogeneous"),
    (tf.float32, np.array([1j]), "imaginary part would be lost"),
    (tf.float32, 1j, "Cannot feed 1j"),
    (
        tf.int32,
        2**40,
        "Type of feed value 1099511627776 with type <class 'int'> is not compatible with Tensor type int32",
    ),
    (tf.int32, [2**40], "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."),
    (tf.int32, float("nan"), "cannot convert float NaN to integer"),
    (tf.uint8, -1, "is not compatible with Tensor type uint8"),
    (tf.uint8, 256, "is not compatible with Tensor type uint8"),
    (tf.bool, 3, "is not compatible with Tensor type bool"),
    (tf.string, 3, ""),
    (tf.string, np.array([1]), ""),
    (tf.string, None, "Cannot feed None"),
]


@pytest.mark.parametrize(("dtype", "value", "text"), REFUSED, ids=lambda x: str(x).split(" at 0x")[0][:25])
def test_values_that_do_not_fit_the_dtype_are_refused(sess, dtype, value, text):
    kind = ValueError if text.startswith(("could not convert", "inhomogeneous", "cannot convert")) else TypeError
    with pytest.raises(kind) as caught:
        fed(sess, dtype, value)
    assert text in str(caught.value)
    assert isinstance(caught.value, TypeError) == (kind is TypeError)  # NumPy's choice, as in TensorFlow


@pytest.mark.parametrize(
    ("shape", "value", "text"),
    [
        ([2], 3.0, "Cannot feed value of shape () for Tensor p:0, which has shape (2,)"),
        ([2], [1, 2, 3], "Cannot feed value of shape (3,) for Tensor p:0, which has shape (2,)"),
        ([2], [[1.0, 2.0]], "Cannot feed value of shape (1, 2) for Tensor p:0, which has shape (2,)"),
        ([2], [], "Cannot feed value of shape (0,) for Tensor p:0, which has shape (2,)"),
        ([None, 2], [1, 2], "Cannot feed value of shape (2,) for Tensor p:0, which has shape (None, 2)"),
        ([None, 2], [[1, 2, 3]], "Cannot feed value of shape (1, 3) for Tensor p:0, which has shape (None, 2)"),
        ([], [1.0], "Cannot feed value of shape (1,) for Tensor p:0, which has shape ()"),
    ],
)
def test_values_that_do_not_fit_the_shape_are_refused(sess, shape, value, text):
    with pytest.raises(ValueError, match="Cannot feed value of shape") as caught:
        fed(sess, tf.float32, value, shape)
    assert str(caught.value) == text


@pytest.mark.parametrize("value", [np.zeros((0, 2)), [[1, 2]], np.ones((5, 2), np.float32)])
def test_open_dimensions_take_any_size(sess, value):
    assert fed(sess, tf.float32, value, [None, 2]).shape == np.shape(value)


def test_symbolic_tensors_are_no_values(sess):
    p, c = tf.placeholder(tf.float32), tf.constant(1.0)
    for value in (c, tf.Variable(1.0)):
        with pytest.raises(TypeError, match=r"The value of a feed cannot be a tf\.Tensor object"):
            sess.run(p, {p: value})


# Keys.


def chain():
    """A placeholder, a constant and what is made of them."""
    p = tf.placeholder(tf.float32, [2], name="p")
    c = tf.constant([1.0, 2.0], name="c")
    m = tf.multiply(p, c, name="m")
    return p, c, m, tf.add(m, 1.0, name="r")


def test_any_tensor_can_be_fed(sess):
    p, c, m, r = chain()
    assert sess.run(r, {p: [1, 2]}).tolist() == [2.0, 5.0]
    assert sess.run(r, {"p:0": [1, 2]}).tolist() == [2.0, 5.0]
    assert sess.run(r, {p: [1, 2], c: [5, 5]}).tolist() == [6.0, 11.0]
    assert sess.run(r, {m: [7, 8]}).tolist() == [8.0, 9.0]
    assert sess.run([m, r], {m: [7, 8], p: [0, 0]})[1].tolist() == [8.0, 9.0]
    assert sess.run(p, {p: [1, 2]}).tolist() == [1.0, 2.0]
    assert sess.run(m, {m: [3, 4]}).tolist() == [3.0, 4.0]
    assert sess.run(c, {p: [1, 2]}).tolist() == [1.0, 2.0]
    assert sess.run(r.op, {p: [1, 2]}) is None


def test_a_fed_placeholder_can_be_waited_for(sess):
    p = tf.placeholder(tf.float32)
    with tf.control_dependencies([p]):
        after = tf.constant(3.0)
    assert sess.run(after, {p: 1.0}) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
        sess.run(after)


def test_feeding_one_result_of_several_leaves_the_others(sess):
    p = tf.placeholder(tf.float32, [4])
    first, second = tf.split(p, 2)
    assert sess.run([first + 0.0, second + 0.0], {p: [1, 2, 3, 4], first: [9, 9]})[1].tolist() == [3.0, 4.0]
    assert sess.run(first + second, {first: [1, 1], second: [2, 2]}).tolist() == [3.0, 3.0]


def test_default_values_hold_unless_something_is_fed(sess):
    d = tf.placeholder_with_default([9.0, 9.0], [None], name="d")
    assert sess.run(d * 1.0).tolist() == [9.0, 9.0]
    assert sess.run(d * 1.0, {d: [1.0]}).tolist() == [1.0]
    fixed = tf.placeholder_with_default([9.0, 9.0], [2], name="fixed")
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(1,\) for Tensor fixed:0"):
        sess.run(fixed, {fixed: [1.0]})


def test_a_fed_variable_has_this_value_for_one_run(sess):
    v = tf.Variable([1.0, 1.0], name="v")
    tripled, inside = v * 3.0, tf.cond(tf.constant(True), lambda: v + 1.0, lambda: v - 1.0)
    sess.run(v.initializer)
    for key in (v, "v:0", v.value(), "v/read:0"):
        assert sess.run(tripled, {key: [2, 2]}).tolist() == [6.0, 6.0]
    assert sess.run([v, v.read_value(), inside], {v: [2, 3]})[0].tolist() == [2.0, 3.0]
    assert sess.run(inside, {v: [2, 3]}).tolist() == [3.0, 4.0]
    assert sess.run(v).tolist() == [1.0, 1.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="v:0 is fed in this run"):
        sess.run(v.assign_add([1.0, 1.0]), {v: [2, 2]})
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(1,\) for Tensor v:0"):
        sess.run(tripled, {v: [2]})


def test_one_key_may_hold_several_tensors(sess):
    p, c, m, _ = chain()
    for _ in range(2):
        assert sess.run(m, {(p, c): ([1, 2], [3, 4])}).tolist() == [3.0, 8.0]
        assert sess.run(m, {("p:0", (c,)): [[1, 2], [[3, 4]]]}).tolist() == [3.0, 8.0]
    with pytest.raises(ValueError, match=r"Key had 2 elements, but value had 1 elements\."):
        sess.run(m, {(p, c): ([1, 2],)})
    with pytest.raises(ValueError, match="Could not flatten dictionary"):
        sess.run(m, {(p, c): 3.0})


def test_the_last_of_two_keys_for_one_tensor_counts(sess):
    p, _, _, r = chain()
    assert sess.run(r, {p: [1, 2], "p:0": [3, 4]}).tolist() == [4.0, 9.0]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (3, "Can not convert a int into a Tensor."),
        (None, "Can not convert a NoneType into a Tensor."),
        ("p", "The name 'p' refers to an Operation, not a Tensor. Tensor names must be of the form"),
        ("zz:0", "The name 'zz:0' refers to a Tensor which does not exist."),
    ],
)
@pytest.mark.parametrize("seen", [False, True])
def test_keys_that_are_no_tensors_are_refused(sess, key, text, seen):
    p, _, _, r = chain()
    if seen:
        sess.run(r, {p: [1, 2]}), sess.run([], {p: [1, 2]})
    with pytest.raises(TypeError) as caught:
        sess.run(r, {key: [1, 2]})
    assert str(caught.value).startswith("Cannot interpret feed_dict key as Tensor: ")
    assert text in str(caught.value)


def test_operations_and_tensors_of_other_graphs_are_no_keys(sess):
    _, _, _, r = chain()
    with tf.Graph().as_default():
        other = tf.placeholder(tf.float32, name="o")
    with pytest.raises(TypeError, match="is not an element of this graph"):
        sess.run(r, {other: 1.0})
    with pytest.raises(TypeError, match="Can not convert a Operation into a Tensor"):
        sess.run(r, {r.op: 1.0})


def test_the_feed_is_a_dictionary(sess):
    p, _, _, r = chain()
    for nothing in (None, {}, [], ()):
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            sess.run(r, nothing)
    for wrong in ([1], "abc", 3, np.array([1, 2])):
        with pytest.raises(TypeError, match="The feed_dict is a dictionary from tensors to values"):
            sess.run(r, wrong)
    with pytest.raises(TypeError, match="To fetch several things, pass them in a list"):
        sess.run(r, p)


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        (tf.float32, None, "You must feed a value for placeholder tensor 'PH' with dtype float"),
        (tf.float32, [2], "You must feed a value for placeholder tensor 'PH' with dtype float and shape [2]"),
        (tf.int32, [3, None], "You must feed a value for placeholder tensor 'PH' with dtype int32 and shape [3,?]"),
        (tf.string, [], "You must feed a value for placeholder tensor 'PH' with dtype string and shape []"),
    ],
)
def test_a_placeholder_that_is_not_fed_names_itself(sess, dtype, shape, text):
    p = tf.placeholder(dtype, shape, name="PH")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        sess.run(tf.identity(p))
    assert str(caught.value).startswith(text)
    assert caught.value.op.name == "PH"


def test_what_was_marked_is_not_fed_any_more(sess):
    _, _, m, r = chain()
    assert sess.run(r, {m: [1, 2]}).tolist() == [2.0, 3.0]
    sess.graph.prevent_feeding(m)
    assert not sess.graph.is_feedable(m)
    with pytest.raises(TypeError, match=r"the tensors and operations of a graph; got \[1\]"):
        sess.graph.is_feedable([1])
    with pytest.raises(ValueError, match="Tensor m:0 may not be fed"):
        sess.run(r, {m: [1, 2]})
