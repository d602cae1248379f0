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

from situs.dtype import DType, as_dtype
from situs.proto.enums import EnumType
from situs.proto.field import Nested, RepeatedNested, RepeatedScalar, Scalar
from situs.proto.kind import BOOL, BYTES, DOUBLE, FLOAT, INT32, INT64, STRING, UINT32, UINT64
from situs.proto.message import Message
from situs.shapes import TensorShape

_NUMBERS = {
    "DT_INVALID": 0,
    "DT_FLOAT": 1,
    "DT_DOUBLE": 2,
    "DT_INT32": 3,
    "DT_UINT8": 4,
    "DT_INT16": 5,
    "DT_INT8": 6,
    "DT_STRING": 7,
    "DT_COMPLEX64": 8,
    "DT_INT64": 9,
    "DT_BOOL": 10,
    "DT_QINT8": 11,
    "DT_QUINT8": 12,
    "DT_QINT32": 13,
    "DT_BFLOAT16": 14,
    "DT_QINT16": 15,
    "DT_QUINT16": 16,
    "DT_UINT16": 17,
    "DT_COMPLEX128": 18,
    "DT_HALF": 19,
    "DT_RESOURCE": 20,
    "DT_VARIANT": 21,
    "DT_UINT32": 22,
    "DT_UINT64": 23,
    "DT_FLOAT8_E5M2": 24,
    "DT_FLOAT8_E4M3FN": 25,
    "DT_FLOAT8_E4M3FNUZ": 26,
    "DT_FLOAT8_E4M3B11FNUZ": 27,
    "DT_FLOAT8_E5M2FNUZ": 28,
    "DT_INT4": 29,
    "DT_UINT4": 30,
    "DT_INT2": 31,
    "DT_UINT2": 32,
    "DT_FLOAT4_E2M1FN": 33,
}
_REFERENCE = 100  # the dtype of a reference to a tensor has the number of the tensor's plus this

DataType = EnumType(
    "DataType", **_NUMBERS, **{f"{name}_REF": number + _REFERENCE for name, number in _NUMBERS.items() if number}
)


class TensorShapeProto(Message):
    """The shape of a tensor, possibly partial."""

    class Dim(Message):
        """One dimension; -1 when its size is not known."""

        size = Scalar(1, INT64)
        name = Scalar(2, STRING)

    dim = RepeatedNested(2, Dim)
    unknown_rank = Scalar(3, BOOL)


class TensorProto(Message):
    """A tensor with its values, as raw bytes or as a list by dtype."""

    dtype = Scalar(1, DataType)
    tensor_shape = Nested(2, TensorShapeProto)
    version_number = Scalar(3, INT32)
    tensor_content = Scalar(4, BYTES)
    half_val = RepeatedScalar(13, INT32)
    float_val = RepeatedScalar(5, FLOAT)
    double_val = RepeatedScalar(6, DOUBLE)
    int_val = RepeatedScalar(7, INT32)
    string_val = RepeatedScalar(8, BYTES)
    scomplex_val = RepeatedScalar(9, FLOAT)
    int64_val = RepeatedScalar(10, INT64)
    bool_val = RepeatedScalar(11, BOOL)
    dcomplex_val = RepeatedScalar(12, DOUBLE)
    uint32_val = RepeatedScalar(16, UINT32)
    uint64_val = RepeatedScalar(17, UINT64)
    float8_val = Scalar(18, BYTES)


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
