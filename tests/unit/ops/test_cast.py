"""Casts and the parts of complex numbers, against NumPy and recorded figures, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, FIXED, FLOATING, INTEGER, NUMERIC, REAL, WIDE_UNSIGNED
from situs._src.ops import cast as family
from situs._src.ops.cast import bitcast, cast, imag, real, saturate_cast
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, SitusError, UnimplementedError

NAN, INF = float("nan"), float("inf")


def by_name(dtypes):
    return sorted(dtypes, key=lambda dtype: dtype.name)


# Cast.


@pytest.mark.parametrize("source", by_name(FIXED))
@pytest.mark.parametrize("target", by_name(FIXED))
def test_every_dtype_casts_to_every_other(on_device, source, target):
    x = to_tensor(np.array([[0, 1], [1, 0]]).astype(source.as_numpy_dtype))
    result = cast(x, target)
    assert result.dtype is target
    np.testing.assert_array_equal(result.numpy().astype(complex), [[0, 1], [1, 0]])
    if source is not target:
        assert result.device == on_device
    assert cast(np.zeros((0, 3), source.as_numpy_dtype), target).shape == [0, 3]


def test_a_cast_to_the_dtype_there_is_returns_the_tensor_itself():
    x = to_tensor([1.0])
    assert cast(x, "float32") is x
    words = to_tensor(["a"])
    assert cast(words, dt.string) is words
    assert cast("a", dt.string).numpy() == b"a"


def test_floats_are_truncated_to_integers(on_device):
    assert cast([1.9, -1.9, 0.5], dt.int32).numpy().tolist() == [1, -1, 0]
    assert cast(np.array([1.5, -2.5]), "int8").numpy().tolist() == [1, -2]
    assert cast(to_tensor([7.9], dt.bfloat16), dt.uint16).numpy().tolist() == [7]


def test_integers_wrap_around_in_narrower_dtypes(on_device):
    # Recorded from TensorFlow 2.21.
    assert cast([300, -1], dt.uint8).numpy().tolist() == [44, 255]
    assert cast([300, -1], dt.int8).numpy().tolist() == [44, -1]
    assert cast([-1], dt.uint64).numpy().tolist() == [2**64 - 1]
    assert cast(to_tensor([2**64 - 1], dt.uint64), dt.int32).numpy().tolist() == [-1]
    assert cast(2**40, dt.int32).numpy() == 0


def test_floats_round_to_narrower_floats(on_device):
    assert cast([1e6, 65519.0, 65520.0], dt.float16).numpy().tolist() == [INF, 65504.0, INF]
    assert cast([1.00390625, 1.01171875], dt.bfloat16).numpy().astype(float).tolist() == [1.0, 1.015625]
    assert cast(to_tensor([2**53 + 1], dt.int64), dt.float64).numpy().tolist() == [2.0**53]


def test_what_is_not_zero_is_true(on_device):
    assert cast([0.0, 0.3, NAN, -0.0], dt.bool).numpy().tolist() == [False, True, True, False]
    assert cast([0, 256, -3], dt.bool).numpy().tolist() == [False, True, True]


@pytest.mark.parametrize("target", [dt.float32, dt.int32, dt.bool, dt.bfloat16, dt.uint8])
def test_complex_numbers_lose_their_imaginary_part(on_device, target):
    x = to_tensor([1.0 + 2j, 0 + 3j, 0j])
    assert cast(x, target).numpy().astype(float).tolist() == [1, 0, 0]


def test_strings_are_not_cast():
    for value in ("1", to_tensor(["1"])):
        with pytest.raises(UnimplementedError, match="Cast string to int32 is not supported"):
            cast(value, dt.int32)
    with pytest.raises(NotImplementedError, match="Cast bool to string is not supported"):
        cast([True], dt.string)


@pytest.mark.parametrize("target", ["nope", None, [], object()])
def test_casts_to_no_dtype_are_refused(target):
    with pytest.raises(TypeError, match="Cannot convert the argument"):
        cast([1], target)


@pytest.mark.parametrize("value", [None, object(), 2**70, [[1], [2, 3]]])
def test_casts_of_no_tensor_are_refused(value):
    with pytest.raises(SitusError):
        cast(value, dt.int32)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("to_float", dt.float32),
        ("to_double", dt.float64),
        ("to_int32", dt.int32),
        ("to_int64", dt.int64),
        ("to_bfloat16", dt.bfloat16),
        ("to_complex64", dt.complex64),
        ("to_complex128", dt.complex128),
    ],
)
def test_the_old_casts_name_their_dtype(name, target):
    assert getattr(family, name)([1, 2]).dtype is target


# Saturating casts.


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        # Recorded from TensorFlow 2.21.
        ([300.0, -1.0, INF, 1.9], dt.float32, dt.uint8, [255, 0, 255, 1]),
        ([3e9, -3e9, 1.9], dt.float32, dt.int32, [2147483520, -(2**31), 1]),
        ([300, -5], dt.int32, dt.uint8, [255, 0]),
        ([300, -5], dt.int32, dt.int64, [300, -5]),
        ([1e30, -1e30], dt.float32, dt.float16, [65504.0, -65504.0]),
        ([2**31 - 1, 5], dt.int32, dt.float16, [65504.0, 5]),
        ([2**31 - 1, 5], dt.int32, dt.float32, [2.0**31, 5]),
        ([-3], dt.int64, dt.uint64, [0]),
        ([300], dt.uint16, dt.int8, [127]),
        # TensorFlow wraps these around, or has no kernel.
        ([1e20, -1e20, 1.9], dt.float64, dt.int64, [2**63 - 1024, -(2**63), 1]),
        ([1e20, -1e20, 1.9], dt.float32, dt.int64, [2**63 - 2**39, -(2**63), 1]),
        ([2**63 - 1], dt.int64, dt.uint64, [2**63 - 1]),
        ([2**64 - 1], dt.uint64, dt.int64, [2**63 - 1]),
        ([1e5, -1e5], dt.bfloat16, dt.float16, [65280.0, -65280.0]),
        ([6e4, -1.0], dt.float16, dt.uint32, [60000, 0]),
    ],
)
def test_saturate_cast_stops_at_the_ends_of_the_range(on_device, value, source, target, expected):
    options.set_soft(source in WIDE_UNSIGNED)  # they have no GPU kernel
    x = to_tensor(value, source)
    result = saturate_cast(x, target)
    assert result.dtype is target
    assert [v.item() if hasattr(v, "item") else v for v in result.numpy().astype(object)] == expected


def test_saturate_cast_clamps_the_parts_of_complex_numbers(on_device):
    most = float(np.finfo(np.float32).max)
    assert saturate_cast([1e300 - 1e300j], dt.complex64).numpy().tolist() == [complex(most, -most)]
    assert saturate_cast([300 + 1j], dt.uint8).numpy().tolist() == [255]
    assert saturate_cast(3.7, dt.int32).numpy() == 3
    assert saturate_cast(np.array([1e300]), dt.complex64).numpy().tolist() == [complex(most)]


@pytest.mark.parametrize(("value", "target"), [([True], dt.int32), (["a"], dt.int32), ([5], dt.bool), ([5], dt.string)])
def test_saturate_cast_needs_numbers(value, target):
    with pytest.raises(TypeError, match="saturate_cast clamps numbers"):
        saturate_cast(value, target)


@pytest.mark.parametrize("source", by_name(REAL))
@pytest.mark.parametrize("target", by_name(INTEGER))
def test_saturate_cast_never_leaves_the_range(source, target):
    low, high = (v.item() if hasattr(v, "item") else v for v in source.limits)
    ends = to_tensor(np.array([low, high], source.as_numpy_dtype))
    bottom, top = (int(v) for v in saturate_cast(ends, target).numpy())
    assert target.min <= bottom <= max(0, int(low)) or bottom == target.min
    assert top == min(int(high), target.max) or (source.is_floating and 0 < top <= target.max)


# Bit casts.


@pytest.mark.parametrize("source", by_name(NUMERIC))
@pytest.mark.parametrize("target", by_name(NUMERIC))
def test_a_bitcast_there_and_back_changes_nothing(on_device, source, target):
    x = np.arange(32).reshape(2, 16).astype(source.as_numpy_dtype)
    if target.size > source.size:
        x = x[:, : target.size // source.size]
    there = bitcast(to_tensor(x), target)
    assert there.dtype is target
    assert there.device == on_device
    np.testing.assert_array_equal(bitcast(there, source).numpy(), x)


def test_bitcast_shows_the_bits(on_device):
    # Recorded from TensorFlow 2.21.
    assert bitcast([1.0], dt.int32).numpy().tolist() == [1065353216]
    assert bitcast(np.array([1.0]), dt.int32).numpy().tolist() == [[0, 1072693248]]
    assert bitcast([[1, 2], [3, 4]], dt.int64).numpy().tolist() == [8589934593, 17179869187]
    assert bitcast(1, dt.uint8).numpy().tolist() == [1, 0, 0, 0]
    assert bitcast(1.5, dt.int32).numpy() == 1069547520
    assert bitcast(to_tensor([1.0], dt.bfloat16), dt.uint16).numpy().tolist() == [16256]
    assert bitcast([[1.0, 2.0]], dt.complex64).numpy().tolist() == [1 + 2j]
    assert bitcast(np.complex64([1 + 2j]), dt.float32).numpy().tolist() == [[1, 2]]


def test_bitcast_of_nothing_has_the_shape_of_something(on_device):
    assert bitcast(np.zeros((0, 2), np.float32), dt.int64).shape == [0]
    assert bitcast(np.zeros((2, 0), np.float32), dt.int16).shape == [2, 0, 2]


def test_bitcast_takes_views(on_device):
    x = to_tensor(np.arange(6, dtype=np.int32))
    odd, turned = to_tensor([0, 0]), to_tensor(np.zeros((2, 3), np.int32))
    odd._value, turned._value = x._value[1:3], x._value.reshape(3, 2).mT
    assert bitcast(odd, dt.int64).numpy() == 1 + 2 * 2**32
    np.testing.assert_array_equal(bitcast(turned, dt.uint32).numpy(), [[0, 2, 4], [1, 3, 5]])
    assert bitcast(turned, dt.int16).shape == [2, 3, 2]


@pytest.mark.parametrize("shape", [(), (3,), (1,), (2, 3), (2, 0)])
def test_bitcast_to_wider_elements_needs_enough_narrow_ones(shape):
    with pytest.raises(InvalidArgumentError, match=r"Cannot bitcast .* the last dimension must be 2"):
        bitcast(np.zeros(shape, np.float32), dt.int64)


@pytest.mark.parametrize(("value", "target"), [([True], dt.uint8), (["a"], dt.uint8), ([1], dt.bool), ([1], dt.string)])
def test_bitcast_needs_numbers(value, target):
    with pytest.raises(InvalidArgumentError, match="is not in the list of allowed values"):
        bitcast(to_tensor(value), target)


# Complex numbers.


@pytest.mark.parametrize("part", [dt.float32, dt.float64])
def test_complex_numbers_are_made_of_parts_and_fall_apart_again(on_device, part):
    whole = dt.complex64 if part is dt.float32 else dt.complex128
    x, y = to_tensor([1.0, 2.0], part), to_tensor([[3.0], [4.0]], part)
    made = family.complex(x, y)
    assert (made.dtype, made.device) == (whole, on_device)
    np.testing.assert_array_equal(made.numpy(), [[1 + 3j, 2 + 3j], [1 + 4j, 2 + 4j]])
    for function, expected in [(real, [[1, 2], [1, 2]]), (imag, [[3, 3], [4, 4]])]:
        result = function(made)
        assert (result.dtype, result.device) == (part, on_device)
        np.testing.assert_array_equal(result.numpy(), expected)


def test_complex_takes_python_numbers_scalars_and_empty_tensors(on_device):
    assert family.complex(1.0, 2.0).dtype is dt.complex64
    assert family.complex(1.0, to_tensor([2.0], dt.float64)).numpy().tolist() == [1 + 2j]
    assert family.complex(np.zeros((0, 2)), 1.0).shape == [0, 2]


def test_complex_refuses_parts_that_do_not_match():
    with pytest.raises(TypeError, match="incorrect types: int32 int32"):
        family.complex(1, 2)
    with pytest.raises(TypeError, match="incorrect types: float16 float16"):
        family.complex(to_tensor([1.0], dt.float16), to_tensor([1.0], dt.float16))
    with pytest.raises(TypeError, match="expected to be a float tensor but is a double"):
        family.complex(to_tensor([1.0]), to_tensor([1.0], dt.float64))
    with pytest.raises(InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs\. \[3\]"):
        family.complex([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("dtype", by_name(REAL))
def test_real_numbers_are_their_own_real_part(on_device, dtype):
    x = to_tensor(np.array([1, 2]).astype(dtype.as_numpy_dtype))
    assert real(x).dtype is dtype
    assert real(x).numpy().tolist() == [1, 2]
    assert imag(x).dtype is dtype
    assert imag(x).numpy().tolist() == [0, 0]


@pytest.mark.parametrize("value", [[True], ["a"]])
def test_only_numbers_have_a_real_part(value):
    with pytest.raises(TypeError, match=r"'T' of .* is not in the list"):
        real(to_tensor(value))


def test_parts_of_scalars_are_scalars(on_device):
    for dtype in by_name(COMPLEX):
        assert real(to_tensor(1 + 2j, dtype)).numpy() == 1
        assert imag(to_tensor(1 + 2j, dtype)).numpy() == 2
    assert real(2.5).numpy() == 2.5


def test_the_fast_path_gives_the_same_as_the_general_one(fast):
    x = to_tensor([1.9, -1.9])
    for _ in range(3):
        assert cast(x, dt.int32).numpy().tolist() == [1, -1]
        assert cast(x, dt.int8).dtype is dt.int8
        with pytest.raises(DTypeError):
            saturate_cast([True], dt.int8)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from(by_name(INTEGER)))
def test_integer_casts_equal_numpy(values, target):
    x = np.array(values, np.int64)
    np.testing.assert_array_equal(cast(x, target).numpy(), x.astype(target.as_numpy_dtype))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1), st.sampled_from(by_name(FLOATING)))
def test_float_casts_equal_numpy(values, target):
    x = np.float32(values)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(cast(x, target).numpy(), x.astype(target.as_numpy_dtype))
