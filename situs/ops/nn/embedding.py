"""Embeddings: rows of a table, looked up by number.

A table may be one tensor or a list of shards, which may live on different devices. Then every
shard is asked where it is, and only the rows travel.
"""

from __future__ import annotations

from typing import Any

from situs.errors import InvalidArgumentError
from situs.ops.array import expand_dims
from situs.ops.attribute import as_word
from situs.ops.compare import equal, greater
from situs.ops.constant import convert_to_tensor
from situs.ops.gather import gather, where
from situs.ops.math import (
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
from situs.ops.nn.window import shape_of
from situs.ops.reduce import reduce_sum
from situs.tensor import Tensor


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Tensor:
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


def embedding_lookup_v1(
    params: Any,
    ids: Any,
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
        raise InvalidArgumentError("params must be specified")
    shards = list(params) if isinstance(params, (list, tuple)) else [params]
    if not shards:
        raise InvalidArgumentError("Length of params is currently 0. Need at least one param.")
    if as_word(partition_strategy, "partition_strategy") not in ("mod", "div"):
        raise InvalidArgumentError(
            f"Unrecognized partition strategy: {partition_strategy}. Must be one of either `mod` or `div`."
        )
    rows = gather(shards[0], ids, name=name) if len(shards) == 1 else _from_shards(shards, ids, partition_strategy)
    return rows if max_norm is None else _clipped(rows, shape_of(ids).rank, max_norm)


def _from_shards(shards: list[Any], ids: Any, strategy: str) -> Tensor:
    ids = convert_to_tensor(ids)
    owner, row = _dealt(ids, len(shards)) if strategy == "mod" else _cut(ids, shards)
    result: Tensor | None = None
    for number, shard in enumerate(shards):
        if _rows_of(shard) == 0:
            continue
        mine = equal(owner, number)
        rows = gather(shard, where(mine, row, 0))  # its first row stands in for those of other shards
        result = rows if result is None else where(_over_rows(mine, shard), rows, result)
    if result is None:
        raise InvalidArgumentError("None of the shards has a row to look up.")
    return result


def _dealt(ids: Tensor, count: int) -> tuple[Tensor, Tensor]:
    return floormod(ids, count), floordiv(ids, count)


def _cut(ids: Tensor, shards: list[Any]) -> tuple[Tensor, Tensor]:
    """Whose each id is, and its row there; the first shards may be one row longer than the others."""
    each, longer = divmod(sum(map(_rows_of, shards)), len(shards))
    owner = maximum(floordiv(ids, each + 1), floordiv(subtract(ids, longer), max(each, 1)))
    owner = clip_by_value(owner, 0, len(shards) - 1)  # ids outside the table are left to a shard to refuse
    return owner, subtract(ids, add(multiply(owner, each), minimum(owner, longer)))


def _rows_of(shard: Any) -> int:
    shape = shape_of(shard)
    if shape.rank == 0:
        raise InvalidArgumentError("params must be at least 1 dimensional: a shard is a scalar.")
    return _known(shape[0], "rows")


def _over_rows(mine: Tensor, shard: Any) -> Tensor:
    for _ in range(_known(shape_of(shard).rank, "rank") - 1):
        mine = expand_dims(mine, -1)
    return mine


def _known(number: int | None, what: str) -> int:
    if number is None:
        raise InvalidArgumentError(f"The shards' number of {what} must be known to look up rows in several shards.")
    return number


def _clipped(rows: Tensor, ids_rank: int | None, max_norm: Any) -> Tensor:
    """Rows scaled down to a length of at most `max_norm`."""
    if ids_rank is None or rows.shape.rank is None:
        raise InvalidArgumentError("`max_norm` needs `ids` and `params` of known rank.")
    squares = reduce_sum(square(rows), list(range(ids_rank, rows.shape.rank)), True)
    some = greater(squares, 0)
    length = where(some, sqrt(where(some, squares, 1)), squares)  # the square root of 0 has no gradient
    return truediv(multiply(rows, max_norm), maximum(length, max_norm))
