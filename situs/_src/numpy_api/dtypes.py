"""Dtypes by NumPy's rules: what several values have in common, and the names of NumPy's dtypes.

A Python number takes the dtype of what it stands beside, as far as it is of the same kind; alone it is an int64 or a
float64, or a float32 where that is preferred (`behaviour`).
"""

from __future__ import annotations

import builtins
import math
import numbers
from collections.abc import Iterator
from typing import Any, Final

import ml_dtypes
import numpy as np

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export, export_all
from situs._src.base.tensor import Tensor
from situs._src.base.typing import DTypeLike
from situs._src.numpy_api.refusing import refuse_by_our_errors

bool_ = np.bool_
complex_ = complex128 = np.complex128
complex64 = np.complex64
float16 = np.float16
float32 = np.float32
float_ = float64 = np.float64
inexact = np.inexact
int_ = np.int_
int8 = np.int8
int16 = np.int16
int32 = np.int32
int64 = np.int64
object_ = np.object_
string_ = np.bytes_
uint8 = np.uint8
uint16 = np.uint16
uint32 = np.uint32
uint64 = np.uint64
unicode_ = np.str_
iinfo = np.iinfo
ndarray = Tensor
newaxis: Final = None
pi: Final = math.pi
e: Final = math.e
inf: Final = math.inf

export_all(
    "experimental.numpy",
    "bool_",
    "complex_",
    "complex128",
    "complex64",
    "float16",
    "float32",
    "float_",
    "float64",
    "inexact",
    "int_",
    "int8",
    "int16",
    "int32",
    "int64",
    "object_",
    "string_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unicode_",
    "iinfo",
    "ndarray",
    "newaxis",
    "pi",
    "e",
    "inf",
)


class Preference:
    """Whether Python's floats are float32; one for the process."""

    float32 = False


def of_numpy(dtype: Any) -> Any:
    """A dtype as NumPy has it; ``float`` is float64 and ``int`` is int64, as in NumPy."""
    return np.dtype(dtype.as_numpy_dtype if isinstance(dtype, DType) else dtype)


def wanted(dtype: Any) -> DType | None:
    """The dtype that a caller asks for; None where none is."""
    return as_dtype(of_numpy(dtype)) if dtype is not None and not isinstance(dtype, DType) else dtype


def default_float() -> DType:
    """The dtype of Python's floats where none is asked for. What integers become, such as means, is float64 always."""
    return as_dtype("float32" if Preference.float32 else "float64")


def natural(value: Any, dtype: Any = None) -> DType:
    """The dtype of a value by itself, unless another is asked for."""
    if dtype is not None:
        found = wanted(dtype)
        assert found is not None
        return found
    return as_dtype("string") if isinstance(value, (str, bytes)) else result_type(value)


@export("experimental.numpy.result_type")
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that values have together, by NumPy's rules.

    Args:
        *arrays_and_dtypes: Tensors, arrays, numbers, nested lists of these, and dtypes.

    Example:
        >>> import situs as tf
        >>> tf.experimental.numpy.result_type(tf.ones([2], tf.int32), tf.ones([2], tf.float32))
        tf.float64
        >>> tf.experimental.numpy.result_type(tf.ones([2], tf.int32), 1)
        tf.int32
    """
    found = [_asked(leaf) for leaf in _leaves(arrays_and_dtypes)]
    return as_dtype(np.result_type(*(found or [np.float64])))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (builtins.list, tuple)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _asked(value: Any) -> Any:
    """What NumPy is asked about in place of a value."""
    if isinstance(value, numbers.Number):
        if Preference.float32 and isinstance(value, float):
            return np.float32(value)
        return np.complex64(value) if Preference.float32 and isinstance(value, complex) else value
    if isinstance(value, DType):
        return value.as_numpy_dtype
    if isinstance(value, (str, bytes)) and value in ("", b""):
        return np.dtype(np.str_)
    dtype = None if isinstance(value, (np.ndarray, np.generic, type, np.dtype)) else getattr(value, "dtype", None)
    return dtype.as_numpy_dtype if isinstance(dtype, DType) else value


@export("experimental.numpy.promote_types")
def promote_types(type1: DTypeLike, type2: DTypeLike) -> Any:
    """The smallest of NumPy's dtypes that holds the values of both."""
    return np.promote_types(of_numpy(type1), of_numpy(type2))


@export("experimental.numpy.issubdtype")
def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether one of NumPy's dtypes is of the kind of another, as ``np.issubdtype`` says."""
    return bool(np.issubdtype(arg1, arg2))


@export("experimental.numpy.finfo")
def finfo(dtype: DTypeLike) -> Any:
    """The limits of a floating-point dtype, as NumPy tells them.

    Raises:
        ValueError: it is not one.
    """
    found = as_dtype(of_numpy(dtype))
    if not (found.is_floating or found.is_complex):
        raise ArgumentError(f"data type {shown(found.name)} not inexact: finfo() is of floating-point dtypes.")
    return ml_dtypes.finfo(found.real_dtype.as_numpy_dtype)  # type: ignore[no-untyped-call]


refuse_by_our_errors(globals())
