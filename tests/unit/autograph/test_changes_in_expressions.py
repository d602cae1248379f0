"""Variables changed inside of expressions: by ``:=``, and by calls of functions that declare them nonlocal."""

# The samples are written as users write.
# ruff: noqa: F841

from __future__ import annotations

from typing import Any

import pytest

from situs._src.tracing.autograph.convert import convert
from situs.autograph import is_converted
from situs.errors import InvalidArgumentError, OperatorNotAllowedInGraphError


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.array.tolist() if hasattr(value, "array") else value


def while_reads_it(x):
    total = 0
    while (y := x - 1) > 0:
        x = x - 1
        total += y
    return total, y


def while_sets_its_variable(x):
    n = 0
    while (y := x - 1) > 0:
        x = y
        n += 1
    return x, n


def while_with_leaps_and_else(x):
    total = 0
    while (y := x - 1) > 0:
        x = x - 1
        if y == 2:
            continue
        if y > 20:
            break
        total += y
    else:
        total = total + 1000
    return total, x


def while_and(x):
    n = 0
    while x > 1 and (y := x - 2) > 0:
        x = y
        n += 1
    return x, n


def nested_while(x):
    n = 0
    while (a := x - 3) > 0:
        x = a
        while (b := a - 2) > 0:
            a = b
            n += b
    return x, n


def if_in_for(x):
    t = 0
    for i in range(x):
        if (z := x + i) > 5:
            t += z
    return t


def if_and(x):
    t = x
    if x > 1 and (y := x * 2) > 5:
        t = t + y
    return t


def if_or(x):
    y = 0
    if x > 5 or (y := x + 4) > 5:
        return y
    return y - 1


def elif_(x):
    if x > 10:
        r = x
    elif (y := x + 1) > 3:
        r = y
    else:
        r = -y
    return r


def conditional(x):
    y = 1
    z = (y := x + 1) if x > 2 else x - 1
    return y, z, (w := x * 2) + (w if (v := w + 1) > 3 else v)


def chained(x):
    y = 0
    inside = 0 < x < (y := x + 1) < 9
    return inside, y, 0 < (z := x - 1) < 5, z


def order(x):
    y = x
    pair = [y, (y := y + 1), y, (y := y * 2)]
    y += (y := 3)
    return pair, y, {"a": y, "b": (y := x)}["a"], y


def in_return(x):
    return (y := x + 1) > 3 and y < 8


WALRUS = [
    while_reads_it,
    while_sets_its_variable,
    while_with_leaps_and_else,
    while_and,
    nested_while,
    if_in_for,
    if_and,
    if_or,
    elif_,
    conditional,
    chained,
    order,
    in_return,
]


def branch_calls(x):
    c = x * 0
    if x > 5:

        def set_c(z):
            nonlocal c
            c = z + 1

        set_c(2)
    return c


def loop_calls(x):
    c = 0

    def bump(z):
        nonlocal c
        c += z

    for i in range(x):
        if i > 1:
            bump(i)
    return c


def test_calls(x):
    def step():
        nonlocal x
        x = x - 1
        return x

    n = 0
    while step() > 0:
        n += 1
    return x, n


def expressions_call(x):
    c = 0

    def put(z):
        nonlocal c
        c = c + z
        return z > 0

    a = x > 2 and put(x)
    b = put(x + 1) if x > 4 else put(x - 1)
    return a, b, c


def sibling_calls(x):
    c = 0

    def put(z):
        nonlocal c
        c = z

    def maybe(z):
        if z > 3:
            put(z)

    maybe(x)
    maybe(x - 2)
    return c


def through_a_list(x):
    c = 0

    def put(z):
        nonlocal c
        c = z

    functions = [put]
    if x > 2:
        functions[0](x)
    return c


def through_another(x):
    c = 0

    def put(z):
        nonlocal c
        c = z

    if x > 2:
        apply(put, x)
    return c


def apply(function, x):
    return function(x)


def through_a_maker(x):
    c = 0

    def make():
        def put(z):
            nonlocal c
            c = z

        return put

    later = make()
    if x > 2:
        later(x)
    return c


def through_a_class(x):
    c = 0

    class Putter:
        def put(self, z):
            nonlocal c
            c = z

    putter = Putter()
    if x > 2:
        putter.put(x)
    return c


def through_a_registry(x):
    c = 0
    kept.clear()

    def put(z):
        nonlocal c
        c = z

    kept.append(put)
    if x > 2:
        fire(x)
    return c


kept: list[Any] = []


def fire(x):
    kept[0](x)


def unrelated_loops_keep_python_values(x):
    n = 1

    def put(z):
        nonlocal n
        n = z

    for i in range(x):
        x = x + i
    put(2)
    return [10, 20, 30][n], x


NONLOCAL = [
    branch_calls,
    loop_calls,
    test_calls,
    expressions_call,
    sibling_calls,
    through_a_list,
    through_another,
    through_a_maker,
    through_a_class,
    through_a_registry,
    unrelated_loops_keep_python_values,
]
test_calls.__test__ = False


@pytest.mark.parametrize("value", [-2, 0, 1, 2, 3, 4, 6, 9, 24])
@pytest.mark.parametrize("function", WALRUS + NONLOCAL, ids=lambda function: function.__name__)
def test_changes_are_those_that_python_makes(symbolic: Any, function: Any, value: int) -> None:
    made = convert(function)
    assert is_converted(made)
    assert made(value) == function(value)
    assert plain(made(symbolic(value))) == plain(function(value))


def test_a_variable_of_the_function_around_is_carried(symbolic: Any) -> None:
    c = 0

    def function(x):
        def put(z):
            nonlocal c
            c = z

        if x > 2:
            put(x)

    for value, expected in ((1, 0), (3, 3), (0, 3)):
        convert(function)(symbolic(value))
        assert plain(c) == expected


def test_python_loops_look_at_each_value_once() -> None:
    def function(batches):
        seen = []
        source = iter(batches)
        while batch := next(source, None):
            while batch:
                seen.append(batch.pop())
        return seen

    assert convert(function)([[1, 2], [3], [4, 5]]) == [2, 1, 3, 5, 4]


def test_an_and_whose_name_is_used_elsewhere_needs_a_value_before(symbolic: Any) -> None:
    def function(x):
        if x > 1 and (y := x * 2) > 5:
            x = y
        return y

    with pytest.raises(InvalidArgumentError, match=r"'y' must also be initialized .* Give it a value before"):
        convert(function)(symbolic(1))


def test_the_sides_of_an_and_must_agree(symbolic: Any) -> None:
    def function(x):
        y = 0
        return x > 1 and (y := x * 2)

    with pytest.raises(TypeError, match=r"the value of the expression.* has dtype int32"):
        convert(function)(symbolic(1))


def and_in_a_comprehension(x):
    return [x > i and (y := i) for i in [1, 2]]


def choice_in_a_lambda(x):
    return (lambda z: (y := z) if z > 0 else 0)(x)


def chain_in_a_comprehension(x):
    return [0 < i < (y := x) for i in [1]]


def matches_a_value(x):
    match x:
        case 1 | 2:
            return 1
        case _:
            return 0


def matches_a_part(x):
    match (x, "a"):
        case (3, "a"):
            return 1
    return 0


def guard(x):
    match "a":
        case "a" if x > 3:
            return 1
    return 0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (and_in_a_comprehension, "`:=` under .* Assign the name in a statement"),
        (choice_in_a_lambda, "`:=` under .* Assign the name in a statement"),
        (chain_in_a_comprehension, "`:=` under .* Assign the name in a statement"),
        (matches_a_value, "`match` compares in Python.* Write `if`"),
        (matches_a_part, "`match` compares in Python.* Write `if`"),
        (guard, "`match` compares in Python.* Write `if`"),
    ],
)
def test_what_stays_python_refuses_tensors(symbolic: Any, function: Any, words: str) -> None:
    assert convert(function)(3) == function(3)
    with pytest.raises(OperatorNotAllowedInGraphError, match=words):
        convert(function)(symbolic(3))


def test_match_by_type_and_by_other_parts_works(symbolic: Any) -> None:
    def function(x, mode):
        match x:
            case int():
                kind = "number"
            case symbolic():
                kind = "tensor"
        match (x, mode):
            case (_, "double"):
                return kind, x * 2
            case (y, _):
                return kind, y

    assert plain(convert(function)(symbolic(3), "double")) == ("tensor", 6)
    assert plain(convert(function)(symbolic(3), "other")) == ("tensor", 3)
    assert convert(function)(3, "double") == ("number", 6)


def test_lists_are_changed_while_tracing(symbolic: Any) -> None:
    """As in TensorFlow: only names, attributes and elements that the branch itself assigns are carried."""
    box = []

    def function(x):
        if x > 5:
            box.append(1)
        return x

    convert(function)(symbolic(1))
    assert box == [1]
