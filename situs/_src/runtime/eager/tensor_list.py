"""The value of a tensor list, which graphs pass around under the dtype ``variant``.

A list is immutable: setting a row returns another list. So that a loop that writes one row per iteration does not copy
all the others, the newest list has the rows, and an older one only its difference to the next (Baker's persistent
arrays):

    older --row 1 was unset--> newer --row 2 was unset--> newest {0: a, 1: b, 2: c}

Reading an older list reverses these arrows, so going back through the history of a list, as a gradient does, costs one
step per row. A row that was never set stands for zeros: the gradient of a list is a list with the gradients of the rows
that have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from situs._src.base import locks
from situs._src.runtime.eager.allocations import beside


class TensorList:
    """Rows by index: tensors, or lists again.

    Args:
        rows: The rows; None stands for one that is not set.
        size: The number of rows, set or not; by default as many as are given.
    """

    __slots__ = ("_lock", "_newer", "_rows", "size")
    shape = ()  # as a value it is a scalar, whatever its rows are

    def __init__(self, rows: Iterable[Any] = (), size: int | None = None) -> None:
        given = list(rows)
        self._rows: dict[int, Any] | None = {n: row for n, row in enumerate(given) if row is not None}
        self._newer: tuple[int, Any, TensorList] | None = None  # the row that differs, and the list with the others
        self._lock = locks.lock()  # shared by all versions of a list
        self.size = len(given) if size is None else size

    def get(self, number: int) -> Any:
        """The row with an index; None if it is not set."""
        with self._lock:
            return (self._own_rows() if self._rows is None else self._rows).get(number)

    def some(self, numbers: Iterable[int]) -> list[Any]:
        """The rows with these indices; None for one that is not set."""
        with self._lock:
            return list(map((self._own_rows() if self._rows is None else self._rows).get, numbers))

    def with_row(self, number: int, row: object) -> TensorList:
        """The list with one row replaced, or unset by None; extended if necessary."""
        with self._lock:
            rows = self._own_rows() if self._rows is None else self._rows
            self._newer, self._rows = (number, rows.get(number), changed := object.__new__(TensorList)), None
            if row is None:
                rows.pop(number, None)
            else:
                rows[number] = row
            changed._rows, changed._newer, changed._lock = rows, None, self._lock
            changed.size = self.size if row is None else max(self.size, number + 1)
            return changed

    def items(self) -> list[tuple[int, Any]]:
        """The rows that are set, with their indices."""
        with self._lock:
            return list(self._own_rows().items())

    def rows(self) -> list[Any]:
        """All rows in order, None for one that is not set."""
        with self._lock:
            return list(map(self._own_rows().get, range(self.size)))

    def count(self) -> int:
        """How many rows are set."""
        with self._lock:
            return len(self._own_rows())

    def __len__(self) -> int:
        return self.size

    def _own_rows(self) -> dict[int, Any]:
        """The rows of this list; it becomes the newest version."""
        way: list[TensorList] = []
        holder = self
        while holder._newer is not None:
            way.append(holder)
            holder = holder._newer[2]
        rows = holder._rows
        assert rows is not None
        for older in reversed(way):
            assert older._newer is not None
            number, row, newer = older._newer
            newer._newer, newer._rows = (number, rows.get(number), older), None
            if row is None:
                rows.pop(number, None)
            else:
                rows[number] = row
            older._newer, older._rows = None, rows
        return rows


def add_lists(one: TensorList, other: TensorList) -> TensorList:
    """The list of the sums of rows with the same index; a row that is not set counts as zeros."""
    many, few = (one, other) if one.count() >= other.count() else (other, one)
    for number, row in few.items():
        there = many.get(number)
        many = many.with_row(number, row if there is None else _sum(there, row))
    return many


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, TensorList):
        return add_lists(one, other)
    return beside(torch.add, one, "TensorListAdd")(one, other.to(one.device))
