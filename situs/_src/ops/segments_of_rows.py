"""Sums and means of chosen rows: ``tf.sparse.segment_sum``, ``segment_mean``, ``segment_sqrt_n``."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, ones_like
from situs._src.ops.cumulative import unsorted_segment_sum
from situs._src.ops.gather import gather
from situs._src.ops.join import concat
from situs._src.ops.math import maximum, sqrt
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_max


def _summed(data: Any, indices: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Tensor]:
    """The sums of the rows of each segment, and how many each has."""
    rows, ids = gather(convert_to_tensor(data), indices), convert_to_tensor(segment_ids)
    if ids.shape.rank not in (1, None):
        raise ArgumentError(f"segment_ids should be a vector, got shape {ids.shape}.")
    count: Any = num_segments
    if count is None:
        count = reduce_max(concat([ids, [-1]], 0)) + 1
    return unsorted_segment_sum(rows, ids, count), unsorted_segment_sum(ones_like(ids), ids, count)


def _column(counts: Tensor, like: Tensor) -> Tensor:
    ends = ones_like(shape_of(like)[1:])
    return reshape(cast(maximum(counts, 1), like.dtype), concat([shape_of(counts), ends], 0))


@export("sparse.segment_sum", v1=())
def segment_sum(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Sums of rows, of which some are chosen.

    Args:
        data: The rows.
        indices: The numbers of the rows that count.
        segment_ids: For each of them the number of its sum, in ascending order.
        num_segments: How many sums there are; by default as many as the highest number says.
        name: A name for the ops.
    """
    with Composed(name, "SparseSegmentSum"):
        return _summed(data, indices, segment_ids, num_segments)[0]


@export("sparse.segment_mean", v1=())
def segment_mean(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Means of rows, of which some are chosen; the arguments are those of ``tf.sparse.segment_sum``."""
    with Composed(name, "SparseSegmentMean"):
        total, counts = _summed(data, indices, segment_ids, num_segments)
        return total / _column(counts, total)


@export("sparse.segment_sqrt_n", v1=())
def segment_sqrt_n(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Sums of rows over the root of their number; the arguments are those of ``tf.sparse.segment_sum``."""
    with Composed(name, "SparseSegmentSqrtN"):
        total, counts = _summed(data, indices, segment_ids, num_segments)
        return total / sqrt(_column(counts, total))


def _v1(function: Any, name: str) -> Any:
    def older(
        data: ArrayLike,
        indices: ArrayLike,
        segment_ids: ArrayLike,
        name: str | None = None,
        num_segments: IntLike | None = None,
    ) -> Tensor:
        return function(data, indices, segment_ids, num_segments, name)  # type: ignore[no-any-return]

    older.__name__ = older.__qualname__ = name
    older.__doc__ = function.__doc__
    return older


sparse_segment_sum = export(v1=("sparse_segment_sum", "sparse.segment_sum"))(_v1(segment_sum, "sparse_segment_sum"))
sparse_segment_mean = export(v1=("sparse_segment_mean", "sparse.segment_mean"))(
    _v1(segment_mean, "sparse_segment_mean")
)
sparse_segment_sqrt_n = export(v1=("sparse_segment_sqrt_n", "sparse.segment_sqrt_n"))(
    _v1(segment_sqrt_n, "sparse_segment_sqrt_n")
)
