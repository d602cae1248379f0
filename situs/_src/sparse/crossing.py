"""Combinations of features, by their hashes: ``tf.sparse.cross_hashed``."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, fill
from situs._src.ops.constant import range as range_of
from situs._src.ops.cumulative import cumsum, unsorted_segment_sum
from situs._src.ops.define import CPU, op, same_shape
from situs._src.ops.farmhash import fingerprint64
from situs._src.ops.join import concat
from situs._src.sparse.tensor import SparseTensor

_MASK = 2**64 - 1
_FACTOR = 0xC6A4A7935BD1E995
DEFAULT_KEY = 0xDECAFCAFFE

_fingerprint = op("StringFingerprint", "input: string -> output: int64")
_fingerprint.shape(same_shape)


@_fingerprint.kernel(CPU)
def _fingerprint_kernel(input: Any) -> torch.Tensor:
    found = np.array([fingerprint64(item) for item in input.ravel().tolist()], np.uint64)
    return torch.from_numpy(found.view(np.int64).reshape(input.shape).copy())


_cross = op(
    "SparseCrossHashed",
    "splits: int64*, values: int64* -> indices: int64, output: int64, shape: int64",
    num_buckets=0,
    hash_key=DEFAULT_KEY,
)
_cross.shape(lambda splits, values, **attrs: [TensorShape([None, 2]), TensorShape([None]), TensorShape([2])])


@_cross.kernel(CPU)
def _cross_kernel(
    splits: list[torch.Tensor], values: list[torch.Tensor], *, num_buckets: int, hash_key: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ends, items = [each.tolist() for each in splits], [each.tolist() for each in values]
    rows = len(ends[0]) - 1
    if any(len(each) != rows + 1 for each in ends):
        raise ArgumentError("The features have other numbers of rows.")
    places: list[tuple[int, int]] = []
    found: list[int] = []
    longest = 0
    for row in range(rows):
        parts = [item[end[row] : end[row + 1]] for item, end in zip(items, ends, strict=True)]
        count = 0
        for combination in itertools.product(*parts):
            number = hash_key
            for part in combination:
                number = _joined(number, part & _MASK)
            found.append(number % (num_buckets or 2**63 - 1))
            places.append((row, count))
            count += 1
        longest = max(longest, count)
    return (
        torch.tensor(places, dtype=torch.int64).reshape(-1, 2),
        torch.tensor(found, dtype=torch.int64),
        torch.tensor([rows, longest]),
    )


def _joined(one: int, other: int) -> int:
    """The fingerprint of two together."""

    def mixed(value: int) -> int:
        return value ^ (value >> 47)

    found = one ^ _FACTOR
    found ^= (mixed((other * _FACTOR) & _MASK) * _FACTOR) & _MASK
    found = (found * _FACTOR) & _MASK
    return mixed((mixed(found) * _FACTOR) & _MASK)


@export("sparse.cross_hashed")
def cross_hashed(
    inputs: Any, num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """The combinations of the features of each row, as numbers.

    Args:
        inputs: Matrices of strings or integers, dense or sparse, with as many rows each.
        num_buckets: How many numbers there are; 0 for all of int64.
        hash_key: A key of the hash.
        name: A name for the op.

    Raises:
        ValueError: there are no inputs.
        TypeError: one is neither of strings nor of integers.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise DTypeError(f"`inputs` is a list of tensors, got {shown(inputs)}.")
    buckets = as_int(num_buckets, "num_buckets")
    if buckets < 0:
        raise ArgumentError(f"num_buckets must be >= 0, got {buckets}.")
    splits, values = [], []
    for each in sorted(inputs, key=lambda each: not isinstance(each, SparseTensor)):  # as TensorFlow orders them
        ends, items = _rows(each)
        if items.dtype is not dt.string and not items.dtype.is_integer:
            raise DTypeError(f"Features are strings or integers, got {items.dtype.name}.")
        splits.append(ends)
        values.append(_fingerprint(items) if items.dtype is dt.string else cast(items, dt.int64))
    key = DEFAULT_KEY if hash_key is None else as_int(hash_key, "hash_key")
    indices, found, shape = _cross.many(splits, values, num_buckets=buckets, hash_key=key)
    return SparseTensor(indices, found, shape)


def _rows(value: Any) -> tuple[Any, Any]:
    """Where the rows of a matrix end, and what is in them."""
    if isinstance(value, SparseTensor):
        ids, rows = value.indices[:, 0], value.dense_shape[0]
        counts = unsorted_segment_sum(fill(shape_of(ids), cast(1, dt.int64)), ids, rows)
        return concat([[0], cumsum(counts)], 0), value.values
    dense = convert_to_tensor(value)
    if dense.shape.rank not in (2, None):
        raise ArgumentError(f"Features are matrices, got the shape {dense.shape}.")
    sizes = shape_of(dense, dt.int64)
    return range_of(cast(0, dt.int64), sizes[0] + 1) * sizes[1], reshape(dense, [-1])
