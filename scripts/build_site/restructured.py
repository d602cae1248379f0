"""Docstrings of Situs as reStructuredText.

They are plain text with a few customs, which become markup here: code stands between backquotes, sections have
Google's heads (``Args:``, ``Returns:``, ``Example:``), and what is indented is shown as it is. All else is escaped, so
that no docstring can break a page.
"""

from __future__ import annotations

import ast
import inspect
import re

_SECTION = re.compile(r"(Args|Arguments|Attributes|Example|Examples|Raises|Returns|Yields):\n")
_CODE = re.compile(r"``(.+?)``|`(.+?)`", re.DOTALL)
_ITEM = re.compile(r"(\*{0,2}[\w., ]+?)(?: \(.*?\))?: (.*)", re.DOTALL)


def inline(text: str) -> str:
    """A paragraph's text on one line, its code as literals, and nothing else with a meaning."""
    parts, end = [], 0
    for found in _CODE.finditer(text):
        parts += [_escaped(text[end : found.start()]), f"``{' '.join((found[1] or found[2]).split())}``"]
        parts += ["\\ "] if re.match(r"\w", text[found.end() :]) else []  # a literal ends before a space or a sign
        end = found.end()
    return " ".join("".join([*parts, _escaped(text[end:])]).split())


def summary(docstring: str | None) -> str:
    """The first sentence, as one line."""
    first = inspect.cleandoc(docstring or "").split("\n\n", 1)[0]
    return inline(re.split(r"(?<=[.:])\s", first, maxsplit=1)[0].rstrip(":"))


def body(docstring: str | None) -> list[str]:
    """A docstring as lines of reStructuredText."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        lines += [*_block(block), ""]
    return lines


def _block(block: str) -> list[str]:
    head = _SECTION.match(block)
    if head and head[1] in ("Example", "Examples"):
        return _code(block[head.end() :])
    if head:
        return _fields(head[1], block[head.end() :])
    if block.startswith("    "):
        return _code(block)
    if re.match(r"[-*] ", block):
        return [f"- {inline(each)}" for each in re.split(r"(?:^|\n)[-*] ", block)[1:]]
    prose, indented = [], []
    for line in block.splitlines():
        (indented if line.startswith("    ") or indented else prose).append(line)
    return [inline("\n".join(prose)), "", *(_code("\n".join(indented)) if indented else [])]


def _fields(section: str, text: str) -> list[str]:
    """A section as fields of an object's description."""
    text = inspect.cleandoc(f"\n{text}")
    if section in ("Returns", "Yields"):
        return [f":returns: {inline(text)}"]
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line)
    field = "raises" if section == "Raises" else "param"
    found = [(_ITEM.match(item), item) for item in items]
    return [
        f":{field} {_escaped(match[1])}: {inline(match[2])}" if match else f":{field}: {inline(item)}"
        for match, item in found
    ]


def _code(text: str) -> list[str]:
    """An indented block, as it is."""
    text = inspect.cleandoc(f"\n{text}")
    language = "pycon" if text.startswith(">>>") else "python" if _is_python(text) else "text"
    return [f".. code-block:: {language}", "", *(f"    {line}".rstrip() for line in text.splitlines())]


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _escaped(text: str) -> str:
    return re.sub(r"([*_|\\`<>:\[\]])", r"\\\1", text)
