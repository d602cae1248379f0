"""Writing into what variables hold, where nobody else can see it.

Values never change once somebody has them (`situs.eager.cell`). An optimizer changes every variable in every step,
and would make as many new values; so it writes into a value that the cell alone holds:

    rewrite([cell], write)
      lock        the cells, all of them
      take out    the values: whoever reads a cell now waits for its lock
      look        is a value held by anything else? then it is copied, and the copy is written into
      write
      put back

Whether a value is held by anything else, Python and PyTorch count: references to the tensor, and tensors that share
its memory. Memory that PyTorch did not allocate itself (a NumPy array's, another library's) may have readers that
nobody counts, so it is copied too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from situs.eager.cell import Cell
from situs.eager.counting import SHORTAGES, counted, enter_variable, make_room

T = TypeVar("T")
Write = Callable[[list[torch.Tensor]], None]

_acquiring = threading.Lock()  # held while the locks of several cells are taken: two threads cannot wait for each other


def rewrite(cells: Sequence[Cell], write: Write) -> None:
    """Changes what cells hold.

    Args:
        cells: The cells, each once.
        write: Is given one tensor for each cell, in order, and writes into them. If it fails before it has written
            anything, nothing has changed.

    Raises:
        FailedPreconditionError: a cell has no value yet.
    """
    held: list[Cell] = []
    try:
        with _acquiring:
            for cell in cells:
                cell.lock.acquire()
                held.append(cell)
        _rewrite_locked(cells, write)
    finally:
        for cell in held:
            cell.lock.release()


def _rewrite_locked(cells: Sequence[Cell], write: Write) -> None:
    values: list[Any] = [cell.read() for cell in cells]
    for cell in cells:
        cell.away = _being_written  # there is a value, though it cannot be read: readers wait for the lock
        cell.value = None
    shared = [number for number, alone in enumerate(map(_is_alone, values)) if not alone]
    old = [values[number] for number in shared]
    try:
        for number in shared:
            values[number] = _copied(cells[number], values[number])
        write(values)
        old = [values[number] for number in shared]
    finally:
        for number, value in zip(shared, old, strict=True):
            values[number] = value
        for cell, value in zip(cells, values, strict=True):
            cell.value, cell.away = value, None


def _being_written() -> Any:
    raise AssertionError("a cell was read by the thread that writes into it")


def _copied(cell: Cell, value: torch.Tensor) -> torch.Tensor:
    device = cell.place.device
    copy: torch.Tensor = counted(torch.clone, device, "Variable")(value)
    enter_variable(copy, device, cell.name)
    return copy


def with_room(cell: Cell, make: Callable[[], T]) -> T:
    """What a function makes on the device of a cell; made again if there was no room, and some was found."""
    try:
        return make()
    except SHORTAGES:
        account = cell.place.device.account
        if account is None or not make_room(account):
            raise
    return make()


# Who else holds a value.

_uses: Callable[[torch.Tensor], int] = torch.Tensor._use_count  # type: ignore[attr-defined]


def _counts(value: torch.Tensor) -> tuple[int, int, int]:
    """References to a tensor, from Python and from PyTorch, and tensors in its memory."""
    memory = value.untyped_storage()
    return sys.getrefcount(value), _uses(value), torch._C._storage_Use_Count(memory._cdata)


def _is_alone(value: torch.Tensor) -> bool:
    """Whether a value that a list alone holds is memory of its own, all of it, and of PyTorch's making."""
    memory = value.untyped_storage()
    return (
        sys.getrefcount(value) == _ALONE[0]
        and _uses(value) == _ALONE[1]
        and torch._C._storage_Use_Count(memory._cdata) == _ALONE[2]
        and memory.resizable()
        and memory.nbytes() == value.nbytes
    )


# What is counted for a value that nobody else holds; it depends on how Python calls functions.
_ALONE = next(map(_counts, [torch.zeros(1)]))
