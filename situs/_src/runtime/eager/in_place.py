"""Writing into what variables hold, where nobody else can see it.

Values never change once somebody has them (`runtime.eager.cell`). An optimizer changes every variable in every step,
and would make as many new values; so it writes into a value that the cell alone holds:

    rewrite([cell], write)
      lock        the cells, all of them
      take out    the values: whoever reads a cell now waits for its lock
      look        is a value held by anything else? then it is copied, and the copy is written into
      write
      put back

An assignment puts another value into a cell, which costs nothing (`exchange`). Where a CUDA graph has recorded the
memory of the old one, it is written into instead: else every assignment, such as that of Keras to its metrics at the
beginning of an epoch, would ask for another recording.

Whether a value is held by anything else, Python and PyTorch count: references to the tensor, and tensors that share
its memory. Memory that PyTorch did not allocate itself (a NumPy array's, another library's) may have readers that
nobody counts, so it is copied too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, sub
from typing import Any, TypeVar

import torch

from situs._src.base import locks
from situs._src.runtime.eager.allocations import SHORTAGES, counted, enter_variable, make_room
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.torch_private import storage_key, storage_use_count, tensor_use_count

T = TypeVar("T")
Write = Callable[[list[torch.Tensor]], None]

_acquiring = locks.lock()  # held while the locks of several cells are taken: two threads cannot wait for each other


def rewrite(cells: Sequence[Cell], write: Write) -> None:
    """Changes what cells hold.

    Args:
        cells: The cells, each once.
        write: Is given one tensor for each cell, in order, and writes into them. If it fails before it has written
            anything, nothing has changed.

    Raises:
        FailedPreconditionError: a cell has no value yet.
    """
    with_values(cells, lambda values: _write(cells, values, write))


def with_values(cells: Sequence[Cell], act: Callable[[list[Any]], T]) -> T:
    """Takes the values out of cells, does something with them and puts them back; meanwhile nobody reads them.

    Args:
        cells: The cells, each once.
        act: Is given a list that alone holds the values, and may put others into it.

    Returns:
        What `act` returns.

    Raises:
        FailedPreconditionError: a cell has no value yet.
    """
    held: list[Cell] = []
    try:
        with _acquiring:
            for cell in cells:
                cell.lock.acquire()
                held.append(cell)
        return _with_values_locked(cells, act)
    finally:
        for cell in held:
            cell.lock.release()


def _with_values_locked(cells: Sequence[Cell], act: Callable[[list[Any]], T]) -> T:
    values: list[Any] = [cell.read() for cell in cells]
    for cell in cells:
        cell.away = _being_written  # there is a value, though it cannot be read: readers wait for the lock
        cell.value = None
    try:
        return act(values)
    finally:
        for cell, value in zip(cells, values, strict=True):
            cell.value, cell.away = value, None


def _write(cells: Sequence[Cell], values: list[Any], write: Write) -> None:
    shared = shared_ones(values)
    old = [values[number] for number in shared]
    try:
        for number in shared:
            values[number] = copy_for(cells[number], values[number])
        write(values)
        old = [values[number] for number in shared]
    finally:
        for number, value in zip(shared, old, strict=True):
            values[number] = value


def exchange(cell: Cell, new: Value) -> None:
    """Gives a cell another value; one that is recorded keeps its memory, where nothing else holds the old value.

    Args:
        cell: The cell, whose lock the caller has. The caller must not hold the old value any longer.
        new: The value.
    """
    if cell.is_recorded and _is_alike(cell.value, new):
        _with_values_locked([cell], lambda values: _overwrite(values, new))
    else:
        cell.value, cell.away = new, None


def _is_alike(old: Value, new: Value) -> bool:
    """Whether one value can be written into the memory of another."""
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return False
    return (old.shape, old.dtype, old.device) == (new.shape, new.dtype, new.device)


def _overwrite(values: list[Any], new: torch.Tensor) -> None:
    if shared_ones(values):
        values[0] = new
    else:
        values[0].copy_(new)


def _being_written() -> Any:
    raise AssertionError("a cell was read by the thread that writes into it")


def copy_for(cell: Cell, value: torch.Tensor) -> torch.Tensor:
    """A copy of the value of a cell, to be written into in its place."""
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


# Who else holds values.

_references: Callable[[Any], int] = sys.getrefcount
_memory = torch.Tensor.untyped_storage
_is_torchs = torch.UntypedStorage.resizable  # memory that came from elsewhere is not
_size = torch.UntypedStorage.nbytes
_needed = attrgetter("nbytes")


def _facts(values: list[torch.Tensor]) -> list[Iterator[Any]]:
    """Of all values: references from Python, from PyTorch, tensors in their memory, whose it is, how much is left over.

    They are the same for all values that nobody but the list holds; how Python calls functions decides what they are.
    """
    memory = list(map(_memory, values))
    shares = map(storage_use_count, map(storage_key, memory))
    rest = map(sub, map(_size, memory), map(_needed, values))
    return [map(_references, values), map(tensor_use_count, values), shares, map(_is_torchs, memory), rest]


_ALONE = [next(fact) for fact in _facts([torch.zeros(1)])]
_ALL_ALONE = [{fact} for fact in _ALONE]


def shared_ones(values: list[torch.Tensor]) -> list[int]:
    """The numbers of the values that something else holds as well, or that are only a part of their memory."""
    if list(map(set, _facts(values))) == _ALL_ALONE:
        return []
    return [number for number, facts in enumerate(zip(*_facts(values), strict=True)) if list(facts) != _ALONE]
