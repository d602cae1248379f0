"""Memory policies: how much of each card a program takes, and when.

    map all     nearly all free memory, taken when the card is first used (the default)
    growth      starts small, grows with the program
    fraction    a share of the card's total memory, taken at once: a true bound

Chosen before the devices are made; `situs.eager.reserve` carries them out on a real card.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from situs.devices.inventory import process
from situs.devices.logical import Device
from situs.devices.physical import PhysicalDevice
from situs.errors import InvalidArgumentError
from situs.settings import switch

_TOO_LATE = "Physical devices cannot be modified after being initialized"


@dataclass
class MemoryPolicy:
    """What the program asked for: growth per card, and a fraction of every card."""

    growth: dict[PhysicalDevice, bool] = field(default_factory=dict)
    fraction: float | None = None


current = MemoryPolicy()


def set_growth(device: PhysicalDevice, enable: bool) -> None:
    """Turns growth of the memory taken from one card on or off."""
    if process.card_of(device) is None:
        raise InvalidArgumentError("Cannot set memory growth on non-GPU and non-Pluggable devices")
    if process.split_of(device) is not None:
        raise InvalidArgumentError("Cannot set memory growth on device when virtual devices configured")
    wanted = switch(enable, "enable")
    process.change(get_growth(device) != wanted, _TOO_LATE, lambda: current.growth.__setitem__(device, wanted))


def get_growth(device: PhysicalDevice) -> bool:
    """Whether the memory taken from one card grows with the program."""
    if process.card_of(device) is None:
        raise InvalidArgumentError("Cannot get memory growth of non-GPU and non-Pluggable devices")
    return current.growth.get(device, False)


def set_fraction(fraction: float) -> None:
    """Bounds what this process takes of every card to a share of its total memory."""
    if not isinstance(fraction, (int, float)) or isinstance(fraction, bool) or not 0.0 < fraction <= 1.0:
        raise InvalidArgumentError(
            f"The fraction of a GPU's memory is a number above 0 and at most 1, got {fraction!r}. "
            "For example 0.4 takes 40 % of each card."
        )
    wanted = float(fraction)
    process.change(current.fraction != wanted, _TOO_LATE, lambda: setattr(current, "fraction", wanted))


def _check_growth_agrees(devices: tuple[Device, ...]) -> None:
    """TensorFlow's rule: either the memory of all GPUs grows, or that of none."""
    physical = {device.physical for device in devices if device.type == "GPU"}
    if len({current.growth.get(device, False) for device in physical}) > 1:
        raise InvalidArgumentError(
            "Memory growth cannot differ between GPU devices. Set it for all of them, or hide the others with "
            "tf.config.set_visible_devices."
        )


process.on_start(_check_growth_agrees)
