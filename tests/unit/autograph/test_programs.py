"""Random small programs: plain, converted, and converted with symbolic inputs, all agree."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from situs._src.tracing.autograph.convert import convert
from situs.autograph import is_converted
from situs.errors import InvalidArgumentError, UnimplementedError

NAMES = st.sampled_from("abc")
VALUES = st.one_of(NAMES, st.integers(-3, 6).map(str))
TESTS = st.one_of(
    st.builds("{} {} {}".format, NAMES, st.sampled_from(["<", ">=", "=="]), VALUES),
    st.builds("{0} < {1} and not {2} > {1}".format, NAMES, NAMES, NAMES),
    st.builds("{0} > 2 or {1} + {0} < {2}".format, NAMES, NAMES, VALUES),
    st.builds("{0} < ({1} := {1} - {2})".format, NAMES, NAMES, VALUES),
    st.builds("{0} > 2 and ({1} := {0} + {2}) < {1}".format, NAMES, NAMES, VALUES),
    st.builds("{0} > {2} or ({1} := {0} - {2}) < ({0} := {1}) < 4".format, NAMES, NAMES, VALUES),
)
SIMPLE = st.one_of(
    st.builds("{} = {} + {}".format, NAMES, VALUES, VALUES),
    st.builds("{} -= {}".format, NAMES, VALUES),
    st.builds("{0} = {1} if {2} else {0}".format, NAMES, VALUES, TESTS),
    st.builds("{0} += ({1} := {2}) if {3} else {1}".format, NAMES, NAMES, VALUES, TESTS),
)
counter = itertools.count()
Lines = list[str]


def indented(block: list[Lines]) -> Lines:
    return ["    " + line for part in block for line in part]


def blocks(*, in_loop: bool, returns: bool, depth: int) -> st.SearchStrategy[list[Lines]]:
    leaps = (["break", "continue"] if in_loop else []) + (["return a, b, c", "return c"] if returns else [])
    options = [SIMPLE.map(lambda line: [line])]
    if leaps:
        options.append(st.sampled_from(leaps).map(lambda line: [line]))
    if depth:
        same = blocks(in_loop=in_loop, returns=returns, depth=depth - 1)
        inner = blocks(in_loop=True, returns=returns, depth=depth - 1)
        options += [
            st.builds(branch, TESTS, same, same),
            st.builds(loop, st.just(depth), st.integers(0, 99), TESTS, inner, same),
        ]
    return st.lists(st.one_of(options), min_size=1, max_size=3)


def branch(test: str, body: list[Lines], orelse: list[Lines]) -> Lines:
    return [f"if {test}:", *indented(body), "else:", *indented(orelse)]


def loop(depth: int, kind: int, test: str, body: list[Lines], orelse: list[Lines]) -> Lines:
    end = ["else:", *indented(orelse)] if kind % 3 == 0 else []
    if kind % 2:
        return [f"for a in steps({kind % 5}):", *indented(body), *end]
    n = f"n{depth}"  # not one that a loop inside sets back
    return [f"{n} = 0", f"while {n} < 4 and ({test}):", f"    {n} += 1", *indented(body), *end]


def compiled(body: list[Lines]) -> Any:
    text = "\n".join(["def f(a, b, c, steps):", *indented(body), "    return a, b, c"]) + "\n"
    name = f"<program {next(counter)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "programs"}
    exec(compile(text, name, "exec"), scope)
    return scope["f"], text


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.array.item() if hasattr(value, "array") else value


ROUNDS = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
INPUTS = st.tuples(*[st.integers(-4, 8)] * 3)


@ROUNDS
@given(blocks(in_loop=False, returns=True, depth=2), INPUTS)
def test_converted_programs_compute_the_same(body: list[Lines], inputs: tuple[int, int, int]) -> None:
    function, text = compiled(body)
    made = convert(function)
    assert is_converted(made)
    assert made(*inputs, range) == function(*inputs, range), text


@ROUNDS
@given(blocks(in_loop=False, returns=False, depth=2), INPUTS)
def test_symbolic_programs_compute_the_same(symbolic: Any, body: list[Lines], inputs: tuple[int, int, int]) -> None:
    function, text = compiled(body)
    result = convert(function)(*map(symbolic, inputs), lambda n: symbolic(np.arange(n)))
    assert plain(result) == function(*inputs, range), text


@ROUNDS
@given(blocks(in_loop=False, returns=True, depth=2), INPUTS)
def test_symbolic_programs_with_returns_compute_the_same_or_are_refused(
    symbolic: Any, body: list[Lines], inputs: tuple[int, int, int]
) -> None:
    function, text = compiled(body)
    try:
        result = convert(function)(*map(symbolic, inputs), range)
    except (InvalidArgumentError, UnimplementedError):
        return
    assert plain(result) == function(*inputs, range), text
