"""Attributes: numbers, words and switches that a program passes to an op, as plain Python values.

They may come as NumPy or tensor scalars. What is no such value is refused here, by the name of the argument.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from situs.errors import DTypeError

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
        raise DTypeError(f"Expected int for argument '{name}' not {value!r}.") from None


def as_float(value: Any, name: str) -> float:
    """A number, as a float.

    Raises:
        DTypeError: the value is no number, or a tensor: attributes are not computed.
    """
    if not isinstance(value, NUMBERS):
        raise DTypeError(f"Expected float for argument '{name}' not {value!r}.")
    return float(value)


def as_bool(value: Any, name: str) -> bool:
    """A switch; None stands for off.

    Raises:
        DTypeError: the value is neither true nor false.
    """
    if value is not None and not isinstance(value, (bool, int, np.bool_)):
        raise DTypeError(f"Expected bool for argument '{name}' not {value!r}.")
    return bool(value)


def as_word(value: Any, name: str) -> str:
    """A word, such as a data format.

    Raises:
        DTypeError: the value is no string.
    """
    if not isinstance(value, str):
        raise DTypeError(f"Expected string for argument '{name}' not {value!r}.")
    return value
