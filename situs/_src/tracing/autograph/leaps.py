"""``break`` and ``continue``: replaced by flags, with the rest of the body under the flag.

    while c:                     ag__break_1 = False
        if d: break              while not ag__break_1 and c:
        e()                ->        if d: ag__break_1 = True
    else:                            else: e()
        f()                      if not ag__break_1: f()

For a ``for`` loop, ``not ag__break_1`` is passed as `extra_test`. A loop with a ``break`` or ``continue`` in a
``finally`` block is not converted, since there it also suppresses an exception.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from situs._src.tracing.autograph.bindings import SCOPES, blocks, leaps, leaps_in_finally
from situs._src.tracing.autograph.returns import withdraw
from situs._src.tracing.autograph.syntax import Block, expression, fold_into_branches, guarded, statements

BREAK = "ag__break"
_LEAPS = (ast.Break, ast.Continue)


def lower_leaps(block: Block) -> None:
    """Rewrites the loops of one function in place."""
    _Lowering().block(block)


def extra_test(node: ast.For) -> ast.expr | None:
    """The additional condition for a lowered ``for`` loop to continue."""
    return getattr(node, "extra_test", None)


class _Lowering:
    def __init__(self) -> None:
        self.count = 0

    def block(self, block: Block) -> None:
        block[:] = [item for node in block for item in self.statement(node)]

    def statement(self, node: ast.stmt) -> Block:
        if isinstance(node, SCOPES):
            return [node]
        for inner in blocks(node):
            self.block(inner)
        return self.loop(node) if isinstance(node, ast.For | ast.While) and _is_lowerable(node) else [node]

    def loop(self, node: ast.For | ast.While) -> Block:
        after, node.orelse = node.orelse, []
        flags = self.flags(node)
        if flags.names:
            node.body = flags.lowered(node.body)
        if flags.goes_on:
            node.body[:0] = statements(f"{flags.goes_on} = False", node)
        if not flags.stops:
            return [node, *after]
        start = statements(f"{flags.stops} = False", node)
        test = expression(f"not {flags.stops}", node)
        if isinstance(node, ast.For):
            node.extra_test = test  # type: ignore[attr-defined]
        elif isinstance(node.test, ast.Constant) and node.test.value:
            node.test = test
        else:
            node.test = ast.copy_location(ast.BoolOp(ast.And(), [test, node.test]), node.test)
        return [*start, node, *guarded(f"not {flags.stops}", after)]

    def flags(self, node: ast.For | ast.While) -> _Flags:
        self.count += 1
        stops = leaps(node.body, (ast.Break,), into_loops=False)
        goes_on = leaps(node.body, (ast.Continue,), into_loops=False)
        return _Flags(f"{BREAK}_{self.count}" if stops else "", f"ag__continue_{self.count}" if goes_on else "")


def _is_lowerable(node: ast.For | ast.While) -> bool:
    returns = leaps(node.body, (ast.Return,), into_loops=True)  # these prevent the conversion of the loop
    return not returns and not leaps_in_finally(node.body, _LEAPS, into_loops=False)


@dataclass(frozen=True)
class _Flags:
    """The flags of one loop; empty names for a loop without a ``break`` or a ``continue``."""

    stops: str
    goes_on: str

    @property
    def names(self) -> list[str]:
        return [name for name in (self.stops, self.goes_on) if name]

    @property
    def skips(self) -> str:
        """The flag that skips the rest of the body: a ``break`` sets both."""
        return self.goes_on or self.stops

    def lowered(self, block: Block) -> Block:
        for index, node in enumerate(block):
            if not leaps([node], _LEAPS, into_loops=False):
                continue
            if isinstance(node, ast.Break | ast.Continue):
                return [*block[:index], *self.raised(node)]
            rest = block[index + 1 :]
            if isinstance(node, ast.If):
                rest = fold_into_branches(node, rest, _LEAPS)
            self.lower_inside(node)
            return [*block[: index + 1], *guarded(f"not {self.skips}", self.lowered(rest))]
        return block

    def raised(self, node: ast.Break | ast.Continue) -> Block:
        names = self.names if isinstance(node, ast.Break) else [self.goes_on]
        return statements("\n".join(f"{name} = True" for name in names), node)

    def lower_inside(self, node: ast.stmt) -> None:
        leaps_in_body = leaps(getattr(node, "body", ()), _LEAPS, into_loops=False)
        for block in blocks(node):
            block[:] = self.lowered(block)
        if isinstance(node, ast.Try | ast.TryStar) and leaps_in_body:
            withdraw(node, self.names)
            node.orelse = guarded(f"not {self.skips}", node.orelse)
