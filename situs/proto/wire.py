"""The wire format of protocol buffers, for the messages that other programs write and read: ``tf.train.Example``.

    tag (number * 8 + kind)   value         and so on, in any order
      kind 0                  varint        7 bits a byte, the lowest first; a set highest bit says that more follow
      kind 1, 5               8, 4 bytes
      kind 2                  a length, and so many bytes: strings, messages, lists of numbers in one piece, map entries

Nothing is trusted: a length beyond the end, a number that is too long or a kind that does not exist is an error. Fields
that nobody knows are passed over, as protocol buffers do it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from situs.errors import DataLossError, DTypeError
from situs.proto.field import Field, MapField
from situs.proto.kind import MAX_DEPTH, Boolean, Bytes, Integer, Kind, MessageKind, Real, Text
from situs.proto.message import Message

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
_SIZES = {FIXED64: 8, FIXED32: 4}
_LONGEST = 10  # bytes of a varint


class WireError(ValueError):
    """Says what is wrong with some bytes."""


class WireMessage(Message):
    """A message whose bytes are those of protocol buffers."""

    __slots__ = ()

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:  # noqa: N802
        """The message in the wire format; equal messages give equal bytes.

        Args:
            deterministic: Accepted for programs that pass it; the bytes always are.
        """
        return encoded(self)

    def MergeFromString(self, data: bytes) -> int:  # noqa: N802
        """Merges a message in the wire format; returns the number of its bytes.

        Raises:
            DataLossError: the bytes are damaged.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise DTypeError(f"A message is read from bytes; got {data!r} of type {type(data).__name__}.")
        read = type(self)()
        try:
            decode(bytes(data), read, 0)
        except WireError as error:
            raise DataLossError(f"Error parsing message with type {type(self).__qualname__!r}: {error}") from None
        self.MergeFrom(read)
        return len(data)


# Taking bytes apart.


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """The number, the kind and the value of each field: an integer, or bytes.

    Raises:
        WireError: this is no message.
    """
    place, end = 0, len(data)
    while place < end:
        tag, place = _varint(data, place)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise WireError(f"a field has the number {number}")
        if kind == VARINT:
            value, place = _varint(data, place)
            yield number, kind, value
            continue
        if kind == LENGTH:
            size, place = _varint(data, place)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise WireError(f"there are no fields of kind {kind}")
        if size > end - place:
            raise WireError(f"a field of {size} bytes has {end - place}")
        yield number, kind, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    for byte in data[place : place + _LONGEST]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (2**64 - 1), place + shift // 7
    raise WireError("a number has no end")


def varints(data: bytes) -> np.ndarray[Any, Any]:
    """The numbers of a list in one piece, as int64.

    Raises:
        WireError: the last one has no end, or one is too long.
    """
    found = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(found < 128)
    if len(found) and (not len(ends) or ends[-1] != len(found) - 1):
        raise WireError("a number has no end")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    sizes = ends - starts + 1
    if len(sizes) and sizes.max() > _LONGEST:
        raise WireError("a number has no end")
    shifts = (7 * (np.arange(len(found)) - np.repeat(starts, sizes))).astype(np.uint64)
    parts = (found & 127).astype(np.uint64) << shifts
    return np.add.reduceat(parts, starts).view(np.int64) if len(parts) else parts.view(np.int64)


# Messages.


def decode(data: bytes, message: Message, depth: int) -> None:
    """Merges bytes into a message.

    Raises:
        WireError: they are damaged.
    """
    if depth > MAX_DEPTH:
        raise WireError(f"messages are nested more than {MAX_DEPTH} deep")
    known = {field.number: field for field in message._fields.values()}
    for number, kind, value in fields(data):
        if number in known:
            _decode_field(known[number], message, kind, value, depth)


def _decode_field(field: Field, message: Message, kind: int, value: Any, depth: int) -> None:
    if isinstance(field, MapField):
        field.adopt(message, _entry(field, value, depth))
    elif isinstance(field.kind, (Integer, Real, Boolean)) and kind == LENGTH and not field.singular:
        for item in _packed(field.kind, value):
            field.adopt(message, item)
    else:
        field.adopt(message, _one(field.kind, kind, value, depth))


def _entry(field: MapField, data: Any, depth: int) -> tuple[Any, Any]:
    if not isinstance(data, bytes):
        raise WireError("an entry of a map is no message")
    key: Any = field.key.default
    value: Any = field.kind.type() if isinstance(field.kind, MessageKind) else field.kind.default
    for number, kind, part in fields(data):
        if number == 1:
            key = _one(field.key, kind, part, depth)
        elif number == 2:
            value = _one(field.kind, kind, part, depth)
    return key, value


def _packed(kind: Kind[Any], data: bytes) -> list[Any]:
    if not isinstance(kind, Real):
        return [_integer(kind, number) for number in varints(data).tolist()]
    size = 4 if kind.single else 8
    if len(data) % size:
        raise WireError(f"{len(data)} bytes are no list of numbers of {size} bytes")
    return np.frombuffer(data, f"<f{size}").tolist()  # type: ignore[no-any-return]


def _one(kind: Kind[Any], wire: int, value: Any, depth: int) -> Any:
    if isinstance(kind, MessageKind) and wire == LENGTH:
        made = kind.type()
        decode(value, made, depth + 1)
        return made
    if isinstance(kind, Bytes) and wire == LENGTH:
        return value
    if isinstance(kind, Text) and wire == LENGTH:
        return text_of(value)
    if isinstance(kind, Real) and wire == (FIXED32 if kind.single else FIXED64):
        return struct.unpack("<f" if kind.single else "<d", value)[0]
    if isinstance(kind, (Integer, Boolean)) and wire == VARINT:
        return _integer(kind, value if value < 2**63 else value - 2**64)
    what = kind.type.__name__ if isinstance(kind, MessageKind) else kind.name
    raise WireError(f"{what} is not spelled in kind {wire}")


def text_of(data: bytes) -> str:
    """A string.

    Raises:
        WireError: it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WireError(f"a string is not UTF-8: {error}") from None


def _integer(kind: Kind[Any], number: int) -> Any:
    if isinstance(kind, Boolean):
        return bool(number)
    assert isinstance(kind, Integer)
    return (number - kind.low) % (kind.high - kind.low + 1) + kind.low  # what does not fit loses its upper bits


# Putting bytes together.


def encoded(message: Message) -> bytes:
    """A message as bytes."""
    return b"".join(_field_bytes(field, value) for field, value in message.ListFields())


def _field_bytes(field: Field, value: Any) -> bytes:
    if isinstance(field, MapField):
        entries = [_item(1, field.key, key) + _item(2, field.kind, value[key]) for key in sorted(value)]
        return b"".join(_delimited(field.number, entry) for entry in entries)
    if field.singular:
        return _item(field.number, field.kind, value)
    if isinstance(field.kind, Real):
        return _delimited(field.number, np.array(list(value), "<f4" if field.kind.single else "<f8").tobytes())
    if isinstance(field.kind, (Integer, Boolean)):
        return _delimited(field.number, b"".join(_number(int(item)) for item in value))
    return b"".join(_item(field.number, field.kind, item) for item in value)


def _item(number: int, kind: Kind[Any], value: Any) -> bytes:
    if isinstance(kind, MessageKind):
        return _delimited(number, encoded(value))
    if isinstance(kind, Text):
        return _delimited(number, value.encode())
    if isinstance(kind, Bytes):
        return _delimited(number, value)
    if isinstance(kind, Real):
        spelled = struct.pack("<f" if kind.single else "<d", value)
        return _number(number << 3 | (FIXED32 if kind.single else FIXED64)) + spelled
    return _number(number << 3 | VARINT) + _number(int(value))


def _delimited(number: int, content: bytes) -> bytes:
    return _number(number << 3 | LENGTH) + _number(len(content)) + content


def _number(value: int) -> bytes:
    value &= 2**64 - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
