"""Kinds of device, as far as time is concerned, and how fast a kind is taken to be before anything is measured.

A kind is a text, so that what was measured on one machine means the same on another of the same make:

    CPU Intel Xeon Platinum 8480C, 8 threads        also what virtual GPUs are: the CPU computes for them
    GPU NVIDIA H200

Two logical devices may be parts of one thing. The *processor* of a device says which thing that is: what is on one
processor does not compute at the same time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from situs._src.base.devices import threads
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device

STEPS_PER_CORE = 3e10  # of float32, a second: a core that multiplies eight numbers at a time
CPU_BANDWIDTH = 1e10  # bytes a second
CPU_LAUNCH = 4e-6  # seconds: to call a kernel from Python
GPU_LAUNCH = 8e-6
GPU_STEPS = 1e13
GPU_BYTES_PER_STEP = 1 / 30  # bandwidth by arithmetic: what cards of many years have in common, within a factor of two
PARTS_OF_A_TERA = 1e6  # a card's `speed` is its cores times megahertz


@dataclass(frozen=True)
class Speed:
    """How fast a kind of device is taken to be.

    Attributes:
        steps: Arithmetic of float32 a second.
        bandwidth: Bytes of its memory a second.
        launch: Seconds that a call takes at least.
    """

    steps: float
    bandwidth: float
    launch: float


def kind_of(device: Device) -> str:
    """The kind of a device."""
    if device.is_card and device.card is not None:
        return f"GPU {device.card.name}"
    return f"CPU {process.processor.name}, {_threads()} threads"


def processor_of(device: Device) -> str:
    """What computes for a device: a card, or the host for its CPUs and for virtual GPUs."""
    return str(device.card.uuid) if device.is_card and device.card is not None else "host"


def speed_of(device: Device) -> Speed:
    """How fast a device is taken to be, from what the driver and the system say of it."""
    if device.is_card and device.card is not None:
        steps = 2.0 * device.card.speed * PARTS_OF_A_TERA if device.card.speed else GPU_STEPS
        return Speed(steps, steps * GPU_BYTES_PER_STEP, GPU_LAUNCH)
    return Speed(STEPS_PER_CORE * _threads(), CPU_BANDWIDTH, CPU_LAUNCH)


def _threads() -> int:
    """How many threads a kernel on the CPU may use."""
    given = os.environ.get("OMP_NUM_THREADS", "").strip()
    wanted = threads.current.intra or (int(given) if given.isdecimal() else 0)
    return min(wanted, process.processor.cores) or process.processor.cores
