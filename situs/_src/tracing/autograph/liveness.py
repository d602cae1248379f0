"""Live variables: those that some later statement may read.

A branch or loop body may bind many names; only the live ones need a value on every path:

    if c:
        t = f(x)        # t is not needed after the if: it may stay without a value in the else branch
        y = t + 1       # y is
    else:
        y = 0
    return y

The analysis runs backwards over the statements. Where it cannot be exact (jumps that were not lowered, exceptions,
closures) it assumes that a variable is live.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable

from situs._src.tracing.autograph.bindings import bound_names, loaded, parameters
from situs._src.tracing.autograph.leaps import extra_test
from situs._src.tracing.autograph.returns import FLAG
from situs._src.tracing.autograph.syntax import Block

_CLOSURES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ClassDef)
_SWALLOWERS = {"suppress", "raises", "assertRaises", "assertRaisesRegex", "ExitStack"}


class Liveness:
    """The live names after each ``if`` and loop of a function."""

    def __init__(self, function: ast.FunctionDef, always: Iterable[str]) -> None:
        self._always = {*always, FLAG}  # globals and nonlocals: others may read them
        self._after: dict[ast.stmt, set[str]] = {}
        self._everything = loaded(function.body)
        self._captured = _captures(function.body)
        self._floor: set[str] = set()  # what may be read next after an exception
        self._block(function.body, set())

    def after(self, node: ast.stmt) -> set[str]:
        """The names that are live after the statement; for a loop, also those that its next iteration reads."""
        outside = self._captured - _captures([node])
        return self._after[node] | set(outside) | self._always

    def _block(self, block: Block, live: set[str]) -> set[str]:
        for node in reversed(block):
            live = self._before(node, live | self._floor)
        return live

    def _before(self, node: ast.stmt, live: set[str]) -> set[str]:
        """The names that are live before the statement, given those that are live after it."""
        match node:
            case ast.If():
                self._after[node] = live
                return loaded([node.test]) | self._block(node.body, live) | self._block(node.orelse, live)
            case ast.While() | ast.For():
                return self._loop(node, live)
            case ast.With():
                inside = self._protected(node.body, live, live) if _swallows(node) else self._block(node.body, live)
                return inside - set(bound_names(node.items)) | loaded(node.items)
            case ast.Try() | ast.TryStar():
                return self._try(node, live)
            case ast.Match():
                patterns: list[ast.AST] = [part for case in node.cases for part in (case.pattern, case.guard) if part]
                return live.union(loaded([node.subject, *patterns]), *(self._block(c.body, live) for c in node.cases))
            case ast.Return() | ast.Raise():
                return loaded([node]) | self._floor
            case ast.Break() | ast.Continue():
                return self._everything
        # What a simple statement always binds: not what ``:=`` binds, which may be skipped.
        sometimes = {item.target.id for item in ast.walk(node) if isinstance(item, ast.NamedExpr)}
        return live - (set(bound_names([node])) - sometimes) | loaded([node]) | _augmented(node)

    def _loop(self, node: ast.For | ast.While, live: set[str]) -> set[str]:
        again = node.test if isinstance(node, ast.While) else extra_test(node)
        target = set(bound_names([node.target])) if isinstance(node, ast.For) else set()
        head = live | (loaded([again]) if again else set()) | self._block(node.orelse, live)
        while (wider := head | (self._block(node.body, head) - target)) != head:
            head = wider
        self._after[node] = head
        return head | (loaded([node.iter]) if isinstance(node, ast.For) else set())

    def _try(self, node: ast.Try | ast.TryStar, live: set[str]) -> set[str]:
        last = self._block(node.finalbody, live)
        caught = set(last)
        for handler in node.handlers:
            caught |= self._protected(handler.body, last, floor=last)
            caught |= loaded([handler.type]) if handler.type else set()
        after_body = self._protected(node.orelse, last, floor=last)
        return self._protected(node.body, after_body, floor=caught)

    def _protected(self, block: Block, live: set[str], floor: set[str]) -> set[str]:
        """A block that an exception may leave at any statement, towards something that reads `floor`."""
        around, self._floor = self._floor, self._floor | floor
        try:
            return self._block(block, live) | floor
        finally:
            self._floor = around


def _swallows(node: ast.With) -> bool:
    """Whether a ``with`` block may suppress an exception and continue: tapes and scopes do not."""
    inside = ast.walk(ast.Tuple([item.context_expr for item in node.items], ast.Load()))
    return any(getattr(part, "attr", getattr(part, "id", "")) in _SWALLOWERS for part in inside)


def _augmented(node: ast.stmt) -> set[str]:
    return {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()


def _captures(nodes: Iterable[ast.AST]) -> Counter[str]:
    """How many of the nested functions read each name: they may be called at any time."""
    found: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, _CLOSURES):
            found.update(_free(node))
        else:
            found += _captures(ast.iter_child_nodes(node))
    return found


def _free(node: ast.AST) -> set[str]:
    names = loaded([node])
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        own = parameters(node.args)
        body: list[ast.AST] = list(node.body) if isinstance(node, ast.FunctionDef) else [node.body]
        declared = {
            name for item in ast.walk(node) if isinstance(item, ast.Global | ast.Nonlocal) for name in item.names
        }
        names -= (own | set(bound_names(body))) - declared - loaded([node.args])
    return names
