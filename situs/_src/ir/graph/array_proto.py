"""Arrays as ``TensorProto`` messages and back: ``tf.make_tensor_proto`` for values that are arrays already.

    >>> import numpy as np
    >>> from situs._src.base.dtype import float32
    >>> array_to_proto(np.zeros([2, 3], np.float32), float32).float_val
    [0.0]

One value, or one repeated, is stored in the list of its dtype, as TensorFlow writes it; many are stored as raw
little-endian bytes. A list that is shorter than the shape repeats its last value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, bfloat16, float16, string
from situs._src.base.errors import ArgumentError, DTypeError, ResourceExhaustedError
from situs._src.base.proto.tensor import TensorProto, dtype_from_proto, shape_from_proto, shape_to_proto
from situs._src.base.shapes import TensorShape

Array = np.ndarray[Any, Any]

_LISTS = {
    "float16": "half_val",
    "bfloat16": "half_val",
    "float32": "float_val",
    "float64": "double_val",
    "int8": "int_val",
    "int16": "int_val",
    "int32": "int_val",
    "int64": "int64_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "bool": "bool_val",
    "string": "string_val",
}


def array_to_proto(value: object, dtype: DType) -> TensorProto:
    """The message for an array, or for an eager tensor.

    Raises:
        DTypeError: values of this dtype cannot be serialized.
    """
    if dtype.name not in _LISTS:
        raise DTypeError(f"Values of dtype {dtype.name} live in this process and cannot be written down.")
    array = as_array(value, dtype)
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_to_proto(TensorShape(array.shape)))
    if dtype is string or dtype.is_bool:
        getattr(proto, _LISTS[dtype.name]).extend(_listed(array.reshape(-1), dtype))
    elif _is_one_value(array):
        getattr(proto, _LISTS[dtype.name]).extend(_listed(array.reshape(-1)[:1], dtype))
    elif array.size:
        proto.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return proto


def content_to_proto(array: Array, dtype: DType) -> TensorProto:
    """The message for an array with its values as raw bytes, whatever they are; strings stand in their list.

    Raises:
        DTypeError: values of this dtype cannot be written down.
    """
    if dtype.name not in _LISTS:
        raise DTypeError(f"Values of dtype {dtype.name} live in this process and cannot be written down.")
    array = as_array(array, dtype)
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_to_proto(TensorShape(array.shape)))
    if dtype is string:
        proto.string_val.extend(_listed(array.reshape(-1), dtype))
    else:
        proto.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    return proto


_RAW = frozenset(
    ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]
)  # the dtypes of which TensorFlow's make_tensor_proto writes bytes


def values_to_proto(array: Array, dtype: DType, sizes: tuple[int, ...]) -> TensorProto:
    """The message for an array with a shape, all values written out; the last one is repeated for the rest.

    Raises:
        DTypeError: values of this dtype cannot be serialized.
    """
    if dtype.name not in _LISTS:
        raise DTypeError(f"Values of dtype {dtype.name} live in this process and cannot be written down.")
    array = as_array(array, dtype)
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=shape_to_proto(TensorShape(sizes)))
    if dtype.name in _RAW and array.size == math.prod(sizes) and array.size > 1:
        proto.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    else:
        getattr(proto, _LISTS[dtype.name]).extend(_listed(array.reshape(-1), dtype))
    return proto


def as_array(value: object, dtype: DType) -> Array:
    """A known value as an array of its dtype."""
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "numpy"):
        value = value.numpy()
    # NumPy's own strings would lose the zero bytes at their ends.
    return np.array(value, dtype=object) if dtype is string else np.asarray(value, dtype.as_numpy_dtype)


def _is_one_value(array: Array) -> bool:
    if array.size < 2:
        return array.size == 1
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, -1)
    return bool((rows == rows[0]).all())


def _listed(flat: Array, dtype: DType) -> list[Any]:
    if dtype is string:
        return [item.encode() if isinstance(item, str) else bytes(item) for item in flat]
    if dtype in (float16, bfloat16):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = flat.view(flat.real.dtype)
    return list(flat.tolist())


def array_from_proto(proto: TensorProto) -> tuple[Array, DType]:
    """The array that a message describes, and its dtype.

    Raises:
        InvalidArgumentError: the dtype, the shape and the values are inconsistent.
    """
    dtype = dtype_from_proto(proto.dtype)
    shape = shape_from_proto(proto.tensor_shape)
    if dtype.name not in _LISTS or not shape.is_fully_defined():
        raise ArgumentError(f"A tensor of dtype {dtype.name} and shape {shape} has no values to read.")
    sizes: Any = tuple(shape)
    if proto.tensor_content:
        return _from_content(proto.tensor_content, dtype, sizes), dtype
    return _from_list(list(getattr(proto, _LISTS[dtype.name])), dtype, sizes), dtype


def _from_content(content: bytes, dtype: DType, sizes: tuple[int, ...]) -> Array:
    count = math.prod(sizes)
    if dtype is string or len(content) != count * dtype.size:
        raise ArgumentError(
            f"A tensor of {count} {dtype.name} values is {count * dtype.size} bytes long, got {len(content)}."
        )
    native = np.dtype(dtype.as_numpy_dtype)
    return np.frombuffer(content, native.newbyteorder("<")).astype(native).reshape(sizes)


def _from_list(values: list[Any], dtype: DType, sizes: tuple[int, ...]) -> Array:
    flat = _flat(values, dtype)
    count = math.prod(sizes)
    if flat.size > count:
        raise ArgumentError(f"A tensor of shape {list(sizes)} has {count} values, got {flat.size}.")
    try:
        array = np.empty(count, flat.dtype)
        array[: flat.size] = flat
        array[flat.size :] = flat[-1] if flat.size else (b"" if dtype is string else 0)
        return array.reshape(sizes)
    except (MemoryError, ValueError, OverflowError):  # ValueError: more elements than NumPy can count
        raise ResourceExhaustedError(f"OOM when reading a tensor of shape {list(sizes)}.") from None


def _flat(values: list[Any], dtype: DType) -> Array:
    if dtype is string:
        return np.array(values, dtype=object)
    try:
        if dtype in (float16, bfloat16):
            return np.array(values, np.uint16).view(dtype.as_numpy_dtype)
        if dtype.is_complex:
            return np.array(values, dtype.real_dtype.as_numpy_dtype).view(dtype.as_numpy_dtype)
        return np.array(values, dtype.as_numpy_dtype)
    except (ValueError, OverflowError):
        raise ArgumentError(f"These values are no tensor of {dtype.name}: {values[:8]}.") from None
