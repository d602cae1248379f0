"""The functions that converted code calls: control flow and logic that check their condition first.

    ag__.and_(a, lambda: b)       a is True:                 b
                                  a is a symbolic tensor:    an op that runs b only if a is true

Each operator is plain Python unless it gets a symbolic tensor. Converted code sees this module as ``ag__``; the
statements are in `branch` and `loop`.
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import OperatorNotAllowedInGraphError
from situs._src.tracing.autograph import hooks
from situs._src.tracing.autograph.branch import if_exp, if_stmt
from situs._src.tracing.autograph.calls import converted
from situs._src.tracing.autograph.condition import Thunk, check_condition, where_of
from situs._src.tracing.autograph.loop import for_stmt, while_stmt
from situs._src.tracing.autograph.state import is_undefined, read

__all__ = [
    "and_",
    "asserted",
    "converted",
    "decided",
    "for_stmt",
    "if_exp",
    "if_stmt",
    "is_undefined",
    "not_",
    "or_",
    "read",
    "while_stmt",
]


def and_(first: object, *rest: Thunk, free: bool = False) -> Any:
    """``first and rest[0]() and ...``; `free` operands need no branch in a graph."""
    if not rest:
        return first
    if not hooks.current.is_symbolic(first):
        return and_(rest[0](), *rest[1:], free=free) if first else first
    if free:
        return hooks.current.logical_and(first, and_(rest[0](), *rest[1:], free=True))
    check_condition(first, "and", where_of(rest[0]))
    return hooks.listed(hooks.current.cond(first, lambda: [and_(rest[0](), *rest[1:])], lambda: [first]), 1)[0]


def or_(first: object, *rest: Thunk, free: bool = False) -> Any:
    """``first or rest[0]() or ...``; `free` operands need no branch in a graph."""
    if not rest:
        return first
    if not hooks.current.is_symbolic(first):
        return first if first else or_(rest[0](), *rest[1:], free=free)
    if free:
        return hooks.current.logical_or(first, or_(rest[0](), *rest[1:], free=True))
    check_condition(first, "or", where_of(rest[0]))
    return hooks.listed(hooks.current.cond(first, lambda: [first], lambda: [or_(rest[0](), *rest[1:])]), 1)[0]


def not_(value: object) -> Any:
    """``not value``."""
    return hooks.current.logical_not(value) if hooks.current.is_symbolic(value) else not value


def asserted(condition: object, message: Thunk) -> Any:
    """The condition of an ``assert`` statement; a symbolic one becomes an assertion in the graph."""
    if not hooks.current.is_symbolic(condition):
        return condition
    hooks.current.assertion(condition, message())
    return True


_INSTEAD = {
    ":=": "under `and`, `or`, `if ... else` or a chained comparison inside of a comprehension, a lambda or an f-string "
    "cannot become part of the graph. Assign the name in a statement of its own before, or write a `for` loop.",
    "match": "compares in Python, while tracing. Write `if` and `elif` statements, which become part of the graph.",
}


def decided(value: object, what: str) -> Any:
    """A value that Python has to decide on, because the syntax around it (``:=``, ``match``) cannot be converted.

    Raises:
        OperatorNotAllowedInGraphError: it is a symbolic tensor, which has no value yet.
    """
    if hooks.current.is_symbolic(value):
        raise OperatorNotAllowedInGraphError(f"`{what}` on the symbolic tensor {value}: `{what}` {_INSTEAD[what]}")
    return value
