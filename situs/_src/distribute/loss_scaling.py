"""Scaling the losses of a replica's shard so that their sum over replicas is the mean over the global batch.

batch of 8 over 2 replicas      compute_average_loss([4 losses])    their sum / 8
regularization                  scale_regularization_loss(loss)     loss / 2, because all replicas have the same one
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, StateError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.distribute import context
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.reduce import reduce_sum


@export("nn.compute_average_loss")
def compute_average_loss(
    per_example_loss: ArrayLike, sample_weight: ArrayLike | None = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of losses, divided by the global batch size.

    Args:
        per_example_loss: A loss for each example.
        sample_weight: A weight for each example.
        global_batch_size: The number of examples; by default the number of losses times the number of replicas.

    Raises:
        RuntimeError: it is called in the cross-replica context.
    """
    replicas = _replicas("compute_average_loss")
    losses = convert_to_tensor(per_example_loss)
    if not losses.dtype.is_floating:
        losses = cast(losses, dt.float32)
    if global_batch_size is None:
        if losses.shape.rank == 0:
            raise ArgumentError(
                "compute_average_loss needs a loss for each example, or global_batch_size; got a scalar."
            )
        global_batch_size = shape_of(losses)[0]
        if replicas > 1:
            global_batch_size = global_batch_size * replicas
    size = convert_to_tensor(global_batch_size)
    if size.shape.rank not in (0, None):
        raise ArgumentError(f"global_batch_size must be scalar, got shape {size.shape}.")
    if not size.dtype.is_integer:
        raise ArgumentError(f"global_batch_size must be an integer, got {size.dtype.name}.")
    if sample_weight is not None:
        losses = losses * cast(convert_to_tensor(sample_weight), losses.dtype)
    return reduce_sum(losses) / cast(size, losses.dtype)


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: ArrayLike) -> Tensor:
    """The sum of regularization losses, divided by the number of replicas.

    Args:
        regularization_loss: The losses, which are the same in all replicas.

    Raises:
        RuntimeError: it is called in the cross-replica context.
    """
    replicas = _replicas("scale_regularization_loss")
    total = reduce_sum(convert_to_tensor(regularization_loss))
    return total if replicas == 1 else total / cast(replicas, total.dtype)


def _replicas(who: str) -> int:
    """How many replicas there are."""
    if not context.has_strategy():
        return 1
    if context.in_cross_replica_context():
        raise StateError(
            f"You are calling `{who}` in cross replica context, while it was expected to be called in replica context: "
            "call it in the function that strategy.run() is given."
        )
    return context.get_strategy().num_replicas_in_sync
