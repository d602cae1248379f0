"""Dtypes, shapes and values of tensors as messages.

    >>> shape_to_proto(TensorShape([2, None]))
    dim {
      size: 2
    }
    dim {
      size: -1
    }
    <BLANKLINE>

An unknown dimension is -1; an unknown rank is its own flag, because no dimensions mean a scalar.
"""

from __future__ import annotations

from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DataType

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.proto.own import documented
from situs._src.base.shapes import TensorShape

documented(TensorProto, "A tensor with its values, as raw bytes or as a list by dtype.")
documented(TensorShapeProto, "The shape of a tensor, possibly partial.")

_REFERENCE = 100  # the dtype of a reference to a tensor has the number of the tensor's plus this


def shape_to_proto(shape: TensorShape) -> TensorShapeProto:
    """The message for a shape."""
    if shape.rank is None:
        return TensorShapeProto(unknown_rank=True)
    return TensorShapeProto(dim=[{"size": -1 if dim is None else dim} for dim in shape.as_list()])


def shape_from_proto(message: TensorShapeProto) -> TensorShape:
    """The shape a message describes."""
    if message.unknown_rank:
        return TensorShape(None)
    return TensorShape([None if dim.size < 0 else dim.size for dim in message.dim])


def dtype_from_proto(number: int) -> DType:
    """The dtype with a number of `DataType`; of a reference, what it refers to."""
    return as_dtype(number - _REFERENCE if number > _REFERENCE else number)


__all__ = ["DataType", "TensorProto", "TensorShapeProto", "dtype_from_proto", "shape_from_proto", "shape_to_proto"]
