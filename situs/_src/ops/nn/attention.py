"""Attention: every query takes of every value as much as it agrees with the value's key.

    scores   =  scale * query . key + bias        one for each query and key, of each head
    result   =  softmax(scores) . value           scores where the mask is False count as -inf

The scores of a GPT are a hundred times as large as its keys, so they are not kept, and on a GPU not even materialized:
one fused kernel does the forward and one the backward pass. `ops.nn.attention_kernels` selects them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import expand_dims, squeeze
from situs._src.ops.attribute import as_bool, as_float
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.join import repeat
from situs._src.ops.naming import Composed
from situs._src.ops.nn import attention_kernels as kernels
from situs._src.ops.nn.attention_gradient import attention_grad, bias_grad
from situs._src.ops.sum_to import sum_to

_attention = op(
    "DotProductAttention",
    "query: T, key: T, value: T, bias: T*, mask: bool* -> output: T, logsumexp: U",
    traits={FRESH},
    T=FLOATING,
    U=FLOATING - {dt.float16, dt.bfloat16},
    scale=None,
    is_causal=False,
)


@_attention.work
def _multiplications(node: Operation) -> int | None:
    """Queries by keys, and weights by values."""
    return kernels.multiplications(node.inputs[0].shape, node.inputs[1].shape, products=2)


@_attention.shape
def _attention_shape(
    query: TensorShape,
    key: TensorShape,
    value: TensorShape,
    bias: list[TensorShape],
    mask: list[TensorShape],
    **attrs: Any,
) -> tuple[TensorShape, TensorShape]:
    query, key, value = (_of_rank_4(*named) for named in (("query", query), ("key", key), ("value", value)))
    if not key.is_compatible_with(value):
        raise ArgumentError(f"key and value must have the same shape, got {brackets(key)} and {brackets(value)}")
    key = key.merge_with(value)
    _check_heads(query, key)
    batch, length, heads, size = query.merge_with(TensorShape([key[0], query[1], key[2], key[3]]))
    scores = TensorShape([batch, heads, length, key[1]])
    for name, shapes in (("bias", bias), ("mask", mask)):
        if shapes and not _broadcasts(shapes[0], scores):
            raise ArgumentError(
                f"{name} must broadcast to [batch, heads, length of query, length of key], here {brackets(scores)}, "
                f"got {brackets(shapes[0])}"
            )
    return TensorShape([batch, length, heads, size]), TensorShape([batch, heads, length])


def _of_rank_4(name: str, shape: TensorShape) -> TensorShape:
    if shape.rank not in (None, 4):
        raise ArgumentError(f"{name} must be [batch, length, heads, head size], got {brackets(shape)}")
    return shape if shape.rank == 4 else TensorShape([None] * 4)


def _check_heads(query: TensorShape, key: TensorShape) -> None:
    for place, name in ((0, "batch size"), (3, "head size")):
        if None not in (query[place], key[place]) and query[place] != key[place]:
            raise ArgumentError(f"query and key must have the same {name}, got {brackets(query)} and {brackets(key)}")
    if None not in (query[2], key[2]) and query[2] != key[2]:
        raise ArgumentError(
            "The number of heads of query must be a multiple of that of key and value, got "
            f"{brackets(query)} and {brackets(key)}"
        )


def _broadcasts(shape: TensorShape, scores: TensorShape) -> bool:
    if shape.rank is None:
        return True
    pairs = zip(reversed(shape.as_list()), reversed(scores.as_list()), strict=False)
    return shape.rank <= 4 and all(have in (1, None, want) or want is None for have, want in pairs)


@_attention.kernel(CPU, GPU)
def _attention_kernel(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: list[torch.Tensor],
    mask: list[torch.Tensor],
    *,
    scale: float | None,
    is_causal: bool,
    U: dt.DType,  # noqa: N803
) -> tuple[torch.Tensor, torch.Tensor]:
    return kernels.forward(kernels.attention(query, key, value, bias, mask, scale, is_causal))


@_attention.gradient
def _attention_gradient(
    grads: list[Any],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: list[Tensor],
    mask: list[Tensor],
    output: Tensor,
    logsumexp: Tensor,
    bias_shape: list[Any],
    *,
    scale: float | None,
    is_causal: bool,
) -> tuple[Any, ...]:
    inputs = grads[0], query, key, value, bias, mask
    attrs: dict[str, Any] = {"scale": scale, "is_causal": is_causal}

    @cache
    def fused() -> list[Tensor]:
        return attention_grad(*inputs, output, logsumexp, **attrs)

    def of_bias() -> list[Tensor]:
        return [sum_to(bias_grad(*inputs, **attrs), each) for each in bias_shape]

    return lambda: fused()[0], lambda: fused()[1], lambda: fused()[2], of_bias, None


@export("nn.dot_product_attention")
def dot_product_attention(
    query: ArrayLike,
    key: object,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    scale: float | None = None,
    is_causal: bool = False,
    name: str | None = None,
) -> Tensor:
    """Mixes, for every query of every head, the values by how much their keys agree with it.

    The result is ``softmax(scale * query . key + bias) . value``, of the shape of `query`. The arguments, and the order
    of their dimensions, are those of ``jax.nn.dot_product_attention``; TensorFlow has no such function. A query that
    may look at no key gives zeros.

    Args:
        query: ``[batch, length, heads, head size]``, or the same without a batch.
        key: The same, with a length of its own. Its heads may be fewer, if they divide those of `query`: then each
            serves as many of these, one after the other.
        value: The same, of the shape of `key`.
        bias: What to add to the scores; broadcasts to ``[batch, heads, length of query, length of key]``.
        mask: Where a query may look, as booleans; broadcasts likewise.
        scale: What to multiply scores with; by default one divided by the square root of the head size.
        is_causal: Whether the query at position i may look at the keys up to position i only.
        name: A name for the op.
    """
    with Composed(name, "dot_product_attention") as last:
        query = convert_to_tensor(query)
        key, value = (convert_to_tensor(each, query.dtype) for each in (key, value))
        if query.shape.rank == 3:
            q, k, v = (expand_dims(each, 0) for each in (query, key, value))
            return squeeze(dot_product_attention(q, k, v, bias, mask, scale, is_causal), [0], last)
        return _attention.many(
            query,
            _spread(key, query.shape),
            _spread(value, query.shape),
            [] if bias is None else [cast(bias, query.dtype)],
            [] if mask is None else [convert_to_tensor(mask)],
            scale=None if scale is None else as_float(scale, "scale"),
            is_causal=as_bool(is_causal, "is_causal"),
            U=dt.float64 if query.dtype is dt.float64 else dt.float32,
            name=last,
        )[0]


def _spread(x: Tensor, query: TensorShape) -> Tensor:
    """Repeats heads that serve several heads of the query."""
    if query.rank != 4 or x.shape.rank != 4 or not query[2] or not x.shape[2]:
        return x
    times, rest = divmod(query[2], x.shape[2])
    return x if rest or times == 1 else repeat(x, times, 2)
