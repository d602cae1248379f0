"""Offloading: values moved from a GPU to the host, and back.

Tensors that share a storage move together, because moving one of them alone would free nothing. The storage
itself is copied, byte by byte; each tensor is recreated as a view of it, with the same strides:

    away = Away(value.untyped_storage(), device)      # copied to the host
    view = away.view(value)                           # the value may be freed now
    view.bring()                                      # the same value, on the device again

All transfers of the process are counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.runtime.eager.bridge import Value, copier, host


class Moved(NamedTuple):
    """How many bytes have been transferred since the program began, and in how many transfers."""

    to_host: int = 0
    to_device: int = 0
    moves: int = 0


_moved = Moved()
_lock = locks.lock()


def moved() -> Moved:
    """The transfers so far."""
    return _moved


def _count(to_host: int = 0, to_device: int = 0) -> None:
    global _moved
    with _lock:
        _moved = Moved(_moved.to_host + to_host, _moved.to_device + to_device, _moved.moves + 1)


class Away:
    """A block of a GPU's memory, offloaded to the host."""

    def __init__(self, storage: Any, device: Device) -> None:
        self._device = device
        self._bytes = _copied(_as_bytes(storage), device, host())
        self._back: ref[Any] | None = None  # the memory on the device again, while it is in use
        _count(to_host=storage.nbytes())

    def view(self, value: torch.Tensor) -> View:
        """A handle of a tensor in this memory, to rebuild it."""
        return View(self, value)

    def storage(self) -> Any:
        """The memory on the device again; shared by all tensors in it.

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
    """A tensor whose memory is offloaded."""

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
    """Whether a tensor is fully described by its memory; one with a lazy conjugation or negation is not."""
    return not (value.is_conj() or value.is_neg()) and value.untyped_storage().nbytes() > 0


def _as_bytes(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _copied(value: torch.Tensor, source: Device, target: Device) -> torch.Tensor:
    copy = copier(source, target, "Swap")
    assert copy is not None, "a GPU and the host have memories of their own"
    made: torch.Tensor = copy(value)
    return made
