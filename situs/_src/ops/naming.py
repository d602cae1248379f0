"""Names of operations of functions that consist of several ops.

A function that is one op gives it the user's name. One that is several ops puts them into a name scope, and
its last op, whose result it returns, is named after the scope:

    tf.random_normal([2], 1.0, 2.0, name="r")       r/RandomStandardNormal   r/mul   r
"""

from __future__ import annotations

from typing import Any

from situs._src.base.devices.scope import here


class Composed:
    """A context for the ops of one function; it gives the name of the last one. In eager code it does nothing.

    Args:
        name: The user's name; None if there is none.
        default: The name of the scope if the user gave none.
        last: The last op's name in that scope, where TensorFlow has one; by default it is named after the scope.
    """

    __slots__ = ("_default", "_last", "_name", "_scope")

    def __init__(self, name: str | None, default: str, last: str | None = None) -> None:
        self._name = name
        self._default = default
        self._last = last

    def __enter__(self) -> str | None:
        graph = here.graph
        if graph is None:
            self._scope: Any = None
            return self._name
        self._scope = graph.name_scope(self._default if self._name is None else self._name)
        scope: str = self._scope.__enter__()
        return scope if self._last is None or self._name is not None else self._last

    def __exit__(self, *failure: Any) -> None:
        if self._scope is not None:
            self._scope.__exit__(*failure)
