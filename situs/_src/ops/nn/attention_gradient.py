"""Gradients of attention.

Going back is one op, by PyTorch's fused kernels. With scores ``S = scale q k' + bias``, weights ``P = softmax(S)``, the
result ``P v`` and its gradient ``g``,

    J(x)  =  P (x - sum(P x))             back through softmax; it is its own adjoint
    dS    =  J(g v')
    dq    =  scale dS k     dk  =  scale dS' q     dv  =  P' g     dbias  =  dS

What fused kernels do not provide is written out with the weights, which are a separate op: the gradient of a bias,
which is as large as the scores, and the second derivative.
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base.dtype import FLOATING
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.array import shape, transpose
from situs._src.ops.cast import cast
from situs._src.ops.constant import zeros_like
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.linalg import matmul
from situs._src.ops.math import rsqrt
from situs._src.ops.nn import attention_kernels as kernels
from situs._src.ops.nn.activation_gradient import softmax_grad
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.sum_to import sum_to

# The weights.

_weights = op(
    "DotProductAttentionWeights",
    "query: T, key: T, bias: T*, mask: bool* -> weights: T",
    T=FLOATING,
    scale=None,
    is_causal=False,
)


@_weights.work
def _multiplications_of_weights(node: Operation) -> int | None:
    return kernels.multiplications(node.inputs[0].shape, node.inputs[1].shape, products=1)


@_weights.shape
def _weights_shape(query: TensorShape, key: TensorShape, *rest: Any, **attrs: Any) -> TensorShape:
    sizes, others = (each if each.rank == 4 else TensorShape([None] * 4) for each in (query, key))
    return TensorShape([sizes[0], sizes[2], sizes[1], others[1]])


@_weights.kernel(CPU, GPU)
def _weights_kernel(
    query: torch.Tensor,
    key: torch.Tensor,
    bias: list[torch.Tensor],
    mask: list[torch.Tensor],
    *,
    scale: float | None,
    is_causal: bool,
) -> torch.Tensor:
    return kernels.weights(kernels.attention(query, key, key, bias, mask, scale, is_causal))


@_weights.gradient
def _weights_gradient(
    grad: Tensor, query: Tensor, key: Tensor, weights: Tensor, bias_shape: list[Any], *, scale: float | None
) -> tuple[Any, ...]:
    of_scores = softmax_grad(grad, weights, -1)
    factor = _factor(query, scale)
    return (
        lambda: _heads_first(matmul(of_scores, _heads_first(key)) * factor),
        lambda: _heads_first(matmul(of_scores, _heads_first(query), transpose_a=True) * factor),
        lambda: [sum_to(of_scores, each) for each in bias_shape],
        None,
    )


def _heads_first(x: Tensor) -> Tensor:
    return transpose(x, [0, 2, 1, 3])  # and back


def _factor(query: Tensor, scale: float | None) -> Any:
    """What scores are multiplied with; a tensor where the graph does not know the head size."""
    if scale is not None:
        return scale
    size = query.shape[-1]
    return rsqrt(cast(shape(query)[3], query.dtype)) if size is None else size**-0.5 if size else 1.0


def bias_grad(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: list[Tensor], mask: list[Tensor], **attrs: Any
) -> Tensor:
    """The gradient of a bias before it is summed: of the scores."""
    of_weights = matmul(_heads_first(grad), _heads_first(value), transpose_b=True)
    return softmax_grad(of_weights, _weights(query, key, bias, mask, **attrs), -1)


# Going back.

_attention_grad = op(
    "DotProductAttentionGrad",
    "gradients: T, query: T, key: T, value: T, bias: T*, mask: bool*, output: T, logsumexp: U"
    " -> query_backprop: T, key_backprop: T, value_backprop: T",
    traits={FRESH},
    T=FLOATING,
    U=FLOATING,
    scale=None,
    is_causal=False,
)


@_attention_grad.work
def _multiplications(node: Operation) -> int | None:
    """The weights once more, and the gradients of weights, values, queries and keys."""
    return kernels.multiplications(node.inputs[1].shape, node.inputs[2].shape, products=5)


@_attention_grad.shape
def _attention_grad_shape(
    gradients: TensorShape, query: TensorShape, key: TensorShape, value: TensorShape, *rest: Any, **attrs: Any
) -> tuple[TensorShape, ...]:
    return query, key, value


@_attention_grad.kernel(CPU, GPU)
def _attention_grad_kernel(
    gradients: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: list[torch.Tensor],
    mask: list[torch.Tensor],
    output: torch.Tensor,
    logsumexp: torch.Tensor,
    *,
    scale: float | None,
    is_causal: bool,
) -> tuple[torch.Tensor, ...]:
    asked = kernels.attention(query, key, value, bias, mask, scale, is_causal)
    return kernels.backward(asked, gradients, output, logsumexp)


def attention_grad(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: list[Tensor],
    mask: list[Tensor],
    output: Tensor,
    logsumexp: Tensor,
    **attrs: Any,
) -> list[Tensor]:
    """The gradients of the query, the key and the value."""
    return _attention_grad.many(grad, query, key, value, bias, mask, output, logsumexp, **attrs)


# The second order.


@_attention_grad.gradient
def _attention_grad_gradient(
    grads: list[Any],
    gradients: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: list[Tensor],
    mask: list[Tensor],
    bias_shape: list[Any],
    *,
    scale: float | None,
    is_causal: bool,
) -> tuple[Any, ...]:
    given = (zeros_like(x) if grad is None else grad for grad, x in zip(grads, (query, key, value), strict=True))
    of_q, of_k, of_v, g, q, k, v = map(_heads_first, (*given, gradients, query, key, value))
    weights = _weights(query, key, bias, mask, scale=scale, is_causal=is_causal)
    factor = _factor(query, scale)
    change = (matmul(of_q, k, transpose_b=True) + matmul(q, of_k, transpose_b=True)) * factor  # of dS
    of_weights = matmul(g, v, transpose_b=True)
    of_scores, back = softmax_grad(of_weights, weights, -1), softmax_grad(change, weights, -1)
    twice = (
        change * (of_weights - reduce_sum(of_weights * weights, -1, True))
        - of_weights * reduce_sum(change * weights, -1, True)
        + matmul(g, of_v, transpose_b=True)
    )
    to_scores = softmax_grad(twice, weights, -1)
    to_grad = matmul(back, v) + matmul(weights, of_v)
    to_query = (matmul(to_scores, k) + matmul(of_scores, of_k)) * factor
    to_key = (matmul(to_scores, q, transpose_a=True) + matmul(of_scores, of_q, transpose_a=True)) * factor
    to_value = matmul(back, g, transpose_a=True)
    to_bias = [sum_to(to_scores, each) for each in bias_shape]
    return (*map(_heads_first, (to_grad, to_query, to_key, to_value)), to_bias, None, None, None)
