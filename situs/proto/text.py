"""Reading the text format of protocol buffers back into messages.

    >>> from situs.proto.config import ConfigProto
    >>> parse('device_count { key: "CPU" value: 4 }', ConfigProto()).device_count
    {'CPU': 4}

The reader goes over the tokens once, with one method per part of the grammar:

    message:  field*                       field:   name [":"] "{" message "}"  |  name ":" value
    value:    word | number | string+      list:    name ":" "[" value, value, ... "]"
"""

from __future__ import annotations

import re
from typing import IO, Any, TypeVar

from situs.errors import InvalidArgumentError
from situs.proto.enums import EnumType
from situs.proto.errors import ParseError
from situs.proto.field import Field, MapField
from situs.proto.kind import MAX_DEPTH, Boolean, Bytes, Kind, MessageKind, Real, Text
from situs.proto.message import Message
from situs.proto.tokens import Token, tokens

M = TypeVar("M", bound=Message)

_CLOSING = {"{": "}", "<": ">"}
_BOOLS = {"true": True, "True": True, "t": True, "1": True, "false": False, "False": False, "f": False, "0": False}
_NUMBER = re.compile(r"[-+]?(?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<octal>0[0-7]+)|(?P<decimal>0|[1-9]\d*))")


def parse(text: str | bytes | IO[Any], message: M) -> M:
    """Merges a text into a message and returns it; when the text is wrong, the message stays as it was.

    Args:
        text: What ``str(message)`` gives, or the same written by hand: comments, commas and lists are fine. An open
            file is read.
        message: The message to merge into. A scalar that is set already is replaced.

    Raises:
        ParseError: the text is not in the format, or names fields or values that the message cannot have. It starts
            with the line and the column.
    """
    if not isinstance(message, Message):
        raise ParseError(f"Text is parsed into a message; got {message!r} of type {type(message).__name__}.")
    read = _Reader(_decoded(text)).message(type(message), close="", depth=0)
    message.MergeFrom(read)
    return message


def _decoded(text: Any) -> str:
    try:
        content = text if isinstance(text, (str, bytes, bytearray)) else text.read()
        return content if isinstance(content, str) else bytes(content).decode()
    except (AttributeError, TypeError, UnicodeError):
        raise ParseError(f"A message is parsed from a string; got a {type(text).__name__} that is none.") from None


class _Reader:
    """One pass over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._next = next(self._tokens)

    def message(self, cls: type[M], close: str, depth: int) -> M:
        """Fields until the closing mark, or until the end of the text where there is none."""
        if depth > MAX_DEPTH:
            raise self._next.wrong(f"Messages are nested more than {MAX_DEPTH} deep")
        message = cls()
        while not self._closes(close):
            self._field(message, depth)
            self._skip(",") or self._skip(";")
        return message

    def _field(self, message: Message, depth: int) -> None:
        name = self._take()
        if name.sort != "word":
            raise name.wrong(f"Expected the name of a field of {type(message).__qualname__}, found {name}")
        field = message._fields.get(name.text)
        if field is None:
            raise name.wrong(str(message._unknown(name.text)).removesuffix("."))
        colon = self._skip(":")
        if not colon and not isinstance(field.kind, MessageKind) and not isinstance(field, MapField):
            raise self._next.wrong(f'Expected ":" after {name}, found {self._next}')
        for value in self._values(field, depth):
            field.adopt(message, value)

    def _values(self, field: Field, depth: int) -> list[Any]:
        if field.singular or not self._skip("["):
            return [self._value(field, depth)]
        values: list[Any] = []
        while not self._skip("]"):
            if values and not self._skip(","):
                raise self._next.wrong(f'Expected "," or "]", found {self._next}')
            values.append(self._value(field, depth))
        return values

    def _value(self, field: Field, depth: int) -> Any:
        if isinstance(field, MapField):
            return self._entry(field, depth)
        return self._element(field.kind, field.path, depth)

    def _entry(self, field: MapField, depth: int) -> tuple[Any, Any]:
        """One ``{ key: ... value: ... }`` of a map; either may be left out."""
        kinds, found, close = {"key": field.key, "value": field.kind}, {}, self._open()
        while not self._closes(close):
            name = self._take()
            if name.text not in kinds:
                raise name.wrong(f"An entry of {field.path} has a key and a value, found {name}")
            self._skip(":")
            found[name.text] = self._element(kinds[name.text], f"{field.path}.{name.text}", depth)
            self._skip(",") or self._skip(";")
        if "value" not in found:
            found["value"] = field.kind.type() if isinstance(field.kind, MessageKind) else field.kind.default
        return found.get("key", field.key.default), found["value"]

    def _element(self, kind: Kind[Any], path: str, depth: int) -> Any:
        if isinstance(kind, MessageKind):
            return self.message(kind.type, close=self._open(), depth=depth + 1)
        token = self._take()
        value: Any = _scalar(kind, token)
        while token.sort == "string" and self._next.sort == "string":
            value += self._take().bytes()
        try:
            return kind.check(value, path)
        except InvalidArgumentError as error:
            raise token.wrong(str(error).removesuffix(".")) from None

    def _open(self) -> str:
        token = self._take()
        if token.text not in _CLOSING or token.sort != "mark":
            raise token.wrong(f'Expected "{{", found {token}')
        return _CLOSING[token.text]

    def _closes(self, close: str) -> bool:
        """Whether a message ends here, with its closing mark or with the text."""
        if not close:
            return self._next.sort == "end"
        if self._next.sort == "end":
            raise self._next.wrong(f'Expected "{close}", found {self._next}')
        return self._skip(close)

    def _skip(self, mark: str) -> bool:
        found = self._next.sort == "mark" and self._next.text == mark
        if found:
            self._take()
        return found

    def _take(self) -> Token:
        token = self._next
        if token.sort != "end":
            self._next = next(self._tokens)
        return token


def _scalar(kind: Kind[Any], token: Token) -> Any:
    """The value a token spells for a field of this kind; strings as bytes."""
    if isinstance(kind, (Text, Bytes)):
        if token.sort != "string":
            raise token.wrong(f"Expected string but found: {token}")
        return token.bytes()
    if isinstance(kind, Boolean):
        if token.text not in _BOOLS:
            raise token.wrong(f'Expected "true" or "false", found {token}')
        return _BOOLS[token.text]
    if isinstance(kind, EnumType) and token.sort == "word":
        return token.text
    return _float(token) if isinstance(kind, Real) else _integer(token)


def _integer(token: Token) -> int:
    match = _NUMBER.fullmatch(token.text)
    if match is None or len(token.text) > 100:
        raise token.wrong(f"Couldn't parse integer: {token}")
    base = 16 if match["hex"] else 8 if match["octal"] else 10
    digits = match["hex"] or match["octal"] or match["decimal"]
    return -int(digits, base) if token.text.startswith("-") else int(digits, base)


def _float(token: Token) -> float:
    text = token.text.lower()
    try:
        if token.sort == "string" or "_" in text:
            raise ValueError
        return float(text.removesuffix("f") if not text.endswith("inf") else text)
    except ValueError:
        raise token.wrong(f"Couldn't parse float: {token}") from None
