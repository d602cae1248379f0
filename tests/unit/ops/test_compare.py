"""Comparison, logic and bits, against NumPy and recorded figures, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED, INTEGER, REAL, SIGNED, WIDE_UNSIGNED
from situs._src.ops import compare
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError
from situs.extend import find_op

NAN, INF = float("nan"), float("inf")


def by_name(dtypes):
    return sorted(dtypes, key=lambda dtype: dtype.name)


@pytest.fixture(autouse=True)
def _soft_for_wide_unsigned(request):
    """The unsigned integers of more than 8 bits have no GPU kernels: they run on the CPU, if that is allowed."""
    options.set_soft("dtype" in request.fixturenames and request.getfixturevalue("dtype") in WIDE_UNSIGNED)


COMPARISONS = [
    ("equal", np.equal, FIXED),
    ("not_equal", np.not_equal, FIXED),
    ("less", np.less, REAL),
    ("less_equal", np.less_equal, REAL),
    ("greater", np.greater, REAL),
    ("greater_equal", np.greater_equal, REAL),
]


@pytest.mark.parametrize(
    ("name", "truth", "dtype"), [(n, truth, dtype) for n, truth, dtypes in COMPARISONS for dtype in by_name(dtypes)]
)
def test_comparisons_equal_numpy_and_answer_in_bools(on_device, name, truth, dtype):
    x, y = (np.array(v).astype(dtype.as_numpy_dtype) for v in ([1, 0, 3, 0], [[1, 1, 2, 0]]))
    result = getattr(compare, name)(to_tensor(x), to_tensor(y))
    assert result.dtype is dt.bool
    np.testing.assert_array_equal(result.numpy(), truth(x, y))
    if dtype not in WIDE_UNSIGNED:
        assert result.device == on_device


@pytest.mark.parametrize(("name", "truth"), [row[:2] for row in COMPARISONS])
def test_nothing_compares_with_nan_but_to_differ(on_device, name, truth):
    x, y = np.float32([NAN, NAN, INF, 0.0]), np.float32([NAN, 1.0, INF, -0.0])
    np.testing.assert_array_equal(getattr(compare, name)(x, y).numpy(), truth(x, y))


@pytest.mark.parametrize("name", [row[0] for row in COMPARISONS])
def test_comparisons_take_scalars_empty_tensors_and_python_numbers(on_device, name):
    function = getattr(compare, name)
    assert function(1, 2).shape == []
    assert function(to_tensor([1.0, 2.0]), 1).shape == [2]
    assert function(np.zeros((0, 1), np.int64), np.zeros(3, np.int64)).shape == [0, 3]


@pytest.mark.parametrize("name", [row[0] for row in COMPARISONS])
def test_comparisons_refuse_other_shapes_and_other_dtypes(on_device, name):
    function = getattr(compare, name)
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        function(to_tensor([1, 2]), to_tensor([1, 2, 3]))
    with pytest.raises(InvalidArgumentError, match="was expected to be a int32 tensor but is a float tensor"):
        function(to_tensor([1, 2]), to_tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5 to EagerTensor of dtype int32"):
        function(to_tensor([1, 2]), 1.5)


def test_strings_are_equal_byte_by_byte():
    words = to_tensor(["a", "b", "ä"])
    assert compare.equal(words, "a").numpy().tolist() == [True, False, False]
    assert compare.not_equal(words, b"a").numpy().tolist() == [False, True, True]
    assert compare.equal(words, to_tensor([["a"], ["b"]])).shape == [2, 3]
    assert compare.equal("a", "a").numpy()
    assert compare.equal(to_tensor([], dt.string), "a").shape == [0]
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs\. \[2\]"):
        compare.equal(words, ["a", "b"])
    with pytest.raises(TypeError, match="string"):
        compare.equal(words, 1)


@pytest.mark.parametrize("value", [[True], [1j], ["a"]])
def test_only_real_numbers_are_ordered(value):
    for function in (compare.less, compare.less_equal, compare.greater, compare.greater_equal):
        with pytest.raises(InvalidArgumentError, match="is not in the list of allowed values"):
            function(to_tensor(value), to_tensor(value))


def test_unsigned_integers_compare_without_sign():
    large, small = to_tensor([2**64 - 1], dt.uint64), to_tensor([1], dt.uint64)
    assert compare.greater(large, small).numpy().tolist() == [True]
    assert compare.equal(large, large).numpy().tolist() == [True]


def test_approximate_equal_compares_the_difference_to_the_tolerance(on_device):
    # Recorded from TensorFlow 2.21.
    close = find_op("ApproximateEqual")([1.0, 1.0, NAN, INF], [1.000001, 1.0001, NAN, INF])
    assert close.numpy().tolist() == [True, False, False, False]
    assert close.device == on_device
    assert find_op("ApproximateEqual")([1.0, 1.0], [1.1, 1.5], tolerance=0.2).numpy().tolist() == [True, False]
    assert find_op("ApproximateEqual")([1.0], [1.0], tolerance=-1.0).numpy().tolist() == [False]
    assert find_op("ApproximateEqual")([1 + 1j], [1 + 1.1j], tolerance=0.2).numpy().tolist() == [True]
    with pytest.raises(InvalidArgumentError, match=r"must be of the same shape. x shape: \[2\]. y shape: \[\]"):
        find_op("ApproximateEqual")([1.0, 1.0], 1.1)
    with pytest.raises(DTypeError, match="'T' of string"):
        find_op("ApproximateEqual")(["a"], ["a"])


LOGIC = [("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor)]


@pytest.mark.parametrize(("name", "truth"), LOGIC)
def test_logic_equals_numpy_and_broadcasts(on_device, name, truth):
    function = getattr(compare, name)
    x, y = np.array([True, False]), np.array([[True], [False]])
    result = function(to_tensor(x), to_tensor(y))
    assert (result.dtype, result.device) == (dt.bool, on_device)
    np.testing.assert_array_equal(result.numpy(), truth(x, y))
    assert function([True, False], True).shape == [2]
    assert function(np.zeros((0,), bool), True).shape == [0]
    with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
        function([True, False], [True, False, True])


def test_logical_not_negates(on_device):
    assert compare.logical_not([True, False]).numpy().tolist() == [False, True]
    assert compare.logical_not(True).shape == []


@pytest.mark.parametrize("value", [to_tensor([1]), to_tensor([1.0]), 1, "a"])
def test_logic_takes_nothing_but_bools(value):
    for name, _ in LOGIC:
        with pytest.raises(TypeError, match=r"input #0\(zero-based\) was expected to be a bool tensor|of dtype bool"):
            getattr(compare, name)(value, True)
    with pytest.raises(TypeError, match=r"was expected to be a bool tensor|of dtype bool"):
        compare.logical_not(value)


BITS = [
    ("bitwise_and", np.bitwise_and),
    ("bitwise_or", np.bitwise_or),
    ("bitwise_xor", np.bitwise_xor),
    ("left_shift", np.left_shift),
    ("right_shift", np.right_shift),
]


@pytest.mark.parametrize(("name", "truth"), BITS)
@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_operations_on_bits_equal_numpy(on_device, name, truth, dtype):
    x, y = (np.array(v, dtype.as_numpy_dtype) for v in ([0, 5, 100, 127], [[1], [3]]))
    result = getattr(compare, name)(to_tensor(x), to_tensor(y))
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), truth(x, y))


@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_invert_flips_every_bit(on_device, dtype):
    x = np.array([0, 5, 127], dtype.as_numpy_dtype)
    result = compare.bitwise_invert(to_tensor(x))
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy(), ~x)


@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_shifts_beyond_the_width_stop_at_the_last_bit(on_device, dtype):
    width = 8 * dtype.size
    one, last = to_tensor([1, 1], dtype), to_tensor([width - 1, width], dtype)
    top = dtype.min if dtype.kind == "i" else 2 ** (width - 1)
    assert compare.left_shift(one, last).numpy().tolist() == [top, top]
    assert compare.right_shift(to_tensor([top, top], dtype), last).numpy().tolist() == [-1 if top < 0 else 1] * 2


@pytest.mark.parametrize("dtype", by_name(SIGNED))
def test_negative_shifts_shift_nothing(on_device, dtype):
    x, y = to_tensor([8, -8], dtype), to_tensor([-1, -100], dtype)
    assert compare.left_shift(x, y).numpy().tolist() == [8, -8]
    assert compare.right_shift(x, y).numpy().tolist() == [8, -8]


@pytest.mark.parametrize("name", [row[0] for row in BITS])
def test_operations_on_bits_refuse_what_has_no_bits(on_device, name):
    function = getattr(compare, name)
    for value in ([True], [1.0], [1j]):
        with pytest.raises(InvalidArgumentError, match="is not in the list of allowed values"):
            function(to_tensor(value), to_tensor(value))
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        function([1, 2], [1, 2, 3])
    assert function(np.zeros((0, 2), np.int32), 1).shape == [0, 2]
    assert function(6, 3).shape == []


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1), st.integers(-(2**31), 2**31 - 1))
def test_orderings_are_each_others_opposites(values, other):
    x, y = to_tensor(values, dt.int32), to_tensor(other, dt.int32)
    less = compare.less(x, y).numpy()
    np.testing.assert_array_equal(less, ~compare.greater_equal(x, y).numpy())
    np.testing.assert_array_equal(less, compare.greater(y, x).numpy())
    np.testing.assert_array_equal(compare.equal(x, y).numpy(), ~compare.not_equal(x, y).numpy())


def test_the_fast_path_gives_the_same_as_the_general_one(fast):
    x, yes = to_tensor([1, 2]), to_tensor([True, False])
    for _ in range(3):
        assert compare.less(x, 2).numpy().tolist() == [True, False]
        assert compare.logical_and(yes, yes).numpy().tolist() == [True, False]
        assert compare.logical_not(yes).numpy().tolist() == [False, True]
        with pytest.raises(TypeError, match="was expected to be a bool tensor"):
            compare.logical_and(yes, x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.int16])
@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_many_elements_compare_as_few_do(name, dtype):
    random = np.random.default_rng(0)
    x, y = (random.integers(-3, 4, (100, 90)).astype(dtype) for _ in range(2))
    if np.issubdtype(dtype, np.floating):
        x[::7, ::5], y[::3, ::4], x[3], y[5] = np.nan, np.nan, np.inf, -np.inf
    function = getattr(tf.math, name)
    for a, b in ((x, y), (x, y[:1]), (x.T, y[:, 3]), (x, y[0, 1])):
        with np.errstate(invalid="ignore"):
            right = getattr(np, name)(a, b)
        with tf.device("/CPU:0"):
            made = (function(a, b), tf.function(function)(tf.constant(a), tf.constant(b)))
        for found in made:
            assert found.dtype == tf.bool
            np.testing.assert_array_equal(found.numpy(), right)
