"""Tensors as strings of bytes and back: ``tf.io.serialize_tensor``, ``tf.io.parse_tensor``.

The bytes are those of a ``TensorProto`` message, as TensorFlow writes and reads them.

    >>> import situs as tf
    >>> text = tf.io.serialize_tensor([[1, 2], [3, 4]])
    >>> tf.io.parse_tensor(text, tf.int32).numpy().tolist()
    [[1, 2], [3, 4]]
"""

from __future__ import annotations

import numpy as np

from situs._src.base.dtype import NUMERIC, DType, as_dtype, bool, string
from situs._src.base.errors import InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.proto.tensor import TensorProto
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike
from situs._src.ir.graph.array_proto import array_from_proto, content_to_proto
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.runtime.eager.convert import host_to_value
from situs._src.runtime.eager.tensor import to_numpy_value

_serialize = op("SerializeTensor", "tensor: any -> serialized: string")
_parse = op("ParseTensor", "serialized: string -> output: out_type", out_type=NUMERIC | {bool, string})


@_serialize.shape
def _serialize_shape(tensor: TensorShape) -> TensorShape:
    return SCALAR


@_serialize.kernel(CPU)
def _serialize_kernel(tensor: KernelValue) -> KernelValue:
    array = to_numpy_value(tensor)
    made = np.empty((), dtype=object)
    made[()] = content_to_proto(array, as_dtype(array.dtype)).SerializeToString()
    return made


@_parse.shape
def _parse_shape(serialized: TensorShape) -> TensorShape:
    return UNKNOWN


@_parse.kernel(CPU)
def _parse_kernel(serialized: KernelValue, *, out_type: DType) -> KernelValue:
    if serialized.ndim:
        raise InvalidArgumentError(
            f"Expected `serialized` to be a scalar, got shape: {brackets(serialized.shape)}. Parse one string at a "
            "time: tf.map_fn, or Dataset.map before batch."
        )
    try:
        array, dtype = array_from_proto(TensorProto.FromString(serialized.item()))
    except Exception as error:  # whatever the reader of messages raises for bytes that are none
        raise InvalidArgumentError(
            "Could not parse `serialized` as TensorProto: it is not what tf.io.serialize_tensor makes."
        ) from error
    if dtype is not out_type:
        raise InvalidArgumentError(
            f"Type mismatch between parsed tensor ({dtype.name}) and dtype ({out_type.name}): parse it as the dtype "
            "that it was written with."
        )
    made: KernelValue = host_to_value(array, dtype)
    return made


@export("io.serialize_tensor", v1=("serialize_tensor", "io.serialize_tensor"))
def serialize_tensor(tensor: ArrayLike, name: str | None = None) -> Tensor:
    """A tensor as a string: the bytes of its ``TensorProto``.

    Args:
        tensor: A tensor of any dtype and shape.
        name: A name for the op.

    Example:
        >>> import situs as tf
        >>> tf.io.serialize_tensor(tf.constant([1, 2], tf.int8)).numpy()
        b'\\x08\\x06\\x12\\x04\\x12\\x02\\x08\\x02"\\x02\\x01\\x02'
    """
    return _serialize(tensor, name=name)


@export("io.parse_tensor", v1=("parse_tensor", "io.parse_tensor"))
def parse_tensor(serialized: ArrayLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that a string was made of.

    Args:
        serialized: A scalar string, of ``tf.io.serialize_tensor``.
        out_type: The dtype of the tensor.
        name: A name for the op.

    Raises:
        InvalidArgumentError: it is no such string, or one of another dtype.
    """
    return _parse(serialized, out_type=as_dtype(out_type), name=name)
