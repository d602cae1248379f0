"""Convolution against a plain NumPy convolution and figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import conv
from situs._src.ops.nn import conv_transpose as transposed
from situs._src.ops.nn import depthwise as deep
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, SitusError, UnimplementedError

CONV = {1: conv.conv1d, 2: conv.conv2d, 3: conv.conv3d}
TRANSPOSE = {1: transposed.conv1d_transpose, 2: transposed.conv2d_transpose, 3: transposed.conv3d_transpose}
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def wave(*shape, dtype=np.float32):
    return (np.sin(np.arange(np.prod(shape)) * 1.3 + 0.2) * 2).astype(dtype).reshape(shape)


def pads_of(sizes, windows, strides, dilations, padding):
    if padding != "SAME":
        return [(0, 0)] * len(sizes)
    pads = []
    for size, window, stride, dilation in zip(sizes, windows, strides, dilations, strict=True):
        total = max((-(-size // stride) - 1) * stride + (window - 1) * dilation + 1 - size, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def plain_conv(x, w, strides, dilations, pads):
    """The definition of convolution, channels last, with groups of channels."""
    n = w.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0), *pads, (0, 0)])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape, dilations, strict=False)]
    counts = [(size - r) // s + 1 for size, r, s in zip(x.shape[1:-1], reach, strides, strict=True)]
    groups = x.shape[-1] // w.shape[-2]
    y = np.zeros((len(x), *counts, w.shape[-1]))
    for place in itertools.product(*map(range, counts)):
        cut = [slice(p * s, p * s + r, d) for p, s, r, d in zip(place, strides, reach, dilations, strict=True)]
        patch = x[(slice(None), *cut)]
        parts = zip(np.split(patch, groups, -1), np.split(w, groups, -1), strict=True)
        sums = [np.tensordot(a, b, (list(range(1, n + 2)), list(range(n + 1)))) for a, b in parts]
        y[(slice(None), *place)] = np.concatenate(sums, -1)
    return y


def last_to_first(x):
    return np.moveaxis(x, -1, 1)


# Convolution.


@pytest.mark.parametrize(
    ("call", "first", "total"),
    # Recorded from TensorFlow 2.21: the first elements and the sum of all.
    [
        (
            lambda: conv.conv2d(wave(1, 4, 5, 2), wave(3, 2, 2, 3), [1, 2, 2, 1], "SAME"),
            [-0.51033491, -2.5756073, -0.86760849, 1.49972236, -3.35222888],
            -16.95863,
        ),
        (
            lambda: conv.conv2d(wave(1, 5, 5, 1), wave(2, 2, 1, 2), 1, "VALID", dilations=2),
            [-1.58710241, 0.60928488, -7.08795214, 7.68237829, -2.20493531],
            3.782037,
        ),
        (
            lambda: conv.conv1d(wave(1, 6, 2), wave(4, 2, 2), 2, "SAME"),
            [-0.26062107, 1.18890822, 1.21722615, 2.7581861, 1.38780248],
            10.061791,
        ),
        (
            lambda: conv.conv3d(wave(1, 3, 3, 3, 1), wave(2, 2, 2, 1, 2), [1] * 5, "SAME"),
            [6.39381409, -3.03617525, 6.37824249, 6.43294811, -4.27624178],
            -5.172319,
        ),
        (
            lambda: deep.depthwise_conv2d(wave(1, 4, 4, 2), wave(2, 3, 2, 2), [1, 2, 2, 1], "SAME"),
            [3.97344851, 5.90121078, -1.63009238, -1.07000971, -5.09280205],
            3.011061,
        ),
        (
            lambda: deep.separable_conv2d(wave(1, 4, 4, 2), wave(2, 3, 2, 2), wave(1, 1, 4, 2), [1, 1, 1, 1], "VALID"),
            [5.93458557, -3.3168819, 0.65489417, 5.74002981, -12.5471611],
            0.722544,
        ),
        (
            lambda: transposed.conv2d_transpose(wave(1, 2, 3, 2), wave(3, 2, 1, 2), [1, 4, 5, 1], 2, "SAME"),
            [4.13786316, -2.99870181, -2.99870181, 3.12717795, 1.00124466],
            10.212666,
        ),
        (
            lambda: transposed.conv2d_transpose(wave(1, 2, 2, 2), wave(3, 3, 1, 2), [1, 6, 6, 1], 2, "VALID"),
            [4.13786316, -2.99870181, -1.99745715, 3.12717795, -2.36058545, 0],
            3.575301,
        ),
    ],
)
def test_figures_are_tensorflows(on_device, call, first, total):
    result = call()
    assert result.device == on_device
    y = result.numpy()
    on_card = result._value.device.type != "cpu"  # where convolutions round to TF32, as TensorFlow's do
    np.testing.assert_allclose(y.ravel()[: len(first)], first, rtol=2e-3 if on_card else 1e-5, atol=1e-6)
    assert y.sum() == pytest.approx(total, rel=2e-3 if on_card else 1e-4, abs=1e-4)


cases = st.integers(1, 3).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "sizes": st.tuples(*[st.integers(1, 6)] * n),
            "windows": st.tuples(*[st.integers(1, 4)] * n),
            "strides": st.tuples(*[st.integers(1, 3)] * n),
            "dilations": st.tuples(*[st.integers(1, 2)] * n),
            "padding": st.sampled_from(["SAME", "VALID"]),
            "groups": st.integers(1, 2),
            "depth": st.integers(1, 2),
            "results": st.integers(1, 2),
            "first": st.booleans(),
        }
    )
)


def small_enough(case):
    reach = [(w - 1) * d + 1 for w, d in zip(case["windows"], case["dilations"], strict=True)]
    return case["padding"] == "SAME" or all(r <= s for r, s in zip(reach, case["sizes"], strict=True))


@given(cases.filter(small_enough))
def test_convolution_is_the_plain_one(case):
    n, groups = len(case["sizes"]), case["groups"]
    x = wave(2, *case["sizes"], groups * case["depth"], dtype=np.float64)
    w = wave(*case["windows"], case["depth"], groups * case["results"], dtype=np.float64)
    steps = case["strides"], case["dilations"]
    expected = plain_conv(x, w, *steps, pads_of(case["sizes"], case["windows"], *steps, case["padding"]))
    data_format = CHANNELS_FIRST[n] if case["first"] else None
    given_x = last_to_first(x) if case["first"] else x
    found = CONV[n](given_x, w, case["strides"], case["padding"], data_format, case["dilations"]).numpy()
    np.testing.assert_allclose(found, last_to_first(expected) if case["first"] else expected, atol=1e-10)
    if max(case["strides"]) == 1 or max(case["dilations"]) == 1:
        by_rank = conv.convolution(given_x, w, case["strides"], case["padding"], data_format, case["dilations"]).numpy()
        np.testing.assert_array_equal(by_rank, found)


@given(cases.filter(small_enough))
def test_transposed_convolution_is_the_gradient(case):
    n, groups, steps = len(case["sizes"]), case["groups"], (case["strides"], case["dilations"])
    x = wave(2, *case["sizes"], groups * case["depth"], dtype=np.float64)
    w = wave(*case["windows"], case["depth"], groups * case["results"], dtype=np.float64)
    y = plain_conv(x, w, *steps, pads_of(case["sizes"], case["windows"], *steps, case["padding"]))
    weight = wave(*y.shape, dtype=np.float64)[::-1]
    if case["first"]:
        x, weight = last_to_first(x), last_to_first(weight)
    data_format = CHANNELS_FIRST[n] if case["first"] else None
    back = TRANSPOSE[n](weight, w, x.shape, case["strides"], case["padding"], data_format, case["dilations"]).numpy()
    forward = CONV[n](x, w, case["strides"], case["padding"], data_format, case["dilations"]).numpy()
    # Both are linear: <conv(x), weight> == <x, transpose(weight)>.
    assert (forward * weight).sum() == pytest.approx((x * back).sum(), abs=1e-9)
    only_sizes = TRANSPOSE[n](
        weight, w, case["sizes"], case["strides"], case["padding"], data_format, case["dilations"]
    )
    if groups == 1:
        np.testing.assert_array_equal(only_sizes.numpy(), back)


@given(
    st.tuples(*[st.integers(2, 6)] * 2),
    st.tuples(*[st.integers(1, 3)] * 2),
    st.integers(1, 3),
    st.integers(1, 2),
    st.sampled_from(["SAME", "VALID"]),
    st.booleans(),
)
def test_depthwise_convolution_takes_channels_one_by_one(sizes, windows, channels, stride, padding, first):
    x, w = wave(2, *sizes, channels, dtype=np.float64), wave(*windows, channels, 2, dtype=np.float64)
    if padding == "VALID" and any(k > s for k, s in zip(windows, sizes, strict=True)):
        return
    pads = pads_of(sizes, windows, (stride, stride), (1, 1), padding)
    each = [plain_conv(x[..., [c]], w[:, :, [c]], (stride, stride), (1, 1), pads) for c in range(channels)]
    expected = np.concatenate(each, -1)
    found = deep.depthwise_conv2d(
        last_to_first(x) if first else x, w, stride, padding, data_format="NCHW" if first else None
    ).numpy()
    np.testing.assert_allclose(found, last_to_first(expected) if first else expected, atol=1e-10)


def test_explicit_padding(on_device):
    x, w = wave(1, 4, 5, 2), wave(3, 2, 2, 3)
    pads = [(2, 1), (0, 3)]
    expected = plain_conv(x, w, (1, 2), (1, 1), pads)
    found = conv.conv2d(x, w, [1, 2], [[0, 0], *pads, [0, 0]])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
    first = conv.conv2d(last_to_first(x), w, [1, 2], [[0, 0], [0, 0], *pads], "NCHW")
    np.testing.assert_allclose(first.numpy(), last_to_first(expected), rtol=1e-5, atol=1e-5)
    back = transposed.conv2d_transpose(found, w, x.shape, [1, 2], [[0, 0], *pads, [0, 0]])
    assert back.shape == x.shape


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64], ids=lambda d: d.name)
def test_dtypes(on_device, dtype):
    x, w = wave(1, 4, 4, 2), wave(3, 3, 2, 2)
    expected = plain_conv(x, w, (1, 1), (1, 1), [(1, 1), (1, 1)])
    found = conv.conv2d(to_tensor(x, dtype), to_tensor(w, dtype), 1, "SAME")
    assert found.dtype is dtype
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=0.05, atol=0.2)
    assert deep.depthwise_conv2d(to_tensor(x, dtype), to_tensor(w, dtype), 1, "SAME").dtype is dtype
    assert transposed.conv2d_transpose(found, to_tensor(w, dtype), x.shape, 1).dtype is dtype


def test_more_batch_dimensions(on_device):
    x, w = wave(2, 3, 4, 5, 2), wave(2, 2, 2, 3)
    flat = conv.conv2d(x.reshape(6, 4, 5, 2), w, 1, "VALID").numpy()
    np.testing.assert_array_equal(conv.conv2d(x, w, 1, "VALID").numpy(), flat.reshape(2, 3, 3, 4, 3))
    assert conv.conv1d(wave(2, 3, 4, 2), wave(3, 2, 5), 1, "SAME").shape == (2, 3, 4, 5)
    assert conv.conv2d(wave(2, 0, 4, 5, 2), w, 1, "VALID").shape == (2, 0, 3, 4, 3)


def test_results_of_images_lie_in_memory_as_given(on_device):
    y = conv.conv2d(wave(2, 6, 6, 1), wave(3, 3, 1, 4), 1, "SAME")
    assert y._value.is_contiguous()
    assert conv.conv1d(wave(2, 6, 3), wave(3, 3, 4), 1, "SAME")._value.is_contiguous()


def test_views_are_convolved_too(on_device):
    x, w = wave(4, 5, 2, 1).transpose(3, 0, 1, 2), wave(2, 3, 3, 2).transpose(2, 1, 3, 0)
    found = conv.conv2d(to_tensor(x), to_tensor(w), 1, "SAME").numpy()
    np.testing.assert_allclose(found, plain_conv(x, w, (1, 1), (1, 1), [(1, 1), (1, 1)]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("x", "w", "padding", "expected"),
    [
        ((0, 4, 4, 2), (3, 3, 2, 5), "SAME", (0, 4, 4, 5)),
        ((1, 0, 4, 2), (3, 3, 2, 5), "SAME", (1, 0, 4, 5)),
        ((1, 2, 4, 2), (3, 3, 2, 5), "VALID", (1, 0, 2, 5)),
        ((1, 4, 4, 2), (3, 3, 2, 0), "SAME", (1, 4, 4, 0)),
    ],
)
def test_nothing_comes_of_nothing(on_device, x, w, padding, expected):
    assert conv.conv2d(np.zeros(x, np.float32), np.zeros(w, np.float32), 1, padding).shape == expected


def test_padding_around_nothing_gives_zeros(on_device):
    y = conv.conv2d(
        np.zeros((1, 0, 3, 1), np.float32), np.ones((2, 2, 1, 1), np.float32), 1, [[0, 0], [2, 1], [0, 0], [0, 0]]
    )
    np.testing.assert_array_equal(y.numpy(), np.zeros((1, 2, 2, 1)))


def test_atrous_convolution_is_dilated(on_device):
    x, w = wave(1, 7, 7, 2), wave(3, 3, 2, 2)
    dilated = conv.conv2d(x, w, 1, "VALID", dilations=2)
    np.testing.assert_array_equal(conv.atrous_conv2d(x, w, 2, "VALID").numpy(), dilated.numpy())
    back = transposed.atrous_conv2d_transpose(dilated, w, x.shape, 2, "VALID")
    by_rank = transposed.conv_transpose(dilated, w, x.shape, 1, "VALID", dilations=2)
    np.testing.assert_array_equal(back.numpy(), by_rank.numpy())


def test_separable_is_depthwise_then_pointwise(on_device):
    x, d, p = wave(1, 5, 5, 2), wave(3, 3, 2, 2), wave(1, 1, 4, 3)
    expected = conv.conv2d(deep.depthwise_conv2d(x, d, [1, 2, 2, 1], "SAME"), p, 1, "VALID").numpy()
    np.testing.assert_array_equal(deep.separable_conv2d(x, d, p, [1, 2, 2, 1], "SAME").numpy(), expected)
    first = deep.separable_conv2d(last_to_first(x), d, p, [1, 1, 2, 2], "SAME", "NCHW").numpy()
    np.testing.assert_allclose(first, last_to_first(expected), rtol=1e-4, atol=1e-4)


# Wrong calls.

Z = {name: np.zeros(shape, np.float32) for name, shape in {"x": (1, 4, 4, 2), "w": (3, 3, 2, 6)}.items()}


@pytest.mark.parametrize(
    ("x", "w", "text"),
    [
        ((1, 4, 4, 2), (3, 3, 3, 5), "input depth must be evenly divisible by filter depth: 2 vs 3"),
        ((1, 4, 4, 0), (3, 3, 2, 5), "input depth must be evenly divisible by filter depth: 0 vs 2"),
        ((1, 4, 4, 4), (3, 3, 2, 5), "output depth must be evenly divisible by number of groups: 5 vs 2"),
        ((4, 4, 2), (3, 3, 2, 5), r"convolution input must be 4-dimensional: \[4,4,2\]"),
        ((1, 4, 4, 2), (3, 3, 2), r"convolution filter must be 4-dimensional: \[3,3,2\]"),
        ((1, 1, 1, 2), (5, 5, 2, 3), "Computed output size would be negative: -3"),
        ((1, 4, 4, 0), (3, 3, 0, 5), "filter depth must be strictly positive"),
        ((1, 4, 4, 2), (0, 3, 2, 5), "filter must not have zero elements"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(on_device, x, w, text):
    with pytest.raises(InvalidArgumentError, match=text):
        conv.conv2d(np.zeros(x, np.float32), np.zeros(w, np.float32), 1, "VALID")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"strides": 0}, InvalidArgumentError, "strides should be larger than 0"),
        ({"strides": [2, 1, 1, 1]}, UnimplementedError, "strides in the batch and depth"),
        ({"strides": [1, 1, 1]}, InvalidArgumentError, "of length 1, 2 or 4"),
        ({"strides": 1.5}, DTypeError, "Expected int"),
        ({"dilations": 0}, InvalidArgumentError, "dilations should be larger than 0"),
        ({"padding": "same"}, InvalidArgumentError, "'padding' of \"same\""),
        ({"padding": None}, DTypeError, "Expected string for argument 'padding'"),
        ({"padding": [[0, 0], [1, 1]]}, InvalidArgumentError, "must be of size 4"),
        ({"padding": [[0, 0], [1, -1], [0, 0], [0, 0]]}, InvalidArgumentError, "must be nonnegative"),
        ({"padding": [[1, 0], [1, 1], [0, 0], [0, 0]]}, InvalidArgumentError, "batch or depth dimensions"),
        ({"data_format": "CHWN"}, InvalidArgumentError, "'data_format' of \"CHWN\""),
    ],
)
def test_attributes_that_make_no_sense_are_refused(on_device, arguments, error, text):
    with pytest.raises(error, match=text):
        conv.conv2d(Z["x"], Z["w"], **{"strides": 1, "padding": "SAME", **arguments})


@pytest.mark.parametrize("huge", [2**40, 2**62])
def test_huge_padding_is_an_error_of_ours(huge):
    with pytest.raises(SitusError):
        conv.conv2d(Z["x"], Z["w"], 1, [[0, 0], [huge, 0], [0, 0], [0, 0]])


def test_dtypes_that_do_not_convolve_are_refused(on_device):
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        conv.conv2d(Z["x"].astype(np.int32), Z["w"].astype(np.int32), 1, "SAME")
    with pytest.raises(DTypeError, match="cast input 'filter'"):
        conv.conv2d(to_tensor(Z["x"]), to_tensor(Z["w"], dt.float64), 1, "SAME")


def test_convolution_needs_a_filter_of_known_kind(on_device):
    for shape in ((3, 3), (2,) * 6):
        with pytest.raises(InvalidArgumentError, match="`filters` must have rank 3, 4 or 5"):
            conv.convolution(Z["x"], np.zeros(shape, np.float32))
    with pytest.raises(InvalidArgumentError, match="convolution input must be 4-dimensional"):
        conv.convolution(np.zeros((9, 2), np.float32), Z["w"])


@pytest.mark.parametrize(
    ("y", "w", "shape", "text"),
    [
        ((1, 2, 2, 5), (3, 3, 2, 5), [1, 5, 5, 2], r"actual = \[1,2,2,5\], computed = \[1,3,3,5\]"),
        ((1, 2, 2, 5), (3, 3, 2, 5), [3, 4, 4, 2], "Size of out_backprop doesn't match"),
        ((1, 2, 2, 4), (3, 3, 2, 5), [1, 4, 4, 2], "Size of out_backprop doesn't match"),
        ((1, 2, 2, 5), (3, 3, 2, 5), [1, 4, 4, 3], "evenly divisible by filter depth: 3 vs 2"),
        ((1, 2, 2, 5), (3, 3, 2, 5), [4, 4, 2], "must contain 4 values or 2 values"),
        ((1, 2, 2, 5), (3, 3, 2, 5), 4, "must contain 4 values or 2 values"),
        ((1, 2, 2, 5), (3, 3, 2, 5), [1, -1, 4, 2], "Dimension -1 must be >= 0"),
        ((1, 2, 2, 5), (3, 3, 2, 5), None, "`output_shape` must be given"),
        ((2, 2, 5), (3, 3, 2, 5), [1, 4, 4, 2], "must be 4-dimensional"),
        ((1, 2, 2, 5), (3, 2, 5), [1, 4, 4, 2], "filter must be 4-dimensional"),
    ],
)
def test_transposed_shapes_that_do_not_fit_are_refused(on_device, y, w, shape, text):
    with pytest.raises(InvalidArgumentError, match=text):
        transposed.conv2d_transpose(np.zeros(y, np.float32), np.zeros(w, np.float32), shape, 2)


def test_transposed_convolution_of_nothing(on_device):
    empty = np.zeros((0, 2, 2, 3), np.float32)
    assert transposed.conv2d_transpose(empty, wave(3, 3, 2, 3), [0, 4, 4, 2], 2).shape == (0, 4, 4, 2)
    nowhere = np.zeros((1, 0, 2, 3), np.float32)
    back = transposed.conv2d_transpose(nowhere, wave(3, 3, 2, 3), [1, 2, 4, 2], 1, "VALID")
    np.testing.assert_array_equal(back.numpy(), np.zeros((1, 2, 4, 2)))


@pytest.mark.parametrize(
    ("x", "w", "text"),
    [
        ((1, 4, 4, 2), (3, 3, 3, 2), "input and filter must have the same depth: 2 vs 3"),
        ((1, 4, 4, 2), (3, 3, 2), r"filter must be 4-dimensional: \[3,3,2\]"),
        ((4, 4, 2), (3, 3, 2, 1), r"input must be 4-dimensional: \[4,4,2\]"),
        ((1, 4, 4, 2), (0, 3, 2, 1), "filter must not have zero elements"),
    ],
)
def test_depthwise_shapes_that_do_not_fit_are_refused(on_device, x, w, text):
    with pytest.raises(InvalidArgumentError, match=text):
        deep.depthwise_conv2d(np.zeros(x, np.float32), np.zeros(w, np.float32), [1, 1, 1, 1], "SAME")


def test_the_pointwise_filter_has_one_element_in_space(on_device):
    with pytest.raises(InvalidArgumentError, match=r"must have shape \[1, 1, in, out\]"):
        deep.separable_conv2d(Z["x"], wave(3, 3, 2, 2), wave(2, 1, 4, 7), [1, 1, 1, 1], "SAME")
    with pytest.raises(InvalidArgumentError, match="input depth must be evenly divisible by filter depth: 4 vs 5"):
        deep.separable_conv2d(Z["x"], wave(3, 3, 2, 2), wave(1, 1, 5, 7), [1, 1, 1, 1], "SAME")


# TensorFlow 1's spellings, and shape rules.


def test_first_generation_spellings(on_device):
    x, w = wave(1, 5, 5, 2), wave(3, 3, 2, 2)
    y = conv.conv2d(x, w, 2, "SAME").numpy()
    same = np.testing.assert_array_equal
    same(conv.conv2d_v1(x, filter=w, strides=[1, 2, 2, 1], padding="SAME").numpy(), y)
    same(conv.conv2d_v1(x, filters=w, strides=[1, 2, 2, 1], padding="SAME", dilations=[1, 1, 1, 1]).numpy(), y)
    same(conv.convolution_v1(x, w, "SAME", strides=[2, 2]).numpy(), y)
    same(
        conv.convolution_v1(x, w, "VALID", dilation_rate=[2, 2]).numpy(),
        conv.conv2d(x, w, 1, "VALID", dilations=2).numpy(),
    )
    same(conv.conv1d_v1(x[0], w[0], 1, "SAME").numpy(), conv.conv1d(x[0], w[0], 1, "SAME").numpy())
    same(
        conv.conv3d_v1(x[None], w[None], [1] * 5, "SAME").numpy(),
        conv.conv3d(x[None], w[None], [1] * 5, "SAME").numpy(),
    )
    back = transposed.conv2d_transpose(y, w, x.shape, 2).numpy()
    same(transposed.conv2d_transpose_v1(value=y, filter=w, output_shape=x.shape, strides=[1, 2, 2, 1]).numpy(), back)
    same(
        transposed.conv3d_transpose_v1(y[None], w[None], x[None].shape, strides=[1, 1, 2, 2, 1]).numpy(),
        transposed.conv3d_transpose(y[None], w[None], x[None].shape, [1, 1, 2, 2, 1]).numpy(),
    )
    same(
        deep.depthwise_conv2d_v1(x, w, [1, 1, 1, 1], "SAME", rate=[2, 2]).numpy(),
        deep.depthwise_conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[2, 2]).numpy(),
    )
    p = wave(1, 1, 4, 3)
    same(
        deep.separable_conv2d_v1(x, w, p, [1, 1, 1, 1], "SAME", rate=2).numpy(),
        deep.separable_conv2d(x, w, p, [1, 1, 1, 1], "SAME", dilations=2).numpy(),
    )
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'filter' and 'filters'"):
        conv.conv2d_v1(x, filter=w, filters=w, strides=1, padding="SAME")


def shape_by_rule(name, *shapes, **attributes):
    declared = find_op(name)
    return declared.shape_rule(*(TensorShape(s) for s in shapes), **{**declared.attrs, **attributes})


def test_shape_rules_know_partial_shapes():
    assert shape_by_rule("Conv2D", [None, None, 8, 3], [3, 3, 3, 16]).as_list() == [None, None, 6, 16]
    assert shape_by_rule("Conv2D", [None, 8, 8, None], [None, 3, 3, None], padding="SAME").as_list() == [
        None,
        8,
        8,
        None,
    ]
    assert shape_by_rule("Conv2D", None, [3, 3, 3, 16]).rank is None
    with pytest.raises(InvalidArgumentError, match="evenly divisible by filter depth: 4 vs 3"):
        shape_by_rule("Conv2D", [None, None, None, 4], [3, 3, 3, 16])
    assert shape_by_rule("DepthwiseConv2dNative", [None, 8, None, 3], [3, 3, None, 2]).as_list() == [None, 6, None, 6]
    rule, attrs = find_op("Conv2DBackpropInput").shape_rule, find_op("Conv2DBackpropInput").attrs
    unknown = rule(None, TensorShape([3, 3, 2, 5]), TensorShape([None, 2, 2, 5]), **attrs)
    assert unknown.as_list() == [None, None, None, None]  # with 5 groups there would be 10 channels
    assert rule((1, 4, 4, 2), TensorShape(None), TensorShape(None), **attrs).as_list() == [1, 4, 4, 2]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_steps_and_gaps_at_once_are_refused_by_convolution(n):
    x, filters = np.ones([1, *[9] * n, 2], "float32"), np.ones([*[3] * n, 2, 4], "float32")
    with pytest.raises(ValueError, match="`strides > 1` not supported in conjunction with `dilation_rate > 1`"):
        conv.convolution(x, filters, strides=2, dilations=[1] * (n - 1) + [2])
    assert conv.convolution(x, filters, dilations=2).shape == (1, *[5] * n, 4)
