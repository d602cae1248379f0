"""``map_fn``, ``scan``, ``foldl``, ``foldr`` and ``vectorized_map``, in eager code, functions and graphs."""

from __future__ import annotations

import collections
import functools

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs import memory
from situs._src.ops.functional import foldl, foldr, map_fn, scan, vectorized_map
from tests.unit.ops.conftest import eagerly, in_function

c = tf.constant
Pair = collections.namedtuple("Pair", "p q")


def half(x):
    return tf.cast(x, tf.float32) / 2.0


MAPS = {
    "same dtype": (lambda: map_fn(lambda x: x * 2, c([1, 2, 3])), [2, 4, 6]),
    "another dtype": (lambda: map_fn(half, c([1, 2, 3]), dtype=tf.float32), [0.5, 1.0, 1.5]),
    "by signature": (lambda: map_fn(half, c([1, 2]), fn_output_signature=tf.float32), [0.5, 1.0]),
    "by spec": (
        lambda: map_fn(lambda x: tf.stack([x, x]), c([1, 2]), fn_output_signature=tf.TensorSpec([2], tf.int32)),
        [[1, 1], [2, 2]],
    ),
    "rows": (lambda: map_fn(tf.reduce_sum, c([[1, 2], [3, 4]])), [3, 7]),
    "two to one": (
        lambda: map_fn(lambda t: t[0] * t[1], (c([1, 2]), c([4, 5])), fn_output_signature=tf.int32),
        [4, 10],
    ),
    "two to two": (lambda: map_fn(lambda t: (t[1], t[0]), (c([1, 2]), c([4, 5]))), ([4, 5], [1, 2])),
    "one to two": (
        lambda: map_fn(lambda x: (x, x * 2.0), c([1.0, 2.0]), fn_output_signature=(tf.float32, tf.float32)),
        ([1.0, 2.0], [2.0, 4.0]),
    ),
    "dictionaries": (
        lambda: map_fn(
            lambda d: {"s": d["a"] + d["b"]}, {"a": c([1, 2]), "b": c([3, 4])}, fn_output_signature={"s": tf.int32}
        ),
        {"s": [4, 6]},
    ),
    "a named tuple": (
        lambda: map_fn(lambda n: n.p + n.q, Pair(c([1, 2]), c([3, 4])), fn_output_signature=tf.int32),
        [4, 6],
    ),
    "an array": (lambda: map_fn(lambda x: x + 1, np.array([1, 2])), [2, 3]),
    "Python values": (lambda: map_fn(lambda x: 1, c([1, 2])), [1, 1]),
    "Python values as another dtype": (
        lambda: map_fn(lambda x: 1, c([1, 2]), fn_output_signature=tf.float32),
        [1.0, 1.0],
    ),
    "strings": (lambda: map_fn(lambda s: tf.strings.join([s, "!"]), c(["a", "b"])), [b"a!", b"b!"]),
    "nested": (lambda: map_fn(lambda r: map_fn(lambda x: x + 1, r), c([[1, 2], [3, 4]])), [[2, 3], [4, 5]]),
    "no rows": (lambda: tf.shape(map_fn(lambda x: x + 1.0, tf.zeros([0, 2]))), [0, 2]),
    "no strings": (lambda: tf.shape(map_fn(lambda s: s, tf.constant([], tf.string))), [0]),
    "truths": (lambda: map_fn(lambda x: x > 1, c([1, 2]), fn_output_signature=tf.bool), [False, True]),
}


@pytest.mark.parametrize("name", MAPS)
def test_map_fn(way, name):
    function, expected = MAPS[name]
    assert way(function) == expected


SCANS = {
    "from the first row": (lambda: scan(lambda a, x: a + x, c([1, 2, 3, 4])), [1, 3, 6, 10]),
    "from an initializer": (lambda: scan(lambda a, x: a + x, c([1, 2, 3]), initializer=c(10)), [11, 13, 16]),
    "backwards": (lambda: scan(lambda a, x: a * 2 + x, c([1, 2, 3, 4]), reverse=True), [49, 24, 11, 4]),
    "backwards from an initializer": (
        lambda: scan(lambda a, x: a * 2 + x, c([1, 2, 3, 4]), initializer=c(5), reverse=True),
        [129, 64, 31, 14],
    ),
    "Fibonacci": (
        lambda: scan(lambda a, _: (a[1], a[0] + a[1]), tf.range(6), initializer=(c(0), c(1))),
        ([1, 1, 2, 3, 5, 8], [1, 2, 3, 5, 8, 13]),
    ),
    "several at a time": (
        lambda: scan(lambda a, x: a + x[0] * x[1], (c([1, 2, 3]), c([4, 5, 6])), initializer=c(0)),
        [4, 14, 32],
    ),
    "several results": (
        lambda: scan(lambda a, x: (a[0] + x[0], a[1] * x[1]), (c([1, 2, 3]), c([4, 5, 6]))),
        ([1, 3, 6], [4, 20, 120]),
    ),
    "rows": (lambda: scan(lambda a, x: a + x, c([[1, 2], [3, 4]]), initializer=c([0, 0])), [[1, 2], [4, 6]]),
    "no rows": (lambda: tf.shape(scan(lambda a, x: a + x, tf.zeros([0, 2]), initializer=tf.zeros([2]))), [0, 2]),
    "one row": (lambda: scan(lambda a, x: a + x, c([5])), [5]),
}


@pytest.mark.parametrize("name", SCANS)
def test_scan(way, name):
    function, expected = SCANS[name]
    assert way(function) == expected


FOLDS = {
    "from the left": (lambda: foldl(lambda a, x: a * 2 + x, c([1, 2, 3])), 11),
    "from the left with an initializer": (lambda: foldl(lambda a, x: a * 2 + x, c([1, 2, 3]), initializer=c(5)), 51),
    "from the right": (lambda: foldr(lambda a, x: a * 2 + x, c([1, 2, 3])), 17),
    "from the right with an initializer": (lambda: foldr(lambda a, x: a * 2 + x, c([1, 2, 3]), initializer=c(5)), 57),
    "structures": (
        lambda: foldl(lambda a, x: (a[0] + x, a[1] * x), c([1, 2, 3]), initializer=(c(0), c(1))),
        (6, 6),
    ),
    "several at a time": (lambda: foldl(lambda a, x: a + x[0] * x[1], (c([1, 2]), c([4, 5])), initializer=c(0)), 14),
    "no rows": (lambda: foldl(lambda a, x: a + x, tf.zeros([0]), initializer=3.0), 3.0),
}


def test_how_many_rows_a_scan_gives_is_known():
    shapes = []

    @tf.function
    def scans(x):
        shapes.append(tf.scan(lambda a, b: a + b, x).shape.as_list())
        shapes.append(tf.scan(lambda a, b: a + b, x, initializer=tf.zeros([2])).shape.as_list())
        return x

    scans(tf.ones([3, 2]))
    assert shapes == [[3, 2], [3, 2]]


def test_what_a_fold_carries_keeps_its_shape_in_graphs():
    def fold():
        return foldl(lambda a, x: tf.concat([a, a], 0), tf.range(3), initializer=c([1]))

    assert fold().shape == [8]
    with pytest.raises(ValueError, match=r"enters the loop with shape \(1,\), but has shape \(2,\)"):
        tf.function(fold)()


@pytest.mark.parametrize("name", FOLDS)
def test_folds(way, name):
    function, expected = FOLDS[name]
    assert way(function) == expected


VECTORIZED = {
    "another dtype": (lambda: vectorized_map(half, c([1, 2, 3])), [0.5, 1.0, 1.5]),
    "structures": (
        lambda: vectorized_map(lambda t: {"s": t[0] + t[1], "m": [t[0]]}, (c([1, 2]), c([3, 4]))),
        {"s": [4, 6], "m": [[1, 2]]},
    ),
    "constants": (lambda: vectorized_map(lambda x: c(5), c([1, 2])), [5, 5]),
    "outer products": (
        lambda: vectorized_map(lambda v: v[:, None] * v[None, :], c([[1.0, 2.0], [3.0, 4.0]])),
        [[[1.0, 2.0], [2.0, 4.0]], [[9.0, 12.0], [12.0, 16.0]]],
    ),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorized_map(way, name):
    function, expected = VECTORIZED[name]
    assert way(function) == expected


# Against NumPy, with sizes that are not known before the graph runs.


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_unknown_numbers_of_rows(rows):
    signature = [tf.TensorSpec([None, 3], tf.float32)]
    values = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
    cases = {
        "map": (lambda x: map_fn(lambda r: r * 2.0, x), values * 2),
        "scan": (
            lambda x: scan(lambda a, r: a + r, x, initializer=tf.zeros([3])),
            np.cumsum(values, axis=0).reshape(rows, 3),
        ),
        "foldl": (lambda x: foldl(lambda a, r: a + r, x, initializer=tf.zeros([3])), values.sum(axis=0)),
        "foldr": (
            lambda x: foldr(lambda a, r: a * 0.5 + r, x, initializer=tf.zeros([3])),
            functools.reduce(lambda a, r: a * 0.5 + r, values[::-1], np.zeros(3, np.float32)),
        ),
    }
    for name, (function, expected) in cases.items():
        made = tf.function(function, input_signature=signature, autograph=False)(values)
        np.testing.assert_allclose(made.numpy(), expected, rtol=1e-5, err_msg=name)
        assert made.shape == expected.shape


def test_what_is_known_of_shapes():
    def shape_of(function):
        made = tf.function(function, autograph=False).get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
        return made.structured_outputs.shape.as_list()

    assert shape_of(lambda x: map_fn(lambda r: r * 2.0, x)) == [None, 3]
    assert shape_of(lambda x: scan(lambda a, r: a + r, x)) == [None, 3]
    assert shape_of(lambda x: map_fn(lambda r: r, tf.zeros([4, 5]))) == [4, 5]


def test_names_and_options():
    with v1.Graph().as_default() as graph:
        map_fn(
            lambda x: x, c([1]), parallel_iterations=4, back_prop=False, swap_memory=True, infer_shape=False, name="m"
        )
        scan(lambda a, x: a, c([1, 2]), parallel_iterations=1, back_prop=False, swap_memory=True, infer_shape=False)
        foldl(lambda a, x: a, c([1, 2]), None, 1, False, True, "left")
        foldr(lambda a, x: a, c([1, 2]), None, 1, False, True, "right")
        loops = [node.name for node in graph.operations if node.type == "While"]
    assert loops == ["m/while", "scan/while", "left/while", "right/while"]


def test_functions_use_what_is_outside():
    v = tf.Variable(10.0)
    f = tf.function(lambda x, k: map_fn(lambda r: r * v + k, x))
    assert f(c([1.0, 2.0]), c(1.0)).numpy().tolist() == [11.0, 21.0]
    v.assign(100.0)
    assert f(c([1.0, 2.0]), c(1.0)).numpy().tolist() == [101.0, 201.0]


def test_effects_happen_once_a_row():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        def add(row):
            v.assign_add(row)
            return row

        return map_fn(add, x)

    f(c([1.0, 2.0, 3.0]))
    assert float(v) == 6.0


def test_rows_stay_on_their_device():
    with tf.device("/gpu:2"):
        made = tf.function(lambda x: map_fn(lambda r: r + 1.0, x))(tf.zeros([3, 2]))
    assert made.device.endswith("GPU:2")
    assert made.numpy().tolist() == [[1.0, 1.0]] * 3


def test_every_run_makes_its_own_rows():
    f = tf.function(lambda x: map_fn(lambda r: r * 2, x))
    assert f(c([1, 2])).numpy().tolist() == [2, 4]
    assert f(c([3, 4])).numpy().tolist() == [6, 8]


@pytest.mark.virtual
def test_work_grows_with_the_number_of_rows_and_no_faster():
    f = tf.function(lambda n: map_fn(lambda i: i + 1, tf.range(n)))

    def bytes_made(rows):
        with tf.device("/gpu:0"), memory.record() as recording:
            f(c(rows))
        return sum(event.size for event in recording.events if event.size > 0)

    assert bytes_made(4000) < 9 * bytes_made(500)  # eight times the rows; copying all in each turn would make it 64


# What is refused.


@pytest.mark.parametrize("function", [map_fn, scan, foldl, foldr, vectorized_map])
def test_what_is_no_function_or_has_no_rows(way, function):
    with pytest.raises(TypeError, match="takes a function"):
        function(3, c([1]))
    with pytest.raises(ValueError, match="must be 1\\+ dimensional"):
        way(lambda: function(lambda *a: a[0], c(3)))
    with pytest.raises(ValueError, match="does not contain any Tensors"):
        way(lambda: function(lambda *a: a[0], []))
    with pytest.raises(ValueError, match="Dimensions 3 and 2 are not compatible"):
        way(lambda: function(lambda *a: a[0], (c([1, 2, 3]), c([4, 5]))))


def test_another_dtype_than_was_said(way):
    with pytest.raises(TypeError, match="TensorArray dtype is int32 but Op is trying to write dtype float32"):
        way(lambda: map_fn(half, c([1, 2])))


def test_another_form_than_was_said(way):
    for call in (
        lambda: map_fn(lambda t: t[0], (c([1]), c([2]))),
        lambda: map_fn(lambda x: None, c([1])),
        lambda: scan(lambda a, x: (a, a), c([1, 2]), initializer=c(0)),
        lambda: foldl(lambda a, x: [a], c([1, 2]), initializer=(c(0),)),
    ):
        with pytest.raises(ValueError, match="same nested structure"):
            way(call)


def test_another_shape_than_was_said(way):
    with pytest.raises(ValueError, match="Incompatible shape"):
        way(lambda: map_fn(lambda x: x, c([[1, 2]]), fn_output_signature=tf.TensorSpec([3], tf.int32)))


def test_rows_of_different_shapes():
    for way in (eagerly, in_function):
        with pytest.raises(ValueError, match="same shape"):
            way(lambda: map_fn(tf.range, c([1, 2])))


@pytest.mark.parametrize("signature", [np.float32, np.dtype("float32"), "float32", tf.TensorSpec([], tf.float32)])
def test_dtypes_may_be_said_in_many_ways(way, signature):
    assert way(lambda: map_fn(half, c([1, 2]), signature)) == [0.5, 1.0]


@pytest.mark.parametrize(
    ("function", "signature"), [(lambda x: (x, x), None), (lambda x: x, (tf.float32, tf.float32))], ids=["more", "less"]
)
def test_another_form_than_was_said_without_rows(way, function, signature):
    with pytest.raises(ValueError, match="same nested structure"):
        way(lambda: map_fn(function, tf.zeros([0, 2]), fn_output_signature=signature))


def test_a_list_without_rows_is_one_tensor_too():
    assert map_fn(lambda x: [x, x], tf.zeros([0, 2])).shape == [0, 2, 2]


@pytest.mark.parametrize("function", [scan, foldl, foldr])
def test_nothing_to_begin_with(way, function):
    with pytest.raises(ValueError, match="array size is: 0"):
        way(lambda: function(lambda a, x: a, tf.zeros([0])))
