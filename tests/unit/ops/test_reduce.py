"""Reductions, against NumPy and recorded TensorFlow 2.21 results, on every type of device."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, INTEGER, NUMERIC, WIDE_UNSIGNED
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import reduce as r
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
NATIVE = sorted(NUMERIC - WIDE_UNSIGNED, key=str)
WIDE = sorted(WIDE_UNSIGNED, key=str)
AXES = [None, 0, 1, -1, [0, 2], (-1, 0), [0, 1, 2], [], np.array([1]), [[0], [1]]]
BY_NUMPY = [
    (r.reduce_sum, np.sum),
    (r.reduce_mean, np.mean),
    (r.reduce_prod, np.prod),
    (r.reduce_max, np.max),
    (r.reduce_min, np.min),
    (r.reduce_variance, np.var),
    (r.reduce_std, np.std),
    (r.reduce_euclidean_norm, lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims))),
    (r.reduce_logsumexp, lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis, keepdims=keepdims))),
]


def numpy_axes(axis):
    return axis if axis is None or isinstance(axis, int) else tuple(np.ravel(axis).astype(int).tolist())


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize(("ours", "numpys"), BY_NUMPY)
def test_reductions_equal_numpy_over_every_choice_of_axes(on_device, ours, numpys, axis, keepdims):
    x = X / 4
    result = ours(to_tensor(x), axis, keepdims)
    np.testing.assert_allclose(
        result.numpy(), numpys(x, axis=numpy_axes(axis), keepdims=keepdims), rtol=2e-5, atol=1e-6
    )
    assert result.dtype is dt.float32
    assert result.device == on_device


@pytest.mark.parametrize("axis", [None, 1, [0, 2], []], ids=str)
@pytest.mark.parametrize(("ours", "numpys"), [(r.reduce_all, np.all), (r.reduce_any, np.any)])
def test_all_and_any_equal_numpy(on_device, ours, numpys, axis):
    for x in (X > 0, X > -100, X > 100):
        np.testing.assert_array_equal(ours(x, axis).numpy(), numpys(x, axis=numpy_axes(axis)))


@pytest.mark.parametrize("dtype", NATIVE, ids=lambda d: d.name)
def test_sums_and_products_keep_their_dtype(on_device, dtype):
    x = to_tensor([[1, 2], [3, 4]], dtype)
    assert [r.reduce_sum(x).dtype, r.reduce_prod(x).dtype, r.reduce_mean(x).dtype] == [dtype] * 3
    assert complex(r.reduce_sum(x)) == 10
    np.testing.assert_array_equal(r.reduce_prod(x, 0).numpy(), np.array([3, 8], dtype.as_numpy_dtype))
    assert complex(r.reduce_mean(x)) == (2 if dtype.is_integer else 2.5)


@pytest.mark.parametrize("dtype", WIDE, ids=lambda d: d.name)
def test_wide_unsigned_integers_reduce_on_the_cpu(dtype):
    top = dtype.max
    x = to_tensor([[1, 2], [top, 4]], dtype)
    for function, expected in [
        (r.reduce_sum, [0, 6]),  # wraps around, as in TensorFlow
        (r.reduce_max, [top, 4]),
        (r.reduce_min, [1, 2]),
        (r.reduce_prod, [top, 8]),
        (r.reduce_mean, [(1 + top) // 2 if dtype is not dt.uint64 else 0, 3]),
    ]:
        result = function(x, 0)
        assert result.dtype is dtype
        assert result.numpy().tolist() == expected
    assert r.reduce_euclidean_norm(to_tensor([3, 4], dtype)).numpy() == 5
    assert r.argmax(x).numpy().tolist() == [1, 1]
    assert r.argmin(x, 1).numpy().tolist() == [0, 1]
    assert r.count_nonzero(x).numpy() == 4
    assert r.reduce_max(to_tensor([], dtype)).numpy() == 0
    assert r.reduce_min(to_tensor([], dtype)).numpy() == top


# Recorded from TensorFlow 2.21.
@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([-3, -4], dt.int32, -3),
        ([-1, 0, 0], dt.int32, 0),
        ([100, 100, 100], dt.int8, 100),
        ([200, 200, 200], dt.uint8, 200),
        ([30000] * 3, dt.int16, 30000),
        ([2**31 - 1] * 3, dt.int32, 2**31 - 1),
        ([], dt.int32, 0),
    ],
)
def test_mean_of_integers_rounds_towards_zero_and_does_not_overflow(on_device, values, dtype, expected):
    mean = r.reduce_mean(to_tensor(values, dtype))
    assert (mean.dtype, int(mean)) == (dtype, expected)


def test_sum_of_small_integers_wraps_around(on_device):
    assert int(r.reduce_sum(to_tensor([100, 100, 100], dt.int8))) == 44


@pytest.mark.parametrize("dtype", sorted(FLOATING, key=str), ids=lambda d: d.name)
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (r.reduce_sum, 0.0),
        (r.reduce_prod, 1.0),
        (r.reduce_max, -math.inf),
        (r.reduce_min, math.inf),
        (r.reduce_mean, math.nan),
        (r.reduce_logsumexp, -math.inf),
        (r.reduce_euclidean_norm, 0.0),
        (r.reduce_variance, math.nan),
    ],
)
def test_reductions_over_no_elements_are_neutral(on_device, function, expected, dtype):
    empty = to_tensor(np.zeros((0, 3)), dtype)
    np.testing.assert_array_equal(function(empty, 0).numpy().astype(float), [expected] * 3)
    np.testing.assert_array_equal(function(empty).numpy().astype(float), expected)
    assert function(empty, 1).shape == (0,)


@pytest.mark.parametrize("dtype", sorted(INTEGER - WIDE_UNSIGNED, key=str), ids=lambda d: d.name)
def test_extremes_of_no_integers_are_the_limits_of_the_dtype(on_device, dtype):
    empty = to_tensor([], dtype)
    assert (int(r.reduce_max(empty)), int(r.reduce_min(empty))) == (dtype.min, dtype.max)


def test_all_of_nothing_is_true_and_any_of_nothing_false(on_device):
    assert bool(r.reduce_all([]))
    assert not bool(r.reduce_any([]))


def test_scalars_reduce_to_themselves(on_device):
    for function in (r.reduce_sum, r.reduce_mean, r.reduce_prod, r.reduce_max, r.reduce_min, r.reduce_logsumexp):
        assert float(function(3.5)) == pytest.approx(3.5)
    assert float(r.reduce_euclidean_norm(-3.0)) == 3.0


def test_nan_wins_a_maximum_and_a_minimum(on_device):
    x = [[1.0, math.nan, 3.0], [math.nan, 1.0, 2.0]]
    np.testing.assert_array_equal(r.reduce_max(x, 0).numpy(), [math.nan, math.nan, 3.0])
    np.testing.assert_array_equal(r.reduce_min(x, 0).numpy(), [math.nan, math.nan, 2.0])


def test_logsumexp_neither_overflows_nor_makes_nan_of_infinity(on_device):
    x = [[-math.inf, -math.inf], [1000.0, 1000.0], [math.inf, 2.0]]
    np.testing.assert_allclose(r.reduce_logsumexp(x, 1).numpy(), [-math.inf, 1000 + math.log(2), math.inf])


def test_complex_reductions(on_device):
    x = np.array([1 + 2j, 3, 4j])
    np.testing.assert_allclose(r.reduce_sum(x).numpy(), 4 + 6j)
    np.testing.assert_allclose(r.reduce_prod(x).numpy(), np.prod(x))
    norm, deviation = r.reduce_euclidean_norm(x), r.reduce_std(x)
    assert (norm.dtype, deviation.dtype) == (dt.complex128, dt.float64)
    np.testing.assert_allclose(norm.numpy(), np.linalg.norm(x))
    np.testing.assert_allclose(deviation.numpy(), 2.0548046676563256)  # recorded from TensorFlow 2.21


def test_integer_norm_is_rounded_down(on_device):
    assert int(r.reduce_euclidean_norm([3, 5])) == 5
    assert int(r.reduce_euclidean_norm(to_tensor([100, 100], dt.uint8))) == 5  # of 20000 - 78 * 256


def test_reductions_read_strided_tensors(on_device):
    x = to_tensor(np.asfortranarray(X[:, ::2].T))
    np.testing.assert_array_equal(r.reduce_sum(x, [0, 2]).numpy(), X[:, ::2].T.sum((0, 2)))


def test_axis_may_be_a_tensor_on_a_device(on_device):
    np.testing.assert_array_equal(r.reduce_sum(X, to_tensor([0, -1], dt.int64)).numpy(), X.sum((0, 2)))
    np.testing.assert_array_equal(r.reduce_sum(X, to_tensor(0)).numpy(), X.sum(0))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        (2, r"Invalid reduction dimension \(2 for input with 2 dimension\(s\)\)"),
        (-3, r"Invalid reduction dimension \(-3 for input with 2 dimension\(s\)\)"),
        ([0, 7], r"Invalid reduction dimension \(7 for input"),
        ([0, 0], "Axes contains duplicate dimension: 0"),
        ([1, -1], "Axes contains duplicate dimension: 1"),
        (1.0, "axis is an integer, got 1.0"),
        ("a", "axis is an integer, got 'a'"),
        (10**30, "Invalid reduction dimension"),
    ],
)
@pytest.mark.parametrize("function", [r.reduce_sum, r.reduce_mean, r.reduce_max, r.reduce_logsumexp, r.count_nonzero])
def test_bad_axes_are_refused(on_device, function, axis, message):
    with pytest.raises(InvalidArgumentError, match=message):
        function([[1.0, 2.0], [3.0, 4.0]], axis)


def test_a_scalar_has_no_axis_to_reduce(on_device):
    with pytest.raises(InvalidArgumentError, match=r"\(0 for input with 0 dimension\(s\)\)"):
        r.reduce_sum(1.0, 0)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (r.reduce_sum, True),
        (r.reduce_sum, "a"),
        (r.reduce_max, 1j),
        (r.reduce_logsumexp, [1, 2]),
        (r.reduce_all, [1]),
        (r.reduce_any, [1.0]),
        (r.argmax, 1j),
        (r.reduce_variance, [1, 2]),
        (r.reduce_std, [True]),
    ],
)
def test_dtypes_that_have_no_such_reduction_are_refused(on_device, function, value):
    with pytest.raises(TypeError):
        function(value)


# Where the extremes are.


@pytest.mark.parametrize("dtype", sorted((NUMERIC - WIDE_UNSIGNED) - dt.COMPLEX, key=str), ids=lambda d: d.name)
def test_argmax_and_argmin_find_the_first_of_equals(on_device, dtype):
    x = to_tensor([[1, 5, 5], [9, 2, 9]], dtype)
    assert r.argmax(x, 1).numpy().tolist() == [1, 0]
    assert r.argmax(x).numpy().tolist() == [1, 0, 1]
    assert r.argmin(to_tensor([[1, 0, 0], [1, 1, 1]], dtype), -1).numpy().tolist() == [1, 0]
    assert r.argmax(x).dtype is dt.int64


def test_argmax_of_many_equals_is_zero(on_device):
    for shape in [(1000,), (7, 4096), (4096, 7)]:
        assert not r.argmax(np.ones(shape, np.float32), 0).numpy().any()
        assert not r.argmin(np.ones(shape, np.float32), -1).numpy().any()


def test_argmax_passes_over_nan(on_device):
    # Recorded from TensorFlow 2.21.
    nan = math.nan
    assert [int(r.argmax(x)) for x in ([1.0, nan, 3.0], [nan, 1.0, 3.0], [nan, nan])] == [2, 2, 0]
    assert [int(r.argmin(x)) for x in ([1.0, nan, 3.0], [nan, 1.0, 3.0])] == [0, 1]


def test_argmax_of_bools_and_output_types(on_device):
    assert int(r.argmax([False, True])) == 1
    for dtype in (dt.int16, dt.uint16, dt.int32, dt.int64):
        assert r.argmax([1.0, 2.0], output_type=dtype).dtype is dtype
    assert r.argmin([1.0, 2.0], output_type="int32").dtype is dt.int32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], 2), r"Expected dimension in the range \[-2, 2\), but got 2"),
        ((1.0, 0), r"Expected dimension in the range \[0, 0\), but got 0"),
        (([], 0), r"Reduction axis 0 is empty in shape \[0\]"),
        ((np.zeros((0, 3)), 0), r"Reduction axis 0 is empty in shape \[0,3\]"),
        (([[1.0]], [0]), "axis must be an integer"),
        (([[1.0]], 0.5), "axis must be an integer"),
        (([[1.0]], 0, dt.float32), "'output_type' of float is not in the list"),
    ],
)
def test_bad_arguments_of_argmax_are_refused(on_device, arguments, message):
    for function in (r.argmax, r.argmin):
        with pytest.raises(InvalidArgumentError, match=message):
            function(*arguments)


def test_argmax_of_no_rows_is_empty(on_device):
    assert r.argmax(np.zeros((0, 3)), 1).shape == (0,)


# Counting.


def test_count_nonzero(on_device):
    x = [[0, 1], [2, 3]]
    assert r.count_nonzero(x, 0).numpy().tolist() == [1, 2]
    assert r.count_nonzero(x, keepdims=True).numpy().tolist() == [[3]]
    assert r.count_nonzero([True, False], dtype=dt.int32).dtype is dt.int32
    assert r.count_nonzero([0.0, math.nan], dtype=dt.float32).numpy() == 1.0


def test_count_nonzero_of_strings_counts_those_with_letters():
    assert int(r.count_nonzero(["", "a", "bc"])) == 2
    assert r.count_nonzero([["", "a"], ["b", "c"]], 1).numpy().tolist() == [1, 2]


# TensorFlow 1.


def test_old_argument_names(on_device):
    x = [[1.0, 2.0], [3.0, 4.0]]
    assert r.reduce_sum_v1(x, reduction_indices=1, keep_dims=True).numpy().tolist() == [[3.0], [7.0]]
    assert r.reduce_mean_v1(x, 0, True).numpy().tolist() == [[2.0, 3.0]]
    assert r.count_nonzero_v1(x, keep_dims=True).numpy().tolist() == [[4]]
    assert r.argmax_v1(x, dimension=1).numpy().tolist() == [1, 1]
    assert r.argmin_v1(x, 1, "name").numpy().tolist() == [0, 0]
    assert r.arg_max(x, 1).numpy().tolist() == [1, 1]
    assert r.arg_min(x, 1, dt.int32).dtype is dt.int32


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (r.reduce_sum_v1, {"axis": 0, "reduction_indices": 1}),
        (r.reduce_sum_v1, {"keepdims": True, "keep_dims": True}),
        (r.argmax_v1, {"axis": 0, "dimension": 0}),
    ],
)
def test_an_argument_and_its_old_name_together_are_refused(function, arguments):
    with pytest.raises(ValueError, match="Cannot specify both"):
        function([[1.0]], **arguments)


# Shape rules of graphs, where not everything is known.


@pytest.mark.parametrize(
    ("shape", "axis", "keep_dims", "expected"),
    [
        (UNKNOWN, r.EVERY_AXIS, False, TensorShape([])),
        (UNKNOWN, r.EVERY_AXIS, True, UNKNOWN),
        (UNKNOWN, 0, False, UNKNOWN),
        (TensorShape([None, 3]), 0, False, TensorShape([3])),
        (TensorShape([None, 3]), 1, True, TensorShape([None, 1])),
        (TensorShape([2, 3]), None, False, UNKNOWN),
        (TensorShape([2, 3]), None, True, TensorShape([None, None])),
    ],
)
def test_shape_rule_of_partly_known_shapes(shape, axis, keep_dims, expected):
    assert infer_shapes(find_op("Sum"), (shape, axis), {"keep_dims": keep_dims}) == [expected]


@given(st.lists(st.integers(0, 3), max_size=4), st.data())
def test_reducing_axes_one_by_one_is_reducing_them_together(shape, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True)) if shape else []
    x = to_tensor(np.arange(math.prod(shape), dtype=np.int64).reshape(shape))
    step_by_step = x
    for axis in sorted(axes, reverse=True):
        step_by_step = r.reduce_sum(step_by_step, axis)
    np.testing.assert_array_equal(r.reduce_sum(x, axes).numpy(), step_by_step.numpy())
    assert r.reduce_max(x, axes, keepdims=True).shape.rank == len(shape)


def test_a_single_string_is_counted_too():
    assert r.count_nonzero("abc").numpy() == 1
    assert r.count_nonzero("").numpy() == 0
