"""Functions of Situs that call functions which a program gives them, while the graph is built: ``tf.map_fn``.

Converted code converts those functions too, as it does with what it calls itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__takes_functions__"


def calls_functions(function: F) -> F:
    """Says of a function that it calls functions it is given."""
    setattr(function, _MARK, True)
    return function


def takes_functions(function: Any) -> bool:
    """Whether `calls_functions` said so."""
    return hasattr(function, _MARK)
