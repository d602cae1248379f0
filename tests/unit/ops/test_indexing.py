"""Parts of tensors, against NumPy's indexing and texts recorded from TensorFlow 2.21, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import indexing
from situs._src.ops.array import identity
from situs._src.ops.indexing import getitem, strided_slice
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
DTYPES = sorted(FIXED, key=lambda dtype: dtype.name)
KEYS = [0, -1, slice(1, 3), slice(None, None, -1), ..., None, (..., 0), (0, 1), (slice(None), slice(2, None, -2)), ()]
VALID = "Only integers, slices .* are valid indices, got "


# Python's indexing.

entries = st.one_of(
    st.integers(-5, 5),
    st.none(),
    st.builds(
        slice,
        st.none() | st.integers(-6, 6),
        st.none() | st.integers(-6, 6),
        st.none() | st.integers(-3, 3).filter(bool),
    ),
)


@st.composite
def keys(draw):
    key = draw(st.lists(entries, max_size=4))
    if draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), ...)
    return tuple(key)


@given(keys())
def test_indexing_equals_numpy(key):
    try:
        expected = CUBE[key]
    except IndexError:
        with pytest.raises(InvalidArgumentError, match=r"out of bounds|Index out of range"):
            getitem(to_tensor(CUBE), key)
    else:
        check(getitem(to_tensor(CUBE), key), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_elements_of_every_dtype_can_be_indexed(on_device, dtype):
    x = (np.arange(6) % (2 if dtype is dt.bool else 100)).astype(dtype.as_numpy_dtype).reshape(2, 3)
    for key in KEYS:
        result = getitem(to_tensor(x), key)
        assert result.dtype is dtype
        check(result, x[key], on_device)


def test_strings_can_be_indexed_on_the_cpu():
    words = np.array([[b"a", b"b", b"c"], [b"d", b"", b"f"]], object)
    for key in KEYS:
        check(getitem(to_tensor(words), key), words[key])
    assert getitem(to_tensor(["a", "b"]), 1).numpy() == b"b"
    check(getitem(to_tensor(words), np.array([False, True])), words[1:])


@pytest.mark.parametrize(
    "key",
    [
        np.int64(1),
        np.uint8(1),
        np.array(1),
        to_tensor(1),
        to_tensor(np.int64(1)),
        to_tensor(np.int16(1)),
        slice(to_tensor(1), to_tensor(np.int64(2))),
        slice(np.int32(1), np.array(2)),
        [1],
        (to_tensor(1), to_tensor(-1)),
    ],
)
def test_integers_of_an_index_may_be_arrays_and_tensors(on_device, key):
    expected = X[1, -1] if isinstance(key, tuple) else X[1:2] if isinstance(key, slice) else X[1]
    check(getitem(to_tensor(X), key), expected)


def test_a_tensor_on_a_device_can_steer_an_index(on_device):
    check(getitem(identity(X), identity(1)), X[1], on_device)


@pytest.mark.parametrize("key", [slice(10, 20), slice(-10, 1), slice(5, 1), slice(0, 2, -1), slice(None, 2**70)])
def test_bounds_of_slices_are_clamped(on_device, key):
    check(getitem(to_tensor(X), key), X[key])


def test_masks_pick_elements(on_device):
    tensor = to_tensor(X)
    check(getitem(tensor, X > 2), X[X > 2], on_device)
    check(getitem(tensor, to_tensor(np.array([True, False]))), X[:1])
    with pytest.raises(InvalidArgumentError, match="mask cannot be scalar"):
        getitem(tensor, True)
    with pytest.raises(InvalidArgumentError, match=r"Shapes \(2,\) and \(3,\) are incompatible"):
        getitem(tensor, np.array([True, False, True]))


def test_parts_share_memory_unless_a_stride_is_negative(on_device):
    tensor = identity(CUBE)
    for key in (0, slice(1, None), (..., 0), (None, slice(None, None, 2))):
        assert memory(getitem(tensor, key)) == memory(tensor)
    assert memory(getitem(tensor, slice(None, None, -1))) != memory(tensor)


def memory(tensor):
    return tensor._value.untyped_storage().data_ptr()


@pytest.mark.parametrize(
    ("shape", "key", "text"),
    [
        ((2, 3), 5, "slice index 5 of dimension 0 out of bounds"),
        ((2, 3), -3, "slice index -1 of dimension 0 out of bounds"),
        ((2, 3), (0, 5), "slice index 5 of dimension 1 out of bounds"),
        ((2, 3), (..., 5), "slice index 5 of dimension 1 out of bounds"),
        ((2, 3), 2**70, "out of bounds"),
        ((0, 3), 0, "slice index 0 of dimension 0 out of bounds"),
        ((2, 3), (0, 0, 0), "Index out of range using input dim 2; input has only 2 dims"),
        ((2, 3), (slice(1), slice(1), slice(1)), "Index out of range using input dim 2"),
        ((2, 3), (slice(None, None, -1),) * 3, "Index out of range using input dim 2"),
        ((), 0, "Attempting to slice scalar input"),
        ((2, 3), slice(None, None, 0), r"strides\[0\] must be non-zero"),
        ((2, 3), (..., ...), "Multiple ellipses in slice spec not allowed"),
    ],
)
@pytest.mark.parametrize("words", [False, True])
def test_an_index_that_does_not_fit_says_why(shape, key, text, words):
    x = np.zeros(shape).astype("S" if words else np.float32)
    with pytest.raises(InvalidArgumentError, match=text):
        getitem(to_tensor(x), key)


@pytest.mark.parametrize(
    "key",
    [
        "a",
        1.5,
        [True, False],
        np.array([0, 1]),
        np.float32(1),
        (0, np.array([True, False, True])),
        (0, True),
        slice(0.5, 1),
        slice(0, "a"),
        {},
    ],
)
def test_what_is_no_index_is_a_type_error(on_device, key):
    with pytest.raises(DTypeError, match=VALID):
        getitem(to_tensor(X), key)


@pytest.mark.parametrize("key", [1.0, [0, 1], np.uint8(0)])
def test_tensors_that_are_no_index_are_a_type_error(on_device, key):
    for wrong in (to_tensor(key), (0, to_tensor(key)), slice(to_tensor(key), None)):
        with pytest.raises(DTypeError, match=VALID):
            getitem(to_tensor(X), wrong)


@pytest.mark.usefixtures("fast")
def test_remembered_steps_give_the_same_results_and_errors(on_device):
    with scope.device(on_device):
        tensor = to_tensor(X)
        for _ in range(3):
            for key in KEYS:
                check(getitem(tensor, key), X[key], on_device)
            with pytest.raises(InvalidArgumentError, match="slice index 5 of dimension 0 out of bounds"):
                getitem(tensor, 5)


# StridedSlice.


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks", "expected"),
    [  # recorded from TensorFlow
        ([0, 0], [2, 2], None, {}, X[:2, :2]),
        ([0], [2], [1], {}, X),
        ([1], [0], [-1], {}, X[1:0:-1]),
        ([1], [5], None, {"shrink_axis_mask": 1}, X[1]),
        ([-1], [0], None, {"shrink_axis_mask": 1}, X[1]),
        ([1, 0], [2, 3], None, {"begin_mask": 2, "end_mask": 1}, X[1:]),
        ([0, 1], [0, 2], None, {"ellipsis_mask": 1}, X[:, 1:2]),
        ([0, 0], [0, 2], None, {"new_axis_mask": 1}, X[None]),
        ([0], [1], None, {"new_axis_mask": 1, "shrink_axis_mask": 1}, X[None]),
        ([0, 0], [1, 1], None, {"ellipsis_mask": 1, "shrink_axis_mask": 1}, X[:, :1]),
        ([], [], [], {}, X),
    ],
)
def test_strided_slice_reads_its_masks(on_device, begin, end, strides, masks, expected):
    check(strided_slice(X, begin, end, strides, **masks), expected, on_device)


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks", "text"),
    [
        ([0, 0], [2, 2], [1], {}, r"1D equal size tensors, but got shapes \[2\], \[2\], and \[1\] instead"),
        ([0], [2, 2], None, {}, "1D equal size tensors"),
        ([[0]], [[1]], None, {}, "1D equal size tensors"),
        (0, 1, None, {}, "1D equal size tensors"),
        ([0, 0, 0], [1, 1, 1], None, {}, "Index out of range using input dim 2"),
        ([1], [0], [0], {}, r"strides\[0\] must be non-zero"),
        ([7], [5], None, {"shrink_axis_mask": 1}, "slice index 7 of dimension 0 out of bounds"),
        ([5], [1], None, {"shrink_axis_mask": 1, "begin_mask": 1}, "slice index 5 of dimension 0 out of bounds"),
        ([1], [0], [-1], {"shrink_axis_mask": 1}, "only stride 1 allowed on non-range indexing"),
        ([0, 1], [0, 2], None, {"ellipsis_mask": 3}, "Multiple ellipses"),
        ([0.5], [2], None, {}, "must be a single integer"),
        ([0.5], [2], None, {"shrink_axis_mask": 1}, "must be a single integer"),
    ],
)
def test_strided_slice_refuses_what_does_not_fit(on_device, begin, end, strides, masks, text):
    with pytest.raises(InvalidArgumentError, match=text):
        strided_slice(X, begin, end, strides, **masks)


# Slice.


@given(st.tuples(st.integers(0, 2), st.integers(0, 3)), st.tuples(st.integers(-1, 2), st.integers(-1, 3)))
def test_slice_takes_a_begin_and_a_size(begin, size):
    if any(b + s > n for b, s, n in zip(begin, size, X.shape, strict=True)):
        with pytest.raises(InvalidArgumentError, match=r"Expected size\[\d\] in \[0, \d\], but got"):
            indexing.slice(X, begin, size)
    else:
        ends = [n if s == -1 else b + s for b, s, n in zip(begin, size, X.shape, strict=True)]
        check(indexing.slice(X, begin, size), X[begin[0] : ends[0], begin[1] : ends[1]])


@pytest.mark.parametrize(
    ("begin", "size", "text"),
    [
        ([0], [1], r"1-D tensors of size 2, but got shapes \[1\] and \[1\] instead"),
        (0, 1, r"1-D tensors of size 2, but got shapes \[\] and \[\] instead"),
        ([0, 0], [1], r"shapes \[2\] and \[1\]"),
        ([-1, 1], [1, 1], r"Expected begin\[0\] in \[0, 2\], but got -1"),
        ([3, 1], [1, 1], r"Expected begin\[0\] in \[0, 2\], but got 3"),
        ([0, 1], [-2, 1], r"Expected size\[0\] in \[0, 2\], but got -2"),
        ([0, 0.5], [1, 1], "must be a single integer"),
    ],
)
def test_slice_refuses_what_lies_outside(on_device, begin, size, text):
    with pytest.raises(InvalidArgumentError, match=text):
        indexing.slice(X, begin, size)


def test_slice_of_strings_and_scalars():
    check(indexing.slice(["a", "b", "c"], [1], [1]), [b"b"])
    check(indexing.slice(np.array(["a"]), [0], [0]), [])
    check(indexing.slice(5, [], []), 5)


# The rules that graphs are built with.


@pytest.mark.parametrize(
    ("shape", "begin", "end", "strides", "masks", "expected"),
    [
        ([None, 3], (0, 0), (2, 2), (1, 1), {}, [None, 2]),
        ([None, 3], (5,), (6,), (1,), {"shrink_axis_mask": 1}, [3]),
        ([4, 3], (None,), (None,), (1,), {}, [None, 3]),
        ([4, 3], (None, 0), (None, 1), (1, 1), {"shrink_axis_mask": 1}, [1]),
        ([4, 3], (0, None), (4, None), (1, None), {"ellipsis_mask": 1}, [4, None]),
        ([4, None, 3], (0, 0), (0, 1), (1, 2), {"ellipsis_mask": 1}, [4, None, 1]),
        ([4, 3], None, (1,), (1,), {}, None),
        (None, (0,), (1,), (1,), {}, None),
    ],
)
def test_strided_slice_rule_takes_what_is_known(shape, begin, end, strides, masks, expected):
    found = infer_shapes(find_op("StridedSlice"), (TensorShape(shape), begin, end, strides), {**ZERO, **masks})
    assert found == [TensorShape(expected)]


ZERO = find_op("StridedSlice").attrs


def test_slice_rule_takes_what_is_known():
    for inputs, expected in (
        (([None, 3], (1, 1), (2, -1)), [2, 2]),
        (([None, 3], (1, 1), (-1, 1)), [None, 1]),
        (([2, 3], None, (-1, 1)), [None, None]),
        ((None, (1, 1), (-1, 1)), None),
    ):
        found = infer_shapes(find_op("Slice"), (TensorShape(inputs[0]), *inputs[1:]), {})
        assert found == [TensorShape(expected)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "key",
    [
        slice(None, None, 2**40),
        slice(None, None, 2**70),
        slice(1, None, 2**63 - 1),
        slice(None, None, -(2**63)),
        slice(1, 0, -(2**40)),
        slice(-(2**63), 2**63 - 1),
        slice(-(2**70), 2**70),
        (slice(None), slice(2**70, None)),
        (0, slice(None, None, 2**40), slice(None, None, -(2**40))),
    ],
)
def test_slices_far_beyond_the_tensor_are_pythons(on_device, key):
    clip = [
        slice(*(None if v is None else max(-99, min(v, 99)) for v in (k.start, k.stop, k.step)))
        if isinstance(k, slice)
        else k
        for k in (key if isinstance(key, tuple) else (key,))
    ]
    check(getitem(to_tensor(CUBE), key), CUBE[tuple(clip)])


def test_variables_are_indices_in_functions_too():
    place, begin = tf.Variable(1), tf.Variable([0, 1])
    for call in (lambda part: part(), lambda part: tf.function(part)()):
        assert call(lambda: tf.constant(X)[place]).numpy().tolist() == X[1].tolist()
        assert call(lambda: tf.constant(X)[:, place:]).numpy().tolist() == X[:, 1:].tolist()
        assert call(lambda: strided_slice(X, begin, [2, 3])).numpy().tolist() == X[0:2, 1:3].tolist()


def test_symbolic_tensors_that_are_no_index_are_a_type_error():
    with v1.Graph().as_default():
        for bad in (v1.placeholder(dt.float32, []), v1.placeholder(dt.int32, [2]), v1.placeholder(dt.string, [])):
            with pytest.raises(DTypeError, match=VALID):
                tf.constant(X)[bad]
            with pytest.raises(DTypeError, match=VALID):
                tf.constant(X)[bad:]
