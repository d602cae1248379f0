"""The placement log of graphs, on standard output.

    Device mapping:
    /job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, ...
    MatMul: /job:localhost/replica:0/task:0/device:GPU:0
    a: /job:localhost/replica:0/task:0/device:GPU:0

One line per node, in the order of the placer's decisions. GPUs are listed when a session starts, CPUs never.
"""

from __future__ import annotations

from collections.abc import Iterable

from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.devices.spec import DeviceSpec
from situs._src.ir.graph.node import Operation


def print_device_mapping(devices: Iterable[Device]) -> None:
    """Prints which GPU is behind each device."""
    described = [device for device in in_listing_order(devices) if device.description]
    if not described:
        print("Device mapping: no known devices.", flush=True)
        return
    lines = (f"{device.name} -> {device.description}" for device in described)
    print("Device mapping:", *lines, sep="\n", flush=True)


def print_assignment(node: Operation, device: Device) -> None:
    """Prints the device of a node."""
    print(f"{node.name}: {device.name}", flush=True)


def print_ignored_request(source: Operation, node: Operation, kept: DeviceSpec, ignored: DeviceSpec) -> None:
    """Prints that a node goes to the device of the variable it updates, instead of its requested one."""
    print(
        f"Ignoring device specification {ignored.to_string()} for node '{node.name}' because the input edge from "
        f"'{source.name}' is a reference connection and already has a device field set to {kept.to_string()}",
        flush=True,
    )


def print_ignored_colocation(node: Operation, group: str, why: str) -> None:
    """Prints that a node is not colocated with its group, because soft placement is on."""
    print(
        f"Ignoring request to colocate node '{node.name}' with nodes in colocation group '{group}' because soft "
        f"placement is on and it cannot be done{why}",
        flush=True,
    )
