"""Attributes of operations as ``AttrValue`` messages, and back.

    transpose_a=False                 b: false
    shape=TensorShape([2, None])      shape { dim { size: 2 } dim { size: -1 } }
    strides=(1, 2, 2, 1)              list { i: 1 i: 2 i: 2 i: 1 }
    epsilon=0.001                     f: 0.001

A field is used only if it represents the value exactly. Floats in messages are float32 and are read as the shortest
decimal that rounds to them; values that do not survive that, and nested tuples, are written as JSON under ``_value:``
and the name.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError
from situs._src.base.proto.graph import AttrValue
from situs._src.base.proto.tensor import dtype_from_proto, shape_from_proto, shape_to_proto
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.array_proto import array_from_proto, array_to_proto
from situs._src.ir.graph.plain import dumps, loads
from situs._src.ir.graph.tensor import SymbolicTensor

PLAIN = "_value:"  # the attribute of this name holds its value as JSON


def written_attr(name: str, value: object, default: object) -> tuple[str, AttrValue] | None:
    """An attribute as an entry of the ``attr`` map of a node; None for a None that is the default: it is omitted.

    Raises:
        NotPlainError: the value is a Python object that cannot be serialized.
    """
    if value is None and default is None:
        return None
    field = _field_of(value)
    if field is None or (isinstance(value, bytes) and not isinstance(default, bytes)):
        return f"{PLAIN}{name}", AttrValue(s=dumps(value).encode())
    if isinstance(value, (tuple, list)):
        return name, attr_list(field, [_as_field(field, item) for item in value])
    return name, AttrValue(**{field: _as_field(field, value)})


def attr_list(field: str, items: list[Any]) -> AttrValue:
    """An attribute that is a list of values of one field."""
    return AttrValue(list=AttrValue.ListValue(**{field: items}))


def _field_of(value: object) -> str | None:
    """The field that represents a value exactly; for a tuple, the field of its elements; None if there is none."""
    if isinstance(value, (tuple, list)):
        fields = {_field_of(item) for item in value}
        nested = any(isinstance(item, (tuple, list, bytes)) for item in value)
        return None if nested or len(fields) > 1 else fields.pop() if fields else "i"
    if isinstance(value, (bool, np.bool_)):
        return "b"
    if isinstance(value, (int, np.integer)):
        return "i" if -(2**63) <= value < 2**63 else None
    if isinstance(value, (float, np.floating)):
        return "f" if _same(float(value), _shortest(_to_single(float(value)))) else None
    if isinstance(value, str):
        return "s" if _encodes(value) else None
    for kind, field in ((bytes, "s"), (DType, "type"), (TensorShape, "shape"), (np.ndarray, "tensor")):
        if isinstance(value, kind):
            return field
    return "tensor" if hasattr(value, "numpy") and not isinstance(value, SymbolicTensor) else None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _same(a: float, b: float) -> bool:
    return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (a != a and b != b)


def _shortest(single: float) -> float:
    """The shortest decimal that rounds to this float32."""
    return float(str(np.float32(single)))


def _to_single(value: float) -> float:
    """The nearest float32; infinity when it is too large for one."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _as_field(field: str, value: Any) -> Any:
    if field == "s":
        return value.encode() if isinstance(value, str) else value
    if field == "type":
        return value.as_datatype_enum
    if field == "shape":
        return shape_to_proto(value)
    if field == "tensor":
        return array_to_proto(value, as_dtype(value.dtype))
    return value.item() if isinstance(value, np.generic) else value


def read_attr(message: AttrValue, default: object = None) -> Any:
    """The value of an attribute.

    Args:
        message: The message.
        default: The op's default, which distinguishes bytes from text and a list from a tuple.

    Raises:
        InvalidArgumentError: the message has no value that could be read.
    """
    field = message.WhichOneof("value")
    if field == "list":
        listed = [_from_field(f.name, item, default) for f, items in message.list.ListFields() for item in items]
        return listed if isinstance(default, list) else tuple(listed)
    if field is None or field in ("placeholder", "func"):
        said = f"stands for {message.placeholder}" if message.placeholder else "has no value"
        raise ArgumentError(f"it {said}, which cannot be read back")
    return _from_field(field, getattr(message, field), default)


def read_plain(message: AttrValue) -> Any:
    """The value of an attribute that was written as JSON."""
    return loads(message.s)


def _from_field(field: str, value: Any, default: Any) -> Any:
    if field == "s":
        return value if isinstance(default, bytes) else _text(value)
    if field == "f":
        return _shortest(value)
    if field == "type":
        return dtype_from_proto(value)
    if field == "shape":
        return shape_from_proto(value)
    return array_from_proto(value)[0] if field == "tensor" else value


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
