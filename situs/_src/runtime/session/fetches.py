"""Fetches of ``run``, and the results in the same structure.

run(a)                      -> a value
run([a, b]), run((a, b))    -> a list, a tuple of values; named tuples and nesting as well
run({"loss": a})            -> a dictionary; any other mapping as well
run(operation)              -> None
run("a:0")                  -> by name
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.tensor import Tensor
from situs._src.base.tree import put_together, take_apart
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor


class _Place(NamedTuple):
    """The position of an element's value in the results."""

    number: int


_MISSING = _Place(-1)  # a missing part of slices


def _has_parts(fetch: object) -> bool:
    """Whether a fetch consists of several tensors, as slices do."""
    return hasattr(type(fetch), "__fetched__")


class Fetches:
    """The tensors and operations of a structure, each once, and how to build the structure of values."""

    def __init__(self, graph: Graph, structure: Any) -> None:
        self._graph = graph
        self._numbers: dict[Any, int] = {}
        self._form = take_apart(structure, self._kept, _has_parts)[0]
        self.elements = list(self._numbers)
        self.tensors = [element for element in self.elements if isinstance(element, SymbolicTensor)]
        self.operations = [element for element in self.elements if isinstance(element, Operation)]

    def answer(self, values: Sequence[Any]) -> Any:
        """The structure, with values for tensors and None for operations."""
        by_tensor = iter(values)
        found = [next(by_tensor) if isinstance(e, SymbolicTensor) else None for e in self.elements]
        return put_together(self._form, (), lambda place: None if place is _MISSING else found[place.number])

    # The elements of the structure.

    def _kept(self, leaf: Any) -> Any:
        if _has_parts(leaf):
            return take_apart(leaf.__fetched__(), self._kept_part)[0]
        return _Place(self._number(leaf))

    def _kept_part(self, part: Any) -> _Place | Tensor:
        return _MISSING if part is None else self._kept(part)

    def _number(self, fetch: object) -> int:
        element = self._element(fetch)
        if not self._graph.is_fetchable(element):
            name = element.op.name if isinstance(element, SymbolicTensor) else element.name
            raise ArgumentError(
                f"Operation {name} has been marked as not fetchable: what a branch or a loop computes can be had only "
                "as one of its results."
            )
        return self._numbers.setdefault(element, len(self._numbers))

    def _element(self, fetch: object) -> Any:
        if fetch is None:
            raise DTypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
        try:
            return self._graph.as_graph_element(fetch)
        except DTypeError as error:
            raise DTypeError(
                f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a string or Tensor. '
                f"({error.message})"
            ) from None
        except (InvalidArgumentError, KeyError) as error:
            message = getattr(error, "message", str(error))
            reason = f'"{message}"' if isinstance(error, KeyError) else message
            raise ArgumentError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({reason})") from None
