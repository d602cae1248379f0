"""Attributes that are objects of higher layers: how they are serialized with a graph, and rebuilt.

    MakeIterator, dataset=<Map>      attr { key: "_object:dataset:dataset" value { s: "{...}" } }
                                     attr { key: "_functions:dataset" value { list { func { name: "..." } } } }

A layer registers how its objects are written and read. An object is serialized as text and graphs of functions, which
become functions of the library; tensors that it depends on are inputs of its operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError

OBJECT = "_object:"
FUNCTIONS = "_functions:"

Place = Callable[[Any], int]  # from a tensor to its index among the inputs of the operation


class Kind(NamedTuple):
    """A kind of object.

    Attributes:
        of: The class of the objects.
        name: What the kind is called.
        describe: Returns text and graphs for an object.
        read: Rebuilds an object from text, graphs, and the inputs of the operation.
    """

    of: type
    name: str
    describe: Callable[[Any, Place], tuple[str, list[Any]]]
    read: Callable[[bytes, Sequence[Any], Sequence[Any]], Any]


_kinds: dict[str, Kind] = {}


def install(
    of: type,
    name: str,
    describe: Callable[[Any, Place], tuple[str, list[Any]]],
    read: Callable[..., Any],
) -> None:
    """Registers a class of objects as attributes that can be serialized."""
    _kinds[name] = Kind(of, name, describe, read)


def kind_of(value: object) -> Kind | None:
    """The kind of an object; None for values that are plain attributes."""
    return next((kind for kind in _kinds.values() if isinstance(value, kind.of)), None)


def kind_named(name: str) -> Kind:
    """The kind with a name.

    Raises:
        InvalidArgumentError: there is none.
    """
    if name not in _kinds:
        raise ArgumentError(f"it is an object of the unknown kind {name!r}")
    return _kinds[name]
