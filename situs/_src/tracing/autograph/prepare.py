"""The first pass: syntax whose meaning would change when statements move into separate functions.

global g / nonlocal n     moved to the head of the function
x: int = 1                x = 1              (annotations of locals are never evaluated)
super()                   super(__class__, self)
self.__hidden             self._Owner__hidden
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from situs._src.tracing.autograph.syntax import as_block

PREFIX = "ag__"  # of every name that conversion adds; functions that use such names themselves are left alone
# The builtins that inspect the calling frame, and the maximum number of arguments with which they do.
_FRAME_READERS = {"locals": 0, "eval": 3, "exec": 3, "vars": 0, "dir": 0}


@dataclass
class Declared:
    """The declarations of a function: which names are global, which belong to an enclosing function."""

    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    locals: set[str] = field(default_factory=set)  # from `x: int` without a value


def is_convertible(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether the statements of a function may move: it is not a generator, and does not inspect its own frame."""
    return not any(_forbids(item) for item in own_nodes(node))


def _forbids(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRAME_READERS:
        return len(node.args) <= _FRAME_READERS[node.func.id]
    return isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) or (
        isinstance(node, ast.Name) and node.id.startswith(PREFIX)
    )


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """All nodes below `node`, except inside nested functions and classes."""
    found: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        item = waiting.pop()
        found.append(item)
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(item))
    return found


def prepare(node: ast.FunctionDef) -> Declared:
    """Rewrites one function in place and returns its declarations."""
    pass_ = _Prepare(node)
    node.body = [item for statement in node.body for item in as_block(pass_.visit(statement))]
    return pass_.declared


class _Prepare(ast.NodeTransformer):
    def __init__(self, node: ast.FunctionDef) -> None:
        self.declared = Declared()
        positional = [*node.args.posonlyargs, *node.args.args]
        self.first = positional[0].arg if positional else None

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        self.declared.globals.update(node.names)
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        self.declared.nonlocals.update(node.names)
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        if node.value is not None:
            return ast.copy_location(ast.Assign([node.target], node.value), node)
        if isinstance(node.target, ast.Name):
            self.declared.locals.add(node.target.id)
        return ast.copy_location(ast.Pass(), node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.first and isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            names = ("__class__", self.first)
            node.args = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def mangle(node: ast.AST, owner: str) -> None:
    """Mangles the private names (``__x``) of a method as the compiler does inside the class `owner`."""
    for item in _of_same_class(node):
        for name, value in ast.iter_fields(item):
            if name in _IDENTIFIERS and isinstance(value, str) and not isinstance(item, ast.alias | ast.keyword):
                setattr(item, name, _mangled(value, owner))
            elif name == "names" and isinstance(item, ast.Global | ast.Nonlocal):
                item.names = [_mangled(each, owner) for each in item.names]


_IDENTIFIERS = {"id", "attr", "arg", "name", "rest"}


def _of_same_class(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        found.append(child)
        if not isinstance(child, ast.ClassDef):
            found.extend(_of_same_class(child))
    return found


def _mangled(name: str, owner: str) -> str:
    private = name.startswith("__") and not name.endswith("__") and "." not in name
    owner = owner.lstrip("_")
    return f"_{owner}{name}" if private and owner else name
