"""Values of sparse and ragged tensors as NumPy arrays, for TensorFlow 1 programs.

>>> RaggedTensorValue(np.array([3, 1, 4, 1, 5]), np.array([0, 2, 2, 5])).to_list()
[[3, 1], [], [4, 1, 5]]
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.typing import ArrayLike


@export(v1="SparseTensorValue")
class SparseTensorValue(NamedTuple):
    """The value of a sparse tensor.

    Attributes:
        indices: Where the elements are that are not zero: a row of indices for each.
        values: These elements.
        dense_shape: The shape of the whole.
    """

    indices: Any
    values: Any
    dense_shape: Any


@export(v1="ragged.RaggedTensorValue")
class RaggedTensorValue:
    """The value of a ragged tensor: rows of different lengths, one after the other.

    Args:
        values: What is in the rows: an array, or another `RaggedTensorValue`.
        row_splits: Where each row begins in `values`, and where the last one ends.

    Raises:
        TypeError: these are no such arrays.
        ValueError: the splits are no vector.
    """

    def __init__(self, values: ArrayLike, row_splits: Any) -> None:
        if not isinstance(row_splits, (np.ndarray, np.generic)) or row_splits.dtype not in (np.int64, np.int32):
            raise DTypeError(f"row_splits must be a 1D int32 or int64 numpy array, got {shown(row_splits)}.")
        if row_splits.ndim != 1:
            raise ArgumentError(f"row_splits must be a 1D int32 or int64 numpy array, it has {row_splits.ndim}D.")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise DTypeError(f"values must be a numpy array or a RaggedTensorValue, got {shown(values)}.")
        if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
            raise ArgumentError("row_splits and values.row_splits must have the same dtype")
        self._values = values
        self._row_splits: Any = row_splits

    @property
    def values(self) -> Any:
        """What is in the rows, one after the other."""
        return self._values

    @property
    def row_splits(self) -> Any:
        """Where the rows begin, and where the last one ends."""
        return self._row_splits

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the elements."""
        return self._values.dtype

    @property
    def flat_values(self) -> np.ndarray[Any, Any] | np.generic:
        """The elements, without any rows."""
        inner = self._values
        while isinstance(inner, RaggedTensorValue):
            inner = inner.values
        return inner

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """The splits of all ragged dimensions, from the outermost on."""
        inner = self._values
        return (self._row_splits, *(inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()))

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are ragged."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The shape; None where rows differ in length, or may."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """The rows as nested lists."""
        inner = self._values
        rows = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        ends = self._row_splits.tolist()
        return [rows[begin:end] for begin, end in pairwise(ends)]

    def __str__(self) -> str:
        return f"<RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
