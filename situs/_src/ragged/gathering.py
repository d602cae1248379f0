"""``tf.gather`` where the params or the indices are ragged: along any axis, with batch dimensions.

    out[b..., p..., i..., r...] = params[b..., p..., indices[b..., i...], r...]

The axes of params before `axis` (b and p) are laid flat: then there is one row for each of their places, which begins
somewhere in the values. Each place has a list of indices, those of its batch; moved by where its row begins, they are
indices into the values, along their first axis:

    params [[a b] [c d e]]    values [a b c d e]     rows begin at    0        2
    indices [1 0]                                    moved          [1 0]    [3 2]       ->  [[b a] [d c]]

What comes out gets the rows of params back around it, for all axes but the last of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError
from situs._src.base.tensor import Tensor
from situs._src.ops.array import expand_dims, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, zeros_like
from situs._src.ops.constant import range as range_of
from situs._src.ops.gather import gather
from situs._src.ops.join import concat
from situs._src.ragged.rows import expanded, gathered
from situs._src.ragged.tensor import RaggedTensor
from situs._src.runtime.eager.tensor import EagerTensor

Rows = RaggedTensor | Tensor


def gather_rows(params: Any, indices: Any, axis: int | None, batch_dims: int) -> Any:
    """What ``tf.gather`` is of params and indices, one of which is ragged.

    Args:
        params: What is chosen from.
        indices: Which to choose.
        axis: Along which axis; `batch_dims` if it is None.
        batch_dims: How many axes both have in common.

    Raises:
        InvalidArgumentError: there is no such axis, or an index is not in its row.
    """
    params, indices = _as_rows(params), _as_rows(indices)
    rank, depth = params.shape.rank, indices.shape.rank
    if rank is None or depth is None:
        raise ArgumentError("tf.gather of ragged tensors needs params and indices of known rank.")
    batch = batch_dims + depth if batch_dims < 0 else batch_dims
    along = batch if axis is None else axis + rank if axis < 0 else axis
    if not 0 <= batch <= depth or not batch <= along < rank:
        raise ArgumentError(
            f"tf.gather takes 0 <= batch_dims <= axis, an axis of params and batch_dims of indices; got "
            f"axis={axis} and batch_dims={batch_dims} for params of {rank} dimensions and indices of {depth}."
        )
    if along == 0:
        return _along_first(params, indices)
    if not params.shape[:batch].is_compatible_with(indices.shape[:batch]):
        raise ArgumentError(
            f"The first {batch} dimensions of params and indices must be the same, but their shapes are "
            f"{params.shape} and {indices.shape}."
        )
    return _along(params, indices, along, batch)


def _as_rows(value: Any) -> Rows:
    return value if isinstance(value, RaggedTensor) else convert_to_tensor(value)


def _along_first(params: Rows, indices: Rows) -> Any:
    if isinstance(indices, RaggedTensor):
        return indices.with_flat_values(_along_first(params, indices.flat_values))
    if not isinstance(params, RaggedTensor):
        return gather(params, indices)
    if indices.shape.rank == 0:
        return params[indices]
    if indices.shape.rank == 1:
        return gathered(params, indices)
    sizes = shape_of(indices, params.row_splits.dtype)
    rows = gathered(params, reshape(indices, [-1]))
    for axis in range((indices.shape.rank or 1) - 1, 0, -1):
        rows = RaggedTensor.from_uniform_row_length(rows, sizes[axis], validate=False)
    return rows


def _along(params: Rows, indices: Rows, axis: int, batch: int) -> Any:
    levels = _levels(params, axis)
    last = levels[-1]
    lists = _flat(indices, batch)
    places = range_of(last.nrows())
    if batch < axis:  # each list serves several places
        of_place = _ancestors(levels, batch) if batch else zeros_like(places)
        lists = _along_first(lists, of_place)
    made = _along_first(last.values, _moved(lists, last))
    for level in reversed(levels[:-1]):
        made = level.with_values(made)
    return made


def _levels(params: Rows, axis: int) -> list[RaggedTensor]:
    """Params, their values, the values of those, and so on, as ragged tensors: one for each axis up to this one."""
    found: list[RaggedTensor] = []
    values = params
    for _ in range(axis):
        rows = values if isinstance(values, RaggedTensor) else RaggedTensor.from_tensor(values)
        found.append(rows)
        values = rows.values
    return found


def _ancestors(levels: list[RaggedTensor], batch: int) -> Any:
    """For each row of the last level, the number of its row where the batch dimensions are laid flat."""
    found = levels[-2].value_rowids()
    for level in reversed(levels[batch - 1 : -2]):
        found = gather(level.value_rowids(), found)
    return found


def _flat(indices: Rows, batch: int) -> Rows:
    """The indices with their batch dimensions laid flat: a list of indices for each of their places."""
    if batch == 0:
        return expanded(indices, 0) if isinstance(indices, RaggedTensor) else expand_dims(indices, 0)
    for done in range(1, batch):
        if not isinstance(indices, RaggedTensor):
            rest = shape_of(indices)[batch - done + 1 :]
            return reshape(indices, concat([[-1], rest], 0))
        indices = indices.values
    return indices


def _moved(lists: Rows, rows: RaggedTensor) -> Rows:
    """Indices into rows as indices into their values."""
    flat, place_of = lists, range_of(rows.nrows())
    if isinstance(lists, RaggedTensor):
        place_of = lists.value_rowids()
        flat = lists.values
        while isinstance(flat, RaggedTensor):
            place_of, flat = gather(place_of, flat.value_rowids()), flat.values
    flat = cast(flat, rows.row_splits.dtype)
    apart = concat([shape_of(place_of), [1] * ((flat.shape.rank or 1) - 1)], 0)
    lengths = reshape(gather(rows.row_lengths(), place_of), apart)
    if isinstance(flat, EagerTensor) and isinstance(lengths, EagerTensor):
        _check_inside(flat.numpy(), lengths.numpy())
    made = flat + reshape(gather(rows.row_starts(), place_of), apart)
    return lists.with_flat_values(made) if isinstance(lists, RaggedTensor) else made


def _check_inside(indices: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> None:
    wrong = (indices < 0) | (indices >= lengths)
    if wrong.any():
        length = np.broadcast_to(lengths, wrong.shape)[wrong][0]
        raise ArgumentError(f"tf.gather: index {indices[wrong][0]} is out of bounds: a row has the length {length}.")
