"""Changes of variables: assignments as functions, and the scatter family.

Expected values are TensorFlow 2.21's, or follow from NumPy's loops.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import situs as eager_tf
import situs.compat.v1 as tf
from situs import errors
from situs._src.variables import updates

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
GIVEN = [[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def value_of(change):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(change).tolist()


# Assignments.


def test_assignments_are_functions_too(graph):
    v = tf.Variable([1.0, 2.0])
    assert value_of(updates.assign(v, [3.0, 4.0])) == [3.0, 4.0]
    assert value_of(updates.assign_add(v, [3.0, 4.0])) == [4.0, 6.0]
    assert value_of(updates.assign_sub(v, [3.0, 4.0])) == [-2.0, -2.0]
    assert updates.assign(v, [0.0, 0.0], name="bar").name == "bar:0"


def test_what_an_assignment_returns_can_be_assigned_to(graph):
    v = tf.Variable([1.0, 2.0])
    assert value_of(updates.assign_add(updates.assign(v, [5.0, 5.0]), [1.0, 2.0])) == [6.0, 7.0]


def test_a_shape_that_is_not_checked_may_change(graph):
    v = tf.Variable([1.0, 2.0])
    wide = updates.assign(v, [1.0, 2.0, 3.0], validate_shape=False)
    assert wide.shape == (3,)
    assert value_of(wide) == [1.0, 2.0, 3.0]


def test_eager_variables_are_changed_at_once():
    v = eager_tf.Variable([1.0, 2.0, 3.0])
    assert updates.assign(v, [4.0, 5.0, 6.0]) is v
    updates.assign_add(v, [1.0, 1.0, 1.0])
    updates.scatter_update(v, [0], [9.0])
    updates.scatter_nd_add(v, [[1]], [10.0])
    before = v.value()
    updates.scatter_div(v, [2, 2], 2.0)
    assert v.numpy().tolist() == [9.0, 16.0, 1.75]
    assert before.numpy().tolist() == [9.0, 16.0, 7.0]


@pytest.mark.parametrize("function", [updates.assign, updates.assign_add])
def test_only_variables_are_assigned_to(graph, function):
    with pytest.raises(TypeError, match="changes a variable"):
        function(tf.constant([1.0, 2.0]), [0.0, 1.0])
    with pytest.raises(TypeError, match="changes a variable"):
        function("v", 1.0)


def test_eager_variables_count():
    v = eager_tf.Variable(1)
    assert [int(updates.count_up_to(v, 3)), int(v.count_up_to(3))] == [1, 2]
    with pytest.raises(errors.OutOfRangeError, match="Reached limit of 3"):
        v.count_up_to(3)
    assert int(v) == 3
    with pytest.raises(TypeError):
        eager_tf.Variable(1.0).count_up_to(3)


# Rows.


@pytest.mark.parametrize(
    ("name", "several", "scalar", "integers"),
    [
        ("update", [[2, 20], [3, 4], [3, 30]], [[2, 2], [3, 4], [2, 2]], [2, 2, 9]),
        ("add", [[4, 32], [3, 4], [8, 36]], [[5, 6], [3, 4], [7, 8]], [9, -5, 9]),
        ("sub", [[-2, -28], [3, 4], [2, -24]], [[-3, -2], [3, 4], [3, 4]], [5, -9, 9]),
        ("mul", [[2, 400], [3, 4], [15, 180]], [[4, 8], [3, 4], [10, 12]], [14, -14, 9]),
        ("div", [[0.5, 0.01], [3, 4], [5 / 3, 0.2]], [[0.25, 0.5], [3, 4], [2.5, 3]], [3, -3, 9]),
        ("min", [[1, 2], [3, 4], [3, 6]], [[1, 2], [3, 4], [2, 2]], [2, -7, 9]),
        ("max", [[2, 20], [3, 4], [5, 30]], [[2, 2], [3, 4], [5, 6]], [7, 2, 9]),
    ],
)
@pytest.mark.virtual
def test_rows_are_changed_as_in_tensorflow(graph, name, several, scalar, integers):
    function = getattr(updates, f"scatter_{name}")
    changes = [
        function(tf.Variable(ROWS), [0, 0, 2], GIVEN),
        function(tf.Variable(ROWS), [0, 0, 2], 2.0),
        function(tf.Variable([7, -7, 9]), [0, 1], [2, 2]),
        function(tf.Variable(ROWS), np.zeros([0], np.int64), np.zeros([0, 2], np.float32)),
        function(tf.Variable([7, -7, 9]), [[0], [1]], [[2], [2]]),
    ]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        made = sess.run(changes)
    np.testing.assert_allclose(made[0], several, rtol=1e-6)
    np.testing.assert_allclose(made[1], scalar, rtol=1e-6)
    assert made[2].tolist() == made[4].tolist() == integers
    assert made[3].tolist() == ROWS


@pytest.mark.parametrize(("name", "expected"), [("mul", [6, 1]), ("div", [5, 1]), ("add", [15, 1]), ("sub", [5, 1])])
@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64", "uint8", "complex64"])
def test_rows_of_every_kind_of_number(graph, name, expected, dtype):
    start = {"mul": 1, "div": 31, "add": 10, "sub": 10}[name]
    v = tf.Variable([start, 1], dtype=dtype)
    made = np.asarray(value_of(getattr(updates, f"scatter_{name}")(v, [0, 0], [2, 3])))
    exact = expected if not ((name == "div" and v.dtype.is_floating) or v.dtype.is_complex) else made
    np.testing.assert_array_equal(made, exact)


def test_strings_booleans_and_wide_unsigned_integers_have_rows_too(graph):
    assert value_of(updates.scatter_update(tf.Variable(["a", "b"]), [0], ["z"])) == [b"z", b"b"]
    assert value_of(updates.scatter_update(tf.Variable(["a", "b"]), [0, 1], "z")) == [b"z", b"z"]
    assert value_of(updates.scatter_update(tf.Variable([True, False]), [0], [False])) == [False, False]
    wide = tf.Variable([3, 4], dtype=tf.uint32)
    assert value_of(updates.scatter_mul(wide, [0, 0], [5, 2])) == [30, 4]
    assert value_of(updates.scatter_add(wide, [0, 0], [5, 2])) == [10, 4]


@pytest.mark.parametrize(
    ("indices", "given", "text"),
    [
        ([0, -1], [[1.0, 1.0], [2.0, 2.0]], r"indices\[1\] = -1 is not in \[0, 3\)"),
        ([[0, 7]], [[[1.0, 1.0], [2.0, 2.0]]], r"indices\[0,1\] = 7 is not in \[0, 3\)"),
        (5, [1.0, 1.0], r"indices = 5 is not in \[0, 3\)"),
    ],
)
@pytest.mark.parametrize("name", ["update", "add", "mul"])
def test_rows_that_do_not_exist_are_refused_on_a_cpu(graph, name, indices, given, text):
    with tf.device("/cpu:0"):
        v = tf.Variable(ROWS)
    change = getattr(updates, f"scatter_{name}")(v, indices, given)
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            sess.run(change)
        assert sess.run(v).tolist() == ROWS


@pytest.mark.parametrize("name", ["update", "add", "mul", "div"])
def test_rows_that_do_not_exist_are_left_out_on_a_gpu(graph, name):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0])
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(getattr(updates, f"scatter_{name}")(v, [5, -1], [3.0, 3.0])).tolist() == [1.0, 2.0]


def test_updates_have_the_shape_of_their_rows(graph):
    v = tf.Variable(ROWS)
    with pytest.raises(ValueError, match=r"Dimension 1 in both shapes must be equal, but are 3 and 2"):
        updates.scatter_update(v, [0, 1], [[1.0, 10.0, 3.0], [2.0, 20.0, 3.0]])
    with pytest.raises(ValueError, match=r"Dimension 0 in both shapes must be equal, but are 1 and 2"):
        updates.scatter_update(v, [0, 1], [[1.0, 10.0]])
    with pytest.raises(ValueError, match="rank"):
        updates.scatter_update(tf.Variable(1.0), [0], [1.0])
    fed = tf.placeholder(tf.float32)
    change = updates.scatter_update(v, [0, 1], fed)
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"got updates.shape \[2,3\], indices.shape \[2\], params"
        ):
            sess.run(change, {fed: np.ones([2, 3])})


def test_dtypes_of_updates_and_indices_are_checked(graph):
    v = tf.Variable(ROWS)
    with pytest.raises(TypeError):
        updates.scatter_update(v, [0, 1], tf.constant([[1, 10], [2, 3]]))
    with pytest.raises(TypeError):
        updates.scatter_update(v, [0.5, 1.0], [[1.0, 10.0], [2.0, 3.0]])
    with pytest.raises(TypeError):
        updates.scatter_add(tf.Variable("a"), [0], ["b"])


def test_integers_are_not_divided_by_zero(graph):
    v = tf.Variable([4, 5])
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        value_of(updates.scatter_div(v, [0], [0]))


def test_scatters_run_where_the_variable_is(graph):
    with tf.device("/gpu:1"):
        v = tf.Variable(ROWS, name="v")
    with tf.device("/cpu:0"):
        change = updates.scatter_add(v, [0], [[1.0, 1.0]])
    assert change.op.colocation_groups() == [b"loc:@v"]
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(change)
        assert sess.placement()[change.op].device.name.endswith("GPU:1")


# Elements.


@pytest.mark.virtual
def test_elements_and_slices_are_changed(graph):
    rows = [[0], [0], [2]]
    assert value_of(updates.scatter_nd_update(tf.Variable(ROWS), rows, GIVEN)) == [[2, 20], [3, 4], [3, 30]]
    assert value_of(updates.scatter_nd_add(tf.Variable(ROWS), rows, GIVEN)) == [[4, 32], [3, 4], [8, 36]]
    assert value_of(updates.scatter_nd_sub(tf.Variable(ROWS), rows, GIVEN)) == [[-2, -28], [3, 4], [2, -24]]
    cells = [[0, 1], [0, 1], [2, 0]]
    assert value_of(updates.scatter_nd_update(tf.Variable(ROWS), cells, [1.0, 10.0, 3.0])) == [[1, 10], [3, 4], [3, 6]]
    assert value_of(updates.scatter_nd_add(tf.Variable(ROWS), cells, [1.0, 10.0, 3.0])) == [[1, 13], [3, 4], [8, 6]]
    with pytest.raises(ValueError, match=r"Dimensions \[1,2\) of input\[shape=\[3,2\]\]"):
        updates.scatter_nd_update(tf.Variable(ROWS), [[0], [1]], [[1.0, 10.0, 3.0], [2.0, 20.0, 3.0]])
    with tf.device("/cpu:0"):
        v = tf.Variable(ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[3\] does not index into shape \[3,2\]"):
        value_of(updates.scatter_nd_update(v, [[0], [3]], [[1.0, 10.0], [2.0, 20.0]]))


def test_batches_are_changed_each_by_its_own_indices(graph):
    v = tf.Variable(ROWS)
    change = updates.batch_scatter_update(v, [[0], [1], [0]], [[10.0], [20.0], [30.0]], name="b")
    assert change.name == "b:0"
    assert value_of(change) == [[10.0, 2.0], [3.0, 20.0], [30.0, 6.0]]
    deep = np.arange(12.0).reshape(2, 3, 2)
    expected = deep.copy()
    expected[0, [2, 0]], expected[1, [1, 2]] = -1.0, -2.0
    given = np.stack([np.full((2, 2), -1.0), np.full((2, 2), -2.0)])
    made = value_of(updates.batch_scatter_update(tf.Variable(deep), [[2, 0], [1, 2]], given))
    assert made == expected.tolist()


# Methods.


@pytest.mark.parametrize("name", ["update", "add", "sub", "mul", "div", "min", "max"])
def test_both_kinds_of_variable_have_the_methods(graph, name):
    slices = SimpleNamespace(indices=[0, 2], values=[[2.0, 2.0], [4.0, 4.0]])
    symbolic = value_of(getattr(tf.Variable(ROWS), f"scatter_{name}")(slices))
    assert value_of(getattr(updates, f"scatter_{name}")(tf.Variable(ROWS), slices.indices, slices.values)) == symbolic


def test_methods_of_eager_variables():
    v = eager_tf.Variable(ROWS)
    v.scatter_add(SimpleNamespace(indices=[0], values=[[1.0, 1.0]]))
    v.scatter_nd_update([[1, 0]], [7.0])
    v.scatter_nd_sub([[2]], [[1.0, 1.0]])
    v.batch_scatter_update(SimpleNamespace(indices=[[0], [1], [1]], values=[[0.0], [0.0], [0.0]]))
    assert v.numpy().tolist() == [[0.0, 3.0], [7.0, 0.0], [4.0, 0.0]]
    assert v.sparse_read([1]).numpy().tolist() == [[7.0, 0.0]]
    assert v.gather_nd([[2, 0]]).numpy().tolist() == [4.0]
    with pytest.raises(TypeError, match="not IndexedSlices"):
        v.scatter_add([1.0])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (tf.scatter_add, [1, 7, 3]),
        (tf.scatter_sub, [1, -3, 3]),
        (tf.scatter_update, [1, 5, 3]),
        (tf.scatter_max, [1, 5, 3]),
        (tf.scatter_min, [1, 2, 3]),
        (tf.scatter_mul, [1, 10, 3]),
    ],
)
def test_one_row_of_a_vector_is_named_by_a_scalar(change, expected):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1, 2, 3])
        sess.run(v.initializer)
        assert sess.run(change(v, 1, 5)).tolist() == expected


def test_a_part_of_a_variable_is_assigned_by_the_function_too():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1, 2, 3])
        sess.run(v.initializer)
        assert sess.run(tf.assign(v[1:], [5, 6])).tolist() == [1, 5, 6]


def test_what_stands_for_a_variable_says_whether_it_has_a_value():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.Variable(1, name="v")
        asked = tf.is_variable_initialized(graph.get_tensor_by_name("v:0"))
        assert not sess.run(asked)
        sess.run(v.initializer)
        assert sess.run(asked)


@pytest.mark.virtual
def test_the_larger_and_the_smaller_of_elements_are_kept(graph):
    rows, cells = [[0], [0], [2]], [[0, 1], [0, 1], [2, 0]]
    assert value_of(tf.Variable(ROWS).scatter_nd_max(rows, GIVEN)) == [[2, 20], [3, 4], [5, 30]]
    assert value_of(tf.Variable(ROWS).scatter_nd_min(rows, GIVEN)) == [[1, 2], [3, 4], [3, 6]]
    assert value_of(tf.Variable(ROWS).scatter_nd_max(cells, [1.0, 10.0, 3.0])) == [[1, 10], [3, 4], [5, 6]]
    assert value_of(tf.Variable(ROWS).scatter_nd_min(cells, [1.0, 10.0, 3.0])) == [[1, 1], [3, 4], [3, 6]]
