"""The places of sparse tensors as numbers: where each would be if the tensor were one row.

    shape [3, 4]    place [1, 2]    number 1 * 4 + 2

Numbers are put in order, found twice, and moved to other shapes.
"""

from __future__ import annotations

from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.compare import not_equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.cumulative import cumprod, cumsum, unsorted_segment_sum
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.gather import boolean_mask, gather
from situs._src.ops.join import concat, stack, unstack
from situs._src.ops.math import floormod
from situs._src.ops.reduce import reduce_sum
from situs._src.ops.search import argsort

_checked = op("SparseChecked", "indices: int64, dense_shape: int64 -> output: int64", ordered=True)


@_checked.shape
def _checked_shape(indices: TensorShape, dense_shape: TensorShape, *, ordered: bool) -> TensorShape:
    return indices


@_checked.kernel(CPU, GPU)
def _checked_kernel(indices: torch.Tensor, dense_shape: torch.Tensor, *, ordered: bool) -> torch.Tensor:
    outside = (indices < 0) | (indices >= dense_shape)
    if bool(outside.any()):
        row = int(outside.any(1).nonzero()[0])
        raise ArgumentError(
            f"indices[{row}] = {indices[row].tolist()} is out of bounds: the shape is {dense_shape.tolist()}."
        )
    if ordered and indices.shape[0] > 1 and indices.shape[1]:
        step = indices[1:] - indices[:-1]
        first = (step != 0).to(torch.int8).argmax(1, keepdim=True)
        lead = step.gather(1, first).reshape(-1)
        if bool((lead <= 0).any()):
            row = int((lead <= 0).nonzero()[0]) + 1
            what = "repeated" if int(lead[row - 1]) == 0 else "out of order"
            raise ArgumentError(
                f"indices[{row}] = {indices[row].tolist()} is {what}. Many sparse ops require sorted indices. Use "
                "`tf.sparse.reorder` to create a correctly ordered copy."
            )
    return indices


def checked(sp: Any, ordered: bool) -> Any:
    """The places of a sparse tensor, when they have been looked at.

    Args:
        sp: The tensor.
        ordered: Whether they are to be in order, each once.

    Raises:
        InvalidArgumentError: one is outside of the shape, or not in order.
    """
    return _checked(sp.indices, sp.dense_shape, ordered=ordered)


def strides(dense_shape: Any) -> Any:
    """How far apart neighbours are along each dimension."""
    return cumprod(dense_shape, exclusive=True, reverse=True)


def numbers(indices: Any, dense_shape: Any) -> Any:
    """Places as numbers."""
    return reduce_sum(indices * strides(dense_shape), 1)


def places(numbers_: Any, dense_shape: Any) -> Any:
    """Numbers as places."""
    steps = strides(dense_shape)
    rank = dense_shape.shape[0]
    if rank is not None:
        rows = [
            floormod(numbers_ // step, size)
            for step, size in zip(unstack(steps, num=rank), unstack(dense_shape, num=rank), strict=True)
        ]
        return stack(rows, 1) if rows else reshape(numbers_, [-1, 0])
    return floormod(reshape(numbers_, [-1, 1]) // steps, dense_shape)


def in_order(indices: Any, dense_shape: Any) -> Any:
    """Which row comes first, second, and so on."""
    return argsort(numbers(indices, dense_shape), stable=True)


def added_up(numbers_: Any, values: Any) -> tuple[Any, Any]:
    """Numbers in order, each once, and for each the sum of its values."""
    order = argsort(numbers_, stable=True)
    found, given = gather(numbers_, order), gather(values, order)
    is_new = concat([[True], not_equal(found[1:], found[:-1])], 0)[: shape_of(found)[0]]
    segments = cumsum(cast(is_new, dt.int64)) - 1
    kept = boolean_mask(found, is_new)
    return kept, unsorted_segment_sum(given, segments, shape_of(kept, dt.int64)[0])


def rows_of(count: Any) -> Any:
    """The numbers from 0 to `count`, int64."""
    return range_of(convert_to_tensor(count, dt.int64))
