"""Expressions: ``and``, ``or``, ``not``, ``a if c else b``, chained comparisons, ``assert`` and calls.

    a and f(b)          ->  ag__.and_(a, lambda: ag__.converted(f)(b))
    x if c else y       ->  ag__.if_exp(c, lambda: x, lambda: y, 'c')
    assert c            ->  assert ag__.asserted(c, lambda: None)

An expression that binds a name (``y := ...``) is not moved into a lambda, because it would bind the name there; nor are
``match`` statements converted. Their conditions are checked, and symbolic tensors raise an error:

    [(y := a) or (y := b) for a in c]   ->  [ag__.decided(y := a, ':=') or (y := b) for a in c]
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from situs._src.tracing.autograph.bindings import binds
from situs._src.tracing.autograph.prepare import PREFIX
from situs._src.tracing.autograph.syntax import expression

_SIMPLE = (ast.Name, ast.Constant)


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function; nested definitions are passed to `convert_inner`."""

    def __init__(self, convert_inner: Callable[[ast.FunctionDef], ast.FunctionDef]) -> None:
        self._convert_inner = convert_inner

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """Generated functions are part of the function being converted; the user's are converted separately."""
        if node.name.startswith(PREFIX):
            self.generic_visit(node)
            return node
        return self._convert_inner(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        """Coroutines are not converted."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        """Classes are not converted; their methods are when they are called."""
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """``and`` and ``or``."""
        free = all(map(_is_free, node.values[1:]))
        self.generic_visit(node)
        if binds(node.values[1:]):
            node.values[:-1] = [_decided(value, ":=") for value in node.values[:-1]]
            return node
        return _junction("and_" if isinstance(node.op, ast.And) else "or_", node.values, node, free=free)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """``not``."""
        self.generic_visit(node)
        return _operator("not_", [node.operand], node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """``a if c else b``."""
        text = ast.copy_location(ast.Constant(ast.unparse(node.test)), node)
        self.generic_visit(node)
        if binds([node.body, node.orelse]):
            node.test = _decided(node.test, ":=")
            return node
        return _operator("if_exp", [node.test, _thunk(node.body), _thunk(node.orelse), text], node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` is ``a < b and b < c``, with b evaluated once."""
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        if binds(node.comparators[1:]):
            node.left = _decided(node.left, ":=")
            node.comparators = [_decided(value, ":=") for value in node.comparators]
            return node
        return _chain(node.left, node.ops, node.comparators, node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """``assert`` stays a statement; only its condition is checked."""
        self.generic_visit(node)
        message = node.msg or ast.copy_location(ast.Constant(None), node)
        if not binds([message]):
            node.test = _operator("asserted", [node.test, _thunk(message)], node.test)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        """``match`` stays Python: the values its patterns compare, and its guards, must not be symbolic."""
        self.generic_visit(node)
        node.subject = _matched(node.subject, [case.pattern for case in node.cases])
        for case in node.cases:
            case.guard = case.guard and _decided(case.guard, "match")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Calls go through `converted`, so that the user's functions are converted too."""
        self.generic_visit(node)
        if _is_operator(node.func) or (isinstance(node.func, ast.Name) and node.func.id == "super"):
            return node
        node.func = _operator("converted", [node.func], node.func)
        return node


def _operator(name: str, args: list[ast.expr], like: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(expression(f"ag__.{name}", like), args, []), like)


def _junction(name: str, values: list[ast.expr], like: ast.expr, *, free: bool) -> ast.expr:
    call = _operator(name, [values[0], *map(_thunk, values[1:])], like)
    if free:
        call.keywords = [ast.keyword("free", ast.copy_location(ast.Constant(True), like))]
    return call


def _decided(value: ast.expr, what: str) -> ast.expr:
    return _operator("decided", [value, ast.copy_location(ast.Constant(what), value)], value)


def _matched(subject: ast.expr, patterns: list[ast.pattern]) -> ast.expr:
    """The subject of a ``match``, with checks where a pattern compares its parts with a value."""
    patterns = [part for pattern in patterns for part in _alternatives(pattern)]
    if any(isinstance(pattern, ast.MatchValue) for pattern in patterns):
        return _decided(subject, "match")
    if isinstance(subject, ast.Tuple):
        rows = [item.patterns for item in patterns if isinstance(item, ast.MatchSequence)]
        rows = [row for row in rows if len(row) == len(subject.elts)]
        subject.elts = [_matched(part, [row[at] for row in rows]) for at, part in enumerate(subject.elts)]
    return subject


def _alternatives(pattern: ast.pattern) -> list[ast.pattern]:
    if isinstance(pattern, ast.MatchOr):
        return [part for item in pattern.patterns for part in _alternatives(item)]
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return _alternatives(pattern.pattern)
    return [pattern]


def _thunk(value: ast.expr) -> ast.expr:
    made = expression("lambda: None", value)
    assert isinstance(made, ast.Lambda)
    made.body = value
    return made


def _is_operator(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ag__"


def _is_free(node: ast.expr) -> bool:
    """Whether an operand is cheap and cannot fail, so that a graph can always evaluate it."""
    if isinstance(node, ast.Compare):
        return all(isinstance(item, _SIMPLE) for item in (node.left, *node.comparators))
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and _is_free(node.operand)
    if isinstance(node, ast.BoolOp):
        return all(map(_is_free, node.values))
    return isinstance(node, _SIMPLE)


def _chain(left: ast.expr, ops: list[ast.cmpop], right: list[ast.expr], like: ast.expr) -> ast.expr:
    if len(ops) == 1:
        return ast.copy_location(ast.Compare(left, ops, right), like)
    outer = expression("(lambda ag__left, ag__right: None)(None, None)", like)
    assert isinstance(outer, ast.Call)
    assert isinstance(outer.func, ast.Lambda)
    outer.args = [left, right[0]]
    names: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Load()), like) for name in ("ag__left", "ag__right")]
    first = ast.copy_location(ast.Compare(names[0], ops[:1], names[1:]), like)
    rest = _chain(names[1], ops[1:], right[1:], like)
    outer.func.body = _junction("and_", [first, rest], like, free=all(isinstance(item, _SIMPLE) for item in right))
    return outer
