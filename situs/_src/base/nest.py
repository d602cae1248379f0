"""``tf.nest``: structures of lists, tuples, named tuples and dictionaries, and their leaves.

    flatten({"b": 1, "a": [2, 3]})                          [2, 3, 1]: dictionaries by their sorted keys
    map_structure(lambda x: x + 1, (1, [2]))                (2, [3])
    pack_sequence_as({"b": 0, "a": [0, 0]}, [2, 3, 1])      {"b": 1, "a": [2, 3]}

Strings, arrays, tensors, sets and None are leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tree import composites, deeper, is_structure, made_like, parts_of, put_together, take_apart

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]


@export("nest.is_nested")
def is_nested(seq: object) -> bool:
    """Whether something is a structure: a list, a tuple, a dictionary or the like."""
    return is_structure(seq)


@export("nest.flatten")
def flatten(structure: object, expand_composites: bool = False) -> list[Any]:
    """The leaves of a structure in one list.

    Args:
        structure: The structure; anything else is a leaf itself.
        expand_composites: Whether the tensors that ``tf.IndexedSlices`` are made of stand in their place.

    Raises:
        TypeError: the keys of a dictionary cannot be sorted.
    """
    return list(_leaves(structure, 0, expand_composites))


def _leaves(structure: object, depth: int, expand: bool) -> Iterator[Any]:
    if not _is_taken_apart(structure, expand):
        yield structure
        return
    below = deeper(depth)
    for part in _parts(structure):
        yield from _leaves(part, below, expand)


def _is_taken_apart(structure: object, expand: bool) -> bool:
    return is_structure(structure) or (expand and type(structure) in composites)


def _parts(structure: Any) -> list[Any]:
    if type(structure) in composites:
        return [part for part in structure.__components__() if part is not None]
    if isinstance(structure, Mapping):
        try:
            sorted(structure)
        except TypeError as error:
            raise DTypeError(
                f"{error}: the keys of a dictionary in a structure must be of kinds that compare."
            ) from None
    return parts_of(structure) or []


# Putting together.


@export("nest.pack_sequence_as")
def pack_sequence_as(structure: object, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """A structure like another one, with other leaves.

    Args:
        structure: What it is to be like.
        flat_sequence: The leaves, as `flatten` gives them.
        expand_composites: Whether the leaves are those that ``flatten(..., expand_composites=True)`` gives.

    Raises:
        TypeError: `flat_sequence` is no list.
        ValueError: there are more or fewer leaves than places.
    """
    if not is_nested(flat_sequence):
        raise DTypeError(
            f"Attempted to pack value:\n  {shown(flat_sequence)}\ninto a structure, but found incompatible type "
            f"`{type(flat_sequence)}` instead."
        )
    if expand_composites and hasattr(type(structure), "_from_components") and not hasattr(structure, "dtype"):
        spec: Any = structure  # the spec of composites stands for one of them
        return spec._from_components(pack_sequence_as(spec._component_specs, flat_sequence))
    leaves, places = list(flat_sequence), len(flatten(structure, expand_composites))
    if not _is_taken_apart(structure, expand_composites) and len(leaves) != 1:
        raise ArgumentError(
            f"The target structure is of type `{type(structure)}`\n  {shown(structure)}\nHowever the input is a "
            f"sequence ({type(flat_sequence)}) of length {len(leaves)}.\n  {shown(leaves)}\nThere is one place."
        )
    if len(leaves) != places:
        raise ArgumentError(
            f"Could not pack sequence. Structure had {places} atoms, but flat_sequence had {len(leaves)} items.  "
            f"Structure: {shown(structure)}, flat_sequence: {shown(leaves)}."
        )
    return _packed(structure, iter(leaves), expand_composites)


def _packed(structure: object, leaves: Iterator[Any], expand: bool) -> Any:
    if not _is_taken_apart(structure, expand):
        return next(leaves)
    if type(structure) in composites:
        return put_together(take_apart(structure)[0], leaves)
    return made_like(structure, [_packed(part, leaves, expand) for part in _parts(structure)])


@export("nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """What a function makes of each leaf, or of the leaves of several structures that are in one place.

    Args:
        func: The function; it takes as many arguments as there are structures.
        structure: Structures that are the same but for their leaves. The result is like the first.
        kwargs: ``check_types``, whether lists, tuples and dictionaries are told from each other, as they are by
            default; ``expand_composites``, whether the function is called for the tensors of ``tf.IndexedSlices``.

    Raises:
        TypeError: they are of different types.
        ValueError: they are different structures.
    """
    if not callable(func):
        raise DTypeError(f"func must be callable, got: {shown(func)}")
    if not structure:
        raise ArgumentError("Must provide at least one structure")
    for name in kwargs:
        if name not in ("check_types", "expand_composites"):
            raise ArgumentError(
                f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{name}`"
            )
    expand = kwargs.get("expand_composites", False)
    for other in structure[1:]:
        assert_same_structure(structure[0], other, kwargs.get("check_types", True), expand)
    return pack_sequence_as(structure[0], list(map(func, *[flatten(each, expand) for each in structure])), expand)


# Comparing.


@export("nest.assert_same_structure")
def assert_same_structure(
    nest1: object, nest2: object, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raises unless two structures are the same but for their leaves.

    Args:
        nest1: A structure.
        nest2: Another one.
        check_types: Whether a list is something else than a tuple. Dictionaries of all kinds are the same.
        expand_composites: Whether ``tf.IndexedSlices`` are structures: of two tensors, or of three.

    Raises:
        TypeError: one has a list where the other has a tuple, or the like.
        ValueError: they are different in another way.
    """
    found = _difference(nest1, nest2, check_types, 0, expand_composites)
    if found is not None:
        kind, text = found
        raise kind(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {_described(nest1)}\n\n"
            f"Second structure: {_described(nest2)}\n\nMore specifically: {text}\nEntire first structure:\n"
            f"{_dots(nest1)}\nEntire second structure:\n{_dots(nest2)}"
        )


_Found = tuple[type[DTypeError] | type[ArgumentError], str]


def _difference(a: object, b: object, check_types: bool, depth: int, expand: bool) -> _Found | None:
    """The first place where two structures differ, as an error."""
    first, second = _is_taken_apart(a, expand), _is_taken_apart(b, expand)
    if not first and not second:
        return None
    if first != second:
        nested, leaf = (a, b) if first else (b, a)
        found = f'Substructure "{_described(nested)}" is a sequence, while substructure "{_described(leaf)}" is not'
        return ArgumentError, found
    return _difference_here(a, b, check_types) or _difference_below(a, b, check_types, depth, expand)


def _difference_here(a: object, b: object, check_types: bool) -> _Found | None:
    if check_types and not _same_kind(a, b):
        return DTypeError, (
            f"The two namedtuples don't have the same sequence type. First structure {_described(a)} has type "
            f"{type(a).__name__}, while second structure {_described(b)} has type {type(b).__name__}"
        )
    if isinstance(a, Mapping) and isinstance(b, Mapping) and set(a) != set(b):
        return ArgumentError, (
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_described(list(a))}, while second structure has keys {_described(list(b))}"
        )
    if len(_parts(a)) != len(_parts(b)):
        return ArgumentError, (
            f"The two structures don't have the same number of elements. First structure: {_described(a)}. Second "
            f"structure: {_described(b)}"
        )
    return None


def _difference_below(a: object, b: object, check_types: bool, depth: int, expand: bool) -> _Found | None:
    below = deeper(depth)
    pairs = zip(_parts(a), _parts(b), strict=True)
    return next((found for x, y in pairs if (found := _difference(x, y, check_types, below, expand)) is not None), None)


def _same_kind(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return isinstance(a, Mapping) and isinstance(b, Mapping)
    if hasattr(type(a), "_fields") and hasattr(
        type(b), "_fields"
    ):  # the same name and fields are enough, as for one that was made twice
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return type(a) is type(b)


def _described(value: object) -> str:
    return f"type={type(value).__name__} str={shown(value)}"


def _dots(structure: object) -> str:
    """A structure with a dot for each leaf."""
    return str(map_structure(lambda leaf: _DOT, structure))


class _Dot:
    def __repr__(self) -> str:
        return "."


_DOT = _Dot()
