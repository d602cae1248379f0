"""Messages as JSON, and back.

    {"gpu_options": {"allow_growth": true}, "device_count": {"CPU": 4}}

Names are those of the fields, enums are written by name, bytes in base64, and what is not set is left out. The JSON
of protocol buffers is read as well: names in camelCase, 64-bit integers as strings, ``"NaN"`` and ``"Infinity"``.
"""

from __future__ import annotations

import base64
import functools
import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

from situs.errors import DataLossError, DTypeError, InvalidArgumentError
from situs.proto.enums import EnumType
from situs.proto.errors import FieldError, ParseError
from situs.proto.field import Field, MapField
from situs.proto.kind import MAX_DEPTH, Bytes, Integer, Kind, MessageKind, Real

if TYPE_CHECKING:
    from situs.proto.message import Message

M = TypeVar("M", bound="Message")
T = TypeVar("T")

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(message: Message, indent: int | None = None) -> str:
    """The message as JSON text."""
    return json.dumps(_as_dict(message), indent=indent, allow_nan=False)


def from_json(text: str | bytes, message: M) -> M:
    """Merges JSON text into a message and returns it; when the text is wrong, the message stays as it was.

    Raises:
        ParseError: the text is not JSON, or not of such a message.
    """
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ParseError(f"This is not JSON: {error}.") from None
    message.MergeFrom(_read_message(MessageKind(type(message)), content, type(message).__qualname__, 0))
    return message


def to_bytes(message: Message) -> bytes:
    """The message as the bytes of its shortest JSON."""
    return json.dumps(_as_dict(message), separators=(",", ":"), allow_nan=False).encode()


def from_bytes(data: bytes, message: M) -> M:
    """Merges what `to_bytes` made into a message.

    Raises:
        DataLossError: the bytes are damaged, of another message, or in the wire format of protocol buffers.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise DTypeError(f"A message is read from bytes; got {data!r} of type {type(data).__name__}.")
    try:
        return from_json(bytes(data), message) if data else message
    except InvalidArgumentError as error:
        raise DataLossError(
            f"Error parsing message with type {type(message).__qualname__!r}. It is read from the bytes that "
            f"SerializeToString() of Situs makes (JSON), not from the wire format of protocol buffers. {error}"
        ) from None


def _as_dict(message: Message) -> dict[str, Any]:
    return {field.name: _written_field(field, value) for field, value in message.ListFields()}


def _written_field(field: Field, value: Any) -> Any:
    if isinstance(field, MapField):
        return {str(key): _written(field.kind, value[key]) for key in sorted(value)}
    if field.singular:
        return _written(field.kind, value)
    return [_written(field.kind, element) for element in value]


def _written(kind: Kind[Any], value: Any) -> Any:
    if isinstance(kind, MessageKind):
        return _as_dict(value)
    if isinstance(kind, Bytes):
        return base64.b64encode(value).decode()
    if isinstance(kind, EnumType):
        name = kind.spell(value)
        return name if name in kind.keys() else value  # noqa: SIM118 - an enum is no dict
    if isinstance(kind, Real) and not math.isfinite(value):
        return next(name for name, special in _SPECIAL.items() if kind.same(special, value))
    return value


def _read_message(kind: MessageKind[M], content: Any, path: str, depth: int) -> M:
    if depth > MAX_DEPTH:
        raise ParseError(f"{path}: messages are nested more than {MAX_DEPTH} deep.")
    message, fields = kind.type(), _by_spelling(kind.type)
    for name, value in _expect(dict, content, f"{path} is a message, in JSON an object").items():
        if name not in fields:
            raise FieldError(f'{path}: Protocol message {kind.type.__qualname__} has no "{name}" field.')
        if value is not None:
            _read_field(fields[name], message, value, f"{path}.{name}", depth)
    return message


def _read_field(field: Field, message: Message, value: Any, path: str, depth: int) -> None:
    if isinstance(field, MapField):
        for key, inside in _expect(dict, value, f"{path} is a map, in JSON an object").items():
            entry = _read(field.key, key, path, depth), _read(field.kind, inside, f"{path}[{key!r}]", depth)
            field.adopt(message, entry)
    elif field.singular:
        field.adopt(message, _read(field.kind, value, path, depth))
    else:
        for i, element in enumerate(_expect(list, value, f"{path} is repeated, in JSON an array")):
            field.adopt(message, _read(field.kind, element, f"{path}[{i}]", depth))


def _expect(sort: type[T], value: Any, what: str) -> T:
    if not isinstance(value, sort):
        raise ParseError(f"{what}; got {value!r}.")
    return value


def _read(kind: Kind[Any], value: Any, path: str, depth: int) -> Any:
    if isinstance(kind, MessageKind):
        return _read_message(kind, value, path, depth + 1)
    if isinstance(value, str):
        try:
            value = _from_string(kind, value)
        except ValueError:
            raise ParseError(f"{path} is {kind.name}; got {value!r}.") from None
    return kind.check(value, path)


def _from_string(kind: Kind[Any], value: str) -> Any:
    if isinstance(kind, Bytes):
        return base64.b64decode(value, validate=True)
    if isinstance(kind, Integer):
        return int(value)
    if isinstance(kind, Real):
        return _SPECIAL[value] if value in _SPECIAL else float(value)
    return value


def _by_spelling(cls: type[Message]) -> dict[str, Field]:
    return {_camel(name): field for name, field in cls._fields.items()} | cls._fields


@functools.cache
def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
