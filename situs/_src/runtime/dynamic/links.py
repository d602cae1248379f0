"""Measured costs of copies: for each ordered pair of devices the times of a small and of a larger copy.

seconds
  |            .- o   large         per byte = (large - small) / bytes
  |       .-'
  |  o-'              small: the latency
  +-------------- bytes

A large copy that takes hardly longer than a small one only shows noise: it is made larger, as far as the devices have
room for it. No memory is faster than `FASTEST`, whatever the clock says.

A feed is an array of the program, which a step that updates variables copies: into memory that is requested from the
system each time. It is measured as a link from the program to the host.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import torch

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import uint8
from situs._src.placement.costs.model import feeding_name, link_name
from situs._src.placement.costs.store import CostStore
from situs._src.runtime.eager.bridge import copier, host, torch_device
from situs._src.runtime.eager.convert import host_to_value

SMALL = 2**8  # bytes
LARGE = 2**22
LARGEST = 2**26
FED = 2**20
CLEARLY = 2.0  # how many times longer a large copy must take than a small one to be informative
FASTEST = 1e13  # bytes per second
TIMES = 7


def measure_links(devices: Sequence[Device], store: CostStore, clock: Callable[[], float] = time.perf_counter) -> None:
    """Times copies between all pairs of devices, and enters them into a store.

    Args:
        devices: The devices.
        store: The cost store.
        clock: Returns the time in seconds.
    """
    for source in devices:
        for target in devices:
            if source is not target:
                _measure(source, target, store, clock)
    home = host()
    if home in devices:
        times = [median(_fed_seconds(size, clock) for _ in range(TIMES)) for size in (SMALL, FED)]
        per_byte = max((times[1] - times[0]) / (FED - SMALL), 1 / FASTEST)
        store.note_link(feeding_name(home), times[0], per_byte)


def _fed_seconds(size: int, clock: Callable[[], float]) -> float:
    """The time to make a tensor from an array of a number of bytes."""
    given = np.ones(size, np.uint8)
    start = clock()
    host_to_value(np.array(given, order="C"), uint8)
    return clock() - start


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
    """The time of a copy of a number of bytes."""
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
    """Synchronizes with the GPUs among devices."""
    for device in devices:
        if device.is_card:
            torch.cuda.synchronize(torch_device(device))
