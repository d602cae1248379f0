"""Structures of tensors: flatten and unflatten. This is the only code that knows what a structure is.

    take_apart([x, {"b": y, "a": None}])   ->   form, [x, y]
    put_together(form, [1, 2])             ->   [1, {"b": 2, "a": None}]
    str(form)                              ->   [*, {a: None, b: *}]

    kind                                        its children                   rebuilt as
    list, tuple, any other sequence             its items                      the same class
    named tuple, class made with attrs          its fields                     the same class
    any mapping                                 its values, by sorted keys     the same class, keys in their own order
    keys(), values(), items(); range            its items                      a list
    a class with ``__tf_flatten__``             its result                     by its ``__tf_unflatten__``
    a composite: slices, an optional            its components                 by its spec, or the same class

Strings, bytes, arrays, tensors, sets, dataclasses without that method and None are leaves. A form (treedef) is the
structure without its leaves: it is compared with ``==`` and hashable. Recursive functions over users' structures count
the depth with `deeper`, and so terminate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    MutableMapping,
    Sequence,
)
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown

MAX_DEPTH = 64


def deeper(depth: int) -> int:
    """The next level of a structure.

    Raises:
        InvalidArgumentError: it is too deep for anything but a list that contains itself.
    """
    if depth >= MAX_DEPTH:
        raise ArgumentError(
            f"Expected nested lists of tensors, got a list that contains itself, or is nested more than {MAX_DEPTH} "
            "levels deep."
        )
    return depth + 1


def listed(values: Any, what: str) -> list[Any]:
    """The items of a list, or of anything else that has items.

    Raises:
        DTypeError: it has none.
    """
    try:
        items = iter(values)
    except TypeError:
        raise DTypeError(f"Expected a list of {what}, got {shown(values)} of type {type(values).__name__!r}.") from None
    return list(items)  # a generator of the program may raise errors of its own


# The sorts of structures. What a class is does not change, so it is found out once.


class Sort:
    """How structures of some classes come apart and are made again."""

    def keys(self, structure: object) -> tuple[Any, ...]:
        """Names for the parts, if they have some; in the order of the parts."""
        return ()

    def parts(self, structure: Any, keys: tuple[Any, ...]) -> Iterable[Any]:
        """The parts."""
        return structure  # type: ignore[no-any-return]

    def extra(self, structure: object) -> Any:
        """What else is needed to make it again."""
        return None

    def make(self, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: object) -> Any:
        """A structure of these parts."""
        return kind(parts)

    def fixed(self, extra: object) -> Any:
        """What of `extra` tells one form from another."""
        return None


class _Listed(Sort):
    """What can only be made again as a list."""

    def make(self, kind: object, parts: list[Any], keys: tuple[Any, ...], extra: object) -> list[Any]:
        return parts


class _Named(Sort):
    """A tuple or an object with fields."""

    def keys(self, structure: object) -> tuple[Any, ...]:
        return _fields(type(structure))

    def parts(self, structure: object, keys: tuple[Any, ...]) -> Iterable[Any]:
        return structure if isinstance(structure, tuple) else [getattr(structure, name) for name in keys]

    def make(self, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: object) -> Any:
        return kind(*parts)


def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(kind._fields) if hasattr(kind, "_fields") else tuple(field.name for field in kind.__attrs_attrs__)


class _Mapping(Sort):
    """A mapping; `extra` is its own order of the keys, and the factory of a ``defaultdict``."""

    def keys(self, structure: Any) -> tuple[Any, ...]:
        keys = tuple(structure)
        if any(hasattr(type(key), "__array_priority__") for key in keys):  # to compare tensors is an op
            return keys
        try:
            return tuple(sorted(keys))
        except TypeError:
            return keys

    def parts(self, structure: Any, keys: tuple[Any, ...]) -> Iterable[Any]:
        return [structure[key] for key in keys]

    def extra(self, structure: Any) -> tuple[tuple[Any, ...], Any | None]:
        return tuple(structure), getattr(structure, "default_factory", None)

    def make(self, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: Any) -> Any:
        by_key, (order, factory) = dict(zip(keys, parts, strict=True)), extra
        if kind is dict:
            return {key: by_key[key] for key in order}
        if not issubclass(kind, MutableMapping):
            return kind({key: by_key[key] for key in order})
        made = kind(factory) if issubclass(kind, defaultdict) else kind()  # not all can be made of pairs
        for key in order:
            made[key] = by_key[key]
        return made


class _Custom(Sort):
    """An object that says itself what it is made of; `extra` is what its class needs besides."""

    def parts(self, structure: Any, keys: tuple[Any, ...]) -> Iterable[Any]:
        return structure.__tf_flatten__()[1]  # type: ignore[no-any-return]

    def extra(self, structure: Any) -> Any:
        return structure.__tf_flatten__()[0]

    def make(self, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: Any) -> Any:
        return kind.__tf_unflatten__(extra, tuple(parts))

    def fixed(self, extra: object) -> Any:
        return key_of(extra)  # lists in it are no keys


class _Composite(Sort):
    """An object that holds a tensor, such as a ``TensorArray`` in a graph; `extra` is one to make others like."""

    def parts(self, structure: Any, keys: tuple[Any, ...]) -> Iterable[Any]:
        return [structure._carried()]

    def extra(self, structure: object) -> Any:
        return structure

    def make(self, kind: object, parts: list[Any], keys: tuple[Any, ...], extra: Any) -> Any:
        return extra._with(*parts)


_SEQUENCE, _LISTED, _NAMED, _MAPPING, _CUSTOM = Sort(), _Listed(), _Named(), _Mapping(), _Custom()


class _Components(Sort):
    """An object of tensors, of which some may be missing, such as slices; `extra` is its spec, if it has one."""

    def parts(self, structure: Any, keys: tuple[Any, ...]) -> Iterable[Any]:
        return structure.__components__()  # type: ignore[no-any-return]

    def extra(self, structure: object) -> Any:
        return getattr(structure, "_type_spec", None)

    def make(self, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: Any) -> Any:
        return kind(*parts) if extra is None else extra._from_components(*parts)

    def fixed(self, extra: object) -> Any:
        return extra


_COMPOSITE, _COMPONENTS = _Composite(), _Components()
_KNOWN_LIMIT = 4096  # classes that a program makes again and again must not be held forever
_known: dict[type, Sort | None] = {}


def sort_of(kind: type) -> Sort | None:
    """How structures of a class come apart; None for the class of leaves."""
    try:
        return _known[kind]
    except KeyError:
        if len(_known) >= _KNOWN_LIMIT:
            _known.clear()
        return _known.setdefault(kind, _find_sort(kind))


def is_composite(value: object) -> bool:
    """Whether something is a leaf that holds a tensor: `take_apart` goes into it if it is told to."""
    return hasattr(type(value), "_carried") and hasattr(type(value), "_with")


def _find_sort(kind: type) -> Sort | None:
    if hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__"):
        return _CUSTOM
    if issubclass(kind, Mapping):
        return _MAPPING
    if issubclass(kind, tuple):
        return _NAMED if hasattr(kind, "_fields") else _SEQUENCE
    if issubclass(kind, (range, MappingView)):
        return _LISTED
    if hasattr(kind, "__attrs_attrs__"):
        return _NAMED
    if issubclass(kind, Sequence) and not issubclass(kind, (str, bytes, bytearray, memoryview)):
        return _SEQUENCE
    return None


# Forms.


class Leaf:
    """Where something was taken out."""

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()
composites: set[type] = set()  # classes with ``__components__()``: what their spec, or the class, makes an object of


class Form:
    """A structure of forms.

    Args:
        kind: The class of the structure.
        items: The forms of its parts, or what was kept of them.
        keys: The names of the parts, if they have some.
        extra: What the sort of the structure needs besides to make one again.
    """

    __slots__ = ("_hash", "_told", "extra", "items", "keys", "kind", "sort")

    def __init__(self, kind: type, items: tuple[Any, ...], keys: tuple[Any, ...] = (), extra: Any = None) -> None:
        sort = sort_of(kind) or (_COMPONENTS if kind in composites else _COMPOSITE)
        self.kind = kind
        self.items = items
        self.keys = keys
        self.sort = sort
        self.extra = (keys, None) if extra is None and sort is _MAPPING else extra
        self._told = (kind, items, keys, sort.fixed(self.extra))
        self._hash = hash(self._told)

    @property
    def is_mapping(self) -> bool:
        """Whether it is the form of a mapping."""
        return self.sort is _MAPPING

    def matches(self, other: object) -> bool:
        """Whether another form is the same but for the classes of mappings, which are all alike."""
        if self.is_mapping and isinstance(other, Form) and other.is_mapping:
            pairs = zip(self.items, other.items, strict=True)
            return self.keys == other.keys and all(a == b or (isinstance(a, Form) and a.matches(b)) for a, b in pairs)
        if not isinstance(other, Form) or self.kind is not other.kind or not same_extra(self, other):
            return False
        pairs = zip(self.items, other.items, strict=False)
        same = all(a == b or (isinstance(a, Form) and a.matches(b)) for a, b in pairs)
        return same and len(self.items) == len(other.items)

    @property
    def is_composite(self) -> bool:
        """Whether it is the form of an object that is made of tensors."""
        return self.sort is _COMPONENTS

    def with_items(self, items: Sequence[Any]) -> Form:
        """The same structure of other forms."""
        return Form(self.kind, tuple(items), self.keys, self.extra)

    def make(self, parts: list[Any]) -> Any:
        """A structure of this kind.

        Raises:
            DTypeError: its class cannot be made of them.
        """
        return _made(self.sort, self.kind, parts, self.keys, self.extra)

    def parts_like(self, structure: Any) -> list[Any] | None:
        """The parts of another structure, in the order of this form; None if it does not have the same places.

        A list will do for a tuple, and any mapping for another.
        """
        if self.sort is _COMPONENTS:
            return list(self.sort.parts(structure, ())) if self._serves(structure) else None
        sort = sort_of(type(structure))
        if sort is None or (sort is _MAPPING) != self.is_mapping:
            return None
        if self.is_mapping:
            same = set(structure) == set(self.keys)
            return [structure[key] for key in self.keys] if same else None
        parts = parts_of(structure)
        return parts if parts is not None and len(parts) == len(self.items) else None

    def _serves(self, composite: Any) -> bool:
        fits = type(composite) in composites and issubclass(type(composite), self.kind)
        return fits and (self.extra is None or bool(composite._type_spec.is_subtype_of(self.extra)))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Form) and self._told == other._told)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        inside = [str(item) for item in self.items]
        if self.is_mapping:
            return "{" + ", ".join(f"{key}: {item}" for key, item in zip(self.keys, inside, strict=True)) + "}"
        if issubclass(self.kind, list):
            return f"[{', '.join(inside)}]"
        if self.is_composite and self.extra is not None:
            return repr(self.extra)
        name = "" if self.kind is tuple else self.kind.__name__
        return f"{name}({', '.join(inside)}{',' * (len(inside) == 1)})"

    __repr__ = __str__


def same_extra(one: Form, other: Form) -> bool:
    """Whether two forms of one kind have the same besides their parts; of composites, whether one spec serves both."""
    return one._told[3] == other._told[3] or (one.sort is _COMPONENTS and _common_spec(one, other) is not None)


def _common_spec(one: Form, other: Form) -> Any:
    if one.extra is None or other.extra is None:
        return None
    spec: Any = one.extra
    return spec.most_specific_common_supertype([other.extra])


def common_form(form: Any, other: Any) -> Any:
    """A form that matches another one, with the specs of composites that serve both."""
    if not isinstance(form, Form) or form == other:
        return form
    items = tuple([common_form(*pair) for pair in zip(form.items, other.items, strict=True)])
    spec = _common_spec(form, other) if form.sort is _COMPONENTS else form.extra
    return Form(form.kind, items, form.keys, spec)


def specs_in(form: object) -> list[Any]:
    """The specs of the composites in a form."""
    if not isinstance(form, Form):
        return []
    own = [form.extra] if form.is_composite and form.extra is not None else []
    return own + [spec for item in form.items for spec in specs_in(item)]


def _made(sort: Sort, kind: Any, parts: list[Any], keys: tuple[Any, ...], extra: object) -> Any:
    if kind is list:
        return parts
    if kind is tuple:
        return tuple(parts)
    try:
        return sort.make(kind, parts, keys, extra)
    except TypeError as error:
        raise DTypeError(
            f"A {kind.__name__} cannot be made of its parts again ({error}). Use a list, a tuple, a named tuple or a "
            "dictionary."
        ) from None


Keep = Callable[[Any], Any]
Whole = Callable[[Any], bool]


def take_apart(
    structure: object,
    keep: Keep | None = None,
    whole: Whole | None = None,
    *,
    composites: bool = False,
    factories: bool = True,
) -> tuple[Any, list[Any]]:
    """The form of a structure, and what stands in it.

    Args:
        structure: A structure of anything.
        keep: Says what to put into the form instead of a leaf; `LEAF` takes it out. By default everything but
            None is taken out.
        whole: Says which structures count as leaves.
        composites: Whether the tensors are taken out of what holds them.
        factories: Whether a ``defaultdict`` becomes one again; else a dictionary, as what goes through functions does.
    """
    taker = _Taker(_keep_none if keep is None else keep, whole, composites, factories)
    return taker.take(structure, 0), taker.leaves


def _keep_none(value: object) -> Leaf | None:
    return None if value is None else LEAF


class _Taker:
    """Takes one structure apart."""

    __slots__ = ("composites", "factories", "keep", "leaves", "whole")

    def __init__(self, keep: Keep, whole: Whole | None, composites: bool, factories: bool) -> None:
        self.leaves: list[Any] = []
        self.keep = keep
        self.whole = whole
        self.composites = composites
        self.factories = factories

    def take(self, structure: object, depth: int) -> Any:
        """The form of a part; what stands in it goes to the leaves."""
        kind = type(structure)
        sort = sort_of(kind)
        if sort is None and kind in composites:
            sort = _COMPONENTS
        elif sort is None and self.composites and is_composite(structure):
            sort = _COMPOSITE
        if sort is None or (self.whole is not None and self.whole(structure)):
            kept = self.keep(structure)
            if kept is LEAF:
                self.leaves.append(structure)
            return kept
        below, keys = deeper(depth), sort.keys(structure)
        items = tuple([self.take(part, below) for part in sort.parts(structure, keys)])
        if kind is defaultdict and not self.factories:
            kind = dict
        extra = sort.extra(structure)
        return Form(extra.value_type if extra is not None and sort is _COMPONENTS else kind, items, keys, extra)


def form_of(structure: object) -> Any:
    """The form of a structure without any of its leaves, None included."""
    return take_apart(structure, lambda leaf: LEAF)[0]


def put_together(
    form: object, leaves: Iterable[Any], give: Callable[[Any], Any] | None = None, specs: bool = False
) -> Any:
    """A structure of that form, with these leaves.

    Args:
        form: The form.
        leaves: The leaves.
        give: Makes something of what the form has kept.
        specs: Whether the specs of composites stand in their places.
    """
    return _put(form, iter(leaves), give, specs)


def _put(form: object, leaves: Iterator[Any], give: Callable[[Any], Any] | None, specs: bool) -> Any:
    if form is LEAF:
        return next(leaves)
    if not isinstance(form, Form):
        return form if give is None else give(form)
    parts = [_put(item, leaves, give, specs) for item in form.items]
    if not (specs and form.is_composite and form.extra is not None):
        return form.make(parts)
    spec: Any = form.extra
    return spec._with_components(*parts)


# Structures without their form.


def is_structure(value: object) -> bool:
    """Whether something is a structure and no leaf."""
    return sort_of(type(value)) is not None


def parts_of(structure: object) -> list[Any] | None:
    """The parts of a structure; None for a leaf."""
    sort = sort_of(type(structure))
    return None if sort is None else list(sort.parts(structure, sort.keys(structure)))


def named_parts(structure: object) -> list[tuple[Any, Any]] | None:
    """The parts of a structure, each with its key, field or number; None for a leaf."""
    sort = sort_of(type(structure))
    if sort is None:
        return None
    keys = sort.keys(structure)
    parts = list(sort.parts(structure, keys))
    return list(zip(keys or range(len(parts)), parts, strict=True))


def key_of(structure: Any, depth: int = 0) -> Any:
    """A structure with its leaves as a key: equal for those that are equal in everything, also in the order of keys."""
    kind = type(structure)
    sort = sort_of(kind)
    if sort is None:
        return structure
    below = deeper(depth)
    if sort is _SEQUENCE:
        return (kind, *[key_of(part, below) for part in structure])
    keys = sort.keys(structure)
    return (kind, sort.extra(structure), *[key_of(part, below) for part in sort.parts(structure, keys)])


def made_like(structure: object, parts: list[Any]) -> Any:
    """A structure of the same kind with other parts, which are in the order of `parts_of`."""
    sort = sort_of(type(structure))
    if sort is None:
        raise DTypeError(f"{shown(structure)} is no structure.")
    return _made(sort, type(structure), parts, sort.keys(structure), sort.extra(structure))


def flatten(structure: object) -> list[Any]:
    """The leaves of a structure, in order."""
    leaves: list[Any] = []
    _flatten(structure, leaves, 0)
    return leaves


def _flatten(structure: object, leaves: list[Any], depth: int) -> None:
    sort = sort_of(type(structure))
    if sort is None:
        leaves.append(structure)
        return
    below = deeper(depth)
    for part in sort.parts(structure, sort.keys(structure)):
        _flatten(part, leaves, below)


def pack_like(structure: object, leaves: Iterable[Any]) -> Any:
    """A structure of the same form, with other leaves."""
    return _packed(structure, iter(leaves))


def _packed(structure: object, leaves: Iterator[Any]) -> Any:
    parts = parts_of(structure)
    return next(leaves) if parts is None else made_like(structure, [_packed(part, leaves) for part in parts])
