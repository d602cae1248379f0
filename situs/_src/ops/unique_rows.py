"""``UniqueV2``, ``UniqueWithCountsV2``: the different slices of a tensor along an axis, in order of occurrence."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import INDEX, DType
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.typing import HostValue
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.ops.work import n_log_n
from situs._src.runtime.eager.tensor import to_numpy_value

_OF_X = "x: T, axis: host -> y: T, idx: out_idx"
unique = op("UniqueV2", _OF_X, out_idx=INDEX)
unique_with_counts = op("UniqueWithCountsV2", f"{_OF_X}, count: out_idx", out_idx=INDEX)
unique.work(n_log_n)
unique_with_counts.work(n_log_n)


@unique.shape
def _unique_shape(x: TensorShape, axis: HostValue) -> list[TensorShape]:
    return _unique_with_counts_shape(x, axis)[:2]


@unique_with_counts.shape
def _unique_with_counts_shape(x: TensorShape, axis: HostValue) -> list[TensorShape]:
    if x.rank is None or axis is None:
        return [UNKNOWN, TensorShape([None]), TensorShape([None])]
    place = _place(x.rank, axis)
    dims = x.as_list()
    return [TensorShape([*dims[:place], None, *dims[place + 1 :]]), TensorShape([dims[place]]), TensorShape([None])]


def _place(rank: int, axis: Any) -> int:
    """The axis as a number from the front: given as a vector of one number, or of none for a vector.

    Raises:
        InvalidArgumentError: it is something else, or there is no such axis.
    """
    if not isinstance(axis, tuple) or len(axis) > 1:
        raise ArgumentError(f"axis expects a 1D vector of at most one number, got {axis!r}.")
    if not axis:
        if rank != 1:
            raise ArgumentError("unique expects a 1D vector.")
        return 0
    if not -rank <= axis[0] < rank:
        raise ArgumentError(f"axis has to be between [-{rank}, {rank}), got {axis[0]}.")
    return int(axis[0]) % rank


@unique.kernel(CPU)
def _unique_kernel(
    x: KernelValue, axis: HostValue, *, out_idx: DType
) -> tuple[torch.Tensor | np.ndarray[Any, Any], torch.Tensor]:
    return _unique_with_counts_kernel(x, axis, out_idx=out_idx)[:2]


@unique_with_counts.kernel(CPU)
def _unique_with_counts_kernel(
    x: KernelValue, axis: HostValue, *, out_idx: DType
) -> tuple[KernelValue, torch.Tensor, torch.Tensor]:
    place = _place(x.ndim, axis)
    array = to_numpy_value(x)
    count = array.shape[place]
    rows = np.moveaxis(array, place, 0).reshape(count, array.size // max(count, 1)).tolist()
    numbers: dict[tuple[Any, ...], int] = {}
    idx = np.array([numbers.setdefault(tuple(row), len(numbers)) for row in rows], out_idx.as_numpy_dtype)
    first = np.unique(idx, return_index=True)[1]
    counts = np.bincount(idx, minlength=len(first)).astype(out_idx.as_numpy_dtype)
    y = x.index_select(place, torch.from_numpy(first)) if isinstance(x, torch.Tensor) else np.take(x, first, place)
    return y, torch.from_numpy(idx), torch.from_numpy(counts)
