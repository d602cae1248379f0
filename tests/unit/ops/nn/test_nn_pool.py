"""Pooling against a plain NumPy pooling and figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import pool
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, SitusError, UnimplementedError

MAX = {1: pool.max_pool1d, 2: pool.max_pool2d, 3: pool.max_pool3d}
AVG = {1: pool.avg_pool1d, 2: pool.avg_pool2d, 3: pool.avg_pool3d}
CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def wave(*shape, dtype=np.float32):
    return (np.sin(np.arange(np.prod(shape)) * 1.3 + 0.2) * 2).astype(dtype).reshape(shape)


def windows_of(size, window, stride, padding):
    """The elements of each window along one dimension; padding leaves some out."""
    if padding == "SAME":
        count = -(-size // stride)
        before = max((count - 1) * stride + window - size, 0) // 2
    elif padding == "VALID":
        count, before = (size - window) // stride + 1, 0
    else:
        count, before = (size + sum(padding) - window) // stride + 1, padding[0]
    starts = [number * stride - before for number in range(count)]
    return [[place for place in range(start, start + window) if 0 <= place < size] for start in starts]


def plain_pool(x, function, windows, strides, paddings):
    """The definition of pooling, channels last."""
    along = [windows_of(*each) for each in zip(x.shape[1:-1], windows, strides, paddings, strict=True)]
    y = np.zeros((len(x), *map(len, along), x.shape[-1]), x.dtype)
    for place in itertools.product(*(range(len(each)) for each in along)):
        chosen = np.ix_(range(len(x)), *(each[p] for each, p in zip(along, place, strict=True)), range(x.shape[-1]))
        y[(slice(None), *place)] = function(x[chosen], axis=tuple(range(1, x.ndim - 1)))
    return y


def last_to_first(x):
    return np.moveaxis(x, -1, 1)


@pytest.mark.parametrize(
    ("call", "expected"),
    # Recorded from TensorFlow 2.21.
    [
        (
            lambda: pool.max_pool2d(wave(1, 5, 5, 1), 3, 2, "SAME"),
            [1.99498999, 1.99498999, -1.23627424, 1.97871649, 1.97871649, -0.4612914, 1.75176215, 1.67331123],
        ),
        (
            lambda: pool.avg_pool2d(wave(1, 5, 5, 1), [2, 3], [1, 2], "SAME"),
            [1.29518628, 0.23508109, -1.5659771, 1.46058834, 0.01665344, -1.47977161, 1.55759883, -0.20255393],
        ),
        (
            lambda: pool.avg_pool3d(wave(1, 3, 3, 3, 1), 2, 2, "SAME"),
            [-0.37422818, 0.62008375, 1.35102081, -1.22674012, -0.51623547, -0.09181505, 0.94324994, 1.05816543],
        ),
        (
            lambda: pool.max_pool_with_argmax(wave(1, 4, 4, 2), 3, 2, "SAME")[0],
            [1.75176215, 1.99498999, 1.97871649, 1.50314689, 1.75176215, 1.91835165, 1.9951148, 1.39848006],
        ),
        (
            lambda: pool.max_pool_with_argmax(wave(1, 4, 4, 2), 3, 2, "SAME")[1],
            [20, 1, 6, 15, 20, 25, 30, 21],
        ),
    ],
)
def test_figures_are_tensorflows(on_device, call, expected):
    result = call()
    assert result.device == on_device
    np.testing.assert_allclose(result.numpy().ravel()[:8], expected, rtol=1e-5, atol=1e-6)


cases = st.integers(1, 3).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "sizes": st.tuples(*[st.integers(1, 7)] * n),
            "windows": st.tuples(*[st.integers(1, 5)] * n),
            "strides": st.tuples(*[st.integers(1, 3)] * n),
            "padding": st.sampled_from(["SAME", "VALID"]),
            "first": st.booleans(),
        }
    )
)


def small_enough(case):
    return case["padding"] == "SAME" or all(w <= s for w, s in zip(case["windows"], case["sizes"], strict=True))


@given(cases.filter(small_enough))
def test_pooling_is_the_plain_one(case):
    n = len(case["sizes"])
    x = wave(2, *case["sizes"], 3)
    data_format = CHANNELS_FIRST[n] if case["first"] else None
    given_x = last_to_first(x) if case["first"] else x
    arguments = case["windows"], case["strides"], case["padding"], data_format
    for functions, general, function in ((MAX, pool.max_pool, np.max), (AVG, pool.avg_pool, np.mean)):
        expected = plain_pool(x, function, case["windows"], case["strides"], [case["padding"]] * n)
        found = functions[n](given_x, *arguments).numpy()
        np.testing.assert_allclose(found, last_to_first(expected) if case["first"] else expected, atol=1e-6)
        np.testing.assert_array_equal(general(given_x, *arguments).numpy(), found)


@given(
    st.tuples(*[st.integers(1, 6)] * 2),
    st.tuples(*[st.integers(1, 4)] * 2),
    st.integers(1, 3),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_explicitly_padded_maxima_are_the_plain_ones(sizes, windows, stride, amounts):
    pairs = [(min(a, w - 1), min(b, w - 1)) for a, b, w in zip(amounts[::2], amounts[1::2], windows, strict=True)]
    if any(size + sum(pair) < w for size, pair, w in zip(sizes, pairs, windows, strict=True)):
        return
    x = wave(2, *sizes, 2) - 5
    expected = plain_pool(x, np.max, windows, (stride, stride), pairs)
    found = pool.max_pool2d(x, windows, stride, [[0, 0], *pairs, [0, 0]])
    np.testing.assert_array_equal(found.numpy(), expected)


@given(cases.filter(lambda case: len(case["sizes"]) == 2 and small_enough(case)), st.booleans())
def test_argmax_points_at_the_maxima(case, through_batch):
    x = wave(2, *case["sizes"], 3)
    largest, places = pool.max_pool_with_argmax(
        x, case["windows"], case["strides"], case["padding"], include_batch_in_index=through_batch
    )
    np.testing.assert_array_equal(
        largest.numpy(), plain_pool(x, np.max, case["windows"], case["strides"], [case["padding"]] * 2)
    )
    for image, found, indices in zip(x, largest.numpy(), places.numpy(), strict=True):
        source = x if through_batch else image
        np.testing.assert_array_equal(source.ravel()[indices], found)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_floating_dtypes(on_device, n, dtype):
    x = wave(2, *[4] * n, 2)
    for functions, function in ((MAX, np.max), (AVG, np.mean)):
        found = functions[n](to_tensor(x, dtype), 3, 2, "SAME")
        assert found.dtype is dtype
        expected = plain_pool(x, function, [3] * n, [2] * n, ["SAME"] * n)
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8"])
def test_maxima_of_integers_on_the_cpu(name):
    x = np.arange(9).reshape(1, 3, 3, 1).astype(name)
    found = pool.max_pool2d(x, 2, 2, "SAME")
    assert found.dtype.name == name
    np.testing.assert_array_equal(found.numpy().ravel(), [4, 5, 7, 8])
    padded = pool.max_pool2d(x, 2, 2, [[0, 0], [1, 0], [1, 0], [0, 0]])
    np.testing.assert_array_equal(padded.numpy().ravel(), [0, 2, 6, 8])
    assert [tensor.dtype.name for tensor in pool.max_pool_with_argmax(x, 2, 2, "SAME")] == [name, "int64"]


def test_padding_is_below_every_number(on_device):
    x = np.full((1, 3, 3, 1), -np.inf, np.float32)
    assert (pool.max_pool2d(x, 2, 1, "SAME").numpy() <= np.finfo(np.float32).min).all()
    largest, places = pool.max_pool_with_argmax(x, 4, 1, "SAME")
    assert (largest.numpy() == -np.inf).all()
    assert places.numpy().min() >= 0
    assert places.numpy().max() < 9


def test_indices_may_be_int32(on_device):
    _, places = pool.max_pool_with_argmax(wave(1, 4, 4, 1), 2, 2, "VALID", output_dtype=dt.int32)
    assert places.dtype is dt.int32
    with pytest.raises(DTypeError, match="'Targmax'"):
        pool.max_pool_with_argmax(wave(1, 4, 4, 1), 2, 2, "VALID", output_dtype=dt.float32)


@pytest.mark.parametrize(
    ("shape", "padding", "expected"),
    [
        ((0, 4, 4, 2), "SAME", (0, 2, 2, 2)),
        ((1, 0, 4, 2), "SAME", (1, 0, 2, 2)),
        ((1, 4, 4, 0), "SAME", (1, 2, 2, 0)),
        ((1, 1, 4, 2), "VALID", (1, 0, 2, 2)),
    ],
)
def test_nothing_comes_of_nothing(on_device, shape, padding, expected):
    x = np.zeros(shape, np.float32)
    assert pool.max_pool2d(x, 2, 2, padding).shape == expected
    assert pool.avg_pool2d(x, 2, 2, padding).shape == expected
    assert [tensor.shape for tensor in pool.max_pool_with_argmax(x, 2, 2, padding)] == [expected, expected]


def test_results_of_images_lie_in_memory_as_given(on_device):
    x = wave(2, 6, 6, 3)
    for function in (pool.max_pool2d, pool.avg_pool2d):
        assert function(x, 3, 2, "SAME")._value.is_contiguous()


def test_views_are_pooled_too(on_device):
    x = wave(3, 5, 4, 2).transpose(3, 2, 1, 0)
    np.testing.assert_array_equal(
        pool.max_pool2d(to_tensor(x), 2, 1, "SAME").numpy(), plain_pool(x, np.max, (2, 2), (1, 1), ["SAME"] * 2)
    )


# tf.nn.pool.


@pytest.mark.parametrize(("kind", "function"), [("MAX", np.max), ("AVG", np.mean)])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pool_takes_windows_over_any_number_of_dimensions(on_device, n, kind, function):
    x = wave(1, *[5] * n, 2)
    found = pool.pool(x, [2] * n, kind, strides=[2] * n, padding="SAME").numpy()
    np.testing.assert_allclose(found, plain_pool(x, function, [2] * n, [2] * n, ["SAME"] * n), atol=1e-6)
    first = pool.pool(last_to_first(x), [2] * n, kind, strides=[2] * n, padding="SAME", data_format=CHANNELS_FIRST[n])
    np.testing.assert_allclose(first.numpy(), last_to_first(found), atol=1e-6)
    dilated = pool.pool(x, [2] * n, kind, dilations=[3] * n).numpy()
    every_third = plain_pool(x[(slice(None), *[slice(0, 4, 3)] * n)], function, [2] * n, [1] * n, ["VALID"] * n)
    np.testing.assert_allclose(dilated[(slice(None), *[slice(0, 1)] * n)], every_third, atol=1e-6)
    assert dilated.shape == (1, *[2] * n, 2)


def test_pool_refuses_what_is_not_there(on_device):
    x = wave(1, 5, 5, 1)
    for arguments, text in (
        ((x, [2, 2], "MEDIAN"), "2-D MEDIAN pooling is not supported"),
        ((x, [2] * 4, "MAX"), "4-D MAX pooling is not supported"),
        ((x, [2] * 3, "MAX"), "must be 5-dimensional"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            pool.pool(*arguments)
    with pytest.raises(InvalidArgumentError, match="'SAME' padding is not implemented for `dilations` > 1"):
        pool.pool(x, [2, 2], "MAX", padding="SAME", dilations=[2, 2])


# Wrong calls.


@pytest.mark.parametrize("function", [pool.max_pool2d, pool.avg_pool2d], ids=["max", "avg"])
@pytest.mark.parametrize(
    ("shape", "arguments", "error", "text"),
    [
        ((4, 4, 2), (2, 2, "SAME"), InvalidArgumentError, r"must be 4-dimensional, got \[4,4,2\]"),
        ((1, 4, 4, 2), (6, 1, "VALID"), InvalidArgumentError, "Computed output size would be negative: -1"),
        ((1, 4, 4, 2), (0, 1, "SAME"), InvalidArgumentError, "ksize must be positive"),
        ((1, 4, 4, 2), (-2, 1, "SAME"), InvalidArgumentError, "ksize must be positive"),
        ((1, 4, 4, 2), (2, 0, "SAME"), InvalidArgumentError, "strides should be larger than 0"),
        ((1, 4, 4, 2), ([2, 2, 1], 1, "SAME"), InvalidArgumentError, "ksize should be of length 1, 2 or 4"),
        ((1, 4, 4, 2), (2, 1, "same"), InvalidArgumentError, "'padding' of \"same\""),
        ((1, 4, 4, 2), (2, 1, "SAME", "CHWN"), InvalidArgumentError, "'data_format' of \"CHWN\""),
        ((1, 4, 4, 2), ([1, 1, 1, 2], 1, "SAME"), UnimplementedError, "pooling in the batch and depth"),
        ((1, 4, 4, 2), ([2, 1, 1, 1], 1, "SAME"), UnimplementedError, "pooling in the batch and depth"),
        ((1, 4, 4, 2), (2, [1, 1, 1, 2], "SAME"), UnimplementedError, "strides in the batch and depth"),
    ],
)
def test_wrong_calls_are_refused(on_device, function, shape, arguments, error, text):
    with pytest.raises(error, match=text):
        function(np.zeros(shape, np.float32), *arguments)


def test_more_wrong_calls_are_refused(on_device):
    x = wave(1, 4, 4, 2)
    with pytest.raises(InvalidArgumentError, match="Padding 3 needs to be smaller than the window size 2"):
        pool.max_pool2d(x, 2, 2, [[0, 0], [3, 0], [0, 0], [0, 0]])
    with pytest.raises(InvalidArgumentError, match="Average pooling takes padding 'SAME' or 'VALID'"):
        pool.avg_pool2d(x, 2, 2, [[0, 0], [1, 0], [0, 0], [0, 0]])
    with pytest.raises(InvalidArgumentError, match=r"rank` must be 3, 4 or 5"):
        pool.max_pool(wave(4, 4), 2, 2, "SAME")
    with tf.Graph().as_default(), pytest.raises(DTypeError, match="Expected string for argument 'data_format' not 3"):
        pool.max_pool(tf.placeholder(dt.float32), 2, 2, "SAME", 3)
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        pool.avg_pool2d(x.astype(np.int32), 2, 2, "SAME")
    with pytest.raises(InvalidArgumentError, match="other than 'NHWC' are not supported"):
        pool.max_pool_with_argmax(x, 2, 2, "SAME", data_format="NCHW")
    with pytest.raises(InvalidArgumentError, match="must be 4-dimensional"):
        pool.max_pool_with_argmax(x[0], 2, 2, "SAME")
    with pytest.raises(InvalidArgumentError, match="takes padding 'SAME' or 'VALID'"):
        pool.max_pool_with_argmax(x, 2, 2, [[0, 0]] * 4)


def test_huge_windows_are_no_crash():
    x = wave(1, 4, 4, 1)
    for function in (pool.max_pool2d, pool.avg_pool2d):
        with pytest.raises(SitusError):
            function(x, 2**62, 1, "VALID")


# TensorFlow 1's spellings, and shape rules.


def test_first_generation_spellings(on_device):
    x = wave(1, 5, 5, 2)
    window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    same = np.testing.assert_array_equal
    same(pool.max_pool_v1(x, **window).numpy(), pool.max_pool2d(x, 2, 2, "SAME").numpy())
    same(pool.max_pool_v1(value=x, **window).numpy(), pool.max_pool_v1(input=x, **window).numpy())
    same(pool.avg_pool_v1(x, **window).numpy(), pool.avg_pool2d(x, 2, 2, "SAME").numpy())
    same(
        pool.pool_v1(x, [2, 2], "MAX", "VALID", dilation_rate=[2, 2]).numpy(),
        pool.pool(x, [2, 2], "MAX", dilations=[2, 2]).numpy(),
    )
    assert pool.max_pool_with_argmax_v1(x, 2, 2, "SAME", Targmax=dt.int32)[1].dtype is dt.int32
    assert pool.max_pool_with_argmax_v1(x, 2, 2, "SAME")[1].dtype is dt.int64
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'value' and 'input'"):
        pool.max_pool_v1(value=x, input=x, **window)


def test_shape_rules_know_partial_shapes():
    declared = find_op("MaxPool")
    attrs = {**declared.attrs, "ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "SAME"}
    for shape in declared.shape_rule(TensorShape([None, None, 7, 3]), **attrs):  # of the results and their places
        assert shape.as_list() == [None, None, 4, 3]
    assert declared.shape_rule(TensorShape(None), **attrs)[0].as_list() == [None] * 4
    with pytest.raises(InvalidArgumentError, match="must be 4-dimensional"):
        declared.shape_rule(TensorShape([None, 3]), **attrs)


def test_max_pool_with_argmax_has_fields() -> None:
    image = np.array([[1.0, 5.0], [7.0, 2.0]], "float32").reshape(1, 2, 2, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        made = session.run(tf.nn.max_pool_with_argmax(image, 2, 2, "VALID"))
    assert type(made).__name__ == "MaxPoolWithArgmax"
    assert (made.output.item(), made.argmax.item()) == (7.0, 2)
