r"""How the text format spells strings, bytes and floats, and how it is read back.

>>> print(quote('say "hi"\n'))
"say \"hi\"\n"
>>> unquote('\\303\\251').decode()
'é'
>>> spell_float(0.1, single=False), spell_float(3.0, single=True)
('0.1', '3')
"""

from __future__ import annotations

import math
import re
import struct

from situs.errors import InvalidArgumentError

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_MEANING = {name[1]: char for char, name in _NAMED.items()} | {"a": "\a", "b": "\b", "f": "\f", "v": "\v", "?": "?"}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))", re.DOTALL)


def quote(value: str | bytes) -> str:
    """The value in double quotes; of bytes, everything outside ASCII as octal escapes."""
    if isinstance(value, str):
        return '"' + "".join(_escaped(char, raw_above=0x7F) for char in value) + '"'
    return '"' + "".join(_escaped(chr(byte), raw_above=0xFF) for byte in value) + '"'


def _escaped(char: str, raw_above: int) -> str:
    if char in _NAMED:
        return _NAMED[char]
    return char if " " <= char <= "~" or ord(char) > raw_above else f"\\{ord(char):03o}"


def unquote(inside: str) -> bytes:
    """The bytes that the inside of a quoted string stands for.

    Raises:
        InvalidArgumentError: an escape is unknown, or names no byte or character; or there is half of a character.
    """
    pieces, position = [], 0
    for match in _ESCAPE.finditer(inside):
        pieces += [_encoded(inside[position : match.start()]), _meant(match)]
        position = match.end()
    return b"".join([*pieces, _encoded(inside[position:])])


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{text[error.start]!a} is half of a character") from None


def _meant(match: re.Match[str]) -> bytes:
    octal, hexadecimal, short, long, named = match.groups()
    if named is not None:
        if named not in _MEANING:
            raise InvalidArgumentError(f"there is no escape {match[0]!r}")
        return _MEANING[named].encode()
    if short or long:
        return _character(int(short or long, 16), match[0])
    byte = int(octal, 8) if octal else int(hexadecimal, 16)
    if byte > 0xFF:
        raise InvalidArgumentError(f"the escape {match[0]!r} is more than one byte")
    return bytes([byte])


def _character(point: int, spelled: str) -> bytes:
    try:
        return chr(point).encode()
    except (ValueError, OverflowError):  # past the end of Unicode, or half of a pair
        raise InvalidArgumentError(f"the escape {spelled!r} names no character") from None


def spell_float(value: float, single: bool) -> str:
    """The shorter of two spellings that reads back as the same float32 or float64."""
    short = f"{value:.6g}" if single else f"{value:.15g}"
    if not math.isfinite(value) or (to_single(float(short)) if single else float(short)) == value:
        return short
    return f"{value:.9g}" if single else f"{value:.17g}"


def to_single(value: float) -> float:
    """The nearest float32; infinity when it is too large for one."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
