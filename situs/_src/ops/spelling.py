"""Arguments that have had two names: TensorFlow 1's old one and the new one beside it."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError


def renamed(new_name: str, new: object, old_name: str, old: object, required: bool = False) -> Any:
    """The argument that was given, of two names for it.

    Raises:
        ValueError: both were given, or neither of a required one.
    """
    if new is not None and old is not None:
        raise ArgumentError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    if required and new is None and old is None:
        raise ArgumentError(f"Give '{new_name}', or '{old_name}', its old name.")
    return old if new is None else new
