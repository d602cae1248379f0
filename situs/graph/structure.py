"""Structures of tensors: nested lists, tuples, named tuples and dictionaries, taken apart and put together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from situs.errors import DTypeError


def flatten(structure: Any) -> list[Any]:
    """The leaves of a structure, in order; dictionaries by their sorted keys."""
    if isinstance(structure, dict):
        return [leaf for key in _keys(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """A structure of the same form, with other leaves."""
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        packed = {key: _pack(structure[key], leaves) for key in _keys(structure)}
        return type(structure)((key, packed[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        items = [_pack(item, leaves) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return next(leaves)


def same_structure(a: Any, b: Any, what: str) -> None:
    """Raises unless two structures have the same form.

    Raises:
        TypeError: they have not.
    """
    if form_of(a) != form_of(b):
        raise DTypeError(f"{what} must have the same structure: {form_of(a)} is not {form_of(b)}.")


def form_of(structure: Any) -> Any:
    """The form of a structure as a comparable, printable value: ``*`` stands for a leaf."""
    if isinstance(structure, dict):
        return {key: form_of(structure[key]) for key in _keys(structure)}
    if isinstance(structure, (list, tuple)):
        return [form_of(item) for item in structure]
    return None if structure is None else "*"


def _keys(structure: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        return list(structure)
