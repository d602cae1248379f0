"""Gradients of activations, biases, losses, norms and dropout."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import situs.compat.v1 as tf1
from situs._src.autodiff.backprop import NoGradientError
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.ops import math
from situs._src.ops.constant import constant
from situs._src.ops.nn import activation, bias, dropout, embedding, loss, normalize
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.seeds import set_seed
from tests.gradients.check import (
    NAN,
    check,
    check_all,
    check_graph,
    check_second_order,
    check_torch,
    sample,
    sample_complex,
    tape_gradient,
)


def random(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape)


# Activations: what PyTorch calls them.

ACTIVATIONS = {
    "relu": functional.relu,
    "relu6": functional.relu6,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.2),
    "elu": functional.elu,
    "selu": functional.selu,
    "softplus": lambda x: functional.softplus(x, threshold=40),
    "softsign": functional.softsign,
    "log_sigmoid": functional.logsigmoid,
    "gelu": functional.gelu,
    "silu": functional.silu,
    "softmax": lambda x: functional.softmax(x, -1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    check_all(getattr(activation, name), 2 * random(2, 5), torch=ACTIVATIONS[name])


STEERED = {
    "relu6 beyond 6": lambda x: activation.relu6(math.multiply(x, 10)),
    "leaky_relu": lambda x: activation.leaky_relu(x, 0.3),
    "crelu": activation.crelu,
    "crelu of rows": lambda x: activation.crelu(x, 0),
    "gelu by tanh": lambda x: activation.gelu(x, approximate=True),
    "softmax of columns": lambda x: activation.softmax(x, 0),
    "log_softmax of columns": lambda x: activation.log_softmax(x, 0),
}


@pytest.mark.parametrize("name", STEERED)
def test_activations_with_attributes(name):
    check_all(STEERED[name], random(2, 3))


def test_swish_has_a_gradient_for_its_steepness():
    check_all(activation.silu, random(2, 3), random(3, seed=1))
    check_all(activation.silu, sample_complex((2, 3)), sample_complex((3,), seed=3))
    check_all(activation.silu, sample_complex((2, 3)))


# What TensorFlow 2.21 gives where there is a choice, at -1, 0, 1, 6 and 7.
AT_KINKS = {
    "relu": [0, 0, 1, 1, 1],
    "relu6": [0, 0, 1, 0, 0],
    "leaky_relu": [0.2, 0.2, 1, 1, 1],
    "elu": [0.36787945, 1, 1, 1, 1],
    "selu": [0.64676857, 1.050701, 1.050701, 1.050701, 1.050701],
    "softplus": [0.26894143, 0.5, 0.7310586, 0.99752736, 0.99908894],
    "softsign": [0.25, 1, 0.25, 0.020408163, 0.015625],
    "gelu": [-0.08331549, 0.5, 1.0833155, 1, 1],
    "silu": [0.07232948, 0.5, 0.92767054, 1.0123265, 1.0054606],
    "crelu": [-1, 0, 1, 1, 1],
}


@pytest.mark.parametrize("name", AT_KINKS)
def test_activations_at_kinks(name, on_device):
    (found,) = tape_gradient(getattr(activation, name), [-1, 0, 1, 6, 7], dtype=dt.float32)
    np.testing.assert_allclose(found, AT_KINKS[name], rtol=1e-6, atol=1e-7)


def test_only_results_are_kept_where_they_say_enough():
    x = constant([1.0, -1.0])
    with GradientTape() as tape:
        tape.watch(x)
        kept = [function(x) for function in (activation.relu, activation.elu, activation.softmax)]
    assert [record.kept for record in tape._tape.records] == [(made,) for made in kept]


# Biases.


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_biases(data_format):
    channels = {"NHWC": 2, "NCHW": 3}[data_format]
    check_all(lambda x, b: bias.bias_add(x, b, data_format), random(2, 3, 2), random(channels))


def test_layers_of_one_product():
    check_all(bias.relu_layer, random(2, 3), random(3, 2), random(2, seed=1))


# Losses.

ROWS = random(3, 4)
SHARES = np.abs(random(3, 4, seed=1)) / np.abs(random(3, 4, seed=1)).sum(1, keepdims=True)
CLASSES = np.array([0, 3, 1])


def entropy(labels, axis=-1):
    return lambda logits: loss.softmax_cross_entropy_with_logits(labels, logits, axis)


def test_cross_entropy():
    theirs = lambda x: functional.cross_entropy(x, torch.tensor(SHARES), reduction="none")  # noqa: E731
    check_all(entropy(SHARES), ROWS, torch=theirs)
    check_all(entropy(SHARES.T, axis=0), ROWS.T)


def test_cross_entropy_of_labels():
    both = lambda x, y: loss.softmax_cross_entropy_with_logits(y, x)  # noqa: E731
    check_all(both, ROWS, SHARES, second=False)
    check_all(lambda y: both(ROWS, y), SHARES[:1])  # one row of labels for all
    with tf1.Graph().as_default():
        x, y = tf1.placeholder(tf1.float32, [3, 4]), tf1.placeholder(tf1.float32, [3, 4])
        made = tf1.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)
        assert gradients(made, [y]) == [None]  # TensorFlow 1's function takes labels as constants
        assert gradients(tf1.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x), [y]) != [None]


def test_labels_that_sum_to_two():
    """TensorFlow 2.21 subtracts the labels from the softmax whatever they sum to."""
    (found,) = tape_gradient(entropy([[1.0, 1.0, 0.0]]), [[1, 2, 3]], dtype=dt.float32)
    np.testing.assert_allclose(found, [[-0.90996945, -0.75527155, 0.66524094]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cross_entropy_of_classes(dtype):
    function = lambda x: loss.sparse_softmax_cross_entropy_with_logits(CLASSES.astype(dtype), x)  # noqa: E731
    theirs = lambda x: functional.cross_entropy(x, torch.tensor(CLASSES), reduction="none")  # noqa: E731
    check_all(function, ROWS, torch=theirs)
    many = np.array([[0, 3, 1], [2, 2, 0]], dtype)
    check_all(lambda x: loss.sparse_softmax_cross_entropy_with_logits(many, x), random(2, 3, 4))


def test_a_class_that_does_not_exist_has_no_gradient_on_a_gpu():
    with tf1.device("GPU:0"):
        logits, labels = constant(ROWS, dt.float32), constant([0, 7, 1])
        with GradientTape() as tape:
            tape.watch(logits)
            made = loss.sparse_softmax_cross_entropy_with_logits(labels, logits)
        found = tape.gradient(made, logits).numpy()
    assert np.isnan(made.numpy()).tolist() == [False, True, False]
    assert np.isnan(found).all(1).tolist() == [False, True, False]


def test_yes_or_no():
    theirs = lambda x, y: functional.binary_cross_entropy_with_logits(x, y, reduction="none")  # noqa: E731
    check_all(
        lambda x, y: loss.sigmoid_cross_entropy_with_logits(labels=y, logits=x), ROWS[:2], SHARES[:2], torch=theirs
    )
    (found,) = tape_gradient(lambda x: loss.sigmoid_cross_entropy_with_logits([0.3, 0.3], x), [0, 2], dtype=dt.float32)
    np.testing.assert_allclose(found, [0.2, 0.5807971], rtol=1e-6)


@pytest.mark.parametrize("shape", [(4,), (2, 2, 4), ()])
def test_weighted_yes_or_no(shape):
    check_all(
        lambda x, y, w: loss.weighted_cross_entropy_with_logits(y, x, w), ROWS[:2], SHARES[:2], sample(0.5, 2, shape)
    )


def test_other_losses():
    check_all(loss.l2_loss, ROWS)
    for full in (False, True):
        check_all(lambda x, n: loss.log_poisson_loss(n, x, full), ROWS[:2], 5 * SHARES[:2])  # noqa: B023


# Norms.


def test_moments():
    check(lambda x: normalize.moments(x, [0]), ROWS)
    check_graph(lambda x: normalize.moments(x, [0, 1]), ROWS)


def test_lengths():
    check_all(lambda x: normalize.l2_normalize(x, 1), ROWS[:2], torch=lambda x: functional.normalize(x, dim=1))


def test_batches_with_given_moments():
    function = lambda x, m, v, o, s: normalize.batch_normalization(x, m, v, o, s, 1e-3)  # noqa: E731
    check_all(function, ROWS[:2], random(4), sample(0.5, 2, (4,)), random(4, seed=1), random(4, seed=2))


@pytest.mark.parametrize(("axis", "shape", "sizes"), [(-1, (3, 4), (4,)), ((1, 2), (2, 2, 3), (2, 3))])
def test_layers(axis, shape, sizes):
    theirs = lambda x, s, o: functional.layer_norm(x, sizes, s, o, 1e-3)  # noqa: E731
    function = lambda x, s, o: normalize.layer_norm(x, s, o, axis)  # noqa: E731
    check_all(function, random(*shape), random(*sizes, seed=1), random(*sizes, seed=2), torch=theirs)


def test_layers_along_other_axes():
    check_all(lambda x, s, o: normalize.layer_norm(x, s, o, (0, 2)), random(2, 2, 3), random(2, 3), random(2, 3))


FORMATS = {"NHWC": (0, 3, 1, 2), "NCHW": (0, 1, 2, 3)}


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("data_format", FORMATS)
def test_fused_batches_as_pytorch(data_format, is_training, on_device):
    """It has no float64, so the second order is compared with PyTorch's as well, in float64."""
    to_torch = FORMATS[data_format]
    x, weights = random(3, 2, 2, 4), random(3, 2, 2, 4, seed=1)
    channels = x.shape[to_torch[1]]
    scale, offset, mean = random(channels), random(channels, seed=1), random(channels, seed=2)
    variance = sample(0.5, 2, (channels,))

    def ours(x, scale, offset):
        moments = constant(mean, dt.float32), constant(variance, dt.float32)
        return normalize.fused_batch_norm(x, scale, offset, *moments, data_format=data_format, is_training=is_training)[
            0
        ]

    def theirs(x, scale, offset):
        moments = torch.tensor(mean), torch.tensor(variance)
        return functional.batch_norm(x, *moments, scale, offset, is_training, 0.0, 1e-3)

    found = situs_twice(ours, weights, [x, scale, offset])
    expected = torch_twice(theirs, weights.transpose(to_torch), [x.transpose(to_torch), scale, offset])
    for one, other in zip(found, expected, strict=True):
        one = one.transpose(to_torch) if one.ndim == 4 else one
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=5e-4)


def situs_twice(function, weights, values):
    """The gradients of a function, and those of a function of these."""
    inputs, weights = [constant(value, dt.float32) for value in values], constant(weights, dt.float32)
    with GradientTape() as outer:
        outer.watch(inputs)
        with GradientTape() as inner:
            inner.watch(inputs)
            result = reduce_sum(math.sin(function(*inputs)) * weights)
        once = inner.gradient(result, inputs)
        again = reduce_sum(math.sin(once[0]) * weights) + reduce_sum(once[1] * once[1]) + reduce_sum(math.exp(once[2]))
    return [grad.numpy() for grad in (*once, *outer.gradient(again, inputs))]


def torch_twice(function, weights, values):
    inputs, weights = [torch.tensor(value, requires_grad=True) for value in values], torch.tensor(weights)
    result = (torch.sin(function(*inputs)) * weights).sum()
    once = torch.autograd.grad(result, inputs, create_graph=True)
    again = (torch.sin(once[0]) * weights).sum() + (once[1] ** 2).sum() + torch.exp(once[2]).sum()
    return [grad.detach().numpy() for grad in (*once, *torch.autograd.grad(again, inputs))]


def test_fused_batches_as_tensorflow():
    """Recorded from TensorFlow 2.21: nothing flows back from the moments, nor to given ones."""
    x = np.arange(16).reshape(2, 2, 2, 2)
    weights = constant(np.sin(x), dt.float32)
    moments = constant([1.0, 1.0]), constant([2.0, 3.0])

    def given(x, scale, offset, mean, variance):
        return normalize.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0] * weights

    found = tape_gradient(given, x, [1, 2], [0, 0], *moments, dtype=dt.float32)
    np.testing.assert_allclose(found[0].flat[:4], [0, 0.9714852, 0.6428097, 0.1629242], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found[1], [4.4159975, 4.52079], rtol=1e-5)
    np.testing.assert_allclose(found[2], [0.77245104, 1.1632365], rtol=1e-5)
    assert found[3:] == [None, None]

    def of_batch(x, scale, offset):
        y, mean, variance = normalize.fused_batch_norm(x, scale, offset, epsilon=1e-3)
        return reduce_sum(y * weights) + reduce_sum(mean * 3 + variance)

    found = tape_gradient(of_batch, x, [1, 2], [0, 0], dtype=dt.float32)
    wanted = [-0.00641374, 0.29812396, 0.18781906, -0.00591068]
    np.testing.assert_allclose(found[0].flat[:4], wanted, rtol=1e-3)
    np.testing.assert_allclose(found[1], [0.35176286, -0.06788857], rtol=1e-4)
    of_mean = lambda x: normalize.fused_batch_norm(x, [1.0, 1.0], [0.0, 0.0])[1]  # noqa: E731
    assert tape_gradient(of_mean, x, dtype=dt.float32) == [None]


def test_neighbouring_channels(on_device):
    x, weights = random(1, 2, 2, 7), random(1, 2, 2, 7, seed=1)
    weighted = lambda x: normalize.lrn(x, 2, bias=1.5, alpha=0.3, beta=0.7) * constant(weights, dt.float32)  # noqa: E731
    (found,) = tape_gradient(weighted, x, dtype=dt.float32)
    images = torch.tensor(x.transpose(0, 3, 1, 2), requires_grad=True)
    made = functional.local_response_norm(images, 5, alpha=0.3 * 5, beta=0.7, k=1.5)
    (expected,) = torch.autograd.grad((made * torch.tensor(weights.transpose(0, 3, 1, 2))).sum(), images)
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(NoGradientError, match="LRNGrad"):
        situs_twice(lambda x, s, o: weighted(x) * s * o, weights, [x, np.ones(7), np.ones(7)])


def test_a_fraction_of_zeros_has_no_gradient():
    assert tape_gradient(normalize.zero_fraction, [0.0, 1.0]) == [None]


# Dropout.


def seeded(function):
    """A function that draws the same numbers whenever it is called."""

    def run(*inputs):
        set_seed(7)
        return function(*inputs)

    return run


@pytest.mark.parametrize("noise_shape", [None, [4, 1]])
def test_dropout_passes_back_what_it_kept(noise_shape):
    check(seeded(lambda x: dropout.dropout(x, 0.4, noise_shape, seed=3)), random(4, 5))
    check_second_order(seeded(lambda x: dropout.dropout(x * x, 0.4, noise_shape, seed=3)), random(4, 2), graph=False)


def test_a_computed_rate_has_a_gradient():
    check(seeded(lambda x, rate: dropout.dropout(x, rate, seed=3)), random(4, 5), np.array(0.4))
    x, rate = constant(np.ones((4, 4)), dt.float32), constant(0.5)
    with GradientTape() as tape:
        tape.watch(rate)
        made = dropout.dropout(x, rate)
    np.testing.assert_allclose(tape.gradient(made, rate).numpy(), 2 * made.numpy().sum())  # as in TensorFlow


def test_dropout_keeps_one_byte_an_element():
    x = constant(np.ones((4, 4)), dt.float32)
    with GradientTape() as tape:
        tape.watch(x)
        dropout.dropout(x, 0.5)
    assert [kept.dtype for record in tape._tape.records for kept in record.kept] == [dt.bool]


# Embeddings.


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_rows_of_shards(strategy):
    ids = np.array([[0, 4], [2, 0]])
    check(lambda a, b: embedding.embedding_lookup_v1([a, b], ids, strategy), random(3, 2), random(2, 2, seed=1))
    check(lambda table: embedding.embedding_lookup(table, ids, max_norm=1.0), random(5, 2))


# Everything in short numbers, on every kind of device.

SHORT = {
    "relu": activation.relu,
    "relu6": activation.relu6,
    "leaky_relu": activation.leaky_relu,
    "elu": activation.elu,
    "selu": activation.selu,
    "softplus": activation.softplus,
    "softsign": activation.softsign,
    "log_sigmoid": activation.log_sigmoid,
    "gelu": activation.gelu,
    "silu": activation.silu,
    "softmax": activation.softmax,
    "log_softmax": activation.log_softmax,
    "bias": lambda x: bias.bias_add(x, math.multiply(x[0], 2)),
    "cross entropy": lambda x: loss.softmax_cross_entropy_with_logits([[0.1, 0.2, 0.3, 0.4]], x),
    "classes": lambda x: loss.sparse_softmax_cross_entropy_with_logits(CLASSES, x),
    "yes or no": lambda x: loss.sigmoid_cross_entropy_with_logits(math.sigmoid(x), x),
    "l2": loss.l2_loss,
    "layer norm": lambda x: normalize.layer_norm(x, x[0], x[1]) * x,
    "batch norm": lambda x: normalize.fused_batch_norm(x[None, None], [1.0] * 4, [0.0] * 4)[0] * x,
}


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=["float16", "bfloat16"])
@pytest.mark.parametrize("name", SHORT)
def test_short_numbers(name, dtype, on_device):
    (wanted,) = tape_gradient(SHORT[name], ROWS, dtype=dt.float32)
    (found,) = tape_gradient(SHORT[name], ROWS, dtype=dtype)
    assert found.dtype == dtype.as_numpy_dtype
    np.testing.assert_allclose(found.astype("float32"), wanted, rtol=0.05, atol=0.05)


# Compositions.


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(["relu", "elu", "gelu", "silu", "softplus", "softmax"]), min_size=1, max_size=4),
    st.tuples(st.integers(1, 3), st.integers(2, 4)),
)
def test_compositions_as_pytorch(names, shape):
    def ours(x, s, o):
        for name in names:
            x = normalize.layer_norm(getattr(activation, name)(x), s, o)
        return x

    def theirs(x, s, o):
        for name in names:
            x = functional.layer_norm(ACTIVATIONS[name](x), shape[-1:], s, o, 1e-3)
        return x

    check_torch(
        ours, theirs, random(*shape), random(shape[-1], seed=1), random(shape[-1], seed=2), rtol=1e-6, atol=1e-7
    )


def test_infinite_and_missing_numbers_stay_where_they_are():
    (found,) = tape_gradient(activation.softplus, [NAN, -1e4, 1e4], dtype=dt.float32)
    assert np.isnan(found).tolist() == [True, False, False]
    np.testing.assert_array_equal(found[1:], [0, 1])
    (found,) = tape_gradient(lambda x: loss.sparse_softmax_cross_entropy_with_logits([0], x), [[1e4, -1e4]])
    np.testing.assert_array_equal(found, [[0, 0]])
