"""``tf.config.experimental``: older names of device settings, details of GPUs, policies, memory use."""

from __future__ import annotations

from typing import Any

from situs._src.base.budget import policy as memory_policy
from situs._src.base.budget.ledger import Account
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.devices.logical import LogicalDeviceConfiguration as VirtualDeviceConfiguration
from situs._src.base.devices.physical import PhysicalDevice
from situs._src.base.devices.spec import EMPTY, DeviceSpec, parse_spec
from situs._src.base.errors import ArgumentError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.settings import switch
from situs._src.config.devices import get_logical_device_configuration as get_virtual_device_configuration
from situs._src.config.devices import get_visible_devices as get_visible_devices
from situs._src.config.devices import list_logical_devices as list_logical_devices
from situs._src.config.devices import list_physical_devices as list_physical_devices
from situs._src.config.devices import set_logical_device_configuration as set_virtual_device_configuration
from situs._src.config.devices import set_visible_devices as set_visible_devices
from situs._src.runtime.eager import policy as policies

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_device_policy",
    "get_memory_growth",
    "get_memory_info",
    "get_memory_usage",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "release_memory",
    "reset_memory_stats",
    "set_device_policy",
    "set_memory_growth",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]


@export("config.experimental.enable_op_determinism", as_is=True)
def enable_op_determinism() -> None:
    """Lets every op give the same bits each time it runs with the same inputs, at some cost of speed on a GPU.

    Random ops then need a seed, of their own or ``tf.random.set_seed``'s. It holds for the whole process.
    """
    from situs._src.runtime.eager import determinism  # here, because it loads PyTorch

    determinism.require()


@export("config.experimental.enable_tensor_float_32_execution", as_is=True)
def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Says whether GPUs may compute products of float32 by TensorFloat-32; they do by default, as in TensorFlow.

    It holds for the whole process, PyTorch's own code included, once a GPU is used.
    """
    from situs._src.runtime.eager import precision  # here, because it loads PyTorch

    precision.set_tensor_float_32(switch(enabled, "enabled"))


@export("config.experimental.tensor_float_32_execution_enabled", as_is=True)
def tensor_float_32_execution_enabled() -> bool:
    """Returns whether GPUs may compute products of float32 by TensorFloat-32."""
    from situs._src.runtime.eager import precision

    return precision.tensor_float_32()


@export("config.experimental.get_device_details", as_is=True)
def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Returns what is known of a GPU: ``device_name`` and ``compute_capability``; empty for a CPU."""
    if not isinstance(device, PhysicalDevice):
        raise ArgumentError(f"device must be a tf.config.PhysicalDevice, but got: {device!r}")
    card = process.card_of(device)
    if card is None:
        return {}
    return {"device_name": card.name, "compute_capability": card.compute_capability}


@export("config.experimental.set_memory_growth", as_is=True)
def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Starts with little memory of a GPU and takes more as the program needs it.

    Works on a GPU that is split with memory limits as well, before or after it is split: then the memory grows
    up to the limit. TensorFlow refuses that.

    Raises:
        ValueError: the device is no GPU.
        RuntimeError: the devices have been made already.
    """
    memory_policy.set_growth(device, enable)


@export("config.experimental.get_memory_growth", as_is=True)
def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether the memory taken from a GPU grows with the program, ``TF_FORCE_GPU_ALLOW_GROWTH`` considered."""
    return memory_policy.get_growth(device)


@export("config.experimental.get_memory_info", as_is=True)
def get_memory_info(device: str) -> dict[str, int]:
    """Returns how much memory of a GPU is used, in bytes.

    Args:
        device: The name of a logical GPU, such as ``"GPU:0"``.

    Returns:
        ``current``, what tensors hold now; ``peak``, what they held at most; ``reserved``, what is taken from the
        GPU for them; ``limit``, what they may hold.

    Raises:
        ValueError: there is no such GPU.
    """
    account: Account | None = _find(device).account
    if account is None:
        raise ArgumentError(f"Allocator stats not available for device '{device}'")
    return account.usage()._asdict()


@export("config.experimental.get_memory_usage", as_is=True)
def get_memory_usage(device: str) -> int:
    """Returns the bytes that tensors of a GPU hold now: ``get_memory_info(device)["current"]``, which is preferred."""
    return get_memory_info(device)["current"]


@export("config.experimental.reset_memory_stats", as_is=True)
def reset_memory_stats(device: str) -> None:
    """Counts the peak of a GPU's memory from now on.

    Raises:
        ValueError: there is no such GPU.
    """
    account: Account | None = _find(device).account
    if account is None:
        raise ArgumentError(f"Cannot reset memory stats for device '{device}'")
    account.reset_peak()


@export("config.experimental.release_memory", as_is=True)
def release_memory(device: str | None = None) -> None:
    """Gives memory that no tensor is in back to the driver, or to the system, for other programs.

    Args:
        device: The name of a logical device, such as ``"GPU:0"``; None for all devices.

    Raises:
        ValueError: there is no such device.
    """
    from situs._src.runtime.eager import allocations as counting  # here, because it loads PyTorch
    from situs._src.runtime.eager import heap

    found = None if device is None else _find(device)
    if found is None or found.type == "CPU":
        heap.give_back()
    if found is None or found.type == "GPU":
        counting.release(found)


def _find(name: str) -> Device:
    """The logical device of this name, which has at least a type and a number."""
    wanted = _read(name)
    for device in process.devices():
        if wanted.matches(device.spec):
            return device
    raise ArgumentError(f"No matching devices found for '{name}'")


def _read(name: str) -> DeviceSpec:
    try:
        found = parse_spec(name)
    except (InvalidArgumentError, TypeError):  # TypeError: what cannot be a key is not a name
        found = EMPTY
    if found.device_type is None or found.device_index is None or found.device_index < 0:
        raise ArgumentError(
            f"Failed parsing device name: '{name if isinstance(name, str) else shown(name)}'. Note a valid device "
            'string should at least contain a device type and a device index, like "GPU:0".'
        )
    return found


@export("config.experimental.set_device_policy", as_is=True)
def set_device_policy(device_policy: str | None) -> None:
    """Says what happens, in this thread, to an input that is not on the device of its op.

    Args:
        device_policy: ``'silent'`` copies it, ``'warn'`` copies it and says so, ``'explicit'``
            refuses, ``'silent_for_int32'`` copies only int32; None is ``'silent'``.
    """
    policies.set_policy(device_policy)


@export("config.experimental.get_device_policy", as_is=True)
def get_device_policy() -> str:
    """The device policy of this thread."""
    return policies.get_policy()
