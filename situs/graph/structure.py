"""Structures of tensors: nested lists, tuples, named tuples and dictionaries, taken apart and put together.

Whoever goes down into lists that a program gave counts the levels with `deeper`, and so comes to an end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView, MutableMapping
from copy import copy
from typing import Any

from situs.errors import DTypeError, InvalidArgumentError, shown

MAX_DEPTH = 64


def deeper(depth: int) -> int:
    """The next level of nested lists.

    Raises:
        InvalidArgumentError: it is too deep for anything but a list that contains itself.
    """
    if depth >= MAX_DEPTH:
        raise InvalidArgumentError(
            f"Expected nested lists of tensors, got a list that contains itself, or is nested more than {MAX_DEPTH} "
            "levels deep."
        )
    return depth + 1


def listed(values: Any, what: str) -> list[Any]:
    """The items of a list, or of anything else that has items.

    Raises:
        DTypeError: it has none.
    """
    try:
        items = iter(values)
    except TypeError:
        raise DTypeError(f"Expected a list of {what}, got {shown(values)} of type {type(values).__name__!r}.") from None
    return list(items)  # a generator of the program may raise errors of its own


def flatten(structure: Any, depth: int = 0) -> list[Any]:
    """The leaves of a structure, in order; dictionaries by their sorted keys."""
    if isinstance(structure, dict):
        structure = [structure[key] for key in _keys(structure)]
    if not isinstance(structure, (list, tuple)):
        if not isinstance(structure, MappingView):
            return [structure]
        structure = list(structure)  # type: ignore[call-overload]
    below = deeper(depth)
    return [leaf for item in structure for leaf in flatten(item, below)]


def pack_like(structure: Any, leaves: list[Any]) -> Any:
    """A structure of the same form, with other leaves."""
    return _pack(structure, iter(leaves))


def _pack(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        packed = {key: _pack(structure[key], leaves) for key in _keys(structure)}
        return mapping_like(structure, packed)
    if isinstance(structure, (list, tuple)):
        items = [_pack(item, leaves) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    return next(leaves)


def mapping_like(structure: Mapping[Any, Any], items: Mapping[Any, Any]) -> Any:
    """A mapping of the same kind, with its keys in the same order, and other items."""
    pairs = [(key, items[key]) for key in structure]
    if not isinstance(structure, MutableMapping):
        return type(structure)(dict(pairs))  # type: ignore[call-arg]
    # The constructors of defaultdict and Counter do not take pairs; a copy of what is no dict may share its items.
    made = copy(structure) if isinstance(structure, dict) else type(structure)()
    for key, item in pairs:
        made[key] = item
    return made


def _keys(structure: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(structure)
    except TypeError:
        return list(structure)
