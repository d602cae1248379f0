"""Bytes as numbers: ``tf.io.decode_raw``.

>>> import situs as tf
>>> tf.io.decode_raw(b"\\x01\\x02\\x03\\x04", tf.int16).numpy().tolist()
[513, 1027]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, IntLike
from situs._src.ops.array import as_attribute
from situs._src.ops.attribute import as_bool
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.ops.spelling import renamed
from situs._src.runtime.eager.bridge import TORCH_DTYPE

_TYPES = frozenset(
    {dt.float16, dt.float32, dt.float64, dt.bfloat16, dt.int8, dt.int16, dt.int32, dt.int64}
    | {dt.uint8, dt.uint16, dt.complex64, dt.complex128, dt.bool}
)
_UNKNOWN_SIZE = TensorShape([None])
_decode = op("DecodeRaw", "bytes: string -> output: out_type", out_type=_TYPES, little_endian=True)
_padded = op(
    "DecodePaddedRaw", "input_bytes: string -> output: out_type", out_type=_TYPES, little_endian=True, fixed_length=0
)


@_decode.shape
def _decode_shape(bytes: TensorShape, *, little_endian: bool) -> TensorShape:
    return UNKNOWN if bytes.rank is None else bytes + _UNKNOWN_SIZE


@_padded.shape
def _padded_shape(input_bytes: TensorShape, *, little_endian: bool, fixed_length: int) -> TensorShape:
    return UNKNOWN if input_bytes.rank is None else input_bytes + _UNKNOWN_SIZE


@_decode.kernel(CPU)
def _decode_kernel(bytes: KernelValue, *, out_type: DType, little_endian: bool) -> torch.Tensor:
    items = bytes.ravel().tolist()
    size = len(items[0]) if items else 0
    for number, item in enumerate(items):
        if len(item) != size:
            raise ArgumentError(
                f"DecodeRaw requires input strings to all be the same size, but element {number} has size {size} != "
                f"{len(item)}"
            )
    if size % out_type.size:
        raise ArgumentError(
            f"Input to DecodeRaw has length {size} that is not a multiple of {out_type.size}, the size of "
            f"{out_type.name}"
        )
    return _numbers(b"".join(items), out_type, little_endian).reshape(*bytes.shape, size // out_type.size)


@_padded.kernel(CPU)
def _padded_kernel(input_bytes: Any, *, out_type: DType, little_endian: bool, fixed_length: int) -> torch.Tensor:
    if fixed_length <= 0 or fixed_length % out_type.size:
        raise ArgumentError(
            f"fixed_length ({fixed_length}) must be greater than zero, and a multiple of the size of out_type "
            f"({out_type.size})"
        )
    items = [item[:fixed_length].ljust(fixed_length, b"\0") for item in input_bytes.ravel()]
    return _numbers(b"".join(items), out_type, little_endian).reshape(*input_bytes.shape, fixed_length // out_type.size)


def _numbers(data: bytes, dtype: DType, little_endian: bool) -> torch.Tensor:
    if not data:
        return torch.empty(0, dtype=TORCH_DTYPE[dtype])
    part = dtype.size // 2 if dtype.is_complex else dtype.size
    array = np.frombuffer(data, f"u{part}").copy()
    if not little_endian and part > 1:
        array = array.byteswap()
    if dtype is dt.bool:
        return torch.from_numpy(array != 0)
    return torch.frombuffer(array.data, dtype=TORCH_DTYPE[dtype])


@export("io.decode_raw", v1=())
def decode_raw(
    input_bytes: ArrayLike,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The numbers that strings of bytes are made of; the last dimension has those of one string.

    Args:
        input_bytes: Strings, all of one length.
        out_type: The dtype of the numbers.
        little_endian: Whether the lowest byte of a number comes first.
        fixed_length: How many bytes to take of each string, with zeros added to one that is shorter.
        name: A name for the op.

    Raises:
        InvalidArgumentError: the strings are of different lengths, or end within a number.
    """
    ways: dict[str, Any] = {"little_endian": as_bool(little_endian, "little_endian")}
    if fixed_length is None:
        return _decode(input_bytes, out_type=dt.as_dtype(out_type), **ways, name=name)
    length = as_attribute(fixed_length, "fixed_length")
    return _padded(input_bytes, out_type=dt.as_dtype(out_type), fixed_length=length, **ways, name=name)


@export(v1=("decode_raw", "io.decode_raw"))
def decode_raw_v1(
    input_bytes: ArrayLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """The same with TensorFlow 1's arguments: `bytes` is another name for `input_bytes`."""
    return decode_raw(
        renamed("input_bytes", input_bytes, "bytes", bytes, required=True), out_type, little_endian, name=name
    )
