"""Reshaping sparse tensors: sorted, sliced, concatenated, transposed, with empty rows filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.ops.array import reshape as reshape_dense
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater_equal, less, logical_and
from situs._src.ops.constant import convert_to_tensor, fill, ones_like, zeros_like
from situs._src.ops.cumulative import unsorted_segment_sum
from situs._src.ops.gather import boolean_mask, gather, where
from situs._src.ops.join import concat as concat_dense
from situs._src.ops.join import unstack
from situs._src.ops.math import maximum
from situs._src.ops.reduce import reduce_all, reduce_max, reduce_prod
from situs._src.sparse.dense import as_sparse
from situs._src.sparse.ordering import in_order, numbers, places
from situs._src.sparse.tensor import SparseTensor


def _made(indices: Any, values: Any, dense_shape: Any, known: Any = None) -> SparseTensor:
    found = SparseTensor(indices, values, dense_shape)
    if known is not None:
        found.set_shape(known)
    return found


@export("sparse.reorder", v1=("sparse.reorder", "sparse_reorder"))
def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same tensor with its places in order: by the first index, then by the second, and so on."""
    sp = as_sparse(sp_input)
    order = in_order(sp.indices, sp.dense_shape)
    return _made(gather(sp.indices, order), gather(sp.values, order), sp.dense_shape, sp.shape)


@export("sparse.retain", v1=("sparse.retain", "sparse_retain"))
def retain(sp_input: Any, to_retain: Any, name: str | None = None) -> SparseTensor:
    """Some of the places.

    Args:
        sp_input: The sparse tensor.
        to_retain: A boolean for each place.
        name: A name for the op.
    """
    sp = as_sparse(sp_input)
    kept = convert_to_tensor(to_retain, dt.bool)
    if not kept.shape.is_compatible_with(sp.values.shape):
        raise ArgumentError(f"`to_retain` has a boolean for each of {sp.values.shape} places, got {kept.shape}.")
    return _made(boolean_mask(sp.indices, kept), boolean_mask(sp.values, kept), sp.dense_shape, sp.shape)


@export("sparse.reshape", v1=("sparse.reshape", "sparse_reshape"))
def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same elements in another shape, of which one size may be -1."""
    sp = as_sparse(sp_input)
    wanted = cast(convert_to_tensor(list(shape) if isinstance(shape, TensorShape) else shape), dt.int64)
    rest = -reduce_prod(wanted)
    whole = reduce_prod(sp.dense_shape)
    sizes = where(equal(wanted, -1), whole // where(equal(rest, 0), ones_like(rest), rest), wanted)
    known = convert_to_tensor(sizes)
    made = SparseTensor(places(numbers(sp.indices, sp.dense_shape), known), sp.values, known)
    _check_sizes(sp, made)
    return made


def _check_sizes(sp: SparseTensor, made: SparseTensor) -> None:
    before, after = sp.shape.num_elements(), made.shape.num_elements()
    if before is not None and after is not None and before != after:
        raise ArgumentError(
            f"Input to reshape is a tensor with {before} dense values, but the requested shape has {after}."
        )


@export("sparse.expand_dims")
def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The same tensor with one more dimension of size 1, before `axis`; the last one by default."""
    sp = as_sparse(sp_input)
    rank = _rank(sp)
    number = -1 if axis is None else as_int(axis, "axis")
    if not -rank - 1 <= number <= rank:
        raise ArgumentError(f"axis {number} is out of range [{-rank - 1}, {rank}].")
    number += rank + 1 if number < 0 else 0
    column = zeros_like(sp.indices[:, :1]) if rank else fill([shape_of(sp.values)[0], 1], cast(0, dt.int64))
    indices = concat_dense([sp.indices[:, :number], column, sp.indices[:, number:]], 1)
    sizes = concat_dense([sp.dense_shape[:number], [1], sp.dense_shape[number:]], 0)
    return _made(indices, sp.values, sizes, [*sp.shape[:number], 1, *sp.shape[number:]])


@export("sparse.transpose", v1=("sparse.transpose", "sparse_transpose"))
def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The same tensor with its dimensions in another order; reversed by default."""
    sp = as_sparse(sp_input)
    rank = _rank(sp)
    order = list(range(rank))[::-1] if perm is None else [as_int(axis, "perm") for axis in perm]
    if sorted(axis % rank if rank else axis for axis in order) != list(range(rank)):
        raise ArgumentError(f"`perm` has every dimension of {rank} once, got {shown(perm)}.")
    made = SparseTensor(gather(sp.indices, order, axis=1), sp.values, gather(sp.dense_shape, order))
    made.set_shape([sp.shape[axis] for axis in order])
    return reorder(made)


@export("sparse.slice", v1=("sparse.slice", "sparse_slice"))
def slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """A part of a tensor.

    Args:
        sp_input: The sparse tensor.
        start: Where it begins along each dimension.
        size: How long it is; it ends where the tensor does.
        name: A name for the op.
    """
    sp = as_sparse(sp_input)
    begin = cast(convert_to_tensor(start), dt.int64)
    end = begin + cast(convert_to_tensor(size), dt.int64)
    end = where(less(end, sp.dense_shape), end, sp.dense_shape)
    inside = reduce_all(logical_and(greater_equal(sp.indices, begin), less(sp.indices, end)), 1)
    sizes = maximum(end - begin, cast(0, dt.int64))
    return SparseTensor(boolean_mask(sp.indices, inside) - begin, boolean_mask(sp.values, inside), sizes)


@export("sparse.concat", v1=())
def concat(axis: int, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None) -> SparseTensor:
    """Sparse tensors, one behind the other.

    Args:
        axis: The dimension along which they are joined.
        sp_inputs: The tensors.
        expand_nonconcat_dims: Whether other dimensions may differ: the largest of each is taken.
        name: A name for the op.

    Raises:
        ValueError: their shapes do not fit.
    """
    if not isinstance(sp_inputs, Sequence) or not sp_inputs:
        raise DTypeError(f"`sp_inputs` is a list of sparse tensors, got {shown(sp_inputs)}.")
    given = [as_sparse(sp, "sp_inputs") for sp in sp_inputs]
    if len(given) == 1:
        return given[0]
    rank = _rank(given[0])
    number = as_int(axis, "axis")
    if not -rank <= number < rank:
        raise ArgumentError(f"axis {number} is out of range [{-rank}, {rank}).")
    number %= rank
    shapes = [sp.dense_shape for sp in given]
    if any(sp.shape.rank not in (None, rank) for sp in given):
        raise ArgumentError(f"Ranks of the tensors differ: {[sp.shape for sp in given]}.")
    for other in given[1:]:
        for dimension, (one, two) in enumerate(zip(given[0].shape, other.shape, strict=True)):
            if dimension != number and not expand_nonconcat_dims and None not in (one, two) and one != two:
                raise ArgumentError(f"Concat dimension {dimension} does not fit: {given[0].shape} and {other.shape}.")
    moved, offset = [], cast(0, dt.int64)
    unit = [int(dimension == number) for dimension in range(rank)]
    for sp in given:
        moved.append(sp.indices + offset * convert_to_tensor(unit, dt.int64))
        offset = offset + sp.dense_shape[number]
    largest = reduce_max(convert_to_tensor(shapes), 0)
    sizes = concat_dense([largest[:number], reshape_dense(offset, [1]), largest[number + 1 :]], 0)
    return reorder(SparseTensor(concat_dense(moved, 0), concat_dense([sp.values for sp in given], 0), sizes))


@export(v1=("sparse.concat", "sparse_concat"))
def concat_v1(
    axis: int,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors, one behind the other, with TensorFlow 1's order of arguments."""
    wider = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    return concat(axis if concat_dim is None else concat_dim, sp_inputs, wider, name)


@export("sparse.split", v1=())
def split(sp_input: Any, num_split: int, axis: int, name: str | None = None) -> list[SparseTensor]:
    """A sparse tensor in several parts along a dimension; the first ones are longer by one if it does not divide.

    Args:
        sp_input: The tensor.
        num_split: How many parts.
        axis: The dimension.
        name: A name for the op.
    """
    sp = as_sparse(sp_input)
    rank, count = _rank(sp), as_int(num_split, "num_split")
    number = as_int(axis, "axis") % rank
    size = sp.shape[number]
    if size is None or count < 1 or count > size:
        raise ArgumentError(f"A dimension of size {size} cannot be split into {count} parts.")
    lengths = [size // count + (part < size % count) for part in range(count)]
    parts, begin = [], 0
    for length in lengths:
        start = [begin if dimension == number else 0 for dimension in range(rank)]
        extent = [
            convert_to_tensor(length, dt.int64) if dimension == number else whole
            for dimension, whole in enumerate(unstack(sp.dense_shape, num=rank))
        ]
        parts.append(slice(sp, start, convert_to_tensor(extent)))
        begin += length
    return parts


@export(v1=("sparse.split", "sparse_split"))
def split_v1(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: Any = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """A sparse tensor in several parts, with TensorFlow 1's arguments, which are all given by name."""
    return split(sp_input, num_split, split_dim if axis is None else axis, name)


@export("sparse.reset_shape", v1=("sparse.reset_shape", "sparse_reset_shape"))
def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same places in a larger tensor; by default in the smallest that holds them.

    Raises:
        ValueError: the new shape is smaller, or of another rank.
    """
    sp = as_sparse(sp_input)
    if new_shape is None:
        smallest = reduce_max(concat_dense([sp.indices, fill([1, _rank(sp)], cast(-1, dt.int64))], 0), 0) + 1
        return SparseTensor(sp.indices, sp.values, smallest)
    made = SparseTensor(sp.indices, sp.values, cast(convert_to_tensor(new_shape), dt.int64))
    if made.shape.rank != sp.shape.rank:
        raise ArgumentError(f"The new shape {made.shape} is of another rank than {sp.shape}.")
    for before, after in zip(sp.shape, made.shape, strict=True):
        if before is not None and after is not None and after < before:
            raise ArgumentError(f"The new shape {made.shape} is smaller than {sp.shape}.")
    return made


@export("sparse.fill_empty_rows", v1=("sparse.fill_empty_rows", "sparse_fill_empty_rows"))
def fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Any]:
    """The same tensor with a value in every row that had none.

    Args:
        sp_input: A sparse matrix.
        default_value: The value that empty rows get, in their first column.
        name: A name for the op.

    Returns:
        The tensor, and a boolean for each row: whether it was empty.
    """
    sp = as_sparse(sp_input)
    if sp.shape.rank not in (2, None):
        raise ArgumentError(f"Rows are those of a matrix, got the shape {sp.shape}.")
    value = convert_to_tensor(default_value, sp.dtype)
    rows = sp.dense_shape[0]
    counts = unsorted_segment_sum(ones_like(sp.indices[:, 0]), sp.indices[:, 0], rows)
    is_empty = equal(counts, 0)
    added = where(is_empty)
    indices = concat_dense([sp.indices, concat_dense([added, zeros_like(added)], 1)], 0)
    values = concat_dense([sp.values, fill(shape_of(added)[:1], value)], 0)
    return reorder(_made(indices, values, sp.dense_shape, sp.shape)), is_empty


def _rank(sp: SparseTensor) -> int:
    """The number of dimensions, which has to be known."""
    rank = sp.shape.rank
    if rank is None:
        raise ArgumentError("The number of dimensions of the sparse tensor is not known.")
    return rank
