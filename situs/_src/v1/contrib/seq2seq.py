"""``tf.contrib.seq2seq``: the loss of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.errors import ArgumentError as _ArgumentError
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.context import name_scope as _name_scope
from situs._src.ops.array import reshape as _reshape
from situs._src.ops.array import shape as _shape_of
from situs._src.ops.cast import cast as _cast
from situs._src.ops.constant import convert_to_tensor as _convert
from situs._src.ops.nn.loss import sparse_softmax_cross_entropy_with_logits as _cross_entropy
from situs._src.ops.reduce import reduce_sum as _reduce_sum
from situs._src.v1.contrib.absent import without as _without
from situs._src.v1.frontend import builds as _builds

_TINY = 1e-12  # instead of no weight at all


@_builds
def sequence_loss(
    logits: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """The cross-entropy of sequences of classes, weighed.

    Args:
        logits: batch x steps x classes.
        targets: The classes: batch x steps.
        weights: batch x steps; zeros for steps that do not count.
        average_across_timesteps: Whether to divide by the sum of the weights of steps.
        average_across_batch: Whether to divide by the sum of the weights of examples.
        softmax_loss_function: In the place of the cross-entropy: called with ``labels`` and ``logits``.
        name: A name for the operations.

    Returns:
        A number; or one for each step, or for each example, if the other is averaged alone; or batch x steps.
    """
    logits, targets, weights = _convert(logits), _convert(targets), _convert(weights)
    for value, what, rank in ((logits, "Logits", 3), (targets, "Targets", 2), (weights, "Weights", 2)):
        if value.shape.rank not in (rank, None):
            raise _ArgumentError(f"{what} must be a tensor of {rank} dimensions, got one of shape {value.shape}.")
    with _name_scope(name or "sequence_loss"):
        classes = _shape_of(logits)[2]
        loss_of = softmax_loss_function or _cross_entropy
        flat = loss_of(labels=_reshape(targets, [-1]), logits=_reshape(logits, [-1, classes]))
        losses = _reshape(flat, _shape_of(logits)[:2]) * weights
        axes = [axis for axis, sums in ((0, average_across_batch), (1, average_across_timesteps)) if sums]
        if not axes:
            return losses
        return _reduce_sum(losses, axes) / (_cast(_reduce_sum(weights, axes), losses.dtype) + _TINY)


__all__ = ["sequence_loss"]

__getattr__ = _without("tf.contrib.seq2seq")
