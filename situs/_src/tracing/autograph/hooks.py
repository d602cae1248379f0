"""What converted code calls where it meets a symbolic tensor: functions that `tracing` and `situs.data` install.

Conversion itself knows no ops. Until `install` is called nothing is symbolic, so that converted code runs as plain
Python:

    install(is_symbolic=..., cond=..., while_loop=..., length=..., element=...)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.tensor import is_tensor


@dataclass(frozen=True)
class Hooks:
    """The functions that converted code calls when it meets a symbolic tensor.

    Attributes:
        is_symbolic: whether a value is a tensor of a graph, whose value is not known yet.
        cond: ``cond(pred, true_fn, false_fn)``: both functions give lists of the same length; a list comes back.
        while_loop: ``while_loop(cond_fn, body_fn, loop_vars)``: functions of ``*loop_vars``; a list comes back.
        logical_and: ``logical_and(x, y)``, elementwise; so with the next two.
        logical_or: ``logical_or(x, y)``.
        logical_not: ``logical_not(x)``.
        length: the number of rows of a tensor, as a scalar tensor.
        element: ``element(tensor, index)``: one row.
        walk: how a loop of the graph goes through something that has no rows, such as a dataset: an object with the
            functions ``more`` and ``element``; None for everything that Python iterates.
        range_: ``range`` with a symbolic argument, as a tensor; empty, as in Python, when it would run backwards.
        assertion: ``assertion(condition, message)``: an assertion that is part of the graph.
        blanks: ``blanks(function)``: calls a function of a number in a graph that never runs, and gives zeros like its
            results.
        carries: whether ``cond`` and ``while_loop`` can give a value back, turning it into a tensor if need be.
        convert: converts a function that converted code is about to call.
        convert_requested: converts a function of a library that has it traced.
    """

    is_symbolic: Callable[[Any], bool]
    cond: Callable[[Any, Callable[[], list[Any]], Callable[[], list[Any]]], Sequence[Any]]
    while_loop: Callable[[Callable[..., Any], Callable[..., list[Any]], list[Any]], Sequence[Any]]
    logical_and: Callable[[Any, Any], Any]
    logical_or: Callable[[Any, Any], Any]
    logical_not: Callable[[Any], Any]
    length: Callable[[Any], Any]
    element: Callable[[Any, Any], Any]
    walk: Callable[[Any], Any]
    range_: Callable[..., Any]
    assertion: Callable[[Any, Any], None]
    blanks: Callable[[Callable[[Any], list[Any]]], list[Any]]
    carries: Callable[[Any], bool]
    convert: Callable[[Any], Any]
    convert_requested: Callable[[Any], Any]


def _never(value: object) -> bool:
    return False


def _unchanged(function: Any) -> Any:
    return function


def _no_walk(iterated: object) -> Any:
    return None


def _is_carried(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex, str, bytes)) or is_tensor(value) or hasattr(value, "__array__")


def _missing(name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        raise UnimplementedError(f"A tensor met Python control flow that needs {name!r}, which is not installed.")

    return call


_NAMES = [item.name for item in fields(Hooks)]
current = replace(
    Hooks(**{name: _missing(name) for name in _NAMES}),
    is_symbolic=_never,
    walk=_no_walk,
    carries=_is_carried,
    convert=_unchanged,
    convert_requested=_unchanged,
)


def install(**functions: Callable[..., Any]) -> Hooks:
    """Installs the named hooks, leaves the others, and returns the set that was there before.

    Raises:
        InvalidArgumentError: there is no hook of that name.
    """
    global current
    if unknown := sorted(set(functions) - set(_NAMES)):
        raise ArgumentError(f"There is no hook {unknown}; the hooks are {_NAMES}.")
    before, current = current, replace(current, **functions)
    return before


def listed(made: object, count: int) -> list[Any]:
    """The `count` results of an op, however it gives them: a list, a lone tensor, or nothing worth having."""
    if count == 0:
        return []
    return list(made) if isinstance(made, list | tuple) else [made]


def restore(hooks: Hooks) -> None:
    """Puts a set of hooks back that `install` returned."""
    global current
    current = hooks
