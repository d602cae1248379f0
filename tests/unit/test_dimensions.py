"""Dimensions of shapes: integers with a ``value``, as TensorFlow 1's programs use them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.shapes import Dimension, TensorShape, dimension_at_index, dimension_value
from situs.errors import InvalidArgumentError


def test_a_known_dimension_has_its_value_wherever_it_comes_from():
    with v1.Graph().as_default():
        x = tf.zeros([2, 3])
        p = v1.placeholder(tf.float32, [None, 7])
        v = v1.Variable(tf.zeros([4, 5]))
        found = [
            x.shape[1],
            x.get_shape()[-1],
            p.get_shape()[1],
            p.shape.dims[1],
            v.get_shape()[0],
            x.shape[:1].dims[0],
        ]
    assert [dim.value for dim in found] == [3, 3, 7, 7, 4, 2]
    assert all(type(dim.value) is int for dim in found)


def test_it_is_a_plain_integer_in_eager_code_and_in_functions():
    kinds = [*map(type, tf.zeros([2, 3]).shape), type(tf.Variable([1.0]).shape[0]), type(TensorShape([2])[0])]
    signature = [tf.TensorSpec([None, 3])]
    tf.function(lambda x: kinds.extend(map(type, x.shape[1:])), input_signature=signature)(tf.zeros([2, 3]))
    assert kinds == [int] * 5
    assert type(tf.zeros([2]).get_shape()[0]) is int


def test_a_dimension_keeps_its_value_in_the_branches_and_loops_of_a_graph():
    found = []
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 3])
        v1.cond(v1.constant(True), lambda: found.append((x + 1.0).shape[1].value) or x, lambda: x)
        x.set_shape([4, None])
        found.append(x.shape[0].value)
    assert found == [3, 4]


def test_an_unknown_dimension_is_none():
    shape = TensorShape([None, 2])
    assert shape[0] is None
    assert list(shape) == [None, 2]
    assert [dim.value for dim in shape.dims] == [None, 2]
    assert TensorShape(None)[0] is None


def test_in_graphs_of_the_older_dialect_an_unknown_dimension_has_a_value_too():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 7])
        assert [dim.value for dim in x.get_shape()] == [None, 7]
        assert x.get_shape()[0].value is None
        assert x.get_shape()[:1][0].value is None
        assert v1.placeholder(tf.float32).get_shape()[3].value is None
        assert x.get_shape() == x.shape
        assert v1.zeros([x.get_shape()[1], 2]).shape == [7, 2]
    kinds = []
    tf.function(lambda x: kinds.append(x.get_shape()[0]), input_signature=[tf.TensorSpec([None])])(tf.zeros([2]))
    assert kinds == [None]


@pytest.fixture
def _dimensions_are_shown():
    v1.disable_v2_tensorshape()
    yield
    v1.enable_v2_tensorshape()


@pytest.mark.usefixtures("_dimensions_are_shown")
def test_a_program_of_tensorflow_1_sees_dimensions_in_the_shape_of_a_tensor():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 3])
        assert x.shape[0].value is None
        assert x.shape[0] is not None
        assert [dim.value for dim in x.shape] == [None, 3]
        assert (x.shape[1].value, x.shape[1] * 2, x.shape.as_list()) == (3, 6, [None, 3])
        assert (x @ tf.ones([3, 5]) + 1.0)[1:].shape[0].value is None
        assert v1.placeholder(tf.float32).shape[2].value is None
        flat = v1.reshape(x, [-1, x.shape[1].value])
        wide = v1.layers.dense(v1.concat([x, x[:, :1]], 1), 2)
        norm = x / v1.reduce_sum(x, -1, keepdims=True)
        found = []
        chosen = v1.cond(x[0, 0] > 0, lambda: found.append(x.shape[0].value) or x, lambda: x * 2.0)
        assert found == [None]
        assert [each.shape.as_list() for each in (flat, wide, norm, chosen)] == [[None, n] for n in (3, 2, 3, 3)]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            values = session.run([flat, wide, norm, chosen], {x: np.ones([2, 3], np.float32)})
    assert [value.shape for value in values] == [(2, 3), (2, 2), (2, 3), (2, 3)]


@pytest.mark.usefixtures("_dimensions_are_shown")
def test_a_program_of_tensorflow_1_reads_shapes_as_tensorflow_1_writes_them():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 784], name="x")
        unknown = v1.placeholder(tf.float32, name="unknown")
        assert (str(x.shape), str(x.get_shape()[:1]), str(x.shape[1:])) == ("(?, 784)", "(?,)", "(784,)")
        assert str(x) == 'Tensor("x:0", shape=(?, 784), dtype=float32)'
        assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 784) dtype=float32>"
        assert repr(x.shape) == "TensorShape([Dimension(None), Dimension(784)])"
        assert (str(unknown.shape), repr(unknown.shape)) == ("<unknown>", "TensorShape(None)")
        assert str(unknown) == 'Tensor("unknown:0", dtype=float32)'
    assert str(v1.TensorShape([None])) == "(?,)"
    v1.enable_v2_tensorshape()
    assert (str(x.shape), repr(x.shape)) == ("(None, 784)", "TensorShape([None, 784])")


@pytest.mark.usefixtures("_dimensions_are_shown")
def test_functions_of_tensorflow_2_see_none_all_the_same():
    kinds = []
    tf.function(lambda x: kinds.append(x.shape[0]), input_signature=[tf.TensorSpec([None])])(tf.zeros([2]))
    assert kinds == [None]


def test_what_is_not_known_of_a_dimension_stays_unknown():
    unknown = v1.Dimension(None)
    assert (str(unknown), repr(unknown), unknown.value) == ("?", "Dimension(None)", None)
    assert (unknown == 12) is None
    assert (unknown < 12) is None
    assert (unknown + 2).value is (2 * unknown).value is None
    assert unknown.merge_with(3).value == v1.Dimension(3).merge_with(unknown).value == 3
    assert v1.Dimension(3).is_compatible_with(unknown)
    assert pickle.loads(pickle.dumps(unknown)) is unknown
    with pytest.raises(ValueError, match="not compatible"):
        v1.Dimension(3).merge_with(4)
    assert TensorShape([unknown, 2]).as_list() == [None, 2]


def test_a_vector_of_sizes_says_how_many_there_are():
    with v1.Graph().as_default():
        sizes = v1.placeholder(tf.int32, [3])
        for made in (v1.zeros(sizes), v1.random_normal(sizes), v1.reshape(v1.ones([6]), sizes)):
            assert made.shape.as_list() == [None, None, None]
        assert v1.reduce_sum(v1.ones([2, 3, 4, 5]), sizes).shape.rank is None


def test_a_dimension_bounds_a_slice():
    x, unknown = tf.constant([1, 2, 3]), v1.Dimension(None)
    assert x[unknown:unknown:unknown].numpy().tolist() == [1, 2, 3]
    assert x[v1.Dimension(1) :].numpy().tolist() == [2, 3]


def test_the_way_of_the_cifar_tutorial():
    with v1.Graph().as_default(), v1.Session() as session:
        pool = v1.ones([8, 6, 6, 2])
        reshape = v1.reshape(pool, [pool.get_shape().as_list()[0], -1])
        dim = reshape.get_shape()[1].value
        weights = v1.get_variable("weights", [dim, 3], initializer=v1.constant_initializer(1.0))
        out = v1.matmul(reshape, weights)
        session.run(weights.initializer)
        assert (dim, session.run(out)[0, 0]) == (72, 72.0)


def test_sizes_of_a_whole_shape():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4, 5])
        assert np.prod([d.value for d in x.get_shape()[1:]]) == 20
        assert [d.value for d in x.shape.dims[1:]] == [4, 5]


def test_it_is_an_integer_for_everything_that_takes_one():
    x = tf.reshape(tf.range(6.0), [2, 3])
    two, three = x.shape
    assert isinstance(two, int)
    assert (two, two + 1, two * three, three // two, -two, f"{two}", repr(two)) == (2, 3, 6, 1, -2, "2", "2")
    assert {two: "a"}[2] == "a"
    assert x[two - 1, :two].numpy().tolist() == [3.0, 4.0]
    assert x[:, two].numpy().tolist() == [2.0, 5.0]
    assert tf.reshape(x, [three, two]).shape == [3, 2]
    assert tf.constant(two).dtype == tf.int32
    assert tf.zeros([two, three]).shape == [2, 3]
    assert (x * two).dtype == tf.float32
    assert tf.transpose(x, [x.shape[0] - 1, 0]).shape == [3, 2]
    assert tf.split(x, three, axis=1)[0].shape == [2, 1]
    assert np.zeros(two).shape == (2,)
    assert list(range(two)) == [0, 1]
    assert json.dumps([two]) == "[2]"
    assert pickle.loads(pickle.dumps(two)) == 2
    assert type(TensorShape([two]).as_list()[0]) is int


@pytest.mark.parametrize(("value", "expected"), [(3, 3), (Dimension(3), 3), (np.int64(3), 3), (None, None)])
def test_making_one(value, expected):
    assert Dimension(value).value == expected


@pytest.mark.parametrize("value", [-1, 2.5, "x"])
def test_what_is_no_dimension(value):
    with pytest.raises(InvalidArgumentError):
        Dimension(value)


def test_the_functions_that_work_in_every_version():
    shape = TensorShape([2, None])
    assert type(dimension_value(shape[0])) is int
    assert (dimension_value(shape[0]), dimension_value(shape[1]), dimension_value(5)) == (2, None, 5)
    assert (dimension_at_index(shape, 0), dimension_at_index(shape, -1)) == (2, None)
    assert dimension_at_index(TensorShape(None), 3) is None


@pytest.mark.parametrize(
    ("left", "right", "names"), [(6, 2, "'Dimension' and 'Dimension'"), (None, 2, "'Dimension' and")]
)
def test_dimensions_are_divided_by_whole_numbers(left, right, names):
    one, other = Dimension(left), Dimension(right)
    with pytest.raises(TypeError, match=names + ".* please use // instead"):
        one / other
    with pytest.raises(TypeError, match="'int' and 'Dimension', please use // instead"):
        6 / one


def test_a_dimension_is_written_and_copied_as_itself():
    assert (repr(Dimension(7)), str(Dimension(7)), f"{Dimension(7)}") == ("Dimension(7)", "7", "7")
    kind, args = Dimension(5).__reduce__()
    assert (kind, args, kind(*args)) == (Dimension, (5,), 5)


def test_an_unknown_dimension_is_not_equal_to_what_is_no_size():
    assert (Dimension(None) == 12.99, Dimension(None) != 12.99) == (False, True)
    assert [Dimension(None) == 12, Dimension(None) != None, Dimension(None) == None] == [None] * 3  # noqa: E711
