"""Carrying out memory policies on a real card.

PyTorch's allocator keeps what it has once taken: one large block, allocated and freed again, stays
in its cache, and later tensors are cut out of it. That is how a share of a card is taken at once
(measured on an H200: 1,200 later tensors came out of a 100 GiB block without one more MiB taken).
"""

from __future__ import annotations

import torch

from situs.devices.inventory import process
from situs.devices.logical import Device
from situs.memory import policy

MIB = 2**20
# PyTorch refuses a block that fills a fraction to the last byte, because it rounds blocks up.
SLACK = 32 * MIB


def reserve(device: Device, ordinal: int) -> None:
    """Takes the memory of a card that the program's policy asks for; called when it is first used."""
    free, total = torch.cuda.mem_get_info(ordinal)
    split = process.split_of(device.physical)
    if split is not None:
        limit = sum(part.memory_limit or 0 for part in split) * MIB
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total), ordinal)
        return
    fraction = policy.current.fraction
    if fraction is not None:
        torch.cuda.set_per_process_memory_fraction(fraction, ordinal)
    if not policy.current.growth.get(device.physical, False):
        share = nearly_all(free) if fraction is None else min(int(fraction * total) - SLACK, nearly_all(free))
        _take(share, ordinal)


def nearly_all(free: int) -> int:
    """What *map all* takes of the free memory: all but a reserve for the driver and other libraries."""
    reserve_bytes = 225 * MIB if free < 2048 * MIB else max(300 * MIB, free // 20)
    return max(0, free - reserve_bytes)


def _take(size: int, ordinal: int) -> None:
    try:
        block = torch.empty(max(0, size), dtype=torch.uint8, device=torch.device("cuda", ordinal))
    except torch.OutOfMemoryError:
        return  # another process was quicker; the memory will be taken as it is needed
    del block
