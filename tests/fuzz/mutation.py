"""Valid bytes and text, damaged: bits flipped, pieces cut, doubled, moved or taken from another, numbers made absurd.

>>> from random import Random
>>> mutated_text(Random(4), "device_count { key: 'CPU' value: 2 }", []) != "device_count { key: 'CPU' value: 2 }"
True
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from random import Random
from typing import Any

NUMBERS = [
    *("0", "-1", "1", "255", "65536", "2147483647", "-2147483648", "4294967296", "9223372036854775807"),
    *("18446744073709551616", "-9223372036854775809", "1e308", "1e999", "-0.0", "nan", "inf", "0x10", "1_000", "007"),
    *("9" * 40, "9" * 5000, "1" + "0" * 400, "0." + "3" * 400, "1" + "0" * 400 + ".5", "\u0664\u0665", "\u00b2"),
]
PIECES = [
    *(
        "",
        "\0",
        "\n",
        "\r\n",
        "\t",
        " ",
        "/",
        ":",
        "*",
        "..",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        "\\",
        "\\x",
        "\\u",
        ",",
        ";",
    ),
    *("\u202e", "\ufeff", "\u00e9", "e\u0301", "\U0001f600", "\u2028", "\udcff", "%s", "${HOME}", "-", "--", "=", "#"),
    *("null", "None", "true", "NaN", "key", "{" * 200, "[" * 2000, "(" * 3000, "a" * 5000, "/" * 300),
]
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TOKEN = re.compile(r"\w+|\s+|.", re.DOTALL)


def mutated_text(random: Random, text: str, others: Sequence[str]) -> str:
    """A text with one to four kinds of damage; `others` are texts to take pieces from."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        text = random.choice(_TEXT_CHANGES)(random, text, random.choice(others) if others else text)
    return text


def mutated_bytes(random: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """Bytes with one to four kinds of damage; `others` are bytes to take pieces from."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        content = random.choice(_BYTE_CHANGES)(random, content, random.choice(others) if others else content)
    return content


# Text.


def _number(random: Random, text: str, other: str) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text + random.choice(NUMBERS)
    place = random.choice(found)
    return text[: place.start()] + random.choice(NUMBERS) + text[place.end() :]


def _insert(random: Random, text: str, other: str) -> str:
    place = random.randint(0, len(text))
    return text[:place] + random.choice(PIECES) + text[place:]


def _token(random: Random, text: str, other: str) -> str:
    """One word in the place of another, or none, or the same twice."""
    tokens, words = _TOKEN.findall(text), _TOKEN.findall(other)
    if not tokens:
        return other
    place = random.randrange(len(tokens))
    tokens[place] = random.choice(("", tokens[place] * 2, random.choice(tokens), random.choice(words or [""])))
    return "".join(tokens)


def _line(random: Random, text: str, other: str) -> str:
    lines, more = text.splitlines(keepends=True), other.splitlines(keepends=True)
    if not lines:
        return other
    first = random.randrange(len(lines))
    last = first + random.randint(0, 6)
    lines[first:last] = random.choice(([], lines[first:last] * 2, [random.choice(more)] if more else []))
    return "".join(lines)


def _truncate(random: Random, text: str, other: str) -> str:
    return text[: random.randint(0, len(text))]


def _splice(random: Random, text: str, other: str) -> str:
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]


def _characters(random: Random, text: str, other: str) -> str:
    place = random.randint(0, len(text))
    return text[:place] + chr(random.choice((random.randrange(128), random.randrange(0x110000)))) + text[place + 1 :]


_TEXT_CHANGES = (_number, _number, _insert, _token, _token, _line, _truncate, _splice, _characters)

# Bytes.


def _flip(random: Random, content: bytes, other: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, content: bytes, other: bytes) -> bytes:
    first = random.randint(0, len(content))
    return content[:first] + content[first + random.choice((1, 4, 8, 100)) :]


def _head(random: Random, content: bytes, other: bytes) -> bytes:
    return content[: random.randint(0, len(content))]


def _join(random: Random, content: bytes, other: bytes) -> bytes:
    return content[: random.randint(0, len(content))] + other[random.randint(0, len(other)) :]


def _overwrite(random: Random, content: bytes, other: bytes) -> bytes:
    """A few bytes in a row made all ones, zeros, or a large number: where lengths are, that counts."""
    place = random.randint(0, max(len(content) - 8, 0))
    number = random.choice((b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", b"\0\0\0\0\1\0\0\0", random.randbytes(8)))
    size = random.choice((1, 2, 4, 8))
    return content[:place] + number[:size] + content[place + size :]


def _grow(random: Random, content: bytes, other: bytes) -> bytes:
    return content + random.choice((b"\0", b"\0" * 4096, content, random.randbytes(20)))


def _as_text(random: Random, content: bytes, other: bytes) -> bytes:
    text, more = content.decode("utf-8", "surrogateescape"), other.decode("utf-8", "surrogateescape")
    return random.choice(_TEXT_CHANGES)(random, text, more).encode("utf-8", "replace")


_BYTE_CHANGES = (_flip, _flip, _cut, _head, _join, _overwrite, _overwrite, _grow, _as_text)

# Data of JSON.

_LEAVES: list[Any] = [
    *(None, True, "", 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 1e308, float("nan"), float("inf"), -0.5),
    *("</script><script>alert(1)</script>", "\u2028", "\udcff", "../../etc/passwd", "__proto__", "constructor"),
    *("a" * 5000, [], {}, [[]], [None], {"": None}, "NaN", "0", [0] * 1000, {"__proto__": {"x": 1}}),
]


def mutated_data(random: Random, data: Any) -> Any:
    """Data of JSON with one to four of its parts changed, taken out, doubled, moved, or nested deep; a new copy."""
    data = copy.deepcopy(data)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        holder, key = _place(random, data)
        if holder is None:
            continue
        change = random.randrange(7)
        if change == 0 and isinstance(holder, dict):
            del holder[key]
        elif change == 0:
            holder.pop(key)
        elif change == 1 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif change == 2:
            other, there = _place(random, data)
            holder[key] = copy.deepcopy(other[there]) if other is not None else None
        elif change == 3:
            holder[key] = _nested(random, holder[key])
        elif change == 4 and type(holder[key]) in (int, float) and abs(holder[key]) < 2**64:
            holder[key] = random.choice((holder[key] + 1, -holder[key], holder[key] * 1_000_003, holder[key] / 7))
        elif change == 5 and isinstance(holder, dict):
            holder[random.choice([leaf for leaf in _LEAVES if isinstance(leaf, str)])] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(random.choice(_LEAVES))
    return data


def _place(random: Random, data: Any) -> tuple[Any, Any]:
    """A part of the data: what holds it, and where there; (None, None) if the data has no parts."""
    holder, key = None, None
    while isinstance(data, (dict, list)) and data:
        holder, key = data, random.choice(sorted(data)) if isinstance(data, dict) else random.randrange(len(data))
        data = holder[key]
        if random.random() < 0.25:
            break
    return holder, key


def _nested(random: Random, value: Any) -> Any:
    for _ in range(random.choice((1, 3, 400))):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value
