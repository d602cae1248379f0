"""Calls seen before: from the arguments, as they come, to the program that runs them.

    memo[scope, (place of x, shape of x), (int, 3), "flag"]   ->   program, and which of the arguments go into it

Only tensors, numbers, words and iterators of datasets make a key, which costs about a microsecond; everything else is
bound and looked up the whole way. A `Place` is a device and a dtype, so that two calls with the same key run the same
program. When the rules of placement change, what was decided under the old ones is not used again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from situs._src.base.devices.scope import generation, here
from situs._src.placement import options
from situs._src.runtime.eager.tensor import EagerTensor

_MOST = 1000  # entries
_PLAIN = frozenset({bool, int, str, type(None)})

Ready = Callable[[list[Any]], Any]


class OneTensor:
    """The base of objects that a function takes as one tensor, such as an iterator of a dataset."""

    __slots__ = ()

    @property
    def _call_key(self) -> Hashable:
        """What calls with objects that are traced alike have in common."""
        raise NotImplementedError

    @property
    def _value(self) -> Any:
        """The value of the tensor, made for one call."""
        raise NotImplementedError

    def _is_behind(self, value: object) -> bool:
        """Whether a value was made for this object."""
        raise NotImplementedError


class Memo:
    """The programs of the calls of one function."""

    __slots__ = ("_of_others", "_of_tensors")

    def __init__(self) -> None:
        self._of_tensors: dict[Any, tuple[int, Ready]] = {}  # with the version of the rules
        self._of_others: dict[Any, tuple[int, Ready, list[int]]] = {}  # and the positions of the tensors

    def find(self, args: tuple[Any, ...]) -> Ready | None:
        """The program for a call with nothing but tensors; it takes their values."""
        try:
            rules, ready = self._of_tensors[(here.scope, *[(arg._place, arg._value.shape) for arg in args])]
        except (AttributeError, KeyError):
            return None
        return ready if rules == generation() else None

    def find_mixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Ready, list[Any]] | None:
        """The program for a call with numbers, words and keywords as well, and the values that it takes."""
        given = [*args, *kwargs.values()]
        try:
            rules, ready, positions = self._of_others[(here.scope, *kwargs, *map(_part, given))]
        except (TypeError, KeyError):
            return None
        return (ready, [given[i]._value for i in positions]) if rules == generation() else None

    def keep(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[Any], ready: Ready, rules: int
    ) -> None:
        """Keeps the program for calls like this one, whose tensors it takes in that order, if they make a key."""
        if options.current.log or here.scope.calls_functions:
            return
        if not kwargs and len(args) == len(tensors) and all(map(_is_same, args, tensors)):
            self._of_tensors = _with_room(self._of_tensors)
            self._of_tensors[(here.scope, *[(arg._place, arg._value.shape) for arg in args])] = rules, ready
            return
        given = [*args, *kwargs.values()]
        positions = _positions(given, tensors)
        if positions is not None:
            self._of_others = _with_room(self._of_others)
            self._of_others[(here.scope, *kwargs, *map(_part, given))] = rules, ready, positions


def _is_same(arg: object, tensor: object) -> bool:
    return type(arg) is EagerTensor and arg is tensor


def _part(value: Any) -> Any:
    """What a call has in common with others, as far as this argument goes.

    Raises:
        TypeError: the argument is of another sort.
    """
    kind = type(value)
    if kind is EagerTensor:
        return value._place, value._value.shape
    if kind is float:
        return kind, repr(value)  # tells 0.0 from -0.0, and finds a NaN again
    if kind in _PLAIN:
        return kind, value
    if issubclass(kind, OneTensor):
        return kind, value._call_key
    raise TypeError


def _positions(given: list[Any], tensors: Sequence[Any]) -> list[int] | None:
    """Where the tensors stand among the arguments; None if that cannot be told, or is not all that matters."""
    places = {id(value): number for number, value in enumerate(given) if type(value) is EagerTensor}
    objects = {number: value for number, value in enumerate(given) if isinstance(value, OneTensor)}
    others = [value for value in given if type(value) is not EagerTensor and not isinstance(value, OneTensor)]
    if not all(type(value) is float or type(value) in _PLAIN for value in others):
        return None
    if not len(places) + len(objects) == len(tensors) == len(given) - len(others):
        return None  # a tensor that stands there twice would hide which is which
    found = [places.get(id(tensor), _place_behind(tensor, objects)) for tensor in tensors]
    return None if -1 in found else found


def _place_behind(tensor: Any, objects: Mapping[int, OneTensor]) -> int:
    value = tensor._value
    return next((number for number, each in objects.items() if each._is_behind(value)), -1)


def _with_room(entries: dict[Any, Any]) -> dict[Any, Any]:
    return {} if len(entries) >= _MOST else entries
