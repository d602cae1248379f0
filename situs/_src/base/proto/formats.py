"""Parsing messages from text, JSON and bytes, with Situs' errors: what is wrong, and in which line.

>>> from situs._src.base.proto.config import ConfigProto
>>> parse('device_count { key: "CPU" value: 4 }', ConfigProto()).device_count["CPU"]
4
"""

from __future__ import annotations

from typing import IO, Any, TypeVar

from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError, Message

from situs._src.base.errors import DataLossError, InvalidArgumentError

M = TypeVar("M")


class ParseError(InvalidArgumentError):
    """The text or the JSON does not spell a message of the class it was read into."""


def to_text(message: object) -> str:
    """The message in the text format, one line a field; empty when nothing is set."""
    return str(text_format.MessageToString(message))


def parse(text: str | bytes | IO[Any], message: M) -> M:
    """Merges a text into a message and returns it; when the text is wrong, the message stays as it was.

    Args:
        text: What ``str(message)`` gives, or the same written by hand: comments, commas and lists are fine. An open
            file is read.
        message: The message to merge into.

    Raises:
        ParseError: the text is not in the format, or names fields or values that the message cannot have. It starts
            with the line and the column.
    """
    if not isinstance(message, Message):
        raise ParseError(f"Text is parsed into a message; got {message!r} of type {type(message).__name__}.")
    try:
        read = text_format.Parse(_decoded(text), type(message)())
    except text_format.ParseError as error:
        raise ParseError(_said(error)) from None
    except RecursionError:
        raise ParseError("Messages are nested too deep.") from None
    message.MergeFrom(read)
    return message


def _said(error: Exception) -> str:
    return str(error).replace('"tensorboard.', '"')  # the package that TensorBoard's copies of the messages are in


def _decoded(text: object) -> str:
    content = text if isinstance(text, (str, bytes, bytearray)) else getattr(text, "read", lambda: None)()
    try:
        if isinstance(content, str):
            content.encode()  # half of a surrogate pair is no character
            return content
        if isinstance(content, (bytes, bytearray)):
            return bytes(content).decode()
    except UnicodeError as error:
        raise ParseError(f"The text of a message is Unicode: {error}.") from None
    raise ParseError(f"A message is parsed from a string; got a {type(text).__name__} that is not one.")


def to_json(message: object) -> str:
    """The message as JSON, with the names of the fields as they are."""
    return str(json_format.MessageToJson(message, preserving_proto_field_name=True))


def from_json(text: str | bytes, message: M) -> M:
    """Merges JSON into a message and returns it; when it is wrong, the message stays as it was.

    Raises:
        ParseError: the text is not JSON, or not of such a message.
    """
    try:
        read = json_format.Parse(text, type(message)())
    except (json_format.ParseError, UnicodeError, RecursionError, TypeError) as error:  # TypeError: protobuf 5
        raise ParseError(f"This is no JSON of a {type(message).__name__}: {_said(error)}") from None
    message.MergeFrom(read)  # type: ignore[attr-defined]
    return message


def from_bytes(data: bytes, kind: type[M]) -> M:
    """The message that was written to bytes.

    Raises:
        DataLossError: the bytes are not a message.
    """
    try:
        return kind.FromString(data)  # type: ignore[attr-defined, no-any-return]
    except DecodeError as error:
        raise DataLossError(f"These bytes are no {kind.__name__} message: {error}.") from None


def read_any(content: bytes, kind: type[M]) -> M:
    """The message in a file: bytes, text, or the JSON that Situs 0.1 wrote instead of bytes.

    Raises:
        InvalidArgumentError: it is not one of them.
    """
    if content.startswith(b"{"):  # which no message of bytes begins with
        return from_json(content, kind())
    try:
        return from_bytes(content, kind)
    except DataLossError as error:  # as for all text: what the names of fields begin with is no beginning of a message
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise InvalidArgumentError(str(error)) from None
    return from_json(text, kind()) if text.lstrip().startswith("{") else parse(text, kind())
