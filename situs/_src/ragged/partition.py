"""``tf.experimental.RowPartition``: how a number of values is divided into rows.

    values      a b c d e
    row_splits  [0, 2, 2, 5]        rows [a b] [] [c d e]

It is what a ragged tensor has besides its values.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.join import concat
from situs._src.ragged.tensor import RaggedTensor, as_integers
from situs._src.runtime.eager.tensor import EagerTensor


@export("experimental.RowPartition", v1=())
class RowPartition:
    """How values are divided into rows. Made by one of the methods ``from_...``.

    Example:
        >>> import situs as tf
        >>> rows = tf.experimental.RowPartition.from_value_rowids([0, 0, 2, 2, 2], nrows=4)
        >>> rows.row_splits().numpy().tolist(), rows.row_lengths().numpy().tolist()
        ([0, 2, 2, 5, 5], [2, 0, 3, 0])
    """

    def __init__(self, rows: RaggedTensor, internal: bool = False) -> None:
        if not internal:
            raise ArgumentError(
                "RowPartition constructor is private; please use one of the factory methods instead (e.g., "
                "RowPartition.from_row_lengths())"
            )
        self._rows = rows  # the values are not looked at

    @classmethod
    def from_row_splits(cls, row_splits: Any, validate: bool = True) -> RowPartition:
        """Rows that begin and end at splits."""
        splits = as_integers(row_splits, "row_splits")
        return cls(RaggedTensor.from_row_splits(range_of(splits[-1]), splits, validate=validate), internal=True)

    @classmethod
    def from_row_lengths(cls, row_lengths: Any, validate: bool = True) -> RowPartition:
        """Rows of some lengths, one after the other."""
        lengths = as_integers(row_lengths, "row_lengths")
        from situs._src.ops.reduce import reduce_sum

        values = range_of(reduce_sum(lengths))
        return cls(RaggedTensor.from_row_lengths(values, lengths, validate=validate), internal=True)

    @classmethod
    def from_value_rowids(
        cls, value_rowids: Any, nrows: Any = None, validate: bool = True, dtype: Any = None
    ) -> RowPartition:
        """The number of the row of each value, in order, and how many rows there are."""
        ids = as_integers(value_rowids, "value_rowids")
        if dtype is not None:
            ids = cast(ids, dtype)
        return cls(RaggedTensor.from_value_rowids(ids, ids, nrows, validate=validate), internal=True)

    @classmethod
    def from_row_starts(cls, row_starts: Any, nvals: Any, validate: bool = True) -> RowPartition:
        """Where each row begins, and how many values there are."""
        starts = as_integers(row_starts, "row_starts")
        values = range_of(cast(convert_to_tensor(nvals), starts.dtype))
        return cls(RaggedTensor.from_row_starts(values, starts, validate=validate), internal=True)

    @classmethod
    def from_row_limits(cls, row_limits: Any, validate: bool = True) -> RowPartition:
        """Where each row ends."""
        limits = as_integers(row_limits, "row_limits")
        return cls.from_row_splits(concat([cast([0], limits.dtype), limits], 0), validate=validate)

    @classmethod
    def from_uniform_row_length(
        cls, uniform_row_length: Any, nvals: Any = None, nrows: Any = None, validate: bool = True
    ) -> RowPartition:
        """Rows of one length: so many of them, or as many as the values fill."""
        length = as_integers(uniform_row_length, "uniform_row_length")
        if nvals is None and nrows is None:
            raise ArgumentError("At least one of `nvals` and `nrows` must be given for rows of one length.")
        count = cast(nvals, length.dtype) if nvals is not None else cast(nrows, length.dtype) * length
        return cls(
            RaggedTensor.from_uniform_row_length(range_of(count), length, nrows, validate=validate), internal=True
        )

    def with_uniform(self, length: int) -> RowPartition:
        """The same rows, which are known to have one length."""
        rows = self._rows
        return RowPartition(RaggedTensor(rows.values, rows.row_splits, internal=True, uniform=length), internal=True)

    @property
    def dtype(self) -> DType:
        """The dtype of the splits: int32 or int64."""
        found: DType = self._rows.row_splits.dtype
        return found

    def row_splits(self) -> Tensor:
        """Where each row begins, and where the last one ends."""
        found: Tensor = self._rows.row_splits
        return found

    def value_rowids(self) -> Tensor:
        """The number of the row of each value."""
        found: Tensor = self._rows.value_rowids()
        return found

    def row_lengths(self) -> Tensor:
        """How long each row is."""
        found: Tensor = self._rows.row_lengths()
        return found

    def row_starts(self) -> Tensor:
        """Where each row begins."""
        found: Tensor = self._rows.row_starts()
        return found

    def row_limits(self) -> Tensor:
        """Where each row ends."""
        found: Tensor = self._rows.row_limits()
        return found

    def nrows(self) -> Tensor:
        """How many rows there are."""
        found: Tensor = self._rows.nrows()
        return found

    def nvals(self) -> Tensor:
        """How many values there are."""
        found: Tensor = cast(shape_of(self._rows.values, dt.int64)[0], self.dtype)
        return found

    @property
    def static_nrows(self) -> int | None:
        """How many rows there are, where that is known when a graph is built."""
        size = self.row_splits().shape[0]
        return None if size is None else int(size) - 1

    def is_uniform(self) -> bool:
        """Whether all rows are known to have one length."""
        return self._rows._uniform is not None

    @property
    def static_uniform_row_length(self) -> int | None:
        """The length of all rows; None if it is not known that they have one."""
        return self._rows._uniform

    def uniform_row_length(self) -> Any:
        """The length of all rows, as a tensor; None if it is not known that they have one."""
        return self._rows.uniform_row_length

    def offsets_in_rows(self) -> Tensor:
        """Where each value stands in its row."""
        found: Tensor = self._rows.positions()
        return found

    def __repr__(self) -> str:
        splits = self.row_splits()
        return f"tf.RowPartition(row_splits={splits.numpy() if isinstance(splits, EagerTensor) else splits})"
