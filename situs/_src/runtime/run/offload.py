"""Memory that lies on the host for a while: values moved off a GPU, and how they come back.

Tensors that share memory move together, because one of them alone would free nothing. What moves is the memory
itself, byte by byte; each tensor is made again in it as it was, strides and all:

    away = Away(value.untyped_storage(), device)      # copied to the host
    view = away.view(value)                           # the value may go now
    view.bring()                                      # the same value, on the device again

All moves of the process are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.runtime.eager.bridge import Value, copier, host


class Moved(NamedTuple):
    """How many bytes have been moved since the program began, and in how many moves."""

    to_host: int = 0
    to_device: int = 0
    moves: int = 0


_moved = Moved()
_lock = locks.lock()


def moved() -> Moved:
    """What has been moved so far."""
    return _moved


def _count(to_host: int = 0, to_device: int = 0) -> None:
    global _moved
    with _lock:
        _moved = Moved(_moved.to_host + to_host, _moved.to_device + to_device, _moved.moves + 1)


class Away:
    """A piece of a GPU's memory, moved to the host."""

    def __init__(self, storage: Any, device: Device) -> None:
        self._device = device
        self._bytes = _copied(_as_bytes(storage), device, host())
        self._back: ref[Any] | None = None  # the memory on the device again, while something is in it
        _count(to_host=storage.nbytes())

    def view(self, value: torch.Tensor) -> View:
        """What a tensor in this memory is, to be made again."""
        return View(self, value)

    def storage(self) -> Any:
        """The memory on the device again; the same for all that lies in it.

        Raises:
            LimitReached, torch.OutOfMemoryError: there is no room for it.
        """
        found = None if self._back is None else self._back()
        if found is None:
            found = _copied(self._bytes, host(), self._device).untyped_storage()
            self._back = ref(found)
            _count(to_device=found.nbytes())
        return found


class View:
    """A tensor whose memory is away."""

    __slots__ = ("_away", "_dtype", "_layout", "_where")

    def __init__(self, away: Away, value: torch.Tensor) -> None:
        self._away = away
        self._dtype = value.dtype
        self._where = value.device
        self._layout = value.storage_offset(), value.shape, value.stride()

    def bring(self) -> Value:
        """The tensor, on its device again."""
        made = torch.empty(0, dtype=self._dtype, device=self._where)
        return made.set_(self._away.storage(), *self._layout)


def may_move(value: torch.Tensor) -> bool:
    """Whether a tensor is no more than its memory: one that is to be conjugated or negated when it is read is more."""
    return not (value.is_conj() or value.is_neg()) and value.untyped_storage().nbytes() > 0


def _as_bytes(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _copied(value: torch.Tensor, source: Device, target: Device) -> torch.Tensor:
    copy = copier(source, target, "Swap")
    assert copy is not None, "a GPU and the host have memories of their own"
    made: torch.Tensor = copy(value)
    return made
