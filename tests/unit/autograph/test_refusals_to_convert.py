"""What is left alone, and that conversion never fails."""

from __future__ import annotations

import functools
import math
import textwrap
from typing import Any

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.ops import math as situs_math
from situs._src.tracing.autograph import hooks, operators
from situs._src.tracing.autograph.calls import is_wanted, requested
from situs._src.tracing.autograph.convert import convert
from situs.autograph import do_not_convert, is_converted, to_code, to_graph
from situs.errors import InvalidArgumentError, SitusError


def generator(n):
    while n > 0:
        yield n
        n -= 1


async def coroutine(n):
    return n if n else None


def reads_its_frame(x):
    if x:
        y = 1
    return sorted(locals())


def uses_our_names(x):
    ag__ = 1
    return ag__ if x else 0


@do_not_convert
def marked(x):
    return 1 if x else 0


@do_not_convert()
def marked_with_parentheses(x):
    return 1 if x else 0


namespace: dict[str, Any] = {}
exec("def without_source(x):\n    return 1 if x else 0", namespace)


@pytest.mark.parametrize(
    "function",
    [
        generator,
        coroutine,
        reads_its_frame,
        uses_our_names,
        marked,
        marked_with_parentheses,
        namespace["without_source"],
        len,
        print,
        int,
        dict,
        math.sqrt,
        [].append,
        np.add,
        np.mean,
        torch.relu,
        textwrap.dedent,
        situs_math.add,
        functools.lru_cache(generator),
        None,
        3,
        "text",
        operators.if_stmt,
    ],
    ids=lambda value: type(value).__name__,
)
def test_left_as_it_is(function: Any) -> None:
    assert convert(function) is function
    assert not is_converted(function)
    assert operators.converted(function) in (function, *map(operators.converted, (len, range, int, float)))
    with pytest.raises(InvalidArgumentError, match="cannot be converted"):
        to_graph(function)


def test_converting_twice_is_converting_once() -> None:
    def function(x: int) -> int:
        return 1 if x else 0

    once = convert(function)
    assert convert(once) is once
    assert operators.converted(once) is once


def test_the_mark_does_not_spread_to_wrappers() -> None:
    @functools.wraps(marked)
    def wrapper(x: int) -> int:
        return marked(x) if x else -1

    assert is_converted(convert(wrapper))
    assert convert(wrapper)(0) == -1


def test_marking_works_on_anything() -> None:
    assert do_not_convert(len) is len
    assert do_not_convert(None) is do_not_convert


def test_lambdas_are_told_apart_on_one_line() -> None:
    first, second = (lambda x: 1 if x else 2), (lambda x: 3 if x else 4)
    assert (convert(first)(1), convert(second)(0)) == (1, 4)
    assert is_converted(convert(first))
    assert is_converted(convert(second))


def test_the_same_lambda_twice_on_one_line_is_no_matter() -> None:
    pair = [lambda x: 1 if x else 2, lambda x: 1 if x else 2]
    assert [convert(item)(0) for item in pair] == [2, 2]


def test_source_that_changed_under_the_program_is_noticed(tmp_path: Any) -> None:
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return 1 if x else 2\n")
    scope: dict[str, Any] = {"__name__": "changing"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("def g(x):\n    return 3\n")
    assert convert(scope["f"]) is scope["f"]


@pytest.mark.parametrize("text", ["def f(x:\n", "", "\0", "x = 1\n" * 3])
def test_files_that_cannot_be_parsed(tmp_path: Any, text: str) -> None:
    path = tmp_path / "broken.py"
    scope: dict[str, Any] = {"__name__": "broken"}
    exec(compile("def f(x):\n    return 1 if x else 2\n", str(path), "exec"), scope)
    path.write_text(text)
    assert convert(scope["f"]) is scope["f"]


@pytest.mark.parametrize(
    "entity", [None, 3, len, generator, namespace["without_source"]], ids=lambda value: type(value).__name__
)
def test_to_code_says_what_it_wants(entity: Any) -> None:
    with pytest.raises(SitusError, match="expected a Python function"):
        to_code(entity)


def test_to_code_shows_python() -> None:
    def function(x: int) -> int:
        if x > 0:
            return 1
        return 2

    text = to_code(function)
    compile(text, "<shown>", "exec")
    assert text.startswith("def function(x: int)")
    assert "ag__.if_stmt(x > 0," in text


def test_unknown_hooks_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="no hook"):
        hooks.install(conditional=len)


class Callable:
    def __call__(self, x: int) -> int:
        return 1 if x else 2


def test_calls_reach_methods_partials_and_objects() -> None:
    for function in (Callable(), functools.partial(Callable(), 0), Callable().__call__):
        assert operators.converted(function)(*(() if isinstance(function, functools.partial) else (0,))) == 2
    assert is_converted(operators.converted(Callable()))
    assert is_converted(to_graph(functools.partial(Callable.__call__, None)).func)


def test_keras_is_left_alone() -> None:
    program = {"__name__": "keras.src.layers.core.dense"}
    exec(compile("def call(x):\n    return 1 if x else 0", __file__, "exec"), program)
    assert not is_wanted(program["call"])
    program["__name__"] = "keras_of_mine"
    assert is_wanted(program["call"])


def test_a_function_of_keras_that_is_traced_is_converted_and_what_it_calls_is_not(tmp_path) -> None:
    path = tmp_path / "layer.py"
    path.write_text(
        "def inner(x):\n    return 1 if x else 0\n\n\ndef outer(x):\n    if x > 0:\n        x = x * 2\n    return x\n"
    )
    program = {"__name__": "keras.src.layers.core.dense"}
    exec(compile(path.read_text(), str(path), "exec"), program)
    assert is_converted(requested(program["outer"]))
    assert not is_converted(operators.converted(program["inner"]))
    assert tf.function(program["outer"])(tf.constant(3)).numpy() == 6
    assert not is_converted(requested(do_not_convert(program["outer"])))
