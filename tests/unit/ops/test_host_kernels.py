"""Kernels of the host that work on many elements together, against NumPy, Python, and the same elements one by one."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.base.shapes import TensorShape
from situs._src.ops.define import all_finite, has_no_zero, of_sizes
from situs.errors import InvalidArgumentError

MANY = 40  # enough for the ways that take all elements together
RANDOM = np.random.default_rng(0)
NAN, INF = np.nan, np.inf
FLOATS = [np.float16, np.float32, np.float64]
NUMBERS = [*FLOATS, np.int8, np.int32, np.int64, np.uint8]


@pytest.fixture(autouse=True)
def on_the_host():
    with tf.device("/cpu:0"):
        yield


def outcome(call):
    """What a call gives, or what it says."""
    try:
        return call()
    except InvalidArgumentError as error:
        return str(error)


# Strings.


@given(st.lists(st.floats(width=32), min_size=MANY, max_size=MANY))
def test_many_numbers_are_written_as_one_is(numbers):
    written = tf.strings.as_string(tf.constant(numbers, tf.float32)).numpy().tolist()
    assert written == [b"%f" % number for number in numbers]


@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1.0, 1e3, 1e8, 1e12])
def test_many_numbers_of_one_size_are_written_as_printf_does(scale):
    numbers = (RANDOM.normal(size=500) * scale).astype(np.float32)
    assert tf.strings.as_string(numbers).numpy().tolist() == [b"%f" % number for number in numbers.tolist()]


def test_halves_of_the_last_digit_are_rounded_to_even():
    numbers = np.array([0.5, 1.5, 2.5, -0.5, 2**-20, 3 * 2**-20, -0.0] * 6, np.float32) * np.float32(2**-7)
    assert tf.strings.as_string(numbers).numpy().tolist() == [b"%f" % number for number in numbers.tolist()]


NUMERALS = st.one_of(
    st.from_regex(rb"[+-]?[0-9]{0,17}\.?[0-9]{0,9}", fullmatch=True),
    st.sampled_from(
        [b"", b"-", b".", b"1-2", b"1.2.3", b"--1", b"1e3", b" 1", b"-0", b"-0.0", b"1\n", b"0x1p3", b"nan"]
    ),
)


@given(NUMERALS, st.sampled_from([tf.float32, tf.float64, tf.int32, tf.int64, tf.uint32]))
def test_a_numeral_among_many_is_read_as_alone(numeral, dtype):
    plain = [b"1"] * MANY
    alone = outcome(lambda: repr(tf.strings.to_number([numeral], dtype).numpy()[0]))
    among = outcome(lambda: repr(tf.strings.to_number([*plain, numeral, b"25"], dtype).numpy()[MANY]))
    assert alone == among


def test_points_are_counted_for_each_numeral():
    """As many points as numerals, but not one for each."""
    bad = ["1.2.3", "4"] * MANY
    assert "could not correctly convert string: 1.2.3" in outcome(lambda: tf.strings.to_number(bad))


def test_many_numerals_are_read():
    numerals = [f"{number:.{digits}f}" for digits in range(9) for number in RANDOM.normal(size=20) * 100]
    expected = np.array([float(numeral) for numeral in numerals])
    np.testing.assert_array_equal(tf.strings.to_number(numerals, tf.float64).numpy(), expected)
    np.testing.assert_array_equal(tf.strings.to_number(numerals).numpy(), expected.astype(np.float32))
    whole = [str(number) for number in RANDOM.integers(-1000, 1000, 99)]
    np.testing.assert_array_equal(tf.strings.to_number(whole, tf.int32).numpy(), [int(each) for each in whole])


@pytest.mark.parametrize("start", [-5, -3, -1, 0, 1, 4, 5])
@pytest.mark.parametrize("count", [-1, 0, 1, 3, 9])
def test_substr_cuts_as_python_does(start, count):
    words = [b"hello", b"world", "añb".encode() + b"!"]  # of five bytes each
    place = start % 5 if start < 5 else 5
    expected = [word[place:] if count < 0 else word[place : place + count] for word in words]
    assert tf.strings.substr(words, start, count).numpy().tolist() == expected
    each = tf.strings.substr(words, [start] * 3, [count] * 3).numpy().tolist()
    assert each == expected


def test_substr_says_which_string_is_too_short():
    words = ["hello", "hi", ""]
    for start in (3, -3):
        with pytest.raises(InvalidArgumentError, match=f"pos {start} out of range for string b'hi' at index 1"):
            tf.strings.substr(words, start, 1)
    assert tf.strings.substr(words, 0, 2).numpy().tolist() == [b"he", b"hi", b""]
    assert tf.strings.substr(words[:2], 2, 2).numpy().tolist() == [b"ll", b""]
    assert tf.strings.substr([], 3, 1).shape == [0]


def test_characters_are_counted_and_cut():
    words = ["", "a", "añb", "日本語", "x" * 9]
    assert tf.strings.length(words, "UTF8_CHAR").numpy().tolist() == [len(word) for word in words]
    assert tf.strings.substr(words[2:], 1, 2, "UTF8_CHAR").numpy().tolist() == [w[1:3].encode() for w in words[2:]]


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("length", [*range(8), 31, None])
def test_base64_of_many_strings(length, pad):
    items = [RANDOM.bytes(int(RANDOM.integers(20)) if length is None else length) for _ in range(MANY)]
    for given_items in (items, [item.replace(b"\n", b"n") for item in items]):  # newlines are told from other bytes
        encoded = tf.io.encode_base64(given_items, pad=pad)
        expected = [base64.urlsafe_b64encode(item) for item in given_items]
        assert encoded.numpy().tolist() == [item if pad else item.rstrip(b"=") for item in expected]
        assert tf.io.decode_base64(encoded).numpy().tolist() == given_items


@pytest.mark.parametrize("bad", [b"a", b"abcde", b"ab=c", b"ab\n", b"a+b/", b"aGVsbG8=="])
def test_base64_refuses_one_among_many_as_alone(bad):
    alone = outcome(lambda: tf.io.decode_base64([bad]))
    assert outcome(lambda: tf.io.decode_base64([b"aGVs"] * MANY + [bad])) == alone
    assert repr(bad) in alone


@pytest.mark.parametrize("pattern", ["[0-9]+", "a", "x*", "^a", "a$", r"\bb", "b+|", ".", "[^a]", r"(a)(b)?", r"\s"])
@pytest.mark.parametrize("rewrite", ["#", "", r"\\", r"<\0>"])
@pytest.mark.parametrize("everywhere", [True, False])
def test_ascii_text_is_matched_as_other_text(pattern, rewrite, everywhere):
    """A neighbour that is not ASCII makes all of them text."""
    words = ["", "a", "abc", "ab12 ab", "a\nb", "  ", "12"]
    replaced = tf.strings.regex_replace(words, pattern, rewrite, everywhere).numpy().tolist()
    among = tf.strings.regex_replace([*words, "ñ"], pattern, rewrite, everywhere).numpy().tolist()
    assert replaced == among[:-1]
    matches = tf.strings.regex_full_match(words, pattern).numpy().tolist()
    assert matches == tf.strings.regex_full_match([*words, "ñ"], pattern).numpy().tolist()[:-1]


# Numbers, element by element.


@pytest.mark.parametrize("dtype", [*NUMBERS, bool])
@pytest.mark.parametrize("shape", [(), (3,), (80, 60), (0, 9)])
def test_where_chooses(dtype, shape):
    condition = RANDOM.random(shape) > 0.5
    x, y = (np.asarray(RANDOM.normal(size=shape) * 9).astype(dtype) for _ in range(2))
    if x.dtype.kind == "f" and x.size > 9:
        x[0], y[-1], x[1] = NAN, INF, -0.0
    for turn in (np.asarray, np.transpose):
        chosen = tf.where(turn(condition), turn(x), turn(y)).numpy()
        assert chosen.dtype == dtype
        assert chosen.tobytes() == np.where(turn(condition), turn(x), turn(y)).tobytes()
    np.testing.assert_array_equal(tf.where(tf.transpose(condition), tf.transpose(x), tf.transpose(y)), chosen)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 1], []])
@pytest.mark.parametrize("shape", [(3, 5), (64, 40), (0, 3), (2000, 0)])
def test_all_and_any_of_many(axis, shape):
    values = RANDOM.random(shape) > 0.03
    axes = tuple(axis) if isinstance(axis, list) else axis
    for keep in (True, False):
        np.testing.assert_array_equal(tf.reduce_all(values, axis, keep), np.all(values, axes, keepdims=keep))
        np.testing.assert_array_equal(tf.reduce_any(~values, axis, keep), np.any(~values, axes, keepdims=keep))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8])
def test_integers_divide_rounding_down(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = np.array([low, low + 1, 7, 0, 1, high], dtype)
    for divisor in (1, 2, 3, high, *((-1, -3, low) if low else ())):
        y = np.full_like(x, divisor)
        with np.errstate(all="ignore"):
            quotient, rest = np.floor_divide(x, y), np.remainder(x, y)
        for given_divisor in (tf.constant(y), tf.constant(divisor, dtype)):
            divided = tf.constant(x) // given_divisor
            assert divided.dtype.as_numpy_dtype is dtype
            np.testing.assert_array_equal(divided, quotient)
            np.testing.assert_array_equal(tf.constant(x) % given_divisor, rest)
    for call in (tf.math.floordiv, tf.math.floormod):
        with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
            call(tf.constant(x), tf.constant([1, 2, 0, 1, 1, 1], dtype))
        assert call(tf.constant([], dtype), tf.constant(0, dtype)).shape == [0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64])
def test_what_is_not_a_number_is_found(dtype):
    x = tf.constant([NAN, INF, -INF, 0.0, -0.0, 3.0, -2.0], dtype)
    assert tf.math.is_nan(x).numpy().tolist() == [True, *[False] * 6]
    assert tf.math.is_inf(x).numpy().tolist() == [False, True, True, *[False] * 4]
    assert tf.math.is_finite(x).numpy().tolist() == [False] * 3 + [True] * 4
    np.testing.assert_array_equal(tf.cast(tf.sign(x), tf.float32), [NAN, 1, -1, 0, 0, 1, -1])
    assert bool(tf.math.is_nan(x[0]))
    assert tf.math.is_nan(x[0]).shape == []
    assert not all_finite(x._value)
    assert all_finite(x[3:]._value)
    assert not has_no_zero(x._value)
    assert has_no_zero(x[:3]._value)
    divided = tf.math.divide_no_nan(x, tf.constant([1, 1, 0, 0, 1, 0, 2], dtype))
    np.testing.assert_array_equal(tf.cast(divided, tf.float32), [NAN, INF, 0, 0, 0, 0, -1])


def test_elu_and_selu_are_those_of_tensorflow():  # recorded from TensorFlow 2.21
    x = [-1e-8, -1e-4, 0.0, NAN, -INF, INF]
    np.testing.assert_array_equal(tf.nn.elu(x), np.float32([0, -1.00016594e-04, 0, NAN, -1, INF]))
    np.testing.assert_array_equal(tf.nn.selu(x), np.float32([0, -1.7583910e-04, 0, NAN, -1.7580993, INF]))
    y = np.linspace(-9, 9, 77, dtype=np.float32)
    np.testing.assert_allclose(tf.nn.elu(y), np.where(y > 0, y, np.expm1(y)), atol=2e-7)


# Segments, indices, order.


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("ids", [[0, 0, 0, 0], [0, 0, 1, 3], [2, 2, 2, 5], [0, 1, 2, 3]])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_segments_are_combined(dtype, ids, index):
    data, ids = (RANDOM.normal(size=(4, 3, 2)) * 5).astype(dtype), np.array(ids, index)
    near = {"rtol": 4e-3, "atol": 4e-2} if dtype is np.float16 else {"rtol": 1e-6, "atol": 1e-5}  # sums may cancel out
    rows = [data[ids == number] for number in range(ids[-1] + 1)]
    empty = np.zeros((3, 2), dtype)
    expected = {
        "sum": [row.sum(0, dtype=dtype) for row in rows],
        "prod": [row.prod(0, dtype=dtype) for row in rows],
        "max": [row.max(0) if len(row) else empty for row in rows],
        "min": [row.min(0) if len(row) else empty for row in rows],
    }
    if dtype in FLOATS:
        expected["mean"] = [row.mean(0, dtype=dtype) if len(row) else empty for row in rows]
    for name, wanted in expected.items():
        found = getattr(tf.math, f"segment_{name}")(data, ids)
        np.testing.assert_allclose(found, np.array(wanted, dtype), **near)
    found = tf.math.unsorted_segment_sum(data, ids[::-1].copy(), 7)
    reordered = [data[::-1][ids == number].sum(0, dtype=dtype) for number in range(7)]
    np.testing.assert_allclose(found, reordered, **near)


@pytest.mark.parametrize("count", [4, 300])
def test_bad_segments_are_refused(count):
    data, ids = np.ones(count, np.float32), np.arange(count)
    with pytest.raises(InvalidArgumentError, match="not increasing"):
        tf.math.segment_max(data, ids[::-1].copy())
    with pytest.raises(InvalidArgumentError, match="must be >= 0, got -1"):
        tf.math.segment_max(data, ids - 1)
    for _ in range(2):  # what was refused once is refused again
        with pytest.raises(InvalidArgumentError, match="same size as dimension 0"):
            tf.math.segment_mean(data, ids[:-1])
    with pytest.raises(InvalidArgumentError, match=rf"segment_ids\[{count - 1}\] = {count - 1} is out of range"):
        tf.math.unsorted_segment_sum(data, ids, count - 1)
    left_out = tf.math.unsorted_segment_max(data, ids - 2, count)
    np.testing.assert_array_equal(left_out, [*[1.0] * (count - 2), *[np.finfo(np.float32).min] * 2])


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(4, 5), (30, 100)])
def test_the_first_of_equals_is_the_top(dtype, shape):
    x = RANDOM.integers(0, 4, shape).astype(dtype)
    values, indices = tf.math.top_k(x, 3)
    order = np.argsort(-x.astype(np.int64), axis=-1, kind="stable")[:, :3]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, -1))


@pytest.mark.parametrize("shape", [(4, 5), (64, 200)])
def test_in_top_k_counts_what_is_larger(shape):
    rows, targets = RANDOM.integers(0, 9, shape).astype(np.float32), RANDOM.integers(0, shape[1], shape[0])
    rows[1, 2], rows[2, 0] = NAN, INF
    chosen = rows[np.arange(shape[0]), targets]
    expected = ((rows > chosen[:, None]).sum(1) < 2) & np.isfinite(rows).all(1)
    np.testing.assert_array_equal(tf.math.in_top_k(targets, rows, 2), expected)
    outside = targets.copy()
    outside[0], outside[3] = -1, shape[1]
    expected[[0, 3]] = False
    np.testing.assert_array_equal(tf.math.in_top_k(outside, rows, 2), expected)


def test_unique_elements_keep_their_order():
    y, places, counts = tf.unique_with_counts(tf.constant([3.0, NAN, -0.0, 3.0, NAN, 0.0]))
    np.testing.assert_array_equal(y, [3, NAN, 0, NAN])
    assert np.signbit(y.numpy()[2])
    assert (places.numpy().tolist(), counts.numpy().tolist()) == ([0, 1, 2, 0, 3, 2], [2, 1, 2, 1])
    words, places = tf.unique(["b", "a", "b"], tf.int64)
    assert (words.numpy().tolist(), places.numpy().tolist(), places.dtype) == ([b"b", b"a"], [0, 1, 0], tf.int64)
    for dtype in (tf.bfloat16, tf.uint64, tf.int8, tf.bool):
        found, _ = tf.unique(tf.cast([1, 0, 1], dtype))
        assert found.dtype is dtype
        assert tf.cast(found, tf.int32).numpy().tolist() == [1, 0]
    assert tf.unique(tf.constant([], tf.int32)).y.shape == [0]


@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16, tf.int8, tf.complex64])
@pytest.mark.parametrize("size", [4, 5000])
def test_the_last_update_of_an_element_wins(dtype, size):
    base, updates = tf.zeros([size], dtype), tf.cast([1, 2, 3, 4, 5], dtype)
    changed = tf.tensor_scatter_nd_update(base, [[1], [3], [1], [0], [1]], updates)
    assert tf.math.real(changed)[:4].numpy().tolist() == [4, 5, 0, 2]
    assert tf.tensor_scatter_nd_update(base, tf.zeros([0, 1], tf.int32), updates[:0]).shape == [size]


def test_rows_go_to_their_partitions():
    data, numbers = RANDOM.normal(size=(6, 2)).astype(np.float32), [2, 0, 2, 2, 0, 3]
    for values in (data, np.array([f"{each[0]}".encode() for each in data], object)):
        for number, part in enumerate(tf.dynamic_partition(values, numbers, 5)):
            np.testing.assert_array_equal(part, values[np.array(numbers) == number])
    with pytest.raises(InvalidArgumentError, match=r"partitions\[1\] = 7 is not in \[0, 5\)"):
        tf.dynamic_partition(data, [0, 7, 0, 0, 0, 0], 5)
    assert [part.shape[0] for part in tf.dynamic_partition(data[:0], np.zeros(0, np.int32), 2)] == [0, 0]


def test_indices_that_do_not_exist_are_named():
    for _ in range(2):
        with pytest.raises(
            InvalidArgumentError, match=r"indices\[1\] = \[0, 4\] does not index into param shape \[3,4\]"
        ):
            tf.gather_nd(tf.zeros([3, 4]), [[0, 1], [0, 4]])
    with pytest.raises(InvalidArgumentError, match=r"= \[-1, 0\] does not index"):
        tf.gather_nd(tf.zeros([3, 4]), [[-1, 0]])


@pytest.mark.parametrize("channels", [1, 7, 300])
@pytest.mark.parametrize("beta", [0.5, 0.75, 1.0])
def test_neighbouring_channels(channels, beta):
    x = RANDOM.normal(size=(2, 1, 3, channels)).astype(np.float32)
    near = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels))) <= 2
    expected = x / (1.5 + 0.3 * (np.square(x, dtype=np.float64) @ near)) ** beta
    found = tf.nn.local_response_normalization(x, 2, 1.5, 0.3, beta)
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_a_shape_rule_is_asked_once_for_the_same_sizes():
    asked = []

    def rule(x, count, *, flag):
        asked.append((x, count, flag))
        if count is True:
            raise InvalidArgumentError("no number")
        return x

    ask = of_sizes(rule)
    for _ in range(3):
        assert ask((2, 3), count=1, flag=False) == TensorShape([2, 3])
    assert asked == [(TensorShape([2, 3]), 1, False)]
    for _ in range(2):  # what is equal is not the same, and a refusal is said anew
        with pytest.raises(InvalidArgumentError, match="no number"):
            ask((2, 3), count=True, flag=False)
