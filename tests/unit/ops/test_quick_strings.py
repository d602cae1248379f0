"""Strings worked on in C: the same results and the same errors as in Python, and no reference lost or kept."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
from situs._src.base import compile_c
from situs._src.ops import quick_strings

pytestmark = pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")

words = st.lists(st.binary(max_size=9), min_size=quick_strings.MANY, max_size=quick_strings.MANY + 5)
base64s = st.lists(
    st.one_of(st.binary(max_size=6), st.text("aZ9-_=", max_size=9).map(str.encode)),
    min_size=quick_strings.MANY,
    max_size=quick_strings.MANY + 2,
)
numerals = st.lists(
    st.one_of(
        st.integers(-(10**16), 10**16).map(lambda number: b"%d" % number),
        st.decimals(-1000, 1000, places=3).map(lambda number: str(number).encode()),
        st.sampled_from([b"-0", b"+0.0", b".5", b"5.", b"-.25", b"+7", b"0000000000001.5"]),
    ),
    min_size=quick_strings.MANY,
    max_size=quick_strings.MANY + 2,
)
odd_numerals = st.sampled_from([b"", b".", b"-", b"1.2.3", b"1e3", b" 1", b"--1", b"1-", b"inf", b"12345678901234567"])
several = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A library that is there from the first element on."""
    made = quick_strings.deferred(0)
    monkeypatch.setattr(quick_strings, "_library", made)
    assert made.functions(1) is not None
    return made


def outcome(function, *arguments):
    """What a function makes of its arguments: values, or the error."""
    try:
        made = function(*arguments)
    except tf.errors.InvalidArgumentError as error:
        return str(error)
    return made.dtype, made.shape, made.numpy().tobytes() if made.dtype != tf.string else made.numpy().tolist()


def same_both_ways(function, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SITUS_NO_COMPILER", "1")
        expected = outcome(function, *arguments)
    assert outcome(function, *arguments) == expected


@several
@given(words, st.integers(-12, 12), st.integers(-3, 12))
def test_parts_of_strings(items, start, count):
    same_both_ways(tf.strings.substr, items, start, count)


@several
@given(words)
def test_lengths_case_and_base64(items):
    same_both_ways(tf.strings.length, items)
    same_both_ways(tf.strings.length, items, "UTF8_CHAR")
    same_both_ways(tf.strings.lower, items)
    same_both_ways(tf.strings.upper, items)
    same_both_ways(tf.io.encode_base64, items)
    same_both_ways(tf.io.encode_base64, items, True)
    encoded = tf.io.encode_base64(items, True)
    assert tf.io.decode_base64(encoded).numpy().tolist() == items


@several
@given(base64s)
def test_base64_that_may_be_wrong(items):
    same_both_ways(tf.io.decode_base64, items)


@several
@given(numerals, st.sampled_from([tf.float32, tf.float64, tf.int32, tf.int64]), st.none() | odd_numerals)
def test_numerals(items, dtype, odd):
    if odd is not None:
        items[len(items) // 2] = odd
    same_both_ways(tf.strings.to_number, items, dtype)


@pytest.mark.parametrize("count", [quick_strings.MANY - 1, quick_strings.MANY, 1000])
def test_bytes_of_every_value_in_every_place(count):
    items = [bytes([number % 256, (number * 7) % 256]) * (number % 5) for number in range(count)]
    assert tf.strings.length(items).numpy().tolist() == list(map(len, items))
    assert tf.strings.upper(items).numpy().tolist() == [item.upper() for item in items]
    assert tf.strings.lower(items).numpy().tolist() == [item.lower() for item in items]


def test_arrays_that_do_not_lie_in_one_piece():
    columns = np.array([[b"%d,%d" % (row, column) for column in range(9)] for row in range(9)], object)
    assert quick_strings.parts(columns.T, 0, 1).tolist() == np.array([list("012345678")] * 9, "S1").tolist()
    assert quick_strings.lengths(columns[::2], True).tolist() == [[3] * 9] * 5


def test_what_is_no_string_is_left_to_python():
    mixed = np.array([b"abc", None, 7, "text"] * 16, object)
    assert quick_strings.lengths(mixed, True) is None
    assert quick_strings.cased(mixed, True) is None


def test_references_are_counted():
    item = b"a string that nobody else has" * 2
    value = np.array([item] * 64, object)
    before = sys.getrefcount(item), sys.getrefcount(None)
    for _ in range(50):
        quick_strings.parts(value, 0, 5)
        quick_strings.parts(value, 1000, 5)  # gives up
        quick_strings.decoded(value)  # gives up in the middle of the first element
        quick_strings.lengths(value, True)
    after = sys.getrefcount(item), sys.getrefcount(None)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 50  # of None: the 3,200 places of each kind that were filled
    made = quick_strings.encoded(value, True).tolist()
    assert sys.getrefcount(made[0]) == sys.getrefcount(made[1]) == sys.getrefcount([bytes(9)][0]) + 1


def test_few_strings_do_not_wait_for_a_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_c, "_loaded", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = quick_strings.deferred(300)
    assert [library.functions(100) is not None for _ in range(4)] == [False, False, True, True]
    monkeypatch.setattr(compile_c, "_loaded", {})  # as in the next process
    assert quick_strings.deferred(300).functions(1) is not None


def test_a_compiler_that_fails_is_asked_once(monkeypatch):
    asked = []
    monkeypatch.setattr(compile_c, "library", lambda *_, **options: asked.append(options["may_compile"]))
    library = quick_strings.deferred(10)
    assert [library.functions(6) for _ in range(5)] == [None] * 5
    assert asked == [False, True]
