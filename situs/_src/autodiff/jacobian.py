"""Jacobians from gradients: one row for each element of the target, with a one-hot seed.

    WHOLE   the derivatives of each element of the target:   target.shape + source.shape
    BATCH   of each row of the target, for the same row of the source:   target.shape + source.shape[1:]

With static shapes, the rows are computed one after the other. Otherwise a loop in the graph computes them:
`Rows.count`, `Rows.seed` and `Rows.shaped` work on sizes that are tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

from situs._src.base.tensor import Tensor, read
from situs._src.ops.array import broadcast_to, reshape, size, transpose
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import constant, zeros
from situs._src.ops.gather import one_hot
from situs._src.ops.join import concat, stack
from situs._src.ops.reduce import reduce_prod


class Rows(NamedTuple):
    """The rows of a kind of jacobian."""

    seeds: Callable[[Tensor], list[Any]]  # the seeds of the rows
    together: Callable[[list[Any], Tensor, Any], Any]  # the jacobian of the rows; None if they are None
    count: Callable[[Tensor], Any]  # how many rows there are
    seed: Callable[[Tensor, Any], Any]  # the seed of the row with an index
    shaped: Callable[[Any, Tensor, Any], Any]  # the jacobian of the rows in one tensor


# All elements.


def _whole_seeds(target: Tensor) -> list[Any]:
    count = target.shape.num_elements() or 0
    identity = [[float(i == j) for j in range(count)] for i in range(count)]
    return [reshape(constant(row, target.dtype), target.shape) for row in identity]


def _whole_rows(rows: list[Any], target: Tensor, source: Any) -> Tensor | None:
    sizes = [*target.shape.as_list(), *source.shape.as_list()]
    if not rows:
        return zeros(sizes, source.dtype)
    return None if rows[0] is None else reshape(stack([read(row) for row in rows]), sizes)


def _whole_seed(target: Tensor, number: Any) -> Tensor:
    return reshape(one_hot(number, size(target), dtype=target.dtype), shape_of(target))


def _whole_shaped(rows: Any, target: Tensor, source: Any) -> Any:
    made: Any = reshape(rows, concat([shape_of(target), shape_of(source)], 0))
    made.set_shape(target.shape + source.shape)
    return made


# Row by row.


def _batch_seeds(target: Tensor) -> list[Any]:
    sizes: list[int] = [size or 0 for size in target.shape.as_list()]
    batch, count = sizes[0], prod(sizes[1:])
    rows = [[float(i == j) for j in range(count)] for i in range(count)]
    return [reshape(constant([row] * batch, target.dtype), target.shape) for row in rows]


def _batch_rows(rows: list[Any], target: Tensor, source: Any) -> Tensor:
    sizes = [*target.shape.as_list(), *source.shape.as_list()[1:]]
    return reshape(stack([read(row) for row in rows], axis=1), sizes) if rows else zeros(sizes, source.dtype)


def _batch_seed(target: Tensor, number: Any) -> Tensor:
    sizes = shape_of(target)
    one = reshape(one_hot(number, reduce_prod(sizes[1:]), dtype=target.dtype), concat([[1], sizes[1:]], 0))
    return broadcast_to(one, sizes)


def _batch_shaped(rows: Any, target: Tensor, source: Any) -> Any:
    batch, rest = shape_of(source)[0], shape_of(source)[1:]
    flat = reshape(rows, stack([shape_of(rows)[0], batch, reduce_prod(rest)]))
    made: Any = reshape(transpose(flat, [1, 0, 2]), concat([shape_of(target), rest], 0))
    made.set_shape(target.shape + source.shape[1:])
    return made


WHOLE = Rows(_whole_seeds, _whole_rows, size, _whole_seed, _whole_shaped)
BATCH = Rows(_batch_seeds, _batch_rows, lambda target: reduce_prod(shape_of(target)[1:]), _batch_seed, _batch_shaped)
