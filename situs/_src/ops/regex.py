"""Regular expressions on string tensors: RE2's language on Python's engine.

`translated` turns a pattern of RE2 into one of Python's ``re``. What RE2 refuses (lookaround,
back-references) is refused here too. A string is matched as UTF-8 text; ``\\w``, ``\\d``, ``\\s`` and
case-insensitive letters are ASCII's, as in RE2 for all but the last. Python's engine backtracks:
a pattern such as ``(a*)*b`` takes time exponential in the length of a string, where RE2 is linear.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue
from situs._src.ir.registry.traits import EACH_VALUE
from situs._src.ops.attribute import as_bool
from situs._src.ops.define import CPU, op
from situs._src.ops.strings import Array, each, joined, lines, strings_of
from situs._src.runtime.dispatch import with_host_inputs

_SPACE = r"\t\n\f\r "
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# One piece of a pattern at a time, outside of square brackets and between them: what fits first.
_ESCAPES = r"""
    \\Q(?P<quoted>.*?)(?:\\E|\Z)
    | \\(?P<negated>[pP])(?:\{(?P<long>\^?\w+)\}|(?P<short>\w))
    | \\x\{(?P<code>[0-9A-Fa-f]+)\}
    | (?P<escape>\\.)
"""
_GROUPS = r"""
    | (?P<named>\(\?<)(?=\w)
    | (?P<unknown>\(\?(?!:|P<|[ims]*(?:-[ims]+)?[:)]).?)
    | (?P<possessive>[*+?]\+)
"""
_POSIX_CLASS = r"| \[:(?P<posix_not>\^?)(?P<posix>[a-z]+):\]"
_PLAIN = r"| (?P<plain>.)"
_OUTSIDE = re.compile(_ESCAPES + _GROUPS + _PLAIN, re.VERBOSE | re.DOTALL)
_INSIDE = re.compile(_ESCAPES + _POSIX_CLASS + _PLAIN, re.VERBOSE | re.DOTALL)
_CLASS_HEAD = re.compile(r"\[\^?\]?")


class _RefusedError(ValueError):
    """The pattern is not one of RE2's, or one that has no counterpart."""


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of Python's that matches what RE2's `pattern` does.

    Raises:
        InvalidArgumentError: it is no pattern.
    """
    try:
        return re.compile(translated(pattern), re.ASCII)
    except (re.error, _RefusedError, OverflowError, RecursionError) as error:  # the last is of nested groups
        raise ArgumentError(f"Invalid pattern: {pattern}, error: {error}") from None


def translated(pattern: str) -> str:
    """A pattern of RE2's in Python's language."""
    result, in_class, at = [], False, 0
    multiline = re.search(r"\(\?[a-z]*m", pattern) is not None
    while at < len(pattern):
        piece = (_INSIDE if in_class else _OUTSIDE).match(pattern, at)
        assert piece is not None, "the last alternative takes anything"
        at = piece.end()
        if in_class:
            result.append(_in_class(piece))
            in_class = piece["plain"] != "]"
        elif piece["plain"] == "[":
            head = _CLASS_HEAD.match(pattern, piece.start())
            assert head is not None, "the piece begins so"
            result.append(head[0].replace("]", r"\]"))
            in_class, at = True, head.end()
        else:
            result.append(_outside(piece, multiline))
    if in_class:
        raise _RefusedError("missing ]")
    return "".join(result)


def _outside(piece: re.Match[str], multiline: bool) -> str:
    """The translation of a piece that stands outside of square brackets."""
    if piece["unknown"] or piece["possessive"]:
        raise _RefusedError(f"invalid perl operator: {piece[0]}")
    if piece["named"]:
        return "(?P<"
    if piece["plain"] == "$" and not multiline:
        return r"\Z"  # RE2's $ does not match before a last newline
    if piece["escape"] in (r"\s", r"\S"):
        return f"[{_SPACE}]" if piece["escape"] == r"\s" else f"[^{_SPACE}]"
    if piece["escape"] == r"\z":
        return r"\Z"
    if piece["long"] or piece["short"]:
        ranges, negated = _category(piece)
        return f"[{'^' if negated else ''}{ranges}]"
    return _anywhere(piece)


def _in_class(piece: re.Match[str]) -> str:
    """The translation of a piece that stands between square brackets."""
    if piece["posix"]:
        return _posix_class(piece["posix"], bool(piece["posix_not"]))
    if piece["escape"] == r"\s":
        return _SPACE
    if piece["long"] or piece["short"]:
        ranges, negated = _category(piece)
        if negated:
            raise _RefusedError(f"{piece[0]} between square brackets is not supported")
        return ranges
    if piece["plain"] is not None:
        return "\\" + piece["plain"] if piece["plain"] in "[&~|" else piece["plain"]  # sets of sets in Python
    return _anywhere(piece)


def _anywhere(piece: re.Match[str]) -> str:
    if piece["quoted"] is not None:
        return re.escape(piece["quoted"])
    if piece["code"]:
        code = int(piece["code"], 16)
        if code > sys.maxunicode:
            raise _RefusedError(f"invalid escape sequence: {piece[0]}")
        return re.escape(chr(code))
    if piece["escape"] and re.fullmatch(r"\\[1-9CZ]", piece["escape"]):
        raise _RefusedError(f"invalid escape sequence: {piece['escape']}")
    return piece[0]


def _posix_class(name: str, negated: bool) -> str:
    if name not in _POSIX:
        raise _RefusedError(f"invalid character class range: [:{name}:]")
    if not negated:
        return _POSIX[name]
    inside = re.compile(f"[{_POSIX[name]}]")
    return _ranges([code for code in range(128) if not inside.match(chr(code))]) + "\x80-" + chr(sys.maxunicode)


def _category(piece: re.Match[str]) -> tuple[str, bool]:
    """The characters of a Unicode category such as ``\\pL``, and whether they are to be left out."""
    name = piece["long"] or piece["short"]
    negated = (piece["negated"] == "P") != name.startswith("^")
    return _category_ranges(name.removeprefix("^")), negated


@functools.lru_cache(maxsize=16)
def _category_ranges(name: str) -> str:
    codes = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)).startswith(name)]
    if not codes:
        raise _RefusedError(
            f"invalid character class range: \\p{{{name}}}; general categories such as L and Nd are supported"
        )
    return _ranges(codes)


def _ranges(codes: list[int]) -> str:
    """Sorted code points as the ranges of a character class."""
    array = np.array(codes)
    breaks = np.flatnonzero(np.diff(array) > 1)
    starts, ends = array[np.r_[0, breaks + 1]], array[np.r_[breaks, len(array) - 1]]
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in zip(starts, ends, strict=True))


# Ops. Bytes that are no UTF-8 pass through as surrogates.


def _decode(item: bytes) -> str:
    return item.decode(errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _scalar_text(value: Any, what: str) -> str:
    """A pattern or rewrite given on the host."""
    if isinstance(value, bytes):
        return _decode(value)
    if not isinstance(value, str):
        raise ArgumentError(f"{what} must be scalar, but received {brackets(np.shape(value))}")
    return value


_replace = op(
    "RegexReplace",
    "input: string, pattern: host, rewrite: host -> output: string",
    traits={EACH_VALUE},
    replace_global=True,
)


@_replace.shape
def _replace_shape(input: TensorShape, pattern: HostValue, rewrite: HostValue, *, replace_global: bool) -> TensorShape:
    return input


@_replace.kernel(CPU)
def _replace_kernel(input: Array, pattern: HostValue, rewrite: HostValue, *, replace_global: bool) -> Array:
    regex = compiled(_scalar_text(pattern, "Pattern"))
    pieces = _rewrite_pieces(_scalar_text(rewrite, "Rewrite"), regex)
    limit = sys.maxsize if replace_global else 1
    items = input.ravel().tolist()
    in_bytes = _ascii_twin(regex.pattern) if _all_ascii(items) else None
    if in_bytes is None or _may_be_empty(regex.pattern):
        return each(lambda item: _encode(_replaced(_decode(item), regex, pieces, limit)), input)
    rewritten = _python_rewrite([piece.encode() if isinstance(piece, str) else piece for piece in pieces])
    if replace_global and not any(isinstance(piece, str) and "\n" in piece for piece in pieces):
        within = _within_lines(regex.pattern)
        text = joined(items) if within is not None else None
        if within is not None and text is not None:
            return strings_of(lines(re.sub(within, rewritten, text)), input.shape)
    count = 0 if replace_global else 1
    return strings_of([in_bytes.sub(rewritten, item, count) for item in items], input.shape)


def _python_rewrite(pieces: list[bytes | int]) -> Callable[[Any], bytes] | bytes:
    """A rewrite as Python's ``sub`` takes one."""
    if all(isinstance(piece, bytes) for piece in pieces):
        return b"".join(pieces).replace(b"\\", rb"\\")  # type: ignore[arg-type]
    return lambda match: b"".join([piece if isinstance(piece, bytes) else match[piece] or b"" for piece in pieces])


@functools.lru_cache(maxsize=256)
def _may_be_empty(pattern: str) -> bool:
    """Whether a match may be empty, in which case RE2 and Python go on differently behind it."""
    bare = re.sub(r"\\[bB]|(\\.)", lambda piece: piece[1] or "", pattern, flags=re.DOTALL)
    try:
        return re.compile(bare, re.ASCII).fullmatch("") is not None  # where all that stands for a place matches
    except re.error:
        return True


@functools.lru_cache(maxsize=256)
def _ascii_twin(pattern: str) -> re.Pattern[bytes] | None:
    """The same pattern for bytes that are ASCII text; None if it speaks of other characters."""
    return re.compile(pattern.encode()) if pattern.isascii() else None


# What a pattern for many lines at once may be made of: none of it matches a newline, or asks where a string begins.
_IN_LINE = re.compile(
    r"""
    (?: [^\\\[\]^$(\x00-\x1f]
    | \\[dwb] | \\[^\w\s]
    | \[ (?P<negated>\^?) (?: [^\\\[\]\x00-\x1f] | \\[dw] | \\[^\w\s] )+ \]
    | \( (?:\?:|(?!\?)) )*
    """,
    re.VERBOSE,
)
_NEGATED_CLASS = re.compile(r"(\\.)|\[\^")


@functools.lru_cache(maxsize=256)
def _within_lines(pattern: str) -> bytes | None:
    """A pattern for text of many lines that matches within each what `pattern` does; None if there is none."""
    if not pattern.isascii() or _IN_LINE.fullmatch(pattern) is None:
        return None
    return _NEGATED_CLASS.sub(lambda found: found[1] or "[^\n", pattern).encode()


@functools.lru_cache(maxsize=256)
def _whole_lines(pattern: str) -> re.Pattern[bytes] | None:
    """A pattern for a newline and the line behind it, if `pattern` matches all of that; None if there is none."""
    if "|" not in pattern:
        pattern = pattern.removeprefix("^").removesuffix(r"\Z")
    within = _within_lines(pattern)
    return None if within is None else re.compile(rb"\n(?:%b)(?=\n)" % within)


def _match_lines(regex: re.Pattern[bytes], items: list[bytes]) -> Any:
    """Which strings are lines that a pattern of `_whole_lines` finds; None where that cannot be told."""
    text = b"\n".join([b"", *items, b""])
    if text.count(b"\n") != len(items) + 1 or b"\0" in text:
        return None
    codes = np.frombuffer(regex.sub(b"\n\0", text), np.uint8)
    starts = np.flatnonzero(codes == ord("\n"))[:-1] + 1
    return codes[starts] == 0


def _all_ascii(items: list[bytes]) -> bool:
    return b"".join(items).isascii()


def _rewrite_pieces(rewrite: str, regex: re.Pattern[str]) -> list[str | int]:
    """A rewrite such as ``\\2-\\1`` as texts and group numbers."""
    pieces: list[str | int] = []
    for part in re.findall(r"\\.?|[^\\]+", rewrite, re.DOTALL):
        if part == "\\\\":
            pieces.append("\\")
        elif part[0] != "\\":
            pieces.append(part)
        elif not re.fullmatch(r"\\[0-9]", part) or int(part[1]) > regex.groups:
            raise ArgumentError(
                f"Invalid rewrite pattern: {rewrite}. A backslash stands before a backslash or the number of a group, "
                f"here 0 to {regex.groups}"
            )
        else:
            pieces.append(int(part[1]))
    return pieces


def _replaced(text: str, regex: re.Pattern[str], pieces: list[str | int], limit: int) -> str:
    """RE2's loop: unlike Python's, it finds no empty match right behind another match."""
    result: list[str] = []
    at, last_end, count = 0, -1, 0
    while at <= len(text) and count < limit:
        match = regex.search(text, at)
        if match is None:
            break
        result.append(text[at : match.start()])
        at = match.end()
        if match.start() == match.end() == last_end:
            result.append(text[at : at + 1])
            at += 1
            continue
        result += [piece if isinstance(piece, str) else match[piece] or "" for piece in pieces]
        last_end, count = at, count + 1
    return "".join(result) + text[at:]


@export("strings.regex_replace", v1=("regex_replace", "strings.regex_replace"))
def regex_replace(
    input: ArrayLike, pattern: ArrayLike, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Replaces what a regular expression matches in each string.

    Args:
        input: A string tensor.
        pattern: A regular expression of RE2's; a string or a string scalar.
        rewrite: What replaces a match; ``\\1`` to ``\\9`` stand for groups, ``\\0`` for the match.
        replace_global: Whether to replace all matches, or only the first of each string.
        name: A name for the op.

    Raises:
        InvalidArgumentError: the pattern or the rewrite cannot be read.
    """
    return _replace(
        input,
        _host_text(pattern),
        _host_text(rewrite),
        replace_global=as_bool(replace_global, "replace_global"),
        name=name,
    )


def _host_text(value: object) -> Any:
    return _decode(value) if isinstance(value, bytes) else value


_full_match = op("RegexFullMatch", "input: string, pattern: host -> output: bool", traits={EACH_VALUE})


@_full_match.shape
def _full_match_shape(input: TensorShape, pattern: HostValue) -> TensorShape:
    return input


@_full_match.kernel(CPU)
def _full_match_kernel(input: Array, pattern: HostValue) -> torch.Tensor:
    regex = compiled(_scalar_text(pattern, "Pattern"))
    items = input.ravel().tolist()
    in_bytes = _ascii_twin(regex.pattern) if _all_ascii(items) else None
    if in_bytes is None:
        return _flags([regex.fullmatch(_decode(item)) is not None for item in items], input)
    by_line = _whole_lines(regex.pattern)
    flags = None if by_line is None else _match_lines(by_line, items)
    return _flags([match is not None for match in map(in_bytes.fullmatch, items)] if flags is None else flags, input)


def _flags(flags: Any, input: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(flags, bool).reshape(input.shape))


@export("strings.regex_full_match")
def regex_full_match(input: ArrayLike, pattern: ArrayLike, name: str | None = None) -> Tensor:
    """Says which strings a regular expression matches from beginning to end.

    Args:
        input: A string tensor.
        pattern: A regular expression of RE2's; a string or a string scalar.
        name: A name for the op.
    """
    return _matches(input, _host_text(pattern), name=name)


_matches = with_host_inputs(_full_match)
