"""Carrying out memory policies on a real card, and reading what its allocator says.

PyTorch's allocator keeps what it has once taken: a block that is allocated and freed again stays in its
cache, and later tensors are cut out of it. That is how a share of a card is taken at once:

    set_per_process_memory_fraction(bound / total)     never more than the bound
    torch.empty(share), freed again                    the share, taken

The memory lies in *expandable segments*: there small and large tensors get what the other kind has left, and
what is free goes back to the driver even from between tensors that are in use.
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
    """Takes the memory of a card that the program's policy asks for; called when it is first used."""
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
    """Whether memory of a GPU has been taken or handed out: from then on its policy stays."""
    return device.physical in _started or (device.account is not None and device.account.used)


def _use_expandable_segments() -> None:
    """Asks PyTorch for expandable segments, besides what the program or the environment has asked it for."""
    read, write = torch_private.read_allocator_settings, torch_private.write_allocator_settings
    if write is None:
        return
    found = settings.torch_allocator() if read is None else read()
    if "expandable_segments" in found or "backend" in found:
        return  # somebody has chosen
    try:
        write(",".join(filter(None, (found, "expandable_segments:True"))))
    except (RuntimeError, ValueError):
        pass  # a build without them: memory is taken all the same, in one piece


def _bound(card: PhysicalDevice) -> int | None:
    """What all logical GPUs of a card may hold together; None if nothing but the card bounds them."""
    limits = [policy.of(device).limit for device in process.devices() if device.physical == card]
    return None if None in limits else sum(limit or 0 for limit in limits)


def share(bound: int | None, free: int, held: int = 0) -> int:
    """The bytes to take at once: under a bound all but room for small tensors, otherwise nearly all that is free.

    PyTorch keeps small tensors apart from large ones. If the bound were filled, the first small tensor would make
    it give back everything that no tensor is in.

    >>> share(1000 * MIB, 4000 * MIB) // MIB, share(None, 4000 * MIB) // MIB
    (936, 3700)
    """
    most = nearly_all(free)
    return most if bound is None else max(0, min(bound - max(64 * MIB, bound // 100) - held, most))


def nearly_all(free: int) -> int:
    """What *map all* takes of the free memory: all but a reserve for the driver and other libraries."""
    reserve_bytes = 225 * MIB if free < 2048 * MIB else max(300 * MIB, free // 20)
    return max(0, free - reserve_bytes)


def _take(size: int, ordinal: int) -> None:
    try:
        block = torch.empty(size, dtype=torch.uint8, device=torch.device("cuda", ordinal))
    except torch.OutOfMemoryError:
        return  # another process was quicker; the memory will be taken as it is needed
    del block
    reset_peak(ordinal)


# Giving back, and what the allocator counts.


def release() -> None:
    """Gives what no tensor is in back to the driver, on every card.

    The workspaces of the matrix library stay: captured graphs hold their addresses.
    """
    torch.cuda.empty_cache()


def give_up() -> None:
    """Gives the memory of every card back, and lets it be taken anew under another policy."""
    if not _started:
        return
    release()
    for ordinal in range(torch.cuda.device_count()):
        torch.cuda.set_per_process_memory_fraction(1.0, ordinal)
    _started.clear()


def work_space(device: Device) -> int:
    """The bytes that PyTorch keeps on a card for the matrix library, from its first product on."""
    sizes = [int(word) for word in settings.cublas_workspace().split(":") if word.isdecimal()]
    if not sizes or len(sizes) % 2:
        assert device.card is not None, "only a card has work space"
        sizes = [4096, 8] if device.card.compute_capability >= (9, 0) else [4096, 2, 16, 8]
    return sum(size * count * 1024 for size, count in zip(sizes[::2], sizes[1::2], strict=True))


def measured(ordinal: int) -> tuple[int, int, int]:
    """The bytes that tensors of a card hold, held at most, and that are taken from the card for them."""
    found = torch.cuda.memory_stats_as_nested_dict(ordinal)
    if not found:
        return 0, 0, 0  # CUDA has not started
    tensors = found["allocated_bytes"]["all"]
    return tensors["current"], tensors["peak"], found["reserved_bytes"]["all"]["current"]


def reset_peak(ordinal: int) -> None:
    """Counts the peak of a card from now on."""
    torch.cuda.reset_peak_memory_stats(ordinal)
