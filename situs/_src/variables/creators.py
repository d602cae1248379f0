"""``tf.variable_creator_scope``: a user function that intercepts the creation of variables.

    def on_cpu(next_creator, **kwargs):
        with tf.device("/cpu:0"):
            return next_creator(**kwargs)

    with tf.variable_creator_scope(on_cpu):
        v = tf.Variable(1.0)                     made by on_cpu; scopes further in are asked first

`Created` is the metaclass of both kinds of variable. Without an open scope it does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export

Creator = Callable[..., Any]


class _Opened(threading.local):
    def __init__(self) -> None:
        self.creators: tuple[Creator, ...] = ()  # the innermost last


_opened = _Opened()


class Created(type):
    """The metaclass of variables: a call of the class asks the creators first."""

    arguments: tuple[str, ...]  # the names of what the class takes, in order

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """A variable, or what the creators make of the wish for one."""
        if not _opened.creators:
            return super().__call__(*args, **kwargs)
        given = dict.fromkeys(cls.arguments) | dict(zip(cls.arguments, args, strict=False)) | kwargs
        create: Creator = partial(_made, super().__call__)
        for creator in _opened.creators:
            create = partial(creator, create)
        return create(**given)


def _made(make: Creator, **kwargs: Any) -> Any:
    """The variable itself, made outside of all creators: it may make others, for instance of another kind."""
    before, _opened.creators = _opened.creators, ()
    try:
        return make(**{name: value for name, value in kwargs.items() if value is not None})
    finally:
        _opened.creators = before


@export("variable_creator_scope")
@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """A context in which a function makes the variables.

    Args:
        variable_creator: Called with the next creator, and with the arguments of ``tf.Variable`` by keyword; it returns
            the variable, which ``next_creator(**kwargs)`` makes.
    """
    if not callable(variable_creator):
        raise DTypeError(f"A variable creator is a function, got {shown(variable_creator)}.")
    before = _opened.creators
    _opened.creators = (*before, variable_creator)
    try:
        yield
    finally:
        _opened.creators = before
