"""Gradients of attention: finite differences, PyTorch's autograd, both orders, every way that a CPU can go."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt
from situs._src.ops.nn import attention_kernels
from situs._src.ops.nn.attention import dot_product_attention
from tests.gradients.check import check, check_all, check_graph, check_second_order, check_torch, tape_gradient


@pytest.fixture(params=["cpu", "written"])
def way(request, monkeypatch):
    chosen = attention_kernels._way
    monkeypatch.setattr(
        attention_kernels, "_way", lambda asked: chosen(asked) if request.param == "cpu" else request.param
    )


def random(*shape, seed=0):
    return np.random.RandomState(seed).normal(size=shape)


def inputs(length=3, keys=2, heads=2, size=3, groups=None, batch=2):
    key = (batch, keys, groups or heads, size)
    return random(batch, length, heads, size), random(*key, seed=1), random(*key, seed=2)


def theirs(**kwargs):
    """PyTorch's attention, with the dimensions in our order."""

    def attend(query, key, value, bias=None):
        heads_first = (each.transpose(1, 2) for each in (query, key, value))
        mask = kwargs.get("mask") if bias is None else bias
        rest = {name: value for name, value in kwargs.items() if name != "mask"}
        return functional.scaled_dot_product_attention(*heads_first, mask, **rest).transpose(1, 2)

    return attend


def ours(**kwargs):
    return lambda query, key, value, *bias: dot_product_attention(query, key, value, *bias, **kwargs)


MASK = np.array([[True, False], [True, True], [False, True]])
LONELY = np.array([[True, False], [False, False], [True, True]])  # the second query may look at nothing


def test_all_of_it(way):
    check_all(ours(), *inputs(), torch=theirs())


@pytest.mark.parametrize(("length", "keys"), [(3, 3), (3, 2), (2, 3), (1, 3), (3, 1), (1, 1)])
def test_causal(way, length, keys):
    given = inputs(length, keys, 1, 2)
    check(ours(is_causal=True), *given)
    check_torch(ours(is_causal=True), theirs(is_causal=True), *given)
    check_second_order(ours(is_causal=True), *given)


def test_masks(way):
    check_all(ours(mask=MASK), *inputs(), torch=theirs(mask=pytorch.tensor(MASK)))
    check_graph(ours(mask=MASK, is_causal=True), *inputs())


def test_a_query_that_may_look_at_nothing_passes_nothing_back(way):
    check_all(ours(mask=LONELY), *inputs())
    check_second_order(ours(mask=LONELY, is_causal=True), *inputs(heads=1))
    of_query, _, _ = tape_gradient(ours(mask=LONELY), *inputs())
    assert (of_query[:, 1] == 0).all()


@pytest.mark.parametrize("shape", [(2, 2, 3, 2), (1, 2, 3, 2), (2, 1, 1, 2), (3, 1), (2,), ()], ids=str)
def test_a_bias_has_a_gradient_of_its_own_shape(way, shape):
    given = *inputs(), random(*shape, seed=3)
    check_all(ours(), *given, torch=theirs())


def test_a_bias_with_a_mask(way):
    given = *inputs(heads=1), random(3, 2, seed=3)
    check_all(ours(mask=LONELY, is_causal=True), *given)


def test_scales(way):
    for scale in (0.7, 0.0, -0.4):
        check_all(ours(scale=scale), *inputs(heads=1), torch=theirs(scale=scale))


def test_heads_that_serve_several_heads(way):
    given = inputs(heads=4, groups=2, batch=1, size=2)
    check(ours(), *given)
    check_torch(ours(), theirs(enable_gqa=True), *given)


def test_without_a_batch():
    check_all(ours(), *(each[0] for each in inputs()))


@st.composite
def problems(draw):
    lengths = draw(st.integers(0, 40)), draw(st.integers(1, 40))
    batch, heads, size = draw(st.integers(0, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 17))
    return inputs(*lengths, heads, size, batch=batch), draw(st.booleans())


@settings(max_examples=30)
@given(problems())
def test_pytorchs_autograd_agrees_for_all_shapes(problem):
    given, is_causal = problem
    check_torch(ours(is_causal=is_causal), theirs(is_causal=is_causal), *given)


@pytest.mark.parametrize("sizes", [{"keys": 0}, {"length": 0}, {"batch": 0}])
def test_nothing_to_look_at_passes_zeros_back(sizes):
    given = inputs(**sizes)
    for found, value in zip(tape_gradient(ours(), *given), given, strict=True):
        np.testing.assert_array_equal(found, np.zeros_like(value))


@pytest.mark.parametrize(("dtype", "precision"), [(dt.float16, 0.01), (dt.bfloat16, 0.08), (dt.float32, 1e-5)], ids=str)
def test_narrow_floats(way, dtype, precision):
    given = inputs(40, 40, 2, 8)
    exact = tape_gradient(ours(is_causal=True), *given)
    for found, expected in zip(tape_gradient(ours(is_causal=True), *given, dtype=dtype), exact, strict=True):
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, atol=precision)


@pytest.mark.virtual
def test_what_one_way_kept_another_can_use(monkeypatch):
    given = inputs(5, 5)
    expected = tape_gradient(ours(is_causal=True), *given)
    ways = iter(["cpu", "written", "written", "cpu"])  # forward and back, twice
    monkeypatch.setattr(attention_kernels, "_way", lambda asked: next(ways))
    for _ in range(2):
        for found, exact in zip(tape_gradient(ours(is_causal=True), *given), expected, strict=True):
            np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)


def test_only_what_is_wanted_is_computed():
    with tf1.Graph().as_default() as graph:
        places = [tf1.placeholder(tf.float64, [2, 3, 2, 3]) for _ in range(3)]
        bias = tf1.placeholder(tf.float64, [3, 3])
        made = tf1.nn.dot_product_attention(*places, bias)
        tf1.gradients(made, places)
        assert [each.type for each in graph.get_operations()].count("DotProductAttentionGrad") == 1
        assert "DotProductAttentionWeights" not in {each.type for each in graph.get_operations()}
        tf1.gradients(made, bias)
        assert [each.type for each in graph.get_operations()].count("DotProductAttentionGrad") == 1


def test_a_training_step_is_that_of_attention_written_out():
    given = [tf.Variable(each) for each in inputs(6, 6, 2, 4)]

    def written(query, key, value):
        query, key, value = (tf.transpose(each, [0, 2, 1, 3]) for each in (query, key, value))
        scores = tf.matmul(query, key, transpose_b=True) * 0.5
        past = tf.linalg.band_part(tf.ones([6, 6], tf.bool), -1, 0)
        return tf.transpose(tf.matmul(tf.nn.softmax(tf.where(past, scores, scores.dtype.min)), value), [0, 2, 1, 3])

    @tf.function
    def step(attend):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(attend(*given)))
        return loss, tape.gradient(loss, given)

    (loss, grads), (expected_loss, expected) = step(ours(is_causal=True)), step(written)
    np.testing.assert_allclose(loss.numpy(), expected_loss.numpy(), rtol=1e-9)
    for found, exact in zip(grads, expected, strict=True):
        np.testing.assert_allclose(found.numpy(), exact.numpy(), rtol=1e-9, atol=1e-12)
