"""Embedding rows combined by sparse ids: ``tf.nn.embedding_lookup_sparse`` and its safe variant.

    sp_ids                   rows of the table            combiner="mean"
    [[0, 2],                 [t0, t2]                     [(t0 + t2) / 2,
     [1   ]]                 [t1    ]                      t1           ]

The safe variant drops negative ids and weights that are not positive, gives rows without ids zeros or the row of a
default id, and takes ids of more dimensions: the last one is combined.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import reshape as reshape_dense
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int, as_word
from situs._src.ops.cast import cast
from situs._src.ops.compare import greater, greater_equal, logical_and
from situs._src.ops.constant import fill, zeros_like
from situs._src.ops.cumulative import unsorted_segment_sum
from situs._src.ops.gather import where
from situs._src.ops.join import concat
from situs._src.ops.math import divide_no_nan, sqrt, square
from situs._src.ops.nn.embedding import embedding_lookup_v1
from situs._src.ops.reduce import reduce_max, reduce_prod
from situs._src.ragged.tensor import RaggedTensor
from situs._src.sparse.dense import as_sparse
from situs._src.sparse.shaping import fill_empty_rows, reshape, retain
from situs._src.sparse.tensor import SparseTensor

_COMBINERS = ("mean", "sqrtn", "sum")


@export("nn.embedding_lookup_sparse", v1=())
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up rows of a table, and puts those of each row of ids together.

    Args:
        params: The table, or a list of shards of it that follow each other.
        sp_ids: A sparse matrix of the numbers of rows, or a ragged one; every row has at least one.
        sp_weights: A weight for each id, of the same kind; None for 1.
        combiner: ``"sum"``, ``"mean"`` or ``"sqrtn"``: the sum, divided by the sum of the weights or by the root of the
            sum of their squares. ``"mean"`` by default.
        max_norm: The greatest length of a row of the table; longer ones are scaled down.
        name: A name for the op.
        allow_fast_lookup: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2])
        >>> tf.nn.embedding_lookup_sparse(tf.constant([[1.0], [2.0], [5.0]]), ids, None, "mean").numpy().tolist()
        [[3.0], [2.0]]
    """
    return embedding_lookup_sparse_v1(params, sp_ids, sp_weights, "div", name, combiner, max_norm)


@export(v1="nn.embedding_lookup_sparse")
def embedding_lookup_sparse_v1(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up rows of a table by sparse ids, with TensorFlow 1's arguments."""
    how = _combiner(combiner)
    ids, rows = _ids(sp_ids, "sp_ids")
    found = embedding_lookup_v1(params, ids, partition_strategy, max_norm=max_norm)
    count = reduce_max(concat([rows, fill([1], cast(-1, dt.int64))], 0)) + 1
    if sp_weights is None:
        weights = fill(shape_of(ids), cast(1, found.dtype))
    else:
        weights = _weights(sp_weights, sp_ids, found.dtype)
    flat = reshape_dense(weights, concat([shape_of(weights), fill([max(_rank(found) - 1, 0)], 1)], 0))
    whole = unsorted_segment_sum(found if sp_weights is None else found * flat, rows, count)
    if how == "sum":
        return whole
    sums = unsorted_segment_sum(flat if how == "mean" else square(flat), rows, count)
    return divide_no_nan(whole, sums if how == "mean" else sqrt(sums), name=name)


def _rank(tensor: Any) -> int:
    if tensor.shape.rank is None:
        raise ArgumentError("The number of dimensions of the table is not known.")
    rank: int = tensor.shape.rank
    return rank


def _combiner(combiner: Any) -> str:
    """How rows are combined.

    Raises:
        ValueError: there is no such way.
    """
    if combiner is None:
        return "mean"
    if as_word(combiner, "combiner") not in _COMBINERS:
        raise ArgumentError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}.")
    return str(combiner)


def _ids(given: Any, what: str) -> tuple[Any, Any]:
    """The values of a sparse or ragged matrix, and the number of the row of each."""
    if isinstance(given, RaggedTensor):
        return given.values, cast(given.value_rowids(), dt.int64)
    sp = as_sparse(given, what)
    return sp.values, sp.indices[:, 0]


def _weights(given: Any, ids: Any, dtype: dt.DType) -> Any:
    if isinstance(given, RaggedTensor) is not isinstance(ids, RaggedTensor):
        raise DTypeError("sp_ids and sp_weights must be both sparse or both ragged.")
    values = _ids(given, "sp_weights")[0]
    if not (values.dtype.is_floating or values.dtype.is_integer):
        raise DTypeError(f"Weights are numbers, got {values.dtype.name}.")
    return cast(values, dtype)


@export("nn.safe_embedding_lookup_sparse", v1=())
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up rows of a table by sparse ids, of which some may be missing or below 0.

    Args:
        embedding_weights: The table, or a list of shards of it that follow each other.
        sparse_ids: The numbers of rows, in two dimensions or more; the last one is combined.
        sparse_weights: A weight for each id; None for 1.
        combiner: ``"sum"``, ``"mean"`` or ``"sqrtn"``.
        default_id: Whose row stands for ids that are missing; zeros by default.
        max_norm: The greatest length of a row of the table; longer ones are scaled down.
        name: A name for the op.
        allow_fast_lookup: Accepted for TensorFlow's programs.
    """
    return safe_embedding_lookup_sparse_v1(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )


@export(v1="nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse_v1(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Looks up rows of a table by sparse ids, some of which may be missing, with TensorFlow 1's arguments."""
    how = _combiner(combiner)
    ids = as_sparse(sparse_ids, "sparse_ids")
    rank = ids.shape.rank
    if rank is None or rank < 2:
        raise ArgumentError(f"`sparse_ids` has two dimensions or more, got the shape {ids.shape}.")
    outer = ids.dense_shape[:-1]
    flat_shape = concat([reshape_dense(reduce_prod(outer), [1]), ids.dense_shape[-1:]], 0)
    flat = reshape(ids, flat_shape) if rank > 2 else ids
    weights = None if sparse_weights is None else as_sparse(sparse_weights, "sparse_weights")
    if weights is not None:
        weights = SparseTensor(flat.indices, weights.values, flat.dense_shape)
    kept = greater_equal(flat.values, cast(0, flat.dtype))
    if weights is not None and how != "sum":
        kept = logical_and(kept, greater(weights.values, cast(0, weights.dtype)))
    flat = retain(flat, kept)
    filled, is_empty = fill_empty_rows(flat, 0 if default_id is None else as_int(default_id, "default_id"))
    if weights is not None:
        weights = fill_empty_rows(retain(weights, kept), 1)[0]
    found = embedding_lookup_sparse_v1(embedding_weights, filled, weights, partition_strategy, None, how, max_norm)
    if default_id is None:
        empty = reshape_dense(is_empty, concat([shape_of(is_empty), fill([_rank(found) - 1], 1)], 0))
        found = where(empty, zeros_like(found), found)
    made: Any = reshape_dense(found, concat([cast(outer, dt.int32), shape_of(found)[1:]], 0))
    made.set_shape([*ids.shape[:-1], *found.shape[1:]])
    return made  # type: ignore[no-any-return]
