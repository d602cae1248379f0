"""Repeated fields and maps: lists and dicts that check what is put into them.

    config.device_filters.append("/job:worker")        Values       elements are scalars
    graph.node.add(name="a", op="Const")               Messages     elements are messages, always copied in
    config.device_count["CPU"] = 4                     ValueMap     reading a missing key sets the default
    node.attr["T"].type = 1                            MessageMap   reading a missing key adds an empty message

The message they belong to is told of every change, because a change makes that message present in its parent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, SupportsIndex, TypeVar, overload

from situs.errors import DTypeError, InvalidArgumentError, OutOfRangeError
from situs.proto.errors import FieldError, MissingKeyError
from situs.proto.kind import Kind, MessageKind

if TYPE_CHECKING:
    from situs.proto.message import Message

T = TypeVar("T")
K = TypeVar("K", bound=int | str)
M = TypeVar("M", bound="Message")


class Repeated(MutableSequence[T]):
    """The elements of a repeated field, in order."""

    __slots__ = ("_items", "_kind", "_owner", "_path")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, owner: Message | None, kind: Kind[T], path: str) -> None:
        self._owner = owner
        self._kind = kind
        self._path = path
        self._items: list[T] = []

    @abstractmethod
    def _take(self, value: Any) -> T:
        """The element to keep for a value that came in."""

    def _adopt(self, element: T) -> None:
        self._items.append(element)
        self._changed()

    def _changed(self) -> None:
        if self._owner is not None:
            self._owner._touch()

    @overload
    def __getitem__(self, key: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> list[T]: ...
    def __getitem__(self, key: Any) -> Any:
        try:
            return self._items[key]
        except IndexError:
            raise self._beyond(key) from None
        except TypeError:
            raise DTypeError(f"{self._path} is indexed by integers and slices; got {key!r}.") from None

    def __delitem__(self, key: SupportsIndex | slice) -> None:
        self[key]  # says what is wrong with the key
        del self._items[key]
        self._changed()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def append(self, value: Any) -> None:
        """Adds one element at the end; of a message, a copy."""
        self._items.append(self._take(value))
        self._changed()

    def insert(self, index: int, value: Any) -> None:
        """Adds one element before `index`."""
        self._items.insert(index, self._take(value))
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Adds all elements, or none when one of them is wrong."""
        self._items.extend([self._take(value) for value in _elements(values, self._path)])
        self._changed()

    MergeFrom = extend

    def __iadd__(self, values: Iterable[Any]) -> NoReturn:
        raise DTypeError(f"{self._path} cannot be assigned, and += assigns. Use extend().")

    def remove(self, value: Any) -> None:
        """Removes the first element that equals `value`."""
        if value not in self._items:
            raise InvalidArgumentError(f"{self._path} does not contain {value!r}: remove(x) needs an x that is there.")
        self._items.remove(value)
        self._changed()

    def reverse(self) -> None:
        """Turns the order around."""
        self._items.reverse()
        self._changed()

    def sort(self, *, key: Callable[[T], Any] | None = None, reverse: bool = False) -> None:
        """Sorts in place, as ``list.sort``."""
        self._items[:] = sorted(self._items, key=key, reverse=reverse)  # type: ignore[type-var,arg-type]
        self._changed()

    def __eq__(self, other: object) -> bool:
        theirs = other._items if isinstance(other, Repeated) else other
        if not isinstance(theirs, (list, tuple)):
            return NotImplemented
        return len(self) == len(theirs) and all(map(self._kind.same, self, theirs))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._items,)  # a copy has no message to belong to

    def _beyond(self, index: object) -> OutOfRangeError:
        return OutOfRangeError(f"list index out of range: {self._path} has {len(self)} elements, asked for {index}.")


class Values(Repeated[T]):
    """The elements of a repeated field of scalars."""

    __slots__ = ()

    def _take(self, value: Any) -> T:
        return self._kind.check(value, self._path)

    def __setitem__(self, key: SupportsIndex | slice, value: Any) -> None:
        self[key]  # says what is wrong with the key
        if isinstance(key, slice):
            self._items[key] = [self._take(element) for element in _elements(value, self._path)]
        else:
            self._items[key] = self._take(value)
        self._changed()


class Messages(Repeated[M]):
    """The elements of a repeated field of messages; they are copied in and cannot be assigned."""

    __slots__ = ()
    _kind: MessageKind[M]

    def add(self, **fields: Any) -> M:
        """Adds a new message with these fields at the end and returns it."""
        message = self._kind.type(**fields)
        self._items.append(message)
        self._changed()
        return message

    def adopt(self, messages: Iterable[M]) -> None:
        """Adds messages that were made for this list alone, as they are."""
        self._items.extend(messages)
        self._changed()

    def _take(self, value: Any) -> M:
        return self._kind.build(value, self._path)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise DTypeError(f"{self._path} does not support assignment. Use {self._path}[{key!r}].CopyFrom(value).")


class Map(MutableMapping[K, T]):
    """The entries of a map field."""

    __slots__ = ("_items", "_key", "_kind", "_owner", "_path")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, owner: Message | None, key: Kind[K], kind: Kind[T], path: str) -> None:
        self._owner = owner
        self._key = key
        self._kind = kind
        self._path = path
        self._items: dict[K, T] = {}

    @abstractmethod
    def _missing(self) -> T:
        """What reading a missing key puts there."""

    def _adopt(self, entry: tuple[K, T]) -> None:
        self._items[entry[0]] = entry[1]
        self._changed()

    def _changed(self) -> None:
        if self._owner is not None:
            self._owner._touch()

    def _checked(self, key: Any) -> K:
        return self._key.check(key, f"A key of {self._path}")

    def __getitem__(self, key: K) -> T:
        key = self._checked(key)
        if key not in self._items:
            self._items.setdefault(key, self._missing())
            self._changed()
        return self._items[key]

    def __delitem__(self, key: K) -> None:
        key = self._checked(key)
        if key not in self._items:
            raise MissingKeyError(f"Key not present in map {self._path}: {key!r}; it has {list(self._items)}.")
        del self._items[key]
        self._changed()

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def get(self, key: K, default: Any = None) -> Any:
        """The value of a key, or `default`; adds nothing."""
        return self._items.get(self._checked(key), default)

    def pop(self, key: K, *default: Any) -> Any:
        """Removes a key and returns its value, or `default` where there is none."""
        key = self._checked(key)
        if key not in self._items and default:
            return default[0]
        value = self._items.get(key)
        del self[key]
        return value

    def clear(self) -> None:
        """Removes all entries."""
        self._items.clear()
        self._changed()

    def MergeFrom(self, other: Mapping[K, T]) -> None:  # noqa: N802
        """Takes over the entries of `other`, in place of those with the same key."""
        if not isinstance(other, Mapping):
            raise DTypeError(f"{self._path} is a map: it takes a dict, got {other!r}.")
        for key, value in dict(other).items():
            self._assign(key, value)

    @abstractmethod
    def _assign(self, key: Any, value: Any) -> None:
        """Sets one entry to a value, or to a copy of a message."""

    def __eq__(self, other: object) -> bool:
        theirs = other._items if isinstance(other, Map) else other
        if not isinstance(theirs, dict):
            return NotImplemented
        return self._items.keys() == theirs.keys() and all(
            self._kind.same(value, theirs[key]) for key, value in self._items.items()
        )

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._items,)


class ValueMap(Map[K, T]):
    """The entries of a map to scalars."""

    __slots__ = ()

    def _missing(self) -> T:
        return self._kind.default

    def __setitem__(self, key: Any, value: Any) -> None:
        self._items[self._checked(key)] = self._kind.check(value, f"{self._path}[{key!r}]")
        self._changed()

    def _assign(self, key: Any, value: Any) -> None:
        self[key] = value

    def setdefault(self, key: K, default: Any = None) -> T:
        """The value of a key, which is `default` from now on if it had none."""
        key = self._checked(key)
        if key not in self:
            self[key] = self._kind.default if default is None else default
        return self[key]


class MessageMap(Map[K, M], Generic[K, M]):
    """The entries of a map to messages; they are made by reading and cannot be assigned."""

    __slots__ = ()
    _kind: MessageKind[M]

    def _missing(self) -> M:
        return self._kind.type()

    def get_or_create(self, key: K) -> M:
        """The same as ``map[key]``."""
        return self[key]

    def _assign(self, key: Any, value: Any) -> None:
        self._items[self._checked(key)] = self._kind.build(value, f"{self._path}[{key!r}]")
        self._changed()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise FieldError(f"Message objects may not be assigned. Use {self._path}[{key!r}].CopyFrom(value).")


def _elements(values: Any, path: str) -> list[Any]:
    """The values as a list. One string is refused: its letters are hardly ever what was meant."""
    if isinstance(values, (str, bytes)):
        raise DTypeError(f"{path} takes a list of elements; got the single {values!r}. Write [{values!r}].")
    try:
        return list(values)
    except TypeError:
        raise DTypeError(f"{path} must assign iterable: it takes a list of elements, got {values!r}.") from None
