"""Gradients of convolution and pooling: PyTorch's autograd for random windows, differences for small ones."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.ir.registry.op import find_op
from situs._src.ops.constant import constant
from situs._src.ops.nn import conv, conv_transpose, depthwise, pool
from situs._src.ops.nn.activation import relu
from situs._src.ops.reduce import reduce_mean, reduce_sum
from tests.gradients.check import check, check_all, check_graph, check_second_order, check_torch, tape_gradient


def random(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape)


def distinct(*shape):
    """Numbers of which no two are near each other, so that maxima stay where they are."""
    return np.random.RandomState(0).permutation(prod(shape)).reshape(shape) / 10


# Convolution.


def same(size, window, stride, dilation=1):
    """TensorFlow's padding: how much before, how much after."""
    total = max((-(-size // stride) - 1) * stride + (window - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def amounts(sizes, windows, strides, padding, dilation=1):
    """The padding of all dimensions as PyTorch takes it."""
    if padding != "SAME":
        return [0] * (2 * len(sizes))
    pairs = [same(*each, dilation) for each in zip(sizes, windows, strides, strict=True)]
    return [amount for pair in reversed(pairs) for amount in pair]


@st.composite
def windows(draw):
    n = draw(st.integers(1, 3))
    sides = st.integers(1, 3)
    strides = draw(st.tuples(*[sides] * n))
    dilation = draw(st.integers(1, 2)) if max(strides) == 1 else 1
    return {
        "windows": draw(st.tuples(*[sides] * n)),
        "sizes": draw(st.tuples(*[st.integers(5, 6) if n < 3 else st.just(5)] * n)),
        "strides": strides,
        "padding": draw(st.sampled_from(["SAME", "VALID"])),
        "dilation": dilation,
    }


@settings(max_examples=25)
@given(windows(), st.integers(1, 2), st.integers(1, 2), st.integers(1, 3), st.booleans())
def test_convolutions_as_pytorch(laid, groups, depth, results, channels_first):
    n = len(laid["sizes"])
    last, first = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[n]
    to_first, to_last = (0, n + 1, *range(1, n + 1)), (0, *range(2, n + 2), 1)
    shape = (2, *laid["sizes"], groups * depth)

    def ours(x, filters):
        return conv.convolution(
            x, filters, laid["strides"], laid["padding"], first if channels_first else last, laid["dilation"]
        )

    def theirs(x, filters):
        x = x if channels_first else x.permute(to_first)
        x = functional.pad(
            x, amounts(laid["sizes"], laid["windows"], laid["strides"], laid["padding"], laid["dilation"])
        )
        convolve = [functional.conv1d, functional.conv2d, functional.conv3d][n - 1]
        weight = filters.permute(n + 1, n, *range(n))
        y = convolve(x, weight, None, laid["strides"], 0, laid["dilation"], groups)
        return y if channels_first else y.permute(to_last)

    x = random(*(shape[i] for i in to_first) if channels_first else shape)
    check_torch(ours, theirs, x, random(*laid["windows"], depth, results * groups, seed=1))


SMALL = {
    "1 dimension": (lambda x, f: conv.conv1d(x, f, 2, "SAME"), (1, 5, 2), (3, 2, 2)),
    "2 dimensions": (lambda x, f: conv.conv2d(x, f, (1, 2), "SAME"), (1, 3, 4, 1), (2, 3, 1, 2)),
    "3 dimensions": (lambda x, f: conv.conv3d(x, f, 2, "SAME"), (1, 3, 2, 3, 1), (2, 2, 2, 1, 1)),
    "explicit": (lambda x, f: conv.conv2d(x, f, 1, [[0, 0], [1, 0], [0, 1], [0, 0]]), (1, 3, 3, 1), (2, 2, 1, 2)),
    "channels first": (lambda x, f: conv.conv2d(x, f, 2, "SAME", "NCHW"), (1, 1, 3, 4), (2, 3, 1, 2)),
    "groups": (lambda x, f: conv.conv2d(x, f, 1, "VALID"), (1, 3, 1, 4), (2, 1, 2, 2)),
    "dilated": (lambda x, f: conv.atrous_conv2d(x, f, 2, "SAME"), (1, 3, 4, 1), (2, 2, 1, 1)),
    "batches": (lambda x, f: conv.conv2d(x, f, 1, "SAME"), (2, 1, 2, 3, 1), (2, 2, 1, 1)),
    "depthwise": (lambda x, f: depthwise.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"), (1, 2, 2, 2), (2, 2, 2, 2)),
    "depthwise steps": (
        lambda x, f: depthwise.depthwise_conv2d(x, f, [1, 2, 2, 1], "SAME"),
        (1, 4, 3, 2),
        (3, 2, 2, 1),
    ),
    "depthwise channels first": (
        lambda x, f: depthwise.depthwise_conv2d(x, f, [1, 1, 1, 1], "VALID", "NCHW"),
        (1, 2, 3, 3),
        (2, 2, 2, 1),
    ),
    "transposed": (lambda x, f: conv_transpose.conv2d_transpose(x, f, [1, 3, 4, 1], 2), (1, 2, 2, 2), (2, 3, 1, 2)),
    "transposed sequence": (
        lambda x, f: conv_transpose.conv1d_transpose(x, f, [1, 5, 1], 2, "VALID"),
        (1, 2, 2),
        (3, 1, 2),
    ),
    "transposed volume": (
        lambda x, f: conv_transpose.conv3d_transpose(x, f, [1, 2, 3, 2, 1], 2),
        (1, 1, 2, 1, 1),
        (2, 2, 2, 1, 1),
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_convolutions(name):
    function, x, filters = SMALL[name]
    check_all(function, random(*x), random(*filters, seed=1), second=name not in ("groups", "batches", "dilated"))


def test_a_separable_convolution():
    function = lambda x, f, g: depthwise.separable_conv2d(x, f, g, [1, 1, 1, 1], "SAME")  # noqa: E731
    check(function, random(1, 2, 2, 2), random(2, 2, 2, 1), random(1, 1, 2, 2))


def test_convolutions_of_any_rank():
    function = lambda x, f: conv.conv2d(x, f, 1, "SAME")  # noqa: E731
    check_graph(function, random(2, 2, 3, 1), random(2, 2, 1, 1), rank_known=False)
    check_graph(function, random(2, 1, 2, 3, 1), random(2, 2, 1, 1), rank_known=False)


def test_convolutions_without_elements():
    check(lambda x, f: conv.conv2d(x, f, 1, "SAME"), random(0, 3, 3, 2), random(2, 2, 2, 1))
    check(lambda x, f: conv.conv2d(x, f, 1, "VALID"), random(1, 1, 1, 2), random(2, 2, 2, 1))
    check(lambda x, f: depthwise.depthwise_conv2d(x, f, [1, 1, 1, 1], "VALID"), random(1, 1, 1, 2), random(2, 2, 2, 1))


def test_gradients_lie_in_memory_as_their_tensors_do(on_device):
    """What is laid out otherwise would be copied by whatever comes next."""
    x, filters = constant(random(2, 6, 6, 3), dt.float32), constant(random(3, 3, 3, 4), dt.float32)
    with GradientTape() as tape:
        tape.watch([x, filters])
        made = pool.max_pool2d(conv.conv2d(x, filters, 1, "SAME"), 3, 2, "SAME")
    assert all(grad._value.is_contiguous() for grad in tape.gradient(made, [x, filters]))


def test_only_what_is_wanted_is_computed():
    with tf1.Graph().as_default() as graph:
        x, f = tf1.placeholder(tf1.float32, [1, 4, 4, 2]), tf1.placeholder(tf1.float32, [2, 2, 2, 3])
        gradients(tf1.nn.conv2d(x, f, [1, 1, 1, 1], "SAME"), [f])
        types = {op.type for op in graph.get_operations()}
    assert "Conv2DBackpropFilter" in types
    assert "Conv2DBackpropInput" not in types


# Pooling.


@settings(max_examples=25)
@given(windows(), st.sampled_from(["MAX", "AVG"]))
def test_pooling_as_pytorch(laid, kind):
    n, padding = len(laid["sizes"]), laid["padding"]
    if laid["dilation"] > 1:
        padding = "VALID"
    pads = amounts(laid["sizes"], laid["windows"], laid["strides"], padding)
    to_first, to_last = (0, n + 1, *range(1, n + 1)), (0, *range(2, n + 2), 1)

    def theirs(x):
        """Windows cut out one by one: no pooling of PyTorch's has all of these paddings."""
        x = x.permute(to_first)
        there = functional.pad(torch.ones_like(x), pads)
        x = functional.pad(x, pads, value=-torch.inf if kind == "MAX" else 0)
        for dim, (window, stride) in enumerate(zip(laid["windows"], laid["strides"], strict=True), start=2):
            reach = (window - 1) * laid["dilation"] + 1
            x, there = (each.unfold(dim, reach, stride)[..., :: laid["dilation"]] for each in (x, there))
        inner = tuple(range(-n, 0))
        y = x.flatten(-n).amax(-1) if kind == "MAX" else x.sum(inner) / there.sum(inner)
        return y.permute(to_last)

    check_torch(
        lambda x: pool.pool(x, laid["windows"], kind, laid["strides"], padding, dilations=laid["dilation"]),
        theirs,
        distinct(2, *laid["sizes"], 2),
    )


POOLS = {
    "max": (lambda x: pool.max_pool2d(x, 3, 2, "SAME"), (1, 4, 3, 1)),
    "max that overlap": (lambda x: pool.max_pool2d(x, 2, 1, "SAME"), (1, 3, 3, 1)),
    "max channels first": (lambda x: pool.max_pool2d(x, 3, 2, "SAME", "NCHW"), (1, 1, 4, 3)),
    "max explicit": (lambda x: pool.max_pool2d(x, 4, 1, [[0, 0], [3, 0], [0, 3], [0, 0]]), (1, 3, 3, 1)),
    "max 1": (lambda x: pool.max_pool1d(x, 2, 2, "SAME"), (2, 5, 2)),
    "max 3": (lambda x: pool.max_pool3d(x, 2, 2, "SAME"), (1, 3, 2, 3, 1)),
    "max with places": (lambda x: pool.max_pool_with_argmax(x, 2, 1, "SAME")[0], (2, 2, 2, 1)),
    "max with places in a batch": (
        lambda x: pool.max_pool_with_argmax(x, 2, 1, "SAME", include_batch_in_index=True)[0],
        (2, 2, 2, 1),
    ),
    "avg": (lambda x: pool.avg_pool2d(x, 3, 2, "SAME"), (1, 4, 3, 1)),
    "avg that overlap": (lambda x: pool.avg_pool2d(x, 2, 1, "SAME"), (1, 3, 3, 1)),
    "avg channels first": (lambda x: pool.avg_pool2d(x, 3, 2, "SAME", "NCHW"), (1, 1, 4, 3)),
    "avg 1": (lambda x: pool.avg_pool1d(x, 2, 2, "SAME"), (2, 5, 2)),
    "avg 3": (lambda x: pool.avg_pool3d(x, 2, 2, "SAME"), (1, 3, 2, 3, 1)),
}


@pytest.mark.parametrize("name", POOLS)
def test_small_pools(name):
    function, shape = POOLS[name]
    check_all(function, distinct(*shape))


def test_pools_of_any_rank_are_of_two_dimensions():
    check_graph(lambda x: pool.max_pool2d(x, 2, 2, "SAME"), distinct(1, 3, 3, 2), rank_known=False)
    check_graph(lambda x: pool.avg_pool2d(x, 2, 2, "SAME"), distinct(1, 3, 3, 2), rank_known=False)


@pytest.mark.parametrize("function", [pool.max_pool2d, pool.avg_pool2d])
def test_pools_without_elements(function):
    check(lambda x: function(x, 2, 1, "VALID"), random(0, 3, 3, 1))
    check(lambda x: function(x, 2, 1, "VALID"), random(1, 1, 3, 1))


def test_the_first_of_several_maxima_takes_the_gradient(on_device):
    """Recorded from TensorFlow 2.21."""
    ones = np.ones((1, 4, 4, 1))
    (found,) = tape_gradient(lambda x: pool.max_pool2d(x, 2, 2, "VALID"), ones, dtype=dt.float32)
    assert found[0, :, :, 0].tolist() == [[1, 0, 1, 0], [0] * 4, [1, 0, 1, 0], [0] * 4]
    (found,) = tape_gradient(lambda x: pool.max_pool2d(x, 3, 2, "SAME"), ones, dtype=dt.float32)
    assert found[0, :, :, 0].tolist() == [[1, 0, 1, 0], [0] * 4, [1, 0, 1, 0], [0] * 4]
    (found,) = tape_gradient(lambda x: pool.avg_pool2d(x, 3, 2, "SAME"), ones, dtype=dt.float32)
    np.testing.assert_allclose(found[0, 2, :, 0], [0.2777778, 0.2777778, 0.6944445, 0.4166667], rtol=1e-6)


def test_a_maximum_keeps_its_places_and_not_what_it_was_found_in():
    x = constant(distinct(1, 4, 4, 1), dt.float32)
    with GradientTape() as tape:
        tape.watch(x)
        pool.max_pool2d(x, 2, 2, "VALID")
    (record,) = tape._tape.records
    sizes, *tensors = record.kept
    assert sizes == (1, 4, 4, 1)
    assert {tensor.dtype for tensor in tensors} == {dt.int64, dt.float32}  # the places, and the maxima
    assert [tensor.shape for tensor in tensors] == [[1, 2, 2, 1]] * 2


def test_a_gradient_that_was_broadcast():
    """Its strides are zero, as those of a mean's gradient are."""
    x = constant(distinct(2, 4, 4, 2), dt.float32)
    with GradientTape() as tape:
        tape.watch(x)
        made = reduce_mean(pool.max_pool2d(x, 3, 2, "SAME")) + reduce_mean(pool.avg_pool2d(x, 3, 2, "SAME"))
    assert float(reduce_sum(tape.gradient(made, x))) == pytest.approx(2)


# Short numbers, and where things run.

SHORT = {
    "conv": lambda x: conv.conv2d(x, constant(random(3, 3, 2, 2) / 4, x.dtype), 1, "SAME"),
    "conv 1": lambda x: conv.conv1d(x[0], constant(random(3, 2, 2) / 4, x.dtype), 1, "SAME"),
    "filter": lambda x: conv.conv2d(constant(random(1, 4, 4, 2) / 4, x.dtype), x[:, :, :, :], 1, "SAME"),
    "depthwise": lambda x: depthwise.depthwise_conv2d(
        x, constant(random(3, 3, 2, 1) / 4, x.dtype), [1, 1, 1, 1], "SAME"
    ),
    "transposed": lambda x: conv_transpose.conv2d_transpose(
        x, constant(random(3, 3, 2, 2) / 4, x.dtype), [2, 4, 4, 2], 1
    ),
    "max": lambda x: pool.max_pool2d(x, 3, 2, "SAME"),
    "max 3": lambda x: pool.max_pool3d(x[None], 2, 1, "SAME"),
    "avg": lambda x: pool.avg_pool2d(x, 3, 2, "SAME"),
    "avg 3": lambda x: pool.avg_pool3d(x[None], 2, 2, "SAME"),
}


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", SHORT)
def test_short_numbers(name, dtype, on_device):
    x = distinct(2, 4, 4, 2) / 8
    if name == "filter":
        x = x[:, :, :2]
    (wanted,) = tape_gradient(SHORT[name], x, dtype=dt.float32)
    (found,) = tape_gradient(SHORT[name], x, dtype=dtype)
    assert found.dtype == dtype.as_numpy_dtype
    np.testing.assert_allclose(found.astype("float32"), wanted, rtol=0.03, atol=0.05)


def test_the_gradients_of_a_network_on_every_device(on_device):
    """Sizes that training has, so that the kernels for them run; the same in float64 is the truth.

    A card rounds the numbers that it multiplies to 10 bits, so that here and there another element is the largest.
    """
    x, f = random(8, 16, 16, 3), random(5, 5, 3, 16, seed=1) / 8

    def network(x, f):
        made = relu(conv.conv2d(x, f, 1, "SAME"))
        return pool.max_pool2d(made, 3, 2, "SAME")

    wanted = tape_gradient(network, x, f, dtype=dt.float64)
    found = tape_gradient(network, x, f, dtype=dt.float32)
    for one, other in zip(found, wanted, strict=True):
        assert np.isclose(one, other, rtol=1e-2, atol=2e-2).mean() > 0.95


def test_gradient_ops_refuse_what_does_not_fit():
    grad, x = constant(random(1, 3, 3, 2)), constant(random(1, 4, 4, 2))
    with pytest.raises(ValueError, match="the convolution gives"):
        find_op("Conv2DBackpropFilter")(x, (2, 2, 2, 2), grad, padding="SAME")
    with pytest.raises(ValueError, match="must be 4-dimensional"):
        find_op("Conv2DBackpropFilter")(x, (2, 2, 2), grad)
    with pytest.raises(ValueError, match="out_backprop has shape"):
        find_op("DepthwiseConv2dNativeBackpropInput")((1, 4, 4, 2), constant(random(2, 2, 2, 1)), grad, padding="SAME")


def test_second_order_in_a_network():
    def network(x, f):
        return pool.max_pool2d(conv.conv2d(x * x, f, 1, "SAME"), 2, 2, "SAME")

    check_second_order(network, distinct(1, 3, 3, 1), distinct(2, 2, 1, 1) + 0.05, graph=False)
