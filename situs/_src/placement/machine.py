"""The devices that operations are placed on, best first, and how strictly requests are enforced.

    devices GPU:0 GPU:1 CPU:0, request /device:GPU:*, types {CPU, GPU}   ->  GPU:0, GPU:1

The order is that of eager code: GPUs before CPUs, then by number. The device of a ``tf.function``'s caller comes
before all others.
"""

from __future__ import annotations

from collections.abc import Sequence

from situs._src.base.devices.logical import Device
from situs._src.base.devices.spec import DeviceSpec

Types = frozenset[str]


class Machine:
    """Devices in order of preference.

    Args:
        devices: The devices of this process.
        soft: Whether another device may be used if a request cannot be met.
        default: The device that comes first, whatever its type; None for the usual order.
    """

    def __init__(self, devices: Sequence[Device], soft: bool = False, default: Device | None = None) -> None:
        self.devices = tuple(sorted(devices, key=lambda device: (device is not default, device.rank)))
        self.soft = soft
        self.default = default
        self.types: Types = frozenset(device.type for device in devices)
        self._matching: dict[tuple[DeviceSpec, Types], list[Device]] = {}

    def matching(self, spec: DeviceSpec, types: Types) -> list[Device]:
        """The devices of these types that a spec matches, best first."""
        found = self._matching.get((spec, types))
        if found is None:
            found = [device for device in self.devices if device.type in types and spec.matches(device.spec)]
            self._matching[spec, types] = found
        return found

    def has(self, spec: DeviceSpec) -> bool:
        """Whether there is a device that a spec matches."""
        return bool(self.matching(spec, self.types))
