"""``tf.config.experimental``: older spellings of device settings, details of cards, policies."""

from __future__ import annotations

from typing import Any

from situs.config.devices import get_logical_device_configuration as get_virtual_device_configuration
from situs.config.devices import get_visible_devices as get_visible_devices
from situs.config.devices import list_logical_devices as list_logical_devices
from situs.config.devices import list_physical_devices as list_physical_devices
from situs.config.devices import set_logical_device_configuration as set_virtual_device_configuration
from situs.config.devices import set_visible_devices as set_visible_devices
from situs.devices.inventory import process
from situs.devices.logical import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from situs.devices.physical import PhysicalDevice
from situs.eager import policy as policies
from situs.errors import InvalidArgumentError
from situs.memory import policy as memory_policy

__all__ = [
    "VirtualDeviceConfiguration",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "set_device_policy",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
]


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Returns what is known of a card: ``device_name`` and ``compute_capability``; empty for a CPU."""
    if not isinstance(device, PhysicalDevice):
        raise InvalidArgumentError(f"device must be a tf.config.PhysicalDevice, but got: {device!r}")
    card = process.card_of(device)
    if card is None:
        return {}
    return {"device_name": card.name, "compute_capability": card.compute_capability}


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Starts with little memory of a GPU and takes more as the program needs it."""
    memory_policy.set_growth(device, enable)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether the memory taken from a GPU grows with the program."""
    return memory_policy.get_growth(device)


def set_device_policy(device_policy: str | None) -> None:
    """Says what happens, in this thread, to an input that is not on the device of its op.

    Args:
        device_policy: ``'silent'`` copies it, ``'warn'`` copies it and says so, ``'explicit'``
            refuses, ``'silent_for_int32'`` copies only int32; None is ``'silent'``.
    """
    policies.set_policy(device_policy)


def get_device_policy() -> str:
    """The device policy of this thread."""
    return policies.get_policy()
