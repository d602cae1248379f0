"""The variables of a branch or a loop: read, compared, and carried through the graph.

A variable may be any nest of lists, tuples and dictionaries. Its leaves are of two kinds: tensors and values that can
be converted are carried by the op; everything else (None, functions, objects) must be the same on both sides.

    y = [t, None]   in one branch,   y = [u, None]   in the other   ->   carried: t | u
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import (
    composites,
    flatten,
    form_of,
    is_composite,
    made_like,
    parts_of,
    put_together,
    take_apart,
)
from situs._src.tracing.autograph import hooks

Values = tuple[Any, ...]


class Undefined:
    """Stands for a variable without a value in lists of values."""

    def __repr__(self) -> str:
        return "<undefined>"


UNDEFINED: Final = Undefined()


def is_undefined(value: object) -> bool:
    """Whether a variable has no value."""
    return value is UNDEFINED


def read(*getters: Callable[[], Any]) -> Values:
    """The values of variables, attributes and elements, with `UNDEFINED` for those that do not exist."""
    return tuple(map(_read, getters))


def _read(getter: Callable[[], Any]) -> Any:
    try:
        return getter()
    except (NameError, AttributeError, LookupError):
        return UNDEFINED


def carried(value: object) -> list[Any]:
    """The leaves that an op can carry; for a composite such as a ``TensorArray``, its components."""
    return [part for leaf in flatten(value) if _carries(leaf) for part in _parts(leaf)]


def _parts(leaf: Any) -> list[Any]:
    if type(leaf) in composites:
        return take_apart(leaf)[1]
    return [leaf._carried() if is_composite(leaf) else leaf]


def _carries(leaf: object) -> bool:
    return type(leaf) in composites or is_composite(leaf) or hooks.current.carries(leaf)


def _made(leaf: Any, results: Iterator[Any]) -> Any:
    """A leaf rebuilt from the results of an op."""
    if type(leaf) in composites:
        return put_together(take_apart(leaf)[0], results)
    return leaf._with(next(results)) if is_composite(leaf) else next(results)


def rebuilt(value: object, results: Iterator[Any]) -> Any:
    """The same nest, with the carried leaves replaced by the results of an op."""
    parts = parts_of(value)
    if parts is None:
        return _made(value, results) if _carries(value) else value
    return made_like(value, [rebuilt(part, results) for part in parts])


def merged(one: object, other: object, results: Iterator[Any]) -> Any:
    """A variable after a condition: values that are the same in both branches are kept."""
    if one is other:
        for _ in carried(one):
            next(results)
        return one
    parts = parts_of(one)
    if parts is None:
        return _made(one, results) if _carries(one) else one
    pairs = zip(parts, parts_of(other) or (), strict=True)
    return made_like(one, [merged(left, right, results) for left, right in pairs])


def check_same(name: str, one: object, other: object, sides: tuple[str, str], where: str) -> None:
    """Raises unless a variable has the same structure on both sides of a condition or an iteration.

    Raises:
        DTypeError: the structures or the dtypes differ.
        InvalidArgumentError: one is a tensor and the other is None or some other object.
    """
    if one is other:
        return
    if form_of(one) != form_of(other):
        raise DTypeError(
            f"'{name}' must have the same nested structure {_between(sides)}; it is {form_of(one)} {sides[0]} and "
            f"{form_of(other)} {sides[1]} ({where})."
        )
    for left, right in zip(flatten(one), flatten(other), strict=True):
        _check_leaf(name, left, right, sides, where)


def _between(sides: tuple[str, str]) -> str:
    return f"{sides[0]} and {sides[1]}"


def _check_leaf(name: str, one: object, other: object, sides: tuple[str, str], where: str) -> None:
    if one is other:
        return
    for value, side in ((one, sides[0]), (other, sides[1])):
        if not _carries(value):
            what = "None" if value is None else f"{value!r}, which is not a tensor,"
            raise ArgumentError(f"'{name}' is {what} {side} ({where}).")
    found = dtype_name(one), dtype_name(other)
    if None not in found and found[0] != found[1]:
        raise DTypeError(f"'{name}' has dtype {found[0]} {sides[0]}, but dtype {found[1]} {sides[1]} ({where}).")


_OF_PYTHON = {bool: "bool", int: "int32", float: "float32", complex: "complex128", str: "string", bytes: "string"}


def dtype_name(value: Any) -> str | None:
    """The name of the dtype that a leaf has or would get as a tensor; None if unknown."""
    if type(value) in _OF_PYTHON:
        return _OF_PYTHON[type(value)]
    return str(value.dtype.name) if is_tensor(value) else None


def check_shape(name: str, before: object, after: object, where: str, freed: Callable[[Any], bool]) -> None:
    """Raises if a loop variable does not keep its shape.

    Args:
        name: The variable.
        before: Its value before an iteration.
        after: Its value after it.
        where: The location of the loop.
        freed: Whether its shape may change.

    Raises:
        InvalidArgumentError: its shape changes.
    """
    pairs = zip(flatten(before), flatten(after), strict=True)
    for old, new in pairs:
        if is_tensor(old) and is_tensor(new) and not freed(old) and not _keeps(_dims(old), _dims(new)):
            raise ArgumentError(
                f"'{name}' has shape {old.shape} before the loop, but shape {new.shape} after one iteration. Use "
                f"tf.autograph.experimental.set_loop_options to set shape invariants, or make room before the loop "
                f"({where})."
            )


def _dims(tensor: Any) -> Sequence[int | None] | None:
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def _keeps(old: Sequence[int | None] | None, new: Sequence[int | None] | None) -> bool:
    if old is None:
        return True
    return new is not None and len(old) == len(new) and all(a in (None, b) for a, b in zip(old, new, strict=True))
