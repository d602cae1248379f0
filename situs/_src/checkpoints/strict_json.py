"""Strict JSON parsing.

    >>> loads(b'{"a": [1, 2.5, "b"]}')
    {'a': [1, 2.5, 'b']}

Keys must be unique, numbers finite, the text UTF-8, and the nesting limited: a recursive parser could overflow the
stack.
"""

from __future__ import annotations

import json
import re
from typing import Any

from situs._src.base.errors import shown

DEEPEST = 20
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[][{}]")


class NotStrictError(ValueError):
    """Says what is wrong with a text."""


def loads(content: bytes) -> Any:
    """What a text stands for.

    Raises:
        NotStrictError: it is not JSON, or JSON of the wrong kind.
    """
    depth = 0
    for mark in _BRACKETS.findall(_STRINGS.sub(b"", content)):
        depth += 1 if mark in b"[{" else -1
        if depth > DEEPEST:
            raise NotStrictError("it is nested too deep")
    try:
        return json.loads(content.decode(), object_pairs_hook=_without_twins, parse_constant=_no_constant)
    except NotStrictError:
        raise
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, a number of thousands of digits
        raise NotStrictError(f"it is not JSON ({shown(str(error))})") from None


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise NotStrictError(f"it has {shown(name)} twice")
        found[name] = value
    return found


def _no_constant(text: str) -> Any:
    raise NotStrictError(f"it has the number {text}")
