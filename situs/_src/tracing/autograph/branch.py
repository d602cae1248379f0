"""``if`` at run time: one branch in Python, both in a graph.

    if_stmt(c, body, orelse, ...)      c is True:                 body()
                                       c is a symbolic tensor:    cond(c, body, orelse), and the variables merged

`get_state` and `set_state` read and write all variables that the statement may change, in the order of `names`;
the first `needed` of them are used afterwards and must have a value in both branches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.tracing.autograph import hooks
from situs._src.tracing.autograph.condition import Getter, Names, Setter, Thunk, check_condition, where_of
from situs._src.tracing.autograph.hoist import VALUE_OF_EXPRESSION
from situs._src.tracing.autograph.returns import FLAG, VALUE
from situs._src.tracing.autograph.state import UNDEFINED, Values, carried, check_same, merged


class UnequalReturnsError(InvalidArgumentError):
    """One branch returns, the other does not."""


def if_stmt(
    cond: object, body: Thunk, orelse: Thunk, get_state: Getter, set_state: Setter, names: Names, needed: int
) -> None:
    """Runs one branch, or traces both if the condition is a symbolic tensor."""
    if not hooks.current.is_symbolic(cond):
        if cond:
            body()
        else:
            orelse()
        return
    where = where_of(body)
    check_condition(cond, "if statement", where)
    before = get_state()

    def branch(run: Thunk) -> Values:
        set_state(before)
        run()
        return get_state()[:needed]

    after = _choose(cond, lambda: branch(body), lambda: branch(orelse), names[:needed], where)
    set_state(after + before[needed:])


def if_exp(cond: object, body: Thunk, orelse: Thunk, text: str) -> Any:
    """``body if cond else orelse``."""
    if not hooks.current.is_symbolic(cond):
        return body() if cond else orelse()
    where = where_of(body)
    check_condition(cond, "conditional expression", where)
    return _choose(cond, lambda: (body(),), lambda: (orelse(),), (text,), where)[0]


def _choose(cond: object, body: Callable[[], Values], orelse: Callable[[], Values], names: Names, where: str) -> Values:
    """The values of one of two branches, from the op; values that are the same in both are kept."""
    traced: dict[bool, Values] = {}

    def branch(taken: bool, run: Callable[[], Values]) -> list[Any]:
        traced[taken] = run()
        if len(traced) == 2:
            _check_branches(traced[True], traced[False], names, where)
        return _outputs(traced[taken], names)

    made = hooks.current.cond(cond, lambda: branch(True, body), lambda: branch(False, orelse))
    results = iter(hooks.listed(made, len(_outputs(traced[True], names))))
    sides = zip(names, traced[True], traced[False], strict=True)
    return tuple(one if name == FLAG else merged(one, other, results) for name, one, other in sides)


def _outputs(values: Values, names: Names) -> list[Any]:
    """The outputs of the op: without the flag of an early return, which is the same in both branches."""
    return [leaf for name, value in zip(names, values, strict=True) if name != FLAG for leaf in carried(value)]


_MAIN, _ELSE = "in the main branch", "in the else branch"


def _check_branches(one: Values, other: Values, names: Names, where: str) -> None:
    _check_returns(dict(zip(names, one, strict=True)), dict(zip(names, other, strict=True)), where)
    for name, left, right in zip(names, one, other, strict=True):
        if (left is UNDEFINED) is not (right is UNDEFINED):
            missing = "main" if left is UNDEFINED else "else"
            raise ArgumentError(
                f"'{name}' must also be initialized in the {missing} branch ({where}): the condition is a tensor, "
                f"and '{name}' is used afterwards. Give it a value before."
            )
        check_same(_shown(name), left, right, (_MAIN, _ELSE), where)


def _shown(name: str) -> str:
    if name.startswith(VALUE_OF_EXPRESSION):
        return "the value of the expression"
    return "the returned value" if name == VALUE else name


def _check_returns(one: dict[str, Any], other: dict[str, Any], where: str) -> None:
    flags = one.get(FLAG), other.get(FLAG)
    if flags[0] is not flags[1]:
        missing = "else" if flags[0] is True else "main"
        raise UnequalReturnsError(
            f"the {missing} branch must also have a return statement ({where}): the condition is a tensor."
        )
