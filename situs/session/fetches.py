"""What ``run`` is asked for, and the answer in the same form.

run(a)                      -> a value
run([a, b]), run((a, b))    -> a list, a tuple of values; named tuples and nesting as well
run({"loss": a})            -> a dictionary
run(operation)              -> None
run("a:0")                  -> by name
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.structure import deeper
from situs.graph.tensor import SymbolicTensor

Rebuild = Callable[[Sequence[Any]], Any]


def form_of(structure: Any, depth: int = 0) -> Any:
    """The structure as a key: equal for structures whose answers are equal in form and content.

    Raises:
        TypeError: there is none, because the structure holds more than its items.
        InvalidArgumentError: there is none, because the structure contains itself.
    """
    kind = type(structure)
    if kind is SymbolicTensor:
        return structure
    if issubclass(kind, (list, tuple)):
        below = deeper(depth)
        return (kind, *[form_of(item, below) for item in structure])
    if issubclass(kind, Mapping):
        if kind not in (dict, OrderedDict):
            raise TypeError
        below = deeper(depth)
        return (kind, *[(key, form_of(item, below)) for key, item in structure.items()])
    return structure


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

    # Structures.

    def _reader(self, structure: Any, depth: int = 0) -> Rebuild:
        if isinstance(structure, (list, tuple)):
            return self._sequence(structure, deeper(depth))
        if isinstance(structure, Mapping):
            return self._mapping(structure, deeper(depth))
        if hasattr(type(structure), "__fetched__"):  # slices, of which there is more than one tensor
            return self._parts(structure.__fetched__(), deeper(depth))
        number = self._number(structure)
        return lambda values: values[number]

    def _sequence(self, structure: Any, depth: int) -> Rebuild:
        readers = [self._reader(item, depth) for item in structure]
        kind = type(structure)
        if kind is tuple:
            return lambda values: tuple([read(values) for read in readers])
        if hasattr(structure, "_fields"):  # a named tuple
            return lambda values: _made(kind, *(read(values) for read in readers))
        if isinstance(structure, tuple):
            return lambda values: _made(kind, [read(values) for read in readers])
        return lambda values: [read(values) for read in readers]

    def _parts(self, structure: Any, depth: int) -> Rebuild:
        """What stands for more than one tensor, of which some may be missing."""
        readers = [None if part is None else self._reader(part, depth) for part in structure]
        kind = type(structure)
        return lambda values: kind(*[None if read is None else read(values) for read in readers])

    def _mapping(self, structure: Mapping[Any, Any], depth: int) -> Rebuild:
        keys, readers = list(structure), [self._reader(item, depth) for item in structure.values()]
        empty: Callable[[], Any] = type(structure) if isinstance(structure, dict) else dict
        if isinstance(structure, defaultdict):
            factory = structure.default_factory
            empty = lambda: defaultdict(factory)  # noqa: E731

        def rebuild(values: Sequence[Any]) -> Any:
            made = _made(empty)
            made.update((key, read(values)) for key, read in zip(keys, readers, strict=True))
            return made

        return rebuild

    # What stands in them.

    def _number(self, fetch: Any) -> int:
        element = self._element(fetch)
        if not self._graph.is_fetchable(element):
            name = element.op.name if isinstance(element, SymbolicTensor) else element.name
            raise InvalidArgumentError(
                f"Operation {name} has been marked as not fetchable: what a branch or a loop computes can be had only "
                "as one of its results."
            )
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
            reason = f'"{message}"' if isinstance(error, KeyError) else message
            raise InvalidArgumentError(
                f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({reason})"
            ) from None


def _made(kind: Callable[..., Any], *items: Any) -> Any:
    """An answer of a class of the program's."""
    try:
        return kind(*items)
    except TypeError as error:
        raise DTypeError(
            f"The fetches are a {getattr(kind, '__name__', kind)}, which cannot be made of the values ({error}). Fetch "
            "a list, a tuple, a named tuple or a dictionary."
        ) from None
