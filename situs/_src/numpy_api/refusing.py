"""What NumPy's rules refuse, as Situs' errors: the functions of a module are wrapped at its end.

tnp.arange("a")      a TypeError of NumPy's, inside          DTypeError, which is a TypeError
tnp.swapaxes(1, 0)   an IndexError                           InvalidArgumentError, which is a ValueError
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, SitusError

_REFUSED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def refuse_by_our_errors(module: dict[str, Any]) -> None:
    """Wraps the public functions that a module defines.

    Args:
        module: Its globals.
    """
    for name, value in list(module.items()):
        if isinstance(value, FunctionType) and value.__module__ == module["__name__"] and not name.startswith("_"):
            module[name] = _refusing(value)


def _refusing(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def refusing(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SitusError:
            raise
        except _REFUSED as error:
            kind = DTypeError if isinstance(error, TypeError) else ArgumentError
            raise kind(f"{function.__name__}: {error}") from error

    return refusing
