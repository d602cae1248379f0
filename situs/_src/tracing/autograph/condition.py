"""Checks of conditions, and their location in the user's code.

The tensor of a condition must be a bool scalar; anything else that is truthy in Python is an error with the line:

    check_condition(t, "if statement", "train.py:12")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.tensor import is_tensor
from situs._src.tracing.autograph.state import Values

Thunk = Callable[[], Any]
Getter = Callable[[], Values]
Setter = Callable[[Values], None]
Names = tuple[str, ...]


def check_condition(condition: Any, what: str, where: str) -> None:
    """Raises unless a tensor can be a condition.

    Raises:
        InvalidArgumentError: it is not a bool, or not a scalar.
    """
    if not is_tensor(condition):
        return
    is_bool, is_scalar = condition.dtype.name == "bool", condition.shape.rank in (None, 0)
    if is_bool and is_scalar:
        return
    cast = "" if is_bool else "; to use as boolean Tensor, use `tf.cast`"
    raise ArgumentError(
        f"condition of {what} expected to be `tf.bool` scalar, got {condition}{cast}; to check for None, use "
        f"`is not None` ({where})."
    )


def where_of(function: Callable[..., Any]) -> str:
    """The file and line of a piece of converted code."""
    code = function.__code__
    return f"{PurePath(code.co_filename).name}:{code.co_firstlineno}"
