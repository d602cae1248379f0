"""The text format cut into tokens, each with its place.

    allow_growth: true  # a comment      word "allow_growth", mark ":", word "true"

A number is cut as a whole, with its sign; what it means is for the reader, who knows which field it is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from situs.errors import InvalidArgumentError
from situs.proto.errors import ParseError
from situs.proto.literal import unquote

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|\#[^\n]*)+)
    |(?P<number>[-+]?(?:\.?[0-9](?:[eE][-+]|[\w.])*|(?:inf|infinity|nan)\b))
    |(?P<word>[A-Za-z_]\w*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<mark>[][{}<>:,;])""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Token:
    """A word, number, string or mark; the last token has the sort "end"."""

    sort: str
    text: str
    line: int
    column: int

    def bytes(self) -> bytes:
        """What a string token stands for."""
        try:
            return unquote(self.text[1:-1])
        except InvalidArgumentError as error:
            raise self.wrong(str(error)) from None

    def wrong(self, reason: str) -> ParseError:
        """The error that blames this token."""
        return ParseError(f"{self.line}:{self.column} : {reason}.")

    def __str__(self) -> str:
        return "the end of the text" if self.sort == "end" else repr(self.text)


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a text, space and comments left out, and one "end" after them.

    Raises:
        ParseError: a character starts no token, or a string has no end.
    """
    position, line, start = 0, 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _stray(text[position], line, position - start + 1)
        if match.lastgroup != "space":
            yield Token(match.lastgroup, match[0], line, position - start + 1)
        elif "\n" in match[0]:
            line, start = line + match[0].count("\n"), text.rindex("\n", position, match.end()) + 1
        position = match.end()
    yield Token("end", "", line, position - start + 1)


def _stray(char: str, line: int, column: int) -> ParseError:
    reason = "String missing ending quote" if char in "\"'" else f"Unexpected character {char!r}"
    return ParseError(f"{line}:{column} : {reason}.")
