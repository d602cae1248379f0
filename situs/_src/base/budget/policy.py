"""Memory policies: how much of each GPU's memory a program reserves, and when.

    map all     nearly all free memory, reserved when the GPU is first used (the default)
    growth      starts small and grows with the program; combines with the other two
    fraction    a share of the GPU's total memory, reserved at once: a hard limit
    limit       a number of megabytes for each logical GPU of a physical GPU, reserved at once

The program's request is `current`; its effect on one logical GPU is `of(device)`. A policy is fixed when the devices
are created; a session's options count until a GPU is first used. `runtime.eager.cuda_memory` applies policies to a real
GPU, `base.budget.ledger` to a virtual one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from situs._src.base import settings
from situs._src.base.devices.inventory import Configurations, limit_of, process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.errors import ArgumentError, shown

MIB = 2**20
_TOO_LATE = "Physical devices cannot be modified after being initialized"


@dataclass
class MemoryPolicy:
    """What the program asked for: growth everywhere or per GPU, and a fraction of every GPU."""

    everywhere: bool = False
    growth: dict[PhysicalDevice, bool] = field(default_factory=dict)
    fraction: float | None = None


current = MemoryPolicy()


# What the program asks for.


def set_growth(device: PhysicalDevice, enable: bool) -> None:
    """Turns growth of the memory taken from one GPU on or off."""
    if process.card_of(device) is None:
        raise ArgumentError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    wanted = settings.switch(enable, "enable")
    process.change(_asked_growth(device) != wanted, _TOO_LATE, lambda: current.growth.__setitem__(device, wanted))


def set_growth_everywhere(enable: bool) -> None:
    """Turns growth of the memory taken from every GPU on or off, also of GPUs that are still to be chosen."""
    wanted = settings.switch(enable, "enabled")
    changed = any(_asked_growth(card) != wanted for card in process.physical("GPU"))
    process.change(changed or not process.initialized, _TOO_LATE, lambda: _grow_everywhere(wanted))


def _grow_everywhere(wanted: bool) -> None:
    current.everywhere = wanted
    current.growth.clear()


def get_growth(device: PhysicalDevice) -> bool:
    """Whether the memory taken from one GPU grows with the program."""
    if process.card_of(device) is None:
        raise ArgumentError("Cannot get memory growth of non-GPU and non-Pluggable devices")
    settled = [found.growth for gpu, found in _in_force.items() if gpu.physical == device]
    return settled[0] if settled else _growth(device)


def set_fraction(fraction: float) -> None:
    """Bounds what this process takes of every GPU to a share of its total memory."""
    wanted = check_fraction(fraction)
    _refuse_fraction_of_split_cards()
    process.change(current.fraction != wanted, _TOO_LATE, lambda: setattr(current, "fraction", wanted))


def check_fraction(fraction: object) -> float:
    """The fraction as a number.

    Raises:
        InvalidArgumentError: it is not one, or there is no such share of a GPU.
    """
    value = settings.number(fraction)
    if not 0.0 < value <= 1.0:
        raise ArgumentError(
            f"The fraction of a GPU's memory is a number above 0 and at most 1, got {shown(fraction)}. "
            "For example 0.4 reserves 40 % of each GPU."
        )
    return value


# What contradicts itself.

_CONTRADICTION = (
    "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set. {found} Either set a fraction "
    "of whole GPUs, or split them with memory limits whose sum is that share of the GPU."
)


def _refuse_fraction_of_split_cards() -> None:
    split = [card.name for card in process.physical("GPU") if process.split_of(card)]
    if split:
        raise ArgumentError(_CONTRADICTION.format(found=f"Split with memory limits: {', '.join(split)}."))


def refuse_split_of_fraction(card: PhysicalDevice) -> None:
    """Raises if a fraction of every GPU has been asked for, so that `card` cannot be split."""
    if current.fraction is not None:
        found = f"{card.name} would be split, but a fraction of {current.fraction:g} is set."
        raise ArgumentError(_CONTRADICTION.format(found=found))


process.on_split(refuse_split_of_fraction)


# What that means for one logical GPU.


@dataclass(frozen=True)
class Policy:
    """How the memory of one logical GPU is taken.

    Args:
        kind: ``"map all"``, ``"growth"``, ``"fraction"`` or ``"limit"``.
        growth: Whether memory is taken as it is needed, rather than at first use.
        limit: The bound in bytes; None for a whole GPU, which bounds itself.
        text: The policy for people: ``"limit 1024 MiB, growing"``.
    """

    kind: str
    growth: bool
    limit: int | None
    text: str

    def __str__(self) -> str:
        return self.text


_in_force: dict[Device, Policy] = {}


def of(device: Device) -> Policy:
    """The policy of a logical GPU; if the devices are not made yet, the one that it would have."""
    return _in_force.get(device) or _decide(device)


def _decide(device: Device) -> Policy:
    assert device.card is not None, "a CPU has no memory policy"
    total, growth = device.card.memory_bytes, _growth(device.physical)
    growing = ", growing" if growth else ""
    if process.split_of(device.physical):
        return Policy("limit", growth, device.memory_limit, f"limit {_size_text(device.memory_limit)}{growing}")
    if current.fraction is not None:
        text = f"fraction {current.fraction:g} of {_size_text(total)}{growing}"
        return Policy("fraction", growth, max(1, int(current.fraction * total)), text)
    kind = "growth" if growth else "map all"
    return Policy(kind, growth, total if device.is_virtual else None, kind)


def _growth(device: PhysicalDevice) -> bool:
    forced = settings.force_gpu_allow_growth()
    return _asked_growth(device) if forced is None else forced


def _asked_growth(device: PhysicalDevice) -> bool:
    return current.growth.get(device, current.everywhere)


def _size_text(size: int) -> str:
    return f"{size} bytes" if size < MIB else f"{round(size / MIB, 2):.10g} MiB"


def _settle(devices: tuple[Device, ...]) -> None:
    """Fixes the policy of every logical GPU, and with it the limit that the device reports."""
    gpus = [device for device in devices if device.type == "GPU"]
    decided = {gpu: _decide(gpu) for gpu in gpus}
    _check_growth_agrees(decided)
    for gpu, found in decided.items():
        if found.limit is not None:
            gpu.memory_limit = found.limit
        if gpu.account is not None:
            gpu.account.limit, gpu.account.growing = gpu.memory_limit, found.growth
    _in_force.clear()
    _in_force.update(decided)


def _check_growth_agrees(decided: Mapping[Device, Policy]) -> None:
    """TensorFlow's rule: either the memory of all GPUs grows, or that of none."""
    if len({found.growth for found in decided.values()}) > 1:
        raise ArgumentError(
            "Memory growth cannot differ between GPU devices. Set it for all of them, or hide the others with "
            "tf.config.set_visible_devices."
        )


def _forget() -> None:
    current.fraction = None
    _grow_everywhere(False)
    _in_force.clear()


process.on_start(_settle)
process.on_reset(_forget)


# What a session asks for.


@dataclass(frozen=True)
class Request:
    """A session's wishes: growth, a fraction, the parts of GPUs; what is left out stays as it is."""

    growth: bool = False
    fraction: float | None = None
    parts: Mapping[PhysicalDevice, Configurations] = field(default_factory=dict)

    def __str__(self) -> str:
        wishes = ["growth"] if self.growth else []
        wishes += [] if self.fraction is None else [f"fraction {self.fraction:g}"]
        for card, parts in self.parts.items():
            wishes.append(f"memory limits of {[part.memory_limit for part in parts]} MB for {card.name}")
        return " and ".join(wishes)


def ask(request: Request, in_use: Callable[[Device], bool]) -> bool:
    """Applies what a session asks for if that can still be done; says whether it is in force.

    Args:
        request: What it asks for.
        in_use: Whether memory of a GPU has been taken, so that its policy cannot change any more.
    """
    if not process.initialized:
        _apply(request)
        return True
    gpus = [device for device in process.devices() if device.type == "GPU"]
    if not gpus or _is_met(request, gpus):
        return True
    if any(map(in_use, gpus)) or not _keeps_the_devices(request, gpus):
        return False
    _apply_late(request)
    return True


def _apply(request: Request) -> None:
    _refuse_contradiction(request)
    for card, parts in request.parts.items():
        process.set_split(card, parts)
    if request.fraction is not None:
        set_fraction(request.fraction)
    if request.growth:
        set_growth_everywhere(True)


def _refuse_contradiction(request: Request) -> None:
    """Raises if a session asks for another bound than the program has set."""
    found = []
    if request.fraction is not None and current.fraction not in (None, request.fraction):
        found.append(f"fraction {current.fraction:g}")
    for card, parts in request.parts.items():
        limits = [part.memory_limit for part in process.split_of(card) or ()]
        if limits and limits != [part.memory_limit for part in parts]:
            found.append(f"memory limits of {limits} MB for {card.name}")
    if found:
        raise ArgumentError(
            f"This session asks for {request}, and the program has set {' and '.join(found)}. Ask for one of them only."
        )


def _apply_late(request: Request) -> None:
    """The devices are made, but nothing of their memory is taken: their policies can still be exchanged."""
    for card, parts in request.parts.items():
        refuse_split_of_fraction(card)
        process.resize(card, parts)
    if request.fraction is not None:
        _refuse_fraction_of_split_cards()
        current.fraction = request.fraction
    if request.growth:
        _grow_everywhere(True)
    _settle(process.devices())


def _is_met(request: Request, gpus: list[Device]) -> bool:
    grows = not request.growth or all(_asked_growth(gpu.physical) for gpu in gpus)
    shares = request.fraction is None or request.fraction == current.fraction
    limits = all(
        process.split_of(card) and [limit_of(part) for part in parts] == [gpu.memory_limit for gpu in _of(card, gpus)]
        for card, parts in request.parts.items()
    )
    return grows and shares and limits


def _keeps_the_devices(request: Request, gpus: list[Device]) -> bool:
    return all(len(parts) == len(_of(card, gpus)) for card, parts in request.parts.items())


def _of(card: PhysicalDevice, gpus: list[Device]) -> list[Device]:
    return sorted((gpu for gpu in gpus if gpu.physical == card), key=lambda gpu: gpu.index)
