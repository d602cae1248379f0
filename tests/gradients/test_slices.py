"""`tf.IndexedSlices`: rows that stand for a tensor, and the gradients that are such rows."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt
from situs._src.ops.slices import IndexedSlicesValue, scaled

TABLE = np.arange(10.0).reshape(5, 2)


def gradient(function, x=None):
    """The gradient of a function of a tensor, as it comes."""
    x = tf.constant(TABLE) if x is None else x
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


# What gradients are slices.


@pytest.mark.parametrize(
    ("function", "indices"),
    [
        (lambda x: tf.gather(x, [[0, 2], [2, 4]]), [0, 2, 2, 4]),
        (lambda x: tf.gather(x, tf.constant([0, 2, 2], tf.int64)), [0, 2, 2]),
        (lambda x: tf.gather(x, 3), [3]),
        (lambda x: tf.gather_nd(x, [[0], [2]]), [0, 2]),
        (lambda x: tf.nn.embedding_lookup(x, [0, 1]), [0, 1]),
        (lambda x: tf.gather(x, [0, 1]) + tf.gather(x, [1, 1]), [0, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("kind", [tf.constant, tf.Variable])
def test_the_gradient_of_rows_are_rows(function, indices, kind):
    found = gradient(function, kind(TABLE))
    assert isinstance(found, tf.IndexedSlices)
    assert sorted(found.indices.numpy().tolist()) == indices
    assert found.values.numpy().tolist() == [[1.0, 1.0]] * len(indices)
    assert found.dense_shape.numpy().tolist() == [5, 2]
    assert found.dense_shape.dtype is tf.int32
    assert found.shape == (5, 2)
    assert found.dtype is tf.float64


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.gather(x, [1, 1], axis=1),
        lambda x: tf.gather(x, [1, 1], axis=-2),
        lambda x: tf.gather_nd(x, [[[0], [2]]]),
        lambda x: tf.boolean_mask(x, [True, False, True, True, False]),
        lambda x: tf.reduce_sum(tf.gather(x, [0, 1])) + tf.reduce_sum(x),
        lambda x: tf.gather(x * 2.0, [0, 1]),
    ],
)
def test_other_gradients_are_whole(function):
    found = gradient(function)
    assert isinstance(found, tf.Tensor)
    assert found.shape == (5, 2)


def test_the_dtype_of_indices_is_kept():
    assert gradient(lambda x: tf.gather(x, tf.constant([1], tf.int64))).indices.dtype is tf.int64
    assert gradient(lambda x: tf.gather(x, tf.constant([1], tf.int32))).indices.dtype is tf.int32


def test_rows_and_wholes_add_up():
    found = gradient(lambda x: tf.reduce_sum(tf.gather(x, [0, 1])) + tf.reduce_sum(x))
    assert found.numpy().tolist() == [[2.0, 2.0]] * 2 + [[1.0, 1.0]] * 3


def test_gradients_given_as_slices_are_the_start():
    x = tf.constant(TABLE)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 3.0
    seed = tf.IndexedSlices(tf.constant([[1.0, 2.0]], tf.float64), tf.constant([1]), tf.constant([5, 2]))
    assert tape.gradient(y, x, seed).numpy()[1].tolist() == [3.0, 6.0]


def test_slices_have_gradients():
    """Of the gradient of rows, with respect to what it was weighted with."""
    x, w = tf.constant(TABLE), tf.constant([2.0, 3.0], tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.gather(x, [1, 1]) * w
        total = tf.reduce_sum(inner.gradient(y, x) * tf.constant(TABLE))
    assert outer.gradient(total, w).numpy().tolist() == [4.0, 6.0]


# Slices as values.


def some(shape=(3, 2)):
    return tf.IndexedSlices(
        tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([2, 0, 2]), shape and tf.constant(shape)
    )


WHOLE = [[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]


def test_slices_stand_for_a_tensor():
    slices = some()
    assert tf.convert_to_tensor(slices).numpy().tolist() == WHOLE
    assert tf.convert_to_tensor(slices, tf.float32).numpy().tolist() == WHOLE
    assert (tf.zeros([3, 2]) + slices).numpy().tolist() == WHOLE
    assert tf.reduce_sum(slices).numpy() == 21.0
    assert tf.add_n([slices, slices]).numpy().tolist() == (2 * np.array(WHOLE)).tolist()
    assert tf.is_tensor(slices)
    assert not isinstance(slices, tf.Tensor)


def test_slices_of_python_values_stand_for_a_tensor_too():
    slices = tf.IndexedSlices([[1.0]], [0], [2, 1])
    assert slices.dense_shape == [2, 1]
    assert slices.shape == (2, 1)
    assert tf.convert_to_tensor(slices).numpy().tolist() == [[1.0], [0.0]]
    assert (-slices).values.numpy().tolist() == [[-1.0]]


def test_parts_of_slices():
    slices = some()
    assert slices.values.shape == (3, 2)
    assert slices.indices.numpy().tolist() == [2, 0, 2]
    assert slices.dtype is tf.float32
    assert slices.get_shape() == (3, 2)
    assert slices.device == slices.values.device
    assert (-slices).values.numpy().tolist() == [[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]]
    assert (-slices).dense_shape is slices.dense_shape
    assert scaled(slices, 2.0).values.numpy()[0].tolist() == [2.0, 4.0]
    text = str(slices)
    assert text.startswith("IndexedSlices(indices=tf.Tensor([2 0 2], shape=(3,), dtype=int32), values=tf.Tensor(")
    assert "dense_shape=tf.Tensor([3 2]" in text


def test_slices_without_a_shape_stand_for_nothing():
    slices = some(None)
    assert slices.dense_shape is None
    assert slices.shape.rank is None
    assert "dense_shape" not in str(slices)
    for use in (tf.convert_to_tensor, tf.reduce_sum, lambda s: tf.constant(1.0) * s):
        with pytest.raises(ValueError, match="without dense_shape"):
            use(slices)


def test_slices_are_no_numbers():
    for operation in (lambda s: s * 2.0, lambda s: 2.0 * s, lambda s: s + s):
        with pytest.raises(TypeError):
            operation(some())


def test_slices_of_another_dtype_are_refused():
    with pytest.raises((TypeError, ValueError), match="float64"):
        tf.convert_to_tensor(some(), tf.float64)


def test_a_row_that_does_not_exist_is_refused():
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([5]), tf.constant([2, 1]))
    with tf.device("/cpu:0"), pytest.raises(tf.errors.InvalidArgumentError, match="5"):
        tf.convert_to_tensor(slices)


def test_slices_are_equal_to_themselves():
    slices = some()
    assert slices == slices
    assert slices != some()
    assert len({slices, slices}) == 1


# Variables take slices.


def test_slices_change_rows_of_a_variable():
    v = tf.Variable(TABLE)
    v.scatter_sub(gradient(lambda x: tf.gather(x, [1, 1, 4])))
    assert (TABLE - v.numpy()).tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


# In graphs.


def test_rows_in_a_graph():
    with tf1.Graph().as_default():
        x = tf1.placeholder(dt.float32, [None, 3])
        ids = tf1.placeholder(dt.int32, [None, None])
        (slices,) = tf1.gradients(tf1.gather(x, ids) * 2.0, x)
        assert isinstance(slices, tf1.IndexedSlices)
        assert slices.shape.as_list() == [None, 3]
        assert slices.values.shape.as_list() == [None, 3]
        assert slices.graph is x.graph
        assert slices.op is slices.values.op
        assert slices.name == slices.values.name
        assert "GatherV2_grad" in slices.name
        parts = [slices.values, slices.indices, slices.dense_shape, tf1.convert_to_tensor(slices)]
        with tf1.Session() as session:
            values, indices, shape, whole = session.run(parts, {x: np.ones((4, 3)), ids: [[1, 3], [3, 3]]})
    assert values.tolist() == [[2.0] * 3] * 4
    assert indices.tolist() == [1, 3, 3, 3]
    assert shape.tolist() == [4, 3]
    assert whole[:, 0].tolist() == [0.0, 2.0, 0.0, 6.0]


@pytest.mark.parametrize("shape", [[None, None], [4, None], None])
def test_rows_of_unknown_shape(shape):
    with tf1.Graph().as_default():
        x = tf1.placeholder(dt.float32, shape)
        (slices,) = tf1.gradients(tf1.gather(x, [[1], [3]]), x)
        with tf1.Session() as session:
            values, whole = session.run([slices.values, tf1.convert_to_tensor(slices)], {x: np.ones((4, 3))})
    assert values.shape == (2, 3)
    assert whole[:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]


def test_the_shape_of_slices_is_of_their_graph():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(dt.float32, [4, 3])
        (slices,) = tf1.gradients(tf1.gather(x, [1, 3]), x)
    assert slices.dense_shape.graph is graph
    assert slices.shape == (4, 3)


def test_the_values_of_slices_are_a_named_tuple():
    value = IndexedSlicesValue([[1.0]], [0], [2, 1])
    assert value._fields == ("values", "indices", "dense_shape")


def test_rows_in_a_function():
    table = tf.Variable(TABLE)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2)
        grad = tape.gradient(loss, table)
        return tf.convert_to_tensor(grad)

    np.testing.assert_allclose(step(tf.constant([1, 1])).numpy()[1], [8.0, 12.0])
    with tf.GradientTape() as tape:
        y = tf.function(lambda: tf.gather(table, [1, 1]))()
    assert tf.convert_to_tensor(tape.gradient(y, table)).numpy()[1].tolist() == [2.0, 2.0]


def test_rows_on_gpus_stay_there():
    with tf.device("/gpu:1"):
        x = tf.Variable(TABLE)
        slices = gradient(lambda x: tf.gather(x, [[1], [2]]), x)
        assert slices.device.endswith("GPU:1")
        assert tf.convert_to_tensor(slices).device.endswith("GPU:1")
