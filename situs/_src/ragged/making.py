"""Ragged tensors from lists, from dense and sparse tensors, and from ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import deeper
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import less, not_equal
from situs._src.ops.constant import constant, convert_to_tensor, fill
from situs._src.ops.constant import range as range_of
from situs._src.ops.gather import boolean_mask, gather
from situs._src.ops.join import concat, repeat, stack
from situs._src.ops.math import maximum, minimum
from situs._src.ops.reduce import reduce_max
from situs._src.ops.search import argsort
from situs._src.ragged.tensor import RaggedTensor, as_integers, splits_of
from situs._src.sparse.tensor import SparseTensor


@export("ragged.constant")
def ragged_constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dt.int64,
) -> Any:
    """A ragged tensor of nested lists.

    Args:
        pylist: Lists of lists, all nested equally deep.
        dtype: The dtype of the elements; by default that which holds them all.
        ragged_rank: How many dimensions after the first have sizes that may differ; as many as possible by default.
        inner_shape: The shape of what is in the innermost rows.
        name: A name for the op.
        row_splits_dtype: int32 or int64.

    Raises:
        ValueError: the lists are not nested equally deep.

    Example:
        >>> ragged_constant([[1, 2], [], [3]]).row_splits.numpy().tolist()
        [0, 2, 2, 3]
    """
    given = pylist.tolist() if isinstance(pylist, np.ndarray) else pylist
    if not isinstance(given, (list, tuple)):
        if ragged_rank:
            raise ArgumentError(f"Invalid pylist={shown(pylist)}: incompatible with ragged_rank={ragged_rank}.")
        return constant(given, dtype, inner_shape)
    depth, deepest = _depths(given, 0)
    if depth is not None and deepest > depth:
        raise ArgumentError("all scalar values must have the same nesting depth")
    depth = deepest if depth is None else depth
    sizes = (
        tuple(inner_shape)
        if isinstance(inner_shape, (list, tuple, TensorShape))
        else (() if inner_shape is None else (inner_shape,))
    )
    if ragged_rank is None:
        rank = max(0, depth - 1) if inner_shape is None else max(0, depth - 1 - len(sizes))
    else:
        rank = as_int(ragged_rank, "ragged_rank")
        if rank < 0 or (depth <= rank and _has_scalars(given)):
            raise ArgumentError(f"pylist has scalar values depth {depth}, but ragged_rank={rank} requires more.")
    rows: Any = list(given)
    lengths: list[list[int]] = []
    for _ in range(rank):
        lengths.append([len(row) for row in rows])
        rows = [item for row in rows for item in row]
    wanted = None if dtype is None else as_dtype(dtype)
    if inner_shape is None and rank < depth - 1:
        try:
            flat = constant(rows, wanted)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"The rows inside of a ragged tensor differ: {error}") from None
    elif sizes:
        flat = reshape(_constant(rows, wanted), [-1, *sizes]) if rows else _constant([], wanted)
        flat = reshape(flat, [-1, *sizes])
    else:
        flat = _constant(rows, wanted)
    made: Any = flat
    splits = as_dtype(row_splits_dtype)
    for each in reversed(lengths):
        made = RaggedTensor(made, cast(splits_of(constant(np.array(each, np.int64))), splits), internal=True)
    return made


def _constant(rows: list[Any], dtype: DType | None) -> Any:
    return constant(rows, (dt.float32 if dtype is None else dtype) if not rows else dtype)


def _depths(value: Any, depth: int) -> tuple[int | None, int]:
    """How deep scalars are nested, None if there are none; and how deep lists are."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return 0, 0
    below = deeper(depth)
    found = [_depths(item, below) for item in value]
    scalars = {each for each, _ in found if each is not None}
    if len(scalars) > 1:
        raise ArgumentError("all scalar values must have the same nesting depth")
    deepest = 1 + max((each for _, each in found), default=0)
    return (scalars.pop() + 1 if scalars else None), deepest


def _has_scalars(value: Any) -> bool:
    return _depths(value, 0)[0] is not None


def from_tensor(tensor: Any, lengths: Any, padding: Any, ragged_rank: int, splits: DType) -> RaggedTensor:
    """The rows of a dense tensor.

    Args:
        tensor: The tensor.
        lengths: How long each row is; what comes behind is left out.
        padding: A value, or a row of values, that rows end with and that is left out.
        ragged_rank: How many dimensions after the first become ragged.
        splits: The dtype of the splits.

    Raises:
        ValueError: there are not so many dimensions, or both `lengths` and `padding` are given.
    """
    dense = convert_to_tensor(tensor)
    rank = as_int(ragged_rank, "ragged_rank")
    if lengths is not None and padding is not None:
        raise ArgumentError("Specify argument `lengths` or `padding`, but not both.")
    if rank < 1 or dense.shape.rank is None or dense.shape.rank <= rank:
        raise ArgumentError(f"A tensor of shape {dense.shape} has no {rank} ragged dimensions.")
    if rank > 1:
        sizes = shape_of(dense, dt.int64)
        if lengths is not None and isinstance(lengths, (list, tuple)) and not isinstance(lengths[0], int):
            raise ArgumentError("Lengths of several dimensions are not supported: give ragged_rank=1.")
        inner = from_tensor(
            reshape(dense, concat([sizes[:1] * sizes[1:2], sizes[2:]], 0)), lengths, padding, rank - 1, splits
        )
        return RaggedTensor.from_uniform_row_length(inner, sizes[1], sizes[0], validate=False)
    sizes = shape_of(dense, splits)
    rows, width = sizes[0], sizes[1]
    flat = reshape(dense, concat([reshape(rows * width, [1]), sizes[2:]], 0))
    if lengths is None and padding is None:
        return RaggedTensor(flat, range_of(cast(0, splits), rows + 1) * width, internal=True)
    places = range_of(cast(0, splits), width)
    if lengths is None:
        differs = not_equal(dense, convert_to_tensor(padding, dense.dtype))
        for _ in range((dense.shape.rank or 2) - 2):
            from situs._src.ops.reduce import reduce_any

            differs = reduce_any(differs, -1)
        found = (
            reduce_max(cast(differs, splits) * (places + 1), 1)
            if dense.shape[1] != 0
            else fill([rows], cast(0, splits))
        )
    else:
        found = cast(as_integers(lengths, "lengths"), splits)
        found = maximum(minimum(found, width), cast(0, splits))
    mask = reshape(less(reshape(places, [1, -1]), reshape(found, [-1, 1])), [-1])
    return RaggedTensor(boolean_mask(flat, mask), splits_of(found), internal=True)


def from_sparse(st_input: Any) -> RaggedTensor:
    """The rows of a sparse matrix.

    Raises:
        TypeError: it is no sparse tensor.
        ValueError: it is not a matrix.
    """
    if not isinstance(st_input, SparseTensor):
        raise DTypeError(f"Expected SparseTensor, got {shown(st_input)}.")
    if st_input.shape.rank not in (2, None):
        raise ArgumentError(f"rank(st_input) must be 2, got the shape {st_input.shape}.")
    return RaggedTensor.from_value_rowids(st_input.values, st_input.indices[:, 0], st_input.dense_shape[0])


def to_sparse(rt: RaggedTensor) -> SparseTensor:
    """A ragged tensor as a sparse one."""
    return SparseTensor(cast(flat_places(rt), dt.int64), rt.flat_values, cast(rt.bounding_shape(), dt.int64))


def flat_places(rt: RaggedTensor) -> Any:
    """Where each element stands: a row of indices for each of the flat values."""
    if not isinstance(rt.values, RaggedTensor):
        own = stack([rt.value_rowids(), rt.positions()], 1)
        inner = rt.flat_values.shape.rank
        if inner is not None and inner > 1:
            raise ArgumentError("The innermost rows of the ragged tensor are no scalars.")
        return own
    inside = flat_places(rt.values)
    outer = stack([rt.value_rowids(), rt.positions()], 1)
    return concat([gather(outer, inside[:, 0]), inside[:, 1:]], 1)


@export("ragged.range")
def ragged_range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dt.int64,
) -> RaggedTensor:
    """Rows that count from a start to a limit.

    Args:
        starts: Where each row starts; where it ends, if there are no limits.
        limits: Where each row ends.
        deltas: The step of each row.
        dtype: The dtype.
        name: A name for the op.
        row_splits_dtype: int32 or int64.

    Example:
        >>> ragged_range([3, 1, 2]).to_list()
        [[0, 1, 2], [0], [0, 1]]
    """
    if limits is None:
        starts, limits = 0, starts
    wanted = None if dtype is None else as_dtype(dtype)
    begins, ends, steps = (convert_to_tensor(each, wanted) for each in (starts, limits, deltas))
    if len({begins.dtype, ends.dtype, steps.dtype}) > 1:
        begins, ends, steps = (cast(each, ends.dtype) for each in (begins, ends, steps))
    rows = reduce_max(stack([shape_of(reshape(each, [-1]))[0] for each in (begins, ends, steps)]))
    begins, ends, steps = (
        repeat(reshape(each, [1]), rows) if each.shape.rank == 0 else each for each in (begins, ends, steps)
    )
    splits = as_dtype(row_splits_dtype)
    counts = maximum(-((begins - ends) // steps), cast(0, ends.dtype))
    lengths = cast(counts, splits)
    made = RaggedTensor(gather(begins, _ids(lengths)), splits_of(lengths), internal=True)
    ids = made.value_rowids()
    return made.with_values(made.values + cast(made.positions(), ends.dtype) * gather(steps, ids))


def _ids(lengths: Any) -> Any:
    return repeat(range_of(shape_of(lengths, dt.int64)[0]), lengths)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """The number of the row of each value, from where rows begin and end."""
    given = as_integers(splits, "splits")
    found = repeat(range_of(cast(shape_of(given)[0] - 1, given.dtype)), given[1:] - given[:-1])
    return found if out_type is None else cast(found, out_type)


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """Where rows begin and end, from the number of the row of each value."""
    ids = as_integers(segment_ids, "segment_ids")
    made = RaggedTensor.from_value_rowids(ids, ids, num_segments).row_splits
    return made if out_type is None else cast(made, out_type)


@export("ragged.stack_dynamic_partitions")
def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> Any:
    """The rows of a ragged tensor, from values with the number of the row of each, in any order.

    Args:
        data: The values.
        partitions: The numbers: as many dimensions as the first ones of `data`.
        num_partitions: How many rows there are.
        name: A name for the ops.

    Example:
        >>> import situs as tf
        >>> tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 2).to_list()
        [[b'b'], [b'a', b'c']]
    """
    numbers = convert_to_tensor(partitions)
    rank = numbers.shape.rank
    if rank is None:
        raise ArgumentError("partitions must have known rank.")
    given = data if isinstance(data, RaggedTensor) else convert_to_tensor(data)
    if rank != 1:
        if isinstance(given, RaggedTensor):
            raise ArgumentError("Partitions of ragged values are a vector.")
        given = reshape(given, concat([[-1], shape_of(given)[rank:]], 0))
        numbers = reshape(numbers, [-1])
    order = argsort(numbers, stable=True)
    rows = gather(numbers, order)
    return RaggedTensor.from_value_rowids(gather(given, order), rows, num_partitions, validate=False)
