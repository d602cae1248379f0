"""Hooks that converted code calls for symbolic tensors; `tracing` and `situs.data` install them.

Conversion itself does not depend on ops. Until `install` is called nothing is symbolic, so converted code runs as plain
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
    """The functions that converted code calls for symbolic tensors.

    Attributes:
        is_symbolic: whether a value is a symbolic tensor.
        cond: ``cond(pred, true_fn, false_fn)``: both functions return lists of the same length; returns a list.
        while_loop: ``while_loop(cond_fn, body_fn, loop_vars)``: functions of ``*loop_vars``; returns a list.
        logical_and: ``logical_and(x, y)``, elementwise; likewise the next two.
        logical_or: ``logical_or(x, y)``.
        logical_not: ``logical_not(x)``.
        length: the number of rows of a tensor, as a scalar tensor.
        element: ``element(tensor, index)``: one row.
        walk: how a loop of the graph iterates over something that has no rows, such as a dataset: an object with the
            functions ``more`` and ``element``; None for everything that Python iterates over.
        range_: ``range`` with a symbolic argument, as a tensor; empty, as in Python, when it would run backwards.
        number: ``number(value, kind)``: ``int(value)`` or ``float(value)`` in the graph.
        assertion: ``assertion(condition, message)``: an assertion in the graph.
        blanks: ``blanks(function)``: calls a function of a number in a graph that never runs, and returns zeros like
        its
            results.
        carries: whether ``cond`` and ``while_loop`` can return a value, converted to a tensor if necessary.
        convert: converts a function that converted code is about to call.
        convert_requested: converts a function that a library passes to be traced.
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
    number: Callable[[Any, type], Any]
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
    """Installs the named hooks, keeps the others, and returns the previous set.

    Raises:
        InvalidArgumentError: there is no hook of that name.
    """
    global current
    if unknown := sorted(set(functions) - set(_NAMES)):
        raise ArgumentError(f"There is no hook {unknown}; the hooks are {_NAMES}.")
    before, current = current, replace(current, **functions)
    return before


def listed(made: object, count: int) -> list[Any]:
    """The `count` results of an op as a list, whether it returns a list, a single tensor, or nothing."""
    if count == 0:
        return []
    return list(made) if isinstance(made, list | tuple) else [made]


def restore(hooks: Hooks) -> None:
    """Restores a set of hooks that `install` returned."""
    global current
    current = hooks
