"""Expressions that change variables become statements, so that branches and loops carry the changes.

    while (y := x - 1) > 0:         ag__more_1 = True
        body()                      while ag__more_1:
                                        ag__more_1 = False
                              ->        y = x - 1
                                        if y > 0:
                                            ag__more_1 = True
                                            body()

    a and (y := b)                  ag__value_1 = a
                              ->    if ag__value_1:
                                        y = b
                                        ag__value_1 = y

The order of evaluation is preserved: earlier values are saved in variables. The contents of a lambda, a comprehension
or an f-string are not hoisted; `logic` raises an error if a tensor would have to decide about them.
"""

from __future__ import annotations

import ast

from situs._src.tracing.autograph.bindings import COMPREHENSIONS, SCOPES, binds, blocks, leaps
from situs._src.tracing.autograph.hidden import Hidden
from situs._src.tracing.autograph.syntax import Block, statements

VALUE_OF_EXPRESSION = "ag__value"
_OPAQUE = (ast.Lambda, ast.JoinedStr, *COMPREHENSIONS)
_HEADS: dict[type[ast.AST], str] = {
    ast.Expr: "value",
    ast.Return: "value",
    ast.Assign: "value",
    ast.For: "iter",
    ast.Match: "subject",
}


def hoist(block: Block, hidden: Hidden) -> None:
    """Rewrites the statements of one function in place."""
    _Hoisting(hidden).block(block)


class _Hoisting:
    def __init__(self, hidden: Hidden) -> None:
        self.hidden = hidden
        self.count = 0

    def block(self, block: Block) -> None:
        block[:] = [item for node in block for item in self.statement(node)]

    def statement(self, node: ast.stmt) -> Block:
        if isinstance(node, SCOPES):
            return [node]
        for inner in blocks(node):
            self.block(inner)
        if isinstance(node, ast.If):
            return self.branch(node)
        if isinstance(node, ast.While):
            return self.loop(node)
        if isinstance(node, ast.AugAssign):
            return self.augmented(node)
        if isinstance(node, ast.With):
            return self.head(node, node.items[0], "context_expr")
        return self.head(node, node, _HEADS[type(node)]) if type(node) in _HEADS else [node]

    def head(self, node: ast.stmt, holder: ast.AST, field: str) -> Block:
        value, before = getattr(holder, field), Block()
        if value is not None:
            setattr(holder, field, self.lowered(value, before))
        return [*before, node]

    def branch(self, node: ast.If) -> Block:
        test = node.test
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and self.splits(test) and _is_alone(node):
            # As nested `if`s, because what the right side binds need not exist if the left side is false.
            inner = ast.copy_location(ast.If(_rest(test), node.body, []), node)
            node.test, node.body = test.values[0], self.branch(inner)
        return self.head(node, node, "test")

    def loop(self, node: ast.While) -> Block:
        if not self.moves(node.test) and not self.hidden.changed_by([node.test]):
            return [node]
        more = self.fresh("ag__more")
        start, loop = statements(f"{more} = True\nwhile {more}:\n {more} = False\n if None: {more} = True", node)
        assert isinstance(loop, ast.While)
        again = loop.body.pop()
        assert isinstance(again, ast.If)
        again.test, again.body, loop.orelse = node.test, [*again.body, *node.body], node.orelse
        loop.body += self.branch(again)
        return [start, loop]

    def augmented(self, node: ast.AugAssign) -> Block:
        """``x += (y := 1)`` reads x first; attributes and elements, which must stay places, are not changed."""
        if not isinstance(node.target, ast.Name) or not self.moves(node.value):
            return [node]
        target, name = node.target, self.fresh(VALUE_OF_EXPRESSION)
        before = [_assigned(name, ast.copy_location(ast.Name(target.id, ast.Load()), node))]
        node.target = ast.copy_location(ast.Name(name, ast.Store()), node)
        node.value = self.lowered(node.value, before)
        return [*before, node, _assigned(target.id, _read(name, node))]

    def moves(self, node: ast.AST) -> bool:
        """Whether a part of an expression has to become a statement."""
        if isinstance(node, _OPAQUE):
            return False
        if isinstance(node, ast.NamedExpr) or self.splits(node):
            return True
        return any(map(self.moves, ast.iter_child_nodes(node)))

    def splits(self, node: ast.AST) -> bool:
        """Whether a part of an expression that is evaluated conditionally changes variables."""
        sometimes = _conditional(node)
        return binds(sometimes) or bool(self.hidden.changed_by(sometimes))

    def lowered(self, node: ast.expr, before: Block) -> ast.expr:
        """The expression without changes of variables, which are added to the preceding statements."""
        if not self.moves(node):
            return node
        if isinstance(node, ast.NamedExpr):
            before.append(_assigned(node.target.id, self.lowered(node.value, before)))
            return _read(node.target.id, node)
        if isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare) and self.splits(node):
            return self.chosen(node, before)
        slots = _slots(node)
        last = max(index for index, slot in enumerate(slots) if self.moves(slot.get()))
        for index, slot in enumerate(slots[: last + 1]):
            value = self.lowered(slot.get(), before)
            slot.set(value if index == last else self.kept(value, before))
        return node

    def chosen(self, node: ast.BoolOp | ast.IfExp | ast.Compare, before: Block) -> ast.expr:
        """An expression with conditionally evaluated parts, as an ``if`` that sets a variable."""
        name = self.fresh(VALUE_OF_EXPRESSION)
        if isinstance(node, ast.IfExp):
            test = self.lowered(node.test, before)
            body, orelse = self.setting(name, node.body), self.setting(name, node.orelse)
        else:
            first, rest = self.parted(node, before)
            before.append(_assigned(name, first))
            test, body, orelse = _read(name, node), self.setting(name, rest), []
            if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
                test = ast.copy_location(ast.UnaryOp(ast.Not(), test), node)
        before.append(ast.copy_location(ast.If(test, body, orelse), node))
        return _read(name, node)

    def parted(self, node: ast.BoolOp | ast.Compare, before: Block) -> tuple[ast.expr, ast.expr]:
        """The parts that are always evaluated, and the rest."""
        if isinstance(node, ast.BoolOp):
            return self.lowered(node.values[0], before), _rest(node)
        left = self.kept(self.lowered(node.left, before), before)
        right = self.kept(self.lowered(node.comparators[0], before), before)
        first = ast.copy_location(ast.Compare(left, node.ops[:1], [right]), node)
        return first, ast.copy_location(ast.Compare(right, node.ops[1:], node.comparators[1:]), node)

    def setting(self, name: str, value: ast.expr) -> Block:
        block = Block()
        block.append(_assigned(name, self.lowered(value, block)))
        return block

    def kept(self, value: ast.expr, before: Block) -> ast.expr:
        """The value in a new variable, which nothing later changes."""
        if isinstance(value, ast.Constant) or _is_ours(value):
            return value
        name = self.fresh(VALUE_OF_EXPRESSION)
        if isinstance(value, ast.Starred):
            before.append(_assigned(name, ast.copy_location(ast.Tuple([value], ast.Load()), value)))
            return ast.copy_location(ast.Starred(_read(name, value), ast.Load()), value)
        before.append(_assigned(name, value))
        return _read(name, value)

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"


class _Slot:
    """A position in an expression that contains another one."""

    def __init__(self, holder: ast.AST, field: str, index: int | None = None) -> None:
        self._holder, self._field, self._index = holder, field, index

    def get(self) -> ast.expr:
        held = getattr(self._holder, self._field)
        value: ast.expr = held if self._index is None else held[self._index]
        return value

    def set(self, value: ast.expr) -> None:
        if self._index is None:
            setattr(self._holder, self._field, value)
        else:
            getattr(self._holder, self._field)[self._index] = value


def _slots(node: ast.AST) -> list[_Slot]:
    """The parts of an expression that are always evaluated, in evaluation order."""
    if isinstance(node, ast.BoolOp):
        return [_Slot(node, "values", 0)]
    if isinstance(node, ast.IfExp):
        return [_Slot(node, "test")]
    if isinstance(node, ast.Compare):
        return [_Slot(node, "left"), _Slot(node, "comparators", 0)]
    if isinstance(node, ast.Dict):
        pairs = [(_Slot(node, "keys", at), _Slot(node, "values", at)) for at in range(len(node.keys))]
        return [slot for pair in pairs for slot in pair if slot.get() is not None]
    return [slot for field, _ in ast.iter_fields(node) for slot in _slots_of(node, field)]


def _slots_of(node: ast.AST, field: str) -> list[_Slot]:
    value = getattr(node, field)
    slots = [_Slot(node, field, at) for at in range(len(value))] if isinstance(value, list) else [_Slot(node, field)]
    found: list[_Slot] = []
    for slot in slots:
        part = slot.get()
        if isinstance(part, ast.keyword | ast.Slice):  # not a value
            found += _slots(part)
        elif isinstance(part, ast.expr):
            found.append(slot)
    return found


def _conditional(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return node.comparators[1:] if isinstance(node, ast.Compare) else []


def _rest(node: ast.BoolOp) -> ast.expr:
    values = node.values[1:]
    return values[0] if len(values) == 1 else ast.copy_location(ast.BoolOp(node.op, values), node)


def _is_alone(node: ast.If) -> bool:
    leaving = leaps(node.body, (ast.Return,), into_loops=True)
    return not (node.orelse or leaving or leaps(node.body, (ast.Break, ast.Continue), into_loops=False))


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), value)
    return ast.copy_location(ast.Assign([target], value), value)


def _read(name: str, like: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), like)


def _is_ours(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id.startswith(VALUE_OF_EXPRESSION)
