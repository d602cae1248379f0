"""The source of a function: from its code object back to its syntax tree.

The whole file is parsed and the definition is found by its line, so that indented functions need no dedenting (which
would change their strings) and the class of a method is known:

    find(code) -> Source(node=<FunctionDef "step">, owner="Model")
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType

Definition = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """One definition in a file, and the name of the innermost enclosing class."""

    node: Definition
    owner: str | None


def find(function: FunctionType) -> Source | None:
    """The definition that `function` was compiled from, as a modifiable copy; None if it cannot be found."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    fitting = [source for source in _definitions("".join(lines)).get(code.co_firstlineno, ()) if _fits(source, code)]
    if len(fitting) > 1:
        fitting = [source for source in fitting if _compiles_to(source, code)]
    if not fitting or len({ast.dump(source.node) for source in fitting}) > 1:
        return None
    return Source(copy.deepcopy(fitting[0].node), fitting[0].owner)


@lru_cache(maxsize=8)
def _definitions(text: str) -> dict[int, list[Source]]:
    by_line: dict[int, list[Source]] = {}
    try:
        for source in _walk(ast.parse(text), None):
            by_line.setdefault(_first_line(source.node), []).append(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return by_line


def _walk(node: ast.AST, owner: str | None) -> Iterator[Source]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield Source(child, owner)
        yield from _walk(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _first_line(node: Definition) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _fits(source: Source, code: CodeType) -> bool:
    arguments = source.node.args
    name = source.node.name if isinstance(source.node, ast.FunctionDef) else "<lambda>"
    counts = len(arguments.posonlyargs) + len(arguments.args), len(arguments.kwonlyargs)
    return name == code.co_name and counts == (code.co_argcount, code.co_kwonlyargcount)


def _compiles_to(source: Source, code: CodeType) -> bool:
    """Distinguishes several lambdas on one line; not used for others, because test tools rewrite their code."""
    around = ast.parse(f"lambda {', '.join(code.co_freevars)}: None", mode="eval")
    assert isinstance(around.body, ast.Lambda)
    if not isinstance(source.node, ast.Lambda):
        return False
    around.body.body = source.node
    return _content(inner_code(inner_code(compile(around, "<lambda>", "eval")))) == _content(code)


def inner_code(code: CodeType) -> CodeType:
    """The code of the first function defined in this code."""
    return next(item for item in code.co_consts if isinstance(item, CodeType))


def _content(code: CodeType) -> tuple[object, ...]:
    constants = [repr(item) for item in code.co_consts if not isinstance(item, CodeType)]
    return (code.co_code, code.co_names, code.co_varnames, constants)
