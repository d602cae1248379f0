"""Fields: how a message class declares what it holds.

    class ConfigProto(Message):
        device_count = ValueMapField(1, STRING, INT32)          config.device_count["CPU"] = 4
        placement_period = Scalar(3, INT32)                     config.placement_period = 2
        device_filters = RepeatedScalar(4, STRING)              config.device_filters.append("/job:a")
        gpu_options = Nested(6, GPUOptions)                     config.gpu_options.allow_growth = True

A field is a descriptor: it holds no value, it reads and writes the ``_values`` of the message it is asked about. The
number is that of the protocol buffer, and fields print in the order of their numbers. Fields with the same `oneof`
exclude each other, and one of them with its default value still counts as set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar, overload

from situs import locks
from situs.proto.containers import Map, MessageMap, Messages, Repeated, ValueMap, Values
from situs.proto.errors import FieldError
from situs.proto.kind import Kind, MessageKind

if TYPE_CHECKING:
    from situs.proto.message import Message

T = TypeVar("T")
K = TypeVar("K", bound=int | str)
M = TypeVar("M", bound="Message")


class Field(ABC):
    """One declared field of a message class."""

    name: str = ""
    path: str = ""
    oneof: str | None = None
    singular = True

    def __init__(self, number: int, kind: Kind[Any]) -> None:
        self.number = number
        self.kind = kind

    def __set_name__(self, owner: type[Message], name: str) -> None:
        self.name = name
        self.path = f"{owner.__qualname__}.{name}"

    @abstractmethod
    def read(self, message: Message) -> Any:
        """The value as ``message.name`` gives it."""

    @abstractmethod
    def fill(self, message: Message, value: Any) -> None:
        """Sets the field from an argument of the constructor."""

    @abstractmethod
    def merge(self, message: Message, value: Any) -> None:
        """Merges the value of the same field of another message into this one."""

    @abstractmethod
    def adopt(self, message: Message, value: Any) -> None:
        """Merges one value that was made for this message alone: an element of a list, an entry of a map."""

    def present(self, message: Message) -> bool:
        """Whether the field is set, and so is printed."""
        return self.name in message._values

    def same(self, x: Any, y: Any) -> bool:
        """Whether two values of this field are equal."""
        return bool(x == y)

    @property
    def has_presence(self) -> bool:
        """Whether ``HasField`` may be asked about it."""
        return self.oneof is not None


class Scalar(Field, Generic[T]):
    """A field with one number, bool, string, bytes or enum value."""

    def __init__(self, number: int, kind: Kind[T], oneof: str | None = None) -> None:
        super().__init__(number, kind)
        self.oneof = oneof

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> T: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else message._values.get(self.name, self.kind.default)

    def __set__(self, message: Message, value: T) -> None:
        checked = self.kind.check(value, self.path)
        if self.oneof is None and self.kind.is_default(checked):
            message._values.pop(self.name, None)
            message._touch()
        else:
            message._put(self, checked)

    def read(self, message: Message) -> Any:
        """The value, or the default."""
        return message._values.get(self.name, self.kind.default)

    def fill(self, message: Message, value: Any) -> None:
        """The same as assigning."""
        self.__set__(message, value)

    merge = adopt = fill

    def same(self, x: Any, y: Any) -> bool:
        """Whether two values are equal; NaN equals NaN."""
        return self.kind.same(x, y)


class Nested(Field, Generic[M]):
    """A field with a message, made when it is first asked for and set once something inside it is."""

    kind: MessageKind[M]
    has_presence = True

    def __init__(self, number: int, source: type[M] | Callable[[], type[M]], oneof: str | None = None) -> None:
        super().__init__(number, MessageKind(source))
        self.oneof = oneof

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> M: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.read(message)

    def __set__(self, message: Message, value: Any) -> NoReturn:
        raise FieldError(
            f'Assignment not allowed to message field "{self.name}" in protocol message object. '
            f"Use .{self.name}.CopyFrom(value), or set the fields inside it."
        )

    def read(self, message: Message) -> Any:
        """The message inside; a draft of it, remembered, as long as it is not set."""
        found = message._values.get(self.name)
        return message._draft(self) if found is None else found

    def fill(self, message: Message, value: Any) -> None:
        """Takes a copy of a message, or a dict of its fields."""
        message._put(self, self.kind.build(value, self.path))

    def merge(self, message: Message, value: Any) -> None:
        """Merges field by field."""
        self.read(message).MergeFrom(value)

    def adopt(self, message: Message, value: Any) -> None:
        """Takes the message itself where none is set."""
        if self.present(message):
            self.merge(message, value)
        else:
            message._put(self, value)


_SHARED = (tuple, dict)  # what `Message._of` may be given in the place of a container
_owning = locks.rlock()


class _Collection(Field):
    """What repeated fields and maps share: the container is made when it is first asked for."""

    singular = False

    @abstractmethod
    def make(self, message: Message) -> Repeated[Any] | Map[Any, Any]:
        """A new, empty container that belongs to the message."""

    def __set__(self, message: Message, value: Any) -> NoReturn:
        raise FieldError(
            f'Assignment not allowed to map, or repeated field "{self.name}" in protocol message object. '
            f"Change the container in place, with .{self.name}.MergeFrom(values) for instance."
        )

    def adopt(self, message: Message, value: Any) -> None:
        """Takes a checked element, or a pair of a key and a value."""
        self.read(message)._adopt(value)

    def read(self, message: Message) -> Any:
        """The container."""
        found = message._values.get(self.name)
        if found is None:
            return message._values.setdefault(self.name, self.make(message))
        return self._owned(message) if type(found) in _SHARED else found

    def peek(self, message: Message) -> Any:
        """What is inside, to be read only, and soon: what is shared with other messages is not copied."""
        found = message._values.get(self.name)
        if found is None:
            return ()
        return found if type(found) in _SHARED else found._items

    def _owned(self, message: Message) -> Any:
        """The container, of a message that shared its content with others until now."""
        with _owning:
            shared = message._values[self.name]
            if type(shared) not in _SHARED:
                return shared  # another thread was here first
            made: Any = self.make(message)
            if type(shared) is tuple:
                made._items.extend(shared)
            else:
                made._items.update({key: copy(entry) for key, entry in shared.items()})
            message._values[self.name] = made
            return made

    def merge(self, message: Message, value: Any) -> None:
        """Adds the elements of a list, or takes over the entries of a dict; either may hold dicts for messages."""
        self.read(message).MergeFrom(value)

    fill = merge

    def present(self, message: Message) -> bool:
        """Whether there is anything inside."""
        return bool(message._values.get(self.name))


class RepeatedScalar(_Collection, Generic[T]):
    """A field with any number of scalars."""

    def __init__(self, number: int, kind: Kind[T]) -> None:
        super().__init__(number, kind)

    def make(self, message: Message) -> Values[T]:
        """An empty list."""
        return Values(message, self.kind, self.path)

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> Values[T]: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.read(message)


class RepeatedNested(_Collection, Generic[M]):
    """A field with any number of messages."""

    def __init__(self, number: int, source: type[M] | Callable[[], type[M]]) -> None:
        super().__init__(number, MessageKind(source))

    def make(self, message: Message) -> Messages[M]:
        """An empty list."""
        return Messages(message, self.kind, self.path)

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> Messages[M]: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.read(message)


class MapField(_Collection):
    """A field with values by key."""

    def __init__(self, number: int, key: Kind[Any], kind: Kind[Any]) -> None:
        super().__init__(number, kind)
        self.key = key


class ValueMapField(MapField, Generic[K, T]):
    """A field with scalars by key."""

    def __init__(self, number: int, key: Kind[K], kind: Kind[T]) -> None:
        super().__init__(number, key, kind)

    def make(self, message: Message) -> ValueMap[K, T]:
        """An empty map."""
        return ValueMap(message, self.key, self.kind, self.path)

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> ValueMap[K, T]: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.read(message)


class MessageMapField(MapField, Generic[K, M]):
    """A field with messages by key."""

    def __init__(self, number: int, key: Kind[K], source: type[M] | Callable[[], type[M]]) -> None:
        super().__init__(number, key, MessageKind(source))

    def make(self, message: Message) -> MessageMap[K, M]:
        """An empty map."""
        return MessageMap(message, self.key, self.kind, self.path)

    @overload
    def __get__(self, message: None, owner: type[Message]) -> Self: ...
    @overload
    def __get__(self, message: Message, owner: type[Message]) -> MessageMap[K, M]: ...
    def __get__(self, message: Message | None, owner: type[Message]) -> Any:
        return self if message is None else self.read(message)
