"""The plans inside the function of a branch, a loop or a call, run in another way.

`situs.execution.control` makes one function of the graphs that an operation holds. It asks for the truth of scalars,
calls the emitted code of their plans, and copies what a loop ends with. Here the same function is made once more, with
something else in the place of that code and of those copies:

    loop = with_plans(call.function, lambda plan: lambda run, *values: ..., lambda copy: copy)
    loop(run, *values)      # the turns as always; each calls the lambda inside
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from situs.execution import failure
from situs.execution.plan import Plan

Function = Callable[..., Any]


def with_plans(
    function: Function, make: Callable[[Plan], Function], copying: Callable[[Function], Function]
) -> Function | None:
    """A function with the plans inside it run as `make` says, and with its copies as `copying` says.

    Returns:
        The function; None if there are no plans inside.
    """
    remade = _Remade(make, copying)
    made = remade.function(function)
    return made if remade.found else None


class _Remade:
    """Makes functions again, with other contents in their closures."""

    def __init__(self, make: Callable[[Plan], Function], copying: Callable[[Function], Function]) -> None:
        self.found = False
        self._make = make
        self._copying = copying
        self._seen: set[int] = set()

    def function(self, old: FunctionType | Any) -> Any:
        """The function again, if there is a plan in it; everything else as it is."""
        if not isinstance(old, FunctionType) or id(old) in self._seen:
            return old
        self._seen.add(id(old))
        known = failure._plans.get(id(old.__code__))
        if known is not None:
            self.found = True
            return self._make(known[0])
        cells = tuple(map(self._cell, old.__closure__ or ()))
        if all(new is cell for new, cell in zip(cells, old.__closure__ or (), strict=True)):
            return old
        return FunctionType(old.__code__, old.__globals__, old.__name__, old.__defaults__, cells)

    def _cell(self, cell: CellType) -> CellType:
        try:
            content: Any = cell.cell_contents
        except ValueError:  # nothing is in it
            return cell
        if isinstance(content, list) and any(map(callable, content)):
            return CellType([self._copying(copy) if callable(copy) else copy for copy in content])
        made = self.function(content)
        return cell if made is content else CellType(made)
