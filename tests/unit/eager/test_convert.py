"""From Python and NumPy values to tensors. Expectations recorded from TensorFlow 2.21 unless said otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.runtime.eager.convert import to_tensor
from situs._src.variables.eager import Variable
from situs.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, dt.int32, ()),
        (1.0, dt.float32, ()),
        (True, dt.bool, ()),
        (1 + 2j, dt.complex128, ()),
        ("a", dt.string, ()),
        (b"a", dt.string, ()),
        ([1, 2], dt.int32, (2,)),
        ([1, 2.5], dt.float32, (2,)),
        ([1, True], dt.int32, (2,)),
        ([1.0, True], dt.float32, (2,)),
        ([], dt.float32, (0,)),
        ([[]], dt.float32, (1, 0)),
        (((1, 2), (3, 4)), dt.int32, (2, 2)),
        (range(3), dt.int32, (3,)),
        (2**31, dt.int64, ()),
        ([1, 2**40], dt.int64, (2,)),
        (-(2**31), dt.int32, ()),
        (np.float64(1.0), dt.float64, ()),
        ([np.float64(1.0)], dt.float64, (1,)),
        (np.arange(3), dt.int64, (3,)),
        (np.array(["a", "b"]), dt.string, (2,)),
        ([b"a", "b"], dt.string, (2,)),
        (TensorShape([2, 3]), dt.int32, (2,)),
        (torch.tensor([1.5]), dt.float32, (1,)),
        (torch.tensor([1.5], dtype=torch.bfloat16), dt.bfloat16, (1,)),
        ([np.array([1, 2], np.int8), np.array([3, 4], np.int8)], dt.int8, (2, 2)),
    ],
)
def test_values_have_a_natural_dtype(value, dtype, shape):
    tensor = to_tensor(value)
    assert tensor.dtype is dtype
    assert tensor.shape == shape


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([1, 2], dt.float32, [1.0, 2.0]),
        ([True], dt.float32, [1.0]),
        ([], dt.int32, []),
        ([1, 2], dt.uint64, [1, 2]),
        (np.array([1.7]), dt.int32, [1]),  # an array asked for as integers is cut, as in TensorFlow
        ([1.5], dt.bfloat16, [1.5]),
        (1, dt.complex64, 1 + 0j),
        (2**63, dt.uint64, 2**63),
        ([255], dt.uint8, [255]),
    ],
)
def test_values_take_the_dtype_asked_for(value, dtype, expected):
    tensor = to_tensor(value, dtype)
    assert tensor.dtype is dtype
    np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1.5], dt.int32),
        (1, dt.string),
        (1.0, dt.bool),
        (1, dt.bool),
        ("a", dt.float32),
        (1j, dt.float32),
        (np.array([1j]), dt.float32),
        (np.array(["a"]), dt.int32),
        (300, dt.uint8),  # TensorFlow wraps it around; Situs does not
        (-1, dt.uint8),
        ([1, 2**40], dt.int32),
        (np.array(["2020-01-01"], np.datetime64), None),
    ],
)
def test_what_does_not_fit_is_a_type_error(value, dtype):
    with pytest.raises(TypeError):
        to_tensor(value, dtype)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, "a"], "mixed types"),
        ([[1, 2], [3]], "non-rectangular"),
        ([[1], 2], "non-rectangular"),
        ([["a"], ["b", "c"]], "non-rectangular"),
        (2**70, "out-of-range integer"),
        (None, r"Attempt to convert a value \(None\) with an unsupported type"),
        ([1, None], "unsupported type"),
        (object(), "unsupported type"),
        ({"a": 1}, "unsupported type"),
        (tf.Variable, "unsupported type"),
        (TensorShape([None]), "partially known"),
    ],
)
def test_what_has_no_tensor_is_a_value_error(value, message):
    with pytest.raises(ValueError, match=message):
        to_tensor(value)


def test_a_tensor_of_another_dtype_is_refused_with_the_cast_to_write():
    with pytest.raises(
        DTypeError, match=r"requested dtype int32 for Tensor with dtype float32.*tf.cast\(tensor, tf.int32"
    ):
        to_tensor(to_tensor([1.0]), dt.int32)


def test_lists_of_tensors_are_packed():
    packed = to_tensor([to_tensor([1.0, 2.0]), to_tensor([3.0, 4.0])])
    np.testing.assert_array_equal(packed.numpy(), [[1, 2], [3, 4]])
    assert to_tensor([to_tensor(1), 2]).numpy().tolist() == [1, 2]


def test_a_tensor_does_not_see_later_changes_of_the_array_it_was_made_of():
    array = np.zeros(3)
    tensor = to_tensor(array)
    array[0] = 7
    assert tensor.numpy()[0] == 0


@pytest.mark.parametrize(
    "array", [np.arange(6)[::-1], np.arange(6).reshape(2, 3).T, np.arange(3, dtype=">i4"), np.zeros((0, 2))]
)
def test_arrays_of_any_layout_are_taken(array):
    np.testing.assert_array_equal(to_tensor(array).numpy(), array)


def test_bad_strings_say_what_was_found():
    with pytest.raises(InvalidArgumentError, match="string tensor holds str or bytes"):
        to_tensor(np.array([1, "a"], dtype=object))


@given(
    hnp.arrays(
        st.sampled_from(
            ["bool", "int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float64", "complex64"]
        ),
        hnp.array_shapes(min_dims=0, min_side=0),
    )
)
def test_numpy_to_tensor_and_back_is_the_same_array(array):
    back = np.asarray(to_tensor(array).numpy())
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


nested = st.recursive(
    st.floats(allow_nan=False, width=32) | st.integers(-100, 100), lambda x: st.lists(x, max_size=3), max_leaves=8
)


@given(nested)
def test_any_nesting_of_numbers_converts_or_is_refused_cleanly(value):
    try:
        expected = np.array(value, dtype=np.float32)
    except ValueError:
        with pytest.raises(InvalidArgumentError):
            to_tensor(value)
    else:
        np.testing.assert_array_equal(np.asarray(to_tensor(value).numpy(), np.float32), expected)


# Lists of NumPy values, tensors and Python numbers together: nothing is cut off to fit the first of them.


@pytest.mark.parametrize(
    ("value", "expected", "dtype"),
    [
        ([np.int64(1), 2.5], [1.0, 2.5], dt.float32),
        ([2.5, np.int64(1)], [2.5, 1.0], dt.float32),
        ([np.int32(1), np.float64(1.5)], [1.0, 1.5], dt.float64),
        ([np.array([1, 2]), [3.5, 4]], [[1.0, 2.0], [3.5, 4.0]], dt.float32),
        ([np.bool_(True), 2], [1, 2], dt.int32),
        ([np.float32(1.5), 2j], [1.5, 2j], dt.complex128),
        ([np.float16(1.5), 2.5], [1.5, 2.5], dt.float16),
        ([np.int8(1), 2], [1, 2], dt.int8),
        ([Variable(1.0), 2], [1.0, 2.0], dt.float32),
        ([1, to_tensor(2.5)], [1.0, 2.5], dt.float32),
        ([to_tensor("a"), "b"], [b"a", b"b"], dt.string),
        ([np.array("a"), b"b"], [b"a", b"b"], dt.string),
    ],
)
def test_leaves_of_several_kinds_take_a_dtype_that_holds_them_all(value, expected, dtype):
    made = to_tensor(value)
    assert made.dtype is dtype
    assert made.numpy().tolist() == expected


def contains_itself():
    value = [1]
    value.append(value)
    return value


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


class Silent:
    def __repr__(self):
        raise KeyError


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ([to_tensor(1), 2.5], DTypeError, r"requested dtype float32 for Tensor with dtype int32.*Use tf.cast"),
        ([to_tensor(1), to_tensor(2.5)], DTypeError, "requested dtype float32 for Tensor with dtype int32"),
        ([to_tensor("a"), 1], InvalidArgumentError, "mixed types"),
        (contains_itself(), InvalidArgumentError, "contains itself"),
        (nested(100_000), InvalidArgumentError, "nested without end"),
        (nested(70), InvalidArgumentError, "nested 70 levels deep to Tensor; 64 are the most"),
        ("ab\ud800", InvalidArgumentError, "half of a surrogate pair at position 2"),
        (["\ud800"], InvalidArgumentError, "surrogate"),
        (int, InvalidArgumentError, "unsupported type"),
        ([bool], InvalidArgumentError, "unsupported type"),
        (Silent(), InvalidArgumentError, r"a value \(a Silent\) with an unsupported type"),
        pytest.param(10**5000, DTypeError, "Got a int, which does not fit int32", id="5000 digits"),
        (range(10**15), ResourceExhaustedError, "OOM when making a tensor of range"),
    ],
)
def test_values_that_have_no_tensor_are_refused_in_our_words(value, kind, message):
    with pytest.raises(kind, match=message):
        to_tensor(value)


def test_an_integer_too_large_for_bfloat16_is_refused():
    with pytest.raises(DTypeError, match="does not fit bfloat16"):
        to_tensor(2**70, dt.bfloat16)
