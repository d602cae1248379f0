"""Syntax tree helpers that the passes share: code from text, guards, moved statements.

statements("x = False", like=node)     the parsed text, on the line of `node`, so that tracebacks stay right
"""

from __future__ import annotations

import ast
from typing import Any

Block = list[ast.stmt]


def as_block(result: Any) -> Block:
    """The result of a visitor as a list of statements."""
    return result if isinstance(result, list) else [result]


def statements(text: str, like: ast.AST) -> Block:
    """The statements of `text`, on the line of the node they replace."""
    parsed = ast.parse(text).body
    for statement in parsed:
        for node in ast.walk(statement):
            ast.copy_location(node, like)
    return parsed


def expression(text: str, like: ast.AST) -> ast.expr:
    """The expression `text`, on the line of the node it replaces."""
    (statement,) = statements(text, like)
    assert isinstance(statement, ast.Expr)
    return statement.value


def insert_at_head(function: ast.FunctionDef, text: str) -> None:
    """Inserts statements at the start of a function, after its docstring."""
    start = 1 if ast.get_docstring(function, clean=False) is not None else 0
    function.body[start:start] = statements(text, function.body[0])


def guarded(test: str, block: Block) -> Block:
    """The block under an ``if`` with this test; empty if the block is."""
    if not block:
        return []
    (guard,) = statements(f"if {test}: pass", block[0])
    assert isinstance(guard, ast.If)
    guard.body = block
    return [guard]


def fold_into_branches(node: ast.If, rest: Block, kinds: tuple[type[ast.stmt], ...]) -> Block:
    """Moves what follows an ``if`` into the branch that continues, if the other always ends with one of some kinds.

        if c: return a              if c: return a
        b()                   ->    else:
                                        b()

    Both branches of a tensor condition then end the same way. Returns what is left to follow.
    """
    if _always_ends(node.body, kinds):
        node.orelse = node.orelse + rest
    elif _always_ends(node.orelse, kinds):
        node.body = node.body + rest
    else:
        return rest
    return []


def _always_ends(block: Block, kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether every path through a block ends with a statement of some kinds."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _always_ends(last.body, kinds) and _always_ends(last.orelse, kinds)
    return isinstance(last, kinds)


def is_static(test: ast.expr) -> bool:
    """Whether a condition can never be a tensor: constants, and comparisons with ``is``."""
    if isinstance(test, ast.BoolOp):
        return all(map(is_static, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_static(test.operand)
    if isinstance(test, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops)
    return isinstance(test, ast.Constant)
