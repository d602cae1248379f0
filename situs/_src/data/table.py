"""Tables: sources with random access to rows.

While nothing inspects the elements of such a source, its stages pass on only row indices, and ``batch`` gathers all
rows of a batch at once:

    from_tensor_slices(x)      numbers 0 1 2 3 ...      table x
    shuffle(3)                 numbers 2 0 3 1 ...      table x
    batch(2)                   x[[2, 0]], x[[3, 1]]

So shuffling moves integers instead of tensors, and a batch is one copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from situs._src.base.dtype import DType
from situs._src.data.columns import gathered, row, row_bytes, rows_of, stretch_of
from situs._src.data.element import Element
from situs._src.runtime.eager.bridge import TORCH_DTYPE

_CHUNK = 256  # rows that are unstacked at once
_SMALL = 512  # bytes: copying a row of that size costs less than slicing it out


class Table:
    """Columns of as many rows.

    Args:
        columns: The values, each with a row for every element.
    """

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = list(columns)
        self.row_bytes = sum(row_bytes(column) for column in self._columns)

    def row(self, number: int) -> Element:
        """One row."""
        return tuple([row(column, number) for column in self._columns])

    def rows(self, numbers: list[int]) -> Element:
        """These rows, as one value for each column."""
        stretch = stretch_of(numbers)
        if stretch is not None:
            return tuple([column[stretch] for column in self._columns])
        return tuple([gathered(column, numbers) for column in self._columns])

    def elements(self, numbers: Iterator[int]) -> Iterator[Element]:
        """The rows with these numbers, one after the other."""
        return map(self.row, numbers) if self.row_bytes > _SMALL else self._in_chunks(numbers)

    def _in_chunks(self, numbers: Iterator[int]) -> Iterator[Element]:
        while chunk := list(islice(numbers, _CHUNK)):
            yield from zip(*[rows_of(column) for column in self.rows(chunk)], strict=True)


class OneByOne(Table):
    """A table whose rows are taken only when they are needed, because taking their numbers has effects.

    Args:
        table: The table.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(())
        self._table = table
        self.row_bytes = table.row_bytes

    def row(self, number: int) -> Element:
        """One row."""
        return self._table.row(number)

    def rows(self, numbers: list[int]) -> Element:
        """These rows, as one value for each column."""
        return self._table.rows(numbers)

    def elements(self, numbers: Iterator[int]) -> Iterator[Element]:
        """The rows with these numbers, one after the other."""
        return map(self._table.row, numbers)


class Counting(Table):
    """The numbers ``start, start + step, ...``, made when asked for; what is too large for the dtype wraps around."""

    def __init__(self, start: int, step: int, dtype: DType) -> None:
        super().__init__(())
        self._start = start
        self._step = step
        self._dtype = TORCH_DTYPE[dtype]

    def row(self, number: int) -> Element:
        """One number of the sequence."""
        return (torch.tensor(self._start + self._step * number, dtype=torch.int64).to(self._dtype),)

    def rows(self, numbers: list[int]) -> Element:
        """These numbers of the sequence, as one tensor."""
        start, step = self._start, self._step
        return (torch.tensor([start + step * number for number in numbers], dtype=torch.int64).to(self._dtype),)


class SideBySide(Table):
    """Tables side by side: the columns of all of them."""

    def __init__(self, tables: Sequence[Table]) -> None:
        super().__init__(())
        self._tables = tables
        self.row_bytes = sum(table.row_bytes for table in tables)

    def row(self, number: int) -> Element:
        """One row of every table."""
        return tuple([value for table in self._tables for value in table.row(number)])

    def rows(self, numbers: list[int]) -> Element:
        """These rows of every table."""
        return tuple([column for table in self._tables for column in table.rows(numbers)])
