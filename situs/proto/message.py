"""`Message`: a value with declared, typed fields that prints itself.

    class ThreadPoolOptionProto(Message):
        num_threads = Scalar(1, INT32)
        global_name = Scalar(2, STRING)

    print(ThreadPoolOptionProto(num_threads=4))        num_threads: 4

Works as the messages of protocol buffers do. A nested message can be asked for at any time, but is *present* (printed,
copied, seen by ``HasField``) only once something inside it was set: until then its parent keeps it as a draft, and the
first change inside tells the parent. Reading from several threads is safe, changing is not.

The bytes of ``SerializeToString`` are Situs's own: the JSON of `situs.proto.json_format`. Messages that other programs
read and write have the wire format of protocol buffers: `situs.proto.wire`.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from situs import locks
from situs.errors import DTypeError
from situs.proto.errors import FieldError
from situs.proto.field import Field, Nested
from situs.proto.json_format import from_bytes, to_bytes
from situs.proto.printer import to_text


class Message:
    """The base of all messages: declare the fields as class attributes."""

    __slots__ = ("_drafts", "_owner", "_values")
    __hash__ = None  # type: ignore[assignment]

    _fields: ClassVar[dict[str, Field]] = {}
    _oneofs: ClassVar[dict[str, list[Field]]] = {}

    _values: dict[str, Any]
    _drafts: dict[str, Message]
    _owner: tuple[Message, Field] | None

    def __init_subclass__(cls) -> None:
        declared = [value for value in vars(cls).values() if isinstance(value, Field)]
        cls._fields = {field.name: field for field in sorted(declared, key=lambda field: field.number)}
        cls._oneofs = {}
        for field in declared:
            if field.oneof:
                cls._oneofs.setdefault(field.oneof, []).append(field)

    def __init__(self, *positional: Any, **fields: Any) -> None:
        if positional:
            raise DTypeError(
                f"No positional arguments allowed: {type(self).__qualname__}(field=value), got {positional}."
            )
        _set(self, "_values", {})
        _set(self, "_drafts", {})
        _set(self, "_owner", None)
        for name, value in fields.items():
            field = self._field(name)
            if value is not None:
                field.fill(self, value)

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Self:
        """A message of checked values.

        A repeated field of scalars may be a tuple, a map to messages a dict of messages that nobody changes any more:
        each becomes the message's own when it is first asked for, so that what nobody looks into costs little.
        """
        message = cls.__new__(cls)
        _set(message, "_values", values)
        _set(message, "_owner", None)
        return message

    def CopyFrom(self, other: Self) -> None:  # noqa: N802
        """Makes this message equal to `other`, which must be of the same class."""
        self._same_class(other, "CopyFrom")
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Self) -> None:  # noqa: N802
        """Takes over what is set in `other`: scalars replace, lists grow, maps and nested messages merge."""
        self._same_class(other, "MergeFrom")
        for field, value in other.ListFields():
            field.merge(self, value)
        self._touch()

    def Clear(self) -> None:  # noqa: N802
        """Unsets every field."""
        for name in [*self._values, *self._drafts]:
            self._drop(name)
        self._touch()

    def ClearField(self, field_name: str) -> None:  # noqa: N802
        """Unsets one field, or whichever field of a oneof is set."""
        fields = self._oneofs[field_name] if self._is_oneof(field_name) else [self._field(field_name)]
        for name in [field.name for field in fields]:
            self._drop(name)
        self._touch()

    def HasField(self, field_name: str) -> bool:  # noqa: N802
        """Whether a nested message, or a field of a oneof, is set."""
        if self._is_oneof(field_name):
            return self.WhichOneof(field_name) is not None
        field = self._field(field_name)
        if not field.has_presence:
            raise FieldError(f"Field {field.path} does not have presence: read it and compare with its default.")
        return field.present(self)

    def WhichOneof(self, oneof_group: str) -> str | None:  # noqa: N802
        """The name of the field of a oneof that is set, or None."""
        if not self._is_oneof(oneof_group):
            raise self._unknown(oneof_group)
        return next((field.name for field in self._oneofs[oneof_group] if field.present(self)), None)

    def ListFields(self) -> list[tuple[Field, Any]]:  # noqa: N802
        """The fields that are set, with their values, in the order of their numbers."""
        return [(field, field.read(self)) for field in self._fields.values() if field.present(self)]

    def SetInParent(self) -> None:  # noqa: N802
        """Makes this message present in its parent, even if nothing inside is set."""
        self._touch()

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:  # noqa: N802
        """The message as bytes, which are JSON: equal messages give equal bytes.

        Args:
            deterministic: Accepted for programs that pass it; the bytes always are.
        """
        return to_bytes(self)

    @classmethod
    def FromString(cls, data: bytes) -> Self:  # noqa: N802
        """The message that ``SerializeToString`` turned into these bytes."""
        message = cls()
        message.MergeFromString(data)
        return message

    def ParseFromString(self, data: bytes) -> int:  # noqa: N802
        """Makes this message what ``SerializeToString`` turned into these bytes; returns their number."""
        self.CopyFrom(self.FromString(data))
        return len(data)

    def MergeFromString(self, data: bytes) -> int:  # noqa: N802
        """Merges what ``SerializeToString`` turned into these bytes; returns their number."""
        from_bytes(data, self)
        return len(data)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = self.ListFields(), other.ListFields()
        return len(mine) == len(theirs) and all(
            f is g and f.same(x, y) for (f, x), (g, y) in zip(mine, theirs, strict=True)
        )

    def __str__(self) -> str:
        return to_text(self)

    __repr__ = __str__

    def __copy__(self) -> Self:
        values = self._values
        if all(type(value) in _ATOMS for value in values.values()):
            return self._of(dict(values))
        message = type(self)()
        message.MergeFrom(self)
        return message

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self.SerializeToString(),)

    if not TYPE_CHECKING:  # a type checker would take these for "any attribute goes"

        def __getattr__(self, name: str) -> dict[str, Message]:
            if name != "_drafts":
                raise self._unknown(name)
            with _making:  # one for all threads that read at the same time
                try:
                    return object.__getattribute__(self, name)
                except AttributeError:
                    _set(self, name, {})
            return self._drafts

        def __setattr__(self, name: str, value: Any) -> None:
            self._field(name)
            _set(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise FieldError(f"Cannot delete field attribute {name!r} of {type(self).__qualname__}. Use ClearField().")

    def _touch(self) -> None:
        """Makes this message present in the parent that holds it as a draft."""
        if self._owner is not None:
            parent, field = self._owner
            _set(self, "_owner", None)
            parent._drafts.pop(field.name, None)
            parent._put(field, self)

    def _put(self, field: Field, value: Any) -> None:
        """Stores a checked value; the other fields of a oneof go."""
        if field.oneof:
            for other in self._oneofs[field.oneof]:
                self._values.pop(other.name, None)
        self._values[field.name] = value
        self._touch()

    def _draft(self, field: Nested[Any]) -> Message:
        """The message to hand out for a nested field that is not set."""
        draft = self._drafts.get(field.name)
        if draft is None:
            message = field.kind.type()
            _set(message, "_owner", (self, field))
            draft = self._drafts.setdefault(field.name, message)  # one for all threads that read at the same time
        return draft

    def _drop(self, name: str) -> None:
        """Forgets a field; what was handed out for it goes on alone."""
        self._values.pop(name, None)
        draft = self._drafts.pop(name, None)
        if draft is not None:
            _set(draft, "_owner", None)

    def _field(self, name: str) -> Field:
        if not isinstance(name, str) or name not in self._fields:
            raise self._unknown(name)
        return self._fields[name]

    def _is_oneof(self, name: object) -> bool:
        return isinstance(name, str) and name in self._oneofs

    def _unknown(self, name: object) -> FieldError:
        near = difflib.get_close_matches(str(name), [*self._fields, *self._oneofs], n=1)
        known = f"Did you mean {near[0]!r}?" if near else f"Its fields are: {', '.join(self._fields)}."
        return FieldError(f'Protocol message {type(self).__qualname__} has no "{name}" field. {known}')

    def _same_class(self, other: object, method: str) -> None:
        if type(other) is not type(self):
            raise DTypeError(
                f"Parameter to {method}() must be instance of same class: expected {type(self).__qualname__} "
                f"got {type(other).__qualname__}."
            )


_set = object.__setattr__
_ATOMS = frozenset({bool, int, float, str, bytes})
_making = locks.lock()
