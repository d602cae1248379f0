"""Attributes: numbers, words and switches that a program passes to an op, as plain Python values.

They may come as NumPy or tensor scalars. What is no such value is refused here, by the name of the argument.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from situs.eager.convert import short
from situs.errors import DTypeError
from situs.tensor import Tensor

NUMBERS = (int, float, np.integer, np.floating)


def as_int(value: Any, name: str) -> int:
    """An integer, such as an axis.

    Raises:
        DTypeError: the value is no integer.
    """
    if type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise _refusal("int", value, name) from None


def as_float(value: Any, name: str) -> float:
    """A number, as a float.

    Raises:
        DTypeError: the value is no number, or a tensor: attributes are not computed.
    """
    if not isinstance(value, NUMBERS):
        raise _refusal("float", value, name)
    try:
        return float(value)
    except OverflowError:
        raise _refusal("float", value, name) from None


def as_bool(value: Any, name: str) -> bool:
    """A switch; None stands for off, and a number must be 0 or 1.

    Raises:
        DTypeError: the value is neither true nor false.
    """
    if value is True or value is False:
        return value
    if isinstance(value, Tensor) and value.dtype.is_bool and value.ndim == 0:
        return bool(value)
    if value is not None and (not isinstance(value, (int, np.integer, np.bool_)) or value not in (0, 1)):
        raise _refusal("bool", value, name)
    return bool(value)


def as_word(value: Any, name: str) -> str:
    """A word, such as a data format.

    Raises:
        DTypeError: the value is no string.
    """
    if not isinstance(value, str):
        raise _refusal("string", value, name)
    return value


def _refusal(wanted: str, value: Any, name: str) -> DTypeError:
    return DTypeError(f"Expected {wanted} for argument '{name}' not {short(value)}.")
