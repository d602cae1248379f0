"""The collections of a graph: named lists of arbitrary objects.

>>> import situs.compat.v1 as tf
>>> with tf.Graph().as_default():
...     tf.add_to_collection("losses", 0.5)
...     tf.get_collection("losses")
[0.5]
"""

from __future__ import annotations

import re
from typing import Any

from situs._src.base import locks
from situs._src.base.errors import DTypeError, shown
from situs._src.base.tree import listed


class Collections:
    """The collections of a graph; a base class of `Graph`."""

    def __init__(self) -> None:
        self._lock = locks.rlock()
        self._collections: dict[Any, list[Any]] = {}

    def _check_open(self) -> None:
        """Raises if the graph may not change any more."""

    def add_to_collection(self, name: Any, value: object) -> None:
        """Appends a value to the collection of that name."""
        self._check_open()
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: object, value: object) -> None:
        """Appends a value to several collections, once to each."""
        for name in [names] if isinstance(names, str) else dict.fromkeys(map(as_key, listed(names, "collections"))):
            self.add_to_collection(name, value)

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with `scope`, the items whose names begin with this pattern."""
        items = list(self._collections.get(as_key(name), ()))
        if scope is None:
            return items
        pattern = _as_pattern(scope)
        names = [getattr(item, "name", None) for item in items]
        return [item for item, text in zip(items, names, strict=True) if isinstance(text, str) and pattern.match(text)]

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself: modifying the list modifies the graph."""
        with self._lock:
            return self._collections.setdefault(as_key(name), [])

    def get_all_collection_keys(self) -> list[Any]:
        """The names of all collections that programs use."""
        return [key for key in self._collections if not (isinstance(key, str) and key.startswith("__"))]

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return self.get_all_collection_keys()

    def clear_collection(self, name: Any) -> None:
        """Empties a collection."""
        self._check_open()
        self._collections.pop(as_key(name), None)


def as_key(value: object, what: str = "The name of a collection is a string, or anything that can be a key") -> Any:
    """Checks that a value is hashable, and returns it.

    Raises:
        TypeError: it is not; `what` says what is expected.
    """
    try:
        hash(value)
    except TypeError:
        raise DTypeError(f"{what}; got {shown(value)}.") from None
    return value


def _as_pattern(scope: Any) -> re.Pattern[str]:
    try:
        return re.compile(scope)
    except (TypeError, re.error) as error:
        raise DTypeError(f"A scope to look for is a regular expression; {shown(scope)} is not: {error}.") from None
