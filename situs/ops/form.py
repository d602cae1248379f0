"""Forms: structures of lists, tuples and dictionaries without what stands in them.

    take_apart([x, {"b": y, "a": None}])   ->   form, [x, y]
    put_together(form, [1, 2])             ->   [1, {"b": 2, "a": None}]
    str(form)                              ->   [*, {a: None, b: *}]

Forms are compared with ``==`` and can be keys. Tensors are taken from dictionaries in the order of the sorted keys,
as in TensorFlow; a dictionary that is put together has its own order again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from situs.graph.structure import deeper


class Leaf:
    """Where something was taken out."""

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()
composites: set[type] = set()  # classes whose ``__components__()`` are the arguments that make an object again


class Form:
    """A list, tuple or dictionary of forms."""

    __slots__ = ("_hash", "items", "keys", "kind", "order")

    def __init__(self, kind: type, items: tuple[Any, ...], keys: tuple[Any, ...] = (), order: Any = ()) -> None:
        self.kind = kind
        self.items = items
        self.keys = keys  # of a dictionary, in the order of the items
        self.order = order  # of a dictionary, as the program had it
        self._hash = hash((kind, items, keys))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Form) and (self.kind, self.items, self.keys) == (other.kind, other.items, other.keys)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        inside = [str(item) for item in self.items]
        if issubclass(self.kind, dict):
            return "{" + ", ".join(f"{key}: {item}" for key, item in zip(self.keys, inside, strict=True)) + "}"
        if self.kind in composites:
            return f"{self.kind.__name__}({', '.join(inside)})"
        if issubclass(self.kind, tuple):
            return f"{self.kind.__name__.replace('tuple', '')}({', '.join(inside)}{',' * (len(inside) == 1)})"
        return f"[{', '.join(inside)}]"

    __repr__ = __str__


Keep = Callable[[Any], Any]


def take_apart(structure: Any, keep: Keep | None = None) -> tuple[Any, list[Any]]:
    """The form of a structure, and what stands in it.

    Args:
        structure: Nested lists, tuples, named tuples and dictionaries of anything.
        keep: Says what to put into the form in the place of something; `LEAF` takes it out. By default everything
            but None is taken out.
    """
    leaves: list[Any] = []
    return _taken(structure, leaves, _keep_none if keep is None else keep), leaves


def _keep_none(value: Any) -> Any:
    return None if value is None else LEAF


def _taken(structure: Any, leaves: list[Any], keep: Keep, depth: int = 0) -> Any:
    if isinstance(structure, (list, tuple)):
        below = deeper(depth)
        return Form(type(structure), tuple([_taken(item, leaves, keep, below) for item in structure]))
    if isinstance(structure, dict):
        keys, below = _sorted(structure), deeper(depth)
        kind = dict if isinstance(structure, defaultdict) else type(structure)
        return Form(kind, tuple([_taken(structure[key], leaves, keep, below) for key in keys]), keys, tuple(structure))
    if type(structure) in composites:
        return Form(type(structure), tuple([_taken(part, leaves, keep, depth) for part in structure.__components__()]))
    kept = keep(structure)
    if kept is LEAF:
        leaves.append(structure)
    return kept


def _sorted(structure: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(structure))
    except TypeError:
        return tuple(structure)


def put_together(form: Any, leaves: Sequence[Any], give: Callable[[Any], Any] | None = None) -> Any:
    """A structure of that form, with these leaves; `give` makes something of what the form has kept."""
    return _put(form, iter(leaves), give)


def _put(form: Any, leaves: Iterator[Any], give: Callable[[Any], Any] | None) -> Any:
    if form is LEAF:
        return next(leaves)
    if not isinstance(form, Form):
        return form if give is None else give(form)
    items = [_put(item, leaves, give) for item in form.items]
    if form.order:
        by_key = dict(zip(form.keys, items, strict=True))
        return form.kind((key, by_key[key]) for key in form.order)
    as_arguments = form.kind in composites or hasattr(form.kind, "_fields")
    return form.kind(*items) if as_arguments else form.kind(items)
