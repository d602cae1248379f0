"""Arithmetic with sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import broadcast_to, reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater, greater_equal, less, logical_or
from situs._src.ops.constant import convert_to_tensor, ones_like, zeros_like
from situs._src.ops.cumulative import unsorted_segment_max, unsorted_segment_sum
from situs._src.ops.gather import gather, gather_nd, where
from situs._src.ops.join import concat, repeat
from situs._src.ops.linalg import adjoint
from situs._src.ops.math import add as add_dense
from situs._src.ops.math import conj, exp
from situs._src.ops.math import maximum as maximum_dense
from situs._src.ops.math import minimum as minimum_dense
from situs._src.ops.reduce import reduce_max as largest_of
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.scatter import scatter_nd
from situs._src.ragged.tensor import RaggedTensor
from situs._src.sparse.dense import as_sparse, from_dense, to_dense
from situs._src.sparse.ordering import added_up, checked, numbers, places, rows_of
from situs._src.sparse.shaping import _rank, retain
from situs._src.sparse.tensor import SparseTensor


def at_places(sp: SparseTensor, dense: Any) -> Any:
    """The elements of a dense tensor, broadcast to the shape of a sparse one, where that has values."""
    if dense.shape.rank == 0:
        return dense
    return gather_nd(broadcast_to(dense, sp.dense_shape), sp.indices)


@export("sparse.map_values", v1=("sparse.map_values",))
def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """Calls a function with the values of sparse tensors in their places; the result has their places.

    Args:
        op: The function.
        *args: Its arguments; at least one is sparse, and all that are have the same places.
        **kwargs: More arguments.

    Raises:
        ValueError: none is sparse, or they have other places.
    """
    found: list[SparseTensor] = []

    def values(value: Any) -> Any:
        if isinstance(value, SparseTensor):
            found.append(value)
            return value.values
        return [values(item) for item in value] if isinstance(value, list) else value

    given = [values(arg) for arg in args]
    named = {name: values(arg) for name, arg in kwargs.items()}
    if not found:
        raise ArgumentError("No SparseTensor in argument list of map_values")
    if not callable(op):
        raise DTypeError(f"`op` is a function, got {shown(op)}.")
    counts = {sp.values.shape[0] for sp in found} - {None}
    if len(counts) > 1:
        raise ArgumentError(f"The sparse tensors have other places: {sorted(counts)} of them.")
    return found[0].with_values(op(*given, **named))


# Sums.


@export("sparse.add", v1=())
def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """The sum of two tensors, of which at least one is sparse; a dense one makes the sum dense.

    Args:
        a: A tensor.
        b: Another one.
        threshold: Sums of two values of less than this are left out of a sparse sum.
    """
    if not isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        raise DTypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        sp, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        whole = convert_to_tensor(dense, sp.dtype)
        return add_dense(whole, scatter_nd(checked(sp, False), sp.values, sp.dense_shape))
    _check_alike(a, b)
    found, sums = added_up(
        concat([numbers(a.indices, a.dense_shape), numbers(b.indices, a.dense_shape)], 0),
        concat([a.values, b.values], 0),
    )
    made = SparseTensor(places(found, a.dense_shape), sums, a.dense_shape)
    made.set_shape(a.shape)
    if isinstance(threshold, (int, float)) and threshold == 0:
        return made
    bound = convert_to_tensor(threshold)
    both = added_up(
        concat([numbers(a.indices, a.dense_shape), numbers(b.indices, a.dense_shape)], 0),
        concat([ones_like(a.indices[:, 0]), ones_like(b.indices[:, 0])], 0),
    )[1]
    return retain(made, logical_or(less(both, 2), greater_equal(cast(abs(made.values), bound.dtype), bound)))


@export(v1=("sparse.add", "sparse_add"))
def add_v1(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """The sum of two tensors, of which at least one is sparse, with TensorFlow 1's names of arguments."""
    given = threshold if thresh is None else thresh
    return add(a, b, 0 if given is None else given)


def _check_alike(a: SparseTensor, b: SparseTensor) -> None:
    if a.dtype is not b.dtype:
        raise DTypeError(f"Sparse tensors of one dtype are added, got {a.dtype.name} and {b.dtype.name}.")
    if not a.shape.is_compatible_with(b.shape):
        raise ArgumentError(f"Operands do not have the same shapes: {a.shape} and {b.shape}.")


def _elementwise(a: Any, b: Any, function: Callable[[Any, Any], Any]) -> SparseTensor:
    """A function of two sparse tensors, at every place that one of them has."""
    one, two = as_sparse(a, "sp_a"), as_sparse(b, "sp_b")
    _check_alike(one, two)
    zeros_a, zeros_b = zeros_like(one.values), zeros_like(two.values)
    both = concat([numbers(one.indices, one.dense_shape), numbers(two.indices, one.dense_shape)], 0)
    found, mine = added_up(both, concat([one.values, zeros_b], 0))
    theirs = added_up(both, concat([zeros_a, two.values], 0))[1]
    made = SparseTensor(places(found, one.dense_shape), function(mine, theirs), one.dense_shape)
    made.set_shape(one.shape)
    return made


@export("sparse.maximum", v1=("sparse.maximum", "sparse_maximum"))
def maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The larger of two sparse tensors, at every place that one of them has."""
    return _elementwise(sp_a, sp_b, maximum_dense)


@export("sparse.minimum", v1=("sparse.minimum", "sparse_minimum"))
def minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """The smaller of two sparse tensors, at every place that one of them has."""
    return _elementwise(sp_a, sp_b, minimum_dense)


# Products.


@export("sparse.sparse_dense_matmul", v1=("sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul"))
def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """The product of two matrices, of which one is sparse.

    Args:
        sp_a: A matrix.
        b: Another one.
        adjoint_a: Whether to take the adjoint of the first.
        adjoint_b: Whether to take that of the second.
        name: A name for the op.

    Raises:
        ValueError: their shapes do not fit.
    """
    flip_a, flip_b = as_bool(adjoint_a, "adjoint_a"), as_bool(adjoint_b, "adjoint_b")
    if isinstance(b, SparseTensor) and not isinstance(sp_a, SparseTensor):
        other = adjoint(convert_to_tensor(sp_a, b.dtype)) if not flip_a else convert_to_tensor(sp_a, b.dtype)
        return adjoint(sparse_dense_matmul(b, other, adjoint_a=not flip_b))
    sp = as_sparse(sp_a, "sp_a")
    dense = to_dense(b, validate_indices=False) if isinstance(b, SparseTensor) else convert_to_tensor(b, sp.dtype)
    if sp.shape.rank not in (2, None) or dense.shape.rank not in (2, None):
        raise ArgumentError(f"Matrices are multiplied, got the shapes {sp.shape} and {dense.shape}.")
    dense = adjoint(dense) if flip_b else dense
    rows, columns = (1, 0) if flip_a else (0, 1)
    inner = sp.shape[columns] if sp.shape.rank else None
    if inner is not None and dense.shape.rank and dense.shape[0] not in (None, inner):
        raise ArgumentError(f"Matrix size-incompatible: {sp.shape} and {dense.shape}: {inner} and {dense.shape[0]}.")
    where_ = checked(sp, False)
    values = sp.values
    if flip_a and values.dtype.is_complex:
        values = conj(values)
    whole = reshape(dense, shape_of(dense))  # whose gradient is dense, too
    products = reshape(values, [-1, 1]) * gather(whole, where_[:, columns])
    return unsorted_segment_sum(products, where_[:, rows], sp.dense_shape[rows])


# Reductions.


def _reduced(sp: SparseTensor, axis: Any, keepdims: bool, combine: Callable[..., Any]) -> Any:
    """Values of places that differ in some dimensions only, put together: a dense tensor."""
    rank = _rank(sp)
    given = range(rank) if axis is None else axis if isinstance(axis, (list, tuple)) else [axis]
    axes = []
    for each in given:
        number = as_int(each, "axis")
        if not -rank <= number < rank:
            raise ArgumentError(f"Invalid reduction dimension {number}: the tensor has {rank}.")
        axes.append(number % rank)
    left = [dimension for dimension in range(rank) if dimension not in axes]
    sizes = gather(sp.dense_shape, convert_to_tensor(left, dt.int32)) if left else convert_to_tensor([], dt.int64)
    segments = numbers(gather(sp.indices, left, axis=1), sizes) if left else zeros_like(sp.indices[:, 0])
    found = combine(sp.values, segments, reduce_prod(sizes))
    counts = unsorted_segment_sum(ones_like(segments), segments, reduce_prod(sizes))
    found = where(equal(counts, 0), zeros_like(found), found)
    if not keepdims:
        return reshape(found, sizes)
    whole = [sp.dense_shape[dimension] if dimension in left else cast(1, dt.int64) for dimension in range(rank)]
    return reshape(found, convert_to_tensor(whole))


@export("sparse.reduce_sum", v1=())
def reduce_sum(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The sum of a sparse tensor along dimensions; of all of it by default.

    Args:
        sp_input: The tensor.
        axis: The dimensions.
        keepdims: Whether they stay, with size 1.
        output_is_sparse: Whether the result is sparse.
        name: A name for the op.
    """
    found = _reduced(as_sparse(sp_input), axis, bool(keepdims), unsorted_segment_sum)
    return _again(found, output_is_sparse)


@export("sparse.reduce_max", v1=())
def reduce_max(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """The largest value along dimensions, of those that are said; 0 where none is.

    The arguments are those of `reduce_sum`.
    """
    found = _reduced(as_sparse(sp_input), axis, bool(keepdims), unsorted_segment_max)
    return _again(found, output_is_sparse)


def _again(found: Any, output_is_sparse: bool) -> Any:
    return from_dense(found) if output_is_sparse else found


@export(v1=("sparse.reduce_sum", "sparse_reduce_sum"))
def reduce_sum_v1(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """The sum of a sparse tensor along dimensions, with TensorFlow 1's names of arguments."""
    return reduce_sum(sp_input, reduction_axes if axis is None else axis, keep_dims if keepdims is None else keepdims)


@export(v1=("sparse.reduce_max", "sparse_reduce_max"))
def reduce_max_v1(
    sp_input: Any,
    axis: Any = None,
    keepdims: bool | None = None,
    reduction_axes: Any = None,
    keep_dims: bool | None = None,
) -> Any:
    """The largest value along dimensions, with TensorFlow 1's names of arguments."""
    return reduce_max(sp_input, reduction_axes if axis is None else axis, keep_dims if keepdims is None else keepdims)


@export("sparse.softmax", v1=("sparse.softmax", "sparse_softmax"))
def softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The softmax of the values of each row, along the last dimension; what is not said counts for nothing."""
    sp = as_sparse(sp_input)
    if (sp.shape.rank or 2) < 2:
        raise ArgumentError(f"Rows are those of a matrix or of more dimensions, got the shape {sp.shape}.")
    rows = numbers(sp.indices[:, :-1], sp.dense_shape[:-1])
    count = reduce_prod(sp.dense_shape[:-1])
    powers = exp(sp.values - gather(unsorted_segment_max(sp.values, rows, count), rows))
    return sp.with_values(powers / gather(unsorted_segment_sum(powers, rows, count), rows))


# Counting.


@export("sparse.bincount", v1=("sparse.bincount",))
def bincount(
    values: Any,
    weights: Any = None,
    axis: int = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each number comes up, as a sparse tensor.

    Args:
        values: Integers: a tensor, a sparse or a ragged one.
        weights: What each counts for; 1 by default.
        axis: 0 to count all of them, -1 to count each row by itself.
        minlength: The least length of the result.
        maxlength: The largest: larger numbers are left out.
        binary_output: Whether a number that comes up at all counts as 1.
        name: A name for the op.
    """
    if as_int(axis, "axis") not in (0, -1):
        raise ArgumentError(f"Unsupported axis value {axis}. Only 0 and -1 are currently supported.")
    if isinstance(values, SparseTensor):
        given = weights.values if isinstance(weights, SparseTensor) else weights
        rows = values.indices[:, 0] if axis == -1 and values.shape.rank == 2 else None
        count = values.dense_shape[0]
        items = values.values
    elif isinstance(values, RaggedTensor):
        given = weights.flat_values if isinstance(weights, RaggedTensor) else weights
        rows, count = (values.value_rowids(), values.nrows()) if axis == -1 else (None, None)
        items = values.flat_values
    else:
        dense = convert_to_tensor(values)
        if axis == -1 and dense.shape.rank == 2:
            size = shape_of(dense, dt.int64)
            rows, count = repeat(rows_of(size[0]), size[1]), size[0]
        else:
            rows, count = None, None
        items = reshape(dense, [-1])
        given = None if weights is None else reshape(convert_to_tensor(weights), [-1])
    counted = _counts(cast(items, dt.int64), rows, count, given, minlength, maxlength, binary_output)
    return from_dense(cast(counted, items.dtype) if given is None or binary_output else counted)


def _counts(
    items: Any, rows: Any, count: Any, weights: Any, minlength: Any, maxlength: Any, binary_output: bool
) -> Any:
    least = cast(-1, dt.int64)
    width = largest_of(concat([items, reshape(least, [1])], 0)) + 1
    if minlength is not None:
        width = maximum_dense(width, cast(minlength, dt.int64))
    if maxlength is not None:
        width = minimum_dense(width, cast(maxlength, dt.int64))
    if rows is None:
        each = ones_like(items) if weights is None or binary_output else convert_to_tensor(weights)
        found = unsorted_segment_sum(each, where(items < width, items, -ones_like(items)), width)
        return cast(greater(found, 0), found.dtype) if binary_output else found
    each = ones_like(items) if weights is None or binary_output else convert_to_tensor(weights)
    slots = where(items < width, rows * width + items, -ones_like(items))
    found = reshape(unsorted_segment_sum(each, slots, count * width), convert_to_tensor([count, width]))
    return cast(greater(found, 0), found.dtype) if binary_output else found
