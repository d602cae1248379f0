"""``device_lib.list_local_devices()``: the devices of this process, with their properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.export import export


@dataclass(frozen=True)
class Locality:
    """Where a device sits: the bus (NUMA node, counted from 1) of a GPU; 0 for the CPU."""

    bus_id: int = 0

    def __str__(self) -> str:
        inside = f"  bus_id: {self.bus_id}\n  links {{\n  }}\n" if self.bus_id else ""
        return f"locality {{\n{inside}}}"


@dataclass(frozen=True)
class DeviceAttributes:
    """One device; prints as TensorFlow's message of that name."""

    name: str
    device_type: str
    memory_limit: int
    incarnation: int
    locality: Locality = field(default_factory=Locality)
    physical_device_desc: str = ""

    def __str__(self) -> str:
        lines = [
            f'name: "{self.name}"',
            f'device_type: "{self.device_type}"',
            f"memory_limit: {self.memory_limit}",
            str(self.locality),
            f"incarnation: {self.incarnation}",
        ]
        if self.physical_device_desc:
            lines.append(f'physical_device_desc: "{self.physical_device_desc}"')
        return "\n".join(lines) + "\n"

    __repr__ = __str__


@export(
    "python.client.device_lib.list_local_devices",
    v1=(),
    as_is=True,
    differs="Does not initialize GPUs, and lists the devices of this process, including configured logical ones.",
)
def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """Lists the devices of this process, CPU first. Maps no GPU memory.

    Args:
        session_config: Accepted for TensorFlow's programs; the devices are the process's own.
    """
    return [_attributes(device) for device in in_listing_order(process.preview())]


def _attributes(device: Device) -> DeviceAttributes:
    return DeviceAttributes(
        name=device.local_name,
        device_type=device.type,
        memory_limit=device.memory_limit,
        incarnation=device.incarnation,
        locality=Locality(0 if device.card is None else device.card.numa_node + 1),
        physical_device_desc=device.description,
    )
