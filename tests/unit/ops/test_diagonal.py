"""Diagonals of matrices, against recorded TensorFlow 2.21 results, on every type of device."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import diagonal as d
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError, ResourceExhaustedError

M = np.arange(12, dtype=np.int32).reshape(3, 4)
DTYPES = sorted(FIXED, key=str)
BAND = {"align": "RIGHT_LEFT"}


# Matrices from diagonals. Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("diagonal", "options", "expected"),
    [
        ([1, 2, 3], {}, [[1, 0, 0], [0, 2, 0], [0, 0, 3]]),
        ([1, 2], {"k": 1}, [[0, 1, 0], [0, 0, 2], [0, 0, 0]]),
        ([1, 2], {"k": -1}, [[0, 0, 0], [1, 0, 0], [0, 2, 0]]),
        ([1, 2], {"padding_value": 9}, [[1, 9], [9, 2]]),
        ([1, 2], {"num_rows": 3}, [[1, 0], [0, 2], [0, 0]]),
        ([1, 2], {"num_cols": 3}, [[1, 0, 0], [0, 2, 0]]),
        ([1, 2], {"k": 1, "num_rows": 2, "num_cols": 3}, [[0, 1, 0], [0, 0, 2]]),
        ([[1, 2], [3, 4]], {}, [[[1, 0], [0, 2]], [[3, 0], [0, 4]]]),
        ([[0, 8, 9], [1, 2, 3], [4, 5, 0]], {"k": (-1, 1)}, [[1, 8, 0], [4, 2, 9], [0, 5, 3]]),
        ([[8, 9, 0], [1, 2, 3], [4, 5, 0]], {"k": (-1, 1), "align": "LEFT_LEFT"}, [[1, 8, 0], [4, 2, 9], [0, 5, 3]]),
        ([[8, 9, 0], [1, 2, 3], [0, 4, 5]], {"k": (-1, 1), "align": "LEFT_RIGHT"}, [[1, 8, 0], [4, 2, 9], [0, 5, 3]]),
        (
            [[1, 2, 3], [4, 5, 0]],
            {"k": (-1, 0), "num_rows": 4, "num_cols": 3},
            [[1, 0, 0], [4, 2, 0], [0, 5, 3], [0] * 3],
        ),
    ],
)
def test_diag(on_device, diagonal, options, expected):
    result = d.diag(diagonal, **options)
    assert (result.numpy().tolist(), result.device) == (expected, on_device)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.name)
def test_every_dtype_has_diagonals(dtype):
    values = np.array([1, 0, 1])
    matrix = d.diag(to_tensor(values.astype(dtype.as_numpy_dtype), dtype))
    assert matrix.dtype is dtype
    np.testing.assert_array_equal(matrix.numpy().astype(complex), np.diag(values))
    np.testing.assert_array_equal(d.diag_part(matrix).numpy().astype(complex), values)
    np.testing.assert_array_equal(d.band_part(matrix, 0, 0).numpy(), matrix.numpy())
    np.testing.assert_array_equal(
        d.set_diag(matrix, to_tensor([0, 0, 0] if not dtype.is_bool else [False] * 3, dtype)).numpy().astype(complex),
        np.zeros((3, 3)),
    )
    assert d.eye(2, 3, dtype=dtype).dtype is dtype


def test_diagonals_of_nothing(on_device):
    assert d.diag(np.zeros(0)).shape == (0, 0)
    assert d.diag(np.zeros((0, 2))).shape == (0, 2, 2)
    assert d.diag_part(np.zeros((0, 3))).shape == (0,)
    assert d.diag_part(np.zeros((2, 0, 0))).shape == (2, 0)
    assert d.set_diag(np.zeros((2, 0)), np.zeros(0)).shape == (2, 0)
    assert d.band_part(np.zeros((2, 0)), 0, 0).shape == (2, 0)
    assert d.tensor_diag(np.zeros(0)).shape == (0, 0)
    assert d.eye(0).shape == (0, 0)


@pytest.mark.parametrize(
    ("diagonal", "options", "message"),
    [
        (1, {}, r"at least 1-dim, received shape: \[\]"),
        ([1, 2], {"k": (-1, 1)}, r"at least 2-dim, received shape: \[2\]"),
        ([[1, 2], [3, 4]], {"k": (-1, 1)}, "number of diagonals provided"),
        ([[1, 2], [3, 4]], {"k": (1, -1)}, "must not be larger than upper_diag_index: 1 > -1"),
        ([1, 2], {"num_rows": 1}, "number of rows is too small"),
        ([1, 2], {"num_cols": 1}, "number of columns is too small"),
        ([1, 2], {"num_rows": 5, "num_cols": 5}, "not consistent"),
        ([1, 2], {"align": "X"}, "'align' of 'X' is not in the list"),
        ([1, 2], {"k": 1.5}, "k must be an integer"),
        ([1, 2], {"padding_value": 1.5}, "padding_value must be a number"),
        ([1, 2], {"padding_value": "x"}, "padding_value must be a number"),
        (["a"], {}, "not in the list of allowed values"),
    ],
)
def test_diag_refuses_what_makes_no_matrix(on_device, diagonal, options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        d.diag(diagonal, **options)


# Diagonals of matrices. Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 5, 10]),
        ({"k": 1}, [1, 6, 11]),
        ({"k": -1}, [4, 9]),
        ({"k": 3}, [3]),
        ({"k": (1, 1)}, [1, 6, 11]),
        ({"k": (-1, 1)}, [[1, 6, 11], [0, 5, 10], [4, 9, 0]]),
        (
            {"k": (-2, 3), "padding_value": 99},
            [[99, 99, 3], [99, 2, 7], [1, 6, 11], [0, 5, 10], [4, 9, 99], [8, 99, 99]],
        ),
        (
            {"k": (-2, 3), "padding_value": 99, "align": "LEFT_RIGHT"},
            [[3, 99, 99], [2, 7, 99], [1, 6, 11], [0, 5, 10], [99, 4, 9], [99, 99, 8]],
        ),
    ],
)
def test_diag_part(on_device, options, expected):
    assert d.diag_part(M, **options).numpy().tolist() == expected
    assert d.diag_part(np.stack([M, M]), **options).numpy().tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("x", "k", "message"),
    [
        (M, 4, "lower_diag_index is out of bound: 4. It must be between -3 and 4"),
        (M, -3, "lower_diag_index is out of bound: -3"),
        (M, (0, 4), "upper_diag_index is out of bound: 4"),
        (M, (1, 0), "must not be larger"),
        ([1, 2], 0, r"at least 2-dim, received shape: \[2\]"),
        (M, (0, 1, 2), "k must be an integer or a pair"),
    ],
)
def test_bad_diagonals_are_refused(on_device, x, k, message):
    with pytest.raises(InvalidArgumentError, match=message):
        d.diag_part(x, k=k)
    with pytest.raises(InvalidArgumentError, match=message):
        d.set_diag(x, [0, 0, 0], k=k)


def test_set_diag(on_device):
    matrix = to_tensor(M)
    assert d.set_diag(matrix, [-1, -2, -3]).numpy().tolist() == [[-1, 1, 2, 3], [4, -2, 6, 7], [8, 9, -3, 11]]
    assert d.set_diag(matrix, [-1, -2, -3], k=1).numpy().tolist() == [[0, -1, 2, 3], [4, 5, -2, 7], [8, 9, 10, -3]]
    band = d.set_diag(matrix, [[-1, -2, -3], [-4, -5, -6], [-7, -8, 0]], k=(-1, 1))
    assert band.numpy().tolist() == [[-4, -1, 2, 3], [-7, -5, -2, 7], [8, -8, -6, -3]]
    np.testing.assert_array_equal(matrix.numpy(), M)
    ones = d.eye(2, batch_shape=[3])  # one matrix seen three times
    assert d.set_diag(ones, [[2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]).numpy()[:, 0, 0].tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("diagonal", "message"), [([-1, -2], r"Expected diagonal shape: \[3\]"), (1, "at least 1-dim")]
)
def test_set_diag_refuses_other_diagonals(on_device, diagonal, message):
    with pytest.raises(InvalidArgumentError, match=message):
        d.set_diag(M, diagonal)


@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_a_band_read_and_set_again_changes_nothing(rows, columns, data):
    low = data.draw(st.integers(1 - rows, columns - 1))
    high = data.draw(st.integers(low, columns - 1))
    align = data.draw(st.sampled_from(d.ALIGNMENTS))
    x = to_tensor(np.arange(rows * columns).reshape(rows, columns))
    band = d.diag_part(x, k=(low, high), align=align)
    np.testing.assert_array_equal(d.set_diag(x, band, k=(low, high), align=align).numpy(), x.numpy())
    kept = d.set_diag(to_tensor(np.zeros((rows, columns), int)), band, k=(low, high), align=align).numpy()
    np.testing.assert_array_equal(kept, np.triu(np.tril(x.numpy(), high), low))


# Traces, and tensors as diagonals.


def test_trace(on_device):
    assert int(d.trace(M)) == 15
    assert d.trace(np.stack([M, -M])).numpy().tolist() == [15, -15]
    with pytest.raises(InvalidArgumentError, match="at least 2-dim"):
        d.trace([1.0])


def test_tensor_diag(on_device):
    assert d.tensor_diag([1, 2]).numpy().tolist() == [[1, 0], [0, 2]]
    x = np.array([[1, 2], [3, 4]])
    spread = d.tensor_diag(x)
    assert spread.shape == (2, 2, 2, 2)
    assert spread.numpy()[1, 0, 1, 0] == 3
    assert spread.numpy().sum() == 10
    np.testing.assert_array_equal(d.tensor_diag_part(spread).numpy(), x)


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (d.tensor_diag, 3, "at least rank 1, got 0"),
        (d.tensor_diag_part, [1, 2], r"even and positive, got shape \[2\]"),
        (d.tensor_diag_part, [[1, 2]], r"\[1,2\]: dimensions 0 and 1 do not match"),
        (d.tensor_diag_part, 1, "even and positive"),
    ],
)
def test_tensors_that_have_no_diagonal_are_refused(on_device, function, x, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function(x)


# Bands.


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (1, 0, [[0, 0, 0, 0], [4, 5, 0, 0], [0, 9, 10, 0]]),
        (-1, 0, np.tril(M)),
        (0, -1, np.triu(M)),
        (-1, -1, M),
        (3, 4, M),
        (-5, 0, np.tril(M)),
    ],
)
def test_band_part(on_device, lower, upper, expected):
    np.testing.assert_array_equal(d.band_part(M, lower, upper).numpy(), expected)
    np.testing.assert_array_equal(d.band_part(np.stack([M, M]), lower, upper).numpy()[1], expected)


def test_what_is_outside_a_band_is_zero_even_if_it_was_nan(on_device):
    assert d.band_part([[1.0, math.nan], [math.inf, 2.0]], 0, 0).numpy().tolist() == [[1.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize(
    ("x", "lower", "upper", "message"),
    [
        (M, 4, 0, r"num_lower must be negative or less or equal to number of rows \(3\) got: 4"),
        (M, 0, 5, r"num_upper must be negative or less or equal to number of columns \(4\) got: 5"),
        (M, 0.5, 0, "num_lower must be a scalar integer"),
        (M, 0, [0, 0], "num_upper must be a scalar integer"),
        ([1, 2], 0, 0, "at least 2-dim"),
    ],
)
def test_bad_bands_are_refused(on_device, x, lower, upper, message):
    with pytest.raises(InvalidArgumentError, match=message):
        d.band_part(x, lower, upper)


# Identities.


def test_eye(on_device):
    assert d.eye(2).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert d.eye(2, 3, dtype=dt.int32).numpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    assert d.eye(1, 2, batch_shape=[2]).numpy().tolist() == [[[1.0, 0.0]], [[1.0, 0.0]]]
    assert d.eye(to_tensor(2), dtype="bool").numpy().tolist() == [[True, False], [False, True]]
    assert d.eye(2).device == on_device


@pytest.mark.parametrize("arguments", [(-1,), (2.0,), ([2],), (2, "a"), (2, 2, [-1])])
def test_eye_needs_sizes(on_device, arguments):
    with pytest.raises(InvalidArgumentError, match="integers of at least"):
        d.eye(*arguments)


def test_eye_has_numbers():
    with pytest.raises(TypeError, match="not in the list of allowed values"):
        d.eye(2, dtype=dt.string)


def test_an_eye_beyond_all_memory_is_refused(on_device):
    with pytest.raises((ResourceExhaustedError, InvalidArgumentError)):
        d.eye(10**9, 10**9)


# Shape rules of graphs, where not everything is known.


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "expected"),
    [
        ("MatrixDiagV3", (TensorShape([None]), 0, -1, -1, 0), BAND, TensorShape([None, None])),
        ("MatrixDiagV3", (TensorShape([3]), None, -1, -1, 0), BAND, UNKNOWN),
        ("MatrixDiagPartV3", (TensorShape([5, None, 3]), 0, 0), BAND, TensorShape([5, None])),
        ("MatrixDiagPartV3", (TensorShape([5, None, 3]), (0, 1), 0), BAND, TensorShape([5, 2, None])),
        ("MatrixBandPart", (TensorShape([None, 3]), None, 0), {}, TensorShape([None, 3])),
        ("Eye", (None, 2, ()), {}, TensorShape([None, 2])),
        ("Eye", (3, 2, None), {}, UNKNOWN),
        ("DiagPart", (TensorShape([None, 3]),), {}, TensorShape([3])),
    ],
)
def test_shape_rules_of_partly_known_shapes(op, inputs, attrs, expected):
    assert infer_shapes(find_op(op), inputs, attrs) == [expected]
