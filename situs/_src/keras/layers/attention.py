"""``MultiHeadAttention``: each position of one sequence looks at those of another one.

scores  = softmax(query . key / sqrt(key_dim))          for each head: positions x positions
outputs = (scores . value) @ output kernel
"""

from __future__ import annotations

import math
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras import activations
from situs._src.keras.layers.base import Layer
from situs._src.keras.layers.checks import check_input, known_size, positive
from situs._src.keras.layers.dense import EinsumDense
from situs._src.keras.layers.simple import Dropout, masked
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater_equal, logical_and
from situs._src.ops.constant import range as range_of
from situs._src.ops.contract import einsum
from situs._src.ops.math import multiply


@export("keras.layers.MultiHeadAttention")
class MultiHeadAttention(Layer):
    """Attention with several heads, over sequences: batch x positions x size.

    Args:
        num_heads: How many heads there are.
        key_dim: The size of a head's queries and keys.
        value_dim: The size of a head's values; `key_dim` by default.
        dropout: The probability with which scores are dropped while training.
        use_bias: Whether the four products have a bias.
        output_shape: The size of the outputs; that of the queries by default.
        attention_axes: Only None and 1: attention over the positions.
        kernel_initializer: How the kernels begin.
        bias_initializer: How the biases begin.
        kwargs: Those of `Layer`.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: Any = None,
        attention_axes: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if attention_axes not in (None, 1, (1,), [1]):
            raise UnimplementedError(
                f"MultiHeadAttention attends over axis 1 only, got attention_axes={attention_axes}."
            )
        self.num_heads, self.key_dim = positive(num_heads, "num_heads"), positive(key_dim, "key_dim")
        self.value_dim = self.key_dim if value_dim is None else positive(value_dim, "value_dim")
        self.dropout, self.use_bias = dropout, use_bias
        self._output_size = _single(output_shape)
        self._initializers = {"kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer}
        self._dropout_layer = Dropout(dropout, dtype=self.dtype_policy, name="dropout")

    def build(self, query_shape: Any, value_shape: Any = None, key_shape: Any = None) -> None:
        """Makes the four products."""
        wide = known_size(self, query_shape, rank=3)
        per_head = "abc,cde->abde"
        bias = "de" if self.use_bias else None
        self._query_dense = self._product("query", per_head, (None, self.num_heads, self.key_dim), bias)
        self._key_dense = self._product("key", per_head, (None, self.num_heads, self.key_dim), bias)
        self._value_dense = self._product("value", per_head, (None, self.num_heads, self.value_dim), bias)
        shape = (None, self._output_size or wide)
        bias = "e" if self.use_bias else None
        self._output_dense = self._product("attention_output", "abcd,cde->abe", shape, bias)

    def _product(self, name: str, equation: str, shape: Any, bias_axes: str | None) -> EinsumDense:
        return EinsumDense(
            equation, shape, bias_axes=bias_axes, name=name, dtype=self.dtype_policy, **self._initializers
        )

    def call(
        self,
        query: Any,
        value: Any,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Attends.

        Args:
            query: Who looks.
            value: What is looked at.
            key: By what it is found; `value` by default.
            query_mask: False for positions of the queries that do not count.
            value_mask: False for positions of the values that do not count.
            key_mask: False for positions of the keys that do not count.
            attention_mask: False where a query must not look: batch x queries x keys, or with the heads.
            return_attention_scores: Whether to return the scores as well.
            training: Whether to drop scores.
            use_causal_mask: Whether a query looks only at positions up to its own.
        """
        key = value if key is None else key
        for each in (query, value, key):
            check_input(self, each, rank=3)
        mask = self._mask(query, value, (query_mask, value_mask, key_mask), attention_mask, use_causal_mask)
        q = multiply(self._query_dense(query), 1.0 / math.sqrt(self.key_dim))
        scores = einsum("aecd,abcd->acbe", self._key_dense(key), q)
        scores = activations.softmax(scores if mask is None else masked(scores, mask))
        dropped = self._dropout_layer(scores, training=training) if self.dropout else scores
        outputs = self._output_dense(einsum("acbe,aecd->abcd", dropped, self._value_dense(value)))
        return (outputs, scores) if return_attention_scores else outputs

    def _mask(self, query: Any, value: Any, masks: tuple[Any, Any, Any], given: Any, causal: bool) -> Any:
        """All masks as one, over batch, heads, queries and keys; None if there is none."""
        found: list[Any] = []
        query_mask, value_mask, key_mask = (None if mask is None else cast(mask, dt.bool) for mask in masks)
        if query_mask is not None:
            found.append(query_mask[:, None, :, None])
        found += [mask[:, None, None, :] for mask in (value_mask, key_mask) if mask is not None]
        if given is not None:
            found.append(_over_heads(cast(given, dt.bool)))
        if causal:
            found.append(_causal(query, value)[None, None])
        whole = None
        for mask in found:
            whole = mask if whole is None else logical_and(whole, mask)
        return whole


def _single(output_shape: Any) -> int | None:
    """The size of the outputs, which may come as a shape with one dimension."""
    if isinstance(output_shape, (list, tuple)):
        if len(output_shape) != 1:
            raise UnimplementedError(
                f"The outputs of MultiHeadAttention have one dimension more than batch and positions, got "
                f"output_shape={shown(output_shape)}."
            )
        output_shape = output_shape[0]
    return None if output_shape is None else positive(output_shape, "output_shape")


def _over_heads(mask: Any) -> Any:
    rank = mask.shape.rank
    if rank not in (2, 3, 4):
        raise ArgumentError(f"attention_mask has the dimensions batch, queries and keys, got shape {mask.shape}.")
    return mask if rank == 4 else mask[:, None] if rank == 3 else mask[None, None]


def _causal(query: Any, value: Any) -> Tensor:
    queries, keys = (x.shape[1] or shape_of(x)[1] for x in (query, value))
    return greater_equal(range_of(queries)[:, None], range_of(keys)[None])
