"""``tf.compat.as_bytes`` and the like: conversions between bytes and text."""

from __future__ import annotations

import codecs
import os
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export


@export("compat.as_bytes", as_is=True)
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Bytes, or text encoded to bytes.

    Raises:
        TypeError: it is neither.
    """
    name = codecs.lookup(encoding).name
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        try:
            return bytes_or_text.encode(name)
        except UnicodeEncodeError as error:
            raise ArgumentError(f"{shown(bytes_or_text)} cannot be written as {name}: {error.reason}.") from None
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise DTypeError(f"Expected binary or unicode string, got {shown(bytes_or_text)}")


@export("compat.as_text", as_is=True)
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Text, or bytes decoded to text.

    Raises:
        TypeError: it is neither.
    """
    name = codecs.lookup(encoding).name
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(name)
    raise DTypeError(f"Expected binary or unicode string, got {shown(bytes_or_text)}")


@export("compat.as_str", as_is=True)
def as_str(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """The same as `as_text`."""
    return as_text(bytes_or_text, encoding)


@export("compat.as_str_any", as_is=True)
def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Text for anything: decoded bytes, else what ``str`` makes of it."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@export("compat.path_to_bytes", as_is=True)
def path_to_bytes(path: Any) -> bytes:
    """A path, which may be an object of `pathlib`, as bytes."""
    return as_bytes(os.fspath(path) if hasattr(path, "__fspath__") else path)


@export("compat.path_to_str", as_is=True)
def path_to_str(path: Any) -> str:
    """A path, which may be an object of `pathlib`, as text."""
    return as_str_any(os.fspath(path) if hasattr(path, "__fspath__") else path)
