"""Arithmetic, against NumPy, Python and figures recorded from TensorFlow, on every type of device."""

from __future__ import annotations

import math as python_math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, FLOATING, INTEGER, NUMERIC, REAL, SIGNED, WIDE_UNSIGNED
from situs._src.ops import math
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, SitusError

NAN, INF = float("nan"), float("inf")
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "complex64": 2e-6}


def by_name(dtypes):
    return sorted(dtypes, key=lambda dtype: dtype.name)


def check(result, expected, dtype, device=None):
    """The result has this dtype and place, and the values that NumPy found in double precision."""
    assert result.dtype is dtype
    if device is not None:
        assert result.device == device
    kind = complex if dtype.is_complex else float
    rtol = TOLERANCE.get(dtype.name, 1e-11)
    np.testing.assert_allclose(np.asarray(result.numpy(), kind), np.asarray(expected, kind), rtol=rtol, atol=rtol)


def inputs(dtype, *values):
    """The same values as a tensor of a dtype, and in double precision as NumPy sees them after rounding."""
    tensors = [to_tensor(np.array(v), None).numpy().astype(dtype.as_numpy_dtype) for v in values]
    kind = complex if dtype.is_complex else np.float64
    return [to_tensor(t) for t in tensors], [t.astype(kind) for t in tensors]


@pytest.fixture(autouse=True)
def _soft_for_wide_unsigned(request):
    """The unsigned integers of more than 8 bits have no GPU kernels: they run on the CPU, if that is allowed."""
    options.set_soft("dtype" in request.fixturenames and request.getfixturevalue("dtype") in WIDE_UNSIGNED)


UNARY = [  # name, NumPy's function, dtypes, arguments inside the domain
    ("negative", np.negative, FLOATING | COMPLEX | SIGNED, [1, -2, 0]),
    ("abs", np.abs, FLOATING | SIGNED, [1, -2, 0]),
    ("square", np.square, NUMERIC, [1, 3, 0]),
    ("sqrt", np.sqrt, FLOATING | COMPLEX, [0.25, 2, 9]),
    ("rsqrt", lambda x: 1 / np.sqrt(x), FLOATING | COMPLEX, [0.25, 2, 9]),
    ("reciprocal", lambda x: 1 / x, FLOATING | COMPLEX, [0.25, -2, 9]),
    ("exp", np.exp, FLOATING | COMPLEX, [-1, 0, 2]),
    ("expm1", np.expm1, FLOATING | COMPLEX, [-1, 1e-3, 2]),
    ("log", np.log, FLOATING | COMPLEX, [0.5, 1, 9]),
    ("log1p", np.log1p, FLOATING | COMPLEX, [1e-3, 1, 9]),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), FLOATING | COMPLEX, [-3, 0, 3]),
    ("sin", np.sin, FLOATING | COMPLEX, [-1, 0, 2]),
    ("cos", np.cos, FLOATING | COMPLEX, [-1, 0, 2]),
    ("tan", np.tan, FLOATING | COMPLEX, [-1, 0, 1.25]),
    ("asin", np.arcsin, FLOATING | COMPLEX, [-0.5, 0, 0.75]),
    ("acos", np.arccos, FLOATING | COMPLEX, [-0.5, 0, 0.75]),
    ("atan", np.arctan, FLOATING | COMPLEX, [-1, 0, 2]),
    ("sinh", np.sinh, FLOATING | COMPLEX, [-1, 0, 2]),
    ("cosh", np.cosh, FLOATING | COMPLEX, [-1, 0, 2]),
    ("tanh", np.tanh, FLOATING | COMPLEX, [-1, 0, 2]),
    ("asinh", np.arcsinh, FLOATING | COMPLEX, [-1, 0, 2]),
    ("acosh", np.arccosh, FLOATING | COMPLEX, [1.25, 2, 3]),
    ("atanh", np.arctanh, FLOATING | COMPLEX, [-0.5, 0, 0.75]),
    ("floor", np.floor, FLOATING, [-1.5, 0, 2.5]),
    ("ceil", np.ceil, FLOATING, [-1.5, 0, 2.5]),
    ("rint", np.rint, FLOATING, [-1.5, 0.5, 2.5]),
    ("round", np.rint, REAL, [0.5, 2, 3.5]),
    ("erf", np.vectorize(python_math.erf), FLOATING, [-1, 0, 0.5]),
    ("erfc", np.vectorize(python_math.erfc), FLOATING, [-1, 0, 0.5]),
    ("lgamma", np.vectorize(python_math.lgamma), FLOATING, [0.25, 2.5, 7]),
    ("sign", np.sign, FLOATING | SIGNED, [-2, 0, 3]),
    ("conj", np.conj, NUMERIC, [1, 2, 3]),
]


@pytest.mark.parametrize(
    ("name", "truth", "dtype", "values"),
    [(name, truth, dtype, values) for name, truth, dtypes, values in UNARY for dtype in by_name(dtypes)],
)
def test_functions_of_one_input_equal_numpy(on_device, name, truth, dtype, values):
    values = [abs(v) for v in values] if dtype.is_unsigned else values
    (x,), (exact,) = inputs(dtype, values)
    on_its_device = on_device if dtype not in WIDE_UNSIGNED else None
    check(getattr(math, name)(x), truth(exact), dtype, on_its_device)


@pytest.mark.parametrize("name", [row[0] for row in UNARY])
def test_functions_of_one_input_take_scalars_and_empty_tensors(on_device, name):
    function = getattr(math, name)
    assert function(np.float32(1.0)).shape == []
    assert function(np.zeros((0, 3), np.float32)).shape == [0, 3]


BINARY = [
    ("add", np.add, NUMERIC, [1, 2, 3], [4, 5, 6]),
    ("subtract", np.subtract, NUMERIC, [5, 6, 7], [1, 2, 3]),
    ("multiply", np.multiply, NUMERIC, [1, 2, 3], [4, 5, 6]),
    ("maximum", np.maximum, REAL, [1, 5, 3], [4, 2, 3]),
    ("minimum", np.minimum, REAL, [1, 5, 3], [4, 2, 3]),
    ("floordiv", np.floor_divide, REAL, [7, 8, 9], [2, 4, 5]),
    ("floormod", np.remainder, REAL, [7, 8, 9], [2, 4, 5]),
    ("truncatediv", lambda x, y: np.trunc(x / y), REAL, [7, 8, 9], [2, 4, 5]),
    ("truncatemod", np.fmod, REAL, [7, 8, 9], [2, 4, 5]),
    ("pow", np.power, FLOATING | COMPLEX | SIGNED, [1, 2, 3], [3, 2, 0]),
    ("squared_difference", lambda x, y: np.abs(x - y) ** 2, FLOATING | COMPLEX | dt.INDEX, [1, 5, 3], [4, 2, 3]),
    ("divide", np.divide, FLOATING | COMPLEX, [1, 2, 3], [4, 5, 6]),
    ("div", np.divide, FLOATING | COMPLEX, [1, 2, 3], [4, 5, 6]),
    ("divide_no_nan", np.divide, FLOATING | COMPLEX, [1, 2, 3], [4, 5, 6]),
    ("multiply_no_nan", np.multiply, FLOATING | COMPLEX, [1, 2, 3], [4, 5, 6]),
    ("xlogy", lambda x, y: x * np.log(y), FLOATING | COMPLEX, [1, 2, 0], [4, 5, 6]),
    ("xlog1py", lambda x, y: x * np.log1p(y), FLOATING | COMPLEX, [1, 2, 0], [4, 5, 6]),
    ("xdivy", np.divide, FLOATING | COMPLEX, [1, 2, 0], [4, 5, 6]),
    ("atan2", np.arctan2, FLOATING, [1, -2, 0], [4, -5, 6]),
]


@pytest.mark.parametrize(
    ("name", "truth", "dtype", "x", "y"),
    [(name, truth, dtype, x, y) for name, truth, dtypes, x, y in BINARY for dtype in by_name(dtypes)],
)
def test_functions_of_two_inputs_equal_numpy(on_device, name, truth, dtype, x, y):
    (x, y), exact = inputs(dtype, x, y)
    on_its_device = on_device if dtype not in WIDE_UNSIGNED else None
    check(getattr(math, name)(x, y), truth(*exact), dtype, on_its_device)


@pytest.mark.parametrize("name", [row[0] for row in BINARY])
def test_functions_of_two_inputs_broadcast(on_device, name):
    function = getattr(math, name)
    row, column = np.float32([1, 2, 3]), np.float32([[1], [2]])
    assert function(to_tensor(row), to_tensor(column)).shape == [2, 3]
    assert function(to_tensor(row), 2).shape == [3]
    assert function(2.0, to_tensor(row)).shape == [3]
    assert function(np.float32(1), np.float32(2)).shape == []
    assert function(np.zeros((0, 1), np.float32), row).shape == [0, 3]


@pytest.mark.parametrize("name", [row[0] for row in BINARY])
def test_functions_of_two_inputs_refuse_shapes_that_do_not_broadcast(on_device, name):
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        getattr(math, name)(np.ones(2, np.float32), np.ones(3, np.float32))


@pytest.mark.parametrize("name", [row[0] for row in BINARY])
def test_functions_of_two_inputs_refuse_mixed_dtypes_and_bools(on_device, name):
    function = getattr(math, name)
    with pytest.raises(TypeError, match=r"same dtype|was expected to be a float tensor but is a double"):
        function(to_tensor([1.0]), to_tensor([1.0], dt.float64))
    if name != "multiply":  # of booleans, as TensorFlow's operator has it
        with pytest.raises(InvalidArgumentError, match=r"'T' of bool is not in the list|Invalid dtype tf.bool"):
            function(to_tensor([True]), to_tensor([True]))


def test_strings_add_by_joining_and_broadcast():
    joined = math.add("a", to_tensor(["b", "c"]))
    assert joined.numpy().tolist() == [b"ab", b"ac"]
    assert math.add("a", b"b").numpy() == b"ab"
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        math.add(["a", "b"], ["a", "b", "c"])
    with pytest.raises(DTypeError, match="'T' of string"):
        math.subtract("a", "b")


@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_integer_arithmetic_wraps_around(on_device, dtype):
    low, high = dtype.limits
    assert math.add(to_tensor([high], dtype), 1).numpy().tolist() == [low]
    assert math.subtract(to_tensor([low], dtype), 1).numpy().tolist() == [high]


# True division.


@pytest.mark.parametrize("function", [math.truediv, math.divide, math.divide_no_nan])
@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_integers_divide_to_floats(on_device, function, dtype):
    quotient = function(to_tensor([1, 9], dtype), to_tensor([2, 4], dtype))
    check(quotient, [0.5, 2.25], dt.float32 if dtype.size <= 2 else dt.float64, on_device)


def test_python_numbers_divide_like_tensors_of_their_natural_dtype(on_device):
    check(math.divide(3, 2), 1.5, dt.float64)
    check(math.divide(3, to_tensor([2.0])), [1.5], dt.float32)
    check(math.divide(to_tensor([3], dt.uint64), 2), [1.5], dt.float64)
    check(math.divide(2, to_tensor([4], dt.int16)), [0.5], dt.float32)


def test_division_by_zero_of_floats_is_infinite(on_device):
    np.testing.assert_array_equal(math.divide([1.0, -1.0, 0.0], 0.0).numpy(), np.float32([INF, -INF, NAN]))
    np.testing.assert_array_equal(math.divide(to_tensor([3, -3]), 0).numpy(), [INF, -INF])


@pytest.mark.parametrize("other", [2.5, to_tensor([2.0]), to_tensor([2], dt.int64)])
def test_integers_do_not_divide_by_other_dtypes(other):
    with pytest.raises(TypeError, match=r"`x` and `y` must have the same dtype, got tf\.int32 != tf\."):
        math.divide(to_tensor([1, 2]), other)


def test_div_rounds_integers_down_as_python_2_does(on_device):
    assert math.div(to_tensor([7, -7]), 2).numpy().tolist() == [3, -4]
    assert math.div(7.0, to_tensor([2.0])).numpy().tolist() == [3.5]


def test_the_no_nan_functions_are_zero_where_the_other_would_not_be_a_number(on_device):
    # Recorded from TensorFlow 2.21.
    np.testing.assert_array_equal(
        math.divide_no_nan([0.0, NAN, 1.0, 2.0], [NAN, 0.0, 0.0, 4.0]).numpy(), [NAN, 0, 0, 0.5]
    )
    np.testing.assert_array_equal(
        math.multiply_no_nan([NAN, INF, 2.0, 0.0], [0.0, 0.0, 3.0, NAN]).numpy(), [0, 0, 6, NAN]
    )
    np.testing.assert_array_equal(math.reciprocal_no_nan(np.float64([0, 4])).numpy(), [0, 0.25])
    np.testing.assert_array_equal(math.xlogy([0.0, 0.0, 1.0, 0.0], [NAN, 0.0, 0.0, -1.0]).numpy(), [0, 0, -INF, 0])
    np.testing.assert_array_equal(math.xlog1py([0.0, 0.0, 1.0], [NAN, -1.0, -1.0]).numpy(), [0, 0, -INF])
    np.testing.assert_array_equal(math.xdivy([0.0, 0.0, 1.0], [NAN, 0.0, 0.0]).numpy(), [0, 0, INF])


@pytest.mark.parametrize("name", ["multiply_no_nan", "xlogy", "xlog1py", "xdivy", "pow"])
def test_functions_of_floats_refuse_other_dtypes(name):
    with pytest.raises(InvalidArgumentError, match="'T' of uint8 is not in the list of allowed values"):
        getattr(math, name)(to_tensor([1], dt.uint8), to_tensor([1], dt.uint8))


# Division that rounds.

DIVISIONS = ["floordiv", "floormod", "truncatediv", "truncatemod", "floor_div", "mod"]


@pytest.mark.parametrize("dtype", by_name(SIGNED))
def test_integer_division_of_negative_numbers_rounds_as_its_name_says(on_device, dtype):
    x, y = to_tensor([7, -7, 7, -7], dtype), to_tensor([2, 2, -2, -2], dtype)
    assert math.floordiv(x, y).numpy().tolist() == [3, -4, -4, 3]
    assert math.floormod(x, y).numpy().tolist() == [1, 1, -1, -1]
    assert math.truncatediv(x, y).numpy().tolist() == [3, -3, -3, 3]
    assert math.truncatemod(x, y).numpy().tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize("dtype", by_name(SIGNED))
@pytest.mark.parametrize("shape", [(), (1,), (40,)])
def test_the_smallest_integer_divided_by_minus_one_wraps_around(on_device, dtype, shape):
    low = to_tensor(np.full(shape, dtype.min, dtype.as_numpy_dtype))
    for function, expected in [(math.floordiv, dtype.min), (math.truncatediv, dtype.min), (math.floormod, 0)]:
        np.testing.assert_array_equal(function(low, -1).numpy(), np.full(shape, expected))
    np.testing.assert_array_equal(math.truncatemod(low, -1).numpy(), np.zeros(shape))


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", by_name(INTEGER))
def test_integer_division_by_zero_is_an_error(on_device, name, dtype):
    divide = getattr(math, name)
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        divide(to_tensor([1, 2], dtype), to_tensor([1, 0], dtype))
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        divide(to_tensor(1, dtype), 0)
    assert divide(to_tensor([], dtype), to_tensor(0, dtype)).shape == [0]  # nothing was divided


def test_float_division_rounds_the_quotient(on_device):
    # Recorded from TensorFlow 2.21.
    x, y = [1.0, -7.0, 7.0, INF, -INF, 1.0, -1.0, 0.0, NAN], [0.1, 2.0, -2.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    np.testing.assert_array_equal(math.floordiv(x, y).numpy(), [10, -4, -4, INF, -INF, INF, -INF, NAN, NAN])
    assert math.floordiv(np.float64(1.0), np.float64(0.1)).numpy() == 10.0
    x, y = [1.0, -7.0, 7.0, INF, 5.0, -5.0, 5.0, 1.0], [0.1, 2.0, -2.0, 1.0, INF, INF, -INF, 0.0]
    remainder = np.float32([0.09999998658895493, 1, -1, NAN, 5, INF, -INF, NAN])
    np.testing.assert_array_equal(math.floormod(x, y).numpy(), remainder)
    np.testing.assert_array_equal(math.truncatediv([1.0, -7.0, INF], [0.1, 2.0, 1.0]).numpy(), [10, -3, INF])
    np.testing.assert_array_equal(math.truncatemod([-7.0, 7.0, 5.0], [2.0, -2.0, INF]).numpy(), [-1, 1, 5])


@given(st.lists(st.tuples(st.integers(-128, 127), st.integers(-128, 127).filter(bool)), min_size=1))
def test_quotient_and_remainder_give_the_dividend_back(pairs):
    x, y = (to_tensor(values, dt.int8) for values in zip(*pairs, strict=True))
    for divide, modulo in [(math.floordiv, math.floormod), (math.truncatediv, math.truncatemod)]:
        back = math.add(math.multiply(divide(x, y), y), modulo(x, y))
        assert back.numpy().tolist() == x.numpy().tolist()


# Powers, bounds, signs.


def test_integers_have_no_negative_powers(on_device):
    for exponent in (to_tensor([1, -1]), -1):
        with pytest.raises(InvalidArgumentError, match="Integers to negative integer powers are not allowed"):
            math.pow(to_tensor([1, 1]), exponent)
    assert math.pow(to_tensor([], dt.int32), -1).shape == [0]
    assert math.pow(2, 3).numpy() == 8
    assert math.pow(to_tensor([2, 3], dt.int8), to_tensor([8, 2], dt.int8)).numpy().tolist() == [0, 9]
    with pytest.raises(DTypeError, match=r"Cannot convert 2\.0 to EagerTensor of dtype int32"):
        math.pow(to_tensor([2, 3]), 2.0)


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 0.25, -1.0, -2.0, np.inf, np.nan])
def test_powers_by_one_number_are_those_of_numpy(on_device, exponent):
    x = np.array([-np.inf, -3.5, -1.0, -0.0, 0.0, 1e-30, 0.7, 2.0, 1e20, np.inf, np.nan])
    for dtype, figures in ((tf.float32, np.float32), (tf.float64, np.float64)):
        with np.errstate(all="ignore"):
            wanted = np.power(x.astype(figures), figures(exponent))
        for run in (tf.pow, tf.function(tf.pow)):
            made = run(tf.constant(x, dtype), tf.constant(exponent, dtype))
            assert made.dtype == dtype
            np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-6)
            numbers = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(made.numpy()[numbers]), np.signbit(wanted[numbers]))


def test_powers_of_floats_reach_the_edges(on_device):
    result = math.pow([2.0, 0.0, -8.0, 0.0], [0.5, -1.0, 1 / 3, 0.0]).numpy()
    np.testing.assert_array_equal(result, np.float32([2**0.5, INF, NAN, 1]))


def test_maximum_and_minimum_pass_nan_on(on_device):
    for function in (math.maximum, math.minimum):
        np.testing.assert_array_equal(function([NAN, 1.0], [1.0, NAN]).numpy(), [NAN, NAN])


def test_clip_by_value_limits_both_ends_and_keeps_nan(on_device):
    np.testing.assert_array_equal(math.clip_by_value([1.0, 5.0, NAN, -3.0], 0, 3).numpy(), [1, 3, NAN, 0])
    assert math.clip_by_value(to_tensor([1, 5, -3], dt.int64), 0, 3).numpy().tolist() == [1, 3, 0]
    assert math.clip_by_value([1, 5], 0, 3).numpy().tolist() == [1, 3]
    matrix = math.clip_by_value(np.float32([[1, 5], [-3, 2]]), [0.0, 1.0], [2.0, 3.0])
    assert matrix.numpy().tolist() == [[1, 3], [0, 2]]
    assert math.clip_by_value([1.0, 5.0, -3.0], 3, 0).numpy().tolist() == [3, 3, 3]  # crossed bounds: the lower wins


def test_clip_by_value_takes_unsigned_integers():
    assert math.clip_by_value(to_tensor([1, 300], dt.uint16), 2, 9).numpy().tolist() == [2, 9]


def test_clip_by_value_refuses_bounds_that_do_not_fit():
    with pytest.raises(ValueError, match=r"Shapes \(2,\) and \(2, 2\) are incompatible"):
        math.clip_by_value([1.0, 5.0], [[0.0], [1.0]], 3.0)
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        math.clip_by_value([1.0, 5.0], [0.0, 1.0, 2.0], 3.0)
    with pytest.raises(TypeError, match="int32"):
        math.clip_by_value(to_tensor([1, 5]), 0.5, 3)
    with pytest.raises(InvalidArgumentError, match="complex128"):
        math.clip_by_value([1j], 0, 3)


def test_scalar_mul_takes_one_number(on_device):
    assert math.scalar_mul(2, to_tensor([1.0, 2.0])).numpy().tolist() == [2, 4]
    assert math.scalar_mul(to_tensor(3), to_tensor([1, 2])).numpy().tolist() == [3, 6]
    with pytest.raises(ValueError, match=r"must be a 0-D value. Received shape \(1,\)"):
        math.scalar_mul([2], to_tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="int32"):
        math.scalar_mul(2.5, to_tensor([1, 2]))


@pytest.mark.parametrize("dtype", by_name(COMPLEX))
def test_the_absolute_value_of_complex_numbers_is_real(on_device, dtype):
    size = math.abs(to_tensor([3 + 4j, -2j], dtype))
    check(size, [5, 2], dtype.real_dtype, on_device)
    assert math.abs(np.zeros((0, 2), dtype.as_numpy_dtype)).shape == [0, 2]
    assert math.abs(3 + 4j).numpy() == 5.0
    check(math.squared_difference(to_tensor([1 + 2j], dtype), to_tensor([0j], dtype)), [5], dtype)


@pytest.mark.parametrize("dtype", [dt.uint8, dt.bool, dt.string])
def test_abs_and_negative_refuse_dtypes_without_sign(dtype):
    value = to_tensor(["a"]) if dtype is dt.string else to_tensor([1], dt.uint8)
    value = to_tensor([True]) if dtype is dt.bool else value
    for function in (math.abs, math.negative, math.sign):
        with pytest.raises(InvalidArgumentError, match=f"'T' of {dtype.name} is not in the list"):
            function(value)


def test_sign_keeps_nan_and_turns_complex_numbers_into_directions(on_device):
    np.testing.assert_array_equal(math.sign([NAN, 0.0, -0.0, 3.0, -INF]).numpy(), [NAN, 0, 0, 1, -1])
    check(math.sign(to_tensor([3 + 4j, 0j])), [0.6 + 0.8j, 0], dt.complex128)


@pytest.mark.parametrize("dtype", by_name(COMPLEX))
def test_conj_negates_imaginary_parts_once_and_for_all(on_device, dtype):
    conjugate = math.conj(to_tensor([1 + 2j], dtype))
    check(conjugate, [1 - 2j], dtype, on_device)
    assert not conjugate._value.is_conj()  # a lazy conjugate would trip kernels that look at the bytes


def test_angle_of_real_numbers_is_zero_or_pi(on_device):
    check(math.angle(to_tensor([1 + 1j, -1 + 0j])), [np.pi / 4, np.pi], dt.float64, on_device)
    for dtype in by_name(FLOATING):
        check(math.angle(to_tensor([-1.0, 1.0, 0.0, NAN], dtype)), [np.pi, 0, 0, 0], dtype, on_device)
    with pytest.raises(TypeError, match="'T' of int32"):
        math.angle(to_tensor([-1, 1]))


# Rounding and classes of numbers.


@pytest.mark.parametrize("dtype", by_name(FLOATING))
def test_round_takes_halves_to_the_even_neighbour(on_device, dtype):
    x = to_tensor([0.5, 1.5, -0.5, -2.5, 2.25], dtype)
    for function in (math.round, math.rint):
        check(function(x), [0, 2, 0, -2, 2], dtype, on_device)


@pytest.mark.parametrize("dtype", by_name(FLOATING))
def test_numbers_are_nan_infinite_or_finite(on_device, dtype):
    x = to_tensor([NAN, INF, -INF, 1.0], dtype)
    for function, expected in [
        (math.is_nan, [True, False, False, False]),
        (math.is_inf, [False, True, True, False]),
        (math.is_finite, [False, False, False, True]),
    ]:
        result = function(x)
        assert result.dtype is dt.bool
        assert result.device == on_device
        assert result.numpy().tolist() == expected
        with pytest.raises(InvalidArgumentError, match="'T' of int32"):
            function(to_tensor([1]))


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_nextafter_takes_the_smallest_step(on_device, dtype):
    number = dtype.as_numpy_dtype
    result = math.nextafter(x1=to_tensor([1.0, 1.0], dtype), x2=to_tensor([2.0, 0.0], dtype))
    assert result.numpy().tolist() == [np.nextafter(number(1), number(2)), np.nextafter(number(1), number(0))]


def test_arguments_have_the_names_that_tensorflow_gives_them(on_device):
    np.testing.assert_allclose(math.atan2(x=[1.0], y=[0.0]).numpy(), [0.0])
    np.testing.assert_allclose(math.igamma(x=[1.0], a=[2.0]).numpy(), [0.264241], rtol=1e-5)
    np.testing.assert_allclose(math.zeta(q=[1.0], x=[2.0]).numpy(), [np.pi**2 / 6], rtol=1e-6)
    assert math.add(y=[1], x=[2], name="sum").numpy().tolist() == [3]


# Special functions: figures recorded from TensorFlow 2.21 in double precision.

SPECIAL = [
    ("erfinv", [0.1, 0.5, 0.9], [0.08885599049426, 0.4769362762045, 1.163087153677]),
    ("ndtri", [0.1, 0.5, 0.9], [-1.281551565545, 0.0, 1.281551565545]),
    ("erfcinv", [0.1, 0.5, 0.9], [1.163087153677, 0.4769362762045, 0.08885599049426]),
    ("digamma", [0.3, 1.0, 2.5], [-3.5025242222, -0.5772156649015, 0.7031566406452]),
    ("bessel_i0", [0.3, 1.0, 2.5], [1.022626879352, 1.266065877752, 3.28983914405]),
    ("bessel_i0e", [0.3, 1.0, 2.5], [0.7575806251825, 0.4657596075936, 0.2700464416122]),
    ("bessel_i1", [0.3, 1.0, 2.5], [0.1516938400036, 0.5651591039925, 2.516716245289]),
    ("bessel_i1e", [0.3, 1.0, 2.5], [0.1123775606398, 0.2079104153497, 0.2065846495313]),
    ("bessel_j0", [0.3, 1.0, 2.5], [0.9776262465383, 0.765197686558, -0.0483837764682]),
    ("bessel_j1", [0.3, 1.0, 2.5], [0.1483188162731, 0.4400505857449, 0.4970941024643]),
    ("bessel_y0", [0.3, 1.0, 2.5], [-0.8072735778045, 0.08825696421568, 0.4980703596152]),
    ("bessel_y1", [0.3, 1.0, 2.5], [-2.293105138389, -0.7812128213003, 0.1459181379668]),
    ("bessel_k0", [0.3, 1.0, 2.5], [1.372460060544, 0.4210244382407, 0.06234755320037]),
    ("bessel_k0e", [0.3, 1.0, 2.5], [1.852627300772, 1.144463079807, 0.7595486903281]),
    ("bessel_k1", [0.3, 1.0, 2.5], [3.055992033457, 0.6019072301972, 0.07389081634775]),
    ("bessel_k1e", [0.3, 1.0, 2.5], [4.125157762244, 1.636153486263, 0.9001744239079]),
]
SPECIAL_OF_TWO = [
    ("igamma", [0.5, 2.0, 3.0], [0.5, 1.0, 4.0], [0.6826894921371, 0.2642411176571, 0.7618966944465]),
    ("igammac", [0.5, 2.0, 3.0], [0.5, 1.0, 4.0], [0.3173105078629, 0.7357588823429, 0.2381033055535]),
    ("zeta", [2.0, 3.0, 1.5], [1.0, 2.5, 0.5], [1.644934066848, 0.1181020258209, 4.776537947555]),
    ("polygamma", [0.0, 1.0, 3.0], [1.0, 2.5, 0.5], [-0.5772156649015, 0.4903577561002, 97.409091034]),
]
SPECIAL_TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 2e-5, "float64": 1e-10}


@pytest.mark.parametrize(("name", "x", "recorded"), SPECIAL)
@pytest.mark.parametrize("dtype", by_name(FLOATING))
def test_special_functions_equal_tensorflow(on_device, name, x, recorded, dtype):
    result = getattr(math, name)(to_tensor(x, dtype))
    assert (result.dtype, result.device) == (dtype, on_device)
    near = SPECIAL_TOLERANCE[dtype.name]
    np.testing.assert_allclose(np.float64(result.numpy()), recorded, rtol=near, atol=near)
    assert getattr(math, name)(to_tensor(np.zeros((0, 2)), dtype)).shape == [0, 2]


@pytest.mark.parametrize(("name", "x", "y", "recorded"), SPECIAL_OF_TWO)
@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_special_functions_of_two_inputs_equal_tensorflow(on_device, name, x, y, recorded, dtype):
    function = getattr(math, name)
    result = function(to_tensor(x, dtype), to_tensor(y, dtype))
    assert (result.dtype, result.device) == (dtype, on_device)
    np.testing.assert_allclose(result.numpy(), recorded, rtol=SPECIAL_TOLERANCE[dtype.name])
    assert function(to_tensor(2.0, dtype), to_tensor(y, dtype)).shape == [3]


def test_polygamma_is_defined_for_whole_orders_only(on_device):
    np.testing.assert_array_equal(
        np.isnan(math.polygamma([0.5, -1.0, 2.0], [1.0, 1.0, 1.0]).numpy()), [True, True, False]
    )


@pytest.mark.parametrize("name", [row[0] for row in SPECIAL] + ["exp", "sin", "floor", "erf", "rsqrt", "log"])
def test_functions_of_floats_refuse_integers_and_say_so(name):
    with pytest.raises(TypeError, match=r"int32|cast"):
        getattr(math, name)(to_tensor([1]))


@pytest.mark.parametrize("value", [None, object(), {"a": 1}, [[1], [2, 3]], ["a", 1]])
def test_values_without_a_tensor_are_refused(value):
    for function in (math.add, math.divide, math.scalar_mul, math.squared_difference):
        with pytest.raises(SitusError):
            function(value, 1)
    for function in (math.abs, math.angle, math.sin, math.reciprocal_no_nan):
        with pytest.raises(SitusError):
            function(value)


# Values and memory.


def test_kernels_take_views_and_leave_their_inputs_alone(on_device):
    base = np.arange(12, dtype=np.float32).reshape(3, 4) + 1
    x = to_tensor(base)
    view = to_tensor(base.T)
    view._value = x._value.mT  # not contiguous
    for name, truth, _, _, _ in BINARY:
        np.testing.assert_allclose(
            getattr(math, name)(view, 2).numpy(), truth(base.T.astype(float), 2.0), rtol=1e-5, err_msg=name
        )
    np.testing.assert_array_equal(x.numpy(), base)


def test_the_fast_path_gives_the_same_as_the_general_one(fast):
    x = to_tensor([1.0, 2.0])
    for _ in range(3):  # the first call prepares a step, the others use it
        assert math.add(x, x).numpy().tolist() == [2, 4]
        assert math.divide(x, 2).numpy().tolist() == [0.5, 1]
        assert math.abs(x).numpy().tolist() == [1, 2]
        with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
            math.floordiv(to_tensor([1]), to_tensor([0]))
        with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
            math.add(x, to_tensor([1.0, 2.0, 3.0]))


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20), st.floats(-10, 10, width=32))
def test_arithmetic_on_any_floats_equals_numpy(values, other):
    x, y = np.float32(values), np.float32(other)
    for function, truth in [(math.add, np.add), (math.subtract, np.subtract), (math.multiply, np.multiply)]:
        np.testing.assert_array_equal(function(x, y).numpy(), truth(x, y))


@pytest.mark.parametrize("part", [tf.math.conj, tf.math.real])
def test_a_tensor_of_real_numbers_is_its_own_conjugate_and_real_part(part):
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        assert part(x) is x
    assert part([1, 2]).numpy().tolist() == [1, 2]
    assert part(tf.constant(1 + 2j)).numpy() == (1 - 2j if part is tf.math.conj else 1.0)


def test_text_has_no_conjugate_in_a_graph_either():
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError)):
        tf.math.conj(tf.constant(["a"]))
