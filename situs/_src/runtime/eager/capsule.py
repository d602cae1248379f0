"""Reading DLPack capsules: detects negative strides.

PyTorch aborts the process, past all exception handlers, on memory with negative strides. So a capsule is inspected
before it is handed over; its layout is fixed by the DLPack standard.
"""

from __future__ import annotations

import ctypes
from typing import Any


class _Tensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``, down to the tensor."""

    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_LAYOUTS = {b"dltensor": _Tensor, b"dltensor_versioned": _Versioned}  # the older struct starts with the tensor

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def runs_backwards(capsule: Any) -> bool:
    """Whether the memory in a DLPack capsule has a negative stride; False for any other capsule."""
    for name, layout in _LAYOUTS.items():
        if _is_valid(capsule, name):
            found: Any = ctypes.cast(_pointer(capsule, name), ctypes.POINTER(layout)).contents
            tensor = found.tensor if layout is _Versioned else found
            return bool(tensor.strides) and any(tensor.strides[i] < 0 for i in range(tensor.ndim))
    return False
