"""Dtypes: names, limits, equality, and what they are made of."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from situs._src.base import dtype as dt


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("float32", dt.float32),
        ("half", dt.float16),
        ("double", dt.float64),
        ("float", dt.float32),
        (np.float32, dt.float32),
        (np.dtype("int16"), dt.int16),
        (float, dt.float32),
        (int, dt.int32),
        (bool, dt.bool),
        (str, dt.string),
        (np.str_, dt.string),
        (1, dt.float32),
        (3, dt.int32),
        (dt.uint8, dt.uint8),
        (dt.bfloat16.as_numpy_dtype, dt.bfloat16),
    ],
)
def test_as_dtype(value, expected):
    assert dt.as_dtype(value) is expected
    assert expected == value


@pytest.mark.parametrize("bad", ["floaty", None, [], 99, True, np.datetime64, object()])
def test_what_names_no_dtype_is_a_type_error(bad):
    with pytest.raises(TypeError, match="Cannot convert the argument"):
        dt.as_dtype(bad)
    assert dt.float32 != bad


def test_text():
    assert repr(dt.float32) == "tf.float32"
    assert str(dt.float32) == "<dtype: 'float32'>"
    assert dt.float16.proto_name == "half"


def test_kinds():
    assert dt.float16.is_floating
    assert dt.uint8.is_integer
    assert dt.uint8.is_unsigned
    assert not dt.bool.is_integer
    assert dt.bfloat16.is_numeric
    assert dt.complex64.is_numeric
    assert not any(each.is_numeric for each in (dt.bool, dt.string, dt.resource, dt.variant))
    assert not dt.uint8.is_quantized
    assert dt.complex64.is_complex
    assert dt.complex64.real_dtype is dt.float32


@pytest.mark.parametrize("name", ["int8", "int64", "uint16", "uint64", "float16", "float32", "float64"])
def test_limits_are_numpys(name):
    info = (np.iinfo if "int" in name else np.finfo)(name)
    dtype = dt.as_dtype(name)
    assert (dtype.min, dtype.max) == (info.min, info.max)
    assert dtype.size == np.dtype(name).itemsize


def test_a_dtype_is_one_object_even_through_pickle():
    assert pickle.loads(pickle.dumps(dt.int8)) is dt.int8


def test_every_dtype_is_in_one_of_the_sets():
    assert frozenset(dt._INTERNED.values()) == dt.ALL | {dt.resource, dt.variant}
    assert dt.FLOATING | dt.FLOAT8 | dt.COMPLEX | dt.SIGNED | dt.UNSIGNED | dt.BOOL | dt.STRING == dt.ALL


@pytest.mark.parametrize("value", [type, Exception, list, dt.DType])
def test_classes_that_are_no_dtype_are_refused(value):  # NumPy takes them for its object dtype
    with pytest.raises(TypeError, match="Cannot convert the argument"):
        dt.as_dtype(value)
