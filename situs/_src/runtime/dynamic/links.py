"""Measured costs of copies: for each ordered pair of devices the time of a small and of a larger one.

seconds
  |            .- o   large         per byte = (large - small) / bytes
  |       .-'
  |  o-'              small: the latency
  +-------------- bytes

A large copy that takes hardly longer than a small one says nothing about bytes, only about noise: it is made larger,
as far as the devices have room for it. No memory is faster than `FASTEST`, whatever the clock says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import torch

from situs._src.base.devices.logical import Device
from situs._src.placement.costs.model import link_name
from situs._src.placement.costs.store import CostStore
from situs._src.runtime.eager.bridge import copier, torch_device

SMALL = 2**8  # bytes
LARGE = 2**22
LARGEST = 2**26
CLEARLY = 2.0  # by how much longer a large copy takes than a small one, for its bytes to be seen
FASTEST = 1e13  # bytes a second
TIMES = 7


def measure_links(devices: Sequence[Device], store: CostStore, clock: Callable[[], float] = time.perf_counter) -> None:
    """Times copies between all pairs of devices, and enters them into a store.

    Args:
        devices: The devices.
        store: Where the times go.
        clock: Gives the time in seconds.
    """
    for source in devices:
        for target in devices:
            if source is not target:
                _measure(source, target, store, clock)


def _measure(source: Device, target: Device, store: CostStore, clock: Callable[[], float]) -> None:
    copy = copier(source, target)
    if copy is None:  # logical CPUs share the host's memory
        store.note_link(link_name(source, target), 0.0, 0.0)
        return
    room = min([LARGEST, *(d.account.limit // 16 for d in (source, target) if d.account is not None)])
    small = _median(copy, SMALL, (source, target), clock)
    size = max(min(LARGE, room), 2 * SMALL)
    large = _median(copy, size, (source, target), clock)
    while large < CLEARLY * small and 4 * size <= room:
        size *= 4
        large = _median(copy, size, (source, target), clock)
    per_byte = max((large - small) / (size - SMALL), 1 / FASTEST)
    store.note_link(link_name(source, target), small, per_byte)


def _median(
    copy: Callable[[torch.Tensor], torch.Tensor], size: int, ends: tuple[Device, Device], clock: Callable[[], float]
) -> float:
    """What a copy of so many bytes takes."""
    value = torch.zeros(size, dtype=torch.uint8, device=torch_device(ends[0]))
    copy(value)
    return median(_timed(copy, value, ends, clock) for _ in range(TIMES))


def _timed(
    copy: Callable[[torch.Tensor], torch.Tensor],
    value: torch.Tensor,
    ends: Sequence[Device],
    clock: Callable[[], float],
) -> float:
    wait_for(ends)
    start = clock()
    copy(value)
    wait_for(ends)
    return clock() - start


def wait_for(devices: Sequence[Device]) -> None:
    """Waits until the cards among devices have done what they were told to."""
    for device in devices:
        if device.is_card:
            torch.cuda.synchronize(torch_device(device))
