"""From and to dense tensors."""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.cast import cast
from situs._src.ops.compare import not_equal
from situs._src.ops.composite_values import SparseTensorValue
from situs._src.ops.constant import convert_to_tensor, fill, ones, zeros
from situs._src.ops.gather import gather_nd, where
from situs._src.ops.join import concat
from situs._src.ops.placeholder import placeholder
from situs._src.ops.scatter import tensor_scatter_nd_update
from situs._src.sparse.ordering import checked, rows_of
from situs._src.sparse.tensor import SparseTensor


def as_sparse(value: Any, what: str = "sp_input") -> SparseTensor:
    """An argument that has to be sparse.

    Raises:
        TypeError: it is not.
    """
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise DTypeError(f"Input must be a SparseTensor, got {shown(value)} for `{what}`.")
    return value


@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The places where a tensor is not zero, or no empty string.

    Args:
        tensor: A dense tensor.
        name: A name for the op.

    Example:
        >>> import situs as tf
        >>> tf.sparse.from_dense([[0, 3], [4, 0]]).indices.numpy().tolist()
        [[0, 1], [1, 0]]
    """
    given = convert_to_tensor(tensor)
    if given.shape.rank == 0:  # one place, which needs no index
        return SparseTensor(zeros([1, 0], dt.int64), reshape(given, [1]), zeros([0], dt.int64))
    nothing = "" if given.dtype is dt.string else cast(0, given.dtype)
    places = where(not_equal(given, nothing))
    made = SparseTensor(places, gather_nd(given, places), shape_of(given, dt.int64))
    made.set_shape(given.shape)
    return made


@export("sparse.to_dense", v1=("sparse.to_dense", "sparse_tensor_to_dense"))
def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Tensor:
    """The dense tensor of a sparse one.

    Args:
        sp_input: The sparse tensor.
        default_value: What stands where nothing is said; zero, or the empty string, by default.
        validate_indices: Whether the places have to be in order, each once.
        name: A name for the op.

    Raises:
        InvalidArgumentError: they are not.
    """
    sp = as_sparse(sp_input)
    if default_value is None:
        default_value = "" if sp.dtype is dt.string else cast(0, sp.dtype)
    given = convert_to_tensor(default_value, sp.dtype)
    places = checked(sp, as_bool(validate_indices, "validate_indices"))
    made = tensor_scatter_nd_update(fill(sp.dense_shape, given), places, sp.values)
    if isinstance(made, Tensor) and hasattr(made, "set_shape"):
        made.set_shape(sp.shape)
    return made


@export(v1="sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor with some values at some places.

    Args:
        sparse_indices: The places: a row of indices for each, or one index each.
        output_shape: The shape of the result.
        sparse_values: The values: one for each place, or one for all.
        default_value: What stands elsewhere.
        validate_indices: Whether the places have to be in order, each once.
        name: A name for the op.
    """
    indices = cast(convert_to_tensor(sparse_indices), dt.int64)
    if indices.shape.rank is not None and indices.shape.rank < 2:
        indices = reshape(indices, [-1, 1])
    values = convert_to_tensor(sparse_values)
    if values.shape.rank == 0:
        values = fill(shape_of(indices)[:1], values)
    sp = SparseTensor(indices, values, cast(convert_to_tensor(output_shape), dt.int64))
    return to_dense(sp, default_value, validate_indices, name)


@export("sparse.to_indicator", v1=("sparse.to_indicator", "sparse_to_indicator"))
def to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """Which of so many numbers each row has: the last dimension of the result says it.

    Args:
        sp_input: A sparse tensor of integers.
        vocab_size: How many numbers there are.
        name: A name for the op.
    """
    sp = as_sparse(sp_input)
    places = concat([sp.indices[:, :-1], reshape(cast(sp.values, dt.int64), [-1, 1])], 1)
    shape = concat([sp.dense_shape[:-1], [vocab_size]], 0)
    found = SparseTensor(places, ones(shape_of(sp.values), dt.bool), shape)
    return to_dense(found, False, validate_indices=False)


@export("sparse.eye")
def eye(
    num_rows: int, num_columns: int | None = None, dtype: Any = dt.float32, name: str | None = None
) -> SparseTensor:
    """The matrix with ones on its diagonal.

    Args:
        num_rows: How many rows it has.
        num_columns: How many columns; as many by default.
        dtype: The dtype.
        name: A name for the op.
    """
    lines = as_int(num_rows, "num_rows")
    columns = lines if num_columns is None else as_int(num_columns, "num_columns")
    count = rows_of(min(lines, columns))
    places = concat([reshape(count, [-1, 1])] * 2, 1)
    return SparseTensor(places, ones(shape_of(count), dtype), [lines, columns])


def empty(dense_shape: Any, dtype: Any, rank: int) -> SparseTensor:
    """A tensor that is zero everywhere."""
    return SparseTensor(zeros([0, rank], dt.int64), zeros([0], dtype), dense_shape)


@export(v1=("sparse_placeholder", "sparse.placeholder"))
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor whose value is fed when the graph runs: a `SparseTensorValue`, or its three parts.

    Args:
        dtype: The dtype of the values.
        shape: The shape of the whole, as far as it is fixed; None for any.
        name: A name for the operations.
    """
    known = TensorShape(shape)
    title = name or "Placeholder"
    made = SparseTensor(
        placeholder(dt.int64, [None, known.rank], name=f"{title}/indices"),
        placeholder(dtype, [None], name=f"{title}/values"),
        placeholder(dt.int64, [known.rank], name=f"{title}/shape"),
    )
    made.set_shape(known)
    return made
