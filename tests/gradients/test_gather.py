"""Gradients of picking and putting by index: differences, PyTorch's autograd, and TensorFlow 2.21's figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.ops import gather, scatter
from situs._src.ops.constant import constant
from tests.gradients.check import check, check_all, check_graph
from tests.gradients.test_math import sample, sample_complex

X = sample(-2, 2, (3, 4))
CUBE = sample(-2, 2, (2, 3, 4), seed=1)
ROWS = np.array([2, 0, 2], np.int32)


def int64(*values):
    return np.array(values, np.int64)


# Name, function, arrays, what PyTorch calls it.

PICKED = [
    ("rows", gather.gather, [X, ROWS], lambda x, i: x[i]),
    ("rows in a matrix", gather.gather, [X, int64([0, 2], [2, 2])], lambda x, i: x[i]),
    ("one row", gather.gather, [X, np.array(1, np.int32)], lambda x, i: x[i]),
    ("no rows", gather.gather, [X, np.zeros((0,), np.int32)], lambda x, i: x[i]),
    ("columns", lambda x, i: gather.gather(x, i, axis=1), [X, ROWS], lambda x, i: x[:, i]),
    (
        "columns from the end",
        lambda x, i: gather.gather(x, i, axis=-1),
        [CUBE, int64([1, 1], [3, 0])],
        lambda x, i: x[..., i],
    ),
    ("the middle", lambda x, i: gather.gather(x, i, axis=1), [CUBE, ROWS], lambda x, i: x[:, i]),
    ("one of each", lambda x, i: gather.gather(x, i, axis=1), [CUBE, np.array(1, np.int32)], lambda x, i: x[:, i]),
    (
        "batches",
        lambda x, i: gather.gather(x, i, batch_dims=1),
        [CUBE, int64([0, 2], [1, 1])],
        lambda x, i: torch.stack([a[j] for a, j in zip(x, i, strict=True)]),
    ),
    (
        "batches along a later axis",
        lambda x, i: gather.gather(x, i, axis=2, batch_dims=1),
        [CUBE, int64([0, 2, 2], [1, 1, 3])],
        lambda x, i: torch.stack([a[:, j] for a, j in zip(x, i, strict=True)]),
    ),
    (
        "batches counted from the end",
        lambda x, i: gather.gather(x, i, axis=1, batch_dims=-1),
        [X, int64([0, 2], [1, 1], [3, 3])],
        lambda x, i: x.gather(1, i),
    ),
    ("batch_gather", gather.batch_gather, [X, int64([0, 2], [1, 1], [3, 3])], lambda x, i: x.gather(1, i)),
    ("slices by vectors", gather.gather_nd, [CUBE, int64([0, 1], [1, 2], [0, 1])], lambda x, i: x[i[:, 0], i[:, 1]]),
    ("elements by vectors", gather.gather_nd, [X, int64([0, 1], [2, 3])], lambda x, i: x[i[:, 0], i[:, 1]]),
    ("rows by vectors", gather.gather_nd, [X, int64([0], [2], [2])], lambda x, i: x[i[:, 0]]),
    ("rows by a matrix of vectors", gather.gather_nd, [X, int64([[0], [2]])], lambda x, i: x[i[..., 0]]),
    ("one slice by a vector", gather.gather_nd, [X, int64(1)], lambda x, i: x[i[0]]),
    (
        "batches by vectors",
        lambda x, i: gather.gather_nd(x, i, 1),
        [CUBE, int64([[0, 1], [0, 1]], [[2, 3], [1, 0]])],
        lambda x, i: torch.stack([a[j[:, 0], j[:, 1]] for a, j in zip(x, i, strict=True)]),
    ),
    (
        "batches of rows by vectors",
        lambda x, i: gather.gather_nd(x, i, 1),
        [CUBE, int64([[0], [0]], [[2], [1]])],
        lambda x, i: torch.stack([a[j[:, 0]] for a, j in zip(x, i, strict=True)]),
    ),
    ("a mask of rows", gather.boolean_mask, [X, np.array([True, False, True])], lambda x, m: x[m]),
    ("a mask of elements", gather.boolean_mask, [X, X > 0], lambda x, m: x[m]),
    ("a mask of columns", lambda x, m: gather.boolean_mask(x, m, 1), [X, X[0] > 0], lambda x, m: x[:, m]),
    ("a mask in brackets", lambda x, m: x[m], [X, X > 0], lambda x, m: x[m]),
    ("a mask that is false", gather.boolean_mask, [X, X > 9], lambda x, m: x[m]),
]


@pytest.mark.parametrize(("name", "function", "arrays", "theirs"), PICKED, ids=[row[0] for row in PICKED])
def test_picking(name, function, arrays, theirs):
    check_all(function, *arrays, torch=theirs)
    check_graph(function, *arrays, rank_known=False)


def test_the_axis_may_be_a_tensor():
    for axis in (0, 1, -1):
        check(lambda x, i, n: gather.gather(x, i, axis=n), X, ROWS, np.array(axis, np.int32))
        check_graph(lambda x, i, n: gather.gather(x, i, axis=n), X, ROWS, np.array(axis, np.int32))


PUT = [
    ("scatter_nd", lambda u, i: scatter.scatter_nd(i, u, [4, 2]), [sample(0, 1, (3, 2)), int64([1], [3], [1])]),
    ("scatter_nd elements", lambda u, i: scatter.scatter_nd(i, u, [3, 3]), [sample(0, 1, (2,)), int64([1, 0], [2, 2])]),
    ("update", scatter.tensor_scatter_nd_update, [X, int64([2], [0]), sample(0, 1, (2, 4))]),
    ("update elements", scatter.tensor_scatter_nd_update, [X, int64([2, 1], [0, 3]), sample(0, 1, (2,))]),
    ("add", scatter.tensor_scatter_nd_add, [X, int64([2], [2]), sample(0, 1, (2, 4))]),
    ("sub", scatter.tensor_scatter_nd_sub, [X, int64([2], [2]), sample(0, 1, (2, 4))]),
    ("min", scatter.tensor_scatter_nd_min, [X, int64([2], [2], [0]), sample(-2, 2, (3, 4), seed=7)]),
    ("max", scatter.tensor_scatter_nd_max, [X, int64([2], [2], [0]), sample(-2, 2, (3, 4), seed=7)]),
    ("partition", lambda x, p: scatter.dynamic_partition(x, p, 3), [X, np.array([2, 0, 2], np.int32)]),
    ("partition elements", lambda x, p: scatter.dynamic_partition(x, p, 2), [X, (X > 0).astype(np.int32)]),
    ("parts of a partition", lambda x, p: scatter.dynamic_partition(x, p, 3)[::2], [X, np.array([2, 0, 2], np.int32)]),
    ("an empty part", lambda x, p: scatter.dynamic_partition(x, p, 3)[1], [X, np.array([2, 0, 2], np.int32)]),
    (
        "stitch",
        lambda x, y, i, j: scatter.dynamic_stitch([i, j], [x, y]),
        [X, CUBE[0, :2], np.array([4, 0, 2], np.int32), np.array([3, 1], np.int32)],
    ),
    (
        "stitch slices",
        lambda x, i: scatter.dynamic_stitch([i], [x]),
        [CUBE, np.array([[4, 0, 2], [1, 3, 6]], np.int32)],
    ),
]


@pytest.mark.parametrize(("name", "function", "arrays"), PUT, ids=[row[0] for row in PUT])
def test_putting(name, function, arrays):
    check_all(function, *arrays)
    check_graph(function, *arrays, rank_known=False)


def test_complex_numbers():
    z = sample_complex((3, 2))
    check_all(lambda x: gather.gather(x, [1, 1, 0]), z)
    check_all(lambda x: gather.gather(x, [1, 1, 0], axis=1), z)
    check_all(lambda x: gather.gather_nd(x, [[1, 1], [0, 0]]), z)
    check_all(lambda x: scatter.scatter_nd([[1], [0], [1]], x, [2, 2]), z)
    check_all(lambda x: scatter.tensor_scatter_nd_add(x, [[1], [1]], x[:2]), z)


@given(st.data())
@settings(max_examples=10, deadline=None)
def test_picking_from_random_shapes(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    axis = data.draw(st.integers(0, len(shape) - 1))
    batch = data.draw(st.integers(0, axis))
    counts = data.draw(st.lists(st.integers(0, 2), max_size=2))
    indices = np.random.RandomState(0).randint(0, shape[axis], [*shape[:batch], *counts])
    depth = data.draw(st.integers(1, len(shape)))
    vectors = np.stack([np.random.RandomState(n).randint(0, shape[n], [*counts]) for n in range(depth)], -1)
    x = sample(-1, 1, shape)
    check_all(lambda t, i: gather.gather(t, i, axis=axis, batch_dims=batch), x, indices)
    check_all(lambda t, i: gather.gather_nd(t, i), x, vectors, torch=lambda t, i: t[tuple(i.unbind(-1))])


# Figures of TensorFlow 2.21, where updates meet.

UP = [10.0, 20.0, 30.0]
TWICE = [[1], [1]]
MEETING = [
    ("tensor_scatter_nd_update", TWICE, [1, 2, 3], [4, 5], [10, 0, 30], [20, 20]),
    ("tensor_scatter_nd_add", TWICE, [1, 2, 3], [4, 5], [10, 20, 30], [20, 20]),
    ("tensor_scatter_nd_sub", TWICE, [1, 2, 3], [4, 5], [10, 20, 30], [-20, -20]),
    ("tensor_scatter_nd_max", [*TWICE, [0]], [1, 5, 3], [5, 5, 0], [10, 20 / 3, 30], [20 / 3, 20 / 3, 0]),
    ("tensor_scatter_nd_min", [*TWICE, [0]], [1, 5, 3], [5, 4, 0], [0, 0, 30], [0, 20, 10]),
]


@pytest.mark.parametrize(("name", "indices", "x", "updates", "of_x", "of_updates"), MEETING)
def test_updates_that_meet(name, indices, x, updates, of_x, of_updates):
    found = _weighted(lambda a, b: getattr(scatter, name)(a, indices, b), x, updates)
    np.testing.assert_allclose(found[0], of_x)
    np.testing.assert_allclose(found[1], of_updates)


def _weighted(function, *values):
    tensors = [constant(value, dt.float64) for value in values]
    with GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    return [grad.numpy() for grad in tape.gradient(y, tensors, constant(UP, dt.float64))]


def test_slices_that_meet_when_stitched():
    found = _weighted(lambda a, b: scatter.dynamic_stitch([[0, 1], [1, 2]], [a, b]), [1, 2], [3, 4])
    assert [one.tolist() for one in found] == [[10.0, 20.0], [20.0, 30.0]]


def test_the_values_of_one_hot_have_no_gradient():
    on = constant(3.0)
    with GradientTape() as tape:
        tape.watch(on)
        y = gather.one_hot([0, 1], 2, on_value=on)
    assert tape.gradient(y, on) is None


# Indices that do not exist, on a GPU.


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: gather.gather(x, [0, 7, -1]), [1, 0, 0]),
        (lambda x: gather.gather(x[None], [0, 7, 0], axis=1), [2, 0, 0]),
        (lambda x: gather.gather(x[None], [[0, 7, 0]], batch_dims=1), [2, 0, 0]),
        (lambda x: gather.gather_nd(x[:, None], [[0, 0], [7, 0], [0, 1]]), [1, 0, 0]),
        (lambda x: scatter.scatter_nd([[0], [9], [1]], x, [4]), [1, 0, 1]),
    ],
)
def test_what_does_not_exist_has_no_way_back(function, expected):
    with tf.device("/gpu:0"):
        x = tf.identity(constant([1.0, 2.0, 3.0]))
        with GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert tf.convert_to_tensor(tape.gradient(y, x)).numpy().tolist() == expected


# Variables.


def test_what_was_assigned_is_a_constant():
    with tf1.Graph().as_default():
        v, x = tf1.Variable([1.0, 2.0]), tf1.placeholder(dt.float32, [2])
        for made in (tf1.assign(v, x), tf1.assign_add(v, x), tf1.scatter_add(v, [0], x[:1])):
            assert gradients(made * 2.0, [x, v]) == [None, None]


def test_a_variable_that_is_read_has_its_gradient():
    with tf1.Graph().as_default():
        v = tf1.Variable([1.0, 2.0])
        (grad,) = gradients(tf1.identity(v) * v.read_value() * v, [v])
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            np.testing.assert_allclose(session.run(grad), [3.0, 12.0])
