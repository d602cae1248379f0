"""``tf.experimental.DynamicRaggedShape``: what ``tf.shape`` says of a ragged tensor.

    <DynamicRaggedShape lengths=[4, (1, 3, 0, 2)] num_row_partitions=1>      4 rows, of 1, 3, 0 and 2 elements

It says how rows are divided into rows, and what shape the innermost values have. ``tf.zeros``, ``tf.ones``,
``tf.fill``, ``tf.reshape`` and ``tf.broadcast_to`` take it as a shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor, fill
from situs._src.ops.static_value import get_static_value
from situs._src.ragged.partition import RowPartition
from situs._src.ragged.tensor import RaggedTensor
from situs._src.runtime.eager.tensor import EagerTensor


@export("experimental.DynamicRaggedShape", v1=())
class DynamicRaggedShape:
    """The shape of a tensor, ragged or not, with the lengths of its rows.

    Args:
        row_partitions: How values are divided into rows, the outermost first.
        inner_shape: The shape of the innermost values; its first size is how many there are.
        dtype: The dtype of the sizes; by default that of the partitions, or int64.
        validate: Accepted for TensorFlow's programs.
        static_inner_shape: Accepted for TensorFlow's programs.

    Example:
        >>> import situs as tf
        >>> shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
        >>> shape
        <DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>
        >>> tf.zeros(shape).to_list()
        [[0.0, 0.0], [0.0]]
    """

    def __init__(
        self,
        row_partitions: Sequence[RowPartition],
        inner_shape: Any,
        dtype: Any = None,
        validate: bool = False,
        static_inner_shape: Any = None,
    ) -> None:
        self._partitions = tuple(row_partitions)
        for each in self._partitions:
            if not isinstance(each, RowPartition):
                raise DTypeError(f"row_partitions should be a list of RowPartitions, got {shown(each)}.")
        found = self._partitions[0].dtype if self._partitions else dt.int64
        self._dtype = found if dtype is None else as_dtype(dtype)
        self._inner = cast(convert_to_tensor(inner_shape), self._dtype)

    @classmethod
    def from_lengths(
        cls, lengths: Any, num_row_partitions: int | None = None, dtype: Any = dt.int64
    ) -> DynamicRaggedShape:
        """A shape by its sizes: a number, or the lengths of all rows of a dimension where they differ.

        Example:
            >>> DynamicRaggedShape.from_lengths([4, (2, 1, 0, 8), 12])
            <DynamicRaggedShape lengths=[4, (2, 1, 0, 8), 12] num_row_partitions=1>
        """
        sizes = list(lengths)
        ragged = [number for number, size in enumerate(sizes) if isinstance(size, (list, tuple))]
        if any(isinstance(size, bool) or not isinstance(size, (int, list, tuple)) for size in sizes) or 0 in ragged:
            raise ArgumentError(
                f"lengths must be a list of integers, and of tuples of integers behind the first, got {shown(lengths)}."
            )
        count = max(ragged, default=0) if num_row_partitions is None else num_row_partitions
        if not max(ragged, default=0) <= count < max(len(sizes), 1):
            raise ArgumentError(f"num_row_partitions={count} does not go with the lengths {shown(lengths)}.")
        partitions, values = [], sizes[0] if sizes else 1
        for size in sizes[1 : count + 1]:
            rows = [size] * values if isinstance(size, int) else list(size)
            if len(rows) != values:
                raise ArgumentError(f"There are {values} rows, and {len(rows)} lengths for them: {shown(lengths)}.")
            made = RowPartition.from_row_lengths(constant(rows, dtype, [values]))
            partitions.append(made.with_uniform(size) if isinstance(size, int) else made)
            values = sum(rows)
        inner = [values, *sizes[count + 1 :]] if sizes else []
        return cls(partitions, constant(inner, dtype, [len(inner)]), dtype)

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """The shape of a tensor."""
        if not isinstance(t, RaggedTensor):
            wanted = dt.int64 if dtype is None else as_dtype(dtype)
            return cls((), shape_of(convert_to_tensor(t), wanted), wanted)
        wanted = t.row_splits.dtype if dtype is None else as_dtype(dtype)
        return cls(partitions_of(t), shape_of(t.flat_values, wanted), wanted)

    @classmethod
    def from_row_partitions(cls, row_partitions: Sequence[RowPartition], dtype: Any = None) -> DynamicRaggedShape:
        """The shape of vectors that are divided so."""
        if not row_partitions:
            raise ArgumentError("row_partitions cannot be empty.")
        return cls(row_partitions, reshape(row_partitions[-1].nvals(), [1]), dtype)

    # What it says.

    @property
    def dtype(self) -> DType:
        """The dtype of the sizes."""
        return self._dtype

    @property
    def row_partitions(self) -> tuple[RowPartition, ...]:
        """How values are divided into rows, the outermost first."""
        return self._partitions

    @property
    def num_row_partitions(self) -> int:
        """How many dimensions are divided so."""
        return len(self._partitions)

    @property
    def inner_shape(self) -> Any:
        """The shape of the innermost values."""
        return self._inner

    @property
    def inner_rank(self) -> int | None:
        """The number of dimensions of the innermost values."""
        size = self._inner.shape[0]
        return None if size is None else int(size)

    @property
    def rank(self) -> int | None:
        """The number of dimensions."""
        return None if self.inner_rank is None else self.num_row_partitions + self.inner_rank

    def is_uniform(self, axis: int) -> bool:
        """Whether all rows of a dimension are known to have one length."""
        rank = self.rank
        if axis < 0 or (rank is not None and axis >= rank):
            raise IndexError(f"Expected a dimension from 0 to {rank} - 1, got {axis}.")
        return axis == 0 or axis > self.num_row_partitions or self._partitions[axis - 1].is_uniform()

    def static_lengths(self, ragged_lengths: bool = True) -> list[Any]:
        """The sizes as far as they are known; where rows differ a tuple of their lengths, or None if not asked for."""
        inner = get_static_value(self._inner)
        sizes = [None] * (self.inner_rank or 0) if inner is None else [int(size) for size in inner]
        if not self._partitions:
            return sizes
        found: list[Any] = [self._partitions[0].static_nrows]
        for each in self._partitions:
            if each.is_uniform():
                found.append(each.static_uniform_row_length)
            else:
                lengths = get_static_value(each.row_lengths()) if ragged_lengths else None
                found.append(None if lengths is None else tuple(int(length) for length in lengths))
        return [*found, *sizes[1:]]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(index)
        rank = self.rank
        number = index + rank if index < 0 and rank is not None else index
        if number == 0 and self._partitions:
            return cast(self._partitions[0].nrows(), self._dtype)
        if number > self.num_row_partitions or not self._partitions:
            return self._inner[number - self.num_row_partitions]
        if not self.is_uniform(number):
            raise ArgumentError(
                f"Index {index} is not uniform: the rows of {self} differ in length. Use its row_partitions."
            )
        return constant(self._partitions[number - 1].static_uniform_row_length, self._dtype)

    def _part(self, index: slice) -> Any:
        rank = self.rank
        if rank is None or index.step not in (None, 1):
            raise UnimplementedError(f"{self} is sliced in steps of 1, and with a known rank; got {index}.")
        start, stop, _ = index.indices(rank)
        count = self.num_row_partitions
        if start > count or not count:
            return DynamicRaggedShape((), self._inner[start - count : max(stop - count, start - count)], self._dtype)
        if start:
            raise UnimplementedError(
                f"A slice of {self} begins at the first dimension, or behind the rows; got {index}."
            )
        if stop > count:
            return DynamicRaggedShape(self._partitions, self._inner[: stop - count], self._dtype)
        kept = self._partitions[: max(stop - 1, 0)]
        sizes = [reshape(self._partitions[stop - 1].nrows(), [1])] if stop else [fill([0], cast(0, self._dtype))]
        return DynamicRaggedShape(kept, sizes[0], self._dtype)

    def rows_of(self, flat: Any) -> Any:
        """Values in the rows that this shape says; they have its inner shape already."""
        return RaggedTensor.from_nested_row_splits(
            flat, [each.row_splits() for each in self._partitions], validate=False
        )

    def __repr__(self) -> str:
        is_known = isinstance(self._inner, EagerTensor)
        lengths = self.static_lengths(ragged_lengths=is_known)
        return f"<DynamicRaggedShape lengths={lengths} num_row_partitions={self.num_row_partitions}>"


def partitions_of(rt: RaggedTensor) -> list[RowPartition]:
    """How the values of a ragged tensor are divided into rows, the outermost first."""
    inner = rt.values
    return [RowPartition(rt, internal=True), *(partitions_of(inner) if isinstance(inner, RaggedTensor) else [])]
