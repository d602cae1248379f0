"""Variables that are changed indirectly: the ``nonlocal`` ones of nested functions.

    def bump():
        nonlocal count
        count += 1
    if c:
        bump()            # changes count: the branch must carry it, as if `count` were assigned here

References to such functions are tracked conservatively: in doubt, they "may be called". Attributes, elements and lists
that a called function changes are not tracked: that is a side effect of tracing, as in TensorFlow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from situs._src.tracing.autograph.bindings import SCOPES, bound_names, loaded, parameters
from situs._src.tracing.autograph.prepare import Declared, own_nodes

Names = frozenset[str]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Hidden:
    """The variables of a function that may be changed indirectly, and through which names.

    Attributes:
        names: the variables.
        carriers: the names that may refer to a function which changes them.
        plain: the carriers whose return value is not such a function.
        escaped: whether such a function was passed to others, so that any call may lead to it.
    """

    names: Names = frozenset()
    carriers: Names = frozenset()
    plain: Names = frozenset()
    escaped: bool = False

    def changed_by(self, nodes: Iterable[ast.AST]) -> list[str]:
        """The variables that the nodes may change by calling something."""
        nodes = list(nodes)
        if not self.names:
            return []
        reached = not self.carriers.isdisjoint(loaded(nodes)) or (self.escaped and any(map(_calls, nodes)))
        return sorted(self.names) if reached else []


def hidden_in(function: ast.FunctionDef, declared: Declared, around: Hidden) -> Hidden:
    """The hidden variables of a function, given those of the enclosing one."""
    scopes = [node for node in own_nodes(function) if isinstance(node, SCOPES)]
    own = locals_of(function, declared)
    names = (around.names - own).union(*map(_outward, scopes)) - declared.globals
    if not names:
        return Hidden()
    named = [scope for scope in scopes if isinstance(scope, _FUNCTIONS)]
    plain = around.plain.union(scope.name for scope in named)
    start = around.carriers.union(_changing(scopes))
    carriers = _carriers(function, start, plain)
    while makers := {scope.name for scope in named if _makes(scope, carriers, plain)} & plain:
        plain -= makers
        carriers = _carriers(function, start, plain)
    return Hidden(names, carriers, plain, around.escaped or _escapes(function, carriers, plain))


def locals_of(function: ast.FunctionDef, declared: Declared) -> Names:
    """The local names of a function."""
    bound = parameters(function.args).union(bound_names(function.body), declared.locals)
    return frozenset(bound - declared.nonlocals - declared.globals)


def _outward(scope: ast.AST) -> Names:
    """The variables of enclosing functions that `scope`, or something nested in it, declares as nonlocal."""
    nodes = own_nodes(scope)
    declared = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
    inner: set[str] = set().union(*(_outward(node) for node in nodes if isinstance(node, SCOPES)))
    return frozenset(declared | (inner - (_bound_in(scope) - declared)))


def _bound_in(scope: ast.AST) -> set[str]:
    if isinstance(scope, ast.Lambda):
        return parameters(scope.args).union(bound_names([scope.body]))
    return parameters(scope.args).union(bound_names(scope.body)) if isinstance(scope, _FUNCTIONS) else set()


def _makes(scope: ast.AST, carriers: Names, plain: Names) -> bool:
    """Whether a function may return one that changes hidden variables."""
    nodes = own_nodes(scope)
    known = _carriers(scope, carriers, plain)
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None]
    inside = any(isinstance(node, SCOPES) for node in nodes)
    return inside or any(not known.isdisjoint(_handed(value, plain)) for value in returned)


def _changing(scopes: Iterable[ast.AST]) -> Iterator[str]:
    for scope in scopes:
        if not isinstance(scope, ast.Lambda) and _outward(scope):
            yield scope.name  # type: ignore[attr-defined]


def _carriers(function: ast.AST, start: Names, plain: Names) -> Names:
    found = set(start)
    nodes = own_nodes(function)
    while more := {name for node in nodes for name in _passed_to(node, found, plain)} - found:
        found |= more
    return frozenset(found)


def _passed_to(node: ast.AST, carriers: set[str], plain: Names) -> set[str]:
    """The names that refer to a carrier after the node has run."""
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return {node.name} if carriers & loaded([node]) else set()
    value = getattr(node, "value", None) or getattr(node, "iter", None) or getattr(node, "context_expr", None)
    targets = _targets(node)
    if not targets or value is None or not carriers & _handed(value, plain):
        return set()
    return {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    target = getattr(node, "target", None) or getattr(node, "optional_vars", None)
    return [target] if isinstance(target, ast.expr) else []


def _handed(node: ast.AST, plain: Names) -> set[str]:
    """The names whose values may be part of the value of an expression."""
    if isinstance(node, SCOPES):
        return loaded([node])
    if isinstance(node, ast.Name):
        return {node.id}
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in plain:
        parts.remove(node.func)
    return {name for part in parts for name in _handed(part, plain)}


def _escapes(function: ast.FunctionDef, carriers: Names, plain: Names) -> bool:
    return any(not carriers.isdisjoint(_given_away(node, plain)) for node in ast.walk(function) if node is not function)


def _given_away(node: ast.AST, plain: Names) -> set[str]:
    if isinstance(node, ast.Call):
        return {name for part in [*node.args, *node.keywords] for name in _handed(part, plain)}
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and node.decorator_list:
        return {node.name}
    if isinstance(node, ast.Assign) and any(isinstance(item, ast.Attribute | ast.Subscript) for item in node.targets):
        return _handed(node.value, plain)
    return set()


def _calls(node: ast.AST) -> bool:
    return any(isinstance(item, ast.Call) for item in ast.walk(node))
