"""Which devices this process uses, and how they are split: the functions of ``tf.config``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from situs._src.base.devices.inventory import check_type, process
from situs._src.base.devices.logical import LogicalDevice, LogicalDeviceConfiguration, in_listing_order
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.settings import DEFAULT_VIRTUAL_GPU_BYTES, check_virtual_gpus, parse_bytes
from situs._src.placement import options
from situs._src.placement.placer_setting import as_placer

if TYPE_CHECKING:
    from situs._src.placement.placer_setting import AnyPlacer


@export("config.list_physical_devices", "config.experimental.list_physical_devices", as_is=True)
def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Lists the CPU and the GPUs of this machine, or those of one type.

    Touches no GPU and does not fix the set of logical devices.
    """
    return process.physical(device_type)


@export("config.list_logical_devices", "config.experimental.list_logical_devices", as_is=True)
def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Lists the devices that programs name, or those of one type; makes them if need be."""
    check_type(device_type)
    devices = in_listing_order(process.devices())
    return [d.as_logical_device() for d in devices if device_type is None or d.type == device_type]


@export("config.get_visible_devices", "config.experimental.get_visible_devices", as_is=True)
def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Lists the physical devices that this process uses."""
    return process.visible(device_type)


@export("config.set_visible_devices", "config.experimental.set_visible_devices", as_is=True)
def set_visible_devices(devices: PhysicalDevice | Iterable[PhysicalDevice], device_type: str | None = None) -> None:
    """Chooses the physical devices that this process uses.

    Args:
        devices: One device or several; an empty list hides all of `device_type`.
        device_type: Replace only the devices of this type.

    Raises:
        ValueError: a device is unknown.
        RuntimeError: the devices have been made already.
    """
    process.set_visible(_as_devices(devices), device_type)


@export("config.get_logical_device_configuration", "config.experimental.get_virtual_device_configuration", as_is=True)
def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Returns how a physical device is split into logical ones; None if nothing was said."""
    return process.split_of(device)


@export("config.set_logical_device_configuration", "config.experimental.set_virtual_device_configuration", as_is=True)
def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Iterable[LogicalDeviceConfiguration]
) -> None:
    """Splits a physical device into logical ones, each with its own memory limit on a GPU.

    Raises:
        ValueError: a setting does not fit the device.
        RuntimeError: the devices have been made already.
    """
    process.set_split(device, logical_devices)


@export("config.set_virtual_gpus", as_is=True)
def set_virtual_gpus(count: int, memory: int | str = DEFAULT_VIRTUAL_GPU_BYTES) -> None:
    """Uses virtual GPUs, which the CPU stands in for, in place of GPUs.

    Args:
        count: How many.
        memory: The memory of each, in bytes or as text such as ``"2GiB"``.

    Raises:
        RuntimeError: the devices have been made already.
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise ArgumentError(f"The number of virtual GPUs is an integer, got {count!r}.")
    if not isinstance(memory, (int, str)):
        raise ArgumentError(f"The memory of a virtual GPU is bytes, or text such as '2GiB', got {memory!r}.")
    size = parse_bytes(memory) if isinstance(memory, str) else memory
    process.set_virtual_gpus(check_virtual_gpus(count, size))


@export("config.set_soft_device_placement", as_is=True, differs="Off by default; TensorFlow 2 has it on in eager code.")
def set_soft_device_placement(enabled: bool) -> None:
    """Lets an op run elsewhere when the device it asks for is missing or has no kernel for it.

    Works at any time. Off by default.
    """
    options.set_soft(enabled)


@export("config.get_soft_device_placement", as_is=True)
def get_soft_device_placement() -> bool:
    """Whether soft placement is on."""
    return options.current.soft


@export("config.set_placer", as_is=True)
def set_placer(placer: AnyPlacer, budget: float | None = None, seed: int = 0) -> None:
    """Says how graphs are placed: by rules, or so that a step should take the least time.

    It holds for sessions that are made after this, and for functions from their next call on. A session can be asked
    for by itself, with ``ConfigProto(placement_period=...)``, a function with ``tf.function(placer=...)``.

    Args:
        placer: ``"simple"``, the default: the best device that can run an operation. ``"dynamic"``: spread over all
            devices by measured or estimated costs, sizes, links and memory limits. A plan, or the path of a file with
            one: as the plan says.
        budget: How many seconds a search may take; by default it tries a number of moves that depends on the size of
            the graph alone, so that a program is placed the same way each time, which takes about a second at most.
        seed: Where chance begins in a search: the same seed and costs give the same placement.

    Raises:
        InvalidArgumentError: it is none of these.
        NotFoundError: there is no such file.
    """
    options.set_placer(as_placer(placer, budget, seed))


@export("config.get_placer", as_is=True)
def get_placer() -> str:
    """How graphs are placed: ``"simple"``, ``"dynamic"``, or ``"plan"`` where a plan was given."""
    current = options.current.placer
    return current.kind if current.plan is None else "plan"


def _as_devices(devices: Any) -> list[PhysicalDevice]:
    if isinstance(devices, PhysicalDevice):
        return [devices]
    if not isinstance(devices, Iterable) or isinstance(devices, str) or getattr(devices, "ndim", None) == 0:
        raise ArgumentError(f"Expected a PhysicalDevice or a list of them, got {devices!r}.")
    return list(devices)
