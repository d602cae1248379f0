"""Functions of Situs that call their function arguments while the graph is built: ``tf.map_fn``.

AutoGraph converts those arguments too, like the functions that converted code calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__takes_functions__"


def calls_functions(function: F) -> F:
    """Marks a function as calling its function arguments."""
    setattr(function, _MARK, True)
    return function


def takes_functions(function: Any) -> bool:
    """Whether a function is marked by `calls_functions`."""
    return hasattr(function, _MARK)
