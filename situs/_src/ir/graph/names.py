"""Names of operations: unique in a graph, nested by name scopes.

    constant, constant                  -> Const, Const_1
    with name_scope("tower"): constant  -> tower/Const

Names that differ only in case count as the same, as in TensorFlow, because they become file names.
"""

from __future__ import annotations

import re

from situs._src.base.errors import ArgumentError, DTypeError

_VALID = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*\Z")
_VALID_INSIDE = re.compile(r"[A-Za-z0-9_.\\/>-]*\Z")
_INVALID = re.compile(r"[^A-Za-z0-9_.\\/>-]")


class Names:
    """The names that are taken in one graph."""

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}

    def unique(self, name: str, mark: bool = True) -> str:
        """The name itself, or with the first number as a suffix that makes it unique.

        Args:
            name: The name wanted, with its scopes.
            mark: Whether the name is taken from now on.
        """
        key = name.lower()
        uses = self._uses.get(key, 0)
        if mark:
            self._uses[key] = uses + 1
        if uses == 0:
            return name
        while (numbered := f"{key}_{uses}") in self._uses:
            uses += 1
        if mark:
            self._uses[key] = uses + 1
            self._uses[numbered] = 1
        return f"{name}_{uses}"

    def take(self, name: str) -> None:
        """Marks a name as used."""
        self._uses.setdefault(name.lower(), 1)


def check_node_name(name: str, nested: bool = False) -> None:
    """Raises unless this can be the name of an operation, at the top or inside a scope.

    Raises:
        InvalidArgumentError: it cannot.
    """
    check_is_text(name, "node")
    if not name or not (_VALID_INSIDE if nested else _VALID).match(name):
        raise ArgumentError(
            f"'{name}' is not a valid node name. Names begin with a letter, a digit or '.', and go on with these, '_', "
            "'-', '/' or '\\'."
        )


def as_node_name(name: str) -> str:
    """A name that an operation can have, for what may have any, such as a variable in eager code.

    Example:
        >>> as_node_name("cross entropy/total"), as_node_name("_v"), as_node_name("a/b")
        ('cross_entropy/total', '._v', 'a/b')
    """
    name = _INVALID.sub("_", name)
    return name if _VALID.match(name) else f".{name}"


def check_scope_name(name: str, nested: bool) -> None:
    """Raises unless this can be the name of a scope, at the top or inside another.

    Raises:
        InvalidArgumentError: it cannot.
    """
    check_is_text(name, "scope")
    if not (_VALID_INSIDE if nested else _VALID).match(name):
        raise ArgumentError(
            f"'{name}' is not a valid scope name. Names begin with a letter, a digit or '.', and go on with these, "
            "'_', '-', '/' or '\\'."
        )


def check_is_text(name: object, what: str) -> None:
    """Raises unless this is a string.

    Raises:
        DTypeError: it is something else.
    """
    if not isinstance(name, str):
        raise DTypeError(f"The name of a {what} is a string, got {name!r} of type {type(name).__name__}.")
