"""String ops against results recorded from TensorFlow 2.21, and regular expressions against RE2's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.ops import regex, strings
from situs._src.ops.strings import (
    as_string,
    decode_base64,
    encode_base64,
    join,
    length,
    lower,
    reduce_join,
    strip,
    substr,
    to_number,
    upper,
)
from situs._src.ragged.strings import split
from situs._src.runtime.eager.convert import to_tensor
from situs._src.variables.eager import Variable
from situs.errors import InvalidArgumentError, OutOfRangeError, SitusError

AB = [["a", "b"], ["c", "d"]]
EMPTY = np.array([], dtype=object)


def text(tensor):
    assert tensor.dtype is dt.string
    value = tensor.numpy()
    return value if isinstance(value, bytes) else value.tolist()


# Numbers to strings. All expectations were recorded from TensorFlow 2.21.


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (3.14159, {}, b"3.141590"),
        (
            [1e20, 1e-10, np.nan, np.inf, -np.inf],
            {},
            [b"100000002004087734272.000000", b"0.000000", b"nan", b"inf", b"-inf"],
        ),
        (-0.0, {}, b"-0.000000"),
        (3.14159, {"precision": 2}, b"3.14"),
        (3.14159, {"precision": -2, "width": 0}, b"3.141590"),
        (3.14159, {"scientific": True}, b"3.141590e+00"),
        ([0.1, 1e20, 100.0, 12345678.0], {"shortest": True}, [b"0.1", b"1e+20", b"100", b"1.23457e+07"]),
        (3.14159, {"precision": 2, "shortest": True}, b"3.1"),
        (3.14159, {"width": 12}, b"    3.141590"),
        (3.14159, {"width": 12, "fill": "0"}, b"00003.141590"),
        (3.14159, {"width": 12, "fill": "-"}, b"3.141590    "),
        (3.14159, {"width": 12, "fill": "+"}, b"   +3.141590"),
        (np.inf, {"width": 10, "fill": "0"}, b"       inf"),
        (np.float64(0.1), {"precision": 20}, b"0.10000000000000000555"),
        (np.float16(1.5), {}, b"1.500000"),
        ([1, -2], {"width": 5}, [b"    1", b"   -2"]),
        ([1, -2], {"width": 5, "fill": "0"}, [b"00001", b"-0002"]),
        ([1, -2], {"fill": "+"}, [b"+1", b"-2"]),
        (np.array([1, 200], np.uint8), {"width": 5, "fill": "-"}, [b"1    ", b"200  "]),
        (np.array([1, 200], np.uint16), {}, [b"1", b"200"]),
        (np.array([2**64 - 1], np.uint64), {}, [b"18446744073709551615"]),
        (2**63 - 1, {}, b"9223372036854775807"),
        ([True, False], {"width": 7}, [b"true", b"false"]),
        (np.array([1 + 2j]), {}, [b"(1.000000,2.000000)"]),
        (np.array([1 + 2j]), {"shortest": True}, [b"(1,2)"]),
        (np.array([1 + 2j], np.complex64), {"precision": 1, "width": 5}, [b"(  1.0,  2.0)"]),
        (["a", "b"], {"width": 4}, [b"   a", b"   b"]),
        (["a"], {"width": 4, "fill": "-"}, [b"a   "]),
        (np.zeros([0, 2], np.int32), {}, []),
    ],
)
def test_as_string_writes_as_printf(value, options, expected):
    assert text(as_string(value, **options)) == expected


def test_as_string_of_bfloat16_and_of_a_variable():
    assert text(as_string(to_tensor([1.5], dt.bfloat16))) == [b"1.500000"]
    assert text(as_string(Variable([1, 2]))) == [b"1", b"2"]


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (1.0, {"scientific": True, "shortest": True}, "Cannot select both scientific and shortest notation"),
        (1.0, {"fill": "x"}, 'Fill argument not supported: "x"'),
        (1.0, {"fill": "ab"}, "Fill string must be one or fewer characters"),
        (1, {"precision": 3}, "precision not supported for datatype int32"),
        (1, {"scientific": True}, "scientific and shortest format not supported for datatype int32"),
        (True, {"shortest": True}, "scientific and shortest format not supported for datatype bool"),
        ("a", {"fill": "?"}, "Fill argument not supported"),
    ],
)
def test_as_string_refuses_what_tensorflow_refuses(value, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        as_string(value, **options)


# Strings to numbers.


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("1.5", 1.5), (" 2", 2), ("3e2", 300), ("-0x10", -16), ("0x1p3", 8), ("+5", 5), (".5", 0.5), ("5.", 5),
        ("inf", np.inf), ("-inf", -np.inf), ("Infinity", np.inf), ("NAN", np.nan), ("nan(1)", np.nan),
        ("1e400", np.inf), ("1e-50", 0), ("123456789012345678901234567890", 1.2345679e29), ("\t5\n", 5),
        ("0x1p9999", np.inf), ("-0x1p9999", -np.inf), ("1" * 5000, np.inf),
    ],
)  # fmt: skip
def test_to_number_reads_floats(value, number):
    found = to_number(value)
    assert found.dtype is dt.float32
    np.testing.assert_array_equal(found.numpy(), np.float32(number))


@pytest.mark.parametrize("out_type", [dt.int32, dt.int64, dt.uint32, dt.uint64, dt.float64])
def test_to_number_gives_the_dtype_asked_for(out_type):
    found = to_number([["7 ", "+12"]], out_type)
    assert found.dtype is out_type
    assert found.numpy().tolist() == [[7, 12]]
    assert to_number(EMPTY, out_type).shape == [0]


@pytest.mark.parametrize("limit", [dt.int32.min, dt.int64.max, dt.uint64.max])
def test_to_number_keeps_every_digit_of_the_widest_integers(limit):
    out_type = {dt.int32.min: dt.int32, dt.int64.max: dt.int64, dt.uint64.max: dt.uint64}[limit]
    assert to_number(str(limit), out_type).numpy() == limit
    assert to_number("-" * (limit < 0) + "0" * 5000 + str(abs(limit)), out_type).numpy() == limit
    beyond = limit + (1 if limit > 0 else -1)
    with pytest.raises(InvalidArgumentError, match=f"could not correctly convert string: {beyond}"):
        to_number(str(beyond), out_type)


@pytest.mark.parametrize(
    ("value", "out_type"),
    [
        ("abc", dt.float32), ("", dt.float32), ("1_000", dt.float32), ("1e", dt.float32), ("infinit", dt.float32),
        ("1f", dt.float32), (" 5 x", dt.float32), ("1\x00", dt.float32), (b"\xff", dt.float64), ("1.5", dt.int32),
        ("99999999999", dt.int32), ("-1", dt.uint32), ("0x10", dt.int32), ("--1", dt.int32), ("\u0665", dt.int32),
        ("1" * 5000, dt.uint64),
    ],
)  # fmt: skip
def test_to_number_refuses_what_is_no_number(value, out_type):
    with pytest.raises(InvalidArgumentError, match="StringToNumberOp could not correctly convert string"):
        to_number(value, out_type)


def test_to_number_has_tensorflow_1s_argument_names():
    assert strings.string_to_number(string_tensor="3").numpy() == 3
    assert strings.string_to_number(input="4", out_type=dt.int32).numpy() == 4
    with pytest.raises(ValueError, match="Cannot specify both 'string_tensor' and 'input'"):
        strings.string_to_number("3", input="4")


@given(st.floats(width=32, allow_nan=False))
def test_numbers_survive_the_way_to_strings_and_back(number):
    written = as_string(to_tensor(number, dt.float32), precision=9, scientific=True)
    assert to_number(written).numpy() == np.float32(number)


# Join.


@pytest.mark.parametrize(
    ("inputs", "separator", "expected"),
    [
        (["a", "b"], "", b"ab"),
        ([["a", "b"], "c", ["d", "e"]], "-", [b"a-c-d", b"b-c-e"]),
        ([], "", b""),
        ([EMPTY, "a"], "", []),
        ([AB, "x"], "é", [["aéx".encode(), "béx".encode()], ["céx".encode(), "déx".encode()]]),
    ],
)
def test_join_goes_element_by_element(inputs, separator, expected):
    assert text(join(inputs, separator)) == expected


def test_join_takes_a_tensor_apart():
    assert text(join(to_tensor(["x", "y"]))) == b"xy"


@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ([["a", "b"], ["c"]], ValueError, r"Input shapes do not match: \[2\] vs. \[1\]"),
        ([["a"], [["b"]]], ValueError, r"Input shapes do not match: \[1\] vs. \[1,1\]"),
        (["a", 1], TypeError, "Cannot convert 1 to EagerTensor of dtype string"),
        ("ab", TypeError, "is a list of tensors"),
    ],
)
def test_join_refuses(inputs, kind, message):
    with pytest.raises(kind, match=message) as caught:
        join(inputs)
    assert isinstance(caught.value, SitusError)


def test_a_separator_is_a_python_string():
    with pytest.raises(TypeError, match="Expected string for argument 'separator'"):
        join(["a"], separator=to_tensor("x"))


@pytest.mark.parametrize(
    ("axis", "options", "expected"),
    [
        (None, {}, b"abcd"),
        (0, {}, [b"ac", b"bd"]),
        (-1, {"separator": ", "}, [b"a, b", b"c, d"]),
        ([0, 1], {}, b"acbd"),
        ([1, 0], {}, b"abcd"),
        ([], {}, [[b"a", b"b"], [b"c", b"d"]]),
        (0, {"keepdims": True}, [[b"ac", b"bd"]]),
        (None, {"keepdims": True}, [[b"abcd"]]),
        ([[0]], {}, [b"ac", b"bd"]),
    ],
)
def test_reduce_join_joins_in_the_order_of_its_axes(axis, options, expected):
    assert text(reduce_join(AB, axis, **options)) == expected


def test_reduce_join_of_little():
    assert text(reduce_join("a")) == b"a"
    assert text(reduce_join(np.empty([0, 2], object), axis=0)) == [b"", b""]
    assert text(reduce_join(np.empty([2, 0], object), axis=1, separator="x")) == [b"", b""]
    assert text(reduce_join(np.empty([0, 2], object), axis=1)) == []
    assert text(strings.reduce_join_v1(AB, reduction_indices=0, keep_dims=True)) == [[b"ac", b"bd"]]
    with pytest.raises(ValueError, match="Cannot specify both 'reduction_indices' and 'axis'"):
        strings.reduce_join_v1(AB, 0, reduction_indices=1)


@pytest.mark.parametrize(
    ("value", "axis", "kind", "message"),
    [
        (AB, 2, OutOfRangeError, r"Invalid reduction dimension 2 for input with 2 dimension\(s\)"),
        (AB, 0.5, OutOfRangeError, "Invalid reduction dimension 0.5"),
        ("a", 0, OutOfRangeError, r"Invalid reduction dimension 0 for input with 0 dimension\(s\)"),
        (AB, [0, 0], InvalidArgumentError, "Duplicate reduction dimension 0"),
        (AB, [0, -2], InvalidArgumentError, "Duplicate reduction dimension -2"),
        ([1, 2], None, TypeError, r"Cannot convert \[1, 2\] to EagerTensor of dtype string"),
    ],
)
def test_reduce_join_refuses(value, axis, kind, message):
    with pytest.raises(kind, match=message):
        reduce_join(value, axis)


# Length, case, blanks.


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (["a", "abc", "é", ""], "BYTE", [1, 3, 2, 0]),
        (["a", "abc", "é", ""], "UTF8_CHAR", [1, 3, 1, 0]),
        ([b"\xff\xfeab", b"\x80\x80a\xc3"], "UTF8_CHAR", [4, 2]),
        (EMPTY, "BYTE", []),
    ],
)
def test_length_counts_bytes_or_characters(value, unit, expected):
    found = length(value, unit)
    assert found.dtype is dt.int32
    assert found.numpy().tolist() == expected
    assert strings.length_v1(value, unit=unit).numpy().tolist() == expected


def test_case_is_asciis_unless_an_encoding_is_given():
    assert text(lower(["ABC", "É"])) == [b"abc", "É".encode()]
    assert text(lower(["ABC", "É", b"\xffA"], encoding="utf-8")) == [b"abc", "é".encode(), "\ufffda".encode()]
    assert text(upper(["abc", "é"])) == [b"ABC", "é".encode()]
    assert text(upper("abcß", encoding="utf-8")) == b"ABCSS"


def test_strip_removes_ascii_white_space():
    assert text(strip([" a b ", "\t\nx\v\f\r", "\x00a", "\u00a0a"])) == [b"a b", b"x", b"\x00a", "\u00a0a".encode()]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: length("a", unit="X"), "Value for attr 'unit' of \"X\""),
        (lambda: length(to_tensor(3)), "expected to be a string tensor"),
        (lambda: lower("A", encoding="latin1"), r"only utf-8 or '' \(no encoding\) is supported, received latin1"),
    ],
)
def test_length_and_case_refuse(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()


# Parts.


def test_units_that_are_none_are_refused_when_a_graph_is_built():
    for call in (lambda: length(["a"], "XYZ"), lambda: substr(["a"], 0, 1, "XYZ")):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="not in the list of allowed values"):
            call()


@pytest.mark.parametrize(
    ("value", "pos", "count", "unit", "expected"),
    [
        ("hello", 1, 3, "BYTE", b"ell"),
        ("hello", -3, 2, "BYTE", b"ll"),
        ("hello", 5, 2, "BYTE", b""),
        ("hello", 1, -1, "BYTE", b"ello"),
        ("hello", 1, 100, "BYTE", b"ello"),
        ("", 0, 1, "BYTE", b""),
        (["hello", "abc"], [1, 2], [2, 1], "BYTE", [b"el", b"c"]),
        (["hello", "abc"], 1, 2, "BYTE", [b"el", b"bc"]),
        ("hello", [1, 2], [2, 1], "BYTE", [b"el", b"l"]),
        ([["hello"], ["abc"]], [0, 1, 2], [2, 1, 1], "BYTE", [[b"he", b"e", b"l"], [b"ab", b"b", b"c"]]),
        (EMPTY, 0, 1, "BYTE", []),
        ("héllo", 1, 2, "UTF8_CHAR", "él".encode()),
        ("héllo", -4, 2, "UTF8_CHAR", "él".encode()),
        ("héllo", 3, -1, "UTF8_CHAR", b"lo"),
        ("héllo", 5, 1, "UTF8_CHAR", b""),
    ],
)
def test_substr_cuts_and_broadcasts(value, pos, count, unit, expected):
    assert text(substr(value, pos, count, unit)) == expected
    assert text(strings.substr_v1(value, to_tensor(pos, dt.int64), to_tensor(count, dt.int64), unit=unit)) == expected


@pytest.mark.parametrize(
    ("value", "pos", "count", "unit", "message"),
    [
        ("hello", 6, 2, "BYTE", "pos 6 out of range for string b'hello' at index 0"),
        ("hello", -6, 2, "BYTE", "pos -6 out of range for string b'hello' at index 0"),
        (["hello", "a"], [2, 3], [1, 1], "BYTE", "pos 3 out of range for string b'a' at index 1"),
        ("héllo", 6, 2, "UTF8_CHAR", "pos 6 out of range for string at index 0"),
        (["hello", "abc"], [1, 2, 3], [2, 1, 1], "BYTE", r"Incompatible shapes: \[2\] vs. \[3\]"),
        (["hello", "abc"], 1, [2, 1], "BYTE", r"pos and len should have the same shape, got: \[\] vs. \[2\]"),
        ("hello", 1.0, 2.0, "BYTE", "Value for attr 'T' of float is not in the list of allowed values"),
        ("hello", 1, 2, "X", "Value for attr 'unit' of \"X\""),
    ],
)
def test_substr_refuses(value, pos, count, unit, message):
    with pytest.raises(InvalidArgumentError, match=message):
        substr(value, pos, count, unit)


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ("a b  c", {}, [b"a", b"b", b"c"]),
        ("a,b,,c", {"sep": ","}, [b"a", b"b", b"", b"c"]),
        ("a b c", {"maxsplit": 1}, [b"a", b"b c"]),
        ("", {"sep": ","}, [b""]),
        ("", {}, []),
        ("  ", {}, []),
        (" a b ", {"sep": " "}, [b"", b"a", b"b", b""]),
        ("a||b||c", {"sep": "||"}, [b"a", b"b", b"c"]),
        ("a,b", {"sep": ""}, [b"a,b"]),
        (" a  b ", {"maxsplit": 1}, [b"a", b"b "]),
        ("a,b,c", {"sep": ",", "maxsplit": 0}, [b"a,b,c"]),
        ("a,b,c", {"sep": ",", "maxsplit": -5}, [b"a", b"b", b"c"]),
        (" a b c ", {"maxsplit": 2}, [b"a", b"b", b"c "]),
        ("a", {"maxsplit": 1}, [b"a", b""]),
        (" a b  ", {"maxsplit": 2}, [b"a", b"b", b""]),
        ("  ", {"maxsplit": 1}, []),
        ("  a b", {"maxsplit": 0}, [b"  a b"]),
    ],
)
def test_split_of_a_scalar(value, options, expected):
    assert text(split(value, **options)) == expected


def test_split_takes_tensors_and_rows():
    assert text(split(to_tensor("a,b"), to_tensor(","))) == [b"a", b"b"]
    assert split(["a b", "c"]).to_list() == [[b"a", b"b"], [b"c"]]
    with pytest.raises(InvalidArgumentError, match="sep must be a scalar"):
        split("a b", sep=[" "])
    with pytest.raises(TypeError, match="Cannot convert 3"):
        split(3)


def test_the_split_op_gives_the_parts_of_a_sparse_tensor():
    indices, values, shape = strings._split.many(["a b", "", "c d e"], "")
    assert indices.numpy().tolist() == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]
    assert text(values) == [b"a", b"b", b"c", b"d", b"e"]
    assert shape.numpy().tolist() == [3, 3]
    with pytest.raises(InvalidArgumentError, match="input must be a vector"):
        strings._split.many([["a"]], "")


# Base64.


def test_base64_is_safe_in_urls():
    assert text(encode_base64(["ab", "abc", b"\xff\xfe", ""])) == [b"YWI", b"YWJj", b"__4", b""]
    assert text(encode_base64("ab", pad=True)) == b"YWI="
    assert text(decode_base64(["YWI", "YWI=", "__-_", ""])) == [b"ab", b"ab", b"\xff\xff\xbf", b""]


@given(st.lists(st.binary(max_size=20), max_size=5), st.booleans())
def test_base64_goes_back_and_forth(items, pad):
    value = np.empty(len(items), object)
    value[:] = items
    assert text(decode_base64(encode_base64(value, pad))) == items


@pytest.mark.parametrize("value", ["a", "a+/b", "YW I", "YW=", "Y===", "YWI=YWI=", "abcde"])
def test_base64_refuses(value):
    with pytest.raises(InvalidArgumentError, match=r"(?i)base64"):
        decode_base64(value)


# Regular expressions.


@pytest.mark.parametrize(
    ("value", "pattern", "rewrite", "expected"),
    [
        ("hello world", "o", "0", b"hell0 w0rld"),
        ("hello world", r"(\w+) (\w+)", r"\2 \1", b"world hello"),
        ("hello", "(l)", r"[\0]", b"he[l][l]o"),
        ("hello", "l", "\\\\", b"he\\\\o"),
        ("hello", "", "-", b"-h-e-l-l-o-"),
        ("abxd", "x*", "-", b"-a-b-d-"),
        ("aaa", "a*?", "b", b"bababab"),
        (["Ab", "cd"], "(?i)a", "x", [b"xb", b"cd"]),
        ("héllo", ".", "x", b"xxxxx"),
        ("a.b", r"\pL", "x", b"x.x"),
        ("a.ß1", r"\P{L}", "x", "axßx".encode()),
        ("a.1", r"[\p{Nd}.]", "x", b"axx"),
        ("abc", "[[:alpha:]]", "x", b"xxx"),
        ("a b", "[[:^space:]]", "x", b"x x"),
        ("a\nb", "a.b", "x", b"a\nb"),
        ("a\nb", "(?s)a.b", "x", b"x"),
        ("aé1", r"\w", "x", "xéx".encode()),
        ("x", "(?P<n>x)", r"\1y", b"xy"),
        ("x", "(?<n>x)", r"\1y", b"xy"),
        ("x\n", "x$", "y", b"x\n"),
        ("x\nx", "(?m)x$", "y", b"y\ny"),
        (b"\xffx", "x", "y", b"\xffy"),
        ("abc", r"\z", "!", b"abc!"),
        ("a-b", r"[^\w]", "x", b"axb"),
        (" a\x0bb", r"\s", "_", b"_a\x0bb"),
        (" a", r"\S", "_", b" _"),
        (" a", r"[\s]", "_", b"_a"),
        ("foo.bar", r"\Q.\E", "x", b"fooxbar"),
        ("a]b[", "[]a]", "x", b"xxb["),
        ("a&&b|~[", "[[&|~]", "x", b"axxbxxx"),
        ("(?", "[(?]", "x", b"xx"),
        ("é", r"\x{e9}", "x", b"x"),
        ("ac", "(a)|(b)", r"<\1\2>", b"<a>c"),
        ("}}", "}+", "x", b"x"),
        (EMPTY, "a", "b", []),
    ],
)
def test_regex_replace_replaces_as_re2(value, pattern, rewrite, expected):
    assert text(regex.regex_replace(value, pattern, rewrite)) == expected
    assert text(regex.regex_replace(value, to_tensor(pattern), rewrite.encode())) == expected


def test_regex_replace_can_stop_after_the_first():
    assert text(regex.regex_replace("hello world", "o", "0", replace_global=False)) == b"hell0 world"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", r"Invalid pattern: \(, error: missing \)"),
        ("(?=b)", r"Invalid pattern: \(\?=b\), error: invalid perl operator: \(\?="),
        ("(?<!b)", "invalid perl operator"),
        ("(?x) a", "invalid perl operator"),
        ("(?>a)", "invalid perl operator"),
        (r"(a)\1", r"error: invalid escape sequence: \\1"),
        (r"\Z", "invalid escape sequence"),
        (r"\x{110000}", r"invalid escape sequence: \\x\{110000\}"),
        ("a++", "invalid perl operator"),
        ("[a", r"missing \]"),
        ("*a", "nothing to repeat"),
        ("a\\", "bad escape"),
        (r"\p{Elvish}", "invalid character class range"),
        (r"[[:elvish:]]", "invalid character class range"),
        (r"[\PL]", "not supported"),
        (["a"], r"Pattern must be scalar, but received \[1\]"),
        (3, "must be scalar"),
    ],
)
def test_bad_patterns_are_refused(pattern, message):
    with pytest.raises(InvalidArgumentError, match=message):
        regex.regex_replace("abc", pattern, "x")
    with pytest.raises(InvalidArgumentError, match=message):
        regex.regex_full_match("abc", pattern)


@pytest.mark.parametrize("rewrite", [r"\9", "\\", r"\n", "\\²", ["a"]])
def test_bad_rewrites_are_refused(rewrite):
    # TensorFlow logs an error and gives back something shorter.
    with pytest.raises(InvalidArgumentError, match=r"Invalid rewrite|Rewrite must be scalar"):
        regex.regex_replace("abc", "b", rewrite)


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        (["ab", "abc", "xab"], "ab", [True, False, False]),
        ("ab", "a|ab", True),
        ("a\n", "a", False),
        ("é", ".", True),
        ("", ".*", True),
        (EMPTY, ".", []),
    ],
)
def test_regex_full_match_takes_the_whole_string(value, pattern, expected):
    found = regex.regex_full_match(value, pattern)
    assert found.dtype is dt.bool
    assert found.numpy().tolist() == expected


# Devices.


def test_string_ops_run_on_the_cpu_alone():
    with scope.device("/gpu:0"), pytest.raises(InvalidArgumentError, match="no supported kernel for GPU devices"):
        join(["a", "b"])
    assert lower("A").device.endswith("CPU:0")


def test_precision_cuts_strings():  # recorded from TensorFlow 2.21
    assert strings.as_string(["abcdef", "x"], precision=2, width=4).numpy().tolist() == [b"  ab", b"   x"]


# Many strings are worked on together; each must come out as it does alone.

PIECES = [
    *["a", "b", "1", " ", "-", ".", "[a-c]", "[^a]", "[^a-c1]", r"\d", r"\w", r"\b", r"\.", "(ab)", "(a|b)"],
    *["(?:b|1)", r"[\d-]", r"[^\w]", "$", "^", r"\s", "b{1,2}", r"\-", "[.]", r"\(", "[(]", "[a|]", "|", "é"],
]
PATTERNS = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["", "", "*", "+", "?", "*?", "{1,3}"])).map("".join),
    min_size=1,
    max_size=4,
).map("".join)
TEXTS = st.lists(st.text("ab1 -.c\t(|é\n\0", max_size=6), min_size=1, max_size=40)


@given(PATTERNS, TEXTS, st.sampled_from(["#", "", r"<\0>", r"x\\y", "a\nb"]))
def test_many_strings_match_as_one_by_one(pattern, texts, rewrite):
    try:
        found = regex.compiled(pattern)
    except InvalidArgumentError:
        return
    together = to_tensor(np.array([each.encode() for each in texts], object))
    assert regex.regex_full_match(together, pattern).numpy().tolist() == [
        found.fullmatch(each) is not None for each in texts
    ]
    replaced = regex.regex_replace(together, pattern, rewrite).numpy().tolist()
    pieces = regex._rewrite_pieces(rewrite, found)
    assert replaced == [regex._replaced(each, found, pieces, 10**6).encode() for each in texts]


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40), st.binary(max_size=3), st.integers(0, 5))
def test_many_strings_are_measured_cut_and_coded_as_one_by_one(items, tail, start):
    items = [item + tail for item in items]
    together = to_tensor(np.array(items, object))
    assert length(together).numpy().tolist() == [len(item) for item in items]
    characters = [sum(byte & 0xC0 != 0x80 for byte in item) for item in items]
    assert length(together, "UTF8_CHAR").numpy().tolist() == characters
    if min(map(len, items)) >= start:
        for count in (-1, 0, 1, 3):
            cut = [item[start:] if count < 0 else item[start : start + count] for item in items]
            assert substr(together, start, count).numpy().tolist() == cut
    else:
        with pytest.raises(InvalidArgumentError, match="out of range"):
            substr(together, start, 1)
    for pad in (False, True):
        assert decode_base64(encode_base64(together, pad)).numpy().tolist() == items


MIXED, ALIKE = r"[+-]?\d{0,5}(\.\d{0,4})?", r"[+-]?\d{0,5}\.\d{2}"


@given(
    st.sampled_from([MIXED, ALIKE]).flatmap(
        lambda form: st.lists(st.from_regex(form, fullmatch=True), min_size=32, max_size=40)
    ),
    st.lists(st.sampled_from(["", "..", "5", "1.25.", "-.25", "0.5", "7-", "-0.00"]), max_size=2),
)
def test_many_numbers_are_read_as_one_by_one(items, others):
    items = [*items[:16], *others, *items[16:]]

    def read(values):
        try:
            return to_number(to_tensor(np.array([each.encode() for each in values], object)), dt.float64).numpy()
        except InvalidArgumentError:
            return None

    alone = [read([item]) for item in items]
    together = read(items)
    if together is None:
        assert any(each is None for each in alone)
    else:
        np.testing.assert_array_equal(together, np.concatenate(alone))
        np.testing.assert_array_equal(np.signbit(together), np.signbit(np.concatenate(alone)))


# Hashes.

# TensorFlow's, of strings of 0 to 39 bytes: every rest of a block, and several blocks.
HASHES = [
    (["Hello", "TF", "", b"\xff" * 20], 3, [1, 2], [2, 0, 1, 1]),
    (["Hello", "TF", "", b"\xff" * 20], 1000, [132, 154], [951, 849, 377, 975]),
    (
        ["Hello", "TF", "", b"\xff" * 20],
        2**40,
        [2**62 - 1, 5],
        [613926267271, 1048484749325, 710534480296, 921947765572],
    ),
    (
        ["a" * n for n in range(17)],
        2**62,
        [7, 9],
        [
            1315545615887763260, 1004874263156222447, 77802878988329919, 788456040810187330, 1713697450987424095,
            447673256071822983, 2371748057810165941, 2904500955683085233, 3865388277217334991, 1976239661424168602,
            1654277671715334983, 3260761330639743784, 3076202700434403063, 1822264636748200172, 2381336560608257497,
            4087557467900521317, 67216549836513326,
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("strings", "buckets", "key", "expected"), HASHES)
def test_buckets_by_a_strong_hash(strings, buckets, key, expected):
    made = tf.strings.to_hash_bucket_strong([strings], buckets, key)
    assert (made.dtype, made.numpy().tolist()) == (tf.int64, [expected])
    inside = tf.function(lambda x: tf.strings.to_hash_bucket_strong(x, buckets, key))
    assert inside(tf.constant(strings)).numpy().tolist() == expected


def test_the_keys_and_numbers_of_buckets_have_to_be_right():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Key must have 2 elements"):
        tf.strings.to_hash_bucket_strong(["a"], 3, [1])
    with pytest.raises(ValueError, match="less than minimum 1"):
        tf.function(lambda: tf.strings.to_hash_bucket_strong(["a"], 0, [1, 2]))()
    with pytest.raises(TypeError, match="key"):
        tf.strings.to_hash_bucket_strong(["a"], 3, ["b", 2])
    with pytest.raises(TypeError, match="Expected list for 'key'"):
        tf.strings.to_hash_bucket_strong(["a"], 3, 5)


@pytest.mark.parametrize("wrong", [b"aGVs bG8", b"aGVs+G8x", b"aGVs/G8x", b"aGVsbG=x", b"aGVs\nG8x", b"aGVsbG8x="])
@pytest.mark.parametrize("place", [0, 50, 99])
def test_one_wrong_string_among_many_in_base64_is_named(wrong, place):
    items = [b"aGVsbG8x"] * 100
    items[place] = wrong
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"base64"):
        tf.io.decode_base64(items)


def test_many_padded_strings_in_base64():
    assert {*tf.io.decode_base64([b"aGVsbG8="] * 100).numpy()} == {b"hello"}
    assert [*tf.io.decode_base64([b"aGVsbG8x"] * 99 + [b"aGVsbG8="]).numpy()][-2:] == [b"hello1", b"hello"]
    assert {*tf.io.decode_base64([b"_-8"] * 100).numpy()} == {b"\xff\xef"}


@pytest.mark.parametrize(
    ("inputs", "ids", "count", "separator", "expected"),
    [
        (["a", "b", "c"], [1, 0, 1], 2, "-", [b"b", b"a-c"]),
        (["a", "b", "c"], [1, 0, 1], 4, "", [b"b", b"ac", b"", b""]),
        ([["a", "b", "c"], ["d", "e", "f"]], [[1, 0, 1], [0, 0, 2]], 3, "-", [b"b-d-e", b"a-c", b"f"]),
        ([["a", "b"], ["c", "d"], ["", "e"]], [1, 0, 1], 2, "-", [[b"c", b"d"], [b"a-", b"b-e"]]),
        (np.empty([0], object), np.empty([0], np.int64), 2, "-", [b"", b""]),
        (np.empty([0], object), np.empty([0], np.int64), 0, "-", []),
    ],
)
def test_strings_of_a_segment_are_joined(inputs, ids, count, separator, expected):
    made = tf.strings.unsorted_segment_join(inputs, ids, count, separator)
    assert made.numpy().tolist() == expected
    inside = tf.function(lambda x, y, n: tf.strings.unsorted_segment_join(x, y, n, separator))
    given = tf.constant(inputs, tf.string), tf.constant(ids), tf.constant(count)
    assert inside(*given).numpy().tolist() == expected


@pytest.mark.parametrize(
    ("inputs", "ids", "count", "message"),
    [
        (["a", "b"], [1, -1], 2, "not allowed to exceed num_segments or to have negative values"),
        (["a", "b"], [1, 5], 2, "not allowed to exceed num_segments or to have negative values"),
        (["a", "b"], [0], 2, r"\[2\] does not start with segment_ids.shape = \[1\]"),
        ("a", 0, 2, "cannot have rank 0"),
        (["a"], [0], -1, "must be non-negative but got -1"),
    ],
)
def test_segments_of_strings_that_are_refused(inputs, ids, count, message):
    with pytest.raises(InvalidArgumentError, match=message):
        tf.strings.unsorted_segment_join(inputs, ids, count)
