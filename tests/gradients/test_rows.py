"""Gradients of map_fn, scan and the folds: in eager code, in graphs and in functions, against differences."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt
from situs._src.ops import functional
from situs._src.ops.constant import constant
from tests.gradients.check import check, check_graph
from tests.gradients.test_math import sample

X = sample(-2, 2, (4, 2))
Y = sample(-2, 2, (4, 3), seed=1)
ONE = constant([0.5, 2.0], dt.float64)

WALKS = [
    ("map", lambda x: functional.map_fn(lambda row: row * row, x), [X]),
    (
        "map two",
        lambda x, y: functional.map_fn(lambda rows: rows[0] * tf.reduce_sum(rows[1]), (x, y), dt.float64),
        [X, Y],
    ),
    (
        "map to two",
        lambda x: functional.map_fn(lambda row: (row * row, row[0]), x, fn_output_signature=(dt.float64, dt.float64)),
        [X],
    ),
    ("map to one of two", lambda x: functional.map_fn(lambda r: (r * r, r), x, (dt.float64, dt.float64))[0], [X]),
    ("map with a tensor from outside", lambda x, y: functional.map_fn(lambda row: row * y[0, 0], x), [X, Y]),
    ("vectorized_map", lambda x: functional.vectorized_map(lambda row: tf.sin(row), x), [X]),
    ("foldl", lambda x: functional.foldl(lambda a, row: a * row, x), [X]),
    ("foldr", lambda x, a: functional.foldr(lambda a, row: a * row + a, x, a), [X, np.ones(2)]),
    ("scan", lambda x: functional.scan(lambda a, row: a * row, x), [X]),
    ("scan from a start", lambda x, a: functional.scan(lambda a, row: a * row, x, a), [X, np.array([0.5, 2.0])]),
    ("scan from the end", lambda x: functional.scan(lambda a, row: a * row, x, reverse=True), [X]),
    (
        "scan from a start at the end",
        lambda x, a: functional.scan(lambda a, row: a * row, x, a, reverse=True),
        [X, np.array([0.5, 2.0])],
    ),
]


@pytest.mark.parametrize(("name", "function", "arrays"), WALKS, ids=[row[0] for row in WALKS])
def test_walks(name, function, arrays):
    check(function, *arrays)
    check_graph(function, *arrays)


def test_a_map_in_a_map():
    function = lambda x: functional.map_fn(lambda row: functional.map_fn(lambda e: e * e, row), x)  # noqa: E731
    check(function, X)
    check_graph(function, X)


def test_a_map_in_a_function():
    @tf.function
    def mapped(x):
        return tf.map_fn(lambda row: row * row, x)

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = mapped(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * X)


def test_no_rows_have_no_gradient():
    with tf1.Graph().as_default():
        x = tf1.placeholder(dt.float64, [None, 2])
        (grad,) = tf1.gradients(tf1.map_fn(lambda row: row * row, x), x)
        with tf1.Session() as session:
            assert session.run(grad, {x: np.zeros((0, 2))}).shape == (0, 2)
