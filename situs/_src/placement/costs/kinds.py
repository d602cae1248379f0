"""Kinds of devices by speed, and their assumed speeds before anything is measured.

A kind is a string, so that measurements of one machine are valid on another of the same make:

    CPU Intel Xeon Platinum 8480C, 8 threads        virtual GPUs too: the CPU computes for them
    GPU NVIDIA H200

Two logical devices may be parts of one physical device. The *processor* of a device identifies it: operations on one
processor do not run at the same time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from situs._src.base.devices import threads
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device

STEPS_PER_CORE = 3e10  # of float32, per second: a core that multiplies eight numbers at a time
CPU_BANDWIDTH = 1e10  # bytes per second
CPU_CALL = 4e-6  # seconds: to call a kernel from Python
GPU_CALL = 2e-6  # of a GPU, between two kernels
GPU_LAUNCH = 8e-6  # of the host, to launch a GPU kernel from Python
GPU_STEPS = 1e13
GPU_BYTES_PER_STEP = 1 / 30  # bandwidth by arithmetic: what GPUs of many years have in common, within a factor of two
PARTS_OF_A_TERA = 1e6  # a GPU's `speed` is its cores times megahertz


@dataclass(frozen=True)
class Speed:
    """The assumed speed of a kind of device.

    Attributes:
        steps: Float32 operations per second.
        bandwidth: Bytes of its memory per second.
        call: The minimum seconds of a call.
        launch: Seconds of the host to launch a call on another device; 0 for the host itself.
    """

    steps: float
    bandwidth: float
    call: float
    launch: float = 0.0


def kind_of(device: Device) -> str:
    """The kind of a device."""
    if device.is_card and device.card is not None:
        return f"GPU {device.card.name}"
    return f"CPU {process.processor.name}, {_threads()} threads"


def processor_of(device: Device) -> str:
    """The processor of a device: a GPU, or the host for its CPUs and for virtual GPUs."""
    return str(device.card.uuid) if device.is_card and device.card is not None else "host"


def speed_of(device: Device) -> Speed:
    """The assumed speed of a device, from what the driver and the system report."""
    if device.is_card and device.card is not None:
        steps = 2.0 * device.card.speed * PARTS_OF_A_TERA if device.card.speed else GPU_STEPS
        return Speed(steps, steps * GPU_BYTES_PER_STEP, GPU_CALL, GPU_LAUNCH)
    return Speed(STEPS_PER_CORE * _threads(), CPU_BANDWIDTH, CPU_CALL)


def _threads() -> int:
    """The number of threads that a CPU kernel may use."""
    given = os.environ.get("OMP_NUM_THREADS", "").strip()
    wanted = threads.current.intra or (int(given) if given.isdecimal() else 0)
    return min(wanted, process.processor.cores) or process.processor.cores
