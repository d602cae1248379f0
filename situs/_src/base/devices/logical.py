"""Logical devices: what programs name and ops run on.

Each belongs to one physical device; one physical device may be split into several. All of a process's logical devices
are created together, once, by `base.devices.inventory`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from situs._src.base import html
from situs._src.base.devices.physical import Card, PhysicalDevice
from situs._src.base.devices.spec import DeviceSpec
from situs._src.base.export import export

# What TensorFlow reports for every CPU, whatever the machine has.
CPU_MEMORY_LIMIT = 256 * 2**20
# GPU before CPU: where a kernel exists for both, the GPU is the better device.
TYPE_PRIORITY: Mapping[str, int] = {"GPU": 0, "CPU": 1}


@export("config.LogicalDevice")
class LogicalDevice(NamedTuple):
    """A logical device as ``tf.config.list_logical_devices`` names it."""

    name: str
    device_type: str

    def _repr_html_(self) -> str:
        return html.table(("logical device", "type"), [(self.name, self.device_type)])


@export("config.LogicalDeviceConfiguration", "config.experimental.VirtualDeviceConfiguration")
class LogicalDeviceConfiguration(NamedTuple):
    """How to make one logical device out of a physical one.

    Args:
        memory_limit: Megabytes of the GPU for this logical GPU; required when a GPU is split.
        experimental_priority: Accepted for TensorFlow's programs; streams have one priority here.
        experimental_device_ordinal: Accepted for TensorFlow's programs; the order is the list's.
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


@dataclass(eq=False)
class Device:
    """A logical device. One object per device, compared by identity.

    ``places`` belongs to the eager runtime: the interned (device, dtype) pairs of its tensors. ``account``
    belongs to `base.budget.ledger`: what the tensors of a GPU hold.
    """

    type: str
    index: int
    physical: PhysicalDevice
    memory_limit: int
    card: Card | None = None
    physical_index: int = 0
    incarnation: int = field(default_factory=lambda: secrets.randbits(63))
    places: dict[Any, Any] = field(default_factory=dict, repr=False)
    account: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.spec = DeviceSpec("localhost", 0, 0, self.type, self.index)
        self.name = self.spec.to_string()
        self.short_name = f"{self.type}:{self.index}"
        self.local_name = f"/device:{self.short_name}"
        # The order of candidates: better type first, then by number.
        self.rank = (TYPE_PRIORITY.get(self.type, len(TYPE_PRIORITY)), self.index)

    @property
    def is_virtual(self) -> bool:
        """Whether the CPU stands in for this GPU."""
        return self.card is not None and self.card.is_virtual

    @property
    def is_card(self) -> bool:
        """Whether this is a real GPU, which computes while the program goes on."""
        return self.card is not None and not self.card.is_virtual

    @property
    def description(self) -> str:
        """The GPU's line for the ``Device mapping:`` log; empty for a CPU."""
        return "" if self.card is None else self.card.describe(self.physical_index)

    def as_logical_device(self) -> LogicalDevice:
        """The public value that stands for this device."""
        return LogicalDevice(self.local_name, self.type)

    def __str__(self) -> str:
        return self.name


def in_listing_order(devices: Iterable[Device]) -> list[Device]:
    """Devices as they are listed for people: the CPU first, then by number."""
    return sorted(devices, key=lambda device: (device.type, device.index))
