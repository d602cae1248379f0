"""Values of many elements as one: stacked, padded, unstacked.

    stacked([a, b, c])      one value with a row for each        rows_of(value)     the rows again
    gathered(column, [4, 0, 2])                                  some rows of a column, in that order
    column[stretch_of([4, 5, 6])]                                consecutive rows, which share its memory

A value is a PyTorch tensor, or for strings a NumPy array of bytes objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import DataLossError, InvalidArgumentError
from situs._src.base.shapes import brackets
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Value


def stacked(values: Sequence[Value], component: int = 0) -> Value:
    """One value with a row for each of these.

    Raises:
        InvalidArgumentError: their shapes differ.
    """
    first = values[0].shape
    for number, value in enumerate(values):
        if value.shape != first:
            raise InvalidArgumentError(
                f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                f"{brackets(tuple(first))} and element {number} had shape {brackets(tuple(value.shape))}. Use "
                "padded_batch() to pad them to one size."
            )
    if isinstance(values[0], torch.Tensor):
        return _stacked(values)
    made = np.empty((len(values), *first), dtype=object)
    for number, value in enumerate(values):
        made[number] = value[()]
    return made


_LARGE = 2**15  # elements of one row from which on PyTorch would copy it with several threads


def _stacked(values: Sequence[torch.Tensor]) -> torch.Tensor:
    """Rows as one tensor, copied by this thread alone: the cores are for the program that takes the batches.

    Copying large rows, PyTorch starts its threads for each of them. Beside a busy program that took ten times as long.
    """
    first = values[0]
    if first.numel() < _LARGE or first.device.type != "cpu":
        return torch.stack(list(values))
    return _like(np.stack([_array(value) for value in values]), first.dtype)


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    return value.view(torch.int16).numpy() if value.dtype is torch.bfloat16 else value.numpy()


def _like(array: Any, dtype: torch.dtype) -> torch.Tensor:
    made = torch.from_numpy(array)
    return made.view(dtype) if dtype is torch.bfloat16 else made


def padded(values: Sequence[Value], sizes: Sequence[int | None], fill: Any, dtype: DType) -> Value:
    """One value with a row for each of these, made equal in size with `fill` behind them.

    Args:
        values: The values.
        sizes: The size of each dimension; None for that of the largest value.
        fill: What to pad with.
        dtype: Their dtype.

    Raises:
        InvalidArgumentError: a value has another rank.
        DataLossError: a value is larger than `sizes` says.
    """
    for value in values:
        if value.ndim != len(sizes):
            raise InvalidArgumentError(
                "All elements in a batch must have the same rank as the padded shape: expected rank "
                f"{len(sizes)} but got an element with rank {value.ndim}."
            )
    shapes = np.array([tuple(value.shape) for value in values]).reshape(len(values), -1)
    largest = shapes.max(axis=0).tolist() if shapes.size else []
    wanted = [most if size is None else size for size, most in zip(sizes, largest, strict=True)]
    for size, most in zip(wanted, largest, strict=True):
        if most > size:
            raise DataLossError(
                "Attempted to pad to a smaller size than the input element: an element has size "
                f"{most} in a dimension that `padded_shapes` limits to {size}."
            )
    made = _filled((len(values), *wanted), fill, dtype)
    for number, value in enumerate(values):
        made[(number, *[slice(size) for size in value.shape])] = value if value.ndim else value[()]
    return made


def _filled(shape: tuple[int, ...], fill: Any, dtype: DType) -> Value:
    if dtype is dt.string:
        return np.full(shape, fill, dtype=object)
    return torch.full(shape, fill, dtype=TORCH_DTYPE[dtype])


def rows_of(column: Value) -> Sequence[Value]:
    """The rows of a column, as values that share its memory."""
    if isinstance(column, torch.Tensor):
        return column.unbind(0) if len(column) else ()
    return [_string_row(column, number) for number in range(len(column))]


def row(column: Value, number: int) -> Value:
    """One row of a column, sharing its memory."""
    return column.select(0, number) if isinstance(column, torch.Tensor) else _string_row(column, number)


def _string_row(column: Any, number: int) -> np.ndarray[Any, Any]:
    return np.array(column[number], dtype=object)


def stretch_of(numbers: Sequence[int]) -> slice | None:
    """Numbers that follow one another, as a slice; None for others."""
    first, count = numbers[0], len(numbers)
    if numbers[-1] - first == count - 1 and numbers == list(range(first, first + count)):
        return slice(first, first + count)
    return None


def gathered(column: Value, numbers: Sequence[int]) -> Value:
    """Some rows of a column, in that order; a new value."""
    if not isinstance(column, torch.Tensor):
        return column[numbers]
    return _like(np.take(_array(column), numbers, axis=0), column.dtype)


def row_bytes(column: Value) -> int:
    """The size of one row; a string counts as much as a pointer to it."""
    if not len(column):
        return 0
    return int(column.nbytes) // len(column)
