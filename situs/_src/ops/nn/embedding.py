"""Embeddings: rows of a table, looked up by number.

A table may be one tensor or a list of shards, which may be on different devices. Then every shard is read on its own
device, and only the rows are transferred.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import expand_dims, rank, reshape, shape
from situs._src.ops.attribute import as_word
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, greater
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.constant import range as range_
from situs._src.ops.gather import gather, where
from situs._src.ops.join import concat
from situs._src.ops.math import (
    add,
    clip_by_value,
    floordiv,
    floormod,
    maximum,
    minimum,
    multiply,
    sqrt,
    square,
    subtract,
    truediv,
)
from situs._src.ops.naming import Composed
from situs._src.ops.nn.window import shape_of
from situs._src.ops.reduce import reduce_sum


@export("nn.embedding_lookup", v1=())
def embedding_lookup(params: ArrayLike, ids: ArrayLike, max_norm: Any = None, name: str | None = None) -> Tensor:
    """Looks up rows of a table.

    Args:
        params: The table, or a list of shards of it that follow each other.
        ids: The numbers of the rows, in any shape.
        max_norm: The greatest length of a row; longer ones are scaled down. None for no limit.
        name: A name for the op.

    Returns:
        The rows, in the shape of `ids` followed by that of a row.
    """
    return embedding_lookup_v1(params, ids, "div", name, max_norm=max_norm)


@export(v1="nn.embedding_lookup")
def embedding_lookup_v1(
    params: ArrayLike,
    ids: ArrayLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Looks up rows of a table, with TensorFlow 1's arguments.

    Args:
        params: The table, or a list of shards of it.
        ids: The numbers of the rows, in any shape.
        partition_strategy: How rows are spread over shards: ``"mod"`` deals them out one by one,
            ``"div"`` cuts the table into pieces.
        name: A name for the op.
        validate_indices: Not used.
        max_norm: The greatest length of a row; longer ones are scaled down. None for no limit.
    """
    if params is None:
        raise ArgumentError("params must be specified")
    shards = list(params) if isinstance(params, (list, tuple)) else [params]
    if not shards:
        raise ArgumentError("Length of params is currently 0. Need at least one param.")
    if as_word(partition_strategy, "partition_strategy") not in ("mod", "div"):
        raise ArgumentError(
            f"Unrecognized partition strategy: {partition_strategy}. Must be one of either `mod` or `div`."
        )
    with Composed(name, "embedding_lookup", "Identity") as last:
        own = last if max_norm is None else None
        rows = _taken(shards[0], ids, own) if len(shards) == 1 else _from_shards(shards, ids, partition_strategy, own)
        return rows if max_norm is None else _clipped(rows, ids, max_norm, last)


def _taken(shard: Any, ids: ArrayLike, name: str | None = None) -> Tensor:
    """Rows of one tensor; in a graph they are looked up where the tensor is."""
    with _beside(shard):
        return gather(shard, ids, name=name)


@contextmanager
def _beside(shard: Any) -> Iterator[None]:
    if here.graph is None or not hasattr(shard, "op"):
        yield
        return
    with here.graph.colocate_with(shard):
        yield


def _from_shards(shards: list[Any], ids: ArrayLike, strategy: str, name: str | None) -> Tensor:
    ids = convert_to_tensor(ids)
    owner, row = _dealt(ids, len(shards)) if strategy == "mod" else _cut(ids, shards)
    filled = [number for number, shard in enumerate(shards) if _rows_of(shard) != 0]
    if not filled:
        raise ArgumentError("None of the shards has a row to look up.")
    result: Tensor | None = None
    for number in filled:
        mine = equal(owner, number)
        # The first row of a shard stands in for those of other shards.
        rows = _taken(shards[number], where(mine, row, 0), name if len(filled) == 1 else None)
        if result is None:
            result = rows
        else:
            result = where(_over_rows(mine, shards[number]), rows, result, name if number == filled[-1] else None)
    assert result is not None
    return result


def _dealt(ids: Tensor, count: int) -> tuple[Tensor, Tensor]:
    return floormod(ids, count), floordiv(ids, count)


def _cut(ids: Tensor, shards: list[Any]) -> tuple[Tensor, Tensor]:
    """Whose each id is, and its row there; the first shards may be one row longer than the others."""
    counts = [_rows_of(shard) for shard in shards]
    each: Any
    longer: Any
    if None in counts:  # known when the graph runs
        sizes = concat([expand_dims(shape(shard)[0], 0) for shard in shards], 0)
        total = cast(reduce_sum(sizes), ids.dtype)
        each, longer = floordiv(total, len(shards)), floormod(total, len(shards))
        divisor: Any = maximum(each, 1)
    else:
        each, longer = divmod(sum(count for count in counts if count is not None), len(shards))
        divisor = max(each, 1)
    owner = maximum(floordiv(ids, each + 1), floordiv(subtract(ids, longer), divisor))
    owner = clip_by_value(owner, 0, len(shards) - 1)  # ids outside the table are left to a shard to refuse
    return owner, subtract(ids, add(multiply(owner, each), minimum(owner, longer)))


def _rows_of(shard: Any) -> int | None:
    dims = shape_of(shard)
    if dims.rank == 0:
        raise ArgumentError("params must be at least 1 dimensional: a shard is a scalar.")
    return dims[0]


def _over_rows(mine: Tensor, shard: Any) -> Tensor:
    dims = shape_of(shard)
    if dims.rank is None:
        ones = fill(expand_dims(subtract(rank(shard), 1), 0), 1)
        return reshape(mine, concat([shape(mine), ones], 0))
    for _ in range(dims.rank - 1):
        mine = expand_dims(mine, -1)
    return mine


def _clipped(rows: Tensor, ids: ArrayLike, max_norm: Any, name: str | None) -> Tensor:
    """Rows scaled down to a length of at most `max_norm`."""
    first, last = shape_of(ids).rank, rows.shape.rank
    axes: Any = range_(rank(ids), rank(rows)) if first is None or last is None else list(range(first, last))
    squares = reduce_sum(square(rows), axes, True)
    some = greater(squares, 0)
    length = where(some, sqrt(where(some, squares, 1)), squares)  # the square root of 0 has no gradient
    return truediv(multiply(rows, max_norm), maximum(length, max_norm), name)
