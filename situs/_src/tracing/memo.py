"""The call cache: from raw arguments to the program that runs them.

    memo[scope, (place of x, shape of x), (int, 3), "flag"]   ->   program, and which arguments it takes

Only tensors, numbers, strings and dataset iterators can be part of a key, which costs about a microsecond; everything
else takes the slow path. A `Place` is a device and a dtype, so two calls with the same key run the same program. When
placement rules change, cached entries are not used any more.
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
    """The base of objects that a function takes as one tensor, such as a dataset iterator."""

    __slots__ = ()

    @property
    def _call_key(self) -> Hashable:
        """A key that is equal for objects that share a trace."""
        raise NotImplementedError

    @property
    def _value(self) -> Any:
        """The value of the tensor, created for one call."""
        raise NotImplementedError

    def _is_behind(self, value: object) -> bool:
        """Whether a value was created for this object."""
        raise NotImplementedError


class Memo:
    """The cached programs of one function."""

    __slots__ = ("_of_others", "_of_tensors")

    def __init__(self) -> None:
        self._of_tensors: dict[Any, tuple[int, Ready]] = {}  # with the version of the placement rules
        self._of_others: dict[Any, tuple[int, Ready, list[int]]] = {}  # and the positions of the tensors

    def find(self, args: tuple[Any, ...]) -> Ready | None:
        """The program for a call with tensors only; it takes their values."""
        try:
            rules, ready = self._of_tensors[(here.scope, *[(arg._place, arg._value.shape) for arg in args])]
        except (AttributeError, KeyError):
            return None
        return ready if rules == generation() else None

    def find_mixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Ready, list[Any]] | None:
        """The program for a call with numbers, strings and keywords as well, and the values that it takes."""
        given = [*args, *kwargs.values()]
        try:
            rules, ready, positions = self._of_others[(here.scope, *kwargs, *map(_part, given))]
        except (TypeError, KeyError):
            return None
        return (ready, [given[i]._value for i in positions]) if rules == generation() else None

    def keep(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[Any], ready: Ready, rules: int
    ) -> None:
        """Caches the program for such calls, if they make a key; it takes their tensors in that order."""
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
    """The part of the key for one argument.

    Raises:
        TypeError: the argument has another type.
    """
    kind = type(value)
    if kind is EagerTensor:
        return value._place, value._value.shape
    if kind is float:
        return kind, repr(value)  # distinguishes 0.0 from -0.0, and NaN equals itself
    if kind in _PLAIN:
        return kind, value
    if issubclass(kind, OneTensor):
        return kind, value._call_key
    raise TypeError


def _positions(given: list[Any], tensors: Sequence[Any]) -> list[int] | None:
    """The positions of the tensors among the arguments; None if they are ambiguous, or not all that matters."""
    places = {id(value): number for number, value in enumerate(given) if type(value) is EagerTensor}
    objects = {number: value for number, value in enumerate(given) if isinstance(value, OneTensor)}
    others = [value for value in given if type(value) is not EagerTensor and not isinstance(value, OneTensor)]
    if not all(type(value) is float or type(value) in _PLAIN for value in others):
        return None
    if not len(places) + len(objects) == len(tensors) == len(given) - len(others):
        return None  # a tensor that occurs twice is ambiguous
    found = [places.get(id(tensor), _place_behind(tensor, objects)) for tensor in tensors]
    return None if -1 in found else found


def _place_behind(tensor: Any, objects: Mapping[int, OneTensor]) -> int:
    value = tensor._value
    return next((number for number, each in objects.items() if each._is_behind(value)), -1)


def _with_room(entries: dict[Any, Any]) -> dict[Any, Any]:
    return {} if len(entries) >= _MOST else entries
