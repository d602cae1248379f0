"""What a program uses and Situs lacks: for the error message, and as a list that people can send.

Names are found in two ways: a failed look-up is recorded, and `used` reads the source of a program for all names that
it will use.
"""

from __future__ import annotations

import ast
import importlib
import json
import tokenize
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from situs._src.base.absent import hint
from situs._src.base.drafts import write_named
from situs._src.files.paths import local, translated

E = TypeVar("E", bound=Exception)
_noted: dict[str, None] = {}


def note(error: E) -> E:
    """Notes the name that an AttributeError says is missing; gives the error back."""
    owner = getattr(error, "obj", None)
    if isinstance(owner, ModuleType):
        _noted[f"{owner.__name__}.{getattr(error, 'name', '')}"] = None
    return error


def note_name(name: str) -> None:
    """Notes a name that is not there."""
    _noted[name] = None


def noted() -> list[str]:
    """The names that were asked for and not found, in order."""
    return list(_noted)


def name_text(module: str, name: str) -> str:
    """What to say of a name that a module does not have."""
    text = hint(name)
    if text:
        return f"module {module!r} has no attribute {name!r}{text}"
    other = "situs" if "v1" in module else "situs.compat.v1"
    if module.startswith("tensorflow") and hasattr(importlib.import_module(other), name):
        style = "TensorFlow 2" if other == "situs" else "TensorFlow 1"
        flag = "v2" if other == "situs" else "v1"
        return (
            f"module {module!r} has no attribute {name!r}: it belongs to {style}. Run the program with "
            f"--dialect {flag}, or write tf.compat.{flag}.{name}"
        )
    return f"module {module!r} has no attribute {name!r}. Situs has no such name of TensorFlow's"


def module_text(name: str) -> str:
    """What to say of a module that there is not."""
    note_name(name)
    return (
        f"No module named {name!r}: Situs stands for tensorflow here, and has no such module{hint(name.split('.')[1])}"
    )


# Reading programs.


def read_source(path: str | Path) -> str:
    """The text of a program, in the encoding that it names.

    Raises:
        SyntaxError: it is no text in it.
        OSError: it cannot be read.
    """
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (UnicodeError, LookupError) as error:
        raise SyntaxError(f"{path} is no text: {error}") from None


def parsed(source: str) -> ast.Module:
    """The program of a source.

    Raises:
        SyntaxError: it is none, or is nested so deep that Python does not read it.
    """
    try:
        return ast.parse(source)
    except (ValueError, MemoryError, RecursionError) as error:  # NULs; brackets in brackets, which no program has
        raise SyntaxError(f"Python cannot read it: {type(error).__name__}") from None


def used(source: str) -> dict[str, int]:
    """The names below ``tensorflow`` that a program uses, dotted, each with the line of its first use.

    >>> used("import tensorflow as tf\\nx = tf.nn.relu(1.0)")
    {'nn.relu': 2}
    """
    tree = parsed(source)
    names: dict[str, str] = {}  # what the program calls a module or a name -> what it is, below tensorflow
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "tensorflow":
                    below = alias.name.partition(".")[2]
                    names[alias.asname or "tensorflow"] = below if alias.asname else ""
                    if below:
                        found.setdefault(below, node.lineno)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "tensorflow":
            for alias in node.names:
                if alias.name != "*":
                    below = f"{node.module}.{alias.name}".partition(".")[2]
                    names[alias.asname or alias.name] = below
                    found.setdefault(below, node.lineno)
    for chain, line in _chains(tree):
        first, _, rest = chain.partition(".")
        if first in names and rest:
            found.setdefault(".".join(filter(None, (names[first], rest))), line)
    return found


def _chains(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The dotted names in a program, each with its line; of ``a.b.c`` not also ``a.b``."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            parts: list[str] = []
            here: ast.expr = node
            while isinstance(here, ast.Attribute):
                parts.append(here.attr)
                here = here.value
            if isinstance(here, ast.Name):
                yield ".".join([here.id, *reversed(parts)]), node.lineno


def lacking(source: str, top: ModuleType) -> dict[str, int]:
    """Which of the names that a program uses there are not, each with the line of its first use, in order."""
    found: dict[str, int] = {}
    before = noted()
    for name, line in used(source).items():
        value: object = top
        path = top.__name__
        for part in name.split("."):
            path = f"{path}.{part}"
            try:
                value = getattr(value, part)
            except AttributeError:
                if isinstance(value, ModuleType) and not _is_module(path):
                    found.setdefault(path.partition(".")[2], line)
                    break
                if not isinstance(value, ModuleType):
                    break  # an attribute of an object, which may come later
                value = importlib.import_module(path)
            if "is_refusing" in getattr(value, "__dict__", ()):
                found.setdefault(path.partition(".")[2], line)
            if not isinstance(value, (ModuleType, type)):
                break
    _noted.clear()  # what was asked for here, no program has asked for
    _noted.update(dict.fromkeys(before))
    return dict(sorted(found.items(), key=lambda each: each[1]))


def alike(lacks: Iterable[str], top: ModuleType) -> list[str]:
    """Names that there are, and that names which there are not may stand for by a slip of the pen."""
    found = []
    for name in lacks:
        space, _, last = name.rpartition(".")
        value: object = top
        for part in space.split(".") if space else ():
            value = getattr(value, part, None)
        known = [each for each in dir(value) if not each.startswith("_")]
        found += [".".join(filter(None, (space, each))) for each in get_close_matches(last, known, 1, 0.8)]
    return found


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def write(path: str, program: str, lacks: dict[str, int]) -> None:
    """Writes what was missing as JSON: the names that the program uses, and those that it asked for.

    Raises:
        OpError: the file cannot be written.
    """
    found = {
        "program": Path(program).name,
        "uses": [{"name": f"tf.{name}", "line": line} for name, line in lacks.items()],
        "asked_for": noted(),
    }
    with translated(path):
        write_named(local(path), json.dumps(found, indent=2) + "\n")
