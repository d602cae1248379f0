"""What statements bind: the variables that a branch or a loop body may change.

Besides names these are *places*: attributes and elements that are accessed from names alone.

    x = 1; self.total = 2; d["k"] = 3; f(a).b = 4      ->  x, self.total, d['k']      (f(a).b is not a place)
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.While, ast.AsyncFor)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that the nodes bind or delete, in order of appearance, each once."""
    return list(dict.fromkeys(name for node in nodes for name in _bound(node)))


def _bound(node: ast.AST) -> Iterator[str]:
    yield from _named(node)
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, COMPREHENSIONS):
        yield from _assigned_inside(node)
        return
    if isinstance(node, SCOPES):
        return
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _assigned_inside(node: ast.AST) -> Iterator[str]:
    """The ``y := ...`` in a comprehension, which bind outside of it; its own variables do not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.NamedExpr) and isinstance(child.target, ast.Name):
            yield child.target.id
        if not isinstance(child, ast.Lambda):
            yield from _assigned_inside(child)


def binds(nodes: Iterable[ast.AST]) -> bool:
    """Whether a ``y := ...`` below the nodes binds a name here, and not in a lambda."""
    for node in nodes:
        if isinstance(node, ast.NamedExpr):
            return True
        if not isinstance(node, ast.Lambda) and binds(ast.iter_child_nodes(node)):
            return True
    return False


def bound_places(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """The attributes and elements that the nodes assign, by their text; only if the names in them do not change."""
    nodes = list(nodes)
    changing = set(bound_names(nodes))
    found: dict[str, ast.expr] = {}
    for node in nodes:
        for item in _stored(node):
            if not changing & loaded([item]):
                found.setdefault(ast.unparse(item), item)
    return found


def _stored(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, SCOPES + COMPREHENSIONS):
        return
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store) and _is_place(node):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _stored(child)


def _is_place(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return _is_place(node.value)
    if isinstance(node, ast.Subscript):
        return _is_place(node.value) and isinstance(node.slice, ast.Constant | ast.Name)
    return isinstance(node, ast.Name)


def loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """All names that the nodes read, nested functions included."""
    return {
        item.id
        for node in nodes
        for item in ast.walk(node)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
    }


def parameters(args: ast.arguments) -> set[str]:
    """The names of the parameters of a function."""
    lone = [item for item in (args.vararg, args.kwarg) if item]
    return {item.arg for item in (*args.posonlyargs, *args.args, *args.kwonlyargs, *lone)}


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements inside a compound statement, handlers and cases included, without empty ones."""
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(node, name, None):
            yield block
    for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield part.body


def leaps(statements: Iterable[ast.stmt], kinds: tuple[type[ast.stmt], ...], *, into_loops: bool) -> bool:
    """Whether a statement of one of the kinds (return, break, continue) is somewhere inside."""
    for node in statements:
        if isinstance(node, kinds):
            return True
        if isinstance(node, SCOPES):
            continue
        if any(leaps(block, kinds, into_loops=into_loops) for block in _inside(node, into_loops)):
            return True
    return False


def leaps_in_finally(statements: Iterable[ast.stmt], kinds: tuple[type[ast.stmt], ...], *, into_loops: bool) -> bool:
    """Whether such a statement is in a ``finally`` block, where it also suppresses an exception."""
    for node in statements:
        if isinstance(node, SCOPES):
            continue
        if leaps(getattr(node, "finalbody", ()), kinds, into_loops=into_loops):
            return True
        if any(leaps_in_finally(block, kinds, into_loops=into_loops) for block in _inside(node, into_loops)):
            return True
    return False


def _inside(node: ast.stmt, into_loops: bool) -> list[list[ast.stmt]]:
    """The blocks of a statement; for a loop that is not to be entered, only its ``else``."""
    return [node.orelse] if isinstance(node, LOOPS) and not into_loops else list(blocks(node))
