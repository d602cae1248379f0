"""Conditions that are symbolic tensors: the ops are called, and give what Python would."""

# The samples are written as users write.
# ruff: noqa: RET503, RET505, SIM108

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from situs._src.tracing.autograph import hooks
from situs._src.tracing.autograph.convert import convert
from situs.autograph import do_not_convert
from situs.errors import DTypeError, InvalidArgumentError, OperatorNotAllowedInGraphError, UnimplementedError


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.array.tolist() if hasattr(value, "array") else value


def branch(x):
    y = 0
    if x > 3:
        y = x * 2
    elif x > 0:
        y = x + 100
    return y


def local_to_a_branch(x):
    if x > 0:
        t = x * 2
        t += 1
        y = t
    else:
        y = -x
    return y


def early_return(x):
    if x > 10:
        return x
    x = x + 1
    if x < 0:
        return -x
    else:
        x = x * 2
    return x + 1


def returns_structures(x):
    if x > 0:
        return {"a": (x, None), "b": [x + 1, "same"]}
    return {"b": [x, "same"], "a": (x - 1, None)}


def counts_down(x):
    steps = 0
    while x > 0:
        x = x - 2
        steps += 1
    return x, steps


def loop_with_local(x):
    while x > 0:
        step = x * 0 + 3
        x = x - step
    return x


def break_in_while(x):
    n = 0
    while n < 100:
        n += 1
        if n * n > x:
            break
        if n == 5:
            continue
        x = x + 1
    return n, x


def while_true(x):
    n = 0
    while True:
        n = n + 1
        if x < n:
            break
        x = x - n
    else:
        n = -1
    return n, x


def python_loop_with_symbolic_break(x):
    total = x * 0
    for i in [1, 2, 3, 4]:
        if x < i:
            break
        total = total + i
    return total


def for_range(x):
    total = 0
    for i in range(x):
        if i == 2:
            continue
        if i > 6:
            break
        total += i
    return total


def for_range_nested(x):
    total = 0
    for i in range(x):
        for j in range(1, i):
            if (i + j) % 3 == 0:
                total += 1
            else:
                total = total - j
    return total


def logic(x):
    y = 5
    a = x > 0 and x < y
    b = x > 10 or not a
    c = 0 < x < 3
    return a, b, c, not (a and b and x > 1)


def if_expression(x):
    return (x if x > 1 else -x) + (0 if x is None else 1)


def loop_else(x):
    while x > 10:
        x = x - 3
        if x == 12:
            break
    else:
        x = x + 100
    return x


def calls_others(x):
    def closure(v):
        if v > x:
            return v
        return x

    return helper(x) + helper(x, by=2) + closure(3) + (lambda v: v if v > 2 else 0)(x)


def helper(x, by=1):
    if x > 2:
        x = x + by
    return x


class Box:
    def __init__(self, x):
        self.total = x
        self.items = {"n": x}

    def add(self, x):
        if x > 1:
            self.total = self.total + x
            self.items["n"] += 1
        return self.total, self.items["n"]


def changes_attributes(x):
    return Box(x).add(x)


def sequences(x):
    pair = (x, [x + 1])
    if x > 2:
        pair = (x * 2, [x])
    while pair[0] > 3:
        a, (b,) = pair
        pair = (a - 1, [b + 1])
    return pair


def with_and_try(x):
    try:
        if x > 1:
            y = x
        else:
            y = x - 1
    finally:
        y += 1
    return y


SAMPLES = [
    branch,
    local_to_a_branch,
    early_return,
    returns_structures,
    counts_down,
    loop_with_local,
    break_in_while,
    while_true,
    python_loop_with_symbolic_break,
    for_range,
    for_range_nested,
    logic,
    if_expression,
    loop_else,
    calls_others,
    changes_attributes,
    sequences,
    with_and_try,
]


@pytest.mark.parametrize("value", [-2, 0, 1, 2, 3, 4, 7, 13, 24])
@pytest.mark.parametrize("function", SAMPLES, ids=lambda function: function.__name__)
def test_symbolic_control_flow_gives_what_python_gives(symbolic: Any, function: Any, value: int) -> None:
    assert plain(convert(function)(symbolic(value))) == function(value)


def test_both_branches_are_traced_and_see_the_same_start(symbolic: Any) -> None:
    seen = []

    def function(x):
        y = 1
        if x > 0:
            seen.append(("main", y))
            y = 2
        else:
            seen.append(("else", y))
            y = 3
        return y

    assert plain(convert(function)(symbolic(1))) == 2
    assert seen == [("main", 1), ("else", 1)]


def test_and_runs_its_right_side_only_under_the_left(symbolic: Any) -> None:
    conds = []
    hooks.install(cond=lambda pred, yes, no: conds.append(pred) or (yes() if pred.array else no()))

    def function(x, values):
        return x > 2 and values[5] > 0, x < 3 or values[5] > 0

    result = convert(function)(symbolic(1), symbolic([1, 2]))
    assert plain(result) == (False, True)
    assert len(conds) == 2


def test_cheap_operands_need_no_branch(symbolic: Any) -> None:
    hooks.install(cond=None)

    def function(x, y):
        return x > 2 and not y and x < 3, x > 2 or y or 0 < x < 2

    assert plain(convert(function)(symbolic(1), symbolic(True))) == (False, True)


def test_rows_of_a_tensor(symbolic: Any) -> None:
    def function(rows):
        total = 0
        for a, b in pairs(rows):
            total += a * b
        best = rows[0]
        for row in rows:
            if row[0] > best[0]:
                best = row
        return total, best, len(rows)

    def pairs(rows):
        return [(rows[0][0], rows[1][0]), (rows[0][1], rows[1][1])]

    assert plain(convert(function)(symbolic([[1, 2], [3, 4], [0, 9]]))) == (11, [3, 4], 3)


def test_a_loop_over_no_rows_runs_no_iteration(symbolic: Any) -> None:
    def function(rows):
        total = 7
        for row in rows:
            total = total + row
        return total

    assert plain(convert(function)(symbolic(np.zeros([0], np.int32)))) == 7


def test_statements_that_change_no_variable(symbolic: Any) -> None:
    calls = []

    def function(x):
        while x > len(calls):
            calls.append("while")
        if x > 0:
            calls.append("main")
        for _ in range(x):
            calls.append("for")
        return x

    assert plain(convert(function)(symbolic(5))) == 5
    assert calls == ["while"] * 5 + ["main"] + ["for"] * 6  # the for loop was traced once, then run


@pytest.mark.parametrize("strict", [True, False])
def test_ops_may_give_a_lone_result_without_a_list(symbolic: Any, strict: bool) -> None:
    before = hooks.install()
    loop, branch = before.while_loop, before.cond

    def lone(results):
        return results if strict or len(results) != 1 else results[0]

    hooks.install(while_loop=lambda *args: lone(loop(*args)), cond=lambda *args: lone(branch(*args)))

    def function(x):
        while x > 3:
            x = x - 2
        if x > 2:
            x = x * 10
        return x if helper(x) > 0 and helper(x) < 100 else 0

    assert [plain(convert(function)(symbolic(value))) for value in (9, 4, -1)] == [30, 2, 0]


def test_assertions_become_part_of_the_graph(symbolic: Any) -> None:
    def function(x):
        assert x > 1, f"too small: {x}"
        return x

    assert plain(convert(function)(symbolic(2))) == 2
    with pytest.raises(AssertionError, match="in the graph: too small: Symbolic"):
        convert(function)(symbolic(0))


def test_unconverted_functions_meet_the_tensor_themselves(symbolic: Any) -> None:
    @do_not_convert
    def inner(x):
        return 1 if x > 0 else 2

    def outer(x):
        return inner(x)

    with pytest.raises(OperatorNotAllowedInGraphError):
        convert(outer)(symbolic(1))


def test_without_the_ops_the_error_names_what_is_missing(symbolic: Any) -> None:
    before = hooks.install()
    hooks.restore(hooks.Hooks(**{**vars(before), "cond": hooks._missing("cond")}))

    def function(x):
        return 1 if x > 0 else 2

    with pytest.raises(UnimplementedError, match="'cond'"):
        convert(function)(symbolic(1))


def only_in_main(x):
    if x > 0:
        y = x
    return y


def only_in_else(x):
    if x > 0:
        pass
    else:
        y = x
    return y


def captured(x):
    def later():
        return y

    if x > 0:
        y = x
    return later()


def deleted_in_one(x):
    y = 1
    if x > 0:
        del y
    return y


def other_dtype(x):
    if x > 0:
        y = 1
    else:
        y = x * 1.5
    return y


def other_structure(x):
    y = [x, x]
    if x > 0:
        y = [x]
    return y


def other_keys(x):
    y = {"a": x}
    if x > 0:
        y = {"b": x}
    return y


def none_in_one(x):
    y = None
    if x > 0:
        y = x
    return y


def object_in_one(x):
    y = x
    if x > 0:
        y = len
    return y


def return_in_main(x):
    if x > 0:
        return x


def return_in_else(x):
    if x > 0:
        x = 1
    else:
        return x
    helper(x)


def return_none_in_one(x):
    if x > 0:
        return x
    return None


def expression_dtype(x):
    return x if x > 0 else "text"


def return_in_loop(x):
    while x > 0:
        x = x - 1
        if x == 3:
            return x
    return x


def return_in_for(x):
    for i in range(x):
        if i == 3:
            return i
    return x


def carried_before_loop(x):
    while x > 0:
        if x > 3:
            y = x
        else:
            y = y + 1
        x = x - 1
    return y


def none_before_loop(x):
    y = None
    while x > 0:
        y = x
        x = x - 1
    return y


def loop_dtype(x):
    y = 1
    while x > 0:
        y = x * 1.5
        x = x - 1
    return y


def loop_structure(x):
    y = [x]
    while x > 0:
        y = (x, x)
        x = x - 1
    return y


def loop_shape(x):
    y = grid(x)
    while x > 0:
        y = y[1:]
        x = x - 1
    return y


def grid(x):
    return type(x)(np.zeros([5, 2]))


def loop_deletes(x):
    y = 1
    while x > 0:
        del y
        x = x - 1
    return y


def vector_condition(x):
    if grid(x) > 0:
        return 1
    return 2


def number_condition(x):
    while x:
        x = x - 1
    return x


def number_and(x):
    return x and helper(x)


def number_or(x):
    return x or helper(x)


def endless_iterator(x):
    for i in iter([1, 2, 3]):
        if x > i:
            break
    return x


MISTAKES = [
    (only_in_main, InvalidArgumentError, r"'y' must also be initialized in the else branch"),
    (only_in_else, InvalidArgumentError, r"'y' must also be initialized in the main branch"),
    (captured, InvalidArgumentError, r"'y' must also be initialized in the else branch"),
    (deleted_in_one, InvalidArgumentError, r"'y' must also be initialized in the main branch"),
    (other_dtype, TypeError, r"'y' has dtype int32 in the main branch, but dtype float32 in the else branch"),
    (
        other_structure,
        TypeError,
        r"'y' must have the same nested structure .*\[\*\] in the main .*\[\*, \*\] in",
    ),
    (other_keys, TypeError, r"'y' must have the same nested structure"),
    (none_in_one, ValueError, r"'y' is None in the else branch"),
    (object_in_one, ValueError, r"'y' is .*len.*, which is not a tensor, in the main branch"),
    (return_in_main, ValueError, r"the else branch must also have a return statement"),
    (return_in_else, ValueError, r"the main branch must also have a return statement"),
    (return_none_in_one, ValueError, r"'the returned value' is None in the else branch"),
    (expression_dtype, DTypeError, r"'x > 0' has dtype int32 in the main branch, but dtype string in the else"),
    (return_in_loop, NotImplementedError, r"a return statement cannot be placed inside this loop"),
    (return_in_for, NotImplementedError, r"a return statement cannot be placed inside this loop"),
    (carried_before_loop, ValueError, r"'y' must be defined before the loop"),
    (none_before_loop, ValueError, r"'y' must be defined before the loop"),
    (loop_dtype, TypeError, r"'y' has dtype int32 before the loop, but dtype float32 after one iteration"),
    (loop_structure, TypeError, r"'y' must have the same nested structure"),
    (loop_shape, ValueError, r"'y' has shape \(5, 2\) before the loop, but shape \(4, 2\) after one iteration"),
    (loop_deletes, ValueError, r"'y' has no value after one iteration"),
    (vector_condition, ValueError, r"condition of if statement expected to be `tf.bool` scalar, got .*; to check for"),
    (number_condition, ValueError, r"condition of while loop expected .*; to use as boolean Tensor, use `tf.cast`"),
    (number_and, ValueError, r"condition of and expected"),
    (number_or, ValueError, r"condition of or expected"),
    (endless_iterator, NotImplementedError, r"break and return statements which depend on a tensor"),
]


@pytest.mark.parametrize(("function", "error", "text"), MISTAKES, ids=[case[0].__name__ for case in MISTAKES])
def test_mistakes_name_the_variable_and_the_line(symbolic: Any, function: Any, error: type, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        convert(function)(symbolic(5))
    first = function.__code__.co_firstlineno
    lines = [int(part.split(")")[0]) for part in str(caught.value).split("test_symbolic.py:")[1:]]
    assert any(first < line < first + 9 for line in lines)
