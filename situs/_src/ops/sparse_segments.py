"""``tf.sparse.segment_sum`` and its kin: rows of a tensor that are named by number, combined by segments.

tf.sparse.segment_sum(data, [0, 3], [0, 0])       data[0] + data[3], as one row
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.cumulative import (
    segment_mean,
    segment_sum,
    unsorted_segment_mean,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)
from situs._src.ops.gather import gather
from situs._src.ops.join import concat
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_max


def _sqrt_n(rows: Tensor, segment_ids: Tensor) -> Tensor:
    count = reduce_max(concat([segment_ids, [-1]], 0)) + 1
    return unsorted_segment_sqrt_n(rows, segment_ids, count)


_Combine = tuple[Callable[..., Any], Callable[..., Any]]  # without, and with a number of segments
_SUM: _Combine = (segment_sum, unsorted_segment_sum)
_MEAN: _Combine = (segment_mean, unsorted_segment_mean)
_SQRT_N: _Combine = (_sqrt_n, unsorted_segment_sqrt_n)


def _combined(
    ways: _Combine, data: Any, indices: Any, segment_ids: Any, count: Any, name: str | None, sparse: bool
) -> Tensor:
    with Composed(name, "SparseSegment"):
        whole, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        if not as_bool(sparse, "sparse_gradient"):
            whole = reshape(whole, shape_of(whole))  # whose gradient is dense
        rows = gather(whole, indices)
        made: Tensor = ways[0](rows, ids) if count is None else ways[1](rows, ids, count)
        return made


@export("sparse.segment_sum", v1=())
def segment_sum_of_rows(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums rows by segments.

    Args:
        data: The tensor.
        indices: Which rows.
        segment_ids: The segment of each of these; they rise.
        num_segments: How many segments there are; by default one more than the last number.
        name: A name for the op.
        sparse_gradient: Whether the gradient is that of the rows alone.
    """
    return _combined(_SUM, data, indices, segment_ids, num_segments, name, sparse_gradient)


@export("sparse.segment_mean", v1=())
def segment_mean_of_rows(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Averages rows by segments; the arguments are those of `tf.sparse.segment_sum`."""
    return _combined(_MEAN, data, indices, segment_ids, num_segments, name, sparse_gradient)


@export("sparse.segment_sqrt_n", v1=())
def segment_sqrt_n_of_rows(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: IntLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums rows by segments and divides by the root of their number; arguments as for `tf.sparse.segment_sum`."""
    return _combined(_SQRT_N, data, indices, segment_ids, num_segments, name, sparse_gradient)


@export(v1=("sparse_segment_sum", "sparse.segment_sum"))
def sparse_segment_sum(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    name: str | None = None,
    num_segments: IntLike | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums rows by segments, with TensorFlow 1's arguments."""
    return _combined(_SUM, data, indices, segment_ids, num_segments, name, sparse_gradient)


@export(v1=("sparse_segment_mean", "sparse.segment_mean"))
def sparse_segment_mean(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    name: str | None = None,
    num_segments: IntLike | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Averages rows by segments, with TensorFlow 1's arguments."""
    return _combined(_MEAN, data, indices, segment_ids, num_segments, name, sparse_gradient)


@export(v1=("sparse_segment_sqrt_n", "sparse.segment_sqrt_n"))
def sparse_segment_sqrt_n(
    data: ArrayLike,
    indices: ArrayLike,
    segment_ids: ArrayLike,
    name: str | None = None,
    num_segments: IntLike | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """Sums rows by segments, divided by the root of their number, with TensorFlow 1's arguments."""
    return _combined(_SQRT_N, data, indices, segment_ids, num_segments, name, sparse_gradient)
