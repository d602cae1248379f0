"""Updating variables' values in place, where that is not observable.

Values are immutable once they are referenced (`runtime.eager.cell`). An optimizer updates every variable in every step,
and would allocate as many new values; so it writes into a value that only the cell references:

    rewrite([cell], write)
      lock        the cells, all of them
      take out    the values: readers of a cell now wait for its lock
      look        is a value referenced elsewhere? then it is copied, and the copy is updated
      write
      put back

An assignment replaces the value in a cell, which costs nothing (`exchange`). If a CUDA graph has captured the memory of
the old value, that memory is written to instead: otherwise every assignment, such as Keras' reset of its metrics at the
start of an epoch, would require another capture.

Whether a value is referenced elsewhere is known from the counts of Python and PyTorch: references to the tensor, and
tensors that share its memory. Memory that PyTorch did not allocate itself (a NumPy array's, another library's) may have
uncounted readers, so it is copied too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, is_, sub
from typing import Any, TypeVar
from weakref import ref

import torch

from situs._src.base import locks
from situs._src.runtime.eager.allocations import SHORTAGES, counted, enter_variable, make_room
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.torch_private import storage_key, storage_use_count, tensor_use_count

T = TypeVar("T")
Write = Callable[[list[torch.Tensor]], None]

_acquiring = locks.lock()  # held while several cells are locked: avoids deadlocks


def rewrite(cells: Sequence[Cell], write: Write) -> None:
    """Updates the values of cells.

    Args:
        cells: The cells, each once.
        write: Called with one tensor for each cell, in order, to write into them. If it fails before it has written
            anything, nothing has changed.

    Raises:
        FailedPreconditionError: a cell has no value yet.
    """
    with_values(cells, lambda values: _write(cells, values, write))


def with_values(cells: Sequence[Cell], act: Callable[[list[Any]], T]) -> T:
    """Takes the values out of cells, calls a function with them and puts them back; readers wait meanwhile.

    Args:
        cells: The cells, each once.
        act: Called with a list that has the only references to the values, and may replace them.

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
        cell.away = _being_written  # a value exists but cannot be read: readers wait for the lock
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
    """Gives a cell another value; a captured one keeps its memory, if the old value is not referenced elsewhere.

    Args:
        cell: The cell, locked by the caller. The caller must not reference the old value any more.
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
    """A copy of the value of a cell, to be updated instead."""
    device = cell.place.device
    copy: torch.Tensor = counted(torch.clone, device, "Variable")(value)
    enter_variable(copy, device, cell.name)
    return copy


def with_room(cell: Cell, make: Callable[[], T]) -> T:
    """Calls a function that allocates on the device of a cell; retries it once room has been made."""
    try:
        return make()
    except SHORTAGES:
        account = cell.place.device.account
        if account is None or not make_room(account):
            raise
    return make()


# References to values.

_references: Callable[[Any], int] = sys.getrefcount
_memory = torch.Tensor.untyped_storage
_is_torchs = torch.UntypedStorage.resizable  # foreign memory is not
_size = torch.UntypedStorage.nbytes
_needed = attrgetter("nbytes")


def _facts(values: list[torch.Tensor]) -> list[Iterator[Any]]:
    """For all values: references from Python, from PyTorch, tensors in their memory, its owner, and its unused rest.

    They are the same for all values that only the list references; how Python calls functions determines the numbers.
    """
    memory = list(map(_memory, values))
    shares = map(storage_use_count, map(storage_key, memory))
    rest = map(sub, map(_size, memory), map(_needed, values))
    return [map(_references, values), map(tensor_use_count, values), shares, map(_is_torchs, memory), rest]


_ALONE = [next(fact) for fact in _facts([torch.zeros(1)])]
_ALL_ALONE = [{fact} for fact in _ALONE]


class Recorded:
    """The captured memory of values, with a check before each use whether the values are still the same.

    What can change while a tensor stays the same is checked every time: its references. Where the memory came from, and
    that the value is all of it, is checked once. It references the values weakly.

    Args:
        values: The values.
    """

    def __init__(self, values: list[torch.Tensor]) -> None:
        self.homes = [ref(value) for value in values]
        self._keys = [storage_key(_memory(value)) for value in values]
        self._is_known = False  # whether the memory itself has been checked

    def is_alone_with(self, values: list[torch.Tensor]) -> bool:
        """Whether these are the values, and only the list references them or shares their memory."""
        if not all(map(is_, [home() for home in self.homes], values)):
            return False
        if not self._is_known:
            self._is_known = not shared_ones(values)
            return self._is_known
        return _holders(values, self._keys) == _NO_OTHERS


def _holders(values: list[torch.Tensor], keys: list[int]) -> list[set[int]]:
    """For all values: references from Python and from PyTorch, and tensors in the memory with these keys."""
    facts = map(_references, values), map(tensor_use_count, values), map(storage_use_count, keys)
    return list(map(set, facts))


def _holders_of_one() -> list[set[int]]:
    values = [torch.zeros(1)]
    return _holders(values, [storage_key(_memory(values[0]))])


_NO_OTHERS = _holders_of_one()


def shared_ones(values: list[torch.Tensor]) -> list[int]:
    """The indices of the values that are referenced elsewhere, or that are only a part of their memory."""
    if list(map(set, _facts(values))) == _ALL_ALONE:
        return []
    return [number for number, facts in enumerate(zip(*_facts(values), strict=True)) if list(facts) != _ALONE]
