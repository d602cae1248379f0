"""``tf.make_tensor_proto``, ``tf.make_ndarray``, ``tf.get_static_value``: values as messages, and values known early.

make_tensor_proto(10.0)            dtype: DT_FLOAT  tensor_shape {}  float_val: 10.0
make_ndarray(make_tensor_proto(x)) the array of x again
get_static_value(tf.constant(3))   3, also while a graph is built; None where it is not known yet
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.proto.tensor import TensorProto
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.ir.graph.array_proto import array_from_proto, values_to_proto
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_bool
from situs._src.runtime.eager.convert import to_array
from situs._src.runtime.eager.tensor import EagerTensor

Array = np.ndarray[Any, Any]


@export("make_tensor_proto")
def make_tensor_proto(
    values: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> TensorProto:
    """The message that holds a value.

    Args:
        values: A number, string, array, or nested lists of them; a message is returned as it is.
        dtype: The dtype to have; by default the value's natural one.
        shape: The shape to have, if it is another than the value's: the last value is repeated.
        verify_shape: Whether the value must have that shape.
        allow_broadcast: Whether only one value may be repeated.

    Raises:
        TypeError: the value has another dtype or shape, or is a tensor of a graph.
        ValueError: there are more values than the shape has, or there is no value at all.
    """
    if isinstance(values, TensorProto):
        return values
    if isinstance(values, SymbolicTensor):
        raise DTypeError("Expected any non-tensor type, got a tensor instead.")
    if values is None:
        raise ArgumentError("None values not supported.")
    array, found = _as_array(values, None if dtype is None else as_dtype(dtype))
    if shape is None:
        return values_to_proto(array, found, array.shape)
    sizes = tuple(int(size) for size in TensorShape(shape).as_list())  # type: ignore[arg-type]
    _check_sizes(array, sizes, as_bool(verify_shape, "verify_shape"), as_bool(allow_broadcast, "allow_broadcast"))
    return values_to_proto(array, found, sizes)


def _as_array(values: ArrayLike, dtype: DType | None) -> tuple[Array, DType]:
    if isinstance(values, EagerTensor):
        values = values.numpy()
    if isinstance(values, (np.ndarray, np.generic)) and dtype is not None and values.dtype.kind not in "OSU":
        return np.asarray(values).astype(dtype.as_numpy_dtype), dtype
    return to_array(values, dtype)


def _check_sizes(array: Array, sizes: tuple[int, ...], verify: bool, broadcast: bool) -> None:
    count = math.prod(sizes)
    if (verify and array.shape != sizes) or (broadcast and array.size not in (1, count)):
        raise DTypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    if array.size > count:
        raise ArgumentError(
            f"Too many elements provided. Takes at most {count}, but got {array.size}: {shown(array.tolist())}."
        )


@export("make_ndarray")
def make_ndarray(tensor: TensorProto) -> Array:
    """The array that a message holds.

    Raises:
        TypeError: it holds none.
    """
    if not all(hasattr(tensor, field) for field in ("dtype", "tensor_shape", "tensor_content")):  # TensorBoard's too
        raise DTypeError(f"make_ndarray() takes a TensorProto, got {shown(tensor)}.")
    return array_from_proto(tensor)[0]


__all__ = ["make_ndarray", "make_tensor_proto"]
