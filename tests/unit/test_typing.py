"""What the types of signatures admit is what functions take."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import typing


class OfAnotherLibrary:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0], np.float32)


class StandsForOne:
    def __tf_tensor__(self, dtype=None, name=None):
        return tf.constant([1.0, 2.0])


ARRAYS = {
    "tensor": lambda: tf.constant([1.0, 2.0]),
    "variable": lambda: tf.Variable([1.0, 2.0]),
    "array": lambda: np.array([1.0, 2.0], np.float32),
    "another library's": OfAnotherLibrary,
    "a program's class": StandsForOne,
    "list": lambda: [1.0, 2.0],
    "list of tensors": lambda: [tf.constant(1.0), np.float32(2.0)],
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_what_is_like_an_array_becomes_a_tensor(kind):
    np.testing.assert_array_equal(tf.convert_to_tensor(ARRAYS[kind]()).numpy(), [1.0, 2.0])
    np.testing.assert_array_equal(tf.add(ARRAYS[kind](), 1.0).numpy(), [2.0, 3.0])
    assert tf.reduce_sum(ARRAYS[kind]()).numpy() == 3.0


@pytest.mark.parametrize("number", [True, 1, 1.0, 1j, np.int8(1), np.float64(1), np.bool_(True)])
def test_one_number_does_too(number):
    assert tf.convert_to_tensor(number).numpy() == number


def test_strings_do_too():
    assert [tf.convert_to_tensor(text).numpy() for text in ("a", b"a", np.bytes_(b"a"))] == [b"a"] * 3


@pytest.mark.parametrize("dtype", [tf.float32, "float32", 1, np.float32, np.dtype("float32"), float])
def test_what_is_like_a_dtype_names_one(dtype):
    assert tf.as_dtype(dtype) is tf.float32
    assert tf.zeros([2], dtype).dtype is tf.float32


@pytest.mark.parametrize(
    "shape",
    [
        lambda: [2, 3],
        lambda: (2, 3),
        lambda: tf.TensorShape([2, 3]),
        lambda: np.array([2, 3]),
        lambda: tf.constant([2, 3]),
        lambda: [tf.constant(2), np.int64(3)],
        lambda: v1.Dimension(2) and [v1.Dimension(2), v1.Dimension(3)],
    ],
)
def test_what_is_like_a_shape_is_one(shape):
    assert tf.zeros(shape()).shape == (2, 3)


def test_some_sizes_of_a_shape_may_be_unknown():
    with tf.Graph().as_default():
        assert v1.placeholder(tf.float32, [None, 3]).shape.as_list() == [None, 3]
        assert v1.placeholder(tf.float32, [v1.Dimension(None), 3]).shape.as_list() == [None, 3]


@pytest.mark.parametrize("axis", [1, np.int64(1), -1, [1], (1,), np.array(1), np.array([1])])
def test_what_is_like_an_axis_is_one(axis):
    np.testing.assert_array_equal(tf.reduce_sum([[1, 2], [3, 4]], axis).numpy(), [3, 7])
    np.testing.assert_array_equal(tf.reduce_sum([[1, 2], [3, 4]], tf.constant(axis)).numpy(), [3, 7])


def test_what_is_like_a_path_names_a_file(tmp_path):
    (tmp_path / "a").write_text("x")
    name = str(tmp_path / "a")
    for path in (name, os.fsencode(name), Path(name)):
        assert tf.io.gfile.exists(path)


def test_the_aliases_can_be_read_while_programs_run():
    names = [name for name in vars(typing) if name.endswith("Like") and name[0].isupper()]
    assert {"ArrayLike", "AxisLike", "DTypeLike", "IntLike", "PathLike", "SessionLike", "ShapeLike"} <= {*names}
