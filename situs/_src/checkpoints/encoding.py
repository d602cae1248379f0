"""Values as bytes and back.

Numbers are stored in row-major order. Complex numbers are pairs of real ones: not every reader of safetensors supports
them. Strings are stored as their end offsets, and then their bytes:

    ["a", "bcd"]      0 1 4 (each in 8 bytes)  a b c d
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import DataLossError, InvalidArgumentError, ResourceExhaustedError, shown
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Value

PIECE = 8 * 2**20  # bytes that are read, written or brought from a GPU at a time

_NAMES: dict[DType, str] = {
    dt.bool: "BOOL",
    dt.int8: "I8",
    dt.int16: "I16",
    dt.int32: "I32",
    dt.int64: "I64",
    dt.uint8: "U8",
    dt.uint16: "U16",
    dt.uint32: "U32",
    dt.uint64: "U64",
    dt.float16: "F16",
    dt.bfloat16: "BF16",
    dt.float32: "F32",
    dt.float64: "F64",
}


def stored_as(dtype: DType, shape: Sequence[int], size: int) -> tuple[str, list[int]]:
    """The dtype and the shape by which a safetensors file describes a value of so many bytes."""
    if dtype is dt.string:
        return "U8", [size]
    if dtype.is_complex:
        return _NAMES[dtype.real_dtype], [*shape, 2]
    return _NAMES[dtype], list(shape)


def alignment(dtype: DType) -> int:
    """The size of the numbers that a value is made of; values with larger ones come first in a file."""
    return 8 if dtype is dt.string else dtype.real_dtype.size


# To bytes.


def size_of(value: Value) -> int:
    """How many bytes a value takes."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    return int(8 * (value.size + 1) + sum(len(text) for text in value.flat))


def pieces(value: Value) -> Iterator[memoryview]:
    """The bytes of a value, a few megabytes at a time; what lies on a GPU is never on the host as a whole."""
    if not isinstance(value, torch.Tensor):
        yield memoryview(_packed(value))
        return
    if not value.numel():
        return  # tensors of NumPy's empty arrays have strides that cannot be viewed
    if not value.is_contiguous() or value.is_conj() or value.is_neg():
        value = value.cpu()  # putting it in order takes memory, of which a GPU may have none left
    flat = value.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
    for begin in range(0, len(flat), PIECE):
        yield _view(flat[begin : begin + PIECE].cpu())


def _view(content: torch.Tensor) -> memoryview:
    return memoryview(content.numpy())  # type: ignore[arg-type]  # arrays have buffers, only not for the type checker


def _packed(strings: np.ndarray[Any, Any]) -> bytes:
    texts = [bytes(text) for text in strings.flat]
    ends = np.cumsum([0, *map(len, texts)], dtype="<i8")
    return ends.tobytes() + b"".join(texts)


# From bytes.


class Vessel:
    """Memory for a value that is about to be read: fill `view`, then take `value`."""

    def __init__(self, dtype: DType, shape: tuple[int, ...], size: int, name: str) -> None:
        self._dtype, self._shape, self._name = dtype, shape, shown(name, 300)
        numbers = (torch.uint8, (size,)) if dtype is dt.string else (TORCH_DTYPE[dtype], shape)
        try:
            self._tensor = torch.empty(numbers[1], dtype=numbers[0])
        except (RuntimeError, MemoryError) as error:
            raise _refused(error, self._name, shape, size) from None
        self._bytes = self._tensor.reshape(-1).view(torch.uint8)
        self.view = _view(self._bytes)

    def value(self) -> Value:
        """The value, now that its bytes are there.

        Raises:
            DataLossError: they are not bytes of such a value.
        """
        if self._dtype is dt.string:
            return _unpacked(self._bytes.numpy(), self._shape, self._name)
        if self._dtype is dt.bool and len(self._bytes) and int(self._bytes.max()) > 1:
            raise DataLossError(f"Variable {self._name} is bool, and the checkpoint has bytes that are neither.")
        return self._tensor


def _refused(error: Exception, name: str, shape: tuple[int, ...], size: int) -> Exception:
    if isinstance(error, MemoryError) or "alloc" in str(error):
        return ResourceExhaustedError(f"OOM when reading {name} from a checkpoint: it takes {size} bytes.")
    return InvalidArgumentError(f"{name} has a shape that no tensor can have, {shown(list(shape))}: {error}")


def _unpacked(content: np.ndarray[Any, Any], shape: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    count = math.prod(shape)
    ends = content[: 8 * (count + 1)].view("<i8")
    payload = content[8 * (count + 1) :].tobytes()
    if ends[0] != 0 or ends[-1] != len(payload) or (np.diff(ends) < 0).any():
        raise DataLossError(f"The strings of {name} do not end where the checkpoint says that they do.")
    bounds = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return strings_of([payload[begin:end] for begin, end in bounds], shape, name)


def strings_of(texts: Sequence[bytes], shape: tuple[int, ...], name: str) -> np.ndarray[Any, Any]:
    """Strings as kernels have them."""
    strings = np.empty(len(texts), dtype=object)
    strings[:] = texts
    try:
        return strings.reshape(shape)
    except ValueError as error:  # NumPy has at most 64 dimensions
        raise _refused(error, name, shape, sum(map(len, texts))) from None
