"""Tensors as text, against what TensorFlow 2.21 printed."""

from __future__ import annotations

import collections
import logging
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ops import printing
from situs._src.runtime.eager.convert import to_tensor
from situs._src.variables.eager import Variable
from situs.errors import InvalidArgumentError, NotFoundError, SitusError

c = to_tensor
Pair = collections.namedtuple("Pair", "a b")


def shaped(*sizes):
    return to_tensor(np.arange(np.prod(sizes), dtype=np.int32).reshape(sizes))


def half(values, dtype):
    return to_tensor(np.array(values).astype(dtype.as_numpy_dtype))


# Each row was printed by TensorFlow 2.21, but for the complex numbers, of which it prints "?".
PRINTED = [
    ((1, 2.5, "x", True, None), {}, "1 2.5 x True None"),
    ((c(1.5),), {}, "1.5"),
    ((shaped(6),), {}, "[0 1 2 3 4 5]"),
    ((shaped(7),), {}, "[0 1 2 ... 4 5 6]"),
    ((shaped(7),), {"summarize": -1}, "[0 1 2 3 4 5 6]"),
    ((shaped(7),), {"summarize": -2}, "[0 1 2 3 4 5 6]"),
    ((shaped(7),), {"summarize": 1}, "[0 ... 6]"),
    ((shaped(7),), {"summarize": np.int64(1)}, "[0 ... 6]"),
    ((shaped(7),), {"summarize": 0}, "[ ...]"),
    (
        (shaped(7, 7),),
        {},
        "[[0 1 2 ... 4 5 6]\n [7 8 9 ... 11 12 13]\n [14 15 16 ... 18 19 20]\n ...\n"
        " [28 29 30 ... 32 33 34]\n [35 36 37 ... 39 40 41]\n [42 43 44 ... 46 47 48]]",
    ),
    ((shaped(2, 2, 3),), {}, "[[[0 1 2]\n  [3 4 5]]\n\n [[6 7 8]\n  [9 10 11]]]"),
    (
        (shaped(3, 3, 3),),
        {"summarize": 1},
        "[[[0 ... 2]\n  ...\n  [6 ... 8]]\n\n ...\n\n [[18 ... 20]\n  ...\n  [24 ... 26]]]",
    ),
    ((shaped(4, 1),), {"summarize": 1}, "[[0]\n ...\n [3]]"),
    (
        (c([0.1, 1e10, 1e-10, 1.0, 1e5, 1e6, 123456789.0, np.nan, np.inf, -0.0]),),
        {"summarize": -1},
        "[0.1 1e+10 1e-10 1 100000 1e+06 123456792 nan inf -0]",
    ),
    ((c([16777216.0, 1e7, 1234567.0, 1 / 3, 3.4028235e38]),), {"summarize": -1},
     "[16777216 1e+07 1234567 0.333333343 3.40282347e+38]"),
    ((c(np.array([0.1, 1 / 3, 1e16, 123456789.123])),), {"summarize": -1},
     "[0.1 0.33333333333333331 1e+16 123456789.123]"),
    ((half([0.1, 1.5, 1000, 65504], dt.float16),), {"summarize": -1}, "[0.0999755859 1.5 1000 65504]"),
    ((half([0.1, 1.5, 1000, 65504], dt.bfloat16),), {"summarize": -1}, "[0.100097656 1.5 1000 65536]"),
    ((c([True, False]), c(True)), {}, "[1 0] 1"),
    ((c(np.array([1 + 2j, 3.5 - 1j])),), {}, "[(1,2) (3.5,-1)]"),
    ((half([200, 1], dt.uint8), half([-5, 1], dt.int8), half([2**63], dt.uint64)), {},
     "[200 1] [-5 1] [9223372036854775808]"),
    ((c(np.zeros([0])), c(np.zeros([0, 2]))), {}, "[] []"),
    ((c(np.zeros([2, 0])),), {}, "[\n ...]"),
    ((c(["a", "b c", "é", 'q"q', "x\ny", "it's", "\x00\x7f\\"]),), {"summarize": -1},
     '["a" "b c" "é" "q\\"q" "x\\ny" "it\\\'s" "\\000\\177\\\\"]'),
    ((c("a"),), {}, "a"),
    (("a", c("b")), {}, 'a "b"'),
    ((c([["a", "b"], ["c", "d"]]),), {}, '[["a" "b"]\n ["c" "d"]]'),
    (([1, 2, "a"],), {}, "[1, 2, 'a']"),
    (([c(1), c([1.5, 2.5])],), {}, "[1, [1.5 2.5]]"),
    ((["a", c("b"), ["c"]],), {}, "['a', \"b\", ['c']]"),
    (({"k": [1, c(2.0)], "a": {"y": "s"}},), {}, "{'a': {'y': 's'}, 'k': [1, 2]}"),
    (((1, c(2)), [3], {4: 5}), {}, "(1, 2) [3] {4: 5}"),
    (((c(1),), (), [()]), {}, "(1,) () [()]"),
    ((Pair(1, c(2)),), {}, "Pair(a=1, b=2)"),
    ((collections.OrderedDict([("b", 1), ("a", 2)]),), {}, str(collections.OrderedDict([("b", 1), ("a", 2)]))),
    ((range(3), {1}, b"abc"), {}, "[0, 1, 2] {1} b'abc'"),
    (("{}", c(1), "%s {}"), {}, "{} 1 %s {}"),
    ((np.array([1, 2]), [np.array([1])]), {}, "array([1, 2]) [array([1])]"),
    ((dt.float32, TensorShape([2, 3])), {}, "tf.float32 TensorShape([2, 3])"),
    (([c(1.5)] * 30,), {}, "[" + ",\n ".join(["1.5"] * 30) + "]"),
    (("a", c(1)), {"sep": ", ", "end": "!\n"}, "a, 1!"),
    ((), {}, ""),
    ((), {"end": "x\n"}, "x"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "options", "expected"), PRINTED)
def test_print_prints_as_tensorflow(on_device, capsys, inputs, options, expected):
    assert printing.print(*inputs, **options) is None
    captured = capsys.readouterr()
    assert captured.err == expected + "\n"
    assert captured.out == ""


def test_print_reads_variables_and_tensors_on_any_device(on_device, capsys):
    printing.print(Variable([1.0, 2.0]), [Variable(3.5)])
    assert capsys.readouterr().err == "[1 2] [3.5]\n"


def test_print_goes_to_the_stream_asked_for(capsys, tmp_path):
    printing.print("out", output_stream=sys.stdout)
    printing.print("err", output_stream=sys.stderr)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("out\n", "err\n")
    path = tmp_path / "log.txt"
    printing.print(c([1, 2]), output_stream=f"file://{path}")
    printing.print("é", output_stream=f"file://{path}", end="")
    assert path.read_bytes() == b"[1 2]\n" + "é".encode()


def test_print_to_a_logging_function(caplog):
    with caplog.at_level(logging.INFO):
        printing.print("loss", c(0.5), output_stream=logging.info)
    assert [record.getMessage() for record in caplog.records] == ["loss 0.5"]


def test_bytes_that_are_no_text_are_escaped_on_a_stream_and_kept_in_a_file(capsys, tmp_path):
    printing.print(c(b"\xff"))
    assert capsys.readouterr().err == "\\xff\n"
    printing.print(c(b"\xff"), output_stream=f"file://{tmp_path}/x")
    assert (tmp_path / "x").read_bytes() == b"\xff\n"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"output_stream": "x"}, ValueError, "Unsupported output stream, logging level, or file.x"),
        ({"output_stream": 3}, ValueError, "Unsupported output stream"),
        ({"output_stream": "file:///nonexistent/x"}, NotFoundError, "No such file or directory"),
        ({"output_stream": "file:///"}, SitusError, "Is a directory"),
        ({"sep": 3}, TypeError, "Expected string for argument 'sep' not 3"),
        ({"end": 3}, TypeError, "Expected string for argument 'end' not 3"),
        ({"summarize": "x"}, TypeError, "Expected int for argument 'summarize' not 'x'"),
        ({"colour": 1}, TypeError, "colour"),
    ],
)
def test_print_refuses(options, kind, message):
    with pytest.raises(kind, match=message):
        printing.print("a", c(1), **options)


@given(st.floats(width=32))
def test_printed_floats_read_back_as_the_same_number(number):
    text = printing.tensor_text(to_tensor(number, dt.float32)).numpy()
    np.testing.assert_array_equal(np.float32(text), np.float32(number))


# Format.


@pytest.mark.parametrize(
    ("template", "inputs", "options", "expected"),
    [
        ("a {} b {}", (c(1), c([1.5, 2])), {}, b"a 1 b [1.5 2]"),
        ("x {}", shaped(8), {}, b"x [0 1 2 ... 5 6 7]"),
        ("x {}", shaped(8), {"summarize": -1}, b"x [0 1 2 3 4 5 6 7]"),
        ("x", (), {}, b"x"),
        ("$", c(1), {"placeholder": "$"}, b"1"),
        ("{}", c("s"), {}, b'"s"'),
        ("{}{}", (1, 2.5), {}, b"12.5"),
        ("é{}", ["ü"], {}, 'é"ü"'.encode()),
    ],
)
def test_format_fills_a_template(on_device, template, inputs, options, expected):
    made = printing.format(template, inputs, **options)
    assert made.dtype is dt.string
    assert made.numpy() == expected


@pytest.mark.parametrize(
    ("template", "inputs", "options", "message"),
    [
        ("{} {}", c(1), {}, "The template expects 2 tensors, but the inputs only has 1"),
        ("a", c(1), {}, "The template expects 0 tensors, but the inputs only has 1"),
        (c("{}"), c(1), {}, "A template and its placeholder are strings"),
        ("{}", c(1), {"placeholder": ""}, "A template and its placeholder are strings"),
        ("{}", [{"a": 1}], {}, "unsupported type"),
    ],
)
def test_format_refuses(template, inputs, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        printing.format(template, inputs, **options)


# TensorFlow 1's Print.


@pytest.mark.parametrize(
    ("summarize", "expected"),
    [
        (0, "[...][...][...][...]"),
        (1, "[[1...]...][5][[[0...]]...][7...]"),
        (2, "[[1 2...]...][5][[[0 1]]...][7 8...]"),
        (None, "[[1 2 3]...][5][[[0 1][2...]]...][7 8 9]"),
        (4, "[[1 2 3][4...]...][5][[[0 1][2 3]]...][7 8 9]"),
        (-1, "[[1 2 3][4 5 6]][5][[[0 1][2 3]][[4 5][6 7]]][7 8 9]"),
    ],
)
def test_old_print_passes_its_input_on(on_device, capsys, summarize, expected):
    data = [c([[1, 2, 3], [4, 5, 6]]), 5, shaped(2, 2, 2), c([7, 8, 9])]
    passed = printing.Print(c([1.5]), data, message="msg: ", summarize=summarize)
    assert passed.numpy().tolist() == [1.5]
    assert passed.device == on_device
    assert capsys.readouterr().err == f"msg: {expected}\n"


def test_old_print_of_strings_and_nothing(on_device, capsys):
    printing.Print(c(1), ["x y", c([["a", "b"]]), c(np.zeros(0)), c(np.zeros([2, 0]))])
    assert capsys.readouterr().err == "[x y][[a b]][][]\n"
    printing.Print(c(1), [c(1)], first_n=0)
    assert capsys.readouterr().err == ""


def test_what_cannot_be_printed_is_refused(capfd):
    loop = [1]
    loop.append(loop)
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        printing.print(loop)
    with pytest.raises(SitusError, match="Print takes a list of tensors"):
        printing.Print(1, 5)
    with pytest.raises(SitusError, match="Expected int for argument 'summarize'"):
        printing.Print(1, [5], summarize="a")
    printing.print("\ud800", end="\ud800")
    assert capfd.readouterr().err == "\\ud800\\ud800"
