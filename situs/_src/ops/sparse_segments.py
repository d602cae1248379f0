"""``tf.sparse.segment_sum`` and its kin: rows of a tensor that are named by number, combined by segments.

tf.sparse.segment_sum(data, [0, 3], [0, 0])       data[0] + data[3], as one row
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

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


class _OfRows(Protocol):
    """Combines rows by segments."""

    def __call__(
        self,
        data: ArrayLike,
        indices: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: IntLike | None = None,
        name: str | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor: ...


class _OfRowsV1(Protocol):
    """The same with TensorFlow 1's order of arguments."""

    def __call__(
        self,
        data: ArrayLike,
        indices: ArrayLike,
        segment_ids: ArrayLike,
        name: str | None = None,
        num_segments: IntLike | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor: ...


def _of_rows(ways: _Combine, doc: str) -> _OfRows:
    def call(
        data: ArrayLike,
        indices: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: IntLike | None = None,
        name: str | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        with Composed(name, "SparseSegment"):
            whole, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
            if not as_bool(sparse_gradient, "sparse_gradient"):
                whole = reshape(whole, shape_of(whole))  # whose gradient is dense
            rows = gather(whole, indices)
            made: Tensor = ways[0](rows, ids) if num_segments is None else ways[1](rows, ids, num_segments)
            return made

    call.__doc__ = f"""{doc}

    Args:
        data: The tensor.
        indices: Which of its rows.
        segment_ids: The segment of each of these; they rise.
        num_segments: How many segments there are; by default one more than the last number.
        name: A name for the op.
        sparse_gradient: Whether the gradient is that of the rows alone.
    """
    return call


def _with_name_first(function: _OfRows) -> _OfRowsV1:
    def call(
        data: ArrayLike,
        indices: ArrayLike,
        segment_ids: ArrayLike,
        name: str | None = None,
        num_segments: IntLike | None = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        return function(data, indices, segment_ids, num_segments, name, sparse_gradient)

    call.__doc__ = function.__doc__
    return call


segment_sum_of_rows = export("sparse.segment_sum", v1=())(_of_rows(_SUM, "Sums rows by segments."))
segment_mean_of_rows = export("sparse.segment_mean", v1=())(_of_rows(_MEAN, "Averages rows by segments."))
segment_sqrt_n_of_rows = export("sparse.segment_sqrt_n", v1=())(
    _of_rows(_SQRT_N, "Sums rows by segments, and divides by the root of how many they are.")
)
sparse_segment_sum = export(v1=("sparse_segment_sum", "sparse.segment_sum"))(_with_name_first(segment_sum_of_rows))
sparse_segment_mean = export(v1=("sparse_segment_mean", "sparse.segment_mean"))(_with_name_first(segment_mean_of_rows))
sparse_segment_sqrt_n = export(v1=("sparse_segment_sqrt_n", "sparse.segment_sqrt_n"))(
    _with_name_first(segment_sqrt_n_of_rows)
)
