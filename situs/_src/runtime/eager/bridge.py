"""The bridge to PyTorch: its dtypes and devices for ours, and copies between devices.

A `Place` is a (device, dtype) pair. There is one object per pair, so an eager tensor has everything that placement
needs in one pointer, and a tuple of places is a fast key.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.devices import instructions, spinning, threads
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType
from situs._src.base.errors import UnavailableError
from situs._src.ir.graph.origin import Origin
from situs._src.placement.candidates import Assignment
from situs._src.runtime.eager.allocations import counted
from situs._src.runtime.eager.cuda_memory import give_up, measured, reserve, reset_peak
from situs._src.runtime.eager.torch_private import in_bad_fork

TORCH_DTYPE: dict[DType, torch.dtype] = {
    dt.bool: torch.bool,
    dt.int8: torch.int8,
    dt.int16: torch.int16,
    dt.int32: torch.int32,
    dt.int64: torch.int64,
    dt.uint8: torch.uint8,
    dt.uint16: torch.uint16,
    dt.uint32: torch.uint32,
    dt.uint64: torch.uint64,
    dt.float16: torch.float16,
    dt.bfloat16: torch.bfloat16,
    dt.float32: torch.float32,
    dt.float64: torch.float64,
    dt.float8_e5m2: torch.float8_e5m2,
    dt.float8_e4m3fn: torch.float8_e4m3fn,
    dt.complex64: torch.complex64,
    dt.complex128: torch.complex128,
}
FROM_TORCH: dict[torch.dtype, DType] = {theirs: ours for ours, theirs in TORCH_DTYPE.items()}

Value = Any  # a torch.Tensor; for strings a numpy array of bytes objects
STRINGS = np.dtype(object)  # the dtype of such an array
Copy = Callable[[Value], Value]


class Place:
    """A device and a dtype: where a tensor's bytes are and how to read them."""

    __slots__ = ("device", "dtype")

    def __init__(self, device: Device, dtype: DType) -> None:
        self.device = device
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"Place({self.device.short_name}, {self.dtype.name})"


def place(device: Device, dtype: DType) -> Place:
    """The one `Place` of this device and dtype."""
    key = TORCH_DTYPE.get(dtype, None if dtype is dt.string else dtype)  # None for strings
    found = device.places.get(key)
    if found is None:
        found = device.places.setdefault(key, Place(device, dtype))
    return found  # type: ignore[no-any-return]


def place_of(device: Device, value: Value) -> Place:
    """The `Place` of a kernel's result on `device`."""
    key = value.dtype if type(value) is torch.Tensor else None
    found = device.places.get(key)
    return place(device, dt.string if key is None else FROM_TORCH[key]) if found is None else found


def host() -> Device:
    """The CPU that Python values are read on: there is always one."""
    return next(device for device in process.devices() if device.type == "CPU")


def home_of(assignment: Assignment) -> Device:
    """The device of the results of an op that was assigned to a device."""
    return host() if assignment.kernel.host_output else assignment.device


_torch_devices: dict[Device, torch.device] = {}
_starting = locks.lock()


def torch_device(device: Device) -> torch.device:
    """PyTorch's device for one of ours."""
    found = _torch_devices.get(device)
    if found is None:
        with _starting:
            found = _torch_devices.get(device) or _start(device)
            _torch_devices[device] = found
    return found


def _start(device: Device) -> torch.device:
    """Finds PyTorch's device and, at the first use of a GPU, reserves its memory."""
    if device.card is None or device.card.uuid is None:
        return torch.device("cpu")
    ordinal = _cuda_ordinal(device.card.uuid)
    found = torch.device("cuda", ordinal)
    if found not in _torch_devices.values():
        reserve(device, ordinal)
    device.account.used = True
    if len(process.split_of(device.physical) or ()) < 2:  # PyTorch counts for the GPU, which is not split
        device.account.read_from(partial(measured, ordinal), partial(reset_peak, ordinal))
    return found


def _cuda_ordinal(uuid: str) -> int:
    """PyTorch's ordinal of the GPU: matched by UUID, as NVML and CUDA may number GPUs differently."""
    if in_bad_fork():
        raise lost_card(uuid)
    if not torch.cuda.is_available():
        raise UnavailableError("The driver lists a GPU, but PyTorch cannot use it: torch.cuda.is_available() is False.")
    for ordinal in range(torch.cuda.device_count()):
        if cuda_uuid(ordinal) == uuid:
            return ordinal
    raise UnavailableError(
        f"PyTorch does not see the GPU {uuid}. CUDA_VISIBLE_DEVICES was probably changed after CUDA had started; "
        "set it before the program starts."
    )


def lost_card(name: str) -> UnavailableError:
    """The message for a GPU in a forked child whose parent had used CUDA."""
    return UnavailableError(
        f"{name} cannot be used in this process: it was made by os.fork after its parent had used CUDA, which does not "
        "follow into children. Start processes with multiprocessing's 'spawn', or fork before the first op."
    )


def cuda_uuid(ordinal: int) -> str:
    """The UUID, as NVML writes it, of PyTorch's GPU with this ordinal."""
    return f"GPU-{torch.cuda.get_device_properties(ordinal).uuid}"


def copier(source: Device, target: Device, op: str = "Copy", made_at: Origin | None = None) -> Copy | None:
    """The function that copies a value from one device to another; None if no copy is needed.

    Logical CPUs share the host's memory, and tensors are immutable, so no copy is made between them. Two logical GPUs
    on one physical GPU, and virtual GPUs, have separate memories: that takes a real copy.

    Args:
        source: The device of the value.
        target: The destination.
        op: The name of the copy in the target's ledger.
        made_at: The line of the user's program it belongs to; by default where it is copied.
    """
    if source is target or (source.type == target.type == "CPU"):
        return None
    where = torch_device(target)
    copy = torch.clone if torch_device(source) == where else (lambda value: value.to(where))
    return counted(copy, target, op, made_at)


_unbounded: list[int] = []  # the number of PyTorch's threads before it was limited, if it is


def _bound_threads(devices: tuple[Device, ...]) -> None:
    if threads.current.intra:
        _unbounded[:] = _unbounded or [torch.get_num_threads()]
        torch.set_num_threads(threads.current.intra)


def _give_up() -> None:
    """When the devices are released: GPUs are initialized again later, and the thread limit is lifted."""
    _torch_devices.clear()
    give_up()
    if _unbounded:
        torch.set_num_threads(_unbounded.pop())


def _steer_onednn(devices: tuple[Device, ...]) -> None:
    instructions.steer(spinning.torch_came_first)


def _in_child() -> None:
    """After ``os.fork``: OpenMP's threads stay in the parent, and the next parallel kernel would wait for them."""
    if process.initialized or spinning.torch_came_first:
        torch.set_num_threads(1)
    if in_bad_fork():
        _torch_devices.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
process.on_start(_bound_threads)
process.on_start(_steer_onednn)
process.on_reset(_give_up)
