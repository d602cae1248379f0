"""``if``, ``while`` and ``for``: each body becomes a function, and an operator decides at run time.

    if c: x = 1          def ag__if_body():
                             nonlocal x
                   ->        x = 1
                         def ag__else_body(): pass
                         def ag__get_state(): return ag__.read(lambda: x)
                         def ag__set_state(ag__values): ...
                         ag__.if_stmt(c, ag__if_body, ag__else_body, ag__get_state, ag__set_state, ('x',), 1)

The last number says how many of the variables, from the left, are live afterwards. A statement that a ``return``,
``break`` or ``continue`` could still leave is not converted.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from situs._src.tracing.autograph.bindings import SCOPES, bound_names, bound_places, leaps
from situs._src.tracing.autograph.hidden import Hidden
from situs._src.tracing.autograph.leaps import extra_test
from situs._src.tracing.autograph.liveness import Liveness
from situs._src.tracing.autograph.prepare import Declared
from situs._src.tracing.autograph.syntax import Block, is_static, statements


@dataclass(frozen=True)
class _State:
    """The variables of one statement, the live ones first."""

    variables: dict[str, ast.expr]
    needed: int

    @property
    def text(self) -> str:
        return f"{tuple(self.variables)!r}, {self.needed}"


class ControlFlow(ast.NodeTransformer):
    """Rewrites the statements of one function, after returns, breaks and continues have been lowered."""

    def __init__(self, declared: Declared, liveness: Liveness, hidden: Hidden) -> None:
        self._declared = declared
        self._liveness = liveness
        self._hidden = hidden
        self.moved: dict[str, None] = {}  # names bound by statements that moved into functions

    def visit(self, node: ast.AST) -> ast.AST | Block:
        """Rewrites a statement; expressions and nested definitions are handled by other passes."""
        if isinstance(node, (ast.expr, *SCOPES)):
            return node
        result: ast.AST | Block = super().visit(node)
        return result

    def visit_If(self, node: ast.If) -> ast.stmt | Block:
        """An ``if`` whose condition may be a tensor becomes `if_stmt`."""
        if is_static(node.test) or _is_left(node.body + node.orelse):
            return self._inside(node)
        state = self._state(node, node.body + node.orelse)
        self._inside(node)
        return [
            *self._function("ag__if_body()", node.body, state, node),
            *self._function("ag__else_body()", node.orelse, state, node),
            *self._accessors(state, node),
            _call(
                f"if_stmt(None, ag__if_body, ag__else_body, ag__get_state, ag__set_state, {state.text})",
                node.test,
                node,
            ),
        ]

    def visit_While(self, node: ast.While) -> ast.stmt | Block:
        """A ``while`` loop becomes `while_stmt`."""
        if is_static(node.test) or _is_left(node.body) or node.orelse:
            return self._inside(node)
        state = self._state(node, [node.test, *node.body])
        self._inside(node)
        return [
            *self._test("ag__loop_test()", node.test, state, node),
            *self._function("ag__loop_body()", node.body, state, node),
            *self._accessors(state, node),
            *statements(
                f"ag__.while_stmt(ag__loop_test, ag__loop_body, ag__get_state, ag__set_state, {state.text})", node
            ),
        ]

    def visit_For(self, node: ast.For) -> ast.stmt | Block:
        """A ``for`` loop becomes `for_stmt`."""
        if _is_left(node.body) or node.orelse:
            return self._inside(node)
        state = self._state(node, [node.target, *node.body])
        self._inside(node)
        target = statements("ag__target = ag__item", node)
        target[0].targets = [node.target]  # type: ignore[attr-defined]
        again = extra_test(node)
        test = self._test("ag__loop_test()", again, state, node) if again else []
        chosen = "ag__loop_test" if again else "None"
        call = f"for_stmt(None, {chosen}, ag__loop_body, ag__get_state, ag__set_state, {state.text})"
        return [
            *test,
            *self._function("ag__loop_body(ag__item)", [*target, *node.body], state, node),
            *self._accessors(state, node),
            _call(call, node.iter, node),
        ]

    def _inside(self, node: ast.stmt) -> ast.stmt:
        self.generic_visit(node)
        return node

    def _state(self, node: ast.stmt, changing: list[ast.AST] | Block) -> _State:
        names = list(dict.fromkeys([*bound_names(changing), *self._hidden.changed_by(changing)]))
        self.moved.update(dict.fromkeys(names))
        live = self._liveness.after(node)
        needed = {name: _name(name, node) for name in names if name in live} | bound_places(changing)
        rest = {name: _name(name, node) for name in names if name not in live}
        return _State(needed | rest, len(needed))

    def _function(self, head: str, body: Block, state: _State, like: ast.stmt) -> Block:
        made = statements(f"def {head}:\n{self._declaration(state)}\n pass", like)
        function = made[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [*function.body[:-1], *body] if body else function.body
        return made

    def _test(self, head: str, test: ast.expr, state: _State, like: ast.stmt) -> Block:
        return self._function(head, [ast.copy_location(ast.Return(test), test)], state, like)

    def _accessors(self, state: _State, like: ast.stmt) -> Block:
        getters = ", ".join(f"lambda: {text}" for text in state.variables)
        take = "".join(f"{text}, " for text in state.variables)
        forget = "".join(f" if ag__.is_undefined({text}): del {text}\n" for text in state.variables)
        return statements(
            f"def ag__get_state():\n return ag__.read({getters})\n"
            f"def ag__set_state(ag__values):\n{self._declaration(state)}\n"
            + (f" {take}= ag__values\n{forget}" if take else " pass\n"),
            like,
        )

    def _declaration(self, state: _State) -> str:
        names = [text for text, node in state.variables.items() if isinstance(node, ast.Name)]
        of_module = [name for name in names if name in self._declared.globals]
        of_function = [name for name in names if name not in self._declared.globals]
        lines = [
            f" {word} {', '.join(group)}" for word, group in (("global", of_module), ("nonlocal", of_function)) if group
        ]
        return "\n".join(lines)


def _is_left(block: Block) -> bool:
    return leaps(block, (ast.Return,), into_loops=True) or leaps(block, (ast.Break, ast.Continue), into_loops=False)


def _name(name: str, like: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Name(name, ast.Load()), like)


def _call(text: str, first: ast.expr, like: ast.stmt) -> ast.stmt:
    """A call of an operator, with its first argument (``None`` in the text) replaced by an expression of the user."""
    (statement,) = statements(f"ag__.{text}", like)
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    statement.value.args[0] = first
    return statement
