"""Attributes that are objects of the layers above: how they are written down with a graph, and made again.

    MakeIterator, dataset=<Map>      attr { key: "_object:dataset:dataset" value { s: "{...}" } }
                                     attr { key: "_functions:dataset" value { list { func { name: "..." } } } }

A layer installs what writes and reads its objects. An object is text, and graphs of functions, which become functions
of the library; tensors that it depends on are inputs of the operation that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError

OBJECT = "_object:"
FUNCTIONS = "_functions:"

Place = Callable[[Any], int]  # from a tensor to its place among the inputs of the operation


class Kind(NamedTuple):
    """A kind of object.

    Attributes:
        of: The class of the objects.
        name: What the kind is called.
        describe: Gives text and graphs for an object.
        read: Makes an object of text, graphs, and the inputs of the operation.
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
    """Lets objects of a class be attributes of graphs that are written down."""
    _kinds[name] = Kind(of, name, describe, read)


def kind_of(value: object) -> Kind | None:
    """The kind of an object; None for values that are attributes as they are."""
    return next((kind for kind in _kinds.values() if isinstance(value, kind.of)), None)


def kind_named(name: str) -> Kind:
    """The kind of a name.

    Raises:
        InvalidArgumentError: there is none.
    """
    if name not in _kinds:
        raise ArgumentError(f"it is an object of the unknown kind {name!r}")
    return _kinds[name]
