"""``arg_scope``: default arguments of functions.

with arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(0.01)):
    with arg_scope([conv2d], stride=2) as inner:
        conv2d(x, 8, 3)                                 with both
with arg_scope(inner):                                  the same once more
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import AS_IS

Scope = dict[Any, dict[str, Any]]


class _Current(threading.local):
    def __init__(self) -> None:
        self.scope: Scope = {}


_current = _Current()


def add_arg_scope(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets `arg_scope` give arguments to a function."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**_current.scope.get(call, {}), **kwargs})

    AS_IS.add(call)  # the scope knows this very function
    setattr(call, "_takes_arg_scope", True)  # noqa: B010 - functions have no such attribute for type checkers
    return call


def has_arg_scope(function: Any) -> bool:
    """Whether `arg_scope` can give arguments to a function."""
    return hasattr(function, "_takes_arg_scope")


def current_arg_scope() -> Scope:
    """The arguments that are given here, by function."""
    return _current.scope


@contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """A context in which functions get arguments that calls do not give.

    Args:
        list_ops_or_scope: A list of functions that `add_arg_scope` was applied to; or what an `arg_scope` gave, to have
            that one again.
        kwargs: The arguments.
    """
    before = _current.scope
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ArgumentError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        made = {function: dict(given) for function, given in list_ops_or_scope.items()}
    else:
        if not isinstance(list_ops_or_scope, (list, tuple)):
            raise DTypeError(
                f"arg_scope takes a list of functions, or what another arg_scope gave; got {shown(list_ops_or_scope)}."
            )
        made = dict(before)
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ArgumentError(f"{shown(function)} is not decorated with @add_arg_scope")
            made[function] = {**made.get(function, {}), **kwargs}
    _current.scope = made
    try:
        yield made
    finally:
        _current.scope = before
