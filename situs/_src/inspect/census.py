"""A census of host memory: what tensors on CPUs use, counted on demand.

A CPU has no ledger, so its ops do not pay for one. But every tensor that Python references is known to its garbage
collector: those are scanned, and each block of memory is counted once, however many tensors share it. So the figures
are exact for live tensors and variables, but there is no peak and no source line.

A block shared by an op's result and a view of it is attributed to the op, not to the view.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from situs._src.base.devices.logical import Device
from situs._src.inspect.holders import Holder, joined
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.eager.torch_private import is_view, storage_key


class _Block(NamedTuple):
    """A block of memory as one tensor shows it; `rank` says how well it is named."""

    device: Device
    op: str
    size: int
    rank: int


_VIEW, _RESULT, _VARIABLE = range(3)


def census() -> dict[Device, tuple[Holder, ...]]:
    """What is held on each CPU that holds anything, largest first."""
    blocks: dict[int, _Block] = {}
    for key, block in _found():
        known = blocks.get(key)
        if known is None or block.rank > known.rank:
            blocks[key] = block
    by_device: dict[Device, list[_Block]] = {}
    for block in blocks.values():
        by_device.setdefault(block.device, []).append(block)
    return {device: joined(((b.op, "", 0, ""), 1, b.size) for b in held) for device, held in by_device.items()}


def _found() -> Iterator[tuple[int, _Block]]:
    """The blocks that are alive, by what tells them apart, as often as there are tensors that use them."""
    for item in gc.get_objects():
        kind = type(item)  # isinstance would ask the object, which may be anything
        if kind is not EagerTensor and kind is not Cell:
            continue
        try:
            device, value, op = _shown(item)
        except AttributeError:  # another thread is making it just now
            continue
        if device.type == "CPU" and value is not None:
            key, size, rank = _memory_of(value)
            if size:
                yield key, _Block(device, op, size, _VARIABLE if kind is Cell else rank)


def _shown(item: EagerTensor | Cell) -> tuple[Device, Any, str]:
    if isinstance(item, Cell):
        return item.place.device, item.value, f"Variable {item.name}"
    return item._place.device, item._value, "Const" if item._made_by is None else item._made_by.op


def _memory_of(value: Any) -> tuple[int, int, int]:
    """What tells the memory of a value from others, how large it is, and whether it is a view of another's."""
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        return storage_key(storage), storage.nbytes(), _VIEW if is_view(value) else _RESULT
    return id(value), value.nbytes, _RESULT
