"""Attributes: numbers, strings and flags that a program passes to an op, as plain Python values.

They may be NumPy or tensor scalars, and symbolic tensors whose value is static, such as constants. Anything else is
rejected here, with the name of the argument.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.tensor import Tensor, read
from situs._src.base.tree import deeper
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.binding import PLAIN, host_value
from situs._src.runtime.symbolic.fold import constant_value

NUMBERS = (int, float, np.integer, np.floating)


def plain(value: object, name: str, depth: int = 0) -> Any:
    """A host value that must be known when the op is called: how many results there are depends on it, or which op.

    Raises:
        InvalidArgumentError: the value is a tensor of a graph and not known before it runs.
    """
    if type(value) is list and PLAIN.issuperset(map(type, value)):
        return tuple(value)
    value = read(value)
    if isinstance(value, SymbolicTensor):
        found = constant_value(value)
        if found is None:
            raise ArgumentError(
                f"{name} must be known when the graph is built, got the symbolic {value!r}. Give a Python value, or a "
                "tensor that constants lead to."
            )
        return found
    if isinstance(value, (list, tuple)) and any(isinstance(read(item), SymbolicTensor) for item in value):
        below = deeper(depth)
        return tuple(plain(item, name, below) for item in value)
    return host_value(value)


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether a host value, or every entry of it, is known when the op is called."""
    value = read(value)
    if isinstance(value, SymbolicTensor):
        return constant_value(value) is not None
    if not isinstance(value, (list, tuple)):
        return True
    below = deeper(depth)
    return all(is_plain(item, below) for item in value)


def as_int(value: object, name: str) -> int:
    """An integer, such as an axis.

    Raises:
        DTypeError: the value is not an integer.
    """
    if type(value) is int:
        return value
    try:
        return operator.index(_folded(value))
    except TypeError:
        raise _refusal("int", value, name) from None


def as_float(value: object, name: str) -> float:
    """A number, as a float.

    Raises:
        DTypeError: the value is not a number, or a tensor: attributes are not computed.
    """
    value = _folded(value)
    if not isinstance(value, NUMBERS):
        raise _refusal("float", value, name)
    try:
        return float(value)
    except OverflowError:
        raise _refusal("float", value, name) from None


def as_bool(value: object, name: str) -> bool:
    """A switch; None stands for off, and a number must be 0 or 1.

    Raises:
        DTypeError: the value is neither true nor false.
    """
    if value is True or value is False:
        return value
    value = _folded(value)
    if isinstance(value, SymbolicTensor):
        raise _refusal("bool", value, name)
    if isinstance(value, Tensor) and value.dtype.is_bool and value.ndim == 0:
        return bool(value)
    if value is not None and (not isinstance(value, (int, np.integer, np.bool_)) or value not in (0, 1)):
        raise _refusal("bool", value, name)
    return bool(value)


def as_word(value: object, name: str) -> str:
    """A word, such as a data format.

    Raises:
        DTypeError: the value is not a string.
    """
    if not isinstance(value, str):
        raise _refusal("string", value, name)
    return value


def as_name(name: Any, default: str) -> str:
    """The name for an operation, or the default where the program gave none.

    Raises:
        DTypeError: the value is not a string.
    """
    return default if name is None else as_word(name, "name") or default


def _folded(value: object) -> Any:
    """The value of a graph's constant; anything else as it is."""
    found = constant_value(value) if isinstance(value, SymbolicTensor) else None
    return value if found is None else found


def _refusal(wanted: str, value: object, name: str) -> DTypeError:
    return DTypeError(f"Expected {wanted} for argument '{name}' not {shown(value)}.")
