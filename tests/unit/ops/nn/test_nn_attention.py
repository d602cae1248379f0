"""Attention against its definition in NumPy, figures recorded from JAX 0.10, and PyTorch; each way a CPU can go."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base import dtype as dt
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import attention_kernels
from situs._src.ops.nn.attention import dot_product_attention
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError


@pytest.fixture(params=["cpu", "written"])
def way(request, monkeypatch):
    """Runs the test by each of the ways that a CPU can go, as far as there is something to compute."""
    chosen = attention_kernels._way
    monkeypatch.setattr(
        attention_kernels, "_way", lambda asked: chosen(asked) if request.param == "cpu" else request.param
    )


def waves(*shape, start=0):
    return np.sin(np.arange(start, start + int(np.prod(shape)), dtype=np.float64)).reshape(shape)


def inputs(batch=2, length=3, keys=5, heads=4, size=2, groups=None):
    """A query, a key and a value."""
    key = (batch, keys, groups or heads, size)
    return waves(batch, length, heads, size), waves(*key, start=100), waves(*key, start=200)


def defined(query, key, value, bias=None, mask=None, scale=None, is_causal=False):
    """Attention as it is defined, in float64."""
    times = query.shape[2] // key.shape[2] if key.shape[2] else 1
    key, value = np.repeat(key, times, 2), np.repeat(value, times, 2)
    scale = query.shape[3] ** -0.5 if scale is None else scale
    scores = np.einsum("btnh,bsnh->bnts", query, key) * scale + (0 if bias is None else bias)
    allowed = np.ones(scores.shape, bool) if mask is None else np.broadcast_to(mask, scores.shape)
    allowed = np.tril(allowed) if is_causal else allowed
    powers = np.exp(scores) * allowed
    sums = powers.sum(-1, keepdims=True)
    return np.einsum("bnts,bsnh->btnh", powers / np.where(sums == 0, 1, sums), value)


# What it computes.

# Elements 9, 17, 30 and 47 of the result of jax.nn.dot_product_attention, for queries of length 3 and 4 heads; by the
# length and the heads of the key. The second has a bias, a mask and a scale.
RECORDED = {
    (2, 4): ([0.7339161, 0.3278565, 0.8689508, -0.2411491], [0.7243742, 0.1903997, 0.8689508, -0.2613919]),
    (2, 2): ([-0.3421302, -0.5300744, 0.4677185, 0.4877758], [-0.4636837, -0.3025818, 0.4677185, 0.1869412]),
    (2, 1): ([0.6847737, 0.3322868, 0.2021204, -0.5414115], [0.6767371, 0.184498, 0.2021204, -0.5740779]),
    (3, 4): ([0.7339161, 0.0269214, -0.6160642, 0.4526553], [0.4157093, -0.1936631, -0.290687, 0.4555236]),
    (3, 2): ([-0.3421302, -0.3138844, 0.3631995, 0.3904782], [-0.0313738, 0.6792018, -0.214154, 0.0022607]),
    (3, 1): ([0.6847737, -0.3009616, -0.9746419, 0.365979], [0.348109, -0.5929915, 0.1154176, 0.2553244]),
    (5, 4): ([0.7339161, 0.0269214, 0.81676, 0.2908829], [0.1455173, 0.1431485, -0.3684466, 0.6106047]),
    (5, 2): ([-0.3421302, -0.3138844, 0.8689508, 0.1655866], [-0.276373, -0.2094807, -0.1008035, 0.193061]),
    (5, 1): ([0.6847737, -0.3009616, 0.4677185, 0.3020449], [0.6161302, 0.0489156, 0.057037, -0.362185]),
}


@pytest.mark.parametrize(("keys", "groups"), RECORDED)
def test_it_computes_what_jax_does(on_device, way, keys, groups):
    causal, biased = RECORDED[keys, groups]
    given = inputs(keys=keys, groups=groups)
    result = dot_product_attention(*given, is_causal=True)
    np.testing.assert_allclose(result.numpy().ravel()[[9, 17, 30, 47]], causal, atol=1e-6)
    mask = waves(2, 1, 3, keys, start=400) > -0.5
    mask[..., 0] = True
    result = dot_product_attention(*given, waves(4, 3, keys, start=300), mask, 0.3)
    np.testing.assert_allclose(result.numpy().ravel()[[9, 17, 30, 47]], biased, atol=1e-6)
    assert result.device == on_device


def test_without_a_batch(on_device):
    result = dot_product_attention(waves(3, 4, 2), waves(5, 2, 2, start=100), waves(5, 2, 2, start=200))
    assert result.shape == (3, 4, 2)
    np.testing.assert_allclose(result.numpy().ravel()[[0, 9, 23]], [-0.1018335, 0.2655151, -0.1826555], atol=1e-6)


@st.composite
def problems(draw):
    sizes = [draw(st.integers(0, 3)), draw(st.integers(0, 9)), draw(st.integers(0, 9))]
    batch, length, keys, heads, size = *sizes, draw(st.integers(1, 3)), draw(st.integers(1, 9))
    target = (batch, heads, length, keys)

    def shape():
        rank = draw(st.integers(0, 4))
        return [draw(st.sampled_from([1, full])) for full in target[4 - rank :]]

    bias = waves(*shape(), start=7) if draw(st.booleans()) else None
    mask = waves(*shape(), start=9) > draw(st.sampled_from([-0.7, 0.0, 0.7])) if draw(st.booleans()) else None
    scale = draw(st.sampled_from([None, 0.0, -0.5, 2.0]))
    return (*inputs(batch, length, keys, heads, size), bias, mask, scale, draw(st.booleans()))


@settings(max_examples=150)
@given(problems())
def test_it_is_its_definition_for_all_shapes(problem):
    result = dot_product_attention(*problem)
    assert result.shape == problem[0].shape
    np.testing.assert_allclose(result.numpy(), defined(*problem), rtol=1e-9, atol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_kernels, "_way", lambda asked: "written")
        np.testing.assert_allclose(dot_product_attention(*problem).numpy(), result.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("dtype", "precision"), [(dt.float16, 1e-3), (dt.bfloat16, 1e-2), (dt.float32, 1e-6)], ids=str)
def test_dtypes(on_device, way, dtype, precision):
    given = inputs(2, 40, 40, 2, 16)
    result = dot_product_attention(*(to_tensor(each, dtype) for each in given), waves(40, 40), is_causal=True)
    assert result.dtype is dtype
    expected = defined(*given, waves(40, 40), is_causal=True)
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, atol=3 * precision)


def test_it_is_pytorchs(on_device, way):
    given = [each.astype(np.float32) for each in inputs(2, 33, 33, 3, 8)]
    theirs = functional.scaled_dot_product_attention(
        *(torch.tensor(each).transpose(1, 2) for each in given), is_causal=True
    )
    result = dot_product_attention(*given, is_causal=True)
    np.testing.assert_allclose(result.numpy(), theirs.transpose(1, 2).numpy(), rtol=1e-4, atol=1e-6)


def test_tensors_that_lie_in_memory_in_another_order(on_device, way):
    packed = waves(3, 2, 6, 4, 5)  # as a program that stacks its parts in front, with the length last
    parts = tf.unstack(tf.transpose(tf.constant(packed), [0, 1, 4, 3, 2]))
    expected = defined(*packed.transpose(0, 1, 4, 3, 2))
    np.testing.assert_allclose(dot_product_attention(*parts).numpy(), expected, rtol=1e-9)


def test_large_scores_do_not_overflow(on_device, way):
    query, key, value = (to_tensor(each, dt.float32) for each in inputs())
    result = dot_product_attention(query * 1e4, key * 1e4, value)
    assert np.isfinite(result.numpy()).all()
    assert np.abs(result.numpy()).max() <= 1


def test_a_query_that_may_look_at_no_key_gives_zeros(on_device, way):
    mask = np.array([[True, False, False], [False, True, True], [False, False, False]])
    given = inputs(keys=3)
    result = dot_product_attention(*given, mask=mask, is_causal=True).numpy()
    assert (result[:, 2] == 0).all()
    np.testing.assert_allclose(result[:, 0], given[2][:, 0], rtol=1e-12)
    np.testing.assert_allclose(result[:, 1], given[2][:, 1], rtol=1e-12)


def test_without_keys_the_result_is_zeros(on_device):
    assert (dot_product_attention(*inputs(keys=0)).numpy() == 0).all()


def test_the_second_result_is_the_logarithm_of_the_sums(on_device, way):
    query, key, value = inputs(length=5)
    made = find_op("DotProductAttention").many(query, key, value, [], [], is_causal=True, U=dt.float64)
    scores = np.einsum("btnh,bsnh->bnts", query, key) * 2**-0.5
    np.testing.assert_allclose(made[1].numpy(), np.log(np.tril(np.exp(scores)).sum(-1)), rtol=1e-9)


# Graphs and functions.


@pytest.mark.parametrize("sizes", [[2, 3, 4, 2], [None] * 4, None], ids=str)
def test_in_a_graph(sizes):
    given, mask = inputs(keys=3), waves(3, 3) > 0
    with tf1.Graph().as_default(), tf1.Session() as session:
        places = [tf1.placeholder(tf.float64, sizes) for _ in given]
        made = tf1.nn.dot_product_attention(*places, mask=mask, is_causal=True, name="attention")
        assert made.name == "attention:0"
        assert made.shape.as_list() == (sizes or [None] * 4)
        found = session.run(made, dict(zip(places, given, strict=True)))
    np.testing.assert_allclose(found, defined(*given, mask=mask, is_causal=True), rtol=1e-9)


def test_shapes_are_inferred():
    rule = find_op("DotProductAttention").shape_rule
    partial = TensorShape([2, None, 4, None]), TensorShape([None, 5, 4, 8]), TensorShape([2, 5, None, None])
    assert rule(*partial, [], [TensorShape([3, 5])]) == ([2, None, 4, 8], [2, 4, None])
    assert rule(UNKNOWN, UNKNOWN, UNKNOWN, [UNKNOWN], [])[0].as_list() == [None] * 4
    weights = find_op("DotProductAttentionWeights").shape_rule
    assert weights(*partial[:2], [], []).as_list() == [2, 4, None, 5]


def test_in_a_function_of_any_length():
    attend = tf.function(
        lambda x: tf.nn.dot_product_attention(x, x, x, is_causal=True),
        input_signature=[tf.TensorSpec([None, None, 4, 2], tf.float64)],
    )
    for length in (1, 3, 7):
        x = waves(2, length, 4, 2)
        np.testing.assert_allclose(attend(x).numpy(), defined(x, x, x, is_causal=True), rtol=1e-9)


# What does not fit.

Q, K, V = inputs()


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((Q[0, 0], K, V), r"query must be \[batch, length, heads, head size\], got \[4,2\]"),
        ((Q, K[0], V[0]), r"key must be \[batch, length, heads, head size\], got \[5,4,2\]"),
        ((Q[:1], K, V), r"the same batch size, got \[1,3,4,2\] and \[2,5,4,2\]"),
        ((Q[..., :1], K, V), r"the same head size, got \[2,3,4,1\] and \[2,5,4,2\]"),
        ((Q[:, :, :3], K, V), r"multiple of that of key and value, got \[2,3,3,2\] and \[2,5,4,2\]"),
        ((Q, K[:, :, :3], V[:, :, :3]), r"multiple of that of key and value, got \[2,3,4,2\] and \[2,5,3,2\]"),
        ((Q, K, V[:, :4]), r"key and value must have the same shape, got \[2,5,4,2\] and \[2,4,4,2\]"),
        ((Q, K, V, waves(5, 3)), r"bias must broadcast to .*, here \[2,4,3,5\], got \[5,3\]"),
        ((Q, K, V, waves(1, 1, 1, 1, 5)), r"bias must broadcast to"),
        ((Q, K, V, None, waves(3, 3, 5) > 0), r"mask must broadcast to .*, here \[2,4,3,5\], got \[3,3,5\]"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(on_device, args, text):
    with pytest.raises(InvalidArgumentError, match=text):
        dot_product_attention(*args)
    with tf1.Graph().as_default(), pytest.raises(InvalidArgumentError, match=text):
        tf1.nn.dot_product_attention(*(None if each is None else tf1.constant(each) for each in args))


def test_heads_that_only_the_run_knows_are_refused_there():
    with tf1.Graph().as_default(), tf1.Session() as session:
        places = [tf1.placeholder(tf.float64, [None] * 4) for _ in range(3)]
        made = tf1.nn.dot_product_attention(*places)
        with pytest.raises(InvalidArgumentError, match="multiple of that of key and value"):
            session.run(made, dict(zip(places, inputs(groups=2), strict=True)))


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"query": Q.astype(np.int64), "key": K.astype(np.int64), "value": V.astype(np.int64)}, "int64 is not in"),
        ({"query": "no", "key": K, "value": V}, "Cannot convert"),
        ({"query": Q, "key": to_tensor(K, dt.float32), "value": V}, "float32"),
        ({"query": Q, "key": K, "value": V, "mask": waves(3, 5)}, "expected to be a bool tensor"),
        ({"query": Q, "key": K, "value": V, "scale": "large"}, "Expected float for argument 'scale'"),
        ({"query": Q, "key": K, "value": V, "is_causal": "yes"}, "Expected bool for argument 'is_causal'"),
    ],
)
def test_what_is_no_number_is_refused(kwargs, text):
    with pytest.raises(DTypeError, match=text):
        dot_product_attention(**kwargs)


# PyTorch's functions that are called by position.


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("flash_attention", "query key value dropout_p is_causal return_debug_mask scale"),
        (
            "flash_attention_backward",
            "grad_out query key value out logsumexp cum_seq_q cum_seq_k max_q max_k dropout_p is_causal philox_seed "
            "philox_offset scale",
        ),
        ("efficient_attention", "query key value attn_bias compute_log_sumexp dropout_p is_causal scale"),
        (
            "efficient_attention_backward",
            "grad_out_ query key value attn_bias out logsumexp philox_seed philox_offset dropout_p grad_input_mask "
            "is_causal scale",
        ),
        ("flash_attention_for_cpu", "query key value dropout_p is_causal attn_mask scale"),
        (
            "flash_attention_for_cpu_backward",
            "grad_out query key value out logsumexp dropout_p is_causal attn_mask scale",
        ),
    ],
)
def test_pytorchs_functions_take_what_they_are_given(name, arguments):
    schema = getattr(torch.ops.aten, f"_scaled_dot_product_{name}").default._schema
    assert [argument.name for argument in schema.arguments] == arguments.split()
