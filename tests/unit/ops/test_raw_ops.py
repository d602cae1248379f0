"""``tf.raw_ops``, and the ops that have no other name. Figures are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors

raw = tf.raw_ops


def test_functions_of_keywords():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert raw.MatMul(a=x, b=x, transpose_b=True).numpy().tolist() == [[5.0, 11.0], [11.0, 25.0]]
    assert [part.shape for part in raw.Split(axis=0, value=x, num_split=2)] == [[1, 2], [1, 2]]
    assert raw.ConcatV2(values=[x, x], axis=1).shape == [2, 4]
    values, indices = raw.TopKV2(input=[1.0, 3.0, 2.0], k=2)
    assert (values.numpy().tolist(), indices.numpy().tolist()) == ([3.0, 2.0], [1, 2])
    assert raw.Svd(input=x)._fields == ("s", "u", "v")
    assert raw.MatMul is raw.MatMul
    assert "Bucketize" in dir(raw)


def test_in_a_function():
    @tf.function
    def f(x):
        return raw.UniqueV2(x=x, axis=[0]).y, raw.Bucketize(input=x, boundaries=[1.5])

    y, buckets = f(tf.constant([2.0, 1.0, 2.0]))
    assert (y.numpy().tolist(), buckets.numpy().tolist()) == ([2.0, 1.0], [1, 0, 1])


def test_wrong_calls():
    with pytest.raises(TypeError, match="MatMul only takes keyword args"):
        raw.MatMul([[1.0]], [[1.0]])
    with pytest.raises(TypeError, match="missing required keyword-only argument: 'b'"):
        raw.MatMul(a=[[1.0]])
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'; it takes a, b"):
        raw.MatMul(a=[[1.0]], b=[[1.0]], c=1)
    with pytest.raises(AttributeError, match="Did you mean Bucketize"):
        _ = raw.Bucketise


def test_bucketize(on_device):
    with np.errstate(all="ignore"):
        values = np.float32([-5, 0, 9.9, 10, 100, 1000, np.nan, np.inf])
    assert raw.Bucketize(input=values, boundaries=[0.0, 10.0, 100.0]).numpy().tolist() == [0, 1, 1, 2, 3, 3, 3, 3]
    assert raw.Bucketize(input=np.int64([[1, 2**40]]), boundaries=[1.5, 2.0]).numpy().tolist() == [[0, 2]]
    assert raw.Bucketize(input=np.float64([0.1, 0.3]), boundaries=[0.1, 0.3]).numpy().tolist() == [0, 1]
    made = raw.Bucketize(input=tf.constant([], tf.float32), boundaries=[])
    assert (made.shape, made.dtype) == ([0], tf.int32)
    assert int(raw.Bucketize(input=3.0, boundaries=[])) == 0
    with pytest.raises(errors.InvalidArgumentError, match="Expected sorted boundaries"):
        raw.Bucketize(input=[1.0], boundaries=[2.0, 1.0])


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.float16])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices(dtype, axis):
    x = np.array([[1, 2, 1, 0], [3, 4, 3, 0], [1, 2, 1, 0]], dtype)
    y, idx, count = raw.UniqueWithCountsV2(x=x, axis=[axis])
    expected, inverse = ([0, 1], [0, 1, 0]) if axis == 0 else ([0, 1, 3], [0, 1, 0, 2])
    assert np.array_equal(y.numpy(), np.take(x, expected, axis))
    assert (idx.numpy().tolist(), idx.dtype) == (inverse, tf.int32)
    assert count.numpy().tolist() == np.bincount(inverse).tolist()
    assert np.array_equal(np.take(y.numpy(), idx.numpy(), axis), x)


def test_unique_of_a_vector():
    y, idx = raw.UniqueV2(x=["b", "a", "b"], axis=tf.zeros([0], tf.int32), out_idx=tf.int64)
    assert (y.numpy().tolist(), idx.numpy().tolist(), idx.dtype) == ([b"b", b"a"], [0, 1, 0], tf.int64)
    assert raw.UniqueV2(x=np.float32([np.nan, np.nan, -0.0, 0.0]), axis=[0]).idx.numpy().tolist() == [0, 1, 2, 2]


def test_unique_of_nothing():
    assert raw.UniqueV2(x=tf.zeros([0, 3]), axis=[0]).y.shape == [0, 3]
    assert raw.UniqueV2(x=tf.zeros([3, 0]), axis=[0]).y.shape == [1, 0]


@pytest.mark.parametrize(
    ("axis", "message"),
    [([2], "axis has to be between"), ([], "unique expects a 1D vector"), ([0, 1], "at most one number")],
)
def test_unique_refuses(axis, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        raw.UniqueV2(x=tf.zeros([2, 2]), axis=tf.constant(axis, tf.int32))


def test_numpy_names():
    assert tf.experimental.numpy.finfo(tf.float32).eps == np.finfo(np.float32).eps
    assert float(tf.experimental.numpy.finfo("bfloat16").eps) == 2.0**-7
    with pytest.raises(ValueError, match="not inexact"):
        tf.experimental.numpy.finfo(tf.int32)
    x = np.arange(6)
    conditions, choices = [x < 2, x > 3], [x, x**2]
    made = tf.experimental.numpy.select(conditions, choices, 42)
    assert made.numpy().tolist() == np.select(conditions, choices, 42).tolist()
    with pytest.raises(ValueError, match="length"):
        tf.experimental.numpy.select(conditions, [x])


def test_bucketize_refuses_without_verification(fast):
    with pytest.raises(errors.InvalidArgumentError, match="Expected sorted boundaries"):
        raw.Bucketize(input=[1.0], boundaries=[2.0, 1.0])


# Ops of gradients in graphs that TensorFlow has written.


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [
        (([2, 3], [3]), ([], [0])),
        (([2, 1, 4], [3, 1]), ([1], [0, 2])),
        (([2, 3], [2, 3]), ([], [])),
        (([1, 3], [1, 3]), ([], [])),
        (([1], [1, 1]), ([0, 1], [0, 1])),
        (([], [2]), ([0], [])),
        (([], []), ([], [])),
        (([0, 1], [1, 5]), ([1], [0])),
    ],
)
def test_axes_that_gradients_are_summed_over(shapes, axes):
    found = raw.BroadcastGradientArgs(s0=tf.constant(shapes[0], tf.int32), s1=tf.constant(shapes[1], tf.int32))
    assert [each.numpy().tolist() for each in found] == [list(each) for each in axes]
    assert found.r0.dtype == tf.int32


def test_axes_of_shapes_that_do_not_fit():
    with pytest.raises(errors.InvalidArgumentError, match="ncompatible shapes"):
        raw.BroadcastGradientArgs(s0=[2], s1=[3])
    with pytest.raises(errors.InvalidArgumentError, match="must be vectors"):
        raw.BroadcastGradientArgs(s0=[[2]], s1=[3])


def test_where_parts_begin():
    offsets = raw.ConcatOffset(concat_dim=1, shape=[[2, 2, 7], [2, 3, 7], [2, 5, 7]])
    assert [each.numpy().tolist() for each in offsets] == [[0, 0, 0], [0, 2, 0], [0, 5, 0]]
    assert raw.ConcatOffset(concat_dim=-1, shape=[[2, 0], [2, 3], [2, 1]])[2].numpy().tolist() == [0, 3]


@pytest.mark.parametrize(
    ("axis", "shapes", "said"),
    [
        (2, [[1, 2], [1, 2]], "Concat dim is out of range: 2 vs. 2"),
        (0, [[1, 2], [1]], "input 1 should contain 2 elements, but got 1"),
        (0, [[1, 2], [1, 3]], r"All dimensions except 0 must match. Input 1 has shape \[1,3\] and doesn't match"),
    ],
)
def test_parts_that_do_not_fit(axis, shapes, said):
    with pytest.raises(errors.InvalidArgumentError, match=said):
        raw.ConcatOffset(concat_dim=axis, shape=[tf.constant(shape) for shape in shapes])
