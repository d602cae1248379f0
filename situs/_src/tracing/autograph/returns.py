"""Early returns: replaced by a value and a flag, and one return at the end.

    if c: return a              ag__do_return = False; ag__retval = None
    return b                    if c: ag__retval = a; ag__do_return = True
                          ->    else: ag__retval = b; ag__do_return = True
                                return ag__retval

A function whose returns are all at its end, or only under conditions that can never be tensors
(``if x is None: return``), is not changed. Neither is one that returns from a ``finally`` block, since there it also
suppresses an exception.
"""

from __future__ import annotations

import ast

from situs._src.tracing.autograph.bindings import LOOPS, blocks, leaps, leaps_in_finally
from situs._src.tracing.autograph.syntax import (
    Block,
    fold_into_branches,
    guarded,
    insert_at_head,
    is_static,
    statements,
)

FLAG = "ag__do_return"
VALUE = "ag__retval"
_RETURN = (ast.Return,)


def lower_returns(function: ast.FunctionDef) -> None:
    """Rewrites the early returns of one function in place."""
    if not _returns_early(function.body) or leaps_in_finally(function.body, _RETURN, into_loops=True):
        return
    end = statements(f"return {VALUE}", function.body[-1])
    function.body = [*_lowered(function.body, in_loop=False), *end]
    insert_at_head(function, f"{FLAG} = False\n{VALUE} = None")


def _returns_early(block: Block) -> bool:
    """Whether a return is at a position that cannot simply be left, such as inside a converted ``if``."""
    for node in block:
        if isinstance(node, ast.If) and is_static(node.test):
            if _returns_early(node.body) or _returns_early(node.orelse):
                return True
        elif not isinstance(node, ast.Return) and leaps([node], _RETURN, into_loops=True):
            return True
    return False


def _lowered(block: Block, *, in_loop: bool) -> Block:
    for index, node in enumerate(block):
        if not leaps([node], _RETURN, into_loops=True):
            continue
        rest = block[index + 1 :]
        if isinstance(node, ast.Return):
            value, flag, *leave = statements(f"{VALUE} = None\n{FLAG} = True" + ("\nbreak" if in_loop else ""), node)
            if node.value is not None and isinstance(value, ast.Assign):
                value.value = node.value
            return [*block[:index], *[value, flag, *leave]]
        if isinstance(node, ast.If):
            rest = fold_into_branches(node, rest, _RETURN)
        _lower_inside(node, in_loop=in_loop)
        return [*block[: index + 1], *_continued(node, rest, in_loop=in_loop)]
    return block


def _lower_inside(node: ast.stmt, *, in_loop: bool) -> None:
    returns_in_body = leaps(getattr(node, "body", ()), _RETURN, into_loops=True)
    for block in blocks(node):
        inner = in_loop or (isinstance(node, LOOPS) and block is node.body)
        block[:] = _lowered(block, in_loop=inner)
    if isinstance(node, ast.Try | ast.TryStar) and returns_in_body:
        withdraw(node, [FLAG])
        node.orelse = node.orelse if in_loop else guarded(f"not {FLAG}", node.orelse)


def withdraw(node: ast.Try | ast.TryStar, flags: list[str]) -> None:
    """Resets flags in every handler: control got there, so the jump that set them did not happen."""
    for handler in node.handlers:
        handler.body[:0] = statements("\n".join(f"{flag} = False" for flag in flags), handler)


def _continued(node: ast.stmt, rest: Block, *, in_loop: bool) -> Block:
    """The rest after a statement that may have returned."""
    rest = _lowered(rest, in_loop=in_loop)
    if not in_loop:
        return guarded(f"not {FLAG}", rest)
    if isinstance(node, LOOPS):  # its own break ended it, not the enclosing loop
        (leave,) = statements(f"if {FLAG}: break", node)
        assert isinstance(leave, ast.If)
        return [leave, *rest]
    return rest
