"""Converted code without tensors is plain Python: the same results, exceptions, side effects, order."""

# The samples are written as users write.
# ruff: noqa: B007, B012, RET503, SIM108, RET504

from __future__ import annotations

import contextlib
import functools
import traceback
from typing import Any

import pytest

from situs._src.tracing.autograph.convert import convert
from situs.autograph import is_converted, to_code

SEEN: list[Any] = []
COUNTER = 0


def note(value: Any) -> Any:
    SEEN.append(value)
    return value


def outcome(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    SEEN.clear()
    try:
        result = function(*args)
    except Exception as error:
        return type(error), str(error), list(SEEN)
    return result, list(SEEN)


def branches(x):
    if x > 0:
        y = "positive"
    elif x == 0:
        y = "zero"
    else:
        y = "negative"
    return y


def early_returns(x):
    note("start")
    if x < 0:
        return note("negative")
    for i in range(10):
        for j in range(10):
            if i * j == x:
                return i, j
        if i > x:
            return "over"
    return None


def falls_off_the_end(x):
    if x:
        return 1


def bare_return(x):
    if x:
        return
    note("not reached with x")


def breaks_and_continues(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        if i > 10:
            break
        total += note(i)
    else:
        total = -total
    return total, i


def nested_breaks(n):
    found = []
    while True:
        n -= 1
        for k in range(n):
            if k == 3:
                break
            if k == 1:
                continue
            found.append((n, k))
        else:
            found.append("whole")
            if n < 1:
                break
            continue
        found.append("cut")
    return found


def while_else(n):
    while n > 0:
        n -= 1
        if n == 3:
            break
    else:
        n = "done"
    return n


def iterator_left_where_it_was(n):
    values = iter(range(10))
    for v in values:
        if v == n:
            break
    return list(values)


def logic(a, b):
    return note(a) and note(b), note(a) or note(b) or note("last"), not note(a), a if note(b) else note("else")


def chained(a, b):
    return note(a) < note(b) < note(5), note(a) == note(b) == note(1) != note(2)


def unbound(x):
    if x:
        y = 1
    return y


def deleted(x):
    y = 1
    if x:
        del y
    return y


def tries(x):
    for i in range(3):
        try:
            note(i)
            if i == x:
                return "from try"
            if x == 10:
                raise ValueError(i)
        except ValueError as error:
            if i:
                return f"caught {error}"
            continue
        else:
            note("else")
            if x == 20:
                break
        finally:
            note("finally")
    return "end"


def returns_in_finally(x):
    for i in range(3):
        try:
            if i == x:
                raise KeyError(i)
            if x == 5:
                return "try"
        finally:
            if i == 1:
                return "finally"
    return "end"


class Failing:
    def __enter__(self) -> None: ...

    def __exit__(self, *args: object) -> None:
        raise ValueError("on the way out")


def return_that_fails(x):
    try:
        with Failing():
            if x:
                return "not returned"
    except ValueError:
        note("caught")
    else:
        note("no error")
    return "returned"


def withs(x):
    with contextlib.suppress(ZeroDivisionError):
        if x == 0:
            return 1 / x
        if x > 1:
            return x
    return "after"


def assigned_in_expressions(values):
    if (n := len(values)) > 2 and (m := n * 2) > 4:
        return n, m
    while (last := values.pop()) and last > 0:
        note(last)
    return [y := v for v in values], y if values else last


def comprehensions(n):
    return (
        [i if i % 2 else -i for i in range(n) if i > 1 and i != 3],
        {i: not i for i in range(2)},
        sum(i for i in range(n) if i or n),
    )


def matches(x):
    match x:
        case {"kind": kind, **rest} if kind:
            if rest:
                return rest
            return kind
        case [first, *others]:
            for item in others:
                if item == first:
                    return item
    return "no match"


def inner_functions(x):
    step = 1

    def add(y, by=2):
        """Adds."""
        nonlocal step
        if y > 3:
            step += by
            return y
        return y + step

    doubled = lambda v: v * 2 if v > 1 else v  # noqa: E731
    return add(x), step, doubled(x), add.__doc__, add.__qualname__


def makes_generators(n):
    def upwards():
        for i in range(n):
            if i == 2:
                return
            yield i

    return list(upwards())


def uses_globals(x):
    global COUNTER
    COUNTER = 5
    if x:
        COUNTER += x
    return COUNTER


def annotated(x):
    y: int
    if x:
        y: int = 1
        z: str = "z"
    else:
        y, z = 2, 3
    return y, z


def unpacks(x):
    for (a, *b), c in [((1, 2, 3), 4), ((x, 6), 7)]:
        if a == x:
            break
    return a, b, c


def fails_inside(x):
    if x:
        for i in range(3):
            note(i)
            raise KeyError(x)
    return 0


def reraises(x):
    try:
        raise ValueError("first")
    except ValueError:
        if x:
            raise
    return "quiet"


def defines_in_branches(x):
    if x:
        import math as m

        def f():
            return m.pi

        class C:
            value = f()
    else:
        f, C, m = int, None, None
    return f(), C and C.value, m and m.__name__


def names_of_defaults(x, key=lambda y: y):
    if x:
        y = 2
    else:
        y = 3
    return y


def star_calls(x):
    def inner(*args, a=1, **kwargs):
        return (args, a, kwargs) if args and kwargs else a

    return inner(*[x, 2], a=3, b=x), inner(), inner(*(), a=x)


def asserts(x):
    try:
        assert x > 1, note("message")
        assert note(x)
    except AssertionError:  # without its text, which pytest extends
        return "failed"
    return x


def multi_line_strings(x):
    if x:
        text = """one
    two
  three"""
        return text
    return f"{x if x else 'nothing'}"


def guards(x):
    if x is None:
        return "none"
    if x is True or (x is False):
        return "flag"
    note("go on")
    if x > 3:
        return "big"
    return "small"


def recursion(n):
    if n < 2:
        return n
    return recursion(n - 1) + recursion(n - 2)


def unreachable(x):
    if x:
        return 1
        note("never")
    while True:
        break
        note("never")
    return 2


def loop_variable_survives(n):
    for i in range(n):
        pass
    return i


def changes_places(x):
    box = {"n": 0, "list": [1, 2]}
    if x:
        box["n"] += x
        box["list"][0] = x
    for k in box:
        if k == "n":
            box[k] = -1
    return box


CASES = [
    (branches, (1, 0, -1)),
    (early_returns, (-1, 0, 6, 35, 100)),
    (falls_off_the_end, (0, 1)),
    (bare_return, (0, 1)),
    (breaks_and_continues, (1, 0, 5, 20)),
    (nested_breaks, (0, 3, 6)),
    (while_else, (2, 9)),
    (iterator_left_where_it_was, (3, 99)),
    (unbound, (0, 1)),
    (deleted, (0, 1)),
    (tries, (0, 1, 2, 3, 10, 20)),
    (returns_in_finally, (0, 1, 2, 5)),
    (return_that_fails, (0, 1)),
    (withs, (0, 1, 2)),
    (comprehensions, (0, 5)),
    (matches, ({"kind": 1}, {"kind": 0}, {"kind": 2, "b": 3}, [1, 2, 1], [1, 2], 5)),
    (inner_functions, (1, 2, 5)),
    (makes_generators, (1, 4)),
    (uses_globals, (0, 2)),
    (annotated, (0, 1)),
    (unpacks, (1, 5)),
    (fails_inside, (0, 1)),
    (reraises, (0, 1)),
    (defines_in_branches, (0, 1)),
    (names_of_defaults, (0, 1)),
    (star_calls, (1,)),
    (asserts, (0, 1, 2)),
    (multi_line_strings, (0, 1)),
    (guards, (None, True, False, 1, 5, "text")),
    (recursion, (7,)),
    (unreachable, (0, 1)),
    (loop_variable_survives, (0, 3)),
    (changes_places, (0, 3)),
]


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        pytest.param(function, value, id=f"{function.__name__}-{value}")
        for function, values in CASES
        for value in values
    ],
)
def test_converted_code_behaves_as_the_original(function: Any, argument: Any) -> None:
    converted = convert(function)
    assert is_converted(converted)
    assert outcome(converted, (argument,)) == outcome(function, (argument,))


@pytest.mark.parametrize("a", [0, 1, 2, "", "a"])
@pytest.mark.parametrize("b", [0, 1, 3])
def test_logic_keeps_values_order_and_laziness(a: Any, b: Any) -> None:
    assert outcome(convert(logic), (a, b)) == outcome(logic, (a, b))
    assert outcome(convert(chained), (a, b)) == outcome(chained, (a, b))


def test_assignment_expressions_bind_where_they_did() -> None:
    for values in ([1, 2, 3], [0, 5], [4]):
        expected = outcome(assigned_in_expressions, (list(values),))
        assert outcome(convert(assigned_in_expressions), (list(values),)) == expected


class Base:
    def scale(self, x: int) -> int:
        return x * 10


class Scaler(Base):
    __factor = 3

    def __hidden(self, x: int) -> int:
        return x + self.__factor

    def scale(self, x: int, *, twice: bool = False) -> int:
        """Scales."""
        if twice:
            x = super().scale(x)
        return super().scale(self.__hidden(x)) if x else __class__.__factor

    @classmethod
    def make(cls, x: int) -> Any:
        if x:
            return cls, x
        return None

    def __call__(self, x: int) -> int:
        return self.scale(x) if x > 1 else 0


def test_methods_keep_super_and_private_names() -> None:
    scaler = Scaler()
    method = convert(scaler.scale)
    assert is_converted(method)
    assert method.__self__ is scaler
    for args, kwargs in (((1,), {}), ((1,), {"twice": True}), ((0,), {})):
        assert method(*args, **kwargs) == scaler.scale(*args, **kwargs)
    assert convert(Scaler.make)(2) == (Scaler, 2)
    assert to_code(Scaler._Scaler__hidden).count("_Scaler__factor") == 1


def test_closures_share_their_cells() -> None:
    count = 0

    def increase(by: int = 1) -> int:
        nonlocal count
        if by > 0:
            count += by
        return count

    increase_converted = convert(increase)
    assert increase_converted() == 1
    assert increase() == 2
    assert increase_converted(by=5) == 7 == count


def test_each_closure_gets_its_own_function_from_one_conversion() -> None:
    def make(n: int) -> Any:
        def add(x: int) -> int:
            return x + n if x else n

        return add

    one, two = convert(make(1)), convert(make(2))
    assert (one(5), two(5)) == (6, 7)
    assert one.__code__ is two.__code__


def test_a_converted_function_looks_like_the_original() -> None:
    def original(a: int, b: int = 2, *, c: str = "c") -> str:
        """Says something."""
        return c if a < b else "other"

    original.attribute = 1
    made = convert(original)
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__defaults__", "__kwdefaults__", "attribute"):
        assert getattr(made, name) == getattr(original, name)
    assert made.__annotations__ == original.__annotations__
    assert made.__wrapped__ is original
    assert made(1) == "c"


def test_tracebacks_name_the_lines_of_the_user() -> None:
    with pytest.raises(KeyError) as caught:
        convert(fails_inside)(1)
    lines = [frame.line for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == __file__]
    assert lines[-1] == "raise KeyError(x)"
    assert "for i in range(3):" not in lines[-1:]


def test_decorated_functions_are_converted_at_the_wrapper_and_inside() -> None:
    calls = []

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            if args:
                calls.append(args)
            return function(*args)

        return wrapper

    @logged
    def target(x: int) -> int:
        return x if x > 0 else -x

    assert convert(target)(-3) == 3
    assert calls == [(-3,)]
