"""Tensors to and from other libraries through DLPack, without a copy.

Shared memory can be modified from the other side: a tensor made from a PyTorch tensor or a NumPy array
this way sees later changes to it. Use ``tf.constant`` for a copy.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.dlpack

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.runtime.eager.allocations import enter
from situs._src.runtime.eager.bridge import FROM_TORCH, cuda_uuid, host, place
from situs._src.runtime.eager.capsule import runs_backwards
from situs._src.runtime.eager.tensor import EagerTensor, wrap


def from_dlpack(dlcapsule: object) -> EagerTensor:
    """Makes a tensor that shares memory with `dlcapsule`, on the device that holds it.

    Args:
        dlcapsule: Anything with ``__dlpack__`` (a PyTorch tensor, a NumPy array) or a DLPack capsule.
    """
    value = dlcapsule.detach() if isinstance(dlcapsule, torch.Tensor) else _import(dlcapsule)
    if value.dtype not in FROM_TORCH:
        raise DTypeError(f"There is no tensor dtype for {value.dtype}.")
    device = _device_of(value)
    if device.account is not None:
        enter(value, device.account, "DLPack")
    return wrap(value, place(device, FROM_TORCH[value.dtype]))


def to_dlpack(tf_tensor: EagerTensor) -> Any:
    """Exports a tensor as a DLPack capsule that shares its memory."""
    if not isinstance(tf_tensor, EagerTensor):
        raise ArgumentError(f"The argument to `to_dlpack` must be a TF tensor, not {type(tf_tensor)}")
    return tf_tensor.__dlpack__()


def _import(source: object) -> torch.Tensor:
    is_capsule = type(source).__name__ == "PyCapsule"
    if not hasattr(source, "__dlpack__") and not is_capsule:
        raise ArgumentError(f"Expected an object with __dlpack__ or a DLPack capsule, got {type(source).__name__}.")
    if runs_backwards(source) if is_capsule else any(stride < 0 for stride in getattr(source, "strides", ())):
        raise ArgumentError("Memory that runs backwards cannot be shared; use tf.constant for a copy.")
    try:
        return torch.utils.dlpack.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError) as error:
        raise ArgumentError(f"Cannot share memory with {type(source).__name__}: {error}") from None


def _device_of(value: torch.Tensor) -> Device:
    if value.device.type == "cpu":
        return host()
    uuid = cuda_uuid(value.device.index or 0)
    for device in process.devices():
        if device.card is not None and device.card.uuid == uuid:
            return device
    raise ArgumentError(f"No device of this process lies on PyTorch's {value.device}.")
