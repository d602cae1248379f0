"""Applying memory policies to a real GPU, and reading its allocator's statistics.

PyTorch's allocator caches memory: a block that is allocated and freed stays in its cache, and later tensors are carved
out of it. That is how a share of a GPU is reserved at once:

    set_per_process_memory_fraction(bound / total)     a hard limit
    torch.empty(share), freed again                    the share, reserved

The memory is in *expandable segments*: there small and large tensors can use each other's free memory, and free memory
between tensors in use can be returned to the driver.
"""

from __future__ import annotations

import torch

from situs._src.base import settings
from situs._src.base.budget import policy
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.errors import ResourceExhaustedError
from situs._src.runtime.eager import precision, torch_private

MIB = 2**20
_started: set[PhysicalDevice] = set()


def reserve(device: Device, ordinal: int) -> None:
    """Reserves the memory of a GPU according to the program's policy; called at its first use."""
    _use_expandable_segments()
    precision.apply()
    try:
        free, total = torch.cuda.mem_get_info(ordinal)
    except torch.AcceleratorError as error:
        if "out of memory" not in str(error):
            raise
        raise ResourceExhaustedError(
            f"OOM when starting to use {device.name}: other processes hold so much of its memory that CUDA itself "
            "finds no room. nvidia-smi shows who they are."
        ) from None
    bound = _bound(device.physical)
    if bound is not None:
        torch.cuda.set_per_process_memory_fraction(min(1.0, bound / total), ordinal)
    _started.add(device.physical)
    if not policy.of(device).growth:
        _take(share(bound, free, measured(ordinal)[2]), ordinal)


def in_use(device: Device) -> bool:
    """Whether memory of a GPU has been reserved or allocated: from then on its policy is fixed."""
    return device.physical in _started or (device.account is not None and device.account.used)


def _use_expandable_segments() -> None:
    """Enables expandable segments in PyTorch, keeping other settings of the program or the environment."""
    read, write = torch_private.read_allocator_settings, torch_private.write_allocator_settings
    if write is None:
        return
    found = settings.torch_allocator() if read is None else read()
    if "expandable_segments" in found or "backend" in found:
        return  # already configured
    try:
        write(",".join(filter(None, (found, "expandable_segments:True"))))
    except (RuntimeError, ValueError):
        pass  # a build without them: memory is reserved all the same, in one block


def _bound(card: PhysicalDevice) -> int | None:
    """The limit of all logical GPUs of a physical GPU together; None if only the hardware limits them."""
    limits = [policy.of(device).limit for device in process.devices() if device.physical == card]
    return None if None in limits else sum(limit or 0 for limit in limits)


def share(bound: int | None, free: int, held: int = 0) -> int:
    """The bytes to reserve at once: under a limit, all but room for small tensors; otherwise nearly all that is free.

    PyTorch keeps small tensors apart from large ones. If the limit were used up, the first small tensor would make it
    free every unused block.

    >>> share(1000 * MIB, 4000 * MIB) // MIB, share(None, 4000 * MIB) // MIB
    (936, 3700)
    """
    most = nearly_all(free)
    return most if bound is None else max(0, min(bound - max(64 * MIB, bound // 100) - held, most))


def nearly_all(free: int) -> int:
    """What *map all* reserves of the free memory: all but a rest for the driver and other libraries."""
    reserve_bytes = 225 * MIB if free < 2048 * MIB else max(300 * MIB, free // 20)
    return max(0, free - reserve_bytes)


def _take(size: int, ordinal: int) -> None:
    try:
        block = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", ordinal))
    except torch.OutOfMemoryError:
        return  # another process was faster; memory will be allocated as needed
    del block
    reset_peak(ordinal)


# Freeing, and the allocator's statistics.


def release() -> None:
    """Returns unused memory to the driver, on every GPU.

    The cuBLAS workspaces stay: captured graphs contain their addresses.
    """
    torch.cuda.empty_cache()


def give_up() -> None:
    """Frees the memory of every GPU, so that it can be reserved again under another policy."""
    if not _started:
        return
    release()
    for ordinal in range(torch.cuda.device_count()):
        torch.cuda.set_per_process_memory_fraction(1.0, ordinal)
    _started.clear()


def work_space(device: Device) -> int:
    """The bytes of PyTorch's cuBLAS workspace on a GPU, allocated at its first product."""
    sizes = [int(word) for word in settings.cublas_workspace().split(":") if word.isdecimal()]
    if not sizes or len(sizes) % 2:
        assert device.card is not None, "only a card has work space"
        sizes = [4096, 8] if device.card.compute_capability >= (9, 0) else [4096, 2, 16, 8]
    return sum(size * count * 1024 for size, count in zip(sizes[::2], sizes[1::2], strict=True))


def measured(ordinal: int) -> tuple[int, int, int]:
    """The bytes in use by tensors of a GPU, their peak, and the bytes reserved."""
    found = torch.cuda.memory_stats_as_nested_dict(ordinal)
    if not found:
        return 0, 0, 0  # CUDA has not started
    tensors = found["allocated_bytes"]["all"]
    return tensors["current"], tensors["peak"], found["reserved_bytes"]["all"]["current"]


def reset_peak(ordinal: int) -> None:
    """Resets the peak of a GPU."""
    torch.cuda.reset_peak_memory_stats(ordinal)
