"""Gradients of arithmetic: differences, PyTorch's autograd, and TensorFlow 2.21's figures where there is a choice."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.ops import array, cast, compare, gather, math
from situs._src.ops.constant import constant, fill, ones_like, zeros_like
from situs._src.ops.debug import check_numerics
from situs._src.ops.masked import masked, unmasked
from situs._src.ops.placeholder import placeholder_with_default
from situs._src.ops.printing import Print
from situs._src.ops.slices import IndexedSlices
from situs._src.ops.sum_to import sum_to
from situs.errors import InvalidArgumentError, NotFoundError
from tests.gradients.check import (
    INF,
    NAN,
    check,
    check_all,
    check_graph,
    check_second_order,
    check_torch,
    in_a_graph,
    sample,
    sample_complex,
    tape_gradient,
)

# Functions of one tensor: name, the interval to look at, what PyTorch calls it.

UNARY = [
    ("negative", -2, 2, torch.neg),
    ("square", -2, 2, torch.square),
    ("sqrt", 0.3, 2, torch.sqrt),
    ("rsqrt", 0.3, 2, torch.rsqrt),
    ("reciprocal", 0.3, 2, torch.reciprocal),
    ("reciprocal_no_nan", 0.3, 2, torch.reciprocal),
    ("abs", 0.2, 2, torch.abs),
    ("exp", -2, 2, torch.exp),
    ("expm1", -2, 2, torch.expm1),
    ("log", 0.2, 2, torch.log),
    ("log1p", -0.5, 2, torch.log1p),
    ("sigmoid", -2, 2, torch.sigmoid),
    ("sin", -2, 2, torch.sin),
    ("cos", -2, 2, torch.cos),
    ("tan", -1, 1, torch.tan),
    ("asin", -0.8, 0.8, torch.asin),
    ("acos", -0.8, 0.8, torch.acos),
    ("atan", -2, 2, torch.atan),
    ("sinh", -2, 2, torch.sinh),
    ("cosh", -2, 2, torch.cosh),
    ("tanh", -2, 2, torch.tanh),
    ("asinh", -2, 2, torch.asinh),
    ("acosh", 1.2, 3, torch.acosh),
    ("atanh", -0.8, 0.8, torch.atanh),
    ("erf", -2, 2, torch.erf),
    ("erfc", -2, 2, torch.erfc),
    ("erfinv", -0.8, 0.8, torch.erfinv),
    ("erfcinv", 0.3, 1.7, None),
    ("ndtri", 0.2, 0.8, torch.special.ndtri),
    ("lgamma", 0.3, 3, torch.lgamma),
    ("digamma", 0.5, 3, torch.digamma),
    ("bessel_i0", 0.3, 3, torch.special.i0),
    ("bessel_i0e", 0.3, 3, torch.special.i0e),
    ("bessel_i1", 0.3, 3, torch.special.i1),
    ("bessel_i1e", 0.3, 3, torch.special.i1e),
    ("bessel_j0", 0.3, 3, None),
    ("bessel_j1", 0.3, 3, None),
    ("bessel_y0", 0.3, 3, None),
    ("bessel_y1", 0.3, 3, None),
    ("bessel_k0", 0.3, 3, None),
    ("bessel_k0e", 0.3, 3, None),
    ("bessel_k1", 0.3, 3, None),
    ("bessel_k1e", 0.3, 3, None),
]


@pytest.mark.parametrize(("name", "low", "high", "theirs"), UNARY, ids=[row[0] for row in UNARY])
def test_functions_of_one_tensor(name, low, high, theirs):
    check_all(getattr(math, name), sample(low, high), torch=theirs)


@pytest.mark.parametrize("name", [row[0] for row in UNARY[:7]])
def test_negative_arguments_have_gradients_too(name):
    if name not in ("sqrt", "rsqrt"):
        check(getattr(math, name), sample(-2, -0.3))


COMPLEX = (
    "negative square sqrt rsqrt reciprocal exp expm1 log log1p sigmoid sin cos tan asin acos atan sinh cosh tanh asinh"
)
COMPLEX += " acosh atanh abs sign conj angle"


@pytest.mark.parametrize("name", COMPLEX.split())
def test_functions_of_complex_numbers(name):
    function = getattr(math, name)
    check(function, sample_complex())
    check_graph(function, sample_complex())
    check_torch(function, getattr(torch, {"negative": "neg", "sign": "sgn"}.get(name, name)), sample_complex())


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "reciprocal", "sigmoid", "tanh", "exp", "square", "log"])
def test_complex_gradients_have_gradients(name):
    check_second_order(getattr(math, name), sample_complex())


# Functions of two tensors: name, intervals of both, what PyTorch calls it.

BINARY = [
    ("add", (-2, 2), (-2, 2), torch.add),
    ("subtract", (-2, 2), (-2, 2), torch.sub),
    ("multiply", (-2, 2), (-2, 2), torch.mul),
    ("divide", (-2, 2), (0.3, 2), torch.div),
    ("divide_no_nan", (-2, 2), (0.3, 2), torch.div),
    ("multiply_no_nan", (-2, 2), (0.3, 2), torch.mul),
    ("floormod", (5.1, 5.9), (3.1, 4.9), torch.remainder),
    ("pow", (0.3, 2), (-2, 2), torch.pow),
    ("squared_difference", (-2, 2), (-2, 2), lambda x, y: (x - y) ** 2),
    ("maximum", (-2, 2), (-2, 2), torch.maximum),
    ("minimum", (-2, 2), (-2, 2), torch.minimum),
    ("xlogy", (0.3, 2), (0.3, 2), torch.xlogy),
    ("xlog1py", (0.3, 2), (0.3, 2), torch.special.xlog1py),
    ("xdivy", (0.3, 2), (0.3, 2), torch.div),
    ("atan2", (-2, 2), (0.3, 2), torch.atan2),
]
BY_NAME = {row[0]: row for row in BINARY}
IDS = [row[0] for row in BINARY]


@pytest.mark.parametrize(("name", "first", "second", "theirs"), BINARY, ids=IDS)
def test_functions_of_two_tensors(name, first, second, theirs):
    check_all(getattr(math, name), sample(*first), sample(*second, seed=1), torch=theirs)


@pytest.mark.parametrize("name", IDS)
@settings(max_examples=4)
@given(data=st.data())
def test_what_was_broadcast_is_summed_up(name, data):
    _, first, second, theirs = BY_NAME[name]
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    arrays = sample(*first, shapes[0]), sample(*second, shapes[1], seed=1)
    check_torch(getattr(math, name), theirs, *arrays)
    check_graph(getattr(math, name), *arrays)


def test_shapes_of_no_known_rank():
    function = lambda x, y: math.multiply(math.add(x, y), math.subtract(math.divide(x, y), y))  # noqa: E731
    check_graph(function, sample(1, 2), sample(1, 2, [3]), rank_known=False)
    check_graph(function, sample(1, 2, [2, 1]), sample(1, 2, [3, 1, 1]), rank_known=False)


def test_empty_tensors():
    for name in IDS:
        found = tape_gradient(getattr(math, name), np.ones([0, 3]), np.ones([3]))
        assert [grad.shape for grad in found] == [(0, 3), (3,)]
        np.testing.assert_array_equal(found[1], np.zeros(3))


@pytest.mark.parametrize("name", [name for name in IDS if name not in ("floormod", "maximum", "minimum", "atan2")])
def test_functions_of_two_complex_tensors(name):
    function = getattr(math, name)
    check(function, sample_complex(), sample_complex(seed=5))
    check_graph(function, sample_complex(), sample_complex([2, 1], seed=5))


def test_a_scalar_tensor_in_a_gradient():
    check_all(lambda x, y: math.scalar_mul(y, x), sample(-1, 1), np.array(3.0))


def test_slices_times_a_number_or_within_bounds_stay_slices():
    slices = IndexedSlices(constant([[1.0, 2.0]]), constant([2]), constant([4, 2]))
    for found, expected in [
        (math.scalar_mul(3.0, slices), [[3.0, 6.0]]),
        (math.clip_by_value(slices, 0.0, 1.5), [[1.0, 1.5]]),
    ]:
        assert isinstance(found, IndexedSlices)
        np.testing.assert_array_equal(found.values.numpy(), expected)
        assert found.indices is slices.indices
        assert found.dense_shape is slices.dense_shape


# Functions of two tensors with a gradient for one of them.


def test_incomplete_gamma_functions():
    a, x = np.array([2.0, 0.5, 30.0, 3.0]), np.array([1.0, 5.0, 20.0, 3.0])
    check(math.igamma, a, x)
    check_graph(math.igammac, a, x)


def test_the_incomplete_gamma_function_far_out():
    a = [2.0, 1.0, 0.1, 0.5, 3.0, 50.0, 100.0, 1e-3, 10.0, 5.0, 30.0, 200.0]
    x = [2.0, 1.0, 0.01, 5.0, 0.1, 60.0, 80.0, 0.5, 30.0, 1e-3, 100.0, 190.0]
    exact = [  # by 40 digits of precision
        -2.940046907462310e-01, -4.317297106348990e-01, -2.776160812010410e+00, -5.843362255012170e-03,
        -5.513415668842540e-04, -2.128499280000000e-02, -4.402643240000000e-03, -5.603594000000000e-01,
        -8.500202990000000e-06, -7.172271290000000e-17, -7.275093290000000e-17, -2.235282830000000e-02,
    ]  # fmt: skip
    found = tape_gradient(math.igamma, a, x)[0]
    np.testing.assert_allclose(found, exact, rtol=1e-8)


def test_zeta_and_polygamma_have_a_gradient_for_their_argument_only():
    check_all(math.zeta, np.array([2.5, 3.5]), np.array([1.5, 0.7]), nothing=[0], second=False)
    check_all(math.polygamma, np.array([1.0, 2.0]), np.array([1.5, 0.7]), nothing=[0], second=False)


# Choices, casts, and what only passes values on.


def test_choices():
    condition = np.array([[True, False, True], [False, True, False]])
    check_all(gather.where, condition, sample(-1, 1), sample(2, 3))
    check_all(gather.where, condition, sample(-1, 1, [3]), sample(2, 3, [2, 1]))
    check_all(gather.where_v1, condition, sample(-1, 1), sample(2, 3))
    check_all(gather.where_v1, condition[:, 0], sample(-1, 1), sample(2, 3))
    check_torch(gather.where, torch.where, condition, sample(-1, 1, [3]), sample(2, 3))
    check_all(lambda c, x: masked(c, x), condition, sample(-1, 1, [2, 1]))
    check_all(lambda c, x: unmasked(c, x), condition, sample(-1, 1))


def test_the_side_that_was_not_chosen_passes_nothing_back_even_if_it_is_no_number():
    (found,) = tape_gradient(lambda x: gather.where(compare.greater(x, 0), math.sqrt(x), 0.0), [-1.0, 0.0, 4.0])
    np.testing.assert_array_equal(found, [0, 0, 0.25])


def test_limits():
    check_all(lambda t, low, high: math.clip_by_value(t, low, high), sample(-2, 2), np.array(-1.0), np.array(1.0))
    check_all(lambda t: math.clip_by_value(t, -1.0, 1.0), sample(-2, 2), torch=lambda t: torch.clamp(t, -1.0, 1.0))
    bounds = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]), -1.0, 1.0
    for found, expected in zip(tape_gradient(math.clip_by_value, *bounds), ([0, 1, 1, 1, 0], 1, 1), strict=True):
        np.testing.assert_array_equal(found, expected)
    (found,) = tape_gradient(lambda x: math.clip_by_value(x, 0.0, 1.0), [NAN, INF, -INF])
    np.testing.assert_array_equal(found, [0, 0, 0])


def test_limits_that_broadcast():
    t, low, high = tape_gradient(math.clip_by_value, [[-2.0, -1.0, 0.0], [1.0, 2.0, 0.5]], [[-1.0, -1.0, 0.0]], [1.0])
    np.testing.assert_array_equal(t, [[0, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(low, [[1, 0, 0]])
    np.testing.assert_array_equal(high, [1])


def test_a_cast_that_saturates():
    (found,) = tape_gradient(lambda x: cast.saturate_cast(x, dt.float16), [-1e6, -65504.0, 3.0, 1e6])
    np.testing.assert_array_equal(found, [0, 1, 1, 0])


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.complex64, dt.complex128])
def test_casts_between_numbers_with_fractions_pass_gradients(dtype):
    (found,) = tape_gradient(lambda x: cast.cast(x, dtype), [1.5])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1])


def test_a_cast_to_real_numbers_has_a_complex_gradient():
    (found,) = tape_gradient(lambda x: cast.cast(x, dt.float64), [1.5 + 2j], dtype=dt.complex128)
    np.testing.assert_array_equal(found, [1 + 0j])


def test_casts_to_whole_numbers_end_gradients():
    assert tape_gradient(lambda x: cast.cast(cast.cast(x, dt.int32), dt.float64), [1.5]) == [None]
    assert tape_gradient(lambda x: cast.cast(math.is_nan(x), dt.float64), [1.5]) == [None]
    assert tape_gradient(lambda x: cast.cast(compare.greater(x, 1.0), dt.float64), [1.5]) == [None]


def test_the_parts_of_complex_numbers():
    check_all(cast.complex, sample(-1, 1), sample(-1, 1, [3]), torch=torch.complex)
    check_all(cast.real, sample_complex(), torch=torch.real)
    check_all(cast.imag, sample_complex(), torch=torch.imag)
    check_all(cast.real, sample(-1, 1))
    assert tape_gradient(cast.imag, [1.0]) == [None]
    assert tape_gradient(math.angle, [-1.0, 1.0]) == [None]


def test_what_passes_values_on_passes_gradients_on():
    check_all(array.identity, sample(-1, 1))
    check_all(lambda x: check_numerics(x, "said"), sample(-1, 1))
    check_all(lambda x: placeholder_with_default(x, [None, 3]), sample(-1, 1))
    check_all(lambda x: Print(x, []), sample(-1, 1))
    check_all(lambda x: array.identity_n([x, math.negative(x)]), sample(-1, 1))


def test_gradients_that_are_no_numbers_are_found_where_values_were_checked():
    with pytest.raises(InvalidArgumentError, match=r"detected in gradient\. said : Tensor had Inf"):
        tape_gradient(lambda x: math.multiply(check_numerics(x, "said"), INF), [1.0])


def test_what_stops_gradients():
    for stops in (array.stop_gradient, math.floor, math.ceil, math.round, math.rint, ones_like, zeros_like):
        assert tape_gradient(stops, [1.5]) == [None]
        assert in_a_graph(stops, [1.5]) == [None]
    for stops in (math.floordiv, math.truncatediv):
        assert tape_gradient(stops, [1.5], [2.5]) == [None, None]


def test_an_op_without_a_gradient_says_so():
    with pytest.raises(LookupError, match="TruncateMod"):
        tape_gradient(math.truncatemod, [1.5], [2.5])
    with pytest.raises(NotFoundError, match="No gradient defined for operation"):
        in_a_graph(math.truncatemod, [1.5], [2.5])


def test_fills():
    check_all(lambda x: fill([2, 3], x), np.array(2.0))
    check_graph(lambda x, dims: fill(dims, x), np.array(2.0), np.array([2, 3], np.int32))


def test_sums_to_a_shape():
    for shape in [(1, 3), (3,), (2, 1), (1, 1), (), (2, 3)]:
        check_all(lambda x: sum_to(x, shape), sample(-1, 1))  # noqa: B023
    check_graph(lambda x, shape: sum_to(x, shape), sample(-1, 1), np.array([3], np.int32), rank_known=False)


# Figures of TensorFlow 2.21 where there is a choice: at 0, at the ends of a domain, at ties.

AT = [-1.0, 0.0, 2.0]
EDGES = {
    "abs": [-1, 0, 1],
    "sign": [0, 0, 0],
    "sqrt": [NAN, INF, 0.35355339059327373],
    "rsqrt": [NAN, -INF, -0.17677669529663684],
    "reciprocal": [-1, -INF, -0.25],
    "reciprocal_no_nan": [-1, 0, -0.25],
    "square": [-2, 0, 4],
    "log": [-1, INF, 0.5],
    "log1p": [INF, 1, 0.3333333333333333],
    "asin": [INF, 1, NAN],
    "acos": [-INF, -1, NAN],
    "atanh": [INF, 1, -0.3333333333333333],
    "acosh": [NAN, NAN, 0.5773502691896258],
    "ndtri": [NAN, INF, NAN],
    "erfinv": [INF, 0.8862269254527579, NAN],
    "digamma": [INF, INF, 0.6449340668482266],
    "bessel_i0": [-0.565159103992485, 0, 1.5906368546373295],
    "bessel_i1": [0.7009067737595231, 0.5, 1.484266875017402],  # TensorFlow has 1 at 0, which is not the slope there
    "bessel_i0e": [0.257849192243932, 0, -0.0932390333047333],
    "bessel_i1e": [0.04993877689422355, 0.5, -0.014395611319735546],
    "bessel_j1": [0.32514710081303294, 0.5, -0.06447162473720108],
}
# The same for a gradient of 0: the roots let nothing through, also where they have no slope.
AT_ZERO = [-1.0, 0.0, 2.0, INF, NAN]
ZERO_EDGES = {
    "sqrt": [0, 0, 0, 0, 0],
    "rsqrt": [0, 0, 0, 0, 0],
    "reciprocal": [0, 0, 0, 0, 0],
    "square": [0, 0, 0, NAN, NAN],
    "log": [0, NAN, 0, 0, NAN],
    "exp": [0, 0, 0, NAN, NAN],
    "sigmoid": [0, 0, 0, 0, NAN],
    "tanh": [0, 0, 0, 0, NAN],
    "abs": [0, 0, 0, 0, NAN],
    "asin": [NAN, 0, NAN, NAN, NAN],
    "erf": [0, 0, 0, 0, NAN],
}


@pytest.mark.parametrize("name", EDGES)
def test_functions_of_one_tensor_at_their_edges(name):
    np.testing.assert_allclose(tape_gradient(getattr(math, name), AT)[0], EDGES[name], rtol=1e-9)


@pytest.mark.parametrize("name", ZERO_EDGES)
def test_a_gradient_of_zero_at_the_edges(name):
    np.testing.assert_array_equal(tape_gradient(getattr(math, name), AT_ZERO, up=0.0)[0], ZERO_EDGES[name])


FIRST = [0.0, 0.0, 0.0, 0.0, -2.0, -2.0, -2.0, 3.0, 2.0, 1.0]
SECOND = [0.0, 1.0, 2.0, -1.0, 2.0, 3.0, 0.5, 0.0, 2.0, 1.0]
L2, L3 = 0.6931471805599453, 1.0986122886681098
BINARY_EDGES = {
    "pow": ([NAN, 1, 0, -INF, -4, 12, NAN, 0, 4, 1], [0, 0, 0, NAN, 0, 0, NAN, L3, 4 * L2, 0]),
    "maximum": ([1, 0, 0, 1, 0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 1, 1, 1, 0, 0, 0]),
    "minimum": ([1, 1, 1, 0, 1, 1, 1, 0, 1, 1], [0, 0, 0, 1, 0, 0, 0, 1, 0, 0]),
    "divide": ([INF, 1, 0.5, -1, 0.5, 1 / 3, 2, INF, 0.5, 1], [NAN, 0, 0, 0, 0.5, 2 / 9, 8, -INF, -0.5, -1]),
    "divide_no_nan": ([0, 1, 0.5, -1, 0.5, 1 / 3, 2, 0, 0.5, 1], [0, 0, 0, 0, 0.5, 2 / 9, 8, 0, -0.5, -1]),
    "multiply_no_nan": ([0, 1, 2, -1, 2, 3, 0.5, 0, 2, 1], [0, 0, 0, 0, -2, -2, -2, 3, 2, 1]),
    "floormod": ([1] * 10, [NAN, 0, 0, 0, 1, 1, 4, -INF, -1, -1]),
    "squared_difference": ([0, -2, -4, 2, -8, -10, -5, 6, 0, 0], [0, 2, 4, -2, 8, 10, 5, -6, 0, 0]),
    "xlogy": ([0, 0, 0, 0, L2, L3, -L2, -INF, L2, 0], [0, 0, 0, 0, -1, -2 / 3, -4, INF, 1, 1]),
    "xlog1py": (
        [0, 0, 0, 0, L3, 2 * L2, 0.4054651081081644, 0, L3, L2],
        [0, 0, 0, 0, -2 / 3, -0.5, -4 / 3, 3, 2 / 3, 0.5],
    ),
    "xdivy": ([0, 0, 0, 0, 0.5, 1 / 3, 2, INF, 0.5, 1], [0, 0, 0, 0, 0.5, 2 / 9, 8, -INF, -0.5, -1]),
    "atan2": (
        [NAN, 1, 0.5, -1, 0.25, 3 / 13, 2 / 17, 0, 0.25, 0.5],
        [NAN, 0, 0, 0, 0.25, 2 / 13, 8 / 17, -1 / 3, -0.25, -0.5],
    ),
    "nextafter": ([1] * 10, [0] * 10),
    "igamma": (
        [0, NAN, NAN, NAN, NAN, NAN, NAN, 0, -0.29400469074623103, -0.43172971063489896],
        [NAN, 0, 0, NAN, 0, 0, 0, 0, 0.2706705664732254, 0.36787944117144233],
    ),
}


@pytest.mark.parametrize("name", BINARY_EDGES)
def test_functions_of_two_tensors_at_their_edges(name):
    for found, expected in zip(tape_gradient(getattr(math, name), FIRST, SECOND), BINARY_EDGES[name], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_what_is_no_number_is_the_second_of_two():
    for name in ("maximum", "minimum"):
        found = tape_gradient(getattr(math, name), [NAN, 1.0, NAN], [1.0, NAN, NAN])
        np.testing.assert_array_equal(found, [[0, 0, 0], [1, 1, 1]])


def test_a_product_that_ignores_what_is_no_number():
    found = tape_gradient(math.multiply_no_nan, [INF, NAN, 1.0], [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found, [[0, 0, 0], [INF, NAN, 1]])


def test_complex_numbers_at_their_edges():
    (found,) = tape_gradient(math.abs, [0j, 3 + 4j], dtype=dt.complex128)
    np.testing.assert_allclose(found, [0, 0.6 + 0.8j])
    (found,) = tape_gradient(math.angle, [0j, 3 + 4j], dtype=dt.complex128)
    np.testing.assert_allclose(found, [complex(NAN, NAN), -0.16 + 0.12j])
    (found,) = tape_gradient(math.sign, [1 + 2j, -0.5j], dtype=dt.complex128, up=1 + 0.5j)
    np.testing.assert_allclose(found, [0.2683281572999748 - 0.13416407864998733j, 2], atol=1e-15)


def test_powers_have_gradients_of_gradients_where_there_is_no_logarithm():
    check_second_order(lambda x: math.pow(x, 3.0), sample(-2, -1))
    check_second_order(lambda x: math.pow(x, 2.0), np.array([0.0, -1.0, 1.0]))
    found = tape_gradient(lambda x: tape_gradient_of_power(x), [0.0, -1.0])
    assert np.isfinite(found[0]).all()


def tape_gradient_of_power(x):
    y = constant([2.0, 2.0], dt.float64)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = math.pow(x, y)
    return math.add(*tape.gradient(z, [x, y]))


# Devices and dtypes.


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32])
@pytest.mark.parametrize(
    "name", ["square", "sqrt", "rsqrt", "reciprocal", "abs", "exp", "log", "sigmoid", "tanh", "lgamma"]
)
def test_gradients_have_the_dtype_and_the_device_of_what_they_are_of(name, dtype, on_device):
    x = cast.cast(constant([0.25, 0.5]), dtype)
    with GradientTape() as tape:
        tape.watch(x)
        y = getattr(math, name)(x)
    grad = tape.gradient(y, x)
    assert grad.dtype is dtype
    assert grad.device == on_device
    exact = tape_gradient(getattr(math, name), [0.25, 0.5])[0]
    np.testing.assert_allclose(grad.numpy().astype(np.float64), exact, rtol={2: 2e-2, 4: 1e-5}[dtype.size])


@pytest.mark.parametrize("name", IDS)
def test_gradients_of_two_tensors_stay_on_their_device(name, on_device):
    tensors = [constant([1.5, 2.5]), constant([[0.5], [1.5]])]
    with GradientTape() as tape:
        tape.watch(tensors)
        y = getattr(math, name)(*tensors)
    for grad, tensor in zip(tape.gradient(y, tensors), tensors, strict=True):
        assert grad.device == on_device
        assert grad.shape == tensor.shape


# What a graph with unknown sizes has to compute at all.


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "sums"),
    [
        ([None, 3], [3], [False, True]),
        ([None, 3], [], [False, True]),
        ([None, 3], [1, 3], [False, True]),
        ([None, 3], [None, 3], [True, True]),
        ([None, 3], [2, 3], [True, False]),
        ([None, 3], [None, None, 3], [True, True]),
        ([2, 3], [2, 3], [False, False]),
        ([None, None], [3], [True, True]),
        (None, [3], [True, True]),
    ],
)
def test_a_graph_sums_up_only_what_may_have_been_broadcast(x_shape, y_shape, sums):
    with tf1.Graph().as_default():
        inputs = [tf1.placeholder(dt.float32, shape) for shape in (x_shape, y_shape)]
        found = gradients(math.add(*inputs), inputs)
    assert [grad.op.type == "SumTo" for grad in found] == sums
