"""The largest and the smallest elements along any dimension, under the names of what need not be exact."""

from __future__ import annotations

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import transpose
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.naming import Composed
from situs._src.ops.search import top_k


@export("math.approx_max_k", "nn.approx_max_k")
def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest elements along a dimension, the largest first, and their indices: here exactly.

    Args:
        operand: A tensor of floats.
        k: How many.
        reduction_dimension: The dimension.
        recall_target: Accepted for TensorFlow's programs; all are found.
        reduction_input_size_override: Accepted for TensorFlow's programs.
        aggregate_to_topk: Must be on.
        name: A name for the op.
    """
    return _along(operand, k, reduction_dimension, aggregate_to_topk, name, False)


@export("math.approx_min_k", "nn.approx_min_k")
def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k smallest elements along a dimension, the smallest first; the arguments are those of `approx_max_k`."""
    return _along(operand, k, reduction_dimension, aggregate_to_topk, name, True)


def _along(
    operand: ArrayLike, k: int, axis: int, aggregate: bool, name: str | None, smallest: bool
) -> tuple[Tensor, Tensor]:
    if not aggregate:
        raise ArgumentError("approx_max_k and approx_min_k give k elements: leave aggregate_to_topk on.")
    with Composed(name, "approx_top_k"):
        given = convert_to_tensor(operand)
        rank = given.shape.rank
        if rank is None:
            raise ArgumentError("approx_max_k and approx_min_k need a tensor of known rank.")
        if not isinstance(axis, int) or not -rank <= axis < rank:
            raise ArgumentError(f"There is no dimension {axis!r} in a tensor of rank {rank}.")
        order = list(range(rank))
        order.append(order.pop(axis))
        back = [order.index(each) for each in range(rank)]
        values, indices = top_k(transpose(-given if smallest else given, order), k)
        values = -values if smallest else values
        return transpose(values, back), transpose(indices, back)
