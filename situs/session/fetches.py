"""What ``run`` is asked for, and the answer in the same form.

run(a)                      -> a value
run([a, b]), run((a, b))    -> a list, a tuple of values; named tuples and nesting as well
run({"loss": a})            -> a dictionary
run(operation)              -> None
run("a:0")                  -> by name
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor

Rebuild = Callable[[Sequence[Any]], Any]


class Fetches:
    """The tensors and operations behind a structure, each once, and how to build the structure of values."""

    def __init__(self, graph: Graph, structure: Any) -> None:
        self._graph = graph
        self._numbers: dict[Any, int] = {}
        self.rebuild = self._reader(structure)
        self.elements = list(self._numbers)
        self.tensors = [element for element in self.elements if isinstance(element, SymbolicTensor)]
        self.operations = [element for element in self.elements if isinstance(element, Operation)]

    def answer(self, values: Sequence[Any]) -> Any:
        """The structure, with the values of the tensors in place of them and None for operations."""
        by_tensor = iter(values)
        return self.rebuild([next(by_tensor) if isinstance(e, SymbolicTensor) else None for e in self.elements])

    def _reader(self, structure: Any) -> Rebuild:
        if isinstance(structure, (list, tuple)):
            return self._sequence(structure)
        if isinstance(structure, dict):
            keys, readers = list(structure), [self._reader(item) for item in structure.values()]
            kind = type(structure)
            return lambda values: kind((key, read(values)) for key, read in zip(keys, readers, strict=True))
        number = self._number(structure)
        return lambda values: values[number]

    def _sequence(self, structure: Any) -> Rebuild:
        readers = [self._reader(item) for item in structure]
        if hasattr(structure, "_fields"):  # a named tuple
            kind = type(structure)
            return lambda values: kind(*(read(values) for read in readers))
        if isinstance(structure, tuple):
            return lambda values: tuple(read(values) for read in readers)
        return lambda values: [read(values) for read in readers]

    def _number(self, fetch: Any) -> int:
        element = self._element(fetch)
        return self._numbers.setdefault(element, len(self._numbers))

    def _element(self, fetch: Any) -> Any:
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
            raise InvalidArgumentError(
                f'Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ("{message}")'
                if isinstance(fetch, str)
                else f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({message})"
            ) from None
