"""The graphs of one function, by the signature that they were traced for.

    find(float32[3, 4])      the graph traced for float32[3, 4]; else for float32[3, None], float32[None, None]

A graph traced for fully known shapes is found with one lookup. The others are found by their
patterns of unknown dimensions, of which a program has few: each pattern is applied to the shapes of a call, and the
result is looked up. So a call costs the same whether there are two graphs or thousands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from situs._src.base.shapes import TensorShape
from situs._src.tracing.kind import Kind
from situs._src.tracing.spec import TensorSpec

if TYPE_CHECKING:
    from situs._src.tracing.concrete import ConcreteFunction

# For each tensor, which dimensions are unknown; None if the rank is.
Pattern = tuple[tuple[bool, ...] | None, ...]
Family = tuple[Any, ...]


class Traces:
    """Graphs by kind."""

    __slots__ = ("_by_kind", "_common", "_patterns")

    def __init__(self) -> None:
        self._by_kind: dict[Kind, ConcreteFunction] = {}
        self._patterns: dict[Family, dict[Pattern, None]] = {}  # with unknown dimensions
        self._common: dict[Family, Kind] = {}  # the most specific kind that serves all of a family

    def __iter__(self) -> Iterator[ConcreteFunction]:
        return iter(list(self._by_kind.values()))

    def get(self, kind: Kind) -> ConcreteFunction | None:
        """The graph traced for exactly this kind."""
        return self._by_kind.get(kind)

    def serving(self, kind: Kind) -> ConcreteFunction | None:
        """The graph traced for the most specific kind that includes this one."""
        best = kind if kind in self._by_kind else None
        for pattern in self._patterns.get(_family(kind), ()):
            wider = _opened(kind, pattern)
            if wider in self._by_kind and (best is None or best.accepts(wider)):
                best = wider
        return None if best is None else self._by_kind[best]

    def common(self, kind: Kind) -> Kind:
        """The most specific kind that serves this one and all others that differ from it only in shapes."""
        other = self._common.get(_family(kind))
        return kind if other is None else kind.widened(other)

    def add(self, kind: Kind, made: ConcreteFunction) -> None:
        """Adds a graph."""
        self._by_kind[kind] = made
        family = _family(kind)
        self._common[family] = self.common(kind)
        pattern = tuple([_left_open(spec.shape) for spec in kind.specs])
        if any(dims is None or True in dims for dims in pattern):
            self._patterns.setdefault(family, {})[pattern] = None


def _family(kind: Kind) -> Family:
    """A key that is equal for kinds that differ only in shapes."""
    return (kind.form, *[spec.dtype for spec in kind.specs])


def _left_open(shape: TensorShape) -> tuple[bool, ...] | None:
    return None if shape.rank is None else tuple([dim is None for dim in shape.as_list()])


def _opened(kind: Kind, pattern: Pattern) -> Kind | None:
    """The kind with the unknown dimensions of a pattern; None if the ranks differ."""
    specs = []
    for spec, open_dims in zip(kind.specs, pattern, strict=True):
        if open_dims is None:
            specs.append(TensorSpec(None, spec.dtype))
        elif spec.shape.rank != len(open_dims):
            return None
        else:
            sizes = zip(spec.shape.as_list(), open_dims, strict=True)
            specs.append(TensorSpec([None if is_open else size for size, is_open in sizes], spec.dtype))
    return Kind(kind.form, specs)
